#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What dumps come in: gzip, Perfetto traces, both at once; what is lost is named; what is no dump is named too.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

mkdir "$tmp/spill" "$tmp/gz" "$tmp/tr"
TMPDIR=$tmp/spill
export TMPDIR
empty() { [ -z "$(find "$1" -mindepth 1)" ]; }
same() { cmp "$1" "$2"; }
# no_half FILE [whole]: nothing is left beside a file that -o unpacked= keeps; with `whole` that neither
no_half() {
	for left in "$1".*; do
		[ ! -e "$left" ] || return 1
	done
	[ -z "${2:-}" ] || [ ! -e "$1" ]
}

# whole NAME FILE TRUTH CONTAINER [OPTION…]: mounts without a warning, and holds these bytes.
whole() {
	name=$1 file=$2 truth=$3 container=$4
	shift 4
	mount_dump "$file" "$@" || return 0
	is "$name: nothing is said" "$said$(value warnings)" 0
	is "$name: container" "$(value container)" "$container"
	check "$name: raw.hprof" same "$mnt/raw.hprof" "$truth"
	check "$name: no file is left in the folder while mounted" empty "$TMPDIR"
	unmount
}

# lossy NAME FILE TRUTH PART…: mounts, holds these bytes, says what is lost there and in info.txt; --strict refuses.
lossy() {
	name=$1 file=$2 truth=$3
	shift 3
	mount_dump "$file" || return 0
	has "$name: said" "$said" "heapfs: $file: " "$@"
	has "$name: in info.txt" "$(grep '^warning: ' "$mnt/info.txt")" "$@"
	is "$name: as many warnings as lines" "$(value warnings)" "$(grep -c '^warning: ' "$mnt/info.txt")"
	[ -z "$truth" ] || check "$name: raw.hprof" same "$mnt/raw.hprof" "$truth"
	unmount
	run "$heapfs" --strict "$file" "$mnt"
	is "$name: --strict refuses it" "$rc" 1
	! is_mounted || unmount
}

# no_dump NAME FILE PART…: is not mounted, and the message has all parts.
no_dump() {
	name=$1 file=$2
	shift 2
	run "$heapfs" "$file" "$mnt"
	is "$name: status 1" "$rc" 1
	has "$name: message" "$said" "heapfs: $file: " "$@"
	! is_mounted || unmount
}

### Every file of the corpus that is a container: status, bytes of each dump, their MD5, the message. The payload of
### the traces is jvm/hprof-32.bin; of it those with a hole have zeros there.

table() {
	cat <<-'END'
	perfetto/hprof_dump/chunked_32k.pftrace|0|282310|4215279e2d61b2d64608004bccc236ba|
	perfetto/hprof_dump/collision_gpu_freq_129.pftrace|1|||a Perfetto trace without a heap dump; adb shell am dumpheap makes one
	perfetto/hprof_dump/compressed_packets.pftrace|0|282310|4215279e2d61b2d64608004bccc236ba|
	perfetto/hprof_dump/missing_chunk_3.pftrace|0|282310|c60aae9ce9f0b580816d445dcfc03541|chunks of the dump are missing: chunk 3, bytes 98304 to 131071, where zeros stand now
	perfetto/hprof_dump/no_chunk_metadata.pftrace|0|282310|4215279e2d61b2d64608004bccc236ba|
	perfetto/hprof_dump/no_last_chunk.pftrace|0|282310|4215279e2d61b2d64608004bccc236ba|no chunk is marked as the last: the dump may lack its end
	perfetto/hprof_dump/previous_packet_dropped.pftrace|0|282310|c60aae9ce9f0b580816d445dcfc03541|chunks of the dump are missing: chunk 3, bytes 98304 to 131071, where zeros stand now
	perfetto/hprof_dump/single_packet.pftrace|0|282310|4215279e2d61b2d64608004bccc236ba|
	perfetto/hprof_dump/truncated_mid_packet.pftrace|0|188210|b6b7e05b5e296d603d5da49925756272|the trace is cut inside a packet (at byte 163970)
	perfetto/hprof_dump/two_pids_interleaved.pftrace|0|282310 282310|4215279e2d61b2d64608004bccc236ba 4215279e2d61b2d64608004bccc236ba|
	perfetto/hprof_dump/whole_file_gzip.pftrace.gz|0|282310|4215279e2d61b2d64608004bccc236ba|
	perfetto/no_heap/api32_startup_warm.perfetto-trace|1|||a Perfetto trace without a heap dump; adb shell am dumpheap makes one
	perfetto/no_heap/native-heap_after.pftrace|1|||a Perfetto trace without a heap dump; adb shell am dumpheap makes one
	generated/tiny-17-sa.hprof.gz|0|4914188|db2a37f87609f2d13ad425d9da8e103f|
	generated/tiny-17.hprof.gz|0|6575634|14fb93ae634bfa94a1142cdf36781021|
	generated/tiny-25.par2.hprof.gz|0|7413219|d33b1a0d4c071990a13486dec0d0702d|
	jvm/openjdk_jdk11_04_x64.hprof.gz|0|14080024|3ab4aeaa3d06d6776592097384d0bc78|
	END
}

