#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Facts about real dumps, known from elsewhere: class histograms of the JVMs that were dumped, what a dumped program
# told of its own objects (manifests), and what the corpus says of its files.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"
[ -d "$corpus/generated" ] || skip_all "no corpus of dumps in $corpus"

# histogram NAME FILE [AWK OPTION…]: the mount's classes against a histogram
histogram() {
	name=$1 file=$2
	shift 2
	tail -n +2 "$mnt/classes.tsv" >"$tmp/classes"
	LC_ALL=C awk "$@" -f "$srcdir/tests/histogram.awk" "$file" "$tmp/classes" >"$tmp/compared"
	what="instances a class"
	[ "$(wc -l <"$tmp/compared")" -eq 2 ] || what=
	while IFS=$TAB read -r seen expected; do
		is "$name: ${what:-bytes an instance}, as the JVM counted" "$seen" "$expected"
		what=
		[ "${expected%% *}" -ge 50 ] || fail "$name: there is something to compare" "$expected"
	done <"$tmp/compared"
}

# manifest NAME FILE: the mount against what the program knew
manifest() {
	command -v python3 >"$tmp/python3" || {
		skip "$1: facts of its manifest" "no python3"
		return 0
	}
	rc=0
	python3 "$srcdir/tests/truth.py" "$mnt" "$2" >"$tmp/facts" 2>"$err" || rc=$?
	while IFS=$TAB read -r fact seen expected; do
		is "$1: $fact" "$seen" "$expected"
	done <"$tmp/facts"
	is "$1: all facts were looked up" "$rc $(cat "$err")" "0 "
}

# link PATH: where it leads, from the mount's top
link() {
	point=$(cd "$mnt/$1" && pwd -P) && printf '%s\n' "${point#"$mnt"/}"
}

# field NAME FOLDER: "type = value" of an object's field or array's element
field() {
	sed -n "s/^$1: //p" "$mnt/$2/object.txt"
}

### Dumps of the generator

for dump in "$corpus"/generated/*.hprof "$corpus"/generated/*.hprof.gz; do
	name=${dump##*/}
	case $name in
	*.gz)
		gunzip -c "$dump" >"$tmp/dump.hprof"
		dump=$tmp/dump.hprof
		;;
	esac
	base=${name%.gz}
	base=${base%.hprof}
	base=${base%.par2}	# a second dump of the same process
	# Sizes that no rule tells: each StackChunk is as long as its stack, and ZGC never lays two ForkJoinPools
	# side by side; the class pads its fields against false sharing.
	unsized=jdk.internal.vm.StackChunk
	# What the dump holds is not always what the histogram counted a moment before. Between them Cleaner and
	# CallSite references were cleared; the serviceability agent dumps without a collection, garbage and gaps
	# (int[]) included. An independent count of the records confirms these.
	other=
	case $base in
	*-zgc) unsized="$unsized java.util.concurrent.ForkJoinPool" ;;
	tiny-17-sa) other='java.lang.Thread[]=4 int[]=497' ;;
	tiny-17*)
		other="jdk.internal.ref.CleanerImpl\$PhantomCleanableRef=1"
		other="$other java.lang.invoke.MethodHandleNatives\$CallSiteContext=0"
		;;
	esac
	mount_dump "$dump" || continue
	histogram "$name" "$corpus/generated/$base.histogram.txt" -v "other=$other" -v "unsized=$unsized"
	manifest "$name" "$corpus/generated/$base.manifest.tsv"
	unmount "$mnt"
	rm -f "$tmp/dump.hprof"
done

### Histograms of JDK 5 and 6

# JDK 5's was taken before the collection of the dump: some objects were gone by then, and the file lacks classes that
# each JVM has (Thread). The 26 int[][] lie in the VM's own part of the heap. byte[]: as many, but other ones.
jvm=$corpus/jvm
if mount_dump "$jvm/sun_jdk5_13_x32.hprof"; then
	other='char[]=161 int[]=8 int[][]=0 java.lang.Object=14 java.lang.String=165'
	other="$other java.lang.StringCoding\$CharsetSD=0 java.lang.reflect.Constructor[]=0 java.lang.reflect.Field=0"
	other="$other java.lang.reflect.Field[]=0 sun.nio.cs.MS1252\$Decoder=0"
	histogram sun_jdk5_13_x32 "$jvm/histogram_sun_jdk5_13_x32.txt" -v partial=yes -v "other=$other" -v 'unsized=byte[]'
	unmount "$mnt"
