#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Native profiles (LoliProfiler's .loli): what is shown of the corpus's against what an independent reader found in them and
# against what LoliProfilerCLI printed, and what is shown or said of odd and damaged ones. (Hostile counts and every
# truncation: unit_loli.)
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

loli=$corpus/loli

held() { # bytes that callstacks/, folded.txt and info.txt say are held
	printf '%s ' "$(du -sb "$mnt/callstacks" | cut -f 1)" "$(awk '{ sum += $NF } END { printf "%d", sum }' "$mnt/folded.txt")"
	awk -F ': ' '$1 == "live bytes" || $1 == "unknown whether freed bytes" { sum += $2 } END { printf "%d\n", sum }' \
		"$mnt/info.txt"
}

# sums_agree NAME
sums_agree() {
	sums=$(held)
	is "$1: callstacks/, folded.txt and info.txt agree" "$sums" "${sums##* } ${sums##* } ${sums##* }"
}

# rows TABLE: how many lines it has below its head
rows() {
	tail -n +2 "$mnt/$1" | wc -l
}

truth() { # truth NAME JSON [DUMP]
	name=$1
	shift
	here python3 "$name: as the truth says" || return 0
	compared "$name: as the truth says" python3 "$srcdir/tests/loli_truth.py" "$mnt" "$@"
}

### A small one of our own: the tree

mksample loli 2000 "$tmp/made.loli"
mount_dump "$tmp/made.loli" || exit 1
is "the tree" "$(find "$mnt" -maxdepth 1 -printf '%f ' | tr ' ' '\n' | grep -v '^mnt$' | sort | tr '\n' ' ')" \
	"README.txt allocations.tsv callstacks callstacks.tsv folded.txt fragmentation.tsv freed.tsv functions.tsv info.txt \
libraries.tsv live.tsv raw.loli screenshots smaps.tsv symbols.tsv timeline.tsv "
check "raw.loli" cmp "$tmp/made.loli" "$mnt/raw.loli"
is "a line a record" "$(rows allocations.tsv)" 2000
sums_agree "made"
check "treecheck" "$builddir/tests/treecheck" "$mnt"
check "copied and read alike" cp -r "$mnt" "$tmp/copy"
check "equal to its copy" diff -r "$mnt" "$tmp/copy"
unmount
gzip -c "$tmp/made.loli" >"$tmp/made.gz"
mount_dump "$tmp/made.gz"
check "from gzip: raw.loli" cmp "$tmp/made.loli" "$mnt/raw.loli"
is "from gzip: container" "$(value container)" "gzip, 1 member"
check "from gzip: the same table" cmp "$tmp/copy/allocations.tsv" "$mnt/allocations.tsv"
unmount

### Options

mount_dump "$tmp/made.loli" -o time=1000..1999
is "time: records of that span" "$(cut -f 2 "$mnt/allocations.tsv" | sed 1d | sort -n | sed -n '1p;$p' | tr '\n' ' ')" "1000 1995 "
is "time: how many" "$(rows allocations.tsv)" 200
sums_agree "time"
unmount
mount_dump "$tmp/made.loli" -o time=9000..
is "time: an open end" "$(rows allocations.tsv)" 200
unmount
for span in "" 5 5.. ..5 5..4 a..b 1..2x .. -1..3; do
	run "$heapfs" -o "time=$span" "$tmp/made.loli" "$mnt"
	case $span in
	5.. | ..5)
		is "time=$span: taken" "$rc" 0
		unmount
		;;
	*) is "time=$span: refused" "$rc" 2 ;;
	esac
	mkdir -p "$mnt"
done
run "$heapfs" -o so_base=last "$tmp/made.loli" "$mnt"
has "so_base: one of two words" "$rc $said" "2 " "so_base=last: must be one of first containing"
run "$heapfs" -o symbols=/nowhere "$tmp/made.loli" "$mnt"
has "symbols: what is not there" "$rc $said" "1 " "symbols=/nowhere: No such file or directory"
printf 'no symbols\n' >"$tmp/libgame.txt"
run "$heapfs" -o "symbols=$tmp/libgame.txt" "$tmp/made.loli" "$mnt"
has "symbols: a text that is none" "$rc $said" "1 " "neither an ELF library nor what nm -nC prints of one"
run "$heapfs" -o time=1..2 "$(sample sample)" "$mnt"
has "time: not of a heap dump" "$rc $said" "1 " "is for native profiles"
for option in dump=1 pid=1; do
	run "$heapfs" -o "$option" "$tmp/made.loli" "$mnt"
	has "$option: not of a profile" "$rc $said" "1 " "${option%%=*}= is for heap dumps"
