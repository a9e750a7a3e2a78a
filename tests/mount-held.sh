#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# graph/: who holds what. That it is built when it is asked for and not before, that nobody who asks for something else
# waits meanwhile, that du adds up, and what the files say. (What dominates what is held against a program's own knowledge
# in mount-truth.sh, and against brute force in unit_graph.)
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

state() {
	value state "$mnt/graph/progress.txt"
}

# sum FILE: of the numbers in its first column
sum() {
	awk '{ sum += $1 } END { printf "%d\n", sum }' "$1"
}

was_asked_for() {
	! grep -q "not asked for" "$mnt/graph/progress.txt"
}

### Nothing is built before it is asked for

big=$tmp/big.hprof
mksample big 4000000 "$big"
mount_dump "$big" || exit 1
is "not asked for: progress.txt" "$(state)" "not asked for"
is "progress.txt: its size is its bytes" "$(stat -c %s "$mnt/graph/progress.txt")" "$(wc -c <"$mnt/graph/progress.txt")"
class=$(awk -F '\t' 'NR > 1 && $3 > 0 && $5 != "-" { print $1; exit }' "$mnt/classes.tsv")
id=$(sed -n 2p "$mnt/classes/$class/instances.tsv" | cut -f 1)
folder=$(object "$id")
ls -l --color=always "$mnt" "$mnt/instances" "$mnt/classes/$class" "$folder" >"$tmp/listing"
ls "$mnt/graph" "$mnt/graph/objects" >"$tmp/listing"
ls -ld "$mnt/graph/objects/$id/" "$folder/graph.d/" >"$tmp/listing"
is "not asked for by listings elsewhere, nor by graph.d" "$(state)" "not asked for"

### Nobody waits but who asks for it

# With one thread for all requests: one that waited would hold up everything.
unmount
mount_dump "$big" -s || exit 1
waiting=
for n in 1 2 3 4; do
	cat "$mnt/graph/dominators.tsv" >"$tmp/waited$n" 2>&1 &
	waiting="$waiting $!"
