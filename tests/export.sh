#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# --export and --export-all: what they write is what the mount shows, in little memory, without FUSE; and what they say of
# what cannot be found, read or written.
# shellcheck source=tests/lib.sh
without_mount=yes
. "${srcdir:-.}/tests/lib.sh"

dump=$(sample sample)
out=$tmp/out

# exported PATH DUMP [OPTION…]: to $out
exported() {
	path=$1 file=$2
	shift 2
	"$heapfs" "$@" --export "$path" "$file" >"$out" 2>"$err" </dev/null
}

### Files and folders

check "raw.hprof" exported raw.hprof "$dump"
check "raw.hprof: the dump's bytes" cmp "$out" "$dump"
gzip -c "$dump" >"$tmp/sample.gz"
check "from gzip" exported raw.hprof "$tmp/sample.gz"
check "from gzip: the dump's bytes" cmp "$out" "$dump"
check "a table" exported classes.tsv "$dump"
is "a table: its head" "$(head -n 1 "$out")" "class${TAB}id${TAB}instances${TAB}shallow${TAB}instance_size${TAB}loader"
is "nothing is said" "$(cat "$err")" ""
check "--export=PATH" "$heapfs" "--export=classes.tsv" "$dump"
is "--export=PATH: the same" "$(cksum <"$tmp/check")" "$(cksum <"$out")"
check "a name that begins with -" "$heapfs" --export classes.tsv -- "$dump"
for path in . / "" ./ classes/..; do
	exported "$path" "$dump"
	is "the top folder as '$path': names, a line each" "$(sort "$out" | tr '\n' ' ')" \
		"README.txt bitmaps bitmaps.tsv classes classes.tsv collections duplicates graph info.txt instances objects \
raw.hprof roots strings threads "
done
id=0x12c2f1d0
exported "objects/$id" "$dump"
is "a folder through a link" "$(sort "$out" | tr '\n' ' ')" \
	"cache class.d graph.d images mTitle object.txt rows shadow\$_klass_ "
check "a file through two links" exported "objects/$id/mTitle/value.txt" "$dump"
is "a file through two links: the text" "$(cat "$out")" "Inbox (3)"
check "what graph/ must be built for" exported "objects/$id/graph.d/path-to-root.txt" "$dump"
has "what graph/ must be built for: the path" "$(cat "$out")" "path 1 of 1: 2 objects" ".lastActivity"

### Options

run "$heapfs" -o links=no --export "objects/$id/object.txt" "$dump"
has "links=no: no path through a link" "$rc $said" "1 " "there is no objects/$id/object.txt"
agent=$(sample agent)
exported . "$agent"
has "several dumps" "$(cat "$out")" "dump-1" "dump-2"
exported dump-2/classes.tsv "$agent"
cp "$out" "$tmp/second.tsv"
check "dump=" exported classes.tsv "$agent" -o dump=2
check "dump=: the second" cmp "$out" "$tmp/second.tsv"
run "$heapfs" -o dump=3 --export classes.tsv "$agent"
has "dump=: there is no third" "$rc $said" "1 " "the file holds 2"
printf 'com.example.app.Line -> com.example.app.Row:\n' >"$tmp/mapping.txt"
exported classes.tsv "$dump" -o "mapping=$tmp/mapping.txt"
is "mapping=" "$(grep -c '^com.example.app.\(Row\|Line\)	' "$out") $(grep -c com.example.app.Line "$out")" "1 1"
for option in -f -s -d "-o uid=1" "-o allow_other" "-o max_threads=2" "-o ro" "-o no_such"; do
	# shellcheck disable=SC2086 # an option and its argument
	run "$heapfs" $option --export classes.tsv "$dump"
	has "$option: only for mounting" "$rc $said" "2 " "heapfs: ${option#-o }: " "only for mounting"
done
check "fstab's words do no harm" exported classes.tsv "$dump" -o rw,noauto,x-systemd.automount,user=me
check "options behind commas and backslashes" exported classes.tsv "$dump" -o "links=no,tmpdir=$tmp/a\\,b,dump=1"
mkdir "$tmp/a,b"
check "a comma behind a backslash is the value's" exported raw.hprof "$tmp/sample.gz" -o "tmpdir=$tmp/a\\,b"
run "$heapfs" --export raw.hprof "$tmp/sample.gz" -o "tmpdir=$tmp/a,b"
has "and one without is not" "$rc $said" "2 " "heapfs: b: "