fi
# JDK 6's is of a run without JMX, with an eighth of the objects: only sizes can be compared.
if mount_dump "$jvm/sun_jdk6_18_x32.hprof"; then
	histogram sun_jdk6_18_x32 "$jvm/histogram_sun_jdk6_18_x32.txt" -v count_them=no
	unmount "$mnt"
fi

### Tiny programs on JDK 11: a static of TestData holds an Object1

letters=abcdefghijklmnopqrstuvwxyz
if mount_dump "$jvm/string.hprof"; then
	one=$(link classes/TestData/statics/r1)
	is "string.hprof: text of Object1.stringEntry" "$(cat "$mnt/$one/stringEntry/value.txt")" "$letters"
	has "string.hprof: ... in object.txt" "$(field stringEntry "$one")" "java.lang.String \"$letters\""
	has "string.hprof: ... in class.txt" "$(value r1 "$mnt/classes/TestData/class.txt")" "object = ${one##*/} Object1"
	is "string.hprof: ... in strings.tsv" "$(cut -f 2,4 "$mnt/strings/strings.tsv" | grep -c "^26$TAB$letters\$")" 1
	unmount "$mnt"
fi
if mount_dump "$jvm/object.hprof"; then
	one=$(link classes/TestData/statics/o1)
	is "object.hprof: class of the static" "$(value class "$mnt/$one/object.txt")" Object1
	two=$(link "$one/o2")
	is "object.hprof: class of its o2" "$(value class "$mnt/$two/object.txt")" Object2
	is "object.hprof: class of that n" "$(value class "$mnt/$two/n/object.txt")" java.lang.Short
	is "object.hprof: value of that n" "$(field value "$two/n")" "short = 5898"
	unmount "$mnt"
fi
if mount_dump "$jvm/boxed.hprof"; then
	one=$(link classes/TestData/statics/o1)
	is "boxed.hprof: the Integer" "$(value class "$mnt/$one/iiiiii/object.txt") $(field value "$one/iiiiii")" \
		"java.lang.Integer int = 0"
	is "boxed.hprof: the Short" "$(value class "$mnt/$one/ssssss/object.txt") $(field value "$one/ssssss")" \
		"java.lang.Short short = 0"
	unmount "$mnt"
fi
if mount_dump "$jvm/array.hprof"; then
	one=$(link classes/TestData/statics/o1)
	is "array.hprof: the char[]" "$(od -An -v -tx1 "$mnt/$one/r2/data.bin" | tr -d ' \n')" \
		"$(printf '0061%.0s' 1 2 3 4 5 6 7 8 9 10)"
	is "array.hprof: length of the char[]" "$(value length "$mnt/$one/r2/object.txt")" 10
	two=$(link "$one/o2")
	is "array.hprof: the Object2[]" "$(value class "$mnt/$two/object.txt") $(value length "$mnt/$two/object.txt")" \
		"Object2[] 10"
	is "array.hprof: its elements" "$(cd "$mnt/$two" && cat [0-9]/object.txt | grep -c '^class: Object2$')" 10
	unmount "$mnt"
