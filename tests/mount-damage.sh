#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Damaged dumps: what is whole is shown, what is lost is named, with the place in the file.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

NODE=45			# bytes of a com.example.Node in the dump
PART=$((50 * NODE))	# of one part's; see DAMAGE_OBJECTS
HEADER=9		# bytes of a record's header

# Where in a dump these bytes are.
place() { LC_ALL=C grep -obUaP -m 1 "$2" "$1" | head -n 1 | cut -d : -f 1; }

# damaged KIND NODES PLACE LOST: mounts, shows that many Nodes, names the place on stderr and in info.txt and how
# many bytes are not shown.
damaged() {
	kind=$1 nodes=$2 where=$3 lost=$4
	mount_dump "$dump" || return 0
	is "$kind: nodes" "$(column_of com.example.Node instances)" "$nodes"
	is "$kind: nodes in instances/" "$(find "$mnt/instances/com.example.Node" -name '*.txt' | wc -l)" "$nodes"
	is "$kind: all have their fields" "$(cat "$mnt"/instances/com.example.Node/*.txt | grep -c '^number: int = ')" "$nodes"
	has "$kind: named on stderr" "$said" "heapfs: $dump: " "at byte $where"
	has "$kind: named in info.txt" "$(grep '^warning: ' "$mnt/info.txt")" "at byte $where"
	is "$kind: bytes that are not shown" \
		"$(sed -n 's/^warning: .* \([0-9]*\) bytes not shown.*/\1/p' "$mnt/info.txt" | awk '{ n += $1 } END { print n + 0 }')" "$lost"
	is "$kind: number of warnings" "$(value warnings)" "$(grep -c '^warning: ' "$mnt/info.txt")"
	check "$kind: raw.hprof has it all" cmp "$dump" "$mnt/raw.hprof"
	check "$kind: treecheck" "$builddir/tests/treecheck" "$mnt"
	unmount
	run "$heapfs" --strict "$dump" "$mnt"
	is "$kind: --strict refuses it" "$rc" 1
	is_mounted && unmount
	return 0
}

dump=$(sample unpatched) size=$(stat -c %s "$(sample unpatched)")
damaged unpatched 100 $((size - PART - HEADER)) 0
dump=$(sample wrapped) size=$(stat -c %s "$(sample wrapped)")
damaged wrapped 150 $((size - HEADER - 2 * (PART + HEADER))) 0

dump=$(sample overshoot) size=$(stat -c %s "$(sample overshoot)")
last=$((size - HEADER - PART - HEADER))	# where the overshooting segment really ends
damaged overshoot 150 $((last - 2348 - HEADER)) 0
if mount_dump "$dump"; then
	has "overshoot: the class that runs over is whole" "$(cat "$mnt/classes/com.example.Last/class.txt")" \
		"a: int" "b: int" "c: object" "superclass: java.lang.Object"
	unmount
fi

dump=$(sample zeros-appended) size=$(stat -c %s "$(sample zeros-appended)")
damaged zeros-appended 150 $((size - 100)) 100
dump=$(sample unknown-record)
damaged unknown-record 150 $(($(place "$dump" 0123456789) - HEADER)) 10
dump=$(sample bad-subrecord)
damaged bad-subrecord 200 "$(place "$dump" 'BCDEFGHI')" 8
dump=$(sample prim-array-type-0)
# Tag, id, trace, length and type, and three bytes.
damaged prim-array-type-0 200 $(($(place "$dump" '\x91\x92\x93') - 18)) 21
dump=$(sample nodata-type-0)
damaged nodata-type-0 200 $(($(place "$dump" '\xc3\x00\x00\x00') + 0)) 18
dump=$(sample cut) size=$(stat -c %s "$(sample cut)")
damaged cut 99 $((size - NODE + 15)) $((NODE - 15))

