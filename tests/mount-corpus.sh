#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real dumps of many virtual machines: each mounts, and counts are those of a program that shares no code.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

[ -d "$corpus/jvm" ] || skip_all "no real dumps at $corpus"

# Lines "class id or primitive array type, count", from hprofcount and from classes.tsv.
counted() { # DUMP-NUMBER
	awk -F '\t' -v want="dump $1" '/^dump / { on = $0 == want; next } /^record/ { on = 0 }
		on && !/^root/ { print $1 "\t" $2 }' "$tmp/counts" | sort
}
shown() { # FOLDER
	awk -F '\t' 'NR > 1 && $3 > 0 { n[$1 ~ /^(boolean|char|float|double|byte|short|int|long)\[\]$/ ? $1 : $2] += $3 }
		END { for (key in n) print key "\t" n[key] }' "$1/classes.tsv" | sort
}

compare() { # NUMBER FOLDER
	counted "$1" >"$tmp/counted"
	shown "$2" >"$tmp/shown"
	[ -s "$tmp/counted" ] || fail "$name: dump $1 holds something"
	check "$name: objects of each class, dump $1" diff "$tmp/counted" "$tmp/shown"
}

with_dump() {
	file=$1 name=${2##*/}
	"$builddir/tests/hprofcount" "$file" >"$tmp/counts" || { fail "$name: can be counted"; return; }
	mount_dump "$file" || return 0
	dumps=$(grep -c '^dump' "$tmp/counts")
	is "$name: heap dumps" "$(value 'heap dumps')" "$dumps"
	if [ "$dumps" -eq 1 ]; then
		compare 1 "$mnt"
		is "$name: roots" "$(value 'gc roots')" "$(awk -F '\t' '/^root/ { n += $2 } END { print n }' "$tmp/counts")"
	else
		number=1
		while [ "$number" -le "$dumps" ]; do
			compare "$number" "$mnt/dump-$number"
			number=$((number + 1))
		done
	fi
	is "$name: undamaged, so no word of damage" "$(grep '^warning: .*\(damage\|cut\|not shown\)' "$mnt/info.txt" || :)" ""
	check "$name: raw.hprof" cmp "$file" "$mnt/raw.hprof"
	check "$name: treecheck" "$builddir/tests/treecheck" --max-files 3000 "$mnt"
	unmount
}

for file in "$corpus"/android/*.hprof "$corpus"/jvm/*.hprof "$corpus"/jvm/*.bin "$corpus"/jvm/*.hprof.gz \
	"$corpus"/generated/*.hprof "$corpus"/generated/*.hprof.gz; do
	case $file in
	*'*'*) ;;
	*/small_heap_2.bin) ;;
	*.gz)
		gunzip -c "$file" >"$tmp/unpacked.hprof"
		with_dump "$tmp/unpacked.hprof" "$file"
		rm "$tmp/unpacked.hprof"
		;;
	*) with_dump "$file" "$file" ;;
	esac
done

# small_heap.bin with three bytes too many between two records, before byte 304376. All objects are whole.
file=$corpus/jvm/small_heap_2.bin name=small_heap_2.bin
if [ -e "$file" ] && mount_dump "$file"; then
	where=$(sed -n 's/^warning: .*at byte \([0-9]*\).*/\1/p' "$mnt/info.txt" | head -n 1)
	check "$name: the damage is named, at byte ${where:=0}" [ "$where" -ge 304360 -a "$where" -le 304376 ]
	has "$name: on stderr too" "$said" "$name: " "at byte $where"
	is "$name: bytes lost" "$(sed -n 's/^warning: .* \([0-9]*\) bytes not shown.*/\1/p' "$mnt/info.txt" |
		awk '{ n += $1 } END { print n + 0 }')" 3
	"$builddir/tests/hprofcount" "$corpus/jvm/small_heap.bin" >"$tmp/counts"
	compare 1 "$mnt"
	check "$name: treecheck" "$builddir/tests/treecheck" --max-files 3000 "$mnt"
	unmount
fi

plan
