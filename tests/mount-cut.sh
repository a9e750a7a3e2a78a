#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The dump is cut, written over, or its disk fails while it is mounted and being read. What a read gives is what
# the dump held when it was mounted, or the read fails; see cutreader.c, which reads. Afterwards the server is
# unmounted like any other, ends with status 0 and leaves nothing behind.

srcdir=${srcdir:-$(dirname "$0")/..}
# shellcheck source=tests/lib.sh
. "$srcdir/tests/lib.sh"

uid=$(id -u)
cutreader=$builddir/tests/cutreader
dump=$tmp/dump.hprof

# serve DUMP FOLDER [OPTION…]: in front, so that its exit status can be asked. Its pid goes to $server.
serve() {
	from=$1 on=$2
	shift 2
	mkdir -p "$on"
	"$heapfs" -f "$@" "$from" "$on" >"$tmp/server" 2>&1 </dev/null &
	server=$!
	started="$started $server"
	until_true is_mounted_at "$on" || fail "mounts ${from##*/}" "$(cat "$tmp/server")"
}

# ended PID FOLDER WHAT: unmounted, the server ends by itself, in peace.
ended() {
	unmount_at "$2" || return 0
	rc=0
	wait "$1" || rc=$?
	is "$3: unmounted, the server ends with status 0" "$rc $(is_mounted_at "$2" && echo still mounted)" "0 "
}

# read_start: cutreader reads $mnt in the background, and heeds signals.
reading() { grep -q '^reading' "$tmp/reader"; }
read_start() {
	: >"$tmp/reader"
	"$cutreader" read "$mnt" "$tmp/golden" >"$tmp/reader" 2>&1 &
	reader=$!
	started="$started $reader"
	until_true reading || fail "reads" "$(cat "$tmp/reader")"
}

# read_end WHAT: what it found since SIGUSR1 goes to $reads, $errors and so on.
read_end() {
	kill -TERM "$reader" 2>/dev/null || :
	rc=0
	wait "$reader" || rc=$?
	summary=$(grep '^reads ' "$tmp/reader" || echo "reads 0 errors 0 wrong 0 files 0 links 0 folders 0")
	read -r _ reads _ errors _ _ _ files _ links _ folders <<-END
		$summary
	END
	if [ "$rc" -eq 0 ]; then
		pass "$1: every read gives what was there, or fails with EIO"
	else
		fail "$1: every read gives what was there, or fails with EIO" "status $rc" "$(cat "$tmp/reader")"
	fi
	diag "$summary"
}

# The dump changes while it is read, and then before it is read at all: the server has seen nothing happen then.
# changed WHAT harm|fine COMMAND…: `harm`: reads must have failed, which shows that the server was asked
changed() {
	what=$1 expected=$2
	shift 2
	for when in "while read" "before it is read"; do
		cp "$original" "$dump"
		serve "$dump" "$mnt"
		if [ "$when" = "while read" ]; then
			read_start
			sleep 0.3
			"$@"
			sleep 0.1
			kill -USR1 "$reader"
		else
			"$@"
			read_start
		fi
		read_end "$what, $when"
		if [ "$expected" = harm ] && [ "$errors" -gt 0 ]; then
			pass "$what, $when: reads fail"
		elif [ "$expected" = fine ] && [ "$errors" -eq 0 ] && [ "$reads" -gt 0 ]; then
			pass "$what, $when: nothing fails"
		else
			fail "$what, $when: reads are answered right" "$reads reads, $errors errors, expected: $expected"
		fi
		ended "$server" "$mnt" "$what, $when"
		rm -f "$dump" "$tmp/new.hprof"
	done
}