done
printf '\244\263\302\321\0\0' >"$tmp/header.loli"
run "$heapfs" "$tmp/header.loli" "$mnt"
has "a cut header" "$rc $said" "1 " "cut inside its header"
head -c 300000 "$tmp/made.loli" >"$tmp/cut.loli"
run "$heapfs" --strict "$tmp/cut.loli" "$mnt"
has "--strict: what is cut is refused" "$rc $said" "1 " "the profile ends inside a section" "refused, since --strict"

### Cut while it is mounted: what needs what is gone fails, and never reads as zeros

cp "$tmp/made.loli" "$tmp/shrinks.loli"
mount_dump "$tmp/shrinks.loli"
truncate -s 300000 "$tmp/shrinks.loli"
for file in allocations.tsv info.txt folded.txt; do
	refused "cut while mounted: $file" "Input/output error" cat "$mnt/$file"
done
is "cut while mounted: what is left of raw.loli" "$(head -c 200000 "$mnt/raw.loli" | cksum)" \
	"$(head -c 200000 "$tmp/made.loli" | cksum)"
unmount

### Symbols: of a library, by the system's nm, in Android's folders

# The small profile has a place at 0x1300 of libengine.so without a name, and addresses of 32 bits.
mksample loli 0 "$tmp/small.loli"
cat >"$tmp/engine.c" <<'END'
int _ZN6Engine4GrowEi(int x);
int _ZN6Engine4GrowEi(int x)
{
	__asm__ volatile(".skip 256");
	return x;
}
END
mkdir -p "$tmp/obj/arm64-v8a" "$tmp/obj/armeabi-v7a"
if command -v nm >/dev/null && ${CC:-cc} -shared -fPIC -nostdlib -Wl,-Ttext=0x1280 \
	-o "$tmp/obj/armeabi-v7a/libengine.so" "$tmp/engine.c" 2>/dev/null; then
	cp "$tmp/obj/armeabi-v7a/libengine.so" "$tmp/obj/arm64-v8a"
	for path in "$tmp/obj/armeabi-v7a/libengine.so" "$tmp/obj/armeabi-v7a" "$tmp/obj"; do
		mount_dump "$tmp/small.loli" -o "symbols=$path"
		is "symbols of ${path#"$tmp/"}" "$(grep symbols "$mnt/symbols.tsv")" \
			"libengine.so${TAB}0x1300${TAB}Engine::Grow(int)${TAB}symbols"
		unmount
	done
	has "symbols of several ABIs: the one taken is said" "$said" "symbols are taken of one ABI of several: $tmp/obj/armeabi-v7a"
	printf '%s\n' "0000000000001000 T first()" >"$tmp/libother.nm"
	mount_dump "$tmp/small.loli" -o "symbols=$tmp/libother.nm" -o "symbols=$tmp/obj/arm64-v8a"
	is "symbols of two places" "$(value "symbols from outside" | cut -d ';' -f 1)" "2, of 2 libraries"
	unmount
else
	skip "symbols of a library" "no compiler or nm"
fi

### The corpus

if [ ! -d "$loli" ]; then
	skip "profiles of the corpus" "no $loli"
	plan
	exit 0
fi
for json in "$loli"/*.loli.json "$loli"/*.loli.full.json; do
	base=${json##*/}
	base=${base%%.*}
	mount_dump "$loli/$base.loli" || continue
	if [ -e "$loli/dump_$base.txt" ]; then
		truth "$base" "$json" "$loli/dump_$base.txt"
	else
		truth "$base" "$json"
	fi
	sums_agree "$base"
	is "$base: warnings" "$(value warnings)" 0
	unmount
done