# Cut anywhere: every length mounts, and shows as many objects as are whole.
dump=$(sample zeros-appended)
size=$(($(stat -c %s "$dump") - 100))
for lost in 1 8 9 10 $((HEADER + 1)) $((HEADER + NODE)) $((HEADER + NODE + 1)) $((HEADER + 7 * NODE - 1)) $((HEADER + PART)) \
	$((HEADER + PART + 5)) $((2 * HEADER + PART)); do
	head -c $((size - lost)) "$dump" >"$tmp/short.hprof"
	whole=150
	[ "$lost" -le "$HEADER" ] || whole=$((150 - (lost - HEADER + NODE - 1) / NODE))
	[ "$whole" -gt 100 ] || whole=100
	if mount_dump "$tmp/short.hprof"; then
		is "cut by $lost bytes: nodes" "$(column_of com.example.Node instances)" "$whole"
		[ "$lost" -eq "$HEADER" ] || [ "$lost" -eq $((2 * HEADER + PART)) ] ||
			has "cut by $lost bytes: named" "$said" "at byte "
		unmount
	fi
done

dump=$(sample empty)
if mount_dump "$dump"; then
	has "empty: named on stderr" "$said" "$dump: there is no heap" "at byte 31"
	is "empty: nothing is shown" "$(value objects) $(find "$mnt/classes" "$mnt/instances" "$mnt/objects" "$mnt/roots" -mindepth 1 | wc -l)" "0 0"
	check "empty: treecheck" "$builddir/tests/treecheck" "$mnt"
	unmount
fi

dump=$(sample cycle)
if mount_dump "$dump"; then
	has "cycle: named on stderr" "$said" "superclass" "at byte "
	for class in cycle.A cycle.C; do
		is "cycle: $class has its instance" "$(column_of "$class" instances)" 1
		has "cycle: $class/class.txt ends" "$(timeout 5 cat "$mnt/classes/$class/class.txt")" "class: $class"
	done
	check "cycle: treecheck" timeout 60 "$builddir/tests/treecheck" "$mnt"
	unmount
fi

# Four more objects than ids: three of other objects, one of a class. The first in the file has the id.
dump=$(sample duplicates)
if mount_dump "$dump"; then
	first=$(sed -n 2p "$mnt/classes/com.example.Node/instances.tsv" | cut -f 1)
	has "duplicates: the first one in the file has the id" "$(cat "$(object "$first")/object.txt")" "number: int = 0"
	is "duplicates: instances/ lists an id once" "$(find "$mnt/instances/com.example.Node" -name '*.txt' | wc -l)" 300
	is "duplicates: instances.tsv lists each object" "$(tail -n +2 "$mnt/classes/com.example.Node/instances.tsv" | wc -l)" 303
	has "duplicates: counted, with the first place" "$(grep '^warning: ' "$mnt/info.txt")" "4 " "at byte "
	check "duplicates: treecheck" "$builddir/tests/treecheck" "$mnt"
	unmount
fi

# Not damage, but rare: ids in any order. Every object is found by its id.
dump=$(sample unordered)
if mount_dump "$dump"; then
	is "unordered: no warning" "$said$(value warnings)" 0
	is "unordered: all are found by id" "$(tail -n +2 "$mnt/classes/com.example.Node/instances.tsv" | cut -f 1 |
		(cd "$mnt/objects" && xargs stat -c %F -- | sort | uniq -c | tr -s ' '))" " 20000 symbolic link"
	is "unordered: objects/ lists all" "$(find "$mnt/objects" -mindepth 3 -maxdepth 3 -name '0x*' -type d | wc -l)" 20000
	last=$(tail -n 1 "$mnt/classes/com.example.Node/instances.tsv" | cut -f 1)
	is "unordered: links" "$(grep number "$mnt/objects/$last/next/next/object.txt")" "number: int = 19997"
	check "unordered: treecheck" "$builddir/tests/treecheck" --max-files 3000 "$mnt"
	unmount
fi

plan
