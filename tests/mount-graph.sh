#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Perfetto heap graphs: what the mount shows is what the trace was encoded from, and raw.hprof is a dump that other
# programs take. And heapfs-pack, whose traces mount like the dump itself.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

pack=$builddir/heapfs-pack
# Debian keeps it out of the path.
hprof_conv=$(command -v hprof-conv || echo /usr/lib/android-sdk/platform-tools/hprof-conv)

### Every graph of the corpus

graph_folders() {
	if [ -d "$mnt/classes" ]; then printf '%s\n' "$mnt"; else printf '%s\n' "$mnt"/dump-*; fi
}

# What another program makes of the image mounts whole, with the same counts.
converted() { # NAME FOLDER
	here "$hprof_conv" "$1: hprof-conv takes raw.hprof" || return 0
	check "$1: hprof-conv takes raw.hprof" "$hprof_conv" "$2/raw.hprof" "$tmp/converted.hprof"
	mkdir -p "$tmp/second"
	run "$heapfs" --strict "$tmp/converted.hprof" "$tmp/second"
	is "$1: and what it writes is whole" "$rc $said" "0 "
	[ "$rc" -eq 0 ] || return 0
	is "$1: with the same objects, classes and roots" \
		"$(grep -E '^(objects|classes|instances|object arrays|primitive arrays|gc roots):' "$tmp/second/info.txt")" \
		"$(grep -E '^(objects|classes|instances|object arrays|primitive arrays|gc roots):' "$2/info.txt")"
	"$builddir/tests/hprofcount" "$2/raw.hprof" >"$tmp/counts" || fail "$1: an independent parser reads the image whole"
	is "$1: roots, counted by another parser" "$(awk -F '\t' '/^root/ { n += $2 } END { print n + 0 }' "$tmp/counts")" \
		"$(value 'gc roots' "$2/info.txt")"
	unmount_at "$tmp/second"
}

with_graph() { # TRACE TEXT
	name=${1##*/}
	name=${name%.pftrace}
	mount_dump "$1" || return 0
	graph_folders >"$tmp/folders"
	IFS='
'
	# shellcheck disable=SC2046 # a folder a line
	run python3 "$srcdir/tests/graph_truth.py" "$2" $(cat "$tmp/folders")
	unset IFS
	is "$name: every object, reference and root of the text" "$rc" 0
	[ "$rc" -eq 0 ] || diag "$(head -n 20 "$tmp/stdout") $said"
	check "$name: treecheck" "$builddir/tests/treecheck" "$mnt"
	while IFS= read -r folder; do
		converted "$name" "$folder"
		has "$name: says what a heap graph lacks" "$(cat "$folder/info.txt")" "heap graph lacks: values of fields"
	done <"$tmp/folders"
	unmount
}

if [ -d "$corpus/perfetto/heap_graph" ]; then
	for trace in "$corpus"/perfetto/heap_graph/*.pftrace; do
		name=${trace##*/}
		with_graph "$trace" "$corpus/perfetto/textproto/${name%.pftrace}.textproto"
	done

	trace=$corpus/perfetto/heap_graph/parser__profiling__heap_graph.pftrace
	if mount_dump "$trace"; then
		# As Perfetto's own tests expect it: expected/parser__profiling__heap_graph_object.out and _reference.out.
		is "sizes that Perfetto's trace processor shows" \
			"$(cut -f1,3,4 "$mnt/classes.tsv" | grep -E '^(Factory[A-Za-z]*Actor|Foo|a|a\[\])'"$TAB")" \
			"a${TAB}1${TAB}1024
a[]${TAB}1${TAB}256
Foo${TAB}2${TAB}160
FactoryProducerDelegateImplActor${TAB}1${TAB}64"
		is "an inherited field" "$(readlink "$(object 0x8)/b")" "../../../../objects/0/0/0x10"
		check "a null one has no link" test ! -e "$(object 0x8)/setToNULL"
		is "and is null, not absent" "$(grep setToNULL "$(object 0x8)/object.txt")" "setToNULL: object = null"
		is "nothing is said of values that are not there" "$(grep -c ': int = ' "$(object 0x8)/object.txt" || :)" 0
		is "the process's name" "$(value 'process in the trace')" system_server
		unmount
	fi
	if mount_dump "$corpus/perfetto/heap_graph/stdlib__android__heap_graph_oome.pftrace"; then
		is "how it ran out of memory" "$(grep -E '^(out of memory|heap bytes)' "$mnt/info.txt")" \
			"out of memory, bytes asked for: 1000
