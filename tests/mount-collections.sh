#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What collections hold: of dumps of which it is known, what the program put in; of all others, that entries.tsv has as
# many lines as collections.tsv says, which is the size the collection knows of itself.
# shellcheck disable=SC2016 # awk's
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

generated=$corpus/generated

# Two columns of a file, key and value.
pairs() { cut -f 2,4 "$1/entries.tsv" | tail -n +2; }
# line_of ID: in collections.tsv, without id and class
line_of() { awk -F '\t' -v id="$1" '$1 == id { print $3, $4, $5, $6 }' "${root:-$mnt}/collections/collections.tsv"; }
ids_of() { awk -F '\t' 'NR > 1 { print $1 }' "${root:-$mnt}/collections/collections.tsv"; }

# all_agree NAME: sizes and numbers of entries; order, fills and columns of collections.tsv
all_agree() {
	table=${root:-$mnt}/collections/collections.tsv
	is "$1: columns of collections.tsv" "$(head -n 1 "$table")" \
		"id${TAB}class${TAB}size${TAB}capacity${TAB}fill${TAB}wasted"
	is "$1: each line has 6" "$(awk -F '\t' 'NF != 6' "$table")" ""
	is "$1: emptiest first, of those the most wasteful" "$(awk -F '\t' 'NR > 1 {
		print ($5 == "-" ? 1e9 : $5) "\t" $6 }' "$table" | sort -k 1,1g -k 2,2nr -c 2>&1)" ""
	is "$1: fill is size / capacity" "$(awk -F '\t' 'NR > 1 && $5 != "-" && $5 != sprintf("%.2f", $3 / $4)' "$table")" ""
	is "$1: entries.tsv has as many lines as its collection elements" "$(
		cd "${root:-$mnt}/objects"
		ids_of | sed 's|$|/entries.tsv|' | xargs grep -Hc '' | sed 's|/entries.tsv:|\t|' >"$tmp/lines"
		awk -F '\t' -v lines="$tmp/lines" 'FILENAME == lines { n[$1] = $2 - 1; next }
			FNR > 1 && (!($1 in n) || n[$1] != $3)' "$tmp/lines" "$table" | head -n 5
	)" ""
}

### Samples of every layout; what is in them is unit_collections' to check

for kind in collections collections-6 collections-android collections-broken; do
	mount_dump "$(sample "$kind")" || continue
	check "$kind: treecheck" "$builddir/tests/treecheck" "$mnt"
	unmount
done
if mount_dump "$(sample collections)"; then
	folder=$mnt/classes/test.Named/statics
	is "entries.tsv: columns" "$(head -n 1 "$folder/hashMap/entries.tsv")" "key_id${TAB}key${TAB}value_id${TAB}value"
	is "entries.tsv: ids are objects'" "$(tail -n +3 "$folder/hashMap/entries.tsv" | cut -f 1,3 | tr '\t' '\n' |
		while read -r id; do [ -f "$mnt/objects/$id/object.txt" ] || echo "$id"; done)" ""
	is "an object that is none has no entries.tsv" "$(find "$mnt"/instances/test.Colour/*/ -name entries.tsv)" ""
	unmount
fi

### What the program of the generated dumps put in

# named NAME: the folder of one of its objects, found in the map that has them by name
named() {
	awk -F '\t' -v name="$1" '$2 == name { print $3 }' "$mnt/classes/gen.Gen/statics/NAMED/entries.tsv" | {
		read -r id && object "$id"
	}
}
id_of() { basename "$(named "$1")"; }

