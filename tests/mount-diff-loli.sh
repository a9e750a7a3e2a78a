#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# diff/ of native profiles, mounted: LoliProfiler's own reports byte for byte, what all that differs adds up to, trees for
# du, two moments, options, and a baseline that is cut while it is mounted. (Known values: unit_compare_loli.)
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

loli=$corpus/loli
before=$tmp/before.loli after=$tmp/after.loli
mksample loli-before "$before"
mksample loli-after "$after"

# diff_agrees MESSAGE GROWTH: tables and trees say the same
diff_agrees() {
	is "$1: functions, stacks and trees agree" \
		"$(awk -F '\t' 'NR > 1 { sum += $3 } END { printf "%d", sum }' "$mnt/diff/functions.tsv") \
$(awk -F '\t' 'NR > 1 { sum += $3 } END { printf "%d", sum }' "$mnt/diff/stacks.tsv") \
$(($(tree_size new) + $(tree_size grown) - $(tree_size shrunk) - $(tree_size removed)))" "$2 $2 $2"
}

tree_size() {
	du -sb "$mnt/diff/callstacks/$1" | cut -f 1
}

# nobody_serves DUMP: no process has it open
nobody_serves() {
	! find /proc/[0-9]*/map_files -lname "$1" 2>/dev/null | grep -q .
}

### Two of our own

mount_dump "$after" || exit 1
check "without a baseline there is no diff/" test ! -e "$mnt/diff"
unmount
mount_dump "$after" -o "baseline=$before"
is "what is in diff/" "$(find "$mnt/diff" -mindepth 1 -maxdepth 2 -printf '%P ' | tr ' ' '\n' | sort | tr '\n' ' ')" \
	"callstacks callstacks/grown callstacks/new callstacks/removed callstacks/shrunk functions.tsv report.txt stacks.tsv "
diff_agrees "ours" 192
is "trees: as large as the change" "$(tree_size new) $(tree_size grown) $(tree_size shrunk) $(tree_size removed)" \
	"8192 8000 9000 7000"
is "trees: a way down" "$(find "$mnt/diff/callstacks/grown" -type f ! -name self.bin -printf '%P %s\n')" \
	"unknown![no name]/main()/load()/Grow(int)/libloli.so![no name] 8000"
same_folder() {
	test "$1" -ef "$2"
}
check "the way up to a tree" same_folder "$mnt/diff/callstacks/grown/unknown![no name]/.." "$mnt/diff/callstacks/grown"
check "the way up to all trees" same_folder "$mnt/diff/callstacks/grown/.." "$mnt/diff/callstacks"
check "the way up to diff/" same_folder "$mnt/diff/callstacks/.." "$mnt/diff"
check "the way up to the root" same_folder "$mnt/diff/.." "$mnt"
is "info.txt" "$(value baseline)" "$before"
check "treecheck" "$builddir/tests/treecheck" "$mnt"
for name in functions stacks; do
	"$builddir/heapfs-compare" --table "$name" "$before" "$after" >"$tmp/$name" 2>/dev/null || :
	check "$name: as heapfs-compare prints it" cmp "$tmp/$name" "$mnt/diff/$name.tsv"
done
"$heapfs" --export diff/stacks.tsv -o "baseline=$before" "$after" >"$tmp/exported"
check "exported" cmp "$tmp/exported" "$mnt/diff/stacks.tsv"
unmount
mount_dump "$before" -o "baseline=$before"
is "itself: nothing" "$(cat "$mnt/diff/functions.tsv" "$mnt/diff/stacks.tsv" | wc -l) \
$(find "$mnt/diff/callstacks" -type f | wc -l)" "2 0"
unmount

### Two moments

mksample loli 0 "$tmp/small.loli"
mount_dump "$tmp/small.loli" -o baseline_time=200
diff_agrees "two moments" $((14199 - 8492))
is "two moments: info.txt" "$(value baseline); $(value "baseline blocks"); $(value "baseline bytes")" \
	"what was held at 200 ms; 2; 8492"
unmount
mksample loli 3000 "$tmp/made.loli"
mount_dump "$tmp/made.loli" -o baseline_time=5000
has "without freed records: it is said" "$(value "baseline lacks")" "growth only"
is "without freed records: all is new or grown" \
	"$(sed 1d "$mnt/diff/stacks.tsv" | cut -f 7 | sort -u | tr '\n' ' ')" "grown new "