done
started="$started$waiting"
until_true was_asked_for
before=$(state)
check "while it is built: other files can be read" test "$(value objects)" -ge 4000000
first=${waiting# }
first=${first%% *}
if [ "$before" = "being built" ]; then
	kill "$first"
	rc=0
	wait "$first" 2>/dev/null || rc=$?
	is "while it is built: one that waits can be ended" "$rc" 143
else
	skip "while it is built: one that waits can be ended" "it was built too fast"
fi
for pid in $waiting; do
	[ "$pid" = "$first" ] || wait "$pid" || :
done
is "when it is built: the others have their answer" "$(cat "$tmp/waited2" "$tmp/waited3" "$tmp/waited4" | sort -u | wc -l)" \
	"$(wc -l <"$mnt/graph/dominators.tsv")"
is "when it is built: progress.txt" "$(state) $(value percent "$mnt/graph/progress.txt")" "ready 100"
is "when it is built: progress.txt has a new time" \
	"$([ "$(stat -c %Y "$mnt/graph/progress.txt")" -gt "$(stat -c %Y "$mnt/graph/summary.txt")" ] && echo yes)" yes
cp "$mnt/graph/summary.txt" "$mnt/graph/classes.tsv" "$mnt/graph/unreachable.tsv" "$mnt/graph/dominators.tsv" "$tmp"
unmount

# The end of the mount is the end of the builder.
mkdir -p "$mnt"
"$heapfs" -f "$big" "$mnt" &
server=$!
started="$started $server"
until_true test -d "$mnt/graph"
cat "$mnt/graph/summary.txt" >"$tmp/waited" 2>&1 &
waiter=$!
started="$started $waiter"
until_true was_asked_for
kill -TERM "$server"
rc=0
wait "$waiter" || rc=$?
is "ended while it is built: who waits is told, or had the answer" "$([ "$rc" -ne 0 ] || [ -s "$tmp/waited" ] && echo yes)" yes
rc=0
wait "$server" || rc=$?
is "ended while it is built: its exit status, and it is gone" "$rc $(mounts_left)" "0 "

### In temporary files it is the same

mount_dump "$big" -o "graph_memory=1M,tmpdir=$tmp" || exit 1
for file in summary.txt classes.tsv unreachable.tsv dominators.tsv; do
	check "graph_memory=1M: $file" cmp "$mnt/graph/$file" "$tmp/$file"
done
check "graph_memory=1M: most is in files" test "$(value 'in temporary files' "$mnt/graph/progress.txt")" -gt 50000000
is "graph_memory=1M: which have no names" "$(find "$tmp" -mindepth 1 -maxdepth 1 -name 'heapfs-*')" ""
unmount
rm "$big"
mkdir "$tmp/nowhere"
mount_dump "$(sample jvm)" -o "graph_memory=1,tmpdir=$tmp/nowhere"
rmdir "$tmp/nowhere"
refused "graph_memory: without a folder for the files" "Cannot allocate memory" cat "$mnt/graph/summary.txt"
is "graph_memory: progress.txt says so" "$(state)" failed
check "graph_memory: the rest is there" test -s "$mnt/classes.tsv"
unmount
for bad in 0 -1 1X 99999999999999999999 x; do
	refused "graph_memory=$bad" "graph_memory=$bad: must be a size" "$heapfs" -o "graph_memory=$bad" "$(sample jvm)" "$mnt"
done
refused "dominators=some" "dominators=some: must be one of large all" "$heapfs" -o dominators=some "$(sample jvm)" "$mnt"

### du

# du_adds_up NAME: on what is mounted
du_adds_up() {
	graph=$mnt/graph
	reachable=$(value 'reachable bytes' "$graph/summary.txt")
	is "$1: du -sb of dominators/" "$(du -sb "$graph/dominators" | cut -f 1)" "$reachable"
	is "$1: du --apparent-size" "$(du -s -B1 --apparent-size "$graph/dominators" | cut -f 1)" "$reachable"
	wrong=
	for folder in "$graph"/dominators/*/; do
		[ -d "$folder" ] || continue
		id=0x${folder##*@0x}
		id=${id%/}
		retained=$(value retained "$graph/objects/$id/retained.txt")
		[ "$(du -sb "$folder" | cut -f 1) $(du -s -B1 "$folder" | cut -f 1)" = "$retained $((retained / 512 * 512))" ] ||
			wrong="$wrong $folder"
	done
	is "$1: du of each folder is what retained.txt says" "$wrong" ""
	if command -v ncdu >/dev/null && command -v python3 >/dev/null; then
		ncdu -0xo "$tmp/ncdu.json" "$graph/dominators"
		is "$1: ncdu" "$(python3 -c 'import json, sys
def size(at): return sum(map(size, at[1:])) + at[0].get("asize", 0) if isinstance(at, list) else at.get("asize", 0)
print(size(json.load(open(sys.argv[1]))[3]))' "$tmp/ncdu.json")" "$reachable"
	else
		skip "$1: ncdu" "no ncdu or no python3"
	fi
	find "$graph/dominators" -type f -printf '%s\n' >"$tmp/sizes"
	is "$1: the files' sizes" "$(sum "$tmp/sizes")" "$reachable"
	is "$1: their content is nothing" "$(find "$graph/dominators" -type f -size -200k -exec cat {} + | tr -d '\000' | wc -c)" 0
	# The table and the folders agree.
	tail -n +2 "$graph/dominators.tsv" | awk -F '\t' '$6 == "-" { print $4 }' | head -n 20 >"$tmp/table"
	find "$graph/dominators" -mindepth 1 -maxdepth 1 -name '*@0x*' | sed 's/.*@/@/' | sort >"$tmp/top"
	tail -n +2 "$graph/dominators.tsv" | awk -F '\t' '$6 == "-" && $4 >= 4096 { print "@" $1 }' | sort >"$tmp/top.table"
	is "$1: the largest of dominators.tsv are at the top" "$(comm -13 "$tmp/top" "$tmp/top.table" | wc -l)" 0
	sort -rn "$tmp/table" >"$tmp/table.sorted"
	check "$1: most first" cmp "$tmp/table" "$tmp/table.sorted"
}

for kind in sample jvm; do
	mount_dump "$(sample $kind)" || continue
	du_adds_up $kind
	unmount
	mount_dump "$(sample $kind)" -o dominators=all || continue
	du_adds_up "$kind, all"
	shown=$(find "$mnt/graph/dominators" -name '*@0x*' | wc -l)
	rest=$(find "$mnt/graph/dominators" -name 'rest-*' | sed 's/.*rest-\([0-9]*\)-.*/\1/' >"$tmp/rest" && sum "$tmp/rest")
	# At the limits of depth a file stands for itself and for all below it.
	if [ "$(find "$mnt/graph/dominators" -mindepth 60 | wc -l)" -eq 0 ]; then
		is "$kind, all: every object is shown, or counted" "$((shown + rest))" "$(value 'reachable objects' "$mnt/graph/summary.txt")"
	fi
	unmount
done
if [ -d "$corpus/generated" ]; then
	for dump in tiny-17.hprof tiny-25-zgc.hprof tiny-17-i386.hprof; do
		mount_dump "$corpus/generated/$dump" || continue
		du_adds_up "$dump"
		is "$dump: no folder is too deep" "$(find "$mnt/graph/dominators" -mindepth 66 | wc -l)" 0
		is "$dump: no path is too long" "$(cd "$mnt" && find graph/dominators | awk 'length > 3300' | wc -l)" 0
		unmount
	done
	mount_dump "$corpus/android/leak_service_binder.hprof" && du_adds_up leak_service_binder && unmount
else
	skip "real dumps" "no corpus of dumps in $corpus"
fi

### What the files say

mount_dump "$(sample sample)" || exit 1
cd "$mnt/graph"
activity=$(sed -n 2p "$mnt/classes/com.example.app.MainActivity/instances.tsv" | cut -f 1)
is "graph.d of an object" "$(readlink "$(object "$activity")/graph.d")" "../../../../graph/objects/$activity"
is "graph.d of a class" "$(cd "$mnt/classes/com.example.app.Tracker/graph.d" && printf '%s ' *)" \
	"path-to-root.txt referrers referrers.tsv retained.txt "
tracker=$(awk -F '\t' '$1 == "com.example.app.Tracker" { print $2 }' "$mnt/classes.tsv")
is "path-to-root.txt" "$(cat "objects/$activity/path-to-root.txt")" "path 1 of 1: 2 objects
root: sticky-class${TAB}class com.example.app.Tracker${TAB}classes/com.example.app.Tracker
.lastActivity${TAB}com.example.app.MainActivity${TAB}objects/1/2c2/$activity"
is "referrers.tsv" "$(cat "objects/$activity/referrers.tsv")" "id${TAB}class${TAB}field
$tracker${TAB}class com.example.app.Tracker${TAB}lastActivity"
is "referrers/" "$(ls "objects/$activity/referrers") $(readlink "objects/$activity/referrers/$tracker")" \
	"$tracker ../../../../classes/com.example.app.Tracker"
check "referrers/: the link leads to the class" test -s "objects/$activity/referrers/$tracker/class.txt"
is "retained.txt" "$(sed '/^native/d' "objects/$activity/retained.txt")" "shallow: 48
retained: 48
retained objects: 1
dominator: $tracker class com.example.app.Tracker
held: strongly"
check "objects/: nothing is listed" test -z "$(ls objects)"
for bad in 0x1 "${activity#0x}" "0x0${activity#0x}" "$(echo "$activity" | tr a-f A-F)x" x; do
	check "objects/: no $bad" test ! -e "objects/$bad"
done
head -n 1 -- *.tsv | sed '/^$/d' >"$tmp/heads"
is "the tables' columns" "$(cat "$tmp/heads")" "==> classes.tsv <==
class${TAB}id${TAB}instances${TAB}shallow${TAB}retained${TAB}native${TAB}unreachable
==> dominators.tsv <==
id${TAB}class${TAB}shallow${TAB}retained${TAB}retained_objects${TAB}dominator
==> leaks.tsv <==
id${TAB}class${TAB}kind${TAB}reason${TAB}retained${TAB}path
==> unreachable.tsv <==
class${TAB}id${TAB}objects${TAB}shallow"
is "classes.tsv: a line a class" "$(tail -n +2 classes.tsv | wc -l)" "$(tail -n +2 "$mnt/classes.tsv" | wc -l)"
is "summary.txt: all objects" "$(grep ' objects: ' summary.txt | sed 's/.*: //' | paste -sd + - | bc)" "$(value objects summary.txt)"
cd /
unmount

# More referrers than a folder shows at once: their links lie in parts.
mount_dump "$(sample hub)" || exit 1
hub=$mnt/graph/objects/$(sed -n 2p "$mnt/classes/test.Hub/instances.tsv" | cut -f 1)
is "5,000 referrers: in parts" "$(find "$hub/referrers" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | paste -sd ' ' -)" "0000 2048 4096"
is "5,000 referrers: links" "$(find "$hub/referrers" -type l | wc -l) $(find "$hub/referrers/4096" -type l | wc -l)" "5000 904"
tail -n +2 "$hub/referrers.tsv" | cut -f 1 | sort >"$tmp/table"
find "$hub/referrers" -type l -printf '%f\n' | sort >"$tmp/links"
check "5,000 referrers: those of the table" cmp "$tmp/table" "$tmp/links"
is "5,000 referrers: each link leads to its object" "$(find "$hub/referrers/2048" -type l -printf '%f %l\n' |
	awk '{ sub(/.*\//, "", $2); if ($1 != $2) print }')" ""
is "5,000 referrers: the shortest path" "$(head -n 4 "$hub/path-to-root.txt" | cut -f 1,2)" "path 1 of 10: 3 objects
root: jni-global${TAB}java.lang.Object[]
[0]${TAB}test.Spoke
.hub${TAB}test.Hub"
last=$mnt/graph/objects/$(sed -n 2p "$mnt/classes/test.Node/instances.tsv" | cut -f 1)
is "a list of 200,000: the path to its end" "$(wc -l <"$last/path-to-root.txt") $(sed -n 1p "$last/path-to-root.txt")" \
	"200002 path 1 of 1: 200001 objects"
is "a list of 200,000: in pieces it is the same" "$(dd if="$last/path-to-root.txt" bs=7777 status=none | md5sum)" \
	"$(md5sum <"$last/path-to-root.txt")"
unmount

# Of whatever the roots hold: as many links as referrers.
mount_dump "$(sample jvm)" || exit 1
most=$(find "$mnt/roots" -type l | head -n 300 | while read -r link; do
	id=${link##*/}
	printf '%s %s\n' "$(wc -l <"$mnt/graph/objects/$id/referrers.tsv")" "$id"
done | sort -rn | head -n 1)
check "referrers/: as many links as referrers" test \
	"$(find "$mnt/graph/objects/${most#* }/referrers/" -type l | wc -l)" -eq \
	"$(tail -n +2 "$mnt/graph/objects/${most#* }/referrers.tsv" | cut -f 1 | sort -u | wc -l)"
unmount

plan