### Usage

run "$heapfs" --export
has "--export of nothing" "$rc $said" "2 " "--export: wants an argument"
run "$heapfs" --export classes.tsv
has "no dump" "$rc $said" "2 " "of which dump?"
run "$heapfs" --export classes.tsv "$dump" "$tmp/mnt"
has "a mount point too many" "$rc $said" "2 " "too many arguments"
run "$heapfs" --export classes.tsv --export-all "$tmp/all" "$dump"
has "both at once" "$rc $said" "2 " "give one of them"
run "$heapfs" -o
has "-o of nothing" "$rc $said" "2 " "-o: which option?"

### What fails

run "$heapfs" --export no/such.tsv "$dump"
has "not found" "$rc $said" "1 " "heapfs: $dump: there is no no/such.tsv in it" "--export . lists"
run "$heapfs" --export classes.tsv/ "$dump"
has "a file is no folder" "$rc $said" "1 " "heapfs: $dump: classes.tsv/: Not a directory"
run "$heapfs" --export classes.tsv "$tmp/nowhere.hprof"
has "no such dump" "$rc $said" "1 " "nowhere.hprof: cannot open"
for path in classes.tsv raw.hprof classes; do
	rc=0
	"$heapfs" --export "$path" "$dump" >/dev/full 2>"$err" || rc=$?
	is "a full disk: $path" "$rc $(cat "$err")" "1 heapfs: standard output: No space left on device"
done
rc=0
"$heapfs" --export classes.tsv "$dump" >&- 2>"$err" || rc=$?
is "standard output is closed" "$rc $(cat "$err")" "1 heapfs: standard output: Bad file descriptor"

# As with cat, head ends a pipe in silence, and who ignores SIGPIPE is told.
mksample big 400000 "$tmp/big.hprof"
{
	status=0
	"$heapfs" --export raw.hprof "$tmp/big.hprof" 2>"$err" || status=$?
	echo "$status" >"$tmp/rc"
} | head -c 1 >"$out"
is "a closed pipe: ended by SIGPIPE, in silence" "$(cat "$tmp/rc" "$err")" 141
{
	trap '' PIPE # of this side of the pipe only, which is a process
	status=0
	"$heapfs" --export raw.hprof "$tmp/big.hprof" 2>"$err" || status=$?
	echo "$status" >"$tmp/rc"
} | head -c 1 >"$out"
is "a closed pipe, SIGPIPE ignored: status 1 and why" "$(cat "$tmp/rc" "$err")" \
	"1
heapfs: standard output: Broken pipe"

cut=$(sample cut)
check "a damaged dump: what is whole is there" exported classes.tsv "$cut"
has "a damaged dump: what is not is said" "$(cat "$err")" "heapfs: $cut: " "at byte "
run "$heapfs" --strict --export classes.tsv "$cut"
has "a damaged dump: --strict refuses it" "$rc $said" "1 " "--strict"

### All tables

# all DUMP FOLDER [OPTION…]
all() {
	file=$1 into=$2
	shift 2
	"$heapfs" "$@" --export-all "$into" "$file" >"$out" 2>"$err" </dev/null
}

check "--export-all" all "$dump" "$tmp/all"
is "--export-all: in silence" "$(cat "$out" "$err")" ""
for path in info.txt classes.tsv bitmaps.tsv graph/leaks.tsv "classes/com.example.app.Row/instances.tsv"; do
	exported "$path" "$dump"
	check "--export-all: $path" cmp "$out" "$tmp/all/$path"
