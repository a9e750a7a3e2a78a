#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# heapfs-capture, stopped by a signal at each of its steps, and left alone by its device: nothing stays on the device, in
# the adb server, beside the output or in the temp folder, and no program goes on.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"
# shellcheck source=tests/device.sh
. "$srcdir/tests/device.sh"

capture=$builddir/heapfs-capture
mkdir "$tmp/out"
cd "$tmp/out"
device=$tmp/d29
device_make "$device" 29
sample bitmaps-28 >/dev/null
cp "$tmp/bitmaps-28.hprof" "$device/heap.4821"
device_start "$device"
: >>"$device/log"

# A debuggable process that takes connections and says nothing, as one whose JDWP thread hangs.
python3 -c '
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
kept = []
while True:
    kept.append(listener.accept())' >"$tmp/silent" &
started="$started $!"
until_true test -s "$tmp/silent"

left() {
	find "$device/root" -type f
	adb forward --list
	ls -A
	find "$TMPDIR" -mindepth 1 ! -name 'adb*.log'
	# The server is ours, its clients are the capture's.
	for process in /proc/[0-9]*; do
		{ tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null | grep "^[^ ]*adb -s $serial" || :
	done
}
nothing_left() { [ -z "$(left)" ]; }
# asked TEXT: the device was, since the last case began
asked() { tail -n +"$from" "$device/log" | grep -q -- "$1"; }
grown() { find "$device/root" -type f -size +0 | grep -q .; }

# stops STEP CONDITION…: with each signal; the step is slow, so that it is the one that is hit. Within 15 s all is over.
stops() {
	step=$1
	shift
	for signal in INT TERM; do
		from=$(($(wc -l <"$device/log") + 1))
		rm -f "$tmp/begun"
		begun=$(date +%s)
		# Of a shell without job control, a process in the background ignores SIGINT, and its children too.
		python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$capture" -q --timeout 20 -s "$serial" "${process:-4821}" -o "${output:-x.hprof}" >"$tmp/stdout" 2>"$err" &
		pid=$!
		started="$started $pid"
		until_true "$@" || fail "$step: it comes to be" "$(cat "$err")" "$(tail -n 5 "$device/log")"
		kill -"$signal" "$pid"
		rc=0
		wait "$pid" || rc=$?
		case $signal in INT) expected=130 ;; *) expected=143 ;; esac
		is "$step, SIG$signal: ended by it" "$rc" "$expected"
		has "$step, SIG$signal: said" "$(cat "$err")" "heapfs-capture: stopped by signal"
		check "$step, SIG$signal: soon" test $(($(date +%s) - begun)) -lt 15
		# What the application still writes, it writes into a file without a name.
		until_true nothing_left || :
		is "$step, SIG$signal: nothing is left" "$(left)" ""
	done
}
slow() { echo "$2" >"$device/slow.$1"; }
quick() { rm "$device/slow.$1"; }

slow getprop 5
stops "1, reading properties" asked getprop
quick getprop
slow ps 5
stops "2, reading processes" asked 'ps -A'
quick ps
slow am 1
stops "3, am before it makes the file" asked 'am dumpheap'
quick am
echo 8 >"$device/am.seconds"
stops "4, am while the application writes" grown
echo late >"$device/am.shape"
stops "5, waiting while the application writes" asked 'stat -c'
rm "$device/am.shape" "$device/am.seconds"
slow stat 5
stops "6, asking for the size" asked 'stat -c'
quick stat
echo 5 >"$device/pull.slow"
stops "7, pulling" asked '^pull '
rm "$device/pull.slow"
slow rm 1
stops "8, removing the file" asked 'rm -f'
quick rm
cat "$tmp/silent" >"$device/jdwp/4821"
stops "9, connecting for pictures" asked '^jdwp:4821'
output=x.pftrace
stops "9, the same for a trace" asked '^jdwp:4821'
output=
sed -i 's/^\(\[ro.build.version.sdk\]: \).*/\1[25]/' "$device/props"
stops "10, connecting for a collection of garbage" asked '^jdwp:4821'
sed -i 's/^\(\[ro.build.version.sdk\]: \).*/\1[29]/' "$device/props"
: >"$device/jdwp/4821"

