#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pictures through a real mount, as other programs read them: pngcheck, libpng, ImageMagick, ffmpeg.
# shellcheck disable=SC2016 # class names have $
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

exists() { [ -e "$1" ] || [ -L "$1" ]; }
absent() { ! exists "$1"; }
node() { stat -L -c %d:%i "$1"; }
entries() { (cd "$1" && find . -mindepth 1 -maxdepth 1 | sed 's|^\./||' | sort | tr '\n' ' '); }
# column NAME: of bitmaps.tsv, a line a Bitmap
column() { awk -F '\t' -v column="$1" 'NR == 1 { for (n = 1; n < NF && $n != column;) n++; next } { print $n }' "$mnt/bitmaps.tsv"; }
sums() { for key in bitmaps 'bitmaps with picture' 'bitmaps without picture' 'bitmaps mismatched' 'bitmap pictures from' \
	'pictures refused' 'pictures of no bitmap'; do value "$key"; done | tr '\n' ' '; }

### What decoders make of a picture

by_libpng() { "$builddir/tests/pixels" "$1"; }
by_convert() { convert "$1" -depth 8 rgba:-; }
by_ffmpeg() { ffmpeg -v error -i "$1" -f rawvideo -pix_fmt rgba - </dev/null; }
# Without a word to say: a decoder that repairs something says so.
rgba_of() { # DECODER FILE
	"by_$1" "$2" 2>"$tmp/decoder" | sha256sum | cut -d ' ' -f 1
	grep -v deprecated "$tmp/decoder" | head -n 1 # ImageMagick 7 calls itself magick
}
# ImageMagick's own policy is to refuse what is wider or higher than 16,000.
takes() { # DECODER FILE
	[ "$1" != convert ] || [ "$(od -A n -t x4 --endian=big -j 16 -N 8 "$2" | grep -c 00004000)" -eq 0 ]
}

# same_pixels NAME DECODER FOLDER: each PNG there decodes as libpng does it
same_pixels() {
	message="$1: $2 reads each PNG as libpng does"
	here "$2" "$message" || return 0
	count=0
	: >"$tmp/differs"
	for picture in "$3"/*.png; do
		takes "$2" "$picture" || continue
		count=$((count + 1))
		[ "$(rgba_of libpng "$picture")" = "$(rgba_of "$2" "$picture")" ] || echo "${picture##*/}" >>"$tmp/differs"
	done
	is "$message" "$([ "$count" -gt 0 ] && cat "$tmp/differs")" ""
}