raws() { find "$mnt" -maxdepth 2 -name raw.hprof | sort; }

row() {
	if [ ! -e "$corpus/$file" ]; then
		skip "$file" "it is not there"
		return 0
	fi
	run "$heapfs" "$corpus/$file" "$mnt"
	is "$file: status" "$rc" "$status"
	if [ -n "$message" ]; then
		has "$file: message" "$said" "heapfs: $corpus/$file: $message"
	else
		is "$file: nothing is said" "$said" ""
	fi
	is_mounted || return 0
	is "$file: bytes" "$(raws | xargs stat -c %s | paste -sd ' ' -)" "$bytes"
	is "$file: MD5" "$(raws | xargs md5sum | cut -d ' ' -f 1 | paste -sd ' ' -)" "$md5"
	case $file in
	*.hprof.gz)
		gzip -dc "$corpus/$file" >"$tmp/truth"
		check "$file: as gzip unpacks it" same "$mnt/raw.hprof" "$tmp/truth"
		;;
	*)
		is "$file: only zeros differ from the payload, or it is cut" \
			"$(raws | xargs -I {} cmp -l {} "$corpus/jvm/hprof-32.bin" 2>/dev/null | awk '$2 != 0' | wc -l)" 0
		;;
	esac
	unmount
}

if [ -d "$corpus/perfetto" ]; then
	table >"$tmp/table"
	while IFS='|' read -r file status bytes md5 message; do
		row
	done <"$tmp/table"
	is "every container of the corpus is in the table" \
		"$(cd "$corpus" && find perfetto/hprof_dump perfetto/no_heap generated/*.gz jvm/*.gz -type f | sort)" \
		"$(cut -d '|' -f 1 "$tmp/table" | sort)"
else
	skip "the containers of the corpus" "no $corpus/perfetto"
fi

### gzip of every shape

dump=$(sample sample)
here python3 "gzip files" || { plan; exit 0; }
python3 "$srcdir/tests/gzips.py" "$dump" "$tmp/gz" || fail "gzip files can be made"
gz=$tmp/gz
truth_of() { if [ -e "${1%.gz}.truth" ]; then echo "${1%.gz}.truth"; else echo "$dump"; fi; }

while read -r name container; do
	whole "$name" "$gz/$name" "$dump" "$container"
done <<END
one.gz gzip, 1 member
stored.gz gzip, 1 member
many.gz gzip, 12 members
jvm.gz gzip, 18 members
jvm-comments.gz gzip, 18 members
jvm-tiny.gz gzip, 508 members
jvm-one.gz gzip, 1 member
jvm-stored.gz gzip, 17 members
jvm-twice.gz gzip, 5 members, gzip, 18 members
jvm-empty-members.gz gzip, 22 members
jvm-zeros.gz gzip, 18 members
twice.gz gzip, 1 member, gzip, 1 member
eight.gz $(printf 'gzip, 1 member, %.0s' 1 2 3 4 5 6 7)gzip, 1 member
lies.hprof gzip, 1 member
lies.gz plain file
name.gz gzip, 1 member
extra.gz gzip, 1 member
empty-members.gz gzip, 18 members
one-zeros.gz gzip, 1 member
many-zeros.gz gzip, 12 members
END
no_dump "gzip nine times" "$gz/nine.gz" "compressed with gzip too many times over"
for name in one many jvm; do
	size=$(stat -c %s "$gz/$name.gz")
	lossy "$name-junk.gz" "$gz/$name-junk.gz" "$dump" "bytes behind the end of the gzip data (at byte $size, 15 bytes not shown)"
done
# Larger than any of the JVM's, among them; and what looks like the beginning of a member inside one.
for name in jvm-large jvm-inside; do
	if mount_dump "$gz/$name.gz"; then
		lacks "$name.gz: no word of gzip" "$said" gzip
		check "$name.gz: raw.hprof" same "$mnt/raw.hprof" "$gz/$name.truth"
		unmount
	fi
done

### Damage inside a member costs that member

