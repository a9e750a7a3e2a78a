#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# diff/ of heap dumps: dumps whose differences are known, dumps with themselves, real dumps against a reader that shares no
# code with heapfs (diff_truth.py), a JVM that is running; and heapfs-compare, which must print the same.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

compare=$builddir/heapfs-compare
older=$tmp/older	# where baselines are mounted alone

# mount_older DUMP
mount_older() {
	mkdir -p "$older"
	run "$heapfs" "$1" "$older"
	[ "$rc" -eq 0 ] && is_mounted_at "$older" && return 0
	fail "mounts ${1##*/}" "exit status $rc: $said"
	return 1
}

# in_diff KEY
in_diff() {
	value "$1" "$mnt/diff/info.txt"
}

# lines_of TABLE: with | for tabs
lines_of() {
	tr '\t' '|' <"$mnt/diff/$1.tsv"
}

# names_in FOLDER: in one line
names_in() {
	find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' '
}

# number_in FOLDER: of links or files, however they are split
number_in() {
	find "$mnt/diff/$1" ! -type d | wc -l
}

# same_by_truth NAME: what diff_truth.py finds, with $older and $mnt mounted
same_by_truth() {
	if ! command -v python3 >/dev/null; then
		skip "$1: diff/ is what a reader of its own finds" "no python3"
		return 0
	fi
	run python3 "$srcdir/tests/diff_truth.py" "$older" "$mnt"
	is "$1: diff/ is what a reader of its own finds ($(tail -n 1 "$tmp/stdout"))" "$rc $(sed '$d' "$tmp/stdout")$said" "0 "
}

# truth NAME OLDER NEWER [EXPECTED WAY [once]]: both ways, or one
truth() {
	name=$1 way=${4:-} once=${5:-}
	set -- "$2" "$3"
	for turn in "" ", the other way round"; do
		[ -z "$turn" ] || [ -z "$once" ] || continue
		if mount_older "$1"; then
			if mount_dump "$2" -o "baseline=$1"; then
				[ -z "$way" ] || has "$name$turn: how objects are matched" "$(in_diff 'matched by')" "$way"
				same_by_truth "$name$turn"
				unmount
			fi
			unmount_at "$older"
		fi
		set -- "$2" "$1"
	done
}

# compared NAME OLDER NEWER: heapfs-compare prints what diff/ shows; with them mounted
compared() {
	for table in classes strings dominators; do
		run "$compare" --table "$table" "$2" "$3"
		check "$1: heapfs-compare --table $table is diff/$table.tsv" cmp "$tmp/stdout" "$mnt/diff/$table.tsv"
	done
	run "$compare" --table info "$2" "$3"
	check "$1: heapfs-compare --table info is diff/info.txt" cmp "$tmp/stdout" "$mnt/diff/info.txt"
}

### Differences that are known

before=$(sample diff-before) after=$(sample diff-after) other=$(sample diff-other)
head="before|after|delta|bytes_before|bytes_after|bytes_delta"
grown="app.Row|40|45|5|1280|1440|160
byte[]|104|108|4|2496|2592|96
java.lang.String|104|108|4|2496|2592|96
app.Tag|7|9|2|112|144|32
app.Late|0|1|1|0|16|16
java.lang.Object[]|2|2|0|248|264|16
app.Early|1|0|-1|16|0|-16"

if mount_dump "$after" -o "baseline=$before"; then
	is "one process: files" "$(names_in "$mnt/diff")" "classes.tsv dominators.tsv info.txt new removed strings.tsv "
	is "one process: classes.tsv" "$(lines_of classes)" "class|$head
$grown"
	is "one process: strings.tsv" "$(lines_of strings)" "text|$head
leaked|0|6|6|0|288|288
gone|2|0|-2|96|0|-96"
	is "one process: dominators.tsv" "$(lines_of dominators | head -n 5)" "path|$head