### An adb that never answers
mkdir -p "$tmp/sdk/platform-tools"
printf '#!/bin/sh\necho $$ >>"%s/hanging"\necho begun >"%s/begun"\nexec sleep 1000\n' "$tmp" "$tmp" >"$tmp/sdk/platform-tools/adb"
chmod +x "$tmp/sdk/platform-tools/adb"
ANDROID_HOME=$tmp/sdk
export ANDROID_HOME
# Those that hang and are still there.
hanging() {
	while read -r hung; do
		[ ! -d "/proc/$hung" ] || echo "$hung"
	done <"$tmp/hanging"
}
stops "11, an adb that never answers" test -e "$tmp/begun"
is "11, an adb that never answers: it is ended" "$(hanging)" ""
is "11, an adb that never answers: there was one for each signal" "$([ "$(wc -l <"$tmp/hanging")" -ge 2 ] && echo yes)" yes
started="$started $(hanging | tr '\n' ' ')"
: >"$tmp/hanging"

### One that does not answer when the forward is to go
printf '#!/bin/sh\ncase "$*" in *--remove*) echo $$ >>"%s/hanging"; exec sleep 1000 ;; esac\nexec %s "$@"\n' "$tmp" \
	"$(command -v adb)" >"$tmp/sdk/platform-tools/adb"
run "$capture" -q -s "$serial" 4821 -o x.hprof
is "a forward that stays: the dump is kept: status" "$rc" 0
has "a forward that stays: it is told" "$said" "$serial: adb forward --remove tcp:" "the port may be forwarded still"
is "a forward that stays: the adb that hung is ended" "$(hanging)$([ -s "$tmp/hanging" ] || echo none hung)" ""
started="$started $(hanging | tr '\n' ' ')"
adb forward --remove-all
rm x.hprof
unset ANDROID_HOME

### Two signals: the second does not keep it from cleaning up
slow rm 2
slow stat 5
from=$(($(wc -l <"$device/log") + 1))
"$capture" -q -s "$serial" 4821 -o x.hprof 2>"$err" &
pid=$!
started="$started $pid"
until_true asked 'stat -c'
kill -TERM "$pid"
until_true asked 'rm -f'
kill -TERM "$pid"
rc=0
wait "$pid" || rc=$?
is "a second signal: status" "$rc" 143
is "a second signal: nothing is left" "$(left)" ""
quick rm
quick stat

### The device goes away
gone() {
	name=$1
	shift
	from=$(($(wc -l <"$device/log") + 1))
	"$capture" -q --timeout 20 -s "$serial" 4821 -o x.hprof 2>"$err" &
	pid=$!
	started="$started $pid"
	until_true "$@"
	adb disconnect "$serial" >/dev/null
	rc=0
	wait "$pid" || rc=$?
	is "$name: status" "$rc" 1
	has "$name: said" "$(cat "$err")" "$serial: /data/local/tmp/heapfs-4821-" "may be left on the device: "
	is "$name: nothing is left here" "$(ls -A)$(adb forward --list)" ""
	find "$device/root" -type f -delete
	timeout 20 adb connect "$serial" >/dev/null
}
echo 8 >"$device/am.seconds"
gone "gone while am waits" grown
rm "$device/am.seconds"
echo late >"$device/am.shape"
echo 8 >"$device/am.seconds"
gone "gone while waiting for the application" asked 'stat -c'
is "gone while waiting for the application: it is said at once" "$(grep -c "device '$serial' not found$" "$err")" 2
rm "$device/am.shape" "$device/am.seconds"
echo 5 >"$device/pull.slow"
gone "gone while pulling" asked '^pull '
rm "$device/pull.slow"

run "$capture" -q -s "$serial" 4821 -o x.hprof
is "after all of it a capture goes well" "$rc" 0
check "… with the whole dump" cmp x.hprof "$device/heap.4821"
plan