for name in damaged-magic damaged-flags damaged-twice; do
	lossy "$name" "$gz/$name.gz" "$gz/$name.truth" "the gzip data is damaged" "zeros stand for what damaged gzip members held"
done
for name in damaged-crc damaged-first damaged-last; do
	lossy "$name" "$gz/$name.gz" "$dump" "the gzip data is damaged: incorrect data check (at byte "
done
for name in damaged-length damaged-length-high; do
	lossy "$name" "$gz/$name.gz" "$dump" "the gzip data is damaged: incorrect length check (at byte "
done
lossy damaged-data "$gz/damaged-data.gz" "" "the gzip data is damaged" "at byte "
if mount_dump "$gz/damaged-data.gz"; then
	is "damaged-data: its size" "$(stat -c %s "$mnt/raw.hprof")" "$(stat -c %s "$dump")"
	is "damaged-data: what is wrong is in that member" \
		"$(cmp -l "$mnt/raw.hprof" "$dump" | awk '$1 <= 100000 || $1 > 120000 { out++ } END { print (NR > 0), out + 0 }')" "1 0"
	unmount
fi

# Cut anywhere: what came out of it is the beginning of the dump, and it is said.
for name in one many jvm; do
	size=$(stat -c %s "$gz/$name.gz")
	lost=0
	for percent in 1 3 10 30 50 70 90 97 99; do
		for less in 0 1; do
			head -c $((size * percent / 100 - less)) "$gz/$name.gz" >"$tmp/cut.gz"
			mount_dump "$tmp/cut.gz" || continue
			got=$(stat -c %s "$mnt/raw.hprof")
			cmp -s -n "$got" "$mnt/raw.hprof" "$dump" && [ "$got" -lt "$(stat -c %s "$dump")" ] || lost=$((lost + 1))
			case $said in
			*"the gzip data is cut (at byte $((size * percent / 100 - less)))"*) ;;
			*) lost=$((lost + 1)) ;;
			esac
			unmount
		done
	done
	is "$name.gz, cut in 18 places: the beginning is mounted, and it is said" "$lost" 0
done
for less in 1 4 8 9; do
	head -c $(($(stat -c %s "$gz/jvm.gz") - less)) "$gz/jvm.gz" >"$tmp/cut.gz"
	lossy "jvm.gz cut by $less bytes" "$tmp/cut.gz" "" "the gzip data is cut"
done
head -c 12 "$gz/one.gz" >"$tmp/cut.gz"
no_dump "gzip, cut behind its header" "$tmp/cut.gz" "gzip-compressed, but nothing can be unpacked from it; copy it again"

### What is no dump: named, and what to do

while IFS='|' read -r name what todo; do
	no_dump "$name" "$gz/$name.bin" "not a heap dump; it is $what" "$todo"
	no_dump "$name in gzip" "$gz/$name.bin.gz" "not a heap dump; it is gzip-compressed, and what is in it is $what" "$todo"
done <<'END'
zip|a zip archive|unpack it first (unzip)
zstd|zstd-compressed|unpack it first (unzstd)
bzip2|bzip2-compressed|unpack it first (bunzip2)
xz|xz-compressed|unpack it first (unxz)
7z|a 7z archive|unpack it first
lz4|lz4-compressed|unpack it first (unlz4)
tar|a tar archive|unpack it first (tar xf)
text|text|a heap dump is binary and begins with "JAVA PROFILE 1.0"
newlines|text|a heap dump is binary
utf-8|text|a heap dump is binary
byte|text|a heap dump is binary
zeros|nothing but zero bytes|the dump was not written, or the copy failed
phd|an OpenJ9 portable heap dump (PHD)|can export it as HPROF
javacore|an OpenJ9 javacore|take a heap dump
elf|an ELF file|jhsdb jmap --binaryheap
noise|of an unknown kind|is it encrypted, or cut at its front?
agent-text|the text format of the old hprof agent|format=b
version|an HPROF file of an unknown version|heapfs reads 1.0.1, 1.0.2 and 1.0.3
cut-word|the beginning of an HPROF file, cut inside its header|take or copy the dump again
END
for name in cut-magic cut-version cut-header; do
	no_dump "$name" "$gz/$name.bin" "the file ends inside the HPROF header" "take the dump again"
	no_dump "$name in gzip" "$gz/$name.bin.gz" "the file ends inside the HPROF header" "take the dump again"
done
no_dump "an empty file" "$gz/empty.bin" "the file is empty (0 bytes)"
no_dump "an empty file in gzip" "$gz/empty.bin.gz" "nothing can be unpacked from it"
for name in gzip-header gzip-magic; do
	no_dump "$name" "$gz/$name.bin" "gzip-compressed, but nothing can be unpacked from it; copy it again"
