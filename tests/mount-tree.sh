#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tree, as a user at a shell sees it: what is where, what files say, where links lead.
# shellcheck disable=SC2016 # sh -c has arguments of its own, class names have $
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

id_of() { column_of "$1" id; }
exists() { [ -e "$1" ] || [ -L "$1" ]; }
absent() { ! exists "$1"; }
entries() { (cd "$1" && find . -mindepth 1 -maxdepth 1 | sed 's|^\./||' | sort | tr '\n' ' '); }
node() { stat -L -c %d:%i "$1"; }
leads_to() { # MESSAGE LINK TARGET
	if [ -L "$2" ] && [ "$(node "$2")" = "$(node "$3")" ]; then pass "$1"; else fail "$1" "$2 -> $(readlink "$2")" "expected: $3"; fi
}
# The nth instance of a class, in the order of the file.
nth() { awk -F '\t' -v n="$2" 'NR == n + 1 { print $1 }' "$mnt/classes/$1/instances.tsv"; }
# A String's id by its text as strings.tsv has it.
string() { TEXT=$1 awk -F '\t' '$4 == ENVIRON["TEXT"] { print $1; exit }' "$mnt/strings/strings.tsv"; }
all_links_lead_somewhere() { [ -z "$(find "$1" -xtype l | head -n 1)" ]; }

### A JVM's dump with every oddity
dump=$(sample jvm)
mount_dump "$dump" || { plan; exit 0; }
cd "$mnt"
is "the root" "$(entries .)" "README.txt classes classes.tsv collections duplicates graph info.txt instances objects raw.hprof roots strings threads "
is "info.txt: file" "$(value file)" "$dump"
is "info.txt: file size" "$(value 'file size')" "$(stat -c %s "$dump")"
is "info.txt: container" "$(value container)" "plain file"
is "info.txt: format" "$(value format)" "JAVA PROFILE 1.0.2"
is "info.txt: id size" "$(value 'id size')" 8
is "info.txt: dump time" "$(value 'dump time')" "2026-01-01T00:00:00.000Z"
is "info.txt: heap dumps" "$(value 'heap dumps')" 1
is "info.txt: each line is 'key: value'" "$(grep -cv '^[a-z][a-z -]*: ' info.txt)" 0
"$builddir/tests/hprofcount" "$dump" >"$tmp/counts"
is "info.txt: objects" "$(value objects)" "$(awk '/^0x|\[\]/ { n += $2 } END { print n }' "$tmp/counts")"
is "info.txt: gc roots" "$(value 'gc roots')" "$(awk '/^root/ { n += $3 } END { print n }' "$tmp/counts")"
has "README.txt: traps" "$(cat README.txt)" "grep -r" "-R" "-L" "links=no" "du " "fusermount3 -u"
check "raw.hprof is the dump" cmp raw.hprof "$dump"

is "classes.tsv: columns" "$(head -n 1 classes.tsv)" \
	"class${TAB}id${TAB}instances${TAB}shallow${TAB}instance_size${TAB}loader"
is "classes.tsv: every line has 6" "$(awk -F '\t' 'NF != 6' classes.tsv)" ""
check "classes.tsv: most shallow bytes first" sh -c 'tail -n +2 classes.tsv | cut -f 4 | sort -rnc'
is "classes.tsv: as many as info.txt says" "$(tail -n +2 classes.tsv | wc -l)" "$(value classes)"
for part in class.txt instances.tsv statics subclasses; do
	is "classes/*/$part: each class has one" "$(find classes -mindepth 2 -maxdepth 2 -name "$part" | wc -l)" "$(value classes)"
done
is "instances/: classes that have some" "$(find instances -mindepth 1 -maxdepth 1 | wc -l)" \
	"$(awk -F '\t' 'NR > 1 && $3 > 0' classes.tsv | wc -l)"
check "no link dangles" all_links_lead_somewhere .