out of memory, bytes free: 2000
out of memory, bytes free until then: 5000
out of memory: OutOfMemoryError
heap bytes allocated: 1234"
		unmount
	fi
else
	skip "heap graphs of the corpus" "no traces at $corpus/perfetto"
fi

### A large one of our own: 20,000 objects in many packets

mksample graph 20000 "$tmp/graph.pftrace"
if mount_dump "$tmp/graph.pftrace"; then
	is "one packet's worth of ids is carried on to the next" \
		"$(value 'heap graph')" "20000 objects, 36665 references, 1 gc roots in 1 packets"
	is "objects by class" "$(cut -f1,3 "$mnt/classes.tsv" | grep -E '^(com|java.lang.String|byte)')" \
		"byte[]${TAB}2500
com.example.Node${TAB}9999
java.lang.String${TAB}2500
com.example.Node[]${TAB}2500
com.example.Leaf${TAB}2500"
	is "Strings have no text" "$(cut -f2,4 "$mnt/strings/strings.tsv" | sort | uniq -c | sed 's/^ *//')" "2500 -$TAB
1 length${TAB}text"
	is "primitive arrays have no length" "$(cut -f2,5 "$mnt/classes/byte[]/instances.tsv" | sort | uniq -c | sed 's/^ *//')" \
		"2500 -$TAB
1 length${TAB}preview"
	is "nor contents" "$(find "$mnt/objects" -name data.bin | wc -l)" 0
	is "but sizes of their own" \
		"$(awk -F '\t' 'NR > 1 { n += $3 } END { print n }' "$mnt/classes/byte[]/instances.tsv")" "$(column_of 'byte[]' shallow)"
	check "treecheck" "$builddir/tests/treecheck" --max-files 3000 "$mnt"
	unmount
fi

# Cut anywhere, what is whole is mounted, and said.
size=$(stat -c %s "$tmp/graph.pftrace")
for percent in 10 50 90 99; do
	head -c $((size * percent / 100)) "$tmp/graph.pftrace" >"$tmp/cut.pftrace"
	if mount_dump "$tmp/cut.pftrace"; then
		has "a graph cut at $percent % says so" "$said" "cut inside a packet"
		check "and shows what is there" test "$(value objects)" -gt $((200 * percent / 2))
		unmount
	fi
done

# A disk that is too small: as much of the graph as fits.
mksample graph 200000 "$tmp/large.pftrace"
mkdir "$tmp/small"
if mount -t tmpfs -o size=3m tmpfs "$tmp/small" 2>/dev/null; then
	if mount_dump "$tmp/large.pftrace" -o "tmpdir=$tmp/small"; then
		has "a graph for which there is no room says so" "$said" "there is no room to unpack the rest"
		check "and shows what fits" test "$(value objects)" -gt 50000 -a "$(value objects)" -lt 150000
		check "every file of it" "$builddir/tests/treecheck" --max-files 2000 "$mnt"
		unmount
	fi
	# The server ends a moment after unmounting.
	until_true umount "$tmp/small" || fail "the small disk is free again"
else
	skip "a graph for which there is no room" "tmpfs cannot be mounted here"
fi
rm "$tmp/large.pftrace"

### What else a trace says of the process

more='packet { smaps_packet { pid: 4321
	entries { path: "/dev/ashmem\tx" size_kb: 8 start_address: 0xff00 protection_flags: 3 proportional_resident_kb: 4 }
	entries { file_name: "libc.so" private_dirty_kb: 12 swap_kb: 0 } } }