done

### Where it is unpacked to

whole "-o tmpdir=" "$gz/one.gz" "$dump" "gzip, 1 member" -o "tmpdir=$tmp/gz"
check "-o tmpdir=: nothing is left there" test -z "$(find "$gz" -name 'heapfs*')"
run "$heapfs" -o "tmpdir=$tmp/missing" "$gz/one.gz" "$mnt"
is "-o tmpdir= of a missing folder: status 1" "$rc" 1
has "-o tmpdir= of a missing folder: message" "$said" "heapfs: $gz/one.gz: cannot unpack to $tmp/missing: No such file" "-o tmpdir=DIR"
run env TMPDIR="$tmp/missing" "$heapfs" "$gz/one.gz" "$mnt"
has "a missing \$TMPDIR: message" "$rc $said" "1 heapfs: $gz/one.gz: cannot unpack to $tmp/missing: " "-o tmpdir=DIR"
run "$heapfs" -o "tmpdir=$dump" "$gz/one.gz" "$mnt"
has "-o tmpdir= of a file: message" "$rc $said" "1 heapfs: $gz/one.gz: cannot unpack to $dump: Not a directory"
# An empty one counts as none.
run env TMPDIR= "$heapfs" "$gz/one.gz" "$mnt"
case $said in
*"/var/tmp, which is in memory"*) skip "\$TMPDIR= is /var/tmp" "it is in memory" ;;
*) is "\$TMPDIR= is /var/tmp" "$rc$said" 0 ;;
esac
! is_mounted || unmount

deleted() { # files without a name that the server of $mnt has open in a folder
	for server in /proc/[0-9]*; do
		[ "$(readlink "$server/exe")" = "$(readlink -f "$heapfs")" ] || continue
		tr '\0' '\n' <"$server/cmdline" | grep -qxF "$mnt" || continue
		find "$server/fd" -type l -printf '%l\n' | grep -cF "$1/"
	done
}
if mount_dump "$gz/one.gz"; then
	is "the unpacked file is in \$TMPDIR, without a name" "$(deleted "$TMPDIR") $(find "$TMPDIR" -type f | wc -l)" "1 0"
	unmount
fi
if mount_dump "$gz/one.gz" -o "tmpdir=$gz"; then
	is "-o tmpdir= comes before \$TMPDIR" "$(deleted "$gz") $(deleted "$TMPDIR")" "1 0"
	unmount
fi

unused() { [ "$(df --output=used "$1" | tail -n 1)" -eq 0 ]; }
if [ "$(id -u)" -ne 0 ]; then
	skip "a disk that is too small" "needs root"
else
	mkdir "$tmp/small"
	mount -t tmpfs -o size=300k tmpfs "$tmp/small"
	for name in one many jvm; do
		if mount_dump "$gz/$name.gz" -o "tmpdir=$tmp/small"; then
			got=$(stat -c %s "$mnt/raw.hprof")
			has "$name.gz, disk too small: said" "$said" "there is no room to unpack the rest: $tmp/small took $got bytes"
			has "$name.gz, disk too small: in info.txt" "$(cat "$mnt/info.txt")" "warning: there is no room to unpack the rest"
			check "$name.gz, disk too small: what fits is mounted" cmp -n "$got" "$mnt/raw.hprof" "$dump"
			check "$name.gz, disk too small: a good part fits" [ "$got" -gt 150000 -a "$got" -lt 307200 ]
			check "$name.gz, disk too small: a little is left to others" dd if=/dev/zero of="$tmp/small/other" bs=1k count=4
			rm -f "$tmp/small/other"
			check "$name.gz, disk too small: no file while mounted" empty "$tmp/small"
			unmount
		fi
		# The server ends a moment after unmounting.
		check "$name.gz, disk too small: nothing is left" until_true unused "$tmp/small"
	done
	has "too small: it is said before" "$("$heapfs" -o "tmpdir=$tmp/small" "$gz/one.gz" "$mnt" 2>&1)" \
		"unpacks to about 0 MB, and $tmp/small has room for 0 MB; what fits will be mounted; -o tmpdir=DIR"
	! is_mounted || unmount
	run "$heapfs" --strict -o "tmpdir=$tmp/small" "$gz/one.gz" "$mnt"
	is "too small: --strict refuses" "$rc" 1
	run "$heapfs" -o "tmpdir=$tmp/small,unpacked=$tmp/small/kept" "$gz/one.gz" "$mnt"
	is "too small: mounted, with -o unpacked= too" "$rc" 0
	check "too small: but not kept" empty "$tmp/small"
	! is_mounted || unmount
	dd if=/dev/zero of="$tmp/small/full" bs=1k 2>/dev/null || :
	run "$heapfs" -o "tmpdir=$tmp/small" "$gz/one.gz" "$mnt"
	has "a full disk: message" "$rc $said" "1 heapfs: $gz/one.gz: " "no room to unpack any of it; -o tmpdir=DIR names another folder"
	! is_mounted || unmount
	umount "$tmp/small"
