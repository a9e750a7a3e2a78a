#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command itself: arguments, exit statuses, messages, mount points, the background, signals.
# shellcheck disable=SC2016 # sh -c has arguments of its own
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

dump=$(sample sample)
chmod 755 "$tmp"
gone() { [ ! -e "$1" ]; }
unmounted() { ! is_mounted; }
# Here heapfs makes the mount point itself. Its daemon removes it, a moment after unmounting.
mounts() {
	run "$heapfs" "$@" "$mnt"
	[ "$rc" -eq 0 ] && is_mounted && return 0
	fail "mounts: heapfs $*" "exit status $rc: $said"
	return 1
}
leave() {
	! is_mounted || unmount
	until_true gone "$mnt" || fail "the mount point that was made is removed"
}

### Usage: status 2, and nothing is mounted or made

usage() {
	what=$1 part=$2
	shift 2
	run "$heapfs" "$@"
	is "$what: status 2" "$rc" 2
	has "$what: the message" "$said" "heapfs: " "$part"
	leave
}
usage "no arguments" "--help"
usage "no mount point" "where to mount" "$dump"
usage "three arguments" "too many" "$dump" "$mnt" "$tmp/other"
usage "unknown option" "nosuch" -o nosuch "$dump" "$mnt"
usage "unknown long option" "nosuch" --nosuch "$dump" "$mnt"
usage "links=maybe" "links=maybe" -o links=maybe "$dump" "$mnt"
usage "readdirplus=never" "readdirplus=never" -o readdirplus=never "$dump" "$mnt"
for value in dump=x dump=0 dump=-1 dump=1x uid=x gid=-3 max_threads=x max_threads=-1; do
	usage "$value" "${value%=*}" -o "$value" "$dump" "$mnt"
done
run "$heapfs" --help
is "--help: status 0" "$rc" 0
has "--help: on stdout" "$(cat "$tmp/stdout")" "usage: heapfs" "-o links=no"
run "$heapfs" --version
has "--version" "$(cat "$tmp/stdout")" "heapfs " "libfuse 3."

### What is no dump: status 1, and the message says what it is

fails() {
	what=$1 file=$2
	shift 2
	run "$heapfs" "$file" "$mnt"
	is "$what: status 1" "$rc" 1
	has "$what: the message" "$said" "heapfs: $file: " "$@"
	check "$what: nothing is mounted" unmounted
	check "$what: no mount point is left" gone "$mnt"
	leave
}
mkdir "$tmp/folder"
: >"$tmp/empty-file"
printf 'Dear diary,\n' >"$tmp/text"
head -c 5000 /dev/zero >"$tmp/zeros"
printf 'PK\003\004%0200d' 0 >"$tmp/zip"
gzip -c "$tmp/text" >"$tmp/gz"
printf 'JAVA PROFILE 1.0.2\000\000\000' >"$tmp/short"
printf 'JAVA PROFILE 1.0.9\000\000\000\000\010\000\000\000\000\000\000\000\000' >"$tmp/version"
printf 'JAVA PROFILE 1.0.2\000\000\000\000\005\000\000\000\000\000\000\000\000' >"$tmp/idsize"
fails "missing dump" "$tmp/missing" "No such file"
fails "a folder" "$tmp/folder" "folder"
fails "an empty file" "$tmp/empty-file" "empty"
fails "text" "$tmp/text" "text"
fails "zeros" "$tmp/zeros" "zero"
fails "zip" "$tmp/zip" "zip"
fails "gzip of text" "$tmp/gz" "gzip"
fails "a header of 22 bytes" "$tmp/short" "header"
fails "cut-header" "$(sample cut-header)" "header"
fails "version 1.0.9" "$tmp/version" "version"
fails "ids of 5 bytes" "$tmp/idsize" "5"
run "$heapfs" -o dump=7 "$dump" "$mnt"
is "dump=7 of a file with one: status 1" "$rc" 1
has "dump=7: the message" "$said" "$dump" "dump=7" 1

### Mount points