java.lang.String|204|212|8|4896|5088|192
java.lang.Object[]|41|46|5|1496|1656|160
java.lang.Object[] > app.Row|40|45|5|1280|1440|160
java.lang.String > byte[]|102|106|4|2448|2544|96"
	is "one process: matched by" "$(in_diff 'matched by')" "id and content"
	is "one process: because" "$(in_diff because)" "the same process, and objects are where they were"
	is "one process: threads" "$(in_diff 'threads in both')" "2, at the same address: 2"
	is "one process: totals" "$(in_diff growth), new $(in_diff new), removed $(in_diff removed)" \
		"15 objects, 400 bytes, new 27 objects, 720 bytes, removed 12 objects, 320 bytes"
	is "one process: new/" "$(names_in "$mnt/diff/new")" "app.Late app.Row app.Tag byte[] java.lang.Object[] java.lang.String "
	is "one process: removed/" "$(names_in "$mnt/diff/removed")" \
		"app.Early app.Row app.Tag byte[] java.lang.Object[] java.lang.String "
	is "one process: new rows" "$(cat "$mnt"/diff/new/app.Row/*/object.txt | sed -n 's/^number: int = //p' | tr '\n' ' ')" \
		"40 41 42 43 44 45 46 47 48 49 "
	is "one process: removed rows" "$(cat "$mnt"/diff/removed/app.Row/*.txt | sed -n 's/^number: int = //p' | tr '\n' ' ')" \
		"0 1 2 3 4 "
	row=$(names_in "$mnt/diff/removed/app.Row")
	row=${row%% *}
	is "one process: what is still there is not new" "$(ls "$mnt/diff/new/app.Row/${row%.txt}" 2>/dev/null)" ""
	if mount_older "$before"; then
		is "one process: a removed object is told as the baseline tells it" "$(cat "$mnt/diff/removed/app.Row/$row")" \
			"$(cat "$older/instances/app.Row/$row")"
		unmount_at "$older"
	fi
	is "one process: info.txt names the baseline" "$(value baseline)" "$before"
	check "one process: treecheck" "$builddir/tests/treecheck" "$mnt"
	compared "one process" "$before" "$after"
	unmount
fi
if mount_dump "$after" -o "baseline=$before" -o links=no; then
	is "without links: new/ has none" "$(number_in new) $(number_in removed)" "0 12"
	unmount
fi
if mount_dump "$other" -o "baseline=$before"; then
	is "another process: classes.tsv" "$(lines_of classes)" "class|$head
$grown"
	is "another process: because" "$(in_diff because)" "another process: the VM's own threads are at other addresses"
	is "another process: new/" "$(names_in "$mnt/diff/new")" \
		"app.Counter app.Holder app.Late app.Row app.Tag byte[] java.lang.Object[] java.lang.String "
	is "another process: new and removed" "$(number_in new) $(number_in removed)" "30 15"
	check "another process: treecheck" "$builddir/tests/treecheck" "$mnt"
	unmount
fi
truth "one process" "$before" "$after" id
truth "another process" "$before" "$other" content

damaged=$(sample bad-subrecord)
if mount_dump "$damaged" -o "baseline=$damaged"; then
	is "a damaged baseline: diff/info.txt has its warnings" "$(in_diff 'warnings about the file before')$(in_diff warning)" \
		"$(value warnings)$(value warning)"
	unmount
fi

### A dump with itself