fi

### -o unpacked=: kept, and used again while it matches

kept=$tmp/kept.hprof
whole "unpacked" "$gz/one.gz" "$dump" "gzip, 1 member" -o "unpacked=$kept"
check "unpacked: it is kept" same "$kept" "$dump"
is "unpacked: with the time of the gzip file" "$(stat -c %y "$kept")" "$(stat -c %y "$gz/one.gz")"
is "unpacked: for nobody else to read" "$(stat -c %a "$kept")" 600
check "unpacked: no half file" no_half "$kept"
before=$(stat -c '%i %Z' "$kept")
whole "unpacked, again" "$gz/one.gz" "$dump" "gzip, unpacked before" -o "unpacked=$kept"
is "unpacked, again: not written to" "$(stat -c '%i %Z' "$kept")" "$before"
whole "unpacked, without the option" "$gz/one.gz" "$dump" "gzip, 1 member"
touch "$kept"
whole "unpacked, touched" "$gz/one.gz" "$dump" "gzip, 1 member" -o "unpacked=$kept"
whole "unpacked, touched: then kept anew" "$gz/one.gz" "$dump" "gzip, unpacked before" -o "unpacked=$kept"
printf X | dd of="$kept" bs=1 seek=20 conv=notrunc 2>/dev/null
touch -r "$gz/one.gz" "$kept"
whole "unpacked, its beginning changed" "$gz/one.gz" "$dump" "gzip, 1 member" -o "unpacked=$kept"
truncate -s -1 "$kept"
touch -r "$gz/one.gz" "$kept"
whole "unpacked, cut" "$gz/one.gz" "$dump" "gzip, 1 member" -o "unpacked=$kept"
cp "$gz/one.gz" "$gz/newer.gz"
touch -d '1 hour ago' "$gz/newer.gz"
whole "unpacked, for another time of the gzip file" "$gz/newer.gz" "$dump" "gzip, 1 member" -o "unpacked=$kept"
: >"$kept"
whole "unpacked, an empty file" "$gz/one.gz" "$dump" "gzip, 1 member" -o "unpacked=$kept"
for name in many jvm twice jvm-twice; do
	rm "$kept"
	run "$heapfs" -o "unpacked=$kept" "$gz/$name.gz" "$mnt" && unmount
	mount_dump "$gz/$name.gz" -o "unpacked=$kept" || continue
	has "unpacked, of $name.gz: used again" "$(value container)" "gzip, unpacked before"
	check "unpacked, of $name.gz: raw.hprof" same "$mnt/raw.hprof" "$dump"
	unmount
done
rm "$kept"
head -c 50000 "$gz/one.gz" >"$tmp/cut.gz"
for file in "$tmp/cut.gz" "$gz/damaged-crc.gz"; do
	check "unpacked, ${file##*/}: mounted" mount_dump "$file" -o "unpacked=$kept"
	check "unpacked, ${file##*/}: what is not whole is not kept" no_half "$kept" whole
	! is_mounted || unmount
done
mkfifo "$tmp/pipe"
refused "unpacked: a pipe is not written to, and does not block" "it is not written over" \
	timeout 20 "$heapfs" -o "unpacked=$tmp/pipe" "$gz/one.gz" "$mnt"
echo "my notes" >"$tmp/notes"
for other in "$tmp/notes" "$gz/one.gz" "$gz/zip.bin"; do
	cp "$other" "$tmp/other"
	run "$heapfs" -o "unpacked=$tmp/other" "$gz/one.gz" "$mnt"
	has "unpacked, over ${other##*/}: refused" "$rc $said" "1 heapfs: $tmp/other: is there, and no heap dump; it is not written over"
	check "unpacked, over ${other##*/}: it is as it was" same "$tmp/other" "$other"
	! is_mounted || unmount
