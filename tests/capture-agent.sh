#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What LoliProfiler's agent sends, from real streams over TCP, is saved as LoliProfiler itself saved it, and mounted; also of
# streams that are cut behind every packet and inside each. (Damaged streams: unit_agent.)
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

loli=$corpus/loli
replay=$builddir/tests/loli_replay
[ -d "$loli" ] || skip_all "no corpus here"
all_here python3
grep -q '^#define HAVE_LZ4' "$builddir/config.h" || skip_all "built without liblz4"

saved() { # saved WHAT ARGUMENT…: tests/loli_saved.py finds no difference
	compared "$name: $1" python3 "$srcdir/tests/loli_saved.py" "$loli/tools" "$@"
}

told() { # told KEY: what loli_replay said
	sed -n "s/^$1 //p" "$tmp/stdout"
}

known() { # known KEY: what the stream's truth says
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$stream.json" "$1"
}

for name in base_mono nostack; do
	stream=$loli/$name.agentstream
	python3 "$srcdir/tests/loli_saved.py" "$loli/tools" smaps "$loli/$name.loli" >"$tmp/smaps"
	run "$replay" "$stream" "$tmp/smaps" "$tmp/$name.loli"
	is "$name: saved" "$rc $said" "0 "
	for key in packets allocs frees alloc_bytes; do
		is "$name: $key" "$(told $key)" "$(known $key)"
	done
	is "$name: nothing damaged or twice, and the mappings were dumped" \
		"$(told damaged) $(told repeated) $(told cut) $(told smaps) $(told problem)" "0 0 0 1 "
	records=$(told records) bytes=$(told bytes) freed=$(told freed)
	saved compare "$loli/$name.loli" "$tmp/$name.loli"
	if mount_dump "$tmp/$name.loli"; then
		is "$name: mounted: no warning" "$(value warnings)" 0
		is "$name: mounted: records" "$(value live) $(value "live bytes")" "$records $bytes"
		full=--full
		[ "$name" != nostack ] || full=
		python3 "$loli/tools/loli_decode.py" "$tmp/$name.loli" $full >"$tmp/truth.json"
		compared "$name: mounted: as the truth says" python3 "$srcdir/tests/loli_truth.py" "$mnt" "$tmp/truth.json"
		unmount
	fi
	run "$replay" "$stream" "$tmp/smaps" "$tmp/all.loli" all
	saved all "$stream" "$tmp/all.loli"
	if mount_dump "$tmp/all.loli"; then
		is "$name: all: what is freed stays freed" "$(value live) $(value freed)" "$records $freed"
		unmount
	fi
	saved cut "$stream" "$replay" "$tmp/smaps" "$tmp"
done
plan