for kind in sample jvm unordered duplicates agent-1 bitmaps-24; do
	dump=$(sample "${kind%-1}")
	case $kind in *-1) options="-o dump=1 -o baseline_dump=1" ;; *) options= ;; esac
	# shellcheck disable=SC2086 # several words
	mount_dump "$dump" $options -o "baseline=$dump" || continue
	tables=3
	[ ! -e "$mnt/bitmaps.tsv" ] || tables=4
	is "$kind with itself: nothing is there" "$(find "$mnt/diff/new" "$mnt/diff/removed" -mindepth 1 | wc -l) $(
		find "$mnt/diff" -maxdepth 1 -name '*.tsv' | wc -l) $(cat "$mnt"/diff/*.tsv | wc -l)" "0 $tables $tables"
	unmount
done
run "$compare" "$after" "$after"
is "heapfs-compare of a dump with itself: a header, and 0" "$rc $(wc -l <"$tmp/stdout")$said" "0 1"

### Many objects: folders are split

mksample big 20000 "$tmp/big-1.hprof"
mksample big 60000 "$tmp/big-2.hprof"
if mount_dump "$tmp/big-2.hprof" -o "baseline=$tmp/big-1.hprof"; then
	is "many: all are there" "$(number_in new) $(number_in removed)" "$(in_diff new | cut -d ' ' -f 1) 0"
	is "many: folders are split" "$(names_in "$mnt/diff/new/byte[]")" "0000 2048 4096 6144 8192 "
	is "many: a part" "$(names_in "$mnt/diff/new/byte[]/2048" | wc -w) $(names_in "$mnt/diff/new/byte[]/8192" | wc -w)" "2048 1808"
	link=$(names_in "$mnt/diff/new/byte[]/2048")
	link=${link%% *}
	is "many: a link leads to its object" "$(sed -n 's/^id: //p' "$mnt/diff/new/byte[]/2048/$link/object.txt")" "$link"
	is "many: no object is in another part" "$(ls "$mnt/diff/new/byte[]/0000/$link" 2>/dev/null)" ""
	check "many: treecheck" "$builddir/tests/treecheck" "$mnt/diff"
	unmount
fi
truth "many" "$tmp/big-1.hprof" "$tmp/big-2.hprof"

### Nobody waits but who asks for it

mksample big 500000 "$tmp/large-1.hprof"
mksample big 600000 "$tmp/large-2.hprof"
# With one thread for all requests: one that waited would hold up everything.
if mount_dump "$tmp/large-2.hprof" -s -o "baseline=$tmp/large-1.hprof"; then
	waiting=
	for name in info.txt dominators.tsv strings.tsv; do
		cat "$mnt/diff/$name" >"$tmp/waited-$name" 2>&1 &
		waiting="$waiting $!"
	done
	started="$started$waiting"
	is "while it is compared: other files can be read" "$(value objects)" 600000
	is "while it is compared: classes.tsv is there" "$(head -n 1 "$mnt/diff/classes.tsv" | cut -f 1)" class
	for pid in $waiting; do
		wait "$pid" || :
	done
	for name in info.txt dominators.tsv strings.tsv; do
		check "when it is compared: all have their answer: $name" cmp "$tmp/waited-$name" "$mnt/diff/$name"
	done
	is "when it is compared: new" "$(in_diff new | cut -d ' ' -f 1)" 100000
	unmount
fi
# The end of the mount is the end of what is compared.
for name in info.txt dominators.tsv; do
	mkdir -p "$mnt"
	"$heapfs" -f -o "baseline=$tmp/large-1.hprof" "$tmp/large-2.hprof" "$mnt" &
	server=$!
	started="$started $server"
	until_true test -d "$mnt/diff"
	cat "$mnt/diff/$name" >"$tmp/waited" 2>/dev/null &
	waiter=$!
	started="$started $waiter"
	sleep 0.1
	kill -TERM "$server"
	rc=0
	wait "$waiter" || rc=$?
	is "ended while it is compared: who waits for $name is told, or had the answer" \
		"$([ "$rc" -ne 0 ] || [ -s "$tmp/waited" ] && echo yes)" yes
	rc=0
	wait "$server" || rc=$?
	is "ended while it is compared ($name): its exit status, and it is gone" "$rc $(mounts_left)" "0 "
done
rm -f "$tmp"/large-*.hprof

### Names of two builds

printf 'com.example.Single -> app.Early:\n' >"$tmp/old.map"
printf 'com.example.Single -> app.Late:\n' >"$tmp/new.map"
# singles OPTION…: of the class that is called otherwise in each of them, what heapfs-compare says
singles() {
	"$compare" "$@" "$before" "$after" 2>/dev/null | grep '^com.example.Single\|^app.\(Early\|Late\)' | cut -f 1,4 | tr '\t\n' ' ;'
}
is "without mappings" "$(singles)" "app.Late 1;app.Early -1;"
is "a mapping" "$(singles --mapping "$tmp/new.map")" "com.example.Single 1;app.Early -1;"
is "a mapping for each" "$(singles --mapping "$tmp/new.map" --old-mapping "$tmp/old.map")" ""
"$compare" --mapping "$tmp/new.map" --old-mapping "$tmp/old.map" "$before" "$after" >"$tmp/mapped" 2>/dev/null || :
"$heapfs" --export diff/classes.tsv -o "baseline=$before,baseline_mapping=$tmp/old.map,mapping=$tmp/new.map" "$after" \
	>"$tmp/exported"
check "a mapping for each: there are classes" test -s "$tmp/exported"
check "a mapping for each: baseline_mapping= does the same" cmp "$tmp/exported" "$tmp/mapped"
refused "baseline_mapping= without a baseline" "baseline= was not given" "$heapfs" --export . -o "baseline_mapping=$tmp/old.map" "$after"
refused "--old-mapping of one file" "the older of two" "$compare" --old-mapping "$tmp/old.map" --dump "$after"

### heapfs-compare in scripts

run "$compare" "$before" "$after"
is "grown: exit status" "$rc" 1
has "grown: what it says" "$said" "grown by 400 bytes"
run "$compare" --threshold 400 "$before" "$after"
is "grown, within the threshold" "$rc $said" "0 "
run "$compare" --threshold 399 "$before" "$after"
is "grown, beyond the threshold" "$rc" 1
run "$compare" "$after" "$before"
is "shrunk: exit status" "$rc $said" "0 "
run "$compare" "$before" "$tmp/absent.hprof"
is "absent: exit status" "$rc" 2
run "$compare" --table bitmaps "$before" "$after"
is "no such table: exit status" "$rc" 2
has "no such table: what it says" "$said" "there is no such table"

### What is refused

refused "a file of several dumps without a choice" "dump" "$heapfs" -o "baseline=$(sample two-segments-dumps)" "$after" "$mnt"
mksample loli 10 "$tmp/small.loli"
refused "a profile as a dump's baseline" "native profile" "$heapfs" -o "baseline=$tmp/small.loli" "$after" "$mnt"
refused "a baseline that is not there" "absent.hprof" "$heapfs" -o "baseline=$tmp/absent.hprof" "$after" "$mnt"

### Real dumps

while read -r old new way once; do
	if [ ! -r "$corpus/$old" ] || [ ! -r "$corpus/$new" ]; then
		skip "$old and $new" "no corpus"
		continue
	fi
	truth "$old and $new" "$corpus/$old" "$corpus/$new" "$way" "$once"
done <<'PAIRS'
android/test-dump-base.hprof android/test-dump.hprof content
android/leak_service_binder.hprof android/leak_service_binder.hprof id once
jvm/string.hprof jvm/object.hprof content once
jvm/oracle_jdk7_21_x64.hprof jvm/oracle_jdk8_05_x64.hprof content once
jvm/sun_jdk6_18_x32.hprof jvm/sun_jdk5_13_x32.hprof content
generated/tiny-25-nocoops.hprof generated/tiny-25-compact.hprof content once
generated/tiny-25-zgc.hprof generated/tiny-25-zgc.hprof id once
PAIRS

### A JVM that is running

# dump_to FILE: of the JVM
dump_to() {
	rm -f "$1"
	jcmd "$jvm" GC.heap_dump "$1" >"$tmp/jcmd" 2>&1 && [ -s "$1" ]
}

is_ready() {
	[ "$(grep -c ready "$tmp/leaks.out")" -ge "$1" ]
}

if command -v java >/dev/null && command -v jcmd >/dev/null && command -v python3 >/dev/null; then
	for collector in Serial G1; do
		mkfifo "$tmp/leaks-$collector"
		# Two threads of the compiler are enough, and it ends when nobody writes any more.
		java -XX:TieredStopAtLevel=1 -Xmx64m "-XX:+Use${collector}GC" "$srcdir/tests/Leaks.java" \
			<"$tmp/leaks-$collector" >"$tmp/leaks.out" 2>&1 &
		jvm=$!
		started="$started $jvm"
		exec 3>"$tmp/leaks-$collector"
		for pause in 1 1 2 2 4 4 8 8; do
			is_ready 1 && break
			sleep "$pause"
		done
		if is_ready 1 && dump_to "$tmp/jvm-1.hprof"; then
			echo >&3
			until_true is_ready 2
			dump_to "$tmp/jvm-2.hprof"
			if mount_older "$tmp/jvm-1.hprof" && mount_dump "$tmp/jvm-2.hprof" -o "baseline=$tmp/jvm-1.hprof"; then
				diag "$collector: matched by $(in_diff 'matched by'), because: $(in_diff because)"
				is "$collector: what was kept is new" "$(number_in "new/Leaks\$Kept")" 1000
				is "$collector: what was there before is not" "$(ls -d "$mnt/diff/new/Leaks\$Fixed" 2>/dev/null)" ""
				is "$collector: nothing of that is removed" "$(ls -d "$mnt/diff/removed/Leaks\$Fixed" 2>/dev/null)" ""
				is "$collector: all threads are where they were" "$(in_diff 'threads in both' |
					awk -F '[, ]+' '{ print ($1 > 3 && $1 == $NF) }')" 1
				is "$collector: Leaks\$Kept in classes.tsv" \
					"$(lines_of classes | awk -F '|' '$1 == "Leaks$Kept" { print $2, $3, $4 }')" "0 1000 1000"
				same_by_truth "$collector"
			fi
			unmount
			unmount_at "$older"
		else
			fail "$collector: a JVM is dumped" "$(cat "$tmp/leaks.out" "$tmp/jcmd" 2>/dev/null)"
		fi
		exec 3>&-
		wait "$jvm" 2>/dev/null || true
	done
else
	skip "two dumps of one JVM" "no java, jcmd or python3"
fi

plan