# Checks of a folder that pictures were copied to.
decoders() { # NAME FOLDER
	if here pngcheck "$1: pngcheck"; then check "$1: pngcheck" pngcheck -q "$2"/*.png; fi
	same_pixels "$1" convert "$2"
	same_pixels "$1" ffmpeg "$2"
}

# JPEG and WebP pictures of the dump are decoded to the size that bitmaps.tsv says.
other_forms() { # NAME
	for tool in convert ffmpeg; do
		here "$tool" "$1: $tool reads JPEG and WebP" || continue
		awk -F '\t' '$8 ~ /jpg$|webp$/ { print $8 "\t" 4 * $3 * $4 }' "$mnt/bitmaps.tsv" >"$tmp/others"
		while IFS=$TAB read -r picture bytes; do
			[ "$("by_$tool" "$mnt/$picture" 2>/dev/null | wc -c)" -eq "$bytes" ] || echo "$picture"
		done <"$tmp/others" >"$tmp/differs"
		is "$1: $tool reads JPEG and WebP" "$([ -s "$tmp/others" ] && cat "$tmp/differs")" ""
	done
}

### Links between a picture and its object

links_of() { # NAME
	: >"$tmp/differs"
	awk -F '\t' 'NR > 1 && $7 == "ok" { print $2, $8 }' "$mnt/bitmaps.tsv" >"$tmp/shown"
	while read -r id picture; do
		stem=${picture##*/}
		stem=${stem%.*}
		[ "$(node "$mnt/bitmaps/objects/$stem")" = "$(node "$(object "$id")")" ] || echo "objects/$stem"
		[ "$(node "$(object "$id")/bitmap.${picture##*.}")" = "$(node "$mnt/$picture")" ] || echo "$id/bitmap"
		[ "$(readlink "$(object "$id")/bitmap.${picture##*.}")" = "../../../../$picture" ] || echo "$id/bitmap's text"
	done <"$tmp/shown" >"$tmp/differs"
	is "$1: a picture and its object lead to each other" "$(cat "$tmp/differs")" ""
	is "$1: no object without picture has a link" "$(awk -F '\t' 'NR > 1 && $7 != "ok" { print $2 }' "$mnt/bitmaps.tsv" |
		while read -r id; do find "$(object "$id")" -name 'bitmap.*'; done)" ""
	is "$1: no link dangles" "$(find "$mnt/bitmaps" -xtype l)" ""
}

### bitmaps.tsv

table() { # NAME
	is "$1: bitmaps.tsv: columns" "$(head -n 1 "$mnt/bitmaps.tsv" | tr '\t' ' ')" \
		"pointer object width height layout source verdict file bytes memory_bytes storage source_id hash"
	is "$1: bitmaps.tsv: every line has 13" "$(awk -F '\t' 'NF != 13' "$mnt/bitmaps.tsv")" ""
	is "$1: bitmaps.tsv: a line a Bitmap" "$(column pointer | wc -l)" "$(value bitmaps)"
	is "$1: bitmaps.tsv: most pixels first" "$(awk -F '\t' 'NR > 2 && $3 * $4 > before; { before = $3 * $4 }' "$mnt/bitmaps.tsv")" ""
	is "$1: bitmaps.tsv: its size is true" "$(wc -c <"$mnt/bitmaps.tsv")" "$(stat -c %s "$mnt/bitmaps.tsv")"
	is "$1: bitmaps.tsv: file and bytes" "$(awk -F '\t' 'NR > 1 && $8 != "-" { print $8 "\t" $9 }' "$mnt/bitmaps.tsv" | sort)" \
		"$(cd "$mnt" && find bitmaps -maxdepth 1 -type f -name '0x*' -printf '%p\t%s\n' | sort)"
	is "$1: bitmaps.tsv: 'ok' has file and hash, others none" \
		"$(awk -F '\t' 'NR > 1 && ($7 == "ok") != ($8 != "-" && $9 > 0 && $13 ~ /^[0-9a-f]*$/ && length($13) == 16)' "$mnt/bitmaps.tsv")" ""
	is "$1: bitmaps.tsv: each object is one" "$(column object | while read -r id; do
		grep -L '^class: android.graphics.Bitmap$' "$(object "$id")/object.txt"; done)" ""
}

# expected NAME SAMPLE: bitmaps.tsv has what tests/bitmaps.expected says
expected() {
	awk -F '\t' -v sample="$2" '$1 == sample' "$srcdir/tests/bitmaps.expected" | cut -f 2- >"$tmp/expected"
	tail -n +2 "$mnt/bitmaps.tsv" | cut -f 1,3-7,10-12 >"$tmp/seen"
	check "$1: bitmaps.tsv: values" diff "$tmp/expected" "$tmp/seen"
	check "$1: … of something" test -s "$tmp/expected"
}

# duplicates NAME LINES: of duplicates/bitmaps.tsv, without hash and example
duplicates() {
	is "$1: duplicates/bitmaps.tsv" "$(cut -f 2-7 "$mnt/duplicates/bitmaps.tsv" | tr '\t\n' ' |')" \
		"count copies width height memory_bytes wasted|$2"
	is "$1: duplicates/bitmaps.tsv: hashes and examples are those of bitmaps.tsv" \
		"$(tail -n +2 "$mnt/duplicates/bitmaps.tsv" | awk -F '\t' '{ print $1 "\t" $8 }' | while read -r line; do
			awk -F '\t' '{ print $13 "\t" $8 }' "$mnt/bitmaps.tsv" | grep -cxF "$line"; done | sort -u)" "${2:+1}"
}