done
run "$heapfs" -o "unpacked=$gz/one.gz" "$gz/one.gz" "$mnt"
is "unpacked, over the gzip file itself: refused" "$rc" 1
check "unpacked, over the gzip file itself: it is as it was" gzip -t "$gz/one.gz"
! is_mounted || unmount
run "$heapfs" -o "unpacked=$tmp" "$gz/one.gz" "$mnt"
has "unpacked, a folder: refused" "$rc $said" "1 heapfs: $tmp: "
run "$heapfs" -o "unpacked=$tmp/missing/kept" "$gz/one.gz" "$mnt"
has "unpacked, in a missing folder: refused" "$rc $said" "1 heapfs: " "$tmp/missing/kept" "No such file"

# Nothing of this touches a plain file.
whole "plain file" "$dump" "$dump" "plain file" -o "tmpdir=$tmp/missing,unpacked=$tmp/never,pid=7"
check "plain file: nothing is kept" test ! -e "$tmp/never"

### Traces

here protoc "Perfetto traces that protoc encodes" || { plan; exit 0; }
a=$(sample jdk8) b=$(sample jdk6) android=$(sample bitmaps-28) tr=$tmp/tr
python3 "$srcdir/tests/traces.py" "$srcdir" "$a" "$b" "$android" "$tr" || fail "traces can be made"

for name in ordered one older shuffled backwards empty-last compressed compressed-shuffled dropped-first gpu-beside; do
	whole "$name" "$tr/$name.pftrace" "$a" "Perfetto trace"
done
gzip -c "$tr/shuffled.pftrace" >"$tmp/trace.gz"
whole "a trace in gzip" "$tmp/trace.gz" "$a" "gzip, 1 member, Perfetto trace"
gzip -c "$tmp/trace.gz" >"$tmp/trace.gz.gz"
whole "a trace in gzip in gzip" "$tmp/trace.gz.gz" "$a" "gzip, 1 member, gzip, 1 member, Perfetto trace"
whole "a trace in gzip, kept" "$tmp/trace.gz" "$a" "gzip, 1 member, Perfetto trace" -o "unpacked=$tmp/kept-trace"
check "a trace in gzip, kept: it is the trace" same "$tmp/kept-trace" "$tr/shuffled.pftrace"
whole "a trace in gzip, used again" "$tmp/trace.gz" "$a" "gzip, unpacked before, Perfetto trace" -o "unpacked=$tmp/kept-trace"

missing="chunks of the dump are missing"
no_dump no-first "$tr/no-first.pftrace" "a Perfetto trace with a heap dump whose beginning is missing"
lossy no-middle "$tr/no-middle.pftrace" "$tr/no-middle.1" \
	"$missing: chunks 2 to 3, bytes 2000 to 3999, where zeros stand now (at byte 2000, 2000 bytes not shown)"
lossy no-two "$tr/no-two.pftrace" "$tr/no-two.1" "$missing: chunk 1, bytes 1000 to 1999; chunk 4, bytes 4000 to 4999, where zeros stand now (at byte 1000, 2000 bytes"
lossy no-last "$tr/no-last.pftrace" "$tr/no-last.1" "no chunk is marked as the last" "(at byte 6000)"
lossy uneven "$tr/uneven.pftrace" "$tr/uneven.1" "$missing: chunk 2, of unknown size (at byte 2000)"
lossy twice "$tr/twice.pftrace" "$a" "chunks that are there twice" "1000 bytes not shown"
lossy dropped "$tr/dropped.pftrace" "$tr/dropped.1" "packets were lost before this one" "process 10"
lossy headless "$tr/headless.pftrace" "$a" "dumps without their beginning, which cannot be shown: process 30 (600 bytes not shown)"
lossy zstd-beside "$tr/zstd-beside.pftrace" "$a" "zstd-compressed packets cannot be read: 2 packets"
lossy damaged-zlib "$tr/damaged-zlib.pftrace" "" "compressed packets that cannot be inflated whole" "a chunk of the dump lacks its end"
lossy cut "$tr/cut.pftrace" "" "the trace is cut inside a packet"
if mount_dump "$tr/damaged-zlib.pftrace"; then
	is "damaged-zlib: its size" "$(stat -c %s "$mnt/raw.hprof")" "$(stat -c %s "$a")"
	is "damaged-zlib: only bytes of its chunk are wrong" \
		"$(cmp -l "$mnt/raw.hprof" "$a" | awk '$1 <= 1000 || $1 > 2000 { out++ } END { print (NR > 0), out + 0 }')" "1 0"
	unmount
fi
no_dump gpu "$tr/gpu.pftrace" "a Perfetto trace without a heap dump; adb shell am dumpheap makes one"
no_dump zstd "$tr/zstd.pftrace" "a Perfetto trace with zstd-compressed packets, which heapfs cannot read"