done
run "$heapfs" --export-all "$tmp/all" "$dump"
has "--export-all: not into a folder that holds something" "$rc $said" "1 " "is not empty"
mkdir "$tmp/empty"
check "--export-all: into an empty one" all "$dump" "$tmp/empty"
check "--export-all: the same" diff -r "$tmp/all" "$tmp/empty"
run "$heapfs" --export-all "$tmp/no/such/folder" "$dump"
has "--export-all: a folder that cannot be made" "$rc $said" "1 " "No such file or directory"
check "--export-all: links=no, png_level=" all "$dump" "$tmp/packed" -o links=no,png_level=9
chmod 400 "$dump"
check "--export-all: of a private dump" all "$dump" "$tmp/private"
is "--export-all: of a private dump, nothing is for others" "$(find "$tmp/private" -mindepth 1 -perm /077)" ""
chmod 644 "$dump"

# A limit of a file's size serves as a disk that is full.
full_disk() (
	trap '' XFSZ
	ulimit -f 1000
	"$heapfs" --export-all "$tmp/full" "$tmp/big.hprof"
)
run full_disk
has "--export-all: a full disk" "$rc $said" "1 " "heapfs: $tmp/full/" "File too large" "files before it are whole"
check "--export-all of many objects" all "$tmp/big.hprof" "$tmp/whole"
# whole_there FOLDER: what is in it is as in the one where nothing went wrong
whole_there() {
	(cd "$1" && find . -type f) >"$tmp/files"
	[ -s "$tmp/files" ] && while IFS= read -r path; do cmp "$1/$path" "$tmp/whole/$path" || return 1; done <"$tmp/files"
}
check "--export-all: a full disk leaves no half file" whole_there "$tmp/full"
for signal in TERM INT; do
	# In the background INT is ignored, unless env says otherwise.
	env --default-signal=INT "$heapfs" --export-all "$tmp/$signal" "$tmp/big.hprof" >"$out" 2>"$err" &
	pid=$!
	started="$started $pid"
	until_true [ -e "$tmp/$signal/classes.tsv" ] || fail "$signal: begins"
	kill -s "$signal" "$pid"
	rc=0
	wait "$pid" || rc=$?
	is "$signal ends it" "$(kill -l "$rc")" "$signal"
	check "$signal leaves no half file" whole_there "$tmp/$signal"
	is "$signal: and it was not done" "$([ -e "$tmp/$signal/graph/leaks.tsv" ] || echo no)" no
done

### Memory: far less than what is written. The dump's mapping is the kernel's cache, and does not count

limited() {
	(
		# shellcheck disable=SC3045 # of the shells of Linux all have both; the stack is what each thread gets
		ulimit -s 256 && ulimit -d 24000
		"$@"
	)
}
mksample big 2500000 "$tmp/large.hprof"
if limited "$heapfs" --version >/dev/null 2>&1; then
	for path in raw.hprof "classes/byte[]/instances.tsv"; do
		size=$(limited "$heapfs" --export "$path" "$tmp/large.hprof" 2>"$err" | wc -c)
		is "$path: $size bytes, far more than the memory it was given" "$((size > 30000000)) $(cat "$err")" "1 "
	done
else
	skip "memory" "sanitizers take more than all of it"
fi
rm -rf "$tmp/large.hprof" "$tmp/big.hprof" "$tmp/whole" "$tmp/full" "$tmp/TERM" "$tmp/INT"

### The same as the mount

case $("$heapfs" --version) in
*"without libfuse")
	run "$heapfs" "$dump" "$tmp/mnt"
	has "built without libfuse, it says so" "$rc $said" "1 " "cannot mount it" "--disable-mount" "use --export"
	run "$heapfs" --help
	has "built without libfuse, so does --help" "$rc $(cat "$tmp/stdout")" "0 " "cannot mount."
	;;
esac
if [ "$can_mount" = no ]; then
	case $why in
	*fusermount3*) here fusermount3 "the same as the mount" && here /dev/fuse "the same as the mount" ;;
	*) skip "the same as the mount" "$why" ;;
	esac
	plan
	exit 0
fi

# spread COUNT: so many of the lines, evenly
spread() {
	awk -v most="$1" '{ line[NR] = $0 } END { step = NR > most ? NR / most : 1
		for (at = 1; int(at) <= NR; at += step) print line[int(at)] }'
}