growth=$(awk -F '\t' 'NR > 1 && $2 > 5000 { sum += $3 } END { print sum }' "$mnt/live.tsv")
diff_agrees "records by their time" "$growth"
unmount
mount_dump "$tmp/made.loli" -o baseline_time=5000,time=4000..6000
growth=$(awk -F '\t' 'NR > 1 && $2 > 5000 { sum += $3 } END { print sum }' "$mnt/live.tsv")
diff_agrees "of a span of time" "$growth"
unmount

### Many readers at once, before anything is made; unmounted while it is being made

mksample loli 60000 "$tmp/large.loli"
mount_dump "$tmp/large.loli" -o "baseline=$tmp/made.loli"
readers=
for file in report.txt functions.tsv stacks.tsv report.txt stacks.tsv; do
	cksum <"$mnt/diff/$file" >"$tmp/sum.$file.$(printf '%s' "$readers" | wc -w)" &
	readers="$readers $!"
	started="$started $!"
done
failed=0
for pid in $readers; do
	wait "$pid" || failed=1
done
started=
is "read by many at once" \
	"$failed $(cat "$tmp"/sum.report.txt.* | sort -u | wc -l) $(cat "$tmp"/sum.stacks.tsv.* | sort -u | wc -l)" \
	"0 1 1"
unmount
mount_dump "$tmp/large.loli" -o "baseline=$tmp/made.loli"
cat "$mnt/diff/stacks.tsv" >/dev/null 2>&1 &
reader=$!
started=$reader
umount -l "$mnt" 2>/dev/null || fusermount3 -uz "$mnt"
wait "$reader" || :
started=
check "unmounted while it is made" until_true nobody_serves "$tmp/large.loli"
is_mounted && unmount

### Cut while mounted

for cut in baseline file; do
	cp "$tmp/large.loli" "$tmp/cut-$cut.loli"
	if [ "$cut" = baseline ]; then
		mount_dump "$tmp/made.loli" -o "baseline=$tmp/cut-$cut.loli"
	else
		mount_dump "$tmp/cut-$cut.loli" -o "baseline=$tmp/made.loli"
	fi
	truncate -s 300000 "$tmp/cut-$cut.loli"
	for file in report.txt functions.tsv stacks.tsv; do
		refused "cut $cut: $file" "Input/output error" cat "$mnt/diff/$file"
	done
	unmount
done

### Options

run "$heapfs" -o "baseline=$(sample sample)" "$after" "$mnt"
has "two kinds" "$rc $said" "1 " "cannot be compared"
run "$heapfs" -o "baseline=$before,baseline_time=5" "$after" "$mnt"
has "two baselines" "$rc $said" "2 " "give one of them"
run "$heapfs" -o skip_root_levels=1 "$after" "$mnt"
has "levels without a baseline" "$rc $said" "2 " "was not given"
run "$heapfs" -o baseline_time=5 "$(sample sample)" "$mnt"
has "a moment of a heap dump" "$rc $said" "1 " "is for native profiles"
mkdir -p "$mnt"

### The corpus

if [ ! -d "$loli" ]; then
	skip "LoliProfiler's own reports" "no $loli"
	plan
	exit 0
fi
# report EXPECTED OLD NEW [OPTION]: as LoliProfiler's own comparator printed it
report() {
	mount_dump "$loli/$3.loli" -o "baseline=$loli/$2.loli${4:+,$4}" || return 0
	check "$1" cmp "$loli/$1.txt" "$mnt/diff/report.txt"
	diff_agrees "$1" $(($(value "live bytes") - $(held_of "$2")))
	unmount
}
held_of() {
	"$heapfs" --export info.txt "$loli/$1.loli" | sed -n 's/^live bytes: //p'
}
report diff_mono base_mono comp_mono
report diff_mono_reverse comp_mono base_mono
report diff_mono_self base_mono base_mono
report diff_mono_skip4 base_mono comp_mono skip_root_levels=4
report diff_multi base_multi comp_multi
mount_dump "$loli/comp_mono.loli" -o "baseline=$loli/base_mono.loli"
for what in "grown Game::Inventory::LeakItem(int)" "new Game::Quest::LoadNewQuest(int)" "shrunk Game::Cache::Warm(int)" \
	"removed Game::OldSystem::Boot(int)"; do
	has "what its program is known to do: $what" "$(cut -f 7,9 "$mnt/diff/stacks.tsv" | grep -F "${what#* }" | cut -f 1)" \
		"${what%% *}"
done
unmount
plan