leads_to "classes/<Class>/super" classes/java.lang.String/super classes/java.lang.Object
check "java.lang.Object has no super" absent classes/java.lang.Object/super
leads_to "classes/<Class>/instances" classes/java.lang.String/instances instances/java.lang.String
check "a class without instances has no such link" absent classes/com.example.Base/instances
check "a class of the boot loader has no loader" absent classes/java.lang.String/loader
is "classes of one name have an id each" "$(entries classes | tr ' ' '\n' | grep '^com.example.Twin' | grep -v 0x700000000)" \
	"$(awk -F '\t' '$1 == "com.example.Twin" { print $1 "@" $2 }' classes.tsv | sort)"
twin=$(awk -F '\t' '$1 == "com.example.Twin" && $3 == 3 { print $2 }' classes.tsv)
loader=$(awk -F '\t' -v id="$twin" '$2 == id { print $6 }' classes.tsv)
leads_to "classes/<Class>/loader" "classes/com.example.Twin@$twin/loader" "$(object "$loader")"
is "instances/<Class>@<id>" "$(find "instances/com.example.Twin@$twin" -name '*.txt' | wc -l)" 3
for name in %20 %2Dleading 100%25 back%5Cslash bad%FF%FE 'com.example.has space' com.example.new%0Aline com.example.tab%09 \
	less%3Cgreater%3Ecolon%3A nul%00inside 'smile😀' star%2Aquestion%3Fpipe%7Cquote%22 trailing%2E \
	'gen.Gen$$Lambda+0x000000003b07c000' 'java.lang.String[][]' 'int[]' com.example.NeverLinked; do
	check "classes/$name" test -f "classes/$name/class.txt"
done
long=$(entries classes | tr ' ' '\n' | grep '^LLL')
is "a long name is cut to 255 bytes and ends in a hash" "${#long} $(expr "$long" : 'L*~[0-9a-f]\{8\}$')" "255 255"
is "classes/<Class>/subclasses: in parts" "$(entries classes/com.example.Base/subclasses)" "0000 2048 "
is "… of 2048 and the rest" "$(for i in 0000 2048; do find classes/com.example.Base/subclasses/$i -type l | wc -l; done | tr '\n' ' ')" \
	"2048 52 "
leads_to "… that lead to the class" classes/com.example.Base/subclasses/0000/com.example.base.Sub7 classes/com.example.base.Sub7

target=$(string target)
text=$(cat classes/com.example.Statics/class.txt)
has "class.txt: what it is" "$text" "class: com.example.Statics" "id: $(id_of com.example.Statics)" "superclass: java.lang.Object"
has "class.txt: statics" "$text" "z: boolean = true" "c: char = '\\ud83d'" "f: float = NaN" "d: double = 0.1" \
	"b: byte = -128" "s: short = -32768" "i: int = -2147483648" "l: long = -9223372036854775808" \
	"object: object = $target java.lang.String \"target\"" "nothing: object = null"
has "class.txt: fields, the superclass's too" "$(cat classes/com.example.ShadowLeaf/class.txt)" \
	"fields of com.example.ShadowLeaf:" "own: boolean" "fields of com.example.Shadow:" "x: int"
leads_to "statics/<name>" classes/com.example.Statics/statics/object "$(object "$target")"
leads_to "a static that is a class leads to its folder" classes/com.example.Statics/statics/class classes/java.lang.String
check "a static that is null has no link" absent classes/com.example.Statics/statics/nothing