### Pixels in mBuffer: API 11 to 25

for api in 16 19 22 24; do
	name=bitmaps-$api
	mount_dump "$(sample "$name")" || continue
	is "$name: info.txt" "$(value 'android sdk') $(sums)" "$api 28 16 12 0 mBuffer 0 0 "
	table "$name"
	expected "$name" buffers
	mkdir "$tmp/$name"
	check "$name: cp bitmaps/*.png" cp "$mnt"/bitmaps/*.png "$tmp/$name"
	is "$name: … 16 of them" "$(find "$tmp/$name" -name '*.png' | wc -l)" 16
	decoders "$name" "$tmp/$name"
	links_of "$name"
	check "$name: there is no WHY-EMPTY.txt" absent "$mnt/bitmaps/WHY-EMPTY.txt"
	is "$name: pointers that are shared, and none" "$(entries "$mnt/bitmaps" | tr ' ' '\n' | grep -e - | sed 's/-.*//' | tr '\n' ' ')" \
		"0x0 0x0 0x10000040 0x10000040 "
	# One of four equal ones has the same buffer; where there is a flag, one has other pixels.
	if [ "$api" -eq 16 ]; then duplicates "$name" "4 3 12 12 576 1152|"; else duplicates "$name" "3 2 12 12 576 576|"; fi
	unmount
done
is "the same pixels in each era" "$(cd "$tmp" && sha256sum bitmaps-19/0xb8dc2560.png bitmaps-22/0xb8dc2560.png bitmaps-24/0xb8dc2560.png |
	cut -d ' ' -f 1 | sort -u | wc -l)" 1