# Names from outside are those that LoliProfiler filled in from the same text; of a profile that has them, none is needed.
mount_dump "$loli/base_mono.loli" -o "symbols=$loli/libUE4.nm.txt"
has "symbols: the profile's own names stay" "$(value "symbols from outside")" "places named by them: 0"
cp "$mnt/folded.txt" "$tmp/folded.txt"
unmount
if command -v python3 >/dev/null; then
	python3 "$srcdir/tests/loli_truth.py" --nameless "$loli/base_mono.loli.json" "$loli/base_mono.loli" "$tmp/nameless.loli"
	mount_dump "$tmp/nameless.loli"
	lacks "without names" "$(cat "$mnt/folded.txt")" "game_main"
	unmount
	mount_dump "$tmp/nameless.loli" -o "symbols=$loli/libUE4.nm.txt"
	check "symbols: the names that LoliProfiler fills in" cmp "$tmp/folded.txt" "$mnt/folded.txt"
	unmount
else
	skip "symbols: the names that LoliProfiler fills in" "no python3"
fi

### Odd and damaged files: what heapfs makes of each

# file|warnings, or "refused"|part of what is said|records|held bytes
while IFS='|' read -r file warnings what records bytes; do
	if [ "$warnings" = refused ]; then
		run "$heapfs" "$loli/edge/$file" "$mnt"
		has "$file: refused" "$rc $said" "1 heapfs: " "$what"
		continue
	fi
	mount_dump "$loli/edge/$file" || continue
	is "$file: warnings" "$(value warnings)" "$warnings"
	has "$file: what is said" "$said" "$what"
	is "$file: records" "$(rows allocations.tsv)" "$records"
	is "$file: bytes" "$(held)" "$bytes $bytes $bytes"
	check "$file: treecheck" "$builddir/tests/treecheck" "$mnt"
	[ ! -e "$loli/edge/$file.json" ] || [ "$file" = duplicate_keys.loli ] || [ "$file" = shared_uuid.loli ] ||
		truth "$file" "$loli/edge/$file.json"
	unmount
done <<'END'
bad_magic.loli|refused|of an unknown kind
empty.loli|refused|the file is empty
version_105.loli|refused|of version 105; heapfs reads version 106
minimal.loli|0||0|0
small.loli|0||3|4146
deep_stack.loli|0||2|8192
odd_names.loli|0||20|20190
duplicate_keys.loli|0||2|30
shared_uuid.loli|0||6|384
record_count_negative.loli|1|records: the count is negative (-1); it and all behind it is lost (at byte 1184|0|0
string_length_huge.loli|1|strings: 0 of 4 are whole, the next one needs 2147483632 bytes more|0|0
truncated_in_records.loli|2|records: 308 of 617 are whole|308|2265065
truncated_in_shots.loli|1|screenshots: 0 of 1 are whole|617|3456858
END

# What there are two of: the first name of a key, the last free of an address, stack of a UUID, mapping of a name.
mount_dump "$loli/edge/duplicate_keys.loli"
is "repeated keys: names" "$(cut -f 1 "$mnt/libraries.tsv" | tr '\n' ' ')" "library first.so libx.so "
is "repeated keys: stacks" "$(cut -f 8 "$mnt/allocations.tsv" | sort -u | tr '\n' ' ')" "b();c() stack "
is "repeated keys: mappings" "$(tail -n 1 "$mnt/smaps.tsv")" "x.so${TAB}2${TAB}2${TAB}2${TAB}2${TAB}2${TAB}2${TAB}2"
is "repeated sequence numbers" "$(value "sequence repeats")" 1
unmount
mount_dump "$loli/edge/shared_uuid.loli"
is "a shared UUID, in each spelling" "$(grep -c 'main_loop();Game::Spawn(int);Engine::Alloc' "$mnt/allocations.tsv")" 3
is "no UUID: no stack" "$(grep -c '\[no call stack\]' "$mnt/allocations.tsv")" 3
unmount
mount_dump "$loli/edge/truncated_in_records.loli"
is "cut before the frees: nothing is known to be live" "$(rows live.tsv) $(cut -f 5 "$mnt/allocations.tsv" | sort -u | tr '\n' ' ')" \
	"0 state unknown "
unmount
mount_dump "$loli/nostack.loli"
is "without stacks: no function is made up" "$(cut -f 7 "$mnt/allocations.tsv" | sort -u | tr '\n' ' ')" " function "
unmount

plan