run "$heapfs" "$tmp/zeros" "$tmp/text"
is "a file as mount point: status 1" "$rc" 1
has "a file as mount point: named before the dump is looked at" "$said" "heapfs: $tmp/text: " "Not a directory"
run "$heapfs" "$tmp/zeros" "$tmp/no/such/folder"
is "mount point in no folder: status 1" "$rc" 1
has "mount point in no folder: named before the dump is looked at" "$said" "$tmp/no/such/folder: " "No such file"

if mounts "$dump"; then
	is "an undamaged dump: no word" "$said" ""
	check "a mount point is made" test -f "$mnt/info.txt"
	has "/proc/mounts says type and ro" "$(grep -F " $mnt " /proc/mounts)" "$dump $mnt fuse.heapfs ro,"
	unmount
	check "… and removed again" until_true gone "$mnt"
fi
mkdir "$tmp/kept"
: >"$tmp/kept/file"
run "$heapfs" "$dump" "$tmp/kept"
check "mounts on a folder that is there and not empty" test -f "$tmp/kept/info.txt"
unmount_at "$tmp/kept"
sleep 0.3
check "… which stays" test -f "$tmp/kept/file"

mkdir "$tmp/cwd" "$tmp/cwd/dumps"
cp "$dump" "$tmp/cwd/dumps/a.hprof"
(cd "$tmp/cwd" && "$heapfs" dumps/a.hprof m) || fail "relative names: mounts"
check "relative names: the dump is read from another folder" cmp "$dump" "$tmp/cwd/m/raw.hprof"
unmount_at "$tmp/cwd/m"
check "relative names: the mount point is removed" until_true gone "$tmp/cwd/m"
(cd "$tmp/cwd" && exec "$heapfs" -f dumps/a.hprof m) &
pid=$! started="$started $!"
check "relative names with -f" until_true test -f "$tmp/cwd/m/info.txt"
unmount_at "$tmp/cwd/m"
wait "$pid" && rc=0 || rc=$?
is "-f: status 0 after unmounting" "$rc" 0
check "-f: the mount point is removed" gone "$tmp/cwd/m"

odd="$tmp/a b,c\\d'e%f.hprof"
cp "$dump" "$odd"
run "$heapfs" "$odd" "$tmp/m n,o\\p"
is "blanks, commas, backslashes in names: status 0" "$rc" 0
check "… the tree is there" cmp "$dump" "$tmp/m n,o\\p/raw.hprof"
is "… the source in /proc/mounts is the dump" "$(findmnt -n -o SOURCE --mountpoint "$tmp/m n,o\\p")" "$odd"
unmount_at "$tmp/m n,o\\p"
(cd "$tmp" && cp "$dump" ./-dump && "$heapfs" -- -dump -m) && check "names that begin with -" test -f "$tmp/-m/info.txt"
is_mounted_at "$tmp/-m" && unmount_at "$tmp/-m"

mkdir "$tmp/loop"
good=0
for _ in $(seq 20); do
	"$heapfs" "$dump" "$tmp/loop" && ls "$tmp/loop" >"$tmp/listing" && grep -q info.txt "$tmp/listing" &&
		good=$((good + 1))
	unmount_at "$tmp/loop"
done
is "the tree is there at once, 20 times" "$good" 20
# The last mount's daemon may not have removed the mount point yet.
good=0
for _ in $(seq 50); do
	"$heapfs" "$dump" "$mnt" 2>>"$tmp/again" && [ -f "$mnt/info.txt" ] && good=$((good + 1))
	! is_mounted || unmount
done
is "mounting again at once after unmounting, 50 times" "$good" 50
[ "$good" -eq 50 ] || diag "$(sort "$tmp/again" | uniq -c)"
# One that found the folder still there leaves it.
until_true gone "$mnt" || rmdir "$mnt"

### fstab, mount(8)

if mounts -o rw,auto,noauto,user,nofail,x-gvfs-hide,x-systemd.automount,_netdev,defaults,comment=x,nosuid,nodev "$dump"; then
	has "words of fstab are accepted, and it stays read-only" "$(grep -F " $mnt " /proc/mounts)" "fuse.heapfs ro,"
	leave
fi
if [ "$(id -u)" -ne 0 ] || ! command -v mount.fuse3 >/dev/null; then
	skip "mount -t fuse" "needs root and mount.fuse3"
