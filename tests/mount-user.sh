#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Mounts of ordinary users, through fusermount3: who may look in. Needs root, to become others.
. "${srcdir:-.}/tests/lib.sh"

one=65534 two=65533	# any two users; they need no account
first() { setpriv --reuid "$one" --regid "$one" --clear-groups "$@"; }
second() { setpriv --reuid "$two" --regid "$two" --clear-groups "$@"; }

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
command -v setpriv >/dev/null || skip_all "needs setpriv"
[ -u "$(command -v fusermount3)" ] || skip_all "fusermount3 is not setuid"
first test -w /dev/fuse || skip_all "/dev/fuse is root's alone"

# The build folder may be out of their reach.
chmod 755 "$tmp"
cp "$heapfs" "$tmp/heapfs"
heapfs=$tmp/heapfs
first "$heapfs" --version >/dev/null || skip_all "an ordinary user cannot run $heapfs"
dump=$(sample sample)
chmod 644 "$dump"
mkdir "$tmp/home"
chown "$one" "$tmp/home"
mnt=$tmp/home/mnt
gone() { [ ! -e "$1" ]; }

run first "$heapfs" "$dump" "$mnt"
is "an ordinary user mounts: status 0" "$rc$said" 0
check "… and makes the mount point" is_mounted
check "the user sees the tree" first cmp "$dump" "$mnt/raw.hprof"
is "files belong to the dump's owner" "$(first stat -c %u:%a "$mnt/info.txt")" 0:444
has "/proc/mounts has nosuid, nodev" "$(grep -F " $mnt " /proc/mounts)" "fuse.heapfs ro,nosuid,nodev" "user_id=$one"
refused "another user is refused" "Permission denied" second ls "$mnt"
refused "root is refused" "Permission denied" ls "$mnt/"
check "the user unmounts" first fusermount3 -u "$mnt"
check "the mount point is removed" until_true gone "$mnt"

run first "$heapfs" -o "uid=$one,gid=$one" "$dump" "$mnt"
is "-o uid, gid" "$(first stat -c %u:%g "$mnt/info.txt")" "$one:$one"
first fusermount3 -u "$mnt" || :

chmod 600 "$dump"
run first "$heapfs" "$dump" "$mnt"
is "a dump the user may not read: status 1" "$rc" 1
has "… the message" "$said" "heapfs: $dump: " "Permission denied"
check "… nothing is left" gone "$mnt"
chmod 644 "$dump"

mkdir -m 755 "$tmp/roots"
run first "$heapfs" "$dump" "$tmp/roots"
is "a folder that the user cannot write: status 1" "$rc" 1
has "… the message" "$said" "heapfs: $tmp/roots: " "Permission denied"
run first "$heapfs" "$dump" "$tmp/roots/new"
is "a mount point in such a folder: status 1" "$rc" 1
has "… the message" "$said" "heapfs: $tmp/roots/new: " "Permission denied"

# Only looks at /etc/fuse.conf, never changes it.
run first "$heapfs" -o allow_other "$dump" "$mnt"
if grep -qx 'user_allow_other[[:blank:]]*' /etc/fuse.conf 2>/dev/null; then
	is "allow_other: status 0" "$rc$said" 0
	check "allow_other lets another user in" second cat "$mnt/info.txt"
	check "allow_other lets root in" cat "$mnt/info.txt"
	first fusermount3 -u "$mnt" || :
else
	is "allow_other without user_allow_other: status 1" "$rc" 1
	has "… the message" "$said" "heapfs: " "user_allow_other"
	check "… nothing is left" gone "$mnt"
fi

mkdir "$tmp/by-root"
mnt=$tmp/by-root
if mount_dump "$dump"; then
	refused "a mount of root's: another user is refused" "Permission denied" second ls "$mnt/"
	unmount
fi
if mount_dump "$dump" -o allow_other; then
	check "a mount of root's with allow_other: another user is let in" second cmp "$dump" "$mnt/raw.hprof"
	unmount
fi
chmod 640 "$dump"
chown "$one:$one" "$dump"
if mount_dump "$dump" -o allow_other; then
	is "access bits follow the dump's" "$(stat -c %a "$mnt/info.txt" "$mnt/classes" | tr '\n' ' ')" "440 550 "
	check "its owner reads" first cat "$mnt/info.txt"
	refused "others do not" "Permission denied" second cat "$mnt/info.txt"
	unmount
fi

plan