if mount_dump "$tmp/bitmaps-19.hprof" -o png_level=9; then
	mkdir "$tmp/packed"
	check "png_level=9: cp bitmaps/*.png" cp "$mnt"/bitmaps/*.png "$tmp/packed"
	is "png_level=9: equal pixels" "$(cd "$tmp/packed" && for picture in *.png; do
		[ "$(by_libpng "$picture" | sha256sum)" = "$(by_libpng "../bitmaps-19/$picture" | sha256sum)" ] || echo "$picture"; done)" ""
	packed=$(cat "$tmp"/packed/*.png | wc -c)
	stored=$(cat "$tmp"/bitmaps-19/*.png | wc -c)
	check "png_level=9: fewer bytes, $packed of $stored" test "$packed" -lt "$stored"
	is "png_level=9: sizes are true" "$(cd "$mnt/bitmaps" && stat -c '%n %s' -- *.png)" "$(cd "$tmp/packed" && stat -c '%n %s' -- *.png)"
	is "png_level=9: bitmaps.tsv does not say bytes that take compressing" "$(column bytes | sort -u)" "-"
	decoders "png_level=9" "$tmp/packed"
	unmount
fi

### Compressed pictures in dumpData: API 35 and later

if mount_dump "$(sample bitmaps-35)"; then
	is "bitmaps-35: info.txt" "$(value 'android sdk') $(sums)" "35 33 15 18 13 dumpData 13 5 "
	is "bitmaps-35: info.txt: what is not shown" "$(value 'pictures not shown, of a pointer that has another') $(value 'pictures whose bytes are not in the dump')" "1 2"
	table bitmaps-35
	expected bitmaps-35 bitmaps-35
	mkdir "$tmp/bitmaps-35"
	check "bitmaps-35: cp bitmaps/*.png" cp "$mnt"/bitmaps/*.png "$tmp/bitmaps-35"
	decoders bitmaps-35 "$tmp/bitmaps-35"
	other_forms bitmaps-35
	links_of bitmaps-35
	is "bitmaps-35: bitmaps/ holds pictures and folders only" "$(find "$mnt/bitmaps" -mindepth 1 -maxdepth 1 -not -type d \
		-not -name '0x*.png' -not -name '0x*.jpg' -not -name '0x*.webp')" ""
	is "bitmaps-35: as many refused as info.txt says" "$(find "$mnt/bitmaps/refused" -type f | wc -l)" 13
	is "bitmaps-35: as many orphans" "$(find "$mnt/bitmaps/orphans" -type f | wc -l)" 5
	if here convert "bitmaps-35: a refused picture is what its name says"; then
		is "bitmaps-35: a refused picture is what its name says" \
			"$(identify -format '%wx%h ' "$mnt"/bitmaps/refused/0xb400007b3c00a410-48x48.png "$mnt"/bitmaps/refused/0xb400007b3c00a490-64x65.jpg)" "48x48 64x65 "
	fi
	duplicates bitmaps-35 ""
	unmount
fi
if mount_dump "$(sample bitmaps-36)"; then
	is "bitmaps-36: info.txt" "$(sums)" "12 11 1 1 dumpData 1 0 "
	table bitmaps-36
	expected bitmaps-36 bitmaps-36
	mkdir "$tmp/bitmaps-36"
	check "bitmaps-36: cp bitmaps/*.png" cp "$mnt"/bitmaps/*.png "$tmp/bitmaps-36"
	# Nothing behind the picture, though its array is longer.
	decoders bitmaps-36 "$tmp/bitmaps-36"
	other_forms bitmaps-36
	# Heap ones are copies; what came twice from one shared bitmap, or was sent to itself, is there once.
	duplicates bitmaps-36 "3 3 40 40 6400 12800|2 2 10 10 400 400|"
	unmount
fi
if mount_dump "$(sample bitmaps-mixed)"; then
	is "mixed: info.txt" "$(sums)" "7 4 3 2 dumpData, mBuffer 3 0 "
	table mixed
	expected mixed bitmaps-mixed
	links_of mixed
	mkdir "$tmp/mixed"
	cp "$mnt"/bitmaps/*.png "$tmp/mixed"
	decoders mixed "$tmp/mixed"
	is "mixed: the picture refused, and the one of mBuffer shown" \
		"$(cd "$mnt/bitmaps" && find . -name '0xb400007b3c00a090*' -not -type l | sort | tr '\n' ' ')" \
		"./0xb400007b3c00a090.png ./refused/0xb400007b3c00a090-11x20.png "
	unmount
fi
if mount_dump "$(sample bitmaps-large)"; then
	table large
	expected large bitmaps-large
	links_of large
	mkdir "$tmp/large"
	cp "$mnt"/bitmaps/*.png "$tmp/large"
	decoders large "$tmp/large"
	other_forms large
	# Read from the middle, from the end, in odd pieces: the same bytes.
	for picture in 0xb400007b3c00a010 0xb400007b3c00a090 0xb400007b3c00a110; do
		is "large: $picture.png in pieces" "$(for size in 7777 32768 100001; do
			dd if="$mnt/bitmaps/$picture.png" bs="$size" iflag=direct 2>/dev/null | cmp - "$tmp/large/$picture.png"; done)" ""
		is "large: $picture.png, its last bytes" "$(tail -c 5000 "$mnt/bitmaps/$picture.png" | sha256sum)" \
			"$(tail -c 5000 "$tmp/large/$picture.png" | sha256sum)"
	done
	unmount
	# And the last bytes before any others.
	if mount_dump "$tmp/bitmaps-large.hprof"; then
		is "large: the end first" "$(tail -c 20 "$mnt/bitmaps/0xb400007b3c00a010.png" | sha256sum)" \
			"$(tail -c 20 "$tmp/large/0xb400007b3c00a010.png" | sha256sum)"
		unmount
	fi
fi

### Where there is no picture

# why SAMPLE BITMAPS PART…: WHY-EMPTY.txt, alone with what was refused, says these
why() {
	name=$1 bitmaps=$2
	shift 2
	mount_dump "$(sample "$name")" || return 0
	has "$name: WHY-EMPTY.txt" "$(cat "$mnt/bitmaps/WHY-EMPTY.txt")" "$@"
	is "$name: info.txt" "$(value bitmaps) $(value 'bitmaps with picture')" "$bitmaps 0"
	is "$name: bitmaps.tsv: a line a Bitmap" "$(column pointer | wc -l)" "$bitmaps"
	is "$name: no picture is shown" "$(column source | grep -cv none)" 0
	is "$name: bitmaps/" "$(entries "$mnt/bitmaps" | sed 's/orphans \|refused //g')" "WHY-EMPTY.txt "
	said_why=$(cat "$mnt/bitmaps/WHY-EMPTY.txt") verdicts=$(column verdict | sort -u | tr '\n' '|')
	unmount
}
said_why='' verdicts=''
why bitmaps-10 28 "28 Bitmaps" "Android up to 2.3 (API 10)"
lacks "bitmaps-10: … nothing of -b png" "$said_why" "-b png"
is "bitmaps-10: verdicts" "$verdicts" "native pixels: not in this dump|recycled|zero size|"
why bitmaps-28 33 "33 Bitmaps" "API 26 to 34" "running process" "-b png"
is "bitmaps-28: verdicts" "$verdicts" "native pixels: not in this dump|recycled|zero size|"
why bitmaps-35-without 33 "33 Bitmaps" "API 35" "taken without" "am dumpheap -b png"
lacks "bitmaps-35-without: … nothing of a debugger" "$said_why" "debugger"
why bitmaps-recycled 2 "2 Bitmaps" "API 11 to 25" "recycled"
is "bitmaps-recycled: verdicts" "$verdicts" "recycled|"
why bitmaps-refused 1 "1 Bitmap," "refused/"
is "bitmaps-refused: verdicts" "$verdicts" "mismatch: picture is 10x10, bitmap 20x20|"
why bitmaps-none 0 "no object of class android.graphics.Bitmap"
if mount_dump "$(sample jdk8)"; then
	is "a JVM's dump shows nothing of bitmaps" "$(find "$mnt" -maxdepth 1 -name 'bitmap*' -o -path '*/duplicates/bitmap*')$(grep -c bitmap "$mnt/info.txt")" 0
	unmount