# differing DUMP [OPTION…]: of the paths in $tmp/paths, those where --export does not write what the mount shows
differing() {
	file=$1
	shift
	while IFS= read -r path; do
		if [ -d "$mnt/$path" ]; then
			"$heapfs" "$@" --export "$path" "$file" 2>/dev/null | sort >"$out"
			find "$mnt/$path/" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | cmp -s - "$out" || echo "$path"
		else
			"$heapfs" "$@" --export "$path" "$file" 2>/dev/null | cmp -s - "$mnt/$path" || echo "$path"
		fi
	done <"$tmp/paths"
}

# tables: the files of --export-all, with time and size, as the mount has them
tables() {
	(cd "$mnt" && find . \( -path '*/objects' -o -path '*/instances' -o -path '*/dominators' -o -path '*/callstacks' \
		-o -path '*/roots' -o -path '*/diff/new' -o -path '*/diff/removed' \) -prune -o -type f ! -name 'raw.*' ! -name progress.txt -printf '%p %T@ %s\n') | sort
}

# alike NAME DUMP FILES LINKS [OPTION…]
alike() {
	name=$1 of=$2 files=$3 links=$4
	shift 4
	mount_dump "$of" "$@" 2>/dev/null || return 0
	(cd "$mnt" && find . ! -name progress.txt -printf '%y %p\n') >"$tmp/tree"
	{
		sed -n 's/^f //p' "$tmp/tree" | spread "$files"
		grep -E '/(graph|bitmaps|duplicates|threads|screenshots|collections|diff)/' "$tmp/tree" | sed -n 's/^f //p' |
			spread "$files"
		sed -n 's/^l //p' "$tmp/tree" | spread "$links"
		sed -n 's/^d //p' "$tmp/tree" | spread "$links"
	} | sort -u >"$tmp/paths"
	is "$name: $(wc -l <"$tmp/paths") files and folders are as in the mount" "$(differing "$of" "$@")" ""
	rm -rf "$tmp/all"
	check "$name: --export-all" all "$of" "$tmp/all" "$@"
	tables >"$tmp/wanted"
	(cd "$tmp/all" && find . -type f -printf '%p %T@ %s\n') | sort >"$tmp/seen"
	check "$name: --export-all: names, times and sizes" diff "$tmp/wanted" "$tmp/seen"
	(cd "$tmp/all" && find . -type f -print0) >"$tmp/files"
	(cd "$tmp/all" && xargs -0 cksum <"$tmp/files") >"$tmp/seen"
	(cd "$mnt" && xargs -0 cksum <"$tmp/files") >"$tmp/wanted"
	check "$name: --export-all: contents" cmp "$tmp/wanted" "$tmp/seen"
	unmount
}

for kind in sample jvm agent threads bitmaps-36 equal collections leaks-android cut; do
	alike "$kind" "$(sample "$kind")" 20 6
done
alike "a baseline=" "$(sample bitmaps-36)" 20 6 -o "baseline=$dump"
alike "from gzip" "$tmp/sample.gz" 4 2
"$builddir/heapfs-pack" "$dump" -p 1 -o "$tmp/first.pftrace"
"$builddir/heapfs-pack" "$dump" -p 2 -o "$tmp/second.pftrace"
cat "$tmp/first.pftrace" "$tmp/second.pftrace" >"$tmp/both.pftrace"
alike "a trace of two dumps" "$tmp/both.pftrace" 20 6
alike "a trace, pid=" "$tmp/both.pftrace" 4 2 -o pid=2
mksample loli 2000 "$tmp/made.loli"
alike "a profile" "$tmp/made.loli" 20 0
alike "a profile, time=" "$tmp/made.loli" 4 0 -o time=1000..1999
mksample loli 2400 "$tmp/later.loli"
alike "a profile, baseline=" "$tmp/later.loli" 4 2 -o "baseline=$tmp/made.loli"
if [ -d "$corpus/android" ]; then
	alike "test-dump" "$corpus/android/test-dump.hprof" 40 10
	alike "test-dump, mapping=" "$corpus/android/test-dump.hprof" 20 4 -o "mapping=$corpus/android/test-dump.map"
	alike "test-dump, baseline=" "$corpus/android/test-dump.hprof" 20 6 -o "baseline=$corpus/android/test-dump-base.hprof"
else
	skip "real dumps" "none at $corpus"
fi
plan