# Cut anywhere: the beginning of the dump, or a message.
size=$(stat -c %s "$tr/ordered.pftrace") bad=0 mounts=0
for length in 1 2 3 10 40 60 100 500 1000 1019 1020 1021 1022 1500 2043 3000 5000 6000 $((size - 300)) $((size - 5)) $((size - 1)); do
	head -c "$length" "$tr/ordered.pftrace" >"$tmp/short.pftrace"
	run "$heapfs" "$tmp/short.pftrace" "$mnt"
	good=no
	if is_mounted; then
		mounts=$((mounts + 1))
		! cmp -s -n "$(stat -c %s "$mnt/raw.hprof")" "$mnt/raw.hprof" "$a" || good=$said
		unmount
	elif [ "$rc" -eq 1 ]; then
		good=$said
	fi
	case $good in
	no | "")
		bad=$((bad + 1))
		diag "cut to $length: $rc $said"
		;;
	esac
done
is "a trace cut in 21 places: its beginning, or a message" "$bad" 0
check "a trace cut in 21 places: most are mounted" [ "$mounts" -gt 12 ]

### Several dumps in a trace

two() { # NAME FOLDER TRUTH FOLDER TRUTH
	name=$1
	mount_dump "$tr/$name.pftrace" || return 0
	is "$name: folders" "$(find "$mnt" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort | paste -sd ' ' -)" "$2 $4"
	is "$name: files" "$(find "$mnt" -mindepth 1 -maxdepth 1 -type f -printf '%f\n' | sort | paste -sd ' ' -)" "README.txt info.txt"
	check "$name: $2" same "$mnt/$2/raw.hprof" "$3"
	check "$name: $4" same "$mnt/$4/raw.hprof" "$5"
	is "$name: nothing is said" "$said$(value warnings | sort -u)" 0
	check "$name: treecheck" "$builddir/tests/treecheck" "$mnt"
	unmount
}
two interleaved dump-1-pid10 "$a" dump-2-pid20 "$b"
two again dump-1-pid10 "$a" dump-2-pid10 "$b"
two again-older dump-1-pid10 "$a" dump-2-pid10 "$b"
two sequences dump-1-pid10 "$a" dump-2-pid10 "$b"
if mount_dump "$tr/graph-beside.pftrace"; then
	is "a heap graph beside a dump: a folder each" "$(find "$mnt" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort | paste -sd ' ' -)" \
		"dump-1-pid10 dump-2-pid11"
	check "a heap graph beside a dump: the dump" same "$mnt/dump-1-pid10/raw.hprof" "$a"
	unmount
fi
whole "a heap graph beside a dump: -o pid=10" "$tr/graph-beside.pftrace" "$a" "Perfetto trace" -o pid=10
if mount_dump "$tr/named-both.pftrace"; then
	is "named-both: the first one's name" "$(value 'process in the trace' "$mnt/dump-1-pid10/info.txt")" com.example.first
	is "named-both: the second one's name" "$(value 'process in the trace' "$mnt/dump-2-pid20/info.txt")" 'com.example.ä\n'
	is "named-both: both in info.txt" "$(value 'process in the trace' | wc -l)" 2
	unmount
fi
if mount_dump "$tr/named.pftrace"; then
	is "named: the process's id and name" "$(value 'process id') $(value 'process in the trace')" "10 com.example.first"
	unmount
fi
whole "-o pid=20" "$tr/interleaved.pftrace" "$b" "Perfetto trace" -o pid=20
whole "-o pid=10" "$tr/interleaved.pftrace" "$a" "Perfetto trace" -o pid=10
run "$heapfs" -o pid=30 "$tr/interleaved.pftrace" "$mnt"
has "-o pid=30: there is none" "$rc $said" "1 heapfs: $tr/interleaved.pftrace: a Perfetto trace without a heap dump of that process"
if mount_dump "$tr/again.pftrace" -o pid=10; then
	is "-o pid=10, dumped twice" "$(find "$mnt" -mindepth 1 -maxdepth 1 -type d | wc -l)" 2
	unmount
fi
whole "-o dump=2" "$tr/interleaved.pftrace" "$b" "Perfetto trace" -o dump=2
for value in x -1 4294967296; do
	run "$heapfs" -o "pid=$value" "$tr/interleaved.pftrace" "$mnt"
	has "-o pid=$value: usage" "$rc $said" "2 heapfs: pid=$value: must be a number"
done

### Pictures in a trace

