#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# heapfs-capture, where pictures and the collection of garbage take a debugger's connection: the application is a Java
# virtual machine with a stand-in for Android's Bitmap (tests/java), reached through adb, its forward and a device of our
# own (device.sh); its dump is what jcmd makes of it.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

bin=${JAVA_HOME:+$JAVA_HOME/bin/}
for tool in javac jcmd; do
	command -v "$bin$tool" >/dev/null || skip_all "no Java development kit here (JAVA_HOME, PATH)"
done

# shellcheck source=tests/device.sh
. "$srcdir/tests/device.sh"

capture=$builddir/heapfs-capture
out=$tmp/said	# by the application
mkdir "$tmp/out" "$tmp/java"
mkfifo "$tmp/hold"
cd "$tmp/out"
"${bin}javac" -d "$tmp/java" -sourcepath "$srcdir/tests/java" "$srcdir/tests/java/Host.java"

left() {
	find "$tmp"/d*/root -type f
	adb forward --list
	find . -mindepth 1 -maxdepth 1 ! -name x.hprof ! -name x.hprof.bitmaps ! -name x.pftrace
	find "$TMPDIR" -mindepth 1 ! -name 'adb*.log' ! -path '*hsperfdata*'
}

# host KIND:SIZE…: the application. It runs code only when a line comes on its standard input, which is what the device's
# dumpsys sends.
host() {
	rm -f "$tmp/in"
	mkfifo "$tmp/in"
	: >"$out" # or the last one's "ready" is read
	exec 3<>"$tmp/in"
	"${bin}java" -Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.awt.headless=true -Dsleep=400 \
		-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0 -cp "$tmp/java" Host "$@" \
		<"$tmp/in" >"$out" 2>&1 3>&- &
	app=$!
	started="$started $app"
	for again in 1 2 3 4; do
		until_true grep -q ready "$out" && break
	done
	port >"$device/jdwp/4821"
	# jcmd would collect garbage.
	[ ! -e "$device/heap.4821" ] || return 0
	"${bin}jcmd" "$app" GC.heap_dump "$tmp/heap" >/dev/null
	mv "$tmp/heap" "$device/heap.4821"
}
port() { sed -n 's/^Listening for transport dt_socket at address: //p' "$out" | tail -n 1; }
beats() { grep -c '^beat' "$out" || :; }
more_beats() { [ "$(beats)" -gt "$beat" ]; }
listens() { grep -c '^Listening' "$out" || :; }
listening() { [ "$(listens)" -gt "$before" ]; }
leave() {
	exec 3>&-
	wait "$app" || fail "the application ends by itself" "$(cat "$out")"
}
# It runs, and lets a debugger in.
runs_on() {
	beat=$(beats)
	echo >&3
	if until_true more_beats && until_true listening; then
		pass "$1: the application runs on"
	else
		fail "$1: the application runs on" "$(cat "$out")"
	fi
	port >"$device/jdwp/4821"
}
# takes NAME STATUS OUTPUT [OPTION…]
takes() {
	name=$1 expected=$2 output=$3
	shift 3
	rm -rf x.*
	before=$(listens)
	run "$capture" -q -s "$serial" com.example.app -o "$output" "$@"
	is "$name: status" "$rc" "$expected"
	is "$name: nothing is left" "$(left)" ""
}
count() { find x.hprof.bitmaps -name '0x*.png' | wc -l; }
sums() { (cd "$1" && find . -maxdepth 1 -name '0x*.png' -exec md5sum {} + | sort); }

device=$tmp/d29
device_make "$device" 29
tool "$device" dumpsys <<-'END'
	echo >"$device/../in"
	echo "Applications Memory Usage (in Kilobytes):"
END
device_start "$device"

### All of it, beside the dump
host usual:64x48 recycled:30x30 usual:500x300 usual:1x1 nothing:31x31
mkdir "$tmp/truth"
printf '%s\n' "$tmp/truth" >&3
until_true grep -q written "$out" || fail "the application writes its pictures" "$(cat "$out")"
rm -f "$tmp/truth/0x0.png" "$tmp"/truth/0xb400007b90001100.png # one without a pointer, and one that is recycled
takes "pictures" 0 x.hprof
is "pictures: nothing is said" "$said" ""
check "pictures: the dump" cmp x.hprof "$device/heap.4821"
is "pictures: those that the application makes itself" "$(sums x.hprof.bitmaps)" "$(sums "$tmp/truth")"
is "pictures: how many" "$(count)" 3
is "pictures: who may read them" "$(stat -c %a x.hprof x.hprof.bitmaps | paste -sd ' ' -)" "644 755"
mount_dump x.hprof
is "pictures: heapfs shows them unasked" "$(sums "$mnt/bitmaps")" "$(sums "$tmp/truth")"
unmount
mount_dump x.hprof -o pixels=none
is "pictures: not with pixels=none" "$(sums "$mnt/bitmaps")" ""
unmount
runs_on "pictures"

### In one trace
takes "a trace" 0 x.pftrace
check "a trace: alone" test ! -e x.pftrace.bitmaps -a ! -e x.hprof
mount_dump x.pftrace
check "a trace: the dump" cmp "$mnt/raw.hprof" "$device/heap.4821"
is "a trace: Bitmaps have their pictures" "$(sums "$mnt/bitmaps")" "$(sums "$tmp/truth")"
is "a trace: in numbers" "$(value "bitmaps with picture") $(value "bitmap pictures from")" "3 trace"
unmount
runs_on "a trace"