packet { smaps_packet { pid: 99 entries { path: "of another process" } } }
packet { art_process_metadata { pid: 4321 uid: 10123 process_name: "com.example:remote" package_name: "com.example"
	oom_allocation_size: 77 oom_error_msg: "Failed to allocate\na lot"
	stack { frames { method_name: "com.example.A.b" source_file: "A.java" line_number: 12 }
		frames { method_name: "com.example.C.d" source_file: "C.java" } } } }
packet { video_frame { frame_number: 1 au_data: "xx" } }
packet { video_frame { frame_number: 2 au_data: "yy" } }'
if here protoc "what else a trace says of a process"; then
	printf '%s\n' "$more" |
		protoc --encode=heapfs.other.Trace -I "$srcdir/tests" "$srcdir/tests/other.proto" >"$tmp/more.pftrace"
	cat "$tmp/graph.pftrace" "$tmp/more.pftrace" >"$tmp/both.pftrace"
	if mount_dump "$tmp/both.pftrace"; then
		is "memory mappings" "$(cat "$mnt/smaps.tsv")" \
			"path${TAB}file${TAB}start${TAB}protection${TAB}size_kb${TAB}proportional_resident_kb${TAB}private_dirty_kb${TAB}private_clean_kb${TAB}shared_dirty_kb${TAB}shared_clean_kb${TAB}swap_kb${TAB}locked_kb
/dev/ashmem x${TAB}-${TAB}0xff00${TAB}3${TAB}8${TAB}4${TAB}-${TAB}-${TAB}-${TAB}-${TAB}-${TAB}-
-${TAB}libc.so${TAB}-${TAB}-${TAB}-${TAB}-${TAB}12${TAB}-${TAB}-${TAB}-${TAB}0${TAB}-"
		is "of their exact size" "$(stat -c %s "$mnt/smaps.tsv")" "$(wc -c <"$mnt/smaps.tsv")"
		is "the process, and how it ran out of memory" "$(sed -n '/^process id/,/^heap graph/p' "$mnt/info.txt" | head -n -1)" \
			"process id: 4321
process in the trace: com.example:remote
user id: 10123
process name: com.example:remote
package: com.example
out of memory, bytes asked for: 77
out of memory at: com.example.A.b(A.java:12)
out of memory at: com.example.C.d(C.java)
out of memory: Failed to allocate a lot"
		is "video frames are counted" "$(value container)" "Perfetto trace with 2 video frames"
		unmount
	fi
fi

### heapfs-pack

dump=$(sample sample)
"$pack" "$dump" --pid 4711 -o "$tmp/packed.pftrace"
tree_of() {
	(cd "$1" && find . ! -path ./info.txt -type f -exec md5sum {} + | sort -k2 && find . -printf '%p %l\n' | sort)
}
mount_dump "$dump" && { tree_of "$mnt" >"$tmp/plain"; grep -vE '^(file|file size|container):' "$mnt/info.txt" >"$tmp/plain.info"; unmount; }
if mount_dump "$tmp/packed.pftrace"; then
	tree_of "$mnt" >"$tmp/traced"
	grep -vE '^(file|file size|container|unpacked size|process id):' "$mnt/info.txt" >"$tmp/traced.info"
	check "a packed dump's tree is the dump's, byte for byte" cmp "$tmp/plain" "$tmp/traced"
	check "and info.txt too, but for what it came in" cmp "$tmp/plain.info" "$tmp/traced.info"
	is "the process's id" "$(value 'process id')" 4711
	unmount
fi

# Pictures that go with it: one joins its Bitmap, which has no picture of its own; one is of another size.
mkdir "$tmp/pictures"
if mount_dump "$dump"; then
	cp "$mnt/bitmaps/orphans/"*.png "$tmp/pictures/0xb400007b3c00a410.png" # 32x32, the Bitmap is 300x200
	cp "$mnt/bitmaps/0xb400007b3c00a010.png" "$tmp/pictures/logo.png"
	unmount
fi
echo text >"$tmp/pictures/notes.txt"
mkfifo "$tmp/pictures/pipe.png"
check "a pipe among the pictures does not block" timeout 20 "$pack" "$dump" -b "$tmp/pictures" -o "$tmp/pipe.pftrace"
"$pack" "$dump" -b "$tmp/pictures" -o "$tmp/pictures.pftrace"
if mount_dump "$tmp/pictures.pftrace"; then
	is "pictures that no Bitmap takes" "$(ls "$mnt/bitmaps/trace")" "0xb400007b3c00a410.png
