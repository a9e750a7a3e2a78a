#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# duplicates/strings.tsv and arrays.tsv against what the tree's other files say, and system/ against what programs knew.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

# compared NAME [AT LEAST THIS MANY STRINGS AND ARRAYS]: all lines, computed anew from other files
compared() {
	if ! command -v python3 >/dev/null; then
		skip "$1: every line is what other files say" "no python3"
		return 0
	fi
	run python3 "$srcdir/tests/duplicates_truth.py" "$mnt"
	is "$1: every line is what other files say" "$rc $(sed '$d' "$tmp/stdout")$said" "0 "
	counts=$(tail -n 1 "$tmp/stdout")
	if [ "${counts% *}" -ge "${2:-1}" ] && [ "${counts#* }" -ge "${3:-1}" ]; then
		pass "$1: of strings and arrays ($counts)"
	else
		fail "$1: of strings and arrays" "seen: $counts" "at least: ${2:-1} ${3:-1}"
	fi
	is "$1: sizes are exact" "$(cat "$mnt/duplicates/strings.tsv" "$mnt/duplicates/arrays.tsv" | wc -c)" \
		"$(($(stat -c %s "$mnt/duplicates/strings.tsv") + $(stat -c %s "$mnt/duplicates/arrays.tsv")))"
}

# property KEY [FILE]: what stands behind the =
property() {
	sed -n "s/^$1=//p" "$mnt/system/${2:-system-properties}.txt"
}

# sorted NAME FILE: each line is a key and a value, each key once, in order
sorted() {
	is "$1: $2.txt: keys are sorted, each stands once" \
		"$(sed 's/=.*//' "$mnt/system/$2.txt" | LC_ALL=C sort -cu 2>&1; grep -cv = "$mnt/system/$2.txt")" 0
}

### Dumps whose contents are known

if mount_dump "$(sample equal)"; then
	# Strings of 24 bytes; arrays of 16 and their elements, to full 8.
	is "equal: duplicates/strings.tsv" "$(cut -f 1-4 "$mnt/duplicates/strings.tsv" | sed 's/x\{1024\}/x*1024/' | tr '\t' '|')" \
		"text|count|bytes|wasted
x*1024…|2|3088|1544
|5|200|160
shared|3|120|72
both codings|2|120|64
java.version|2|112|56
café|2|96|48
near|2|96|48
twice|2|96|48
日本|2|96|48"
	is "equal: duplicates/arrays.tsv, but for those of Strings" "$(cut -f 1,2,4,5 "$mnt/duplicates/arrays.tsv" |
		grep -v "^byte\[\]${TAB}\([4560]\|12\|1500\)${TAB}" | tr '\t' '|')" \
		"type|length|count|wasted
double[]|3|3|80
long[]|3|3|80
byte[]|3|4|72
float[]|3|3|64
int[]|3|3|64
boolean[]|3|3|48
char[]|3|3|48
short[]|3|3|48
int[]|0|3|32
byte[]|8|2|24
long[]|1|2|24"
	compared equal
	is "equal: ids are the lowest" "$(sed -n "s/^twice$TAB.*$TAB//p" "$mnt/duplicates/strings.tsv")" \
		"$(awk -F '\t' '$4 == "twice" { print $1; exit }' "$mnt/strings/strings.tsv")"
	is "equal: a JVM's dump has no duplicates/bitmaps.tsv" "$(ls "$mnt/duplicates")" "arrays.tsv
strings.tsv"
	is "equal: system/system-properties.txt" "$(cat "$mnt/system/system-properties.txt")" "a=b=
café=back\\\\slash
java.version=99
line.separator=\\n
only.default=tab\\there"
	is "equal: system/environment.txt" "$(cat "$mnt/system/environment.txt")" "BYTES=café
EMPTY=
PATH=/bin"
	check "equal: treecheck" "$builddir/tests/treecheck" "$mnt"
	unmount
fi