### Objects
folder=$(object "$target")
check "objects/<a>/<b>/<id>: computed from the id" test -d "$folder"
leads_to "objects/<id>: found by name" "objects/$target" "$folder"
lacks "objects/<id>: not listed" " $(entries objects)" " 0x"
leads_to "class.d" "$folder/class.d" classes/java.lang.String
leads_to "instances/<Class>/<id>" "instances/java.lang.String/$target" "$folder"
check "instances/<Class>/<id>.txt is object.txt" cmp "instances/java.lang.String/$target.txt" "$folder/object.txt"
hex=$(nth com.example.ShadowLeaf 1)	# has letters
digits=${hex#0x}
for name in "0X$digits" "0x0$digits" "0x$(echo "$digits" | tr abcdef ABCDEF)" "$digits" "$hex " "+$hex"; do
	refused "objects/$name is not found" "No such file" stat "objects/$name"
done
refused "an id that is not in the dump is not found" "No such file" stat objects/0x123456
folder=$(object "$hex")
has "object.txt" "$(cat "$folder/object.txt")" "class: com.example.ShadowLeaf" "id: $hex" "fields of com.example.ShadowLeaf:
x: object = $target java.lang.String \"target\"
next: object = $(id_of java.lang.String) class java.lang.String
own: boolean = true" "fields of com.example.ShadowMiddle:
x: long = 1234605616436508552"
middle=$(id_of com.example.ShadowMiddle) base=$(id_of com.example.Shadow)
is "fields as links, hidden ones by their class's id" "$(entries "$folder")" \
	"class.d graph.d next next@$base next@$middle object.txt x "
leads_to "a field leads to its object" "$folder/x" "$(object "$target")"
leads_to "a field that holds a class leads to its folder" "$folder/next" classes/java.lang.String
is "instances.tsv: columns" "$(head -n 1 classes/com.example.ShadowLeaf/instances.tsv)" \
	"id${TAB}shallow${TAB}heap${TAB}x${TAB}next${TAB}own${TAB}x@$middle${TAB}next@$middle${TAB}x@$base${TAB}next@$base"
is "instances.tsv: a line" "$(sed -n 2p classes/com.example.ShadowLeaf/instances.tsv | cut -f 4-)" \
	"$target${TAB}$(id_of java.lang.String)${TAB}true${TAB}1234605616436508552${TAB}$target${TAB}-2147483648${TAB}$target"
folder=$(object "$(nth com.example.OddFields 1)")
for name in with%2Edot with%2Fslash new%0Aline %20blank%20 %2Ddash dot%2E object%2Etxt class%2Ed %2E %2E%2E %252E bad%FF nul%00 0; do
	leads_to "field $name" "$folder/$name" "$(object "$target")"
done
is "fields with names of 300 bytes: two, cut" "$(entries "$folder" | tr ' ' '\n' | grep -c '^nnn*~[0-9a-f]\{8\}$')" 2
is "2500 fields: in parts" "$(entries "$(object "$(nth com.example.Wide 1)")")" "0000 2048 class.d graph.d object.txt "

array=$(nth 'java.lang.Object[]' 1)
folder=$(object "$array")
is "5000 elements: in parts" "$(entries "$folder")" "0000 2048 4096 class.d graph.d object.txt "
leads_to "element 0" "$folder/0000/0" "$(object "$target")"
leads_to "element 4999" "$folder/4096/4999" "$(object "$target")"
leads_to "element 5, a class" "$folder/0000/5" classes/java.lang.Object
check "element 3, null: no link" absent "$folder/0000/3"
check "element 7, not in the dump: no link" absent "$folder/0000/7"
check "element 4999 is not in part 0000" absent "$folder/0000/4999"
check "element 00: not found" absent "$folder/0000/00"
text=$(cat "$folder/object.txt")
has "object.txt of an array" "$text" "length: 5000" "3: object = null" "7: object = 0x7fff00048 (not in the dump)" \
	"99: object" "… 4900 more"
lacks "object.txt of an array: 100 elements" "$text" "100: object"
is "3 elements: not in parts" "$(entries "$(object "$(nth 'java.lang.String[][]' 1)")")" "0 1 2 class.d graph.d object.txt "

is "value.txt" "$(cat "$(object "$target")/value.txt"; echo .)" "target."
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "%s", i % 64 == 63 ? "\n" : sprintf("%c", 65 + i % 26) }' >"$tmp/expected"
long=$(awk -F '\t' '$2 == 100000 { print $1 }' strings/strings.tsv)
check "value.txt is never cut" cmp "$(object "$long")/value.txt" "$tmp/expected"
awk 'BEGIN { printf "a"; for (i = 0; i < 50000; i++) printf "😀" }' >"$tmp/expected"
check "value.txt: pairs of surrogates are joined everywhere" \
	cmp "$(object "$(awk -F '\t' '$2 == 100001 { print $1 }' strings/strings.tsv)")/value.txt" "$tmp/expected"