logo.png"
	check "are the files that were packed" cmp "$mnt/bitmaps/trace/logo.png" "$tmp/pictures/logo.png"
	is "the Bitmap whose picture is of another size" \
		"$(grep 0xb400007b3c00a410 "$mnt/bitmaps.tsv" | cut -f6,7)" "none${TAB}mismatch: picture is 32x32, bitmap 300x200"
	unmount
fi

"$pack" "$tmp/pictures.pftrace" -p 12 -o "$tmp/again.pftrace"
if mount_dump "$tmp/again.pftrace"; then
	is "a trace that is packed again keeps its pictures" "$(value 'process id') $(cd "$mnt/bitmaps/trace" && echo *)" \
		"12 0xb400007b3c00a410.png logo.png"
	unmount
fi

# More than one chunk, and a length that is a multiple of theirs.
for bytes in 4194304 8388608 8388609; do
	truncate -s "$bytes" "$tmp/even.hprof"
	dd if="$dump" of="$tmp/even.hprof" conv=notrunc status=none
	"$pack" "$tmp/even.hprof" -o "$tmp/even.pftrace"
	if mount_dump "$tmp/even.pftrace"; then
		check "a dump of $bytes bytes" cmp "$tmp/even.hprof" "$mnt/raw.hprof"
		lacks "whose last chunk is marked" "$said" "no chunk is marked"
		unmount
	fi
	rm "$tmp/even.pftrace"
done

gzip -c "$dump" >"$tmp/dump.gz"
check "packs what is in gzip" "$pack" "$tmp/dump.gz" -o "$tmp/gz.pftrace"
mount_dump "$tmp/gz.pftrace" && { check "unpacked" cmp "$mnt/raw.hprof" "$dump"; unmount; }
refused "does not write over a file" "File exists" "$pack" "$dump" -o "$tmp/gz.pftrace"
refused "a folder of pictures that is not there" "No such file" "$pack" "$dump" -b "$tmp/nowhere" -o "$tmp/none.pftrace"
check "and leaves no half a trace" test ! -e "$tmp/none.pftrace"
refused "a heap graph is no dump to pack" "a heap graph" "$pack" "$tmp/graph.pftrace" -o "$tmp/none.pftrace"
refused "text is no dump" "text" "$pack" "$tmp/pictures/notes.txt" -o "$tmp/none.pftrace"
for usage in "" "$dump" "-o $tmp/none.pftrace" "$dump $dump -o $tmp/none.pftrace" "$dump -p x -o $tmp/none.pftrace" \
	"$dump --wrong -o $tmp/none.pftrace"; do
	# shellcheck disable=SC2086 # words
	run "$pack" $usage
	is "usage: heapfs-pack ${usage##"$tmp/"}" "$rc" 2
done
run "$pack" --help
is "help" "$rc" 0

if here protoc "protoc reads what heapfs-pack wrote"; then
	decode() {
		protoc --decode=heapfs.perfetto.Trace -I "$srcdir/contrib/perfetto" hprof_dump.proto \
			<"$tmp/pictures.pftrace" >"$tmp/decoded"
	}
	check "protoc reads what heapfs-pack wrote" decode
	is "and knows every field" "$(grep -cE '^ +[0-9]+[:{ ]' "$tmp/decoded" || :)" 0
	is "packets" "$(grep -c '^packet' "$tmp/decoded")" 3
	is "one is the first of its sequence" "$(grep -c 'first_packet_on_sequence: true' "$tmp/decoded")" 1
	is "the last chunk is marked" "$(grep -E 'chunk_index|last_chunk' "$tmp/decoded" | tr -d ' ' | tr '\n' ' ')" \
		"chunk_index:0 last_chunk:true "
	is "pictures by name" "$(grep filename "$tmp/decoded" | tr -d ' ' | tr '\n' ' ')" \
		'filename:"0xb400007b3c00a410.png" filename:"logo.png" '
fi

plan