truncate_to() { truncate -s "$1" "$dump"; }
# Cut to size $1 and at once grown to its old size: with zeros, with other bytes, with what was there.
zeros() {
	truncate -s "$1" "$dump"
	truncate -s "$size" "$dump"
}
noise() {
	truncate -s "$1" "$dump"
	tail -c +$(($1 + 1)) "$other" >>"$dump"
}
written_over() { cp "$1" "$dump"; }
# The file is never shorter for long, but is at every moment something else.
written_over_and_over() {
	for again in 1 2 3 4 5; do
		cp "$other" "$dump"
		cp "$original" "$dump"
	done
	cp "$other" "$dump"
}
renamed() {
	cp "$other" "$tmp/new.hprof"
	mv "$tmp/new.hprof" "$dump"
}
removed() { rm "$dump"; }
touched() {
	touch "$dump"
	sleep 0.1
	touch -d @1000000000 "$dump"
}
appended() {
	head -c 100000 "$other" >>"$dump"
	sleep 0.1
	echo >>"$dump"
}

scribbled() { printf 'scribbled' | dd of="$dump" bs=1 seek="$((size / 2))" conv=notrunc 2>/dev/null; }

# with_dump ORIGINAL OTHER: what is mounted, and another one of the same size. Keeps what it must hold.
with_dump() {
	original=$1 other=$2
	size=$(stat -c %s "$original")
	serve "$original" "$tmp/whole"
	check "keeps what ${original##*/} holds" "$cutreader" golden "$tmp/whole" "$tmp/golden"
	ended "$server" "$tmp/whole" "untouched"
	# The readers themselves are right.
	cp "$original" "$dump"
	serve "$dump" "$mnt"
	read_start
	read_end "untouched"
	is "untouched: nothing fails" "$errors" 0
	ended "$server" "$mnt" "untouched"
}

### Large arrays and texts, so that most pages hold what no index knows

"$cutreader" dump "$tmp/large.hprof" 1
"$cutreader" dump "$tmp/large-other.hprof" 2
# Of another moment: the header's time, which a dump never shares with another one.
printf '\000\000\001\200\000\000\000\001' | dd of="$tmp/large-other.hprof" bs=1 seek=23 conv=notrunc 2>/dev/null
with_dump "$tmp/large.hprof" "$tmp/large-other.hprof"
is "two dumps of one size" "$(stat -c %s "$other")" "$size"
middle=$((size / 2 / 4096 * 4096))

changed "cut to nothing" harm truncate_to 0
[ "$uid" -ne 0 ] || is "root sees files, links and folders fail" \
	"$([ "$files" -gt 0 ] && [ "$links" -gt 0 ] && [ "$folders" -gt 0 ] && echo yes)" yes
changed "cut in the middle, at a page" harm truncate_to "$middle"
changed "cut in the middle of a page" harm truncate_to $((middle + 1234))
changed "cut by a byte" harm truncate_to $((size - 1))
changed "cut by a page" harm truncate_to $((size - 4096))
changed "cut in the middle and grown with zeros" harm zeros $((middle + 1234))
changed "cut near the end and grown with zeros" harm zeros $((size - 20000))
changed "cut in the middle and grown with other bytes" harm noise $((middle + 1234))
changed "cut to nothing and grown with zeros" harm zeros 0
changed "written over with another dump of the same size" harm written_over "$other"
changed "written over again and again" harm written_over_and_over
changed "written over with a smaller dump" harm written_over "$(sample jvm)"
"$builddir/tests/mksample" big 400000 "$tmp/larger.hprof"
is "a larger dump" "$([ "$(stat -c %s "$tmp/larger.hprof")" -gt "$size" ] && echo larger)" larger
changed "written over with a larger dump" harm written_over "$tmp/larger.hprof"
changed "replaced by rename" fine renamed
changed "removed" fine removed
# Whoever writes to a dump may have changed any byte of it, and nobody says which: it is given up as a whole.
changed "touched" harm touched
changed "appended to" harm appended
changed "written to in the middle" harm scribbled

### What lies before a cut stays readable