names() { find "$1" -mindepth 1 -maxdepth 1 -type f -printf '%f\n' | sort; }
for name in pictures pictures-first pictures-compressed; do
	mount_dump "$tr/$name.pftrace" || continue
	check "$name: raw.hprof" same "$mnt/raw.hprof" "$android"
	is "$name: those of a pointer are their Bitmap's" "$(names "$mnt/bitmaps" | grep -v ac90 | paste -sd ' ' -)" \
		"0xb400007b3c00a010.png 0xb400007b3c00a090.png"
	check "$name: the first one's bytes" same "$mnt/bitmaps/0xb400007b3c00a010.png" "$tr/20x10.png"
	check "$name: the second one's bytes" same "$mnt/bitmaps/0xb400007b3c00a090.png" "$tr/24x16.png"
	check "$name: the object leads there" same "$mnt/bitmaps/objects/0xb400007b3c00a010/bitmap.png" "$tr/20x10.png"
	is "$name: verdicts" "$(cut -f 1,7 "$mnt/bitmaps.tsv" | grep -v ac90 | grep -c "ok$")" 2
	is "$name: nothing is said" "$said$(value warnings)" 0
	check "$name: treecheck" "$builddir/tests/treecheck" "$mnt"
	[ "$name" != pictures ] || names "$mnt/bitmaps/trace" >"$tmp/names"
	[ "$name" = pictures ] || check "$name: none is left for trace/" test ! -e "$mnt/bitmaps/trace"
	unmount
done
sort >"$tmp/wanted" <<END
.%2E
11-unnamed
6-bitmap_0.png
7-bitmap_0.png
8-6-bitmap_0.png
a%2Fb%2F..%2Fc.png
bitmap_0.png
bitmap_0xb400007b3c00a110.png
bitmap_0xb400007b3c00a910.png
bitmap_0x7b3cffff10.png
$(printf 'n%.0s' $(seq 246))~a950dfb0
photo.jpg
photo.webp
unnamed
ä 😀%0A.png
END
check "pictures: the others are in trace/, under names of their own" diff "$tmp/names" "$tmp/wanted"
if mount_dump "$tr/pictures.pftrace"; then
	is "pictures: one of another size is named" "$(grep a110 "$mnt/bitmaps.tsv" | cut -f 7)" "mismatch: picture is 31x20, bitmap 30x20"
	is "pictures: one of a recycled Bitmap" "$(grep a910 "$mnt/bitmaps.tsv" | cut -f 7)" recycled
	is "pictures: counted" "$(value 'pictures of the trace')" "18, shown for bitmaps: 3"
	is "pictures: two Bitmaps of one pointer and size share it" "$(names "$mnt/bitmaps" | grep -c "^0xb400007b3c00ac90-0x.*png$")" 2
	is "pictures: which of one name is which" \
		"$(for name in bitmap_0 6-bitmap_0 7-bitmap_0 8-6-bitmap_0; do od -An -tu1 -j 19 -N 1 "$mnt/bitmaps/trace/$name.png"; done | tr -d '\n')" "   1   2   3   4"
	unmount
fi
if mount_dump "$tr/pictures-pid-0.pftrace"; then
	is "process 0, one dump: it is that one's; no process: no picture" "$(names "$mnt/bitmaps/trace")" zero.png
	unmount
fi
if mount_dump "$tr/pictures-of-both.pftrace"; then
	is "two dumps: the first one's picture" "$(names "$mnt/dump-1-pid7/bitmaps/trace")" seven.png
	is "two dumps: the second one's picture" "$(names "$mnt/dump-2-pid10/bitmaps/trace")" ten.png
	has "two dumps: those of neither are named" "$said" "pictures of a process without a dump: process 0 (2 times, "
	unmount
fi
if mount_dump "$tr/pictures-of-both.pftrace" -o pid=7; then
	is "-o pid=: process 0 is not the only dump's" "$(names "$mnt/bitmaps/trace")$said" seven.png
	unmount
fi
if mount_dump "$tr/pictures-3000.pftrace"; then
	is "pictures-3000: any field of that shape" "$(names "$mnt/bitmaps")" 0xb400007b3c00a010.png
	check "pictures-3000: others are no pictures" test ! -e "$mnt/bitmaps/trace"
	unmount
fi
if mount_dump "$tr/pictures-many.pftrace" -o readdirplus=no; then
	is "3,000 pictures, without readdirplus" "$(timeout 60 ls -l "$mnt/bitmaps/trace" | grep -c png)" 3000
	unmount
fi
whole "no picture of a dump without Bitmaps" "$tr/ordered.pftrace" "$a" "Perfetto trace"
check "nothing is left in \$TMPDIR" empty "$TMPDIR"

plan