fi
if mount_dump "$jvm/hashmap.hprof"; then
	one=$(link classes/TestData/statics/o1)
	has "hashmap.hprof: the static in class.txt" "$(value o1 "$mnt/classes/TestData/class.txt")" "${one##*/} Object1"
	is "hashmap.hprof: class of its map" "$(value class "$mnt/$one/map/object.txt")" java.util.HashMap
	is "hashmap.hprof: size of the map" "$(field size "$one/map")" "int = 3"
	seen=
	for node in "$mnt/$one"/map/table/*/key; do
		node=${node%/key}
		seen="$seen$(value value "$node/key/object.txt") -> $(value value "$node/value/object.txt"), "
	done
	is "hashmap.hprof: its entries" "$seen" "int = 1 -> int = 2, int = 3 -> int = 4, int = 5 -> int = 6, "
	unmount "$mnt"
fi

### A file of two dumps

if mount_dump "$jvm/oracle_jdk7_21_hprofagent.hprof"; then
	is "hprofagent: dumps in info.txt" "$(value 'heap dumps')" 2
	is "hprofagent: folders" "$(cd "$mnt" && echo dump-*)" "dump-1 dump-2"
	for n in 1 2; do
		objects=$(awk -F "$TAB" 'NR > 1 { n += $3 } END { print n }' "$mnt/dump-$n/classes.tsv")
		is "hprofagent: objects of dump $n" "$objects" "$(value objects | sed -n "${n}p")"
	done
	is "hprofagent: dump 2 has other objects" "$(cmp -s "$mnt/dump-1/classes.tsv" "$mnt/dump-2/classes.tsv" || echo $?)" 1
	unmount "$mnt"
fi

### Android

if mount_dump "$corpus/android/leak_service_binder.hprof"; then
	is "leak_service_binder: process" "$(value process)" com.example.leakcanary:leakyprocess
	is "leak_service_binder: SDK" "$(value 'android sdk')" 19
	bitmaps=$mnt/classes/android.graphics.Bitmap/instances.tsv
	is "leak_service_binder: bitmaps" "$(column_of android.graphics.Bitmap instances)" 26
	# shellcheck disable=SC2016 # awk's
	rows='NR == 1 { for (n = 1; n <= NF; n++) at[$n] = n; next }'
	is "leak_service_binder: sizes of bitmaps" "$(awk -F "$TAB" "$rows"'
		{ print $at["mWidth"] "x" $at["mHeight"] }' "$bitmaps" | sort | uniq -c | awk '{ printf "%s of %s, ", $1, $2 }')" \
		"16 of 44x64, 6 of 48x48, 2 of 5x5, 2 of 96x96, "
	is "leak_service_binder: first bitmap" "$(awk -F "$TAB" "$rows"'{ print $1; exit }' "$bitmaps")" 0xb0d4db38
	pointer=$(field mNativeBitmap objects/0xb0d4db38)
	is "leak_service_binder: its pointer" "$(printf '%s 0x%x' "${pointer% *}" $((${pointer##* } & 0xffffffff)))" \
		"int = 0xb8dc2560"
	is "leak_service_binder: all four bytes a pixel" "$(awk -F "$TAB" "$rows"'
		{ print $1, $at["mBuffer"], 4 * $at["mWidth"] * $at["mHeight"] }' "$bitmaps" | while read -r id buffer bytes; do
		[ "$(stat -c %s "$mnt/objects/$buffer/data.bin")" -eq "$bytes" ] || echo "$id"
	done)" ""
	unmount "$mnt"
fi
if mount_dump "$corpus/android/test-dump.hprof"; then
	is "test-dump: classes" "$(value classes) $(($(wc -l <"$mnt/classes.tsv") - 1))" "1126 1126"
	is "test-dump: instances" "$(value instances)" 22094
	is "test-dump: object arrays" "$(value 'object arrays')" 650
	is "test-dump: primitive arrays" "$(value 'primitive arrays')" 2049
	is "test-dump: objects by class" "$(awk -F "$TAB" 'NR > 1 { n[$1 ~ /\[\]$/] += $3 } END { print n[0], n[1] }' \
		"$mnt/classes.tsv")" "22094 $((650 + 2049))"
	is "test-dump: time in info.txt" "$(value 'dump time')" 2025-02-21T21:19:47.560Z
	is "test-dump: time of files" "$(stat -c %Y "$mnt/info.txt" "$mnt/classes.tsv" | sort -u)" 1740172787
	is "test-dump: ... with its milliseconds" "$(date -r "$mnt/info.txt" +%s%3N)" 1740172787560
	# android.graphics.b is the Bitmap of before R8
	is "test-dump: pointers 0xDEADBEEF and 0xBEEFDEAD" \
		"$(sed -n 's/^a: //p' "$mnt"/instances/android.graphics.b/*.txt | sort -r | tr '\n' ' ')" \
		"long = $((0xDEADBEEF - (1 << 32))) long = $((0xBEEFDEAD - (1 << 32))) "
	unmount "$mnt"
fi
plan