cp "$original" "$dump"
serve "$dump" "$mnt"
array=$(sed -n 2p "$mnt/classes/byte[]/instances.tsv" | cut -f 1)
string=$(sed -n 2p "$mnt/strings/strings.tsv" | cut -f 1)
cp "$(object "$array")/data.bin" "$tmp/array"
cp "$(object "$string")/value.txt" "$tmp/string"
ended "$server" "$mnt" "before the cut"
# served_before_cut WHAT: another mount, that knows nothing yet, of what is cut in the middle then
served_before_cut() {
	check "$1: an array before it is served" cmp "$(object "$array")/data.bin" "$tmp/array"
	check "$1: a text before it is served" cmp "$(object "$string")/value.txt" "$tmp/string"
	check "$1: the dump's bytes before it are served" cmp -n $((middle - 1000000)) "$mnt/raw.hprof" "$original"
	check "$1: a table of classes is served" grep -q '^test.Holder' "$mnt/classes.tsv"
}
serve "$dump" "$mnt"
truncate -s "$middle" "$dump"
# Who finds out, gets the error.
refused "cut in the middle: the first to read gets an error" "Input/output error" cat "$mnt/raw.hprof"
served_before_cut "cut in the middle"
ended "$server" "$mnt" "cut in the middle"

### A baseline is a file of its own: what is of it fails when it is cut, the dump does not

cp "$original" "$tmp/baseline.hprof"
serve "$(sample jvm)" "$mnt" -o "baseline=$tmp/baseline.hprof"
removed_texts() { find "$mnt/diff/removed/test.Holder" -name '*.txt' | sort; }
last=$(removed_texts | tail -n 1) # the kernel does not have it yet when it is read
check "a baseline: what is removed is there" grep -q "^class: test.Holder" "$(removed_texts | head -n 1)"
truncate -s 100 "$tmp/baseline.hprof"
refused "a baseline that is cut: what is of it gives an error" "Input/output error" cat "$last"
refused "a baseline that is cut: what is made of both gives an error" "Input/output error" cat "$mnt/diff/strings.tsv"
check "a baseline that is cut: the dump is served" cmp "$mnt/raw.hprof" "$(sample jvm)"
check "a baseline that is cut: so are its tables" grep -q '^java.lang.String' "$mnt/classes.tsv"
ended "$server" "$mnt" "a baseline that is cut"

### A disk that fails: the dump is a file of another mount, whose own dump is cut. Its size stays what it was.

cp "$original" "$dump"
serve "$dump" "$tmp/disk"
disk=$server
serve "$tmp/disk/raw.hprof" "$mnt"
outer=$server
inner=$(stat -c %s "$tmp/disk/raw.hprof")
truncate -s "$middle" "$dump"
# The one request that finds out fails wherever it reads; not one of the outer mount's, please.
dd if="$tmp/disk/raw.hprof" iflag=direct bs=4096 count=1 of=/dev/null 2>/dev/null || :
is "failing disk: the file keeps its size" "$(stat -c %s "$tmp/disk/raw.hprof")" "$inner"
read_start
read_end "failing disk"
is "failing disk: reads fail" "$([ "$errors" -gt 0 ] && echo yes)" yes
is "failing disk: others do not" "$([ "$reads" -gt 100 ] && echo yes)" yes
served_before_cut "failing disk"
ended "$outer" "$mnt" "failing disk"
ended "$disk" "$tmp/disk" "the disk"

### Many small objects

"$builddir/tests/mksample" big 5000 "$tmp/small.hprof"
cp "$tmp/small.hprof" "$tmp/small-other.hprof"
printf '\000\000\001\200\000\000\000\001' | dd of="$tmp/small-other.hprof" bs=1 seek=23 conv=notrunc 2>/dev/null
with_dump "$tmp/small.hprof" "$tmp/small-other.hprof"
changed "small objects, cut in the middle" harm truncate_to $((size / 2))
changed "small objects, cut and grown with zeros" harm zeros $((size / 3))

is "nothing is left mounted" "$(mounts_left)" ""
plan