fi

### Real dumps

if [ ! -d "$corpus/android" ]; then
	skip "real dumps" "there are none at $corpus"
	plan
	exit 0
fi
if mount_dump "$corpus/android/leak_service_binder.hprof"; then
	name=leak_service_binder
	is "$name: info.txt" "$(value process) $(sums)" "com.example.leakcanary:leakyprocess 26 26 0 0 mBuffer 0 0 "
	table "$name"
	links_of "$name"
	mkdir "$tmp/$name"
	check "$name: cp bitmaps/*.png" cp "$mnt"/bitmaps/*.png "$tmp/$name"
	is "$name: 26 PNGs" "$(find "$tmp/$name" -name '*.png' | wc -l)" 26
	is "$name: sizes" "$(awk -F '\t' 'NR > 1 { print $3 "x" $4 " " $5 }' "$mnt/bitmaps.tsv" | sort | uniq -c | awk '{ print $1, $2, $3 }' | sort | tr '\n' '|')" \
		"16 44x64 ARGB_8888|2 5x5 ARGB_8888|2 96x96 ARGB_8888|6 48x48 ARGB_8888|"
	decoders "$name" "$tmp/$name"
	# Ids are of one length, so that their text's order is theirs.
	is "$name: pixels of all, by object" "$(awk -F '\t' 'NR > 1 { print $2, $8 }' "$mnt/bitmaps.tsv" | sort | while read -r _ picture; do
		by_libpng "$mnt/$picture"; done | sha256sum | cut -c 1-16)" ea8dfab66b84f6ee
	is "$name: pixels of 0xb0d4db38" "$(by_libpng "$mnt/bitmaps/0xb8dc2560.png" | sha256sum | cut -c 1-16)" 6b0c83fc57b3d004
	is "$name: 0xb8dc2560 is 0xb0d4db38" "$(readlink "$mnt/bitmaps/objects/0xb8dc2560")" "../../objects/b/d4/0xb0d4db38"
	unmount
	if mount_dump "$corpus/android/leak_service_binder.hprof" -o png_level=9; then
		is "$name: png_level=9: equal pixels" "$(for picture in "$tmp/$name"/*.png; do by_libpng "$picture"; done | sha256sum)" \
			"$(for picture in "$mnt"/bitmaps/*.png; do by_libpng "$picture"; done | sha256sum)"
		packed=$(cat "$mnt"/bitmaps/*.png | wc -c)
		stored=$(cat "$tmp/$name"/*.png | wc -c)
		check "$name: png_level=9: less than half the bytes, $packed of $stored" test $((2 * packed)) -lt "$stored"
		unmount
	fi
fi
dump=$corpus/android/test-dump.hprof
if mount_dump "$dump"; then
	is "test-dump: no Bitmap without the mapping" "$(column pointer) $(value bitmaps)" " 0"
	check "test-dump: and no class of that name" absent "$mnt/classes/android.graphics.Bitmap"
	has "test-dump: WHY-EMPTY.txt" "$(cat "$mnt/bitmaps/WHY-EMPTY.txt")" "no object of class android.graphics.Bitmap"
	unmount
fi
if mount_dump "$dump" -o "mapping=${dump%.hprof}.map"; then
	is "test-dump: two with it, natives sign-extended" "$(column pointer | sort | tr '\n' ' ')" "0xffffffffbeefdead 0xffffffffdeadbeef "
	has "test-dump: info.txt says so" "$(cat "$mnt/info.txt")" "
mapping: "
	for class in android.graphics.Bitmap 'android.graphics.Bitmap$DumpData' DumpedStuff; do
		check "test-dump: classes/$class" test -d "$mnt/classes/$class"
	done
	has "test-dump: fields have their names" "$(cat "$mnt/classes/android.graphics.Bitmap/class.txt")" "mNativePtr: long" "mWidth: int" "dumpData: object"
	has "test-dump: in objects too" "$(cat "$(object "$(column object | head -n 1)")/object.txt")" "mNativePtr: long" "mWidth: int"
	check "test-dump: no obfuscated name is left for it" absent "$mnt/classes/android.graphics.b"
	is "test-dump: its buffers are no PNGs" "$(value 'bitmaps with picture')" 0
	unmount
fi
echo garbage >"$tmp/bad.map"
refused "a mapping that is none" "bad.map: line 1" "$heapfs" -o "mapping=$tmp/bad.map" "$dump" "$mnt"
refused "a mapping that is not there" "No such file" "$heapfs" -o "mapping=$tmp/none.map" "$dump" "$mnt"
# A program on a JVM that has a class of that name, and knows what it put there: manifest.tsv, "bitmaps".
if [ -f "$corpus/generated/tiny-17.hprof" ] && mount_dump "$corpus/generated/tiny-17.hprof"; then
	is "tiny-17: the bitmaps of its manifest" \
		"$(awk -F '\t' 'NR > 1 { print $3 "x" $4 ":" $6 }' "$mnt/bitmaps.tsv" | sort | paste -sd ' ' -)" \
		"100x50:dumpData 16x16:mBuffer 1x1:mBuffer 2x3:dumpData 300x200:none 640x480:mBuffer"
	is "tiny-17: where they are from" "$(value 'bitmap pictures from')" "dumpData, mBuffer"
	unmount
fi

plan
