#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# heapfs-compare on native profiles: what it prints against what LoliProfiler's own comparator and dumper printed, its exit
# status, thresholds, the growth as a profile, refusals, output that cannot be written.
without_mount=yes
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

compare=$builddir/heapfs-compare
loli=$corpus/loli

# said_and_status MESSAGE STATUS PART…: of the last run
said_and_status() {
	message=$1 status=$2
	shift 2
	has "$message" "$rc $said" "$status " "$@"
}

### Two of our own, whose differences are known

before=$tmp/before.loli after=$tmp/after.loli
mksample loli-before "$before"
mksample loli-after "$after"
run "$compare" "$before" "$after"
said_and_status "growth" 1 "heapfs-compare: grown by 192 bytes, from 36400 to 36592"
has "LoliProfiler's report is what is printed" "$(cat "$tmp/stdout")" "=== LoliProfiler Comparison Report ===" \
	"Size delta: +203 Bytes"
run "$compare" "$after" "$before"
is "no growth" "$rc $said" "0 "
run "$compare" "$before" "$before"
is "itself" "$rc $said" "0 "
for threshold in 0 191 192 1K 1m; do
	run "$compare" --threshold "$threshold" "$before" "$after"
	case $threshold in
	0 | 191) is "threshold $threshold" "$rc" 1 ;;
	*) is "threshold $threshold" "$rc $said" "0 " ;;
	esac
done
run "$compare" --table stacks "$before" "$after"
is "stacks" "$(cut -f 3,7,9 "$tmp/stdout" | sed 's/unknown!\[no name\];main();//; s/;libloli.*//' | tr '\t\n' ' ,')" \
	"delta_bytes change stack,8192 new fresh();Grow(int),8000 grown load();Grow(int),-7000 removed old();Grow(int),\
-9000 shrunk load();Shrink(int),"
run "$compare" --table functions "$before" "$before"
is "functions: nothing of itself" "$(wc -l <"$tmp/stdout") $rc" "1 0"
run "$compare" --table functions "$before" "$after"
is "functions: the largest growth first" "$(sed -n 2p "$tmp/stdout" | cut -f 3,15)" "9192${TAB}Grow(int)"
gzip -c "$before" >"$tmp/before.gz"
run "$compare" --table stacks "$tmp/before.gz" "$after"
is "from gzip" "$rc $(wc -l <"$tmp/stdout")" "1 5"

# All stacks that changed, and what they add up to.
run "$compare" --table stacks "$before" "$after"
is "deltas add up to the growth" "$(awk -F '\t' 'NR > 1 { sum += $3 } END { print sum }' "$tmp/stdout")" 192

### Two moments of one

mksample loli 0 "$tmp/small.loli"
run "$compare" --table stacks --baseline-time 200 "$tmp/small.loli"
is "two moments: growth" "$rc $(tail -n +2 "$tmp/stdout" | cut -f 1,2,7 | tr '\t\n' ' ,')" \
	"1 0 5000 new,8192 9192 grown,0 7 new,300 0 removed,"
run "$compare" --baseline-time 600 "$tmp/small.loli"
is "two moments: the end" "$rc" 0
run "$compare" --baseline-time 200 "$before" "$after"
said_and_status "two moments: of one file" 2 "too many arguments"

### Where it is written

run "$compare" -o "$tmp/growth.txt" "$before" "$after"
is "-o: nothing on standard output" "$rc $(wc -c <"$tmp/stdout")" "1 0"
"$compare" "$before" "$after" >"$tmp/expected" 2>/dev/null || :
check "-o: the same bytes" cmp "$tmp/expected" "$tmp/growth.txt"
run "$compare" -o "$tmp/growth.txt" "$before" "$before"
is "-o: what was there is overwritten" "$rc $(sed -n 's/^Size delta: //p' "$tmp/growth.txt")" "0 +0 Bytes"
cp "$after" "$tmp/kept.loli"
for file in "$before" "$after"; do
	run "$compare" -o "$file" "$before" "$after"
	said_and_status "-o: not over what is compared" 2 "is what is to be compared"