# generated_dump FILE MANIFEST BYTES_OF_A_REFERENCE
generated_dump() {
	file=$1 reference=$3
	if [ ! -r "$generated/$file" ]; then
		skip "$file" "no such dump"
		return
	fi
	mount_dump "$generated/$file" || return 0
	said() { awk -F '\t' -v key="$1" '$1 == key { print $2 }' "$generated/$2"; }
	size=$(said collections.hashmap.size "$2")
	awk -v n="$size" 'BEGIN { for (i = 0; i < n; i++) print "key" i "\t" i }' | sort >"$tmp/expected"
	pairs "$(named hashmap)" | sort >"$tmp/seen"
	check "$file: HashMap: its $size entries" cmp "$tmp/seen" "$tmp/expected"
	is "$file: HashMap: size and capacity" "$(line_of "$(id_of hashmap)" | cut -d ' ' -f 1-3)" "500 1024 0.49"
	awk -v n="$(said collections.treemap.size "$2")" 'BEGIN { for (i = 0; i < n; i++) print i "\tv" i }' >"$tmp/expected"
	pairs "$(named treemap)" >"$tmp/seen"
	check "$file: TreeMap: its entries, in order" cmp "$tmp/seen" "$tmp/expected"
	is "$file: TreeMap: no capacity" "$(line_of "$(id_of treemap)")" "1000 - - 0"
	awk -v n="$(said collections.chm.size "$2")" 'BEGIN { for (i = 0; i < n; i++) print i + 1000 "\t" i + 100000 }' \
		>"$tmp/expected"
	pairs "$(named chm)" | sort -n >"$tmp/seen"
	check "$file: ConcurrentHashMap: its entries" cmp "$tmp/seen" "$tmp/expected"
	is "$file: IdentityHashMap" "$(pairs "$(named ihm)" | sort | uniq -c | tr -s ' \t' ' ')" " 100 java.lang.Object x"
	awk 'BEGIN { for (i = 0; i < 100; i++) print "java.lang.Object\tw" i }' | sort >"$tmp/expected"
	pairs "$(named whm)" | sort >"$tmp/seen"
	check "$file: WeakHashMap" cmp "$tmp/seen" "$tmp/expected"
	is "$file: EnumMap" "$(pairs "$(named enummap)" | tr '\t\n' ' ;')" "RED RED;GREEN GREEN;BLUE BLUE;"
	is "$file: ArrayDeque" "$(pairs "$(named deque)" | tr '\t\n' ' ;')" "0 1;1 2;2 3;"
	is "$file: LinkedList" "$(pairs "$(named linked)" | tr '\t\n' ' ;')" "0 a;1 b;"
	is "$file: HashSet" "$(pairs "$(named hashset)" | sort | tr '\t\n' ' ;')" "p -;q -;"
	is "$file: an immutable list" "$(pairs "$(named lambdas)" | wc -l)" 3
	is "$file: a HashMap of one entry and 1024 slots" \
		"$(pairs "$(named wasteful)" | tr '\t' ' ') $(line_of "$(id_of wasteful)")" "one entry 1 1024 0.00 $((1023 * reference))"
	table=$(awk -F '\t' -v id="$(basename "$(readlink "$(named emptylist)/elementData")")" '$1 == id { print $3 }' \
		"$mnt/classes/java.lang.Object[]/instances.tsv")
	is "$file: an empty ArrayList of 10000 slots: all of its array" \
		"$(pairs "$(named emptylist)")$(line_of "$(id_of emptylist)")" "0 10000 0.00 $table"
	is "$file: ArrayList: Strings" "$(pairs "$(named strings)" | sed -n 2,4p | tr '\t\n' ' ;')" \
		"1 latin1-only;2 café;3 日本語;"
	is "$file: … cut after 1024 characters" "$(pairs "$(named strings)" | sed -n 9p | cut -f 2 | tr -d '\n' | wc -m)" 1025
	all_agree "$file"
	unmount
}
generated_dump tiny-17.hprof tiny-17.manifest.tsv 4
generated_dump tiny-17-i386.hprof tiny-17-i386.manifest.tsv 4
generated_dump tiny-25-compact.hprof tiny-25-compact.manifest.tsv 4
generated_dump tiny-25-nocoops.hprof tiny-25-nocoops.manifest.tsv 8
generated_dump tiny-25-zgc.hprof tiny-25-zgc.manifest.tsv 8
generated_dump tiny-25.par2.hprof.gz tiny-25.manifest.tsv 4

### Others' dumps

for file in jvm/hashmap.hprof jvm/sun_jdk5_13_x32.hprof jvm/sun_jdk6_18_x32.hprof jvm/sun_jdk6_32bit.hprof \
	jvm/oracle_jdk7_21_x64.hprof jvm/oracle_jdk8_05_x64.hprof jvm/openjdk_jdk11_04_x64.hprof.gz \
	jvm/oracle_jdk7_21_hprofagent.hprof android/leak_service_binder.hprof android/test-dump.hprof; do
	if [ ! -r "$corpus/$file" ]; then
		skip "$file" "no such dump"
		continue
	fi
	mount_dump "$corpus/$file" || continue
	root=$mnt
	[ ! -d "$mnt/dump-1" ] || root=$mnt/dump-1
	all_agree "${file##*/}"
	is "${file##*/}: there are some" "$([ "$(ids_of | wc -l)" -gt 30 ] && echo yes)" yes
	case $file in
	*/hashmap.hprof)
		is "hashmap.hprof: the map of three" "$(ids_of | while read -r id; do
			case $(pairs "$(object "$id")" | tr '\t\n' ' ;') in "1 2;3 4;5 6;") echo found ;; esac
		done)" found
		;;
	*/leak_service_binder.hprof)
		for class in ArrayMap SparseArray LongSparseArray SparseIntArray; do
			check "leak_service_binder.hprof: an android.util.$class" grep -q "${TAB}android.util.$class$TAB" \
				"$mnt/collections/collections.tsv"
		done
		;;
	esac
	root=
	unmount
done
if [ -r "$corpus/android/test-dump.hprof" ] && mount_dump "$corpus/android/test-dump.hprof" \
	-o mapping="$corpus/android/test-dump.map"; then
	all_agree "test-dump.hprof with its mapping"
	unmount
fi
plan