text=$(sed -n 's/^text: //p' "$(object "$long")/object.txt")
has "object.txt: a long text is cut and says its length" "$text" "(100000 chars)"
is "… after 256 characters" "$(printf %s "$text" | sed 's/^"//; s/"….*//; s/\\n/N/g' | wc -m)" 256
printf '\177\360\000\000\000\000\000\000\377\377\377\377\200\001\002\003\000' >"$tmp/expected"
check "data.bin of a byte[]" cmp "$(object "$(awk -F '\t' '$2 == 17' 'classes/boolean[]/instances.tsv' | cut -f 1)")/data.bin" "$tmp/expected"
is "data.bin of a long[17]" "$(stat -c %s "$(object "$(awk -F '\t' '$2 == 17' 'classes/long[]/instances.tsv' | cut -f 1)")/data.bin")" 136
is "data.bin of a String's characters" "$(cat "$(object "$target")/value/data.bin")" target

is "strings.tsv: columns" "$(head -n 1 strings/strings.tsv)" "id${TAB}length${TAB}shallow${TAB}text"
is "strings.tsv: every line has 4" "$(awk -F '\t' 'NF != 4' strings/strings.tsv)" ""
is "strings.tsv: as many as info.txt says" "$(tail -n +2 strings/strings.tsv | wc -l)" "$(value strings)"
for text in 'tab\tline\nreturn\rback\\slash' '\u0001\u001f\u007f\u0085' 'a\ud83d' 'x\u0000y' 日本 😀 ' blank at the ends '; do
	check "strings.tsv: $text" test -n "$(string "$text")"
done
is "strings.tsv: cut after 1024 characters" \
	"$(awk -F '\t' '$2 == 100000 { print $4 }' strings/strings.tsv | sed 's/…$//; s/\\n/N/g' | tr -d '\n' | wc -m)" 1024

is "roots/" "$(entries roots)" \
	"java-frame jni-global jni-local monitor-used native-stack sticky-class thread-block thread-object unknown "
leads_to "roots/<kind>/<id>" "roots/jni-global/$target" "$(object "$target")"
leads_to "roots/sticky-class/<id>: a class" "roots/sticky-class/$(id_of java.lang.String)" classes/java.lang.String
check "roots: none for null" absent roots/jni-local/0x0

### The same for all: modes, times, statfs
is "mtime: the dump's time" "$(find . ! -path ./graph/progress.txt -printf '%T@\n' | sort -u)" "1767225600.0000000000"
is "modes: the dump's, without writing" "$(find . -not -type l -printf '%y%m\n' | sort -u | tr '\n' ' ')" "d555 f444 "
is "statfs: longest name" "$(stat -f -c %l .)" 255
is "statfs: none is free, some are used" "$(stat -f -c '%f %a %d' .) $(stat -f -c '%b %c' . | grep -c '^[1-9][0-9]* [1-9]')" "0 0 0 1"
find . -type f | sort >"$tmp/files"
cd /
unmount
if mount_dump "$dump" -o links=no; then
	is "links=no: no links" "$(find "$mnt" -type l | wc -l)" 0
	check "links=no: all files" sh -c 'cd "$1" && find . -type f | sort | cmp - "$2"' sh "$mnt" "$tmp/files"
	check "links=no: not found either" absent "$mnt/objects/$target"
	unmount