done
check "-o: it is as it was" cmp "$after" "$tmp/kept.loli"
for output in text growth.loli dump; do
	case $output in
	dump) set -- --dump "$after" ;;
	*) set -- "$before" "$after" ;;
	esac
	if [ "$output" = growth.loli ]; then
		mkdir -p "$tmp/full"
		ln -sf /dev/full "$tmp/full/growth.loli"
		run "$compare" -o "$tmp/full/growth.loli" "$@"
	else
		rc=0
		said=$("$compare" "$@" 2>&1 >/dev/full) || rc=$?
	fi
	said_and_status "$output: a full disk" 2 "No space left on device"
done
for output in text dump; do
	case $output in
	dump) set -- --dump "$tmp/pipe.loli" ;;
	*) set -- "$before" "$tmp/pipe.loli" ;;
	esac
	[ -e "$tmp/pipe.loli" ] || mksample loli 20000 "$tmp/pipe.loli"
	{ rc=0 && "$compare" "$@" 2>"$err" || rc=$? && echo "$rc" >"$tmp/status"; } | head -c 1 >"$tmp/stdout"
	is "$output: a closed pipe" "$(cat "$tmp/status") $(tail -n 1 "$err")" "2 heapfs-compare: standard output: Broken pipe"
	rc=0
	said=$("$compare" "$@" 2>&1 >&-) || rc=$?
	said_and_status "$output: no standard output" 2 "standard output: Bad file descriptor"
done
run "$compare" -o "$tmp/nowhere/x" "$before" "$after"
said_and_status "-o: a folder that is not there" 2 "$tmp/nowhere/x: No such file or directory"
# The file is there before the graphs are, which take longer than it takes to see it.
mksample big 1000000 "$tmp/big.hprof"
for signal in TERM INT; do
	# In the background INT is ignored, unless env says otherwise.
	env --default-signal=INT "$compare" --table dominators -o "$tmp/ended.tsv" "$tmp/big.hprof" "$tmp/big.hprof" 2>"$err" &
	pid=$!
	started="$started $pid"
	until_true [ -e "$tmp/ended.tsv" ] || fail "-o: $signal: begins"
	kill -s "$signal" "$pid"
	rc=0
	wait "$pid" || rc=$?
	is "-o: $signal ends it" "$(kill -l "$rc")" "$signal"
	check "-o: $signal leaves no half file" test ! -e "$tmp/ended.tsv"
done
rm "$tmp/big.hprof"

### What is refused

run "$compare" "$before" "$(sample sample)"
said_and_status "two kinds" 2 "$(sample sample) is a heap dump, and $before a native profile: they cannot be compared"
run "$compare" "$(sample sample)" "$before"
said_and_status "two kinds, the other way" 2 "they cannot be compared"
run "$compare" --dump "$(sample sample)"
said_and_status "--dump of a heap dump" 2 "--dump is for native profiles"
run "$compare" -s 2 "$(sample sample)" "$(sample sample)"
said_and_status "levels of a heap dump" 2 "--skip-root-levels is for native profiles"
run "$compare" -o "$tmp/x.loli" "$(sample sample)" "$(sample sample)"
said_and_status "a heap dump as a profile" 2 "-o FILE.loli is for native profiles"
check "nothing is left of it" test ! -e "$tmp/x.loli"
run "$compare" "$before"
said_and_status "one file" 2 "which two are to be compared?" "see heapfs-compare --help"
run "$compare" "$before" "$after" "$before"
said_and_status "three files" 2 "too many arguments"
run "$compare" "$before" /nowhere.loli
said_and_status "what is not there" 2 "/nowhere.loli" "No such file or directory"
printf 'text\n' >"$tmp/text"
run "$compare" "$tmp/text" "$after"
said_and_status "what is no dump" 2 "$tmp/text"
head -c 300 "$after" >"$tmp/cut.loli"
run "$compare" --table stacks "$before" "$tmp/cut.loli"
said_and_status "what is cut: said, and compared" 0 "the profile ends inside a section"
run "$compare" --strict "$before" "$tmp/cut.loli"
said_and_status "--strict: what is cut" 2 "refused, since --strict was given"
while IFS='|' read -r arguments message; do
	# shellcheck disable=SC2086 # several words
	run "$compare" $arguments "$before" "$after"
	said_and_status "$arguments" 2 "$message"
