#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# heapfs-capture --trace-config: dumps by a Perfetto trace config, from devices of our own (device.sh): what is asked of the
# device, what of a config counts, is noted, or refused; the one of contrib/perfetto gives a trace that mounts.
# (The text format itself: unit_config.)
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"
# shellcheck source=tests/device.sh
. "$srcdir/tests/device.sh"

capture=$builddir/heapfs-capture
dump=$(sample bitmaps-35-without)
pictures=$(sample sample) # Pixel 9, API level 35, com.example.app
mkdir "$tmp/out"
cd "$tmp/out"
device_make "$tmp/d35" 35
device=$tmp/d35
cp "$dump" "$device/heap.4821"
for format in png webp; do cp "$pictures" "$device/heap.4821.$format"; done
cp "$(sample jvm)" "$device/heap.4900"
device_start "$device"

# asked: what am was asked for, a line a dump, since the last time
asked() {
	sed 's,/data/local/tmp/heapfs-[0-9]*-[0-9a-f]\{16\}\.hprof,FILE,' "$device/am.args" 2>/dev/null || :
	: >"$device/am.args"
}

nothing_left() {
	is "$1: nothing is left" "$(find "$device/root" -type f; find . -mindepth 1 ! -name "${2:-x.pftrace}"; adb forward --list)" ""
}

# taken NAME CONFIG EXPECTED-ARGUMENTS: a config as text gives x.pftrace
taken() {
	rm -f x.pftrace
	printf '%s\n' "$2" >"$tmp/config"
	run "$capture" -q --trace-config "$tmp/config" -o x.pftrace
	is "$1: status" "$rc" 0
	is "$1: what the device is asked for" "$(asked)" "$3"
	nothing_left "$1"
}

### The config of contrib/perfetto

run "$capture" --trace-config "$srcdir/contrib/perfetto/trace_config.txt" -o x.pftrace
is "contrib/perfetto: status" "$rc" 0
is "contrib/perfetto: what the device is asked for" "$(asked)" "dumpheap -g -b png 4821 FILE"
has "contrib/perfetto: what is not for it is said" "$said" "line 2: buffers is not for a capture from here, and ignored" \
	"line 17: data source linux.process_stats is not taken from here, and ignored"
nothing_left "contrib/perfetto"
if mount_dump x.pftrace; then
	is "contrib/perfetto: mounted: container" "$(value container | cut -d , -f 1)" "Perfetto trace"
	check "contrib/perfetto: mounted: the dump" cmp "$mnt/raw.hprof" "$pictures"
	check "contrib/perfetto: mounted: pictures" test "$(find "$mnt/bitmaps" -maxdepth 1 -name '0x*' | wc -l)" -gt 3
	unmount
fi
if command -v protoc >/dev/null; then
	protoc --decode=heapfs.perfetto.Trace -I "$srcdir/contrib/perfetto" hprof_dump.proto <x.pftrace >"$tmp/decoded" 2>&1
	is "contrib/perfetto: protoc reads it: of process 4821" "$(grep -c '^    pid: 4821' "$tmp/decoded")" \
		"$(grep -c '^  hprof_dump {' "$tmp/decoded")"
	# Chunks of at most 4 MiB, numbered from 0, the last one marked.
	is "contrib/perfetto: one last chunk" "$(grep -c 'last_chunk: true' "$tmp/decoded")" 1
fi
before=$(cksum x.pftrace)
run "$capture" -q --trace-config "$srcdir/contrib/perfetto/trace_config.txt" -o x.pftrace
has "what is there is not overwritten" "$rc $said" "1 " "x.pftrace: File exists"
is "and it is as it was" "$(cksum x.pftrace)" "$before"
rm x.pftrace
run "$capture" -q --trace-config - -o x.pftrace
has "standard input, empty" "$rc $said" "1 " "standard input: no trace config in text form: line 1: there is nothing in it"
"$capture" -q --trace-config - -o x.pftrace <"$srcdir/contrib/perfetto/trace_config.txt" 2>"$err" || :
check "standard input: taken" test -s x.pftrace
asked >/dev/null

### What a config can say

source_of() { printf 'data_sources { config { name: "android.hprof_dump" hprof_dump_config { %s } } }' "$1"; }

taken "by name, nothing else said" "$(source_of 'process_cmdline: "com.example.app"')" "dumpheap -g 4821 FILE"
taken "run_gc: false" "$(source_of 'process_cmdline: "com.example.app" run_gc: false')" "dumpheap 4821 FILE"
taken "webp" "$(source_of "pid: 4821, dump_bitmaps: true; bitmap_format: 'webp'")" "dumpheap -g -b webp 4821 FILE"
taken "dump_bitmaps: false" "$(source_of 'pid: 4821 dump_bitmaps: false bitmap_format: "png"')" "dumpheap -g 4821 FILE"
taken "the pid counts more than the name" "$(source_of 'process_cmdline: "com.android.settings" pid: 4821')" "dumpheap -g 4821 FILE"
taken "a pid of 0 is none" "$(source_of 'process_cmdline: "com.example.app" pid: 0')" "dumpheap -g 4821 FILE"
taken "comments, other brackets, lists" 'duration_ms: 0x1000 # not short
	buffers: [ { size_kb: 1 }, { size_kb: 2 } ]
	data_sources: < config: < name: "android." "hprof" '"'_dump'"'
		hprof_dump_config: { process_cmdline: "com.\x65xample.\141pp"; run_gc: 0 } > >' "dumpheap 4821 FILE"