fi
# The header's time, 0: then the file's own.
cp "$dump" "$tmp/timeless"
printf '\000\000\000\000\000\000\000\000' | dd of="$tmp/timeless" bs=1 seek=23 conv=notrunc 2>/dev/null
touch -d '2011-02-03 04:05:06.789' "$tmp/timeless"
chmod 640 "$tmp/timeless"
if mount_dump "$tmp/timeless" -o uid=12,gid=34; then
	is "mtime: the file's where the header has none" "$(find "$mnt" ! -name progress.txt -printf '%T@\n' | sort -u)" "1296705906.7890000000"
	is "modes of a dump with 0640" "$(find "$mnt" -not -type l -printf '%y%m\n' | sort -u | tr '\n' ' ')" "d550 f440 "
	is "-o uid, gid" "$(find "$mnt" -printf '%U:%G\n' | sort -u)" "12:34"
	unmount
fi

### An Android app's
if mount_dump "$(sample sample)"; then
	is "info.txt: device and process" \
		"$(for key in 'android sdk' manufacturer model process package 'package version'; do value "$key"; done | tr '\n' ' ')" "35 Google Pixel 9 com.example.app com.example.app 4100 "
	rows=$mnt/instances/com.example.app.Row
	is "3000 instances: in parts, names padded" "$(entries "$rows")" "0000 2048 "
	is "… of 2048 and the rest, in the order of the file" \
		"$(for i in 0000 2048; do (cd "$rows/$i" && find . -type l -printf '%f\n'); done | md5sum)" \
		"$(tail -n +2 "$mnt/classes/com.example.app.Row/instances.tsv" | cut -f 1 | md5sum)"
	is "… 2048 in the first" "$(find "$rows/0000" -type l | wc -l)" 2048
	leads_to "… links lead to the object" "$rows/2048/$(nth com.example.app.Row 3000)" "$(object "$(nth com.example.app.Row 3000)")"
	leads_to "a field" "$(object "$(nth com.example.app.Row 2)")/next" "$(object "$(nth com.example.app.Row 1)")"
	is "instances.tsv" "$(sed -n 3p "$mnt/classes/com.example.app.Row/instances.tsv" | cut -f 3,6-8)" "app${TAB}2${TAB}0.25${TAB}1"
	has "object.txt" "$(cat "$mnt/instances/com.example.app.MainActivity/$(nth com.example.app.MainActivity 1).txt")" \
		"taps: int = 17" "java.lang.String \"Inbox (3)\"" "mDestroyed: boolean = true" "fields of android.app.Activity:" "heap: app"
	unmount
fi

### Several dumps in a file
for kind in two-segments-dumps agent; do
	mount_dump "$(sample "$kind")" || continue
	is "$kind: the root" "$(entries "$mnt")" "README.txt dump-1 dump-2 info.txt raw.hprof "
	is "$kind: each dump" "$(entries "$mnt/dump-2")" "classes classes.tsv collections duplicates graph instances objects roots strings "
	lacks "$kind: dump-1" "$(cat "$mnt/dump-1/strings/strings.tsv")" "only in the second"
	has "$kind: dump-2" "$(cat "$mnt/dump-2/strings/strings.tsv")" "only in the second"
	check "$kind: dump-3 is not there" absent "$mnt/dump-3"
	check "$kind: no link dangles" all_links_lead_somewhere "$mnt"
	unmount
	if mount_dump "$tmp/$kind.hprof" -o dump=2; then
		is "$kind: -o dump=2: the root" "$(entries "$mnt")" "README.txt classes classes.tsv collections duplicates graph info.txt instances objects raw.hprof roots strings "
		has "$kind: -o dump=2" "$(cat "$mnt/strings/strings.tsv")" "only in the second"
		unmount
	fi
done

### How other virtual machines keep a String
for kind in jdk8 jdk6 bigendian agent; do
	mount_dump "$(sample "$kind")" -o dump=1 || continue
	is "$kind: strings" "$(cut -f 4 "$mnt/strings/strings.tsv" | head -n 6 | tr '\n' ' ')" "text  ascii café 日本 😀! "
	[ "$kind" = jdk6 ] && has "jdk6: shared characters" "$(cat "$mnt/strings/strings.tsv")" "${TAB}characters"
	unmount
done
plan