else
	# As "mount -t fuse.heapfs DUMP", which looks in the system's own folders for the program only.
	mkdir "$mnt"
	run mount -t fuse "$heapfs#$dump" "$mnt" -o ro,noauto,nofail,user,x-gvfs-hide,links=no
	is "mount -t fuse: status 0" "$rc$said" 0
	check "mount -t fuse: the tree is there" cmp "$dump" "$mnt/raw.hprof"
	check "umount" umount "$mnt"
	rmdir "$mnt"
fi

### The background, signals

timeout 10 sh -c '"$1" "$2" "$3" | cat' sh "$heapfs" "$dump" "$mnt" && rc=0 || rc=$?
is "in a pipe: the daemon does not keep it open" "$rc" 0
leave
out=$(timeout 10 "$heapfs" "$dump" "$mnt" 2>&1) && rc=0 || rc=$?
is "in \$(…): the daemon does not keep it open" "$rc$out" 0
leave
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	sh -c "\"\$1\" \"\$2\" \"\$3\" $closed" sh "$heapfs" "$dump" "$mnt" && rc=0 || rc=$?
	is "with $closed: status 0" "$rc" 0
	check "with $closed: the dump is whole" cmp "$dump" "$mnt/raw.hprof"
	leave
done
for signal in TERM INT HUP; do
	# A shell lets what it starts with & ignore INT.
	env --default-signal "$heapfs" -f "$dump" "$mnt" 2>"$err" &
	pid=$! started="$started $!"
	until_true is_mounted || fail "mounts with -f" "$(cat "$err")"
	ls -lR "$mnt/classes" >/dev/null
	kill -s "$signal" "$pid"
	wait "$pid" && rc=0 || rc=$?
	is "SIG$signal with -f: status 0" "$rc$(cat "$err")" 0
	check "SIG$signal with -f: nothing is mounted" unmounted
	check "SIG$signal with -f: the mount point is removed" gone "$mnt"
done
"$heapfs" -f "$dump" "$mnt" &
pid=$! started="$started $!"
until_true is_mounted || fail "mounts with -f"
kill -9 "$pid"
wait "$pid" 2>/dev/null || :
run "$heapfs" "$dump" "$mnt"
is "a stale mount: status 1" "$rc" 1
has "a stale mount: the message tells how to clear it" "$said" "heapfs: $mnt: " "fusermount3 -uz $mnt"
check "a stale mount: that clears it" fusermount3 -uz "$mnt"
mounts "$dump" && pass "a stale mount: then it mounts"
unmount
rmdir "$mnt"	# which the killed one made

### Read-only; damage

if mounts "$dump"; then
	refused "touch" "Read-only file system" touch "$mnt/new"
	refused "mkdir" "Read-only file system" mkdir "$mnt/new"
	refused "rm" "Read-only file system" rm -f "$mnt/info.txt"
	refused "rmdir" "Read-only file system" rmdir "$mnt/classes"
	refused "mv" "Read-only file system" mv -f "$mnt/info.txt" "$mnt/new"
	refused "ln" "Read-only file system" ln "$mnt/info.txt" "$mnt/new"
	refused "ln -s" "Read-only file system" ln -s x "$mnt/new"
	refused "chmod" "Read-only file system" chmod 777 "$mnt/info.txt"
	refused "chown" "Read-only file system" chown 12 "$mnt/info.txt"
	refused "truncate" "Read-only file system" truncate -s 0 "$mnt/info.txt"
	refused "writing" "Read-only file system" dd if=/dev/zero "of=$mnt/info.txt" count=1 conv=notrunc
	refused "mknod" "Read-only file system" mkfifo "$mnt/new"
	leave
fi
run "$heapfs" --strict "$(sample cut)" "$mnt"
is "--strict refuses a cut dump: status 1" "$rc" 1
has "--strict refuses a cut dump: the message" "$said" "$tmp/cut.hprof: " "at byte " "--strict"
check "--strict refuses a cut dump: nothing is left" gone "$mnt"
mounts --strict "$dump" && pass "--strict mounts a whole dump"
leave
mounts -o strict "$dump" && pass "-o strict mounts a whole dump"
leave

plan