taken "two dumps, in one trace" "$(source_of 'pid: 4821') $(source_of 'pid: 4900 run_gc: f')" "dumpheap -g 4821 FILE
dumpheap 4900 FILE"
if mount_dump x.pftrace; then
	is "two dumps: both are there" "$(cd "$mnt" && echo dump-*)" "dump-1-pid4821 dump-2-pid4900"
	check "two dumps: the first" cmp "$mnt/dump-1-pid4821/raw.hprof" "$device/heap.4821"
	check "two dumps: the second" cmp "$mnt/dump-2-pid4900/raw.hprof" "$device/heap.4900"
	unmount
fi

# After duration_ms no other dump begins; the one that is under way is finished.
rm -f x.pftrace
echo 2 >"$device/am.seconds"
printf 'duration_ms: 1000 %s %s' "$(source_of 'pid: 4821')" "$(source_of 'pid: 4900')" >"$tmp/config"
run "$capture" -q --trace-config "$tmp/config" -o x.pftrace
has "duration_ms is over" "$rc $said" "1 " "1 of 2 dumps were begun within duration_ms"
is "duration_ms is over: one dump" "$(asked)" "dumpheap -g 4821 FILE"
if mount_dump x.pftrace; then
	check "duration_ms is over: it is whole" cmp "$mnt/raw.hprof" "$device/heap.4821"
	unmount
fi
rm -f "$device/am.seconds" x.pftrace

# One that fails does not take the others with it.
printf '%s %s' "$(source_of 'process_cmdline: "com.example.gone"')" "$(source_of 'pid: 4821')" >"$tmp/config"
run "$capture" -q --trace-config "$tmp/config" -o x.pftrace
has "one of two does not run" "$rc $said" "1 " "com.example.gone"
if mount_dump x.pftrace; then
	check "one of two does not run: the other one is there" cmp "$mnt/raw.hprof" "$device/heap.4821"
	unmount
fi
rm -f x.pftrace
printf '%s' "$(source_of 'process_cmdline: "com.example.gone"')" >"$tmp/config"
run "$capture" -q --trace-config "$tmp/config" -o x.pftrace
is "none runs: status" "$rc" 1
is "none runs: there is no file" "$(ls)" ""
asked >/dev/null

### What is refused

bad() { # bad NAME CONFIG MESSAGE
	printf '%s\n' "$2" >"$tmp/config"
	run "$capture" -q --trace-config "$tmp/config" -o x.pftrace
	has "$1" "$rc $said" "1 " "$3"
	is "$1: there is no file" "$(ls)" ""
}
bad "no source of ours" 'buffers { size_kb: 1 }' "it has no data source android.hprof_dump"
bad "no process" "$(source_of 'run_gc: true')" "which process? It has neither process_cmdline nor pid"
bad "a pid of 0 only" "$(source_of 'pid: 0')" "which process? It has neither process_cmdline nor pid"
bad "a name without quotes" "$(source_of 'process_cmdline: app')" "line 1: process_cmdline: must be a process's name in quotes"
bad "a word for a flag" "$(source_of 'pid: 1 run_gc: maybe')" "run_gc: must be true or false"
bad "a format that is none" "$(source_of 'pid: 1 bitmap_format: "gif"')" 'bitmap_format: must be "png", "jpg" or "webp"'
bad "a pid that is none" "$(source_of 'pid: -1')" "pid: must be the id of a process"
bad "not closed" 'data_sources { config {' "line 2: config, of line 1, has no '}'"
bad "a string that does not end" 'data_sources { config { name: "android' "a string does not end"
bad "a dump instead of a config" "$(head -c 200 "$dump" | tr -d '\0')" "no trace config in text form: line "
run "$capture" -q --trace-config "$tmp/nowhere" -o x.pftrace
has "a file that is not there" "$rc $said" "1 " "$tmp/nowhere: No such file or directory"
run "$capture" -q --trace-config "$tmp/config" -o x.pftrace com.example.app
has "an argument" "$rc $said" "2 " "too many arguments"
run "$capture" -q --trace-config "$tmp/config" --no-gc -o x.pftrace
has "what the config says" "$rc $said" "2 " "--no-gc does not go with --trace-config"
run "$capture" -q --trace-config "$tmp/config"
has "nowhere to write to" "$rc $said" "2 " "where to write to"
is "the device was not asked" "$(asked)" ""

### A signal

echo 3 >"$device/am.seconds"
printf '%s' "$(source_of 'pid: 4821')" >"$tmp/config"
rc=0
timeout -s INT 1.5 "$capture" -q --trace-config "$tmp/config" -o x.pftrace 2>"$err" || rc=$?
has "SIGINT ends it" "$(cat "$err")" "stopped by signal"
# shellcheck disable=SC2016 # the inner shell expands it
until_true sh -c '[ -z "$(find "$1/root" -type f)" ]' - "$device" || :
nothing_left "SIGINT ends it" nothing
plan