for kind in equal-art equal-jdk6; do
	mount_dump "$(sample $kind)" || continue
	compared "$kind"
	sorted "$kind" system-properties
	is "$kind: system properties" "$(property java.version) $(property line.separator) $(property only.default)" \
		'99 \n tab\there'
	is "$kind: an environment, where there is one" "$(find "$mnt/system" -name environment.txt | wc -l)" \
		"$(case $kind in *art) echo 0 ;; *) echo 1 ;; esac)"
	unmount
done

# Of two dumps each has its own.
if mount_dump "$(sample two-segments-dumps)"; then
	for number in 1 2; do
		is "two dumps: duplicates of dump-$number" "$(wc -l <"$mnt/dump-$number/duplicates/strings.tsv")" 1
	done
	unmount
fi
if mount_dump "$(sample jdk8)"; then
	is "no java.lang.System, no system/" "$(ls -d "$mnt/system" 2>/dev/null)" ""
	unmount
fi

### Who may read them: whoever may read the dump

dump=$(sample equal)
for mode in 600 640; do
	chmod "$mode" "$dump"
	mount_dump "$dump" || continue
	is "a dump of mode $mode: system/ is as readable" \
		"$(stat -c %a "$mnt/system/system-properties.txt" "$mnt/system/environment.txt" "$mnt/system" | tr '\n' ' ')" \
		"$(case $mode in 600) echo "400 400 500 " ;; *) echo "440 440 550 " ;; esac)"
	unmount
done

### Many at once, while it is being made

if mount_dump "$(sample unordered)"; then
	for n in 1 2 3 4; do
		cat "$mnt/duplicates/strings.tsv" "$mnt/duplicates/arrays.tsv" >"$tmp/reader.$n" &
		readers="${readers:-} $!"
	done
	for reader in $readers; do wait "$reader"; done
	is "four readers at once see the same" "$(cat "$tmp"/reader.* | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" "4 4 "
	unmount
fi

### Real dumps

# real FILE STRINGS ARRAYS
real() {
	if [ ! -f "$corpus/$1" ]; then
		skip "$1" "it is not at $corpus"
		return 0
	fi
	mount_dump "$corpus/$1" || return 0
	compared "${1##*/}" "$2" "$3"
	if [ -d "$mnt/system" ]; then sorted "${1##*/}" system-properties; fi
	manifest=$corpus/${1%.hprof}.manifest.tsv
	if [ -f "$manifest" ]; then
		known() {
			sed -n "s/^$1$TAB//p" "$manifest"
		}
		# One more is the program's own constant.
		is "${1##*/}: strings.duplicates.* of its manifest" \
			"$(sed -n "s/^$(known strings.duplicates.value)$TAB\([0-9]*\)$TAB.*/\1/p" "$mnt/duplicates/strings.tsv")" \
			"$(($(known strings.duplicates.separate_instances) + 1))"
		# What the manifest calls so.
		is "${1##*/}: java.version and java.vendor of its manifest" \
			"$(property java.runtime.version) $(property java.vm.name)" \
			"$(known java.version) $(known java.vendor)"
		is "${1##*/}: java.vm.version is that of java.runtime.version" "$(property java.vm.version)" \
			"$(property java.runtime.version)"
	fi
	unmount
}

real generated/tiny-17.hprof 50 50
real generated/tiny-25-zgc.hprof 50 50
real generated/tiny-17-i386.hprof 50 50
real android/test-dump.hprof 20 5
real android/leak_service_binder.hprof 50 50

# A program that asked for its environment.
if [ -f "$corpus/jvm/array.hprof" ] && mount_dump "$corpus/jvm/array.hprof"; then
	sorted array.hprof environment
	has "array.hprof: an environment as bytes" "$(cat "$mnt/system/environment.txt")" "PATH=" "HOME="
	is "array.hprof: user.home is HOME" "$(property user.home)" "$(property HOME environment)"
	unmount
fi
if [ -f "$corpus/jvm/hprof-32.bin" ] && mount_dump "$corpus/jvm/hprof-32.bin"; then
	is "hprof-32.bin: a Hashtable" "$(property os.name) $(property line.separator)" 'Windows 2000 \r\n'
	unmount
fi

plan
