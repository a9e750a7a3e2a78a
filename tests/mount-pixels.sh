#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pictures from elsewhere: the folder beside a dump, and -o pixels= with all that it takes. What is not a Bitmap's, not
# the owner's, not of the process or no picture at all is not shown, and is told; what changes is never shown wrong.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

names() { find "$1" -mindepth 1 -maxdepth 1 -type f -printf '%f\n' 2>/dev/null | sort | paste -sd ' ' -; }
sums() { for key in 'bitmaps with picture' 'bitmaps mismatched' 'pictures refused' 'pictures of no bitmap'; do value "$key"; done | paste -sd ' ' -; }
live() { value 'live pictures'; }
warning() { grep '^warning: ' "$mnt/info.txt" || :; }
# As texts: they are too large for awk's numbers.
verdict() { awk -F '\t' -v pointer="$1" '$1 "" == pointer "" { print $6 ": " $7 }' "$mnt/bitmaps.tsv"; }
column() { awk -F '\t' -v column="$1" 'NR == 1 { for (n = 1; n < NF && $n != column;) n++; next } { print $n }' "$mnt/bitmaps.tsv"; }
# true_tree NAME: nodes, sizes and bytes agree, and so does bitmaps.tsv
true_tree() {
	check "$1: treecheck" "$builddir/tests/treecheck" "$mnt"
	is "$1: bitmaps.tsv: its size is true" "$(wc -c <"$mnt/bitmaps.tsv")" "$(stat -c %s "$mnt/bitmaps.tsv")"
	is "$1: bitmaps.tsv: file and bytes" "$(awk -F '\t' 'NR > 1 && $8 != "-" { print $8 "\t" $9 }' "$mnt/bitmaps.tsv" | sort)" \
		"$(cd "$mnt" && find bitmaps -maxdepth 1 -type f -name '0x*' -printf '%p\t%s\n' | sort)"
	is "$1: as many are refused, and of no Bitmap, as info.txt says" \
		"$(find "$mnt/bitmaps/refused" -type f 2>/dev/null | wc -l) $(find "$mnt/bitmaps/orphans" -type f 2>/dev/null | wc -l)" \
		"$(value 'pictures refused') $(value 'pictures of no bitmap')"
}
# all_same NAME FOLDER: each picture of bitmaps/ is the file of the folder that has its pointer in its name
all_same() {
	for picture in "$mnt"/bitmaps/0x*; do
		stem=${picture##*/}
		stem=${stem%%[-.]*}
		for file in "$2/$stem"[-.]*; do cmp "$picture" "$file"; done
	done >"$tmp/differs" 2>&1 || :
	is "$1: the same bytes" "$(cat "$tmp/differs")" ""
}
# unread FILE: gives EIO
unread() { ! cat "$1" >"$tmp/unread" 2>"$tmp/unread.err" && grep -q 'Input/output error' "$tmp/unread.err"; }

### Pictures of every form, of the Bitmaps that a dump of API 28 lacks them for

full=$(sample bitmaps-35) bare=$(sample bitmaps-28) pictures=$tmp/pictures
mkdir "$pictures"
if ! mount_dump "$full"; then plan; exit 0; fi
cp "$mnt"/bitmaps/0x* "$pictures"
awk -F '\t' '$7 == "ok" { print $1, $3, $4 }' "$mnt/bitmaps.tsv" | sort >"$tmp/shown"
unmount
rm "$pictures"/0xb400007b3c00ac10* # one of the two Bitmaps of this pointer only
count=$(find "$pictures" -type f | wc -l)

bytes_of_tree() { (cd "$mnt" && find . -type f ! -path './graph/*' ! -path './objects/*' -print0 | sort -z | xargs -0 sha256sum); }
mount_dump "$bare" && bytes_of_tree >"$tmp/without" && unmount

beside=$bare.bitmaps
cp -r "$pictures" "$beside"
if mount_dump "$bare"; then
	is "beside the dump: nothing is said" "$said$(value warnings)" 0
	is "beside the dump: counts" "$(sums); $(live)" "14 0 0 0; $count, shown for bitmaps: $((count - 1))"
	is "beside the dump: info.txt says where" "$(value 'live pictures from')" "$beside (folder beside the dump, $count pictures)"
	is "beside the dump: and that they are live ones" "$(value 'bitmap pictures from')" live
	all_same "beside the dump" "$pictures"
	is "beside the dump: those Bitmaps that have one in the other dump" \
		"$(awk -F '\t' '$7 == "ok" { print $1, $3, $4 }' "$mnt/bitmaps.tsv" | sort)" "$(grep -v ac10 "$tmp/shown")"
	is "beside the dump: source" "$(column source | sort -u | paste -sd ' ' -)" "live none"
	is "beside the dump: an object leads to its picture" \
		"$(stat -L -c %i "$mnt/bitmaps/objects/0xb400007b3c00a010/bitmap.png")" "$(stat -c %i "$mnt/bitmaps/0xb400007b3c00a010.png")"
	check "beside the dump: there is no WHY-EMPTY.txt" test ! -e "$mnt/bitmaps/WHY-EMPTY.txt"
	for size in 7 4096 100001; do
		check "beside the dump: in pieces of $size" sh -c \
			"dd if='$mnt/bitmaps/0xb400007b3c00a110.jpg' bs=$size iflag=direct 2>/dev/null | cmp - '$pictures/0xb400007b3c00a110.jpg'"
	done
	true_tree "beside the dump"
	unmount
fi
if mount_dump "$bare" -o pixels=none; then
	bytes_of_tree >"$tmp/none"
	check "pixels=none: the tree is as without them" cmp "$tmp/without" "$tmp/none"
	unmount
fi
if mount_dump "$bare" -o pixels=none -o "pixels=$pictures"; then
	is "pixels=none and a folder: that one only" "$(value 'live pictures from')" "$pictures (folder, $count pictures)"
	unmount
fi
if mount_dump "$bare" -o "pixels=$pictures"; then
	is "a folder too: it goes first, and the other one's are not needed" "$(sums); $(live); $(value 'live pictures from' | wc -l)" \
		"14 0 0 0; $((2 * count)), shown for bitmaps: $((count - 1)); 2"
	unmount
fi
run "$heapfs" --export bitmaps/0xb400007b3c00a010.png "$bare"
check "--export has them, too" cmp "$tmp/stdout" "$pictures/0xb400007b3c00a010.png"
ln -s bitmaps-28.hprof "$tmp/link.hprof"
if mount_dump "$tmp/link.hprof"; then
	is "a link to the dump: what is beside the dump itself" "$(live)" "$count, shown for bitmaps: $((count - 1))"
	unmount
fi
gzip -k "$bare"
mv "$beside" "$bare.gz.bitmaps"
if mount_dump "$bare.gz"; then
	is "beside a gzip file" "$(live)" "$count, shown for bitmaps: $((count - 1))"
	unmount
fi
mv "$bare.gz.bitmaps" "$beside"

### Whose they are

rm -r "$beside"
ln -s pictures "$beside"
if mount_dump "$bare"; then
	has "a link beside the dump: not used, and it is said" "$said" "the pictures beside the dump are not used: $beside is no folder"
	has "a link beside the dump: in info.txt" "$(warning)" "$beside is no folder"
	is "a link beside the dump: no picture" "$(value 'bitmaps with picture')" 0
	unmount
fi
rm "$beside"
cp -r "$pictures" "$beside"
if [ "$(id -u)" -eq 0 ]; then
	chown 65534 "$beside"
	if mount_dump "$bare" --strict; then
		has "another one's folder: not used, and it is said" "$said" "are not used" "is of user 65534, the dump of user 0" "-o pixels="
		has "another one's folder: in info.txt" "$(warning)" "is of user 65534, the dump of user 0"
		is "another one's folder: no picture" "$(value warnings) $(names "$mnt/bitmaps")" "1 WHY-EMPTY.txt"
		unmount
	fi
	if mount_dump "$bare" -o pixels=none; then
		is "another one's folder, pixels=none: nothing is said" "$said$(warning)" ""
		unmount
	fi
	if mount_dump "$bare" -o "pixels=none,pixels=$beside"; then
		is "another one's folder that is named: used" "$said$(live)" "$count, shown for bitmaps: $((count - 1))"
		unmount
	fi
	chown 65534 "$bare"
	chown 0 "$beside"
	if mount_dump "$bare"; then
		has "another one's dump, one's own folder: not used" "$said" "is of user 0, the dump of user 65534"
		unmount
	fi
	chown 0 "$bare"
	chown 65534 "$beside/0xb400007b3c00a010.png"
	if mount_dump "$bare"; then
		is "another one's file in it: not used" "$(verdict 0xb400007b3c00a010)" "none: native pixels: not in this dump"
		is "another one's file in it: counted" \
			"$(value "live pictures that are not of the dump's owner, and not used") $(live)" "1 $((count - 1)), shown for bitmaps: $((count - 2))"
		unmount
	fi
	chown 0 "$beside/0xb400007b3c00a010.png"
else
	skip "whose the folder is" "needs root"
fi

### What does not fit, what is nobody's, and what is no picture

odd=$tmp/odd
mkdir "$odd"
cp "$pictures/0xb400007b3c00a010.png" "$odd/0xb400007b3c00a410.png"	# 20x10, of 64x64
cp "$pictures/0xb400007b3c00a010.png" "$odd/0xb400007b3c00a910.png"	# of a recycled one
cp "$pictures/0xb400007b3c00a010.png" "$odd/0x7b3cffff10.png"		# of none
cp "$pictures/0xb400007b3c00a090.jpg" "$odd/0x7b3cffff10.jpg"
cp "$pictures/0xb400007b3c00a090.jpg" "$odd/0xb400007b3c00a090.png"	# a JPEG that says it is a PNG
head -c 500 "$pictures/0xb400007b3c00a010.png" >"$odd/0xb400007b3c00a010.png"
echo "no picture at all" >"$odd/0xb400007b3c00a110.png"
: >"$odd/0xb400007b3c00a190.png"
mkfifo "$odd/0xb400007b3c00a210.png"
mkdir "$odd/0xb400007b3c00a290.webp" "$odd/pid-12-not.a.picture"
ln -s "$pictures/0xb400007b3c00a310.webp" "$odd/0xb400007b3c00a310.webp"
truncate -s 2G "$odd/0xb400007b3c00a390.webp"
cp "$pictures/0xb400007b3c00ab10.png" "$odd/.0xb400007b3c00ab10.png"	# hidden
cp "$pictures/0xb400007b3c00ab10.png" "$odd/photo.png"			# whose?
cp "$pictures/0xb400007b3c00ab10.png" "$odd/0xb400007b3c00ab10.txt"
ln -s /dev/zero "$odd/0xb400007b3c00ab90.png"
ln -s "$pictures" "$odd/pid-13-a.link"
if mount_dump "$bare" -o "pixels=none,pixels=$odd"; then
	is "odd: nothing is said" "$said" ""
	is "odd: counts" "$(sums); $(live)" "1 5 5 2; 8, shown for bitmaps: 1"
	is "odd: what is no file" "$(value 'live pictures that are links, folders or pipes, and not used')" 4
	is "odd: what is too large" "$(value 'live pictures that are too large to be some, and not used')" 1
	is "odd: what it is, its bytes say" "$(names "$mnt/bitmaps")" 0xb400007b3c00a090.jpg
	is "odd: refused" "$(names "$mnt/bitmaps/refused")" "0xb400007b3c00a010-live-20x10-truncated.png \
0xb400007b3c00a110-live-unknown.bin 0xb400007b3c00a190-live-unknown.bin 0xb400007b3c00a410-live-20x10.png 0xb400007b3c00a910-live-20x10.png"
	is "odd: of no Bitmap" "$(names "$mnt/bitmaps/orphans")" "0x7b3cffff10-live-0.jpg 0x7b3cffff10-live-1.png"
	check "odd: a refused one's bytes" cmp "$mnt/bitmaps/refused/0xb400007b3c00a010-live-20x10-truncated.png" "$odd/0xb400007b3c00a010.png"
	check "odd: one of no Bitmap: its bytes" cmp "$mnt/bitmaps/orphans/0x7b3cffff10-live-0.jpg" "$odd/0x7b3cffff10.jpg"
	is "odd: verdicts" "$(for at in a010 a110 a190 a410 a910 a210; do verdict "0xb400007b3c00$at"; done | sed 's/^none: //' | paste -sd '|' -)" \
		"truncated picture|not a picture: no PNG, JPEG or WebP|not a picture: no PNG, JPEG or WebP|mismatch: picture is 20x10, bitmap 64x64|recycled|native pixels: not in this dump"
	for name in 0x7b3cffff10-live.jpg 0x7b3cffff10-live-2.png 0x7b3cffff10-live-00.jpg 0x7b3cffff10-live-0.png 0x7b3cffff10.jpg -live.png picture-live-0.png; do
		[ ! -e "$mnt/bitmaps/orphans/$name" ] || echo "$name"
	done >"$tmp/found"
	is "odd: no other name leads to one" "$(cat "$tmp/found")" ""
	true_tree odd
	unmount
fi
# Beside a dump that has pictures: its own go first.
if mount_dump "$full" -o "pixels=$odd"; then
	is "a dump's own pictures go first" "$(verdict 0xb400007b3c00a090) $(verdict 0xb400007b3c00a410)" \
		"dumpData: ok none: mismatch: picture is 48x48, bitmap 64x64"
	is "… and none is needed" "$(live)" "8, shown for bitmaps: 0"
	is "… those that fit are counted" "$(value 'pictures not shown, of a pointer that has another')" 2
	true_tree "a dump's own pictures"
	unmount
fi
# Where the one of the dump is refused, one from elsewhere is shown.
other=$tmp/other
mkdir "$other"
if mount_dump "$(sample sample)"; then
	cp "$mnt/bitmaps/0xb400007b3c00a190.png" "$other/0xb400007b3c00a190.png"
	cp "$mnt/bitmaps/refused/0xb400007b3c00a310-48x48.png" "$other/0xb400007b3c00a210.png"
	unmount
fi

### The application was restarted: none is of a Bitmap

gone=$tmp/gone
mkdir "$gone"
for file in "$pictures"/0xb4*.png; do
	cp "$file" "$gone/0x5${file##*/0xb4}"
done
none="none of the pictures from elsewhere is of a Bitmap of this dump: was the application restarted?"
if mount_dump "$bare" --strict -o "pixels=none,pixels=$gone"; then
	has "restarted: said" "$said" "heapfs: $bare: $none"
	is "restarted: in info.txt" "$(value warnings) $(warning)" "1 warning: $none"
	has "restarted: WHY-EMPTY.txt" "$(cat "$mnt/bitmaps/WHY-EMPTY.txt")" "was the application restarted?" "orphans/"
	true_tree restarted
	unmount
fi
rm -r "$beside"
cp -r "$gone" "$beside"
if mount_dump "$bare"; then
	is "restarted, beside the dump: in info.txt" "$said$(warning)" "warning: $none"
	unmount
fi
# Their pointers were given to others.
rm "$gone"/*
for at in a410 a490 a510; do cp "$pictures/0xb400007b3c00a010.png" "$gone/0xb400007b3c00$at.png"; done
if mount_dump "$bare" -o "pixels=none,pixels=$gone"; then
	is "pointers used again: in info.txt" "$(warning) $(sums)" "warning: $none 0 3 3 0"
	unmount
fi
rm -r "$beside"

### A picture that is written to, cut, replaced or removed while mounted

harm=$tmp/harm
listing() { find "$mnt/bitmaps" -type f -printf '%P %s\n' | sort; }
# harmed NAME COMMAND…: of what is then there no wrong byte is read, and all else is as before
harmed() {
	what=$1
	shift
	rm -rf "$harm"
	cp -r "$pictures" "$harm"
	mount_dump "$bare" -o "pixels=none,pixels=$harm" || return 0
	before=$(listing)
	"$@"
	check "$what: cannot be read any more" unread "$mnt/bitmaps/0xb400007b3c00a010.png"
	check "$what: nor a table of its hash" unread "$mnt/bitmaps.tsv"
	check "$what: others can" cmp "$mnt/bitmaps/0xb400007b3c00a110.jpg" "$pictures/0xb400007b3c00a110.jpg"
	check "$what: the dump can" cmp "$mnt/raw.hprof" "$bare"
	is "$what: it is listed as before" "$(listing)" "$before"
	unmount
}
hurt=$harm/0xb400007b3c00a010.png
cut_it() { truncate -s 100 "$hurt"; }
lengthen() { echo more >>"$hurt"; }
zero() { dd if=/dev/zero of="$hurt" bs=100 count=1 conv=notrunc 2>/dev/null; }
forge() { cp -p "$hurt" "$tmp/kept" && zero && touch -r "$tmp/kept" "$hurt"; }
replace() { cp -p "$hurt" "$harm/new" && mv "$harm/new" "$hurt"; }
into_link() { mv "$hurt" "$harm/moved" && ln -s moved "$hurt"; }
into_pipe() { rm "$hurt" && mkfifo "$hurt"; }
harmed "cut" cut_it
harmed "longer" lengthen
harmed "written to" zero
harmed "written to, with its old time" forge
harmed "replaced by an equal one" replace
harmed "removed" rm "$hurt"
harmed "now a link" into_link
harmed "now a pipe" into_pipe
# What happens before bitmaps/ is looked at for the first time: it is not there then, and no other is taken for it.
rm -rf "$harm"
cp -r "$pictures" "$harm"
if mount_dump "$bare" -o "pixels=none,pixels=$harm"; then
	rm "$hurt"
	is "removed before the first look: not shown" "$(verdict 0xb400007b3c00a010)" "none: native pixels: not in this dump"
	is "removed before the first look: counted" "$(value 'live pictures that cannot be read') $(live)" \
		"1 $((count - 1)), shown for bitmaps: $((count - 2))"
	unmount
fi

### am dumpbitmaps: a folder a process, joined by mId

ids=$tmp/dumpbitmaps
with_ids=$(sample bitmaps-35-without)
mkdir -p "$ids/pid-4821-com.example.app" "$ids/pid-911-system_server"
cp "$pictures/0xb400007b3c00a010.png" "$ids/pid-4821-com.example.app/bitmap-48211000001.png"
cp "$pictures/0xb400007b3c00a090.jpg" "$ids/pid-4821-com.example.app/bitmap-48213000002.jpg"
cp "$pictures/0xb400007b3c00a210.webp" "$ids/pid-4821-com.example.app/bitmap-48210000003.webp"	# of another size
cp "$pictures/0xb400007b3c00a210.webp" "$ids/pid-911-system_server/bitmap-9112000005.webp"	# of none
echo "id,width" >"$ids/dumpbitmaps.csv"
if mount_dump "$with_ids" -o "pixels=$ids"; then
	is "am dumpbitmaps: nothing is said" "$said$(warning)" ""
	is "am dumpbitmaps: counts" "$(sums); $(live)" "2 1 1 1; 4, shown for bitmaps: 2"
	check "am dumpbitmaps: the first one's bytes" cmp "$mnt/bitmaps/0xb400007b3c00a010.png" "$pictures/0xb400007b3c00a010.png"
	check "am dumpbitmaps: the second one's bytes" cmp "$mnt/bitmaps/0xb400007b3c00a090.jpg" "$pictures/0xb400007b3c00a090.jpg"
	is "am dumpbitmaps: refused" "$(names "$mnt/bitmaps/refused")" bitmap-48210000003-live-32x16.webp
	is "am dumpbitmaps: of no Bitmap" "$(names "$mnt/bitmaps/orphans")" bitmap-9112000005-live.webp
	check "am dumpbitmaps: its bytes" cmp "$mnt/bitmaps/orphans/bitmap-9112000005-live.webp" "$pictures/0xb400007b3c00a210.webp"
	true_tree "am dumpbitmaps"
	unmount
fi
if mount_dump "$with_ids" -o "pixels=$ids/pid-4821-com.example.app/"; then
	is "am dumpbitmaps, the folder of a process: counts" "$(sums); $(live)" "2 1 1 0; 3, shown for bitmaps: 2"
	unmount
fi
# Before API 35 a Bitmap has no mId.
if mount_dump "$bare" -o "pixels=$ids"; then
	has "mIds, and a dump without: said" "$said" "$none"
	is "mIds, and a dump without: counts" "$(sums); $(live)" "0 0 0 4; 4, shown for bitmaps: 0"
	unmount
fi

### Of which process

app=$(sample sample)	# of com.example.app; 0xb400007b3c00a410 is 300x200, and has none
here python3 "processes and traces" || { plan; exit 0; }
"$builddir/tests/mksample" pictures 1 300 "$tmp/square.hprof"
python3 - "$tmp/300x200.png" <<-'END'
	import struct, sys, zlib
	part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
	open(sys.argv[1], "wb").write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 300, 200, 8, 0, 0, 0, 0))
	    + part(b"IDAT", zlib.compress((b"\0" + bytes(range(200)) + bytes(100)) * 200)) + part(b"IEND", b""))
END
missing=0xb400007b3c00a410
if mount_dump "$app"; then
	id=$(sed -n 's/^mId: long = \([0-9]*\).*/\1/p' "$mnt"/instances/android.graphics.Bitmap/"$(awk -F '\t' -v p=$missing '$1 "" == p "" { print $2 }' "$mnt/bitmaps.tsv")".txt)
	unmount
fi
# A trace of pictures.
# trace NAME ITEM…
trace() {
	name=$1
	shift
	python3 "$srcdir/tests/live_trace.py" "$tmp/$name.pftrace" "$@"
}
# joined NAME PIXELS LIVE: the missing one is shown
joined() {
	mount_dump "$app" -o "pixels=$2" || return 0
	is "$1: nothing is said" "$said$(warning)" ""
	is "$1: it is the process's" "$(verdict $missing); $(live)" "live: ok; $3"
	check "$1: its bytes" cmp "$mnt/bitmaps/$missing.png" "$tmp/300x200.png"
	unmount
}
# others NAME PIXELS PART…: they are of other processes
others() {
	name=$1 pixels=$2
	shift 2
	mount_dump "$app" -o "pixels=$pixels" || return 0
	has "$name: said" "$said" "the pictures from elsewhere are of other processes than the dump (" ": was the application restarted?" "$@"
	has "$name: in info.txt" "$(warning)" "was the application restarted?" "$@"
	is "$name: no picture" "$(verdict $missing); $(live)" "none: native pixels: not among the dumped pictures; 0, shown for bitmaps: 0"
	unmount
}
one=picture=77=$missing.png=$tmp/300x200.png
two=picture=88=$missing.png=$pictures/0xb400007b3c00a010.png
trace alone "$one"
joined "a trace of one process" "$tmp/alone.pftrace" "1, shown for bitmaps: 1"
trace named process=77=com.example.app process=88=com.example.other "$two" "$one"
joined "a trace of two processes" "$tmp/named.pftrace" "1, shown for bitmaps: 1"
trace unnamed "$two" "$one"
others "a trace that does not say which is which" "$tmp/unnamed.pftrace" "(88, 77)"
trace other process=77=com.example.other "$one"
others "a trace of another process" "$tmp/other.pftrace" "(77 com.example.other)"
trace packed process=77=com.example.app compressed "$two" "$one"
joined "a trace with compressed packets" "$tmp/packed.pftrace" "1, shown for bitmaps: 1"
gzip -c "$tmp/named.pftrace" >"$tmp/named.pftrace.gz"
joined "a trace in gzip" "$tmp/named.pftrace.gz" "1, shown for bitmaps: 1"
trace by-id "picture=77=bitmap-$id.png=$tmp/300x200.png"
joined "a trace of names with mIds" "$tmp/by-id.pftrace" "1, shown for bitmaps: 1"
trace nameless "picture=77=photo.png=$tmp/300x200.png" "picture=77==$pictures/0xb400007b3c00a010.png"
if mount_dump "$app" -o "pixels=$tmp/nameless.pftrace"; then
	has "a trace of names that say nothing: said" "$said" "$none"
	is "a trace of names that say nothing: of no Bitmap" "$(names "$mnt/bitmaps/orphans" | tr ' ' '\n' | grep live | paste -sd ' ' -)" \
		"picture-live-0.png picture-live-1.png"
	check "a trace of names that say nothing: the first one" cmp "$mnt/bitmaps/orphans/picture-live-0.png" "$tmp/300x200.png"
	unmount
fi
mkdir -p "$tmp/apart/pid-77-com.example.app" "$tmp/apart/pid-88-com.example.other" "$tmp/apart/pid-99-com.example.app_remote"
cp "$tmp/300x200.png" "$tmp/apart/pid-77-com.example.app/bitmap-$id.png"
cp "$pictures/0xb400007b3c00a010.png" "$tmp/apart/pid-88-com.example.other/bitmap-$id.png"
joined "am dumpbitmaps of three processes" "$tmp/apart" "1, shown for bitmaps: 1"
others "am dumpbitmaps of another process" "$tmp/apart/pid-88-com.example.other" "(88 com.example.other)"

# A dump that has pictures of its own, packed, as another dump's pixels.
"$builddir/heapfs-pack" "$full" --bitmaps "$pictures" --pid 4821 -o "$tmp/full.pftrace"
if mount_dump "$bare" -o "pixels=$tmp/full.pftrace"; then
	is "a packed dump's pictures: counts" "$(sums); $(live)" "14 0 0 0; $count, shown for bitmaps: $((count - 1))"
	is "a packed dump's pictures: where from" "$(value 'live pictures from')" "$tmp/full.pftrace (Perfetto trace, $count pictures)"
	all_same "a packed dump's pictures" "$pictures"
	true_tree "a packed dump's pictures"
	unmount
fi
# A dump in a trace says its process's id.
"$builddir/heapfs-pack" "$bare" --pid 77 -o "$tmp/bare.pftrace"
if mount_dump "$tmp/bare.pftrace" -o "pixels=$tmp/full.pftrace"; then
	has "another process's id: said" "$said" "of other processes than the dump (4821): was the application restarted?"
	unmount
fi
# Of two dumps each takes its own, and of what does not say whose it is none does.
python3 - "$tmp/full.pftrace" "$tmp/bare.pftrace" "$tmp/both.pftrace" <<-'END'
	import sys
	open(sys.argv[3], "wb").write(open(sys.argv[2], "rb").read() + open(sys.argv[1], "rb").read())
END
trace for-77 "picture=77=0xb400007b3c00a010.png=$pictures/0xb400007b3c00a010.png"
if mount_dump "$tmp/both.pftrace" -o "pixels=$tmp/for-77.pftrace,pixels=$pictures"; then
	is "two dumps: the first one's" "$(names "$mnt/dump-1-pid77/bitmaps")" 0xb400007b3c00a010.png
	is "two dumps: not used" "$(sed -n 's/^live pictures of other processes, and not used: //p' "$mnt"/dump-*/info.txt | paste -sd ' ' -)" \
		"$count $((count + 1))"
	unmount
fi

### A trace that is written to, cut or removed while mounted

# traced NAME ERROR COMMAND…
traced() {
	what=$1 reads=$2
	shift 2
	cp "$tmp/named.pftrace" "$tmp/live.pftrace"
	mount_dump "$app" -o "pixels=$tmp/live.pftrace" || return 0
	is "$what: it is there" "$(names "$mnt/bitmaps" | tr ' ' '\n' | grep -c a410)" 1
	"$@"
	if [ "$reads" = yes ]; then
		check "$what: it can be read" cmp "$mnt/bitmaps/$missing.png" "$tmp/300x200.png"
	else
		check "$what: it cannot be read any more" unread "$mnt/bitmaps/$missing.png"
	fi
	check "$what: the dump can" cmp "$mnt/raw.hprof" "$app"
	check "$what: its own pictures can" cat "$mnt/bitmaps/0xb400007b3c00a110.png"
	unmount
}
traced "a trace that is cut" no truncate -s 200 "$tmp/live.pftrace"
traced "a trace that is emptied" no truncate -s 0 "$tmp/live.pftrace"
traced "a trace that is written to" no sh -c "echo more >>'$tmp/live.pftrace'"
traced "a trace that is removed" yes rm "$tmp/live.pftrace"
cp "$tmp/packed.pftrace" "$tmp/live.pftrace"
if mount_dump "$app" -o "pixels=$tmp/live.pftrace"; then
	ls -l "$mnt/bitmaps" >/dev/null
	truncate -s 100 "$tmp/live.pftrace"
	check "a trace of compressed packets that is cut: it cannot be read any more" unread "$mnt/bitmaps/$missing.png"
	check "a trace of compressed packets that is cut: the dump can" cmp "$mnt/raw.hprof" "$app"
	unmount
fi

### What cannot be used is refused before anything is mounted, and named

# unusable NAME PATH PART…
unusable() {
	name=$1 pixels=$2
	shift 2
	run timeout 20 "$heapfs" -o "pixels=$pixels" "$bare" "$mnt"
	is "$name: status" "$rc" 1
	has "$name: message" "$said" "$@"
	! is_mounted || unmount
}
mkdir "$tmp/empty"
mkfifo "$tmp/pipe"
echo text >"$tmp/text"
printf 'PK\003\004 and more of a zip archive' >"$tmp/zip"
: >"$tmp/nothing"
unusable "nothing there" "$tmp/not-there" "heapfs: pixels=$tmp/not-there: cannot open: No such file or directory"
unusable "an empty folder" "$tmp/empty" "heapfs: pixels=$tmp/empty: no picture is named after" "0x7b3c00aa10.png" "pid-4821-com.example.app/bitmap-"
unusable "a pipe" "$tmp/pipe" "$tmp/pipe: a device, pipe or socket, not a file"
unusable "an empty file" "$tmp/nothing" "$tmp/nothing: the file is empty"
unusable "a text" "$tmp/text" "$tmp/text: not a trace, nor a folder, of pictures; it is"
unusable "a zip archive" "$tmp/zip" "not a trace, nor a folder, of pictures; it is a zip archive" "unpack it first (unzip)"
unusable "a heap dump" "$full" "$full: a heap dump; a trace or a folder of pictures is wanted"
unusable "a trace without pictures" "$tmp/bare.pftrace" "a Perfetto trace without pictures (HprofBitmap packets)"
gzip -c "$tmp/text" >"$tmp/text.gz"
unusable "a text in gzip" "$tmp/text.gz" "not a trace, nor a folder, of pictures; it is gzip-compressed, and what is in it is"
"$builddir/tests/mksample" loli 100 "$tmp/profile.loli"
run "$heapfs" -o "pixels=$pictures" "$tmp/profile.loli" "$mnt"
is "a native profile has none" "$rc $said" "1 heapfs: $tmp/profile.loli: pixels= is for heap dumps, and this is a native profile"

### Many

many=$tmp/many
mkdir "$many"
(cd "$many" && seq 1 3000 | xargs printf '0x%x.png\n' | xargs touch)
cp "$pictures/0xb400007b3c00a010.png" "$many"
if mount_dump "$bare" -o "pixels=none,pixels=$many" -o readdirplus=no; then
	is "3,001 pictures in a folder" "$(timeout 60 ls -l "$mnt/bitmaps/orphans" | grep -c live.bin) $(live)" "3000 3001, shown for bitmaps: 1"
	unmount
fi
trace many many=77=60000
if mount_dump "$bare" -o "pixels=none,pixels=$pictures,pixels=$tmp/many.pftrace,pixels=$tmp/many.pftrace"; then
	has "120,000 pictures: said" "$said" "more pictures than can be shown: $tmp/many.pftrace ($((20000 + count)) times)"
	is "120,000 pictures: as many as can be are used" "$(live)" "100000, shown for bitmaps: $((count - 1))"
	is "120,000 pictures: of one name, each has its own" "$(find "$mnt/bitmaps/orphans" -type f | wc -l)" $((100000 - count))
	check "120,000 pictures: the last one is found by its name" test -s "$mnt/bitmaps/orphans/0x1-live-99999.jpg"
	unmount
fi

plan