### For a dump that was made before
cp "$device/heap.4821" "$tmp/was.hprof"
rm -rf x.*
before=$(listens)
run "$capture" -q --pixels-for "$tmp/was.hprof" com.example.app -o x.pftrace
is "--pixels-for: status" "$rc" 0
is "--pixels-for: am is not asked" "$(wc -l <"$device/am.args")" 2
mount_dump "$tmp/was.hprof" -o pixels=x.pftrace
is "--pixels-for: they meet the dump" "$(sums "$mnt/bitmaps")" "$(sums "$tmp/truth")"
unmount
rm x.*
is "--pixels-for: nothing is left" "$(left)" ""
runs_on "--pixels-for"

### Budgets
takes "a budget of bytes" 0 x.hprof --pixels-size 1K
has "a budget of bytes: said" "$said" "pictures of more than 1024 bytes; --pixels-size lets more come" \
	"of 3 bitmaps are without a picture: 0 could not be compressed"
check "a budget of bytes: kept" test "$(cat x.hprof.bitmaps/* | wc -c)" -le 1024
runs_on "a budget of bytes"
takes "--no-pixels" 0 x.hprof --no-pixels
is "--no-pixels: nothing is said, no pictures" "$said$(ls)" "x.hprof"

### Another debugger
python3 -c '
import socket, sys
debugger = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
debugger.sendall(b"JDWP-Handshake")
print(debugger.recv(14).decode(), flush=True)
sys.stdin.read()' "$(port)" <"$tmp/hold" >"$tmp/attached" &
debugger=$!
started="$started $debugger"
exec 4>"$tmp/hold"
until_true grep -q Handshake "$tmp/attached" || fail "another debugger can be there"
takes "another debugger" 0 x.hprof
has "another debugger: said" "$said" "com.example.app: no pictures: " "another debugger is attached"
is "another debugger: the dump is kept" "$(ls)" x.hprof
exec 4>&-
wait "$debugger" || :
leave

### A time that is over, bitmaps that fail
rm "$device/heap.4821"
host slow:300x300 slow:200x200 slow:100x100 slow:90x90 slow:80x80 slow:70x70 slow:60x60 slow:50x50
takes "a budget of time" 0 x.hprof --pixels-time 1
has "a budget of time: said" "$said" "1 s were over before all pictures were here; --pixels-time gives more" "of 8 bitmaps are without"
check "a budget of time: some came" test "$(count)" -ge 1 -a "$(count)" -lt 8
runs_on "a budget of time"

# A signal in the midst of it
rm -rf x.*
before=$(listens)
"$capture" -q -s "$serial" com.example.app -o x.hprof 2>"$err" &
pid=$!
started="$started $pid"
some() { ls x.hprof.bitmaps.*/0x* >/dev/null 2>&1; }
until_true some || fail "a signal while pictures come: they come" "$(cat "$err")"
kill -TERM "$pid"
rc=0
wait "$pid" || rc=$?
is "a signal while pictures come: status" "$rc" 143
is "a signal while pictures come: nothing is left" "$(left)$(ls)" ""
runs_on "a signal while pictures come"
leave

rm "$device/heap.4821"
host throws:64x48 usual:20x20
takes "one that cannot be compressed" 0 x.hprof
has "one that cannot be compressed: said" "$said" \
	"com.example.app: 1 of 2 bitmaps are without a picture: 1 could not be compressed (0xb400007b90001000: " "IllegalStateException"
is "one that cannot be compressed: the other one came" "$(ls x.hprof.bitmaps)" 0xb400007b90001100.png
runs_on "one that cannot be compressed"
leave

rm "$device/heap.4821"
host slow:300x300 slow:200x200 slow:100x100 slow:90x90 slow:80x80 slow:70x70 slow:60x60 slow:50x50
rm -rf x.*
"$capture" -q -s "$serial" com.example.app -o x.hprof 2>"$err" &
pid=$!
started="$started $pid"
until_true some || fail "the application ends in the midst of it: pictures come" "$(cat "$err")"
kill -9 "$app"
wait "$app" || :
rc=0
wait "$pid" || rc=$?
is "the application ends in the midst of it: the dump is kept, status" "$rc" 0
has "the application ends in the midst of it: said" "$(cat "$err")" "com.example.app: fetching pictures ended: " \
	"of 8 bitmaps are without a picture"
check "the application ends in the midst of it: the dump" cmp x.hprof "$device/heap.4821"
check "the application ends in the midst of it: the pictures that came" test "$(count)" -ge 1
is "the application ends in the midst of it: nothing is left" "$(left)" ""
exec 3>&-

### Garbage, below API level 27
device_stop
device=$tmp/d25
device_make "$device" 25
tool "$device" dumpsys <<-'END'
	echo >"$device/../in"
END
device_start "$device"
cp "$tmp/was.hprof" "$device/heap.4821"
host usual:64x48
before=$(listens)
beat=0
echo >&3
until_true more_beats
lacks "before a collection the garbage is there" "$(cat "$out")" "garbage was collected"
takes "garbage" 0 x.hprof
is "garbage: nothing is said" "$said" ""
is "garbage: no pictures, they are in the dump" "$(ls)" x.hprof
runs_on "garbage"
has "garbage: it was collected" "$(cat "$out")" "garbage was collected"
takes "--no-gc" 0 x.hprof --no-gc
is "--no-gc: no debugger" "$(listens)" "$before"
leave
plan