done <<'END'
--threshold 1x|--threshold 1x: must be bytes
--threshold -1|--threshold -1: must be bytes
-s 1x|--skip-root-levels 1x: must be a number
--skip-root-levels -1|--skip-root-levels -1: must be a number
--table classes|there are functions, stacks
--table ../info|there are functions, stacks
--table functions -o x.loli|give one of them
--no-such-option|unrecognized option
--baseline-time x|--baseline-time x: must be a number
END
run "$compare" --threshold "1 " "$before" "$after"
said_and_status "a threshold with a blank behind it" 2 "--threshold 1 : must be bytes"
run "$compare" --dump "$before" -o "$tmp/dump.loli"
said_and_status "--dump into a profile" 2 "--dump prints a text"
run "$heapfs" --export info.txt -o "baseline=$tmp/cut.loli" "$after"
has "warnings about a baseline are in info.txt" "$(cat "$tmp/stdout")" "baseline warning: the profile ends inside a section"
run "$compare" --dump "$before" --table stacks
said_and_status "--dump and a table" 2 "--dump is about one profile"
run "$compare" --help
is "--help" "$rc $(head -n 1 "$tmp/stdout")" "0 usage: heapfs-compare [OPTION]... OLD NEW"
run "$compare" --version
has "--version" "$rc $(cat "$tmp/stdout")" "0 heapfs-compare "

### The growth as a profile

run "$compare" -o "$tmp/growth.loli" -s 1 "$before" "$after"
is "as a profile: growth" "$rc" 1
run "$compare" --dump "$tmp/growth.loli"
is "as a profile: the leaves that grew" "$(sed -n '/^main/,$p' "$tmp/stdout" | tr -s ' \n' ' /')" \
	"main(), 15.82 KB, 2/ fresh(), 8.00 KB, 1/ Grow(int), 8.00 KB, 1/ , 8.00 KB, 1/ load(), 7.82 KB, 1/ \
Grow(int), 7.82 KB, 1/ , 7.82 KB, 1/"
cp "$tmp/growth.loli" "$tmp/again.LOLI"
run "$compare" -o "$tmp/again.LOLI" -s 1 "$before" "$after"
check "as a profile: always the same bytes" cmp "$tmp/growth.loli" "$tmp/again.LOLI"

### What LoliProfiler's own programs printed

if [ ! -d "$loli" ]; then
	skip "LoliProfiler's own" "no $loli"
	plan
	exit 0
fi
# printed EXPECTED STATUS ARGUMENT…
printed() {
	expected=$1 status=$2
	shift 2
	run "$compare" "$@"
	is "$expected: status" "$rc" "$status"
	check "$expected" cmp "$loli/$expected.txt" "$tmp/stdout"
}
printed diff_mono 1 "$loli/base_mono.loli" "$loli/comp_mono.loli"
printed diff_mono_reverse 0 "$loli/comp_mono.loli" "$loli/base_mono.loli"
printed diff_mono_self 0 "$loli/base_mono.loli" "$loli/base_mono.loli"
printed diff_mono_skip4 1 --skip-root-levels 4 "$loli/base_mono.loli" "$loli/comp_mono.loli"
printed diff_multi 1 "$loli/base_multi.loli" "$loli/comp_multi.loli"
for expected in "$loli"/dump_*.txt; do
	name=${expected##*/}
	name=${name%.txt}
	printed "$name" 0 --dump "$loli/${name#dump_}.loli"
done

# With names from outside, what has none is as if LoliProfiler had loaded them before it saved the profile.
if command -v python3 >/dev/null; then
	python3 "$srcdir/tests/loli_truth.py" --nameless "$loli/base_mono.loli.json" "$loli/base_mono.loli" "$tmp/nameless.loli"
	run "$compare" --dump "$tmp/nameless.loli"
	lacks "without names" "$(cat "$tmp/stdout")" game_main
	run "$compare" --symbols "$loli/libUE4.nm.txt" --dump "$tmp/nameless.loli"
	check "names from outside" cmp "$loli/dump_base_mono.txt" "$tmp/stdout"

	run "$compare" -o "$tmp/growth.loli" "$loli/base_mono.loli" "$loli/comp_mono.loli"
	is "as LoliProfiler exports it" "$(python3 "$srcdir/tests/loli_growth.py" "$tmp/growth.loli" "$loli/diff_mono.loli" 2>&1)" \
		"17 records, 2 libraries with symbols: equal"
else
	skip "names from outside" "no python3"
	skip "as LoliProfiler exports it" "no python3"
fi
plan
