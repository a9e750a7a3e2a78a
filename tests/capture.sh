#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# heapfs-capture against devices of our own (device.sh) through the system's adb: what is asked of the device at each API
# level, every shape of refusal, who may be talked to, who is chosen. What signals leave behind is in capture-stop.sh,
# pictures by a debugger's connection are in capture-pixels.sh.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"
# shellcheck source=tests/device.sh
. "$srcdir/tests/device.sh"

capture=$builddir/heapfs-capture
mkdir "$tmp/out"
cd "$tmp/out"

# What is left anywhere that should not be: on the device, in the adb server, beside the output, in the temp folder.
left() {
	for folder in "$tmp"/d*/root; do
		find "$folder" -type f
	done
	adb forward --list
	find . -mindepth 1 ! -name 'x.*' -o -name 'x.*.??????' ! -name '*.pftrace' ! -name '*.bitmaps'
	find "$TMPDIR" -mindepth 1 ! -name 'adb*.log'
}
asked() { tail -n 1 "$1/am.args" | sed 's,/data/local/tmp/heapfs-[0-9]*-[0-9a-f]\{16\}\.hprof,FILE,'; }

### Nobody there, and nobody who may be talked to
run "$capture" com.example.app -o x.hprof
is "no device: status" "$rc" 1
has "no device: what to do" "$said" "no device: plug one in"

device_make "$tmp/dclosed" 29
echo unauthorized >"$tmp/dclosed/state"
device_start "$tmp/dclosed"
closed=$serial
run "$capture" com.example.app -o x.hprof
is "unauthorized: status" "$rc" 1
has "unauthorized: what to do" "$said" "$closed: the device is unauthorized: unlock it, and tap Allow"
run "$capture" -s "$closed" com.example.app -o x.hprof
has "unauthorized, by its serial: the same" "$said" "$closed: the device is unauthorized: unlock it, and tap Allow"
check "unauthorized: it was never talked to" test ! -e "$tmp/dclosed/log"

device_make "$tmp/dmute" 29
echo offline >"$tmp/dmute/state"
device_start "$tmp/dmute"
run "$capture" -s "$serial" com.example.app -o x.hprof
is "offline: status" "$rc" 1
has "offline: what to do" "$said" "$serial: the device is offline: plug it in again"
check "offline: it was never talked to" test ! -e "$tmp/dmute/log"
device_stop

### Each API level: what am is asked for, and what comes
level() {
	level=$1 device=$tmp/d$1
	device_make "$device" "$level"
	cp "$dump" "$device/heap.4821"
	[ "$level" -lt 35 ] || for format in png jpg webp; do cp "$pictures" "$device/heap.4821.$format"; done
	[ "$level" -gt 26 ] || echo late >"$device/am.shape"
	device_start "$device"
}
# takes NAME EXPECTED-ARGUMENTS FILE [OPTION…]
takes() {
	name=$1 expected=$2 file=$3
	shift 3
	rm -f x.hprof
	run "$capture" -s "$serial" "$@" com.example.app -o x.hprof
	is "$name: status" "$rc" 0
	is "$name: am was asked" "$(asked "$device")" "$expected"
	check "$name: the dump" cmp x.hprof "$file"
	is "$name: nothing is left" "$(left)" ""
}

dump=$(sample bitmaps-35-without)
pictures=$(sample bitmaps-36)
for level in 21 23 26 27 29 34 35 36; do
	level "$level"
	case $level in
	21 | 23 | 26) words= ;;
	35 | 36) words='-g -b png ' ;;
	*) words='-g ' ;;
	esac
	takes "API $level" "dumpheap ${words}4821 FILE" "$device/heap.4821$([ "$level" -lt 35 ] || echo .png)"
	case $level in
	21 | 23 | 26) has "API $level: garbage by a debugger, whose failure is told" "$said" "garbage was not collected before the dump: " ;;
	*) lacks "API $level: no debugger for garbage" "$said" "garbage" ;;
	esac
	case $level in
	26 | 27 | 29 | 34) has "API $level: pictures by a debugger, whose failure is told" "$said" "com.example.app: no pictures: " "another debugger" ;;
	*) lacks "API $level: no debugger for pictures" "$said" "no pictures" ;;
	esac
	takes "API $level without both" "dumpheap 4821 FILE" "$device/heap.4821" --no-gc --no-pixels
	lacks "API $level without both: no debugger" "$(tail -n 5 "$device/log")" "jdwp:"
	[ "$level" = 36 ] || device_stop
done
takes "API 36, WebP" "dumpheap -g -b webp 4821 FILE" "$device/heap.4821.webp" --bitmap-format webp
takes "by its id" "dumpheap -g -b png 4821 FILE" "$device/heap.4821.png" -q
run "$capture" -s "$serial" -q 4821 -o x.pftrace
is "a trace: status" "$rc" 0
is "a trace: nothing is said" "$said" ""
rm -f x.hprof
mount_dump x.pftrace
check "a trace: the dump in it" cmp "$mnt/raw.hprof" "$device/heap.4821.png"
is "a trace: the process's id" "$(value "process id")" 4821
unmount
rm x.pftrace

run "$capture" -s "$serial" -q 4821 -o x.hprof --mount "$mnt"
is "--mount: status" "$rc" 0
check "--mount: it is there" cmp "$mnt/raw.hprof" x.hprof
unmount
is "--mount: nothing is left" "$(left)" ""

# Whoever starts it may have ignored SIGCHLD, which programs inherit.
rm x.hprof
begun=$(date +%s)
run python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$capture" -s "$serial" -q 4821 -o x.hprof
is "SIGCHLD is ignored: status" "$rc$said" 0
check "SIGCHLD is ignored: no deadline is waited for" test $(($(date +%s) - begun)) -lt 25

### Nothing is replaced
run "$capture" -s "$serial" -q 4821 -o x.hprof
is "a file of this name: status" "$rc" 1
has "a file of this name: said" "$said" "x.hprof: File exists"
rm x.hprof
mkdir x.hprof.bitmaps
run "$capture" -s "$serial" -q 4821 -o x.hprof
has "a folder of its pictures: said" "$said" "x.hprof.bitmaps: File exists"
rmdir x.hprof.bitmaps
run "$capture" -s "$serial" -q 4821 -o nowhere/x.hprof
is "no such folder: status" "$rc" 1
has "no such folder: said" "$said" "nowhere/x.hprof: cannot be written: No such file or directory"
: >x.file
for output in '' x.file/x.hprof; do
	: >"$device/am.args"
	run "$capture" -s "$serial" -q 4821 -o "$output"
	is "-o '$output': status" "$rc" 1
	has "-o '$output': said" "$said" "cannot be written"
	is "-o '$output': am was not asked" "$(cat "$device/am.args")" ""
done
rm x.file

### Every shape of refusal, and of success
shape() {
	shape=$1 status=$2 parts=$3
	echo "$shape" >"$device/am.shape"
	rm -f x.hprof
	run "$capture" -s "$serial" -q --timeout "${4:-20}" 4821 -o x.hprof
	is "$shape: status" "$rc" "$status"
	case $parts in
	'') is "$shape: nothing is said" "$said" "" ;;
	*) has "$shape: said" "$said" "com.example.app: am dumpheap: ${parts%|*}" "${parts#*|}" ;;
	esac
	if [ "$status" -eq 0 ]; then
		check "$shape: the dump" cmp x.hprof "$device/heap.4821.png"
	else
		check "$shape: no file" test ! -e x.hprof
	fi
	is "$shape: no frame of an exception" "$(grep -c 'at com.android' "$err")" 0
	is "$shape: nothing is left" "$(left)" ""
}
denied='java.lang.SecurityException: Process not debuggable: '
shape no-debug 1 "$denied|com.example.app is not debuggable: install a debuggable build of it"
shape no-debug-old 1 "$denied|com.example.app is not debuggable: install a debuggable build of it"
shape error-0 1 "Error: Could not find process 4821|com.example.app has ended, or was started again"
shape unknown 1 "java.lang.IllegalArgumentException: Unknown process: 4821|com.example.app has ended"
shape failed 1 "HEAP DUMP FAILED on process 4821|the application did not write it"
shape no-room 1 "Error: java.io.IOException: write failed: ENOSPC|there is no room in /data/local/tmp"
shape no-b 1 "Error: Unknown option: -b|a dump without takes --no-pixels"
shape no-g 1 "Error: Unknown option: -g|--no-gc leaves that out"
shape broken 1 "cmd: Failure calling service activity: Broken pipe (32)|com.example.app"
shape hangs 1 "no answer within 2 s|com.example.app" 2
shape late 0 ''
shape pauses 0 ''
rm -f x.hprof
echo silent >"$device/am.shape"
run "$capture" -s "$serial" -q --timeout 2 4821 -o x.hprof
is "nothing is written: status" "$rc" 1
has "nothing is written: said" "$said" "nothing of the dump was written within 2 s"
is "nothing is written: nothing is left" "$(left)" ""
echo cut >"$device/am.shape"
run "$capture" -s "$serial" -q --timeout 2 4821 -o x.hprof
is "cut on the device: status" "$rc" 1
has "cut on the device: said" "$said" "com.example.app: the dump has no end" "it is used as it is"
is "cut on the device: what there is is kept" "$(wc -c <x.hprof)" 3000
is "cut on the device: nothing is left" "$(left)" ""
rm -f x.hprof "$device/am.shape"

### The way here
echo 20000 >"$device/pull.cut"
run "$capture" -s "$serial" -q 4821 -o x.hprof
is "a pull that fails: status" "$rc" 1
has "a pull that fails: said" "$said" "adb pull: " "read failed: I/O error"
is "a pull that fails: nothing is left" "$(left)$(ls)" ""
rm "$device/pull.cut"
echo 30 >"$device/pull.slow"
run "$capture" -s "$serial" -q --timeout 2 4821 -o x.hprof
is "a pull that stands still: status" "$rc" 1
has "a pull that stands still: said" "$said" "not a byte came for 2 s"
is "a pull that stands still: nothing is left" "$(left)$(ls)" ""
rm "$device/pull.slow"

### A device that does not say its API level
cp "$device/props" "$tmp/props"
sed -i '/version.sdk/d' "$device/props"
run "$capture" -s "$serial" -q 4821 -o x.hprof
is "no API level: status" "$rc" 0
has "no API level: said" "$said" "$serial: its API level is not known: neither is garbage collected, nor are pictures fetched"
is "no API level: am is asked for what all know" "$(asked "$device")" "dumpheap 4821 FILE"
rm x.hprof
run "$capture" -s "$serial" -q --no-gc --no-pixels 4821 -o x.hprof
is "no API level, nothing that needs it: nothing is said" "$rc$said" 0
rm x.hprof
run "$capture" -s "$serial" -q --pixels-for "$dump" 4821 -o x.pftrace
is "no API level, pixels for a dump: status" "$rc" 1
has "no API level, pixels for a dump: said" "$said" "$serial: its API level is not known, which decides how pictures are fetched"
cp "$tmp/props" "$device/props"

### Which process
run "$capture" -s "$serial" com.example.gone -o x.hprof
is "no such process: status" "$rc" 1
has "no such process: said" "$said" "com.example.gone: no such process on $serial; it must be running"
run "$capture" -s "$serial" 'com.example.app; echo ~' -o x.hprof
has "a name that no shell may read" "$said" 'com.example.app; echo ~: no such process'
echo '6000 com.example.app' >>"$device/processes"
run "$capture" -s "$serial" com.example.app -o x.hprof
is "two of one name: status" "$rc" 2
has "two of one name: said" "$said" "com.example.app: 2 processes" "  4821" "  6000"
sed -i '/^6000/d' "$device/processes"

# Names that are made to do something: to a shell, or to the terminal that they are shown on (CSI of 7 and of 8 bits).
# shellcheck disable=SC2016 # no shell expands it
odd='$(touch${IFS}here) `touch here` '"it's"
printf '6001 %s\n6002 a\033[31mb\302\2332Jc\n' "$odd" >>"$device/processes"
cp "$device/heap.4821.png" "$device/heap.6001.png"
: >"$device/jdwp/6001"
: >"$device/jdwp/6002"
run "$capture" -s "$serial"
has "odd names: as they are, but for what a terminal obeys" "$(cat "$tmp/stdout")" "  6001  $odd" "  6002  a?[31mb??2Jc"
run "$capture" -s "$serial" "$odd" -o x.hprof
is "odd names: a dump: status" "$rc" 0
has "odd names: a dump: said" "$said" "dumping the heap of $odd"
is "odd names: nothing is left, nothing was run" "$(left)$(find "$device" -name here)" ""
rm x.hprof
run "$capture" -s "$serial" 6002 -o x.hprof
has "odd names: messages" "$said" "dumping the heap of a?[31mb??2Jc" "a?[31mb??2Jc: am dumpheap: "
rm "$device/jdwp/6001" "$device/jdwp/6002"
sed -i '/^600/d' "$device/processes"

run "$capture" -s "$serial" -q
is "without a process: status" "$rc" 0
is "without a process: those that can be dumped" "$(cat "$tmp/stdout")" "$serial  Test 36, API level 36
  4821  com.example.app
  4900  com.example.app:remote"
rc=0
"$capture" -s "$serial" -q >/dev/full 2>"$err" || rc=$?
is "… that nobody can read: status, said" "$rc $(cat "$err")" "1 heapfs-capture: standard output: cannot be written"
run "$capture" -s "$serial" -q -o x.hprof
is "… but with -o: status" "$rc" 2
has "… but with -o: said" "$said" "which process? -s SERIAL and a process's name or id tell"
sed -i 's/^\[ro.debuggable\]: \[0\]/[ro.debuggable]: [1]/' "$device/props"
run "$capture" -s "$serial" -q
is "on a debuggable build: all applications, no native service, Android's own last" "$(sed 1d "$tmp/stdout")" \
	"  4821  com.example.app
  4900  com.example.app:remote
   812  com.example.release
  5000  com.android.settings"

# at_terminal TEXT COMMAND…: a person's answer; what there was on the terminal goes to $said
at_terminal() {
	rc=0
	said=$(python3 - "$@" <<-'END'
		import os, pty, sys
		pid, fd = pty.fork()
		if not pid:
		    os.execvp(sys.argv[2], sys.argv[2:])
		seen, answers = b"", [a + "\n" for a in sys.argv[1].split()]
		while True:
		    try:
		        data = os.read(fd, 4096)
		    except OSError:
		        break
		    seen += data
		    if answers and data.rstrip().endswith(b"]:"):
		        os.write(fd, answers.pop(0).encode())
		sys.stdout.write(seen.decode().replace("\r\n", "\n"))
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
	) || rc=$?
}
at_terminal "7 2" "$capture" -s "$serial" -o x.hprof
is "chosen at a terminal: status" "$rc" 1 # 4900 has no dump here
has "chosen at a terminal: what was shown" "$said" "   1    4821  com.example.app" "   2    4900  com.example.app:remote" \
	"which process? [1]: 7" "a number from 1 to 4"
is "chosen at a terminal: that one" "$(asked "$device")" "dumpheap -g -b png 4900 FILE"
at_terminal 1 "$capture" -s "$serial" -o x.hprof
is "chosen at a terminal: status" "$rc" 0
rm -f x.hprof
at_terminal 1 "$capture" -s "$serial" -o x.hprof --yes
is "not asked with --yes: status" "$rc" 2
lacks "not asked with --yes" "$said" "]:"
cp "$(sample sample)" "$device/heap.4821"
echo 0.3 >"$device/pull.slow"
at_terminal "" "$capture" -s "$serial" --no-pixels 4821 -o -x.hprof
is "a name like an option: status" "$rc" 0
check "a name like an option: the dump" cmp ./-x.hprof "$device/heap.4821"
has "on a terminal there is progress, with a percent" "$said" "heapfs-capture: dumping the heap of com.example.app" \
	"heapfs-capture: bringing 0.4 MB here: 55 %" "heapfs-capture: bringing 0.4 MB here: 74 %"
rm ./-x.hprof "$device/pull.slow"

### Which device
first=$serial
device_make "$tmp/dother" 30
cp "$dump" "$tmp/dother/heap.4821"
device_start "$tmp/dother"
run "$capture" -q com.example.app -o x.hprof
is "two devices: status" "$rc" 2
has "two devices: both are listed, the closed one too" "$(cat "$tmp/stdout")" "$first  Test 36, API level 36" \
	"$serial  Test 30, API level 30" "$closed  unauthorized: unlock it"
has "two devices: said" "$said" "which device? -s SERIAL"
ANDROID_SERIAL=$serial run "$capture" -q --no-pixels com.example.app -o x.hprof
is "ANDROID_SERIAL tells: status" "$rc$said" 0
rm x.hprof
run "$capture" -q -s nobody com.example.app -o x.hprof
is "no such device: status" "$rc" 1
has "no such device: said" "$said" "nobody: adb knows no such device; it knows:" "$first  Test 36"

### Which adb
mkdir -p "$tmp/sdk/platform-tools" "$HOME/Android/Sdk/platform-tools"
for where in "$tmp/sdk" "$HOME/Android/Sdk"; do
	# One that leaves a child behind which holds the pipe, as adb does when it starts its server.
	printf '#!/bin/sh\necho "%s" >>"%s/used"\nsleep 20 &\nexec %s "$@"\n' "$where" "$tmp" "$(command -v adb)" \
		>"$where/platform-tools/adb"
	chmod +x "$where/platform-tools/adb"
done
begun=$(date +%s)
ANDROID_HOME=$tmp/sdk run "$capture" -q -s "$serial"
is "ANDROID_HOME: its adb" "$(sort -u "$tmp/used")" "$tmp/sdk"
check "an adb that leaves a child behind holds nobody up" test $(($(date +%s) - begun)) -lt 15
rm "$tmp/used"
ANDROID_HOME=$tmp/nothing ANDROID_SDK_ROOT=$tmp/sdk run "$capture" -q -s "$serial"
is "ANDROID_SDK_ROOT: its adb" "$(sort -u "$tmp/used")" "$tmp/sdk"
rm "$tmp/used"
run "$capture" -q -s "$serial"
is "below HOME: its adb" "$(sort -u "$tmp/used")" "$HOME/Android/Sdk"
rm -r "$HOME/Android"
run env PATH=/nonexistent "$capture"
is "no adb: status" "$rc" 1
has "no adb: what to do" "$said" "adb is not there" "install Android's platform tools"

### Pictures for a dump that was made before: of the process that fits it best
adb disconnect "$closed" >/dev/null
was=$(sample sample) # Pixel 9, API level 35, com.example.app
before=$(sample bitmaps-35-without)
pack=$builddir/heapfs-pack
sed -i 's/^\[ro.product.model\]: .*/[ro.product.model]: [Pixel 9]/; s/\(version.sdk\]: \).*/\1[35]/' "$tmp/dother/props"
device_make "$tmp/dsame" 35
sed -i 's,^\(\[ro.build.fingerprint\]: \).*,\1[google/tokay/tokay:15/AP4A.250205.002/12821496:user/release-keys],' "$tmp/dsame/props"
cp "$before" "$tmp/dsame/heap.4821"
cp "$pictures" "$tmp/dsame/heap.4821.png"
device_start "$tmp/dsame"
run "$capture" -q --pixels-for "$was"
is "pixels for a dump: the choice: status" "$rc" 0
has "pixels for a dump: what it is of" "$said" "$was is of com.example.app, on Pixel 9, API level 35"
is "pixels for a dump: the choice, what fits best first" "$(cat "$tmp/stdout")" "$serial  Test 35, API level 35, same build
  4821  com.example.app, same process
  4900  com.example.app:remote, same package
127.0.0.1:$(cat "$tmp/dother/port")  Pixel 9, API level 35, same model and Android version
  4821  com.example.app, same process
  4900  com.example.app:remote, same package
$first  Test 36, API level 36, another device
  4821  com.example.app, same process
  4900  com.example.app:remote, same package
   812  com.example.release
  5000  com.android.settings"
run "$capture" -q --pixels-for "$was" -o x.pftrace
is "pixels for a dump, nobody chooses: status" "$rc" 2
has "pixels for a dump, nobody chooses: what to pass" "$said" "which device? -s SERIAL and a process's name or id tell; --yes takes"
run "$capture" -q --pixels-for "$was" -o x.pftrace --yes
is "pixels for a dump, the best: status" "$rc" 0
is "pixels for a dump: no collection of garbage" "$(asked "$tmp/dsame")" "dumpheap -b png 4821 FILE"
is "pixels for a dump: nothing is left" "$(left)" ""
run "$heapfs" x.pftrace "$mnt"
has "pixels for a dump: there is no dump in it" "$said" "a Perfetto trace without a heap dump"
# Traces can be put behind one another: with a dump of the same process there is something to mount, and all pictures show.
"$pack" "$before" --pid 4821 -o x.dump.pftrace
cat x.dump.pftrace x.pftrace >x.both.pftrace
sums() { find "$@" -maxdepth 1 -name '0x*' -exec md5sum {} + | sed 's, .*/, ,; s,-[^ .]*\.,.,' | sort; }
mount_dump x.both.pftrace && sums "$mnt/bitmaps/trace" >"$tmp/came" && unmount
mount_dump "$tmp/dsame/heap.4821.png" && sums "$mnt/bitmaps" "$mnt/bitmaps/refused" >"$tmp/expected" && unmount
is "pixels for a dump: they are those of the second dump" "$(cat "$tmp/came")" "$(cat "$tmp/expected")"
is "… all of them" "$(wc -l <"$tmp/came")" 12
rm x.*

sed -i '/^4821/d' "$tmp/dsame/processes"
at_terminal "2 1" "$capture" -q --pixels-for "$was" -o x.pftrace
has "pixels for a dump, chosen at a terminal" "$said" "   1  $serial  Test 35, API level 35, same build" "which device? [1]: 2" \
	"   1    4821  com.example.app, same process"
is "pixels for a dump, chosen at a terminal: that device" "$(asked "$tmp/dother")" "dumpheap -b png 4821 FILE"
rm -f x.pftrace
sed -i '/com.example.app/d' "$tmp/dsame/processes"
echo late >"$tmp/dother/am.shape"
cp "$pictures" "$tmp/dother/heap.4821.png"
run "$capture" -q --pixels-for "$was" -o x.pftrace --yes
is "pixels for a dump, the best device has no such process: the next one" "$rc $(wc -l <"$tmp/dother/am.args")" "0 3"
rm -f x.pftrace
run "$capture" -q --pixels-for "$was" -o x.pftrace --yes 5000
is "pixels for a dump, the best device that has a process that was named" "$(asked "$tmp/dsame")" "dumpheap -b png 5000 FILE"
run "$capture" -q --pixels-for "$was" -o x.pftrace --yes com.example.gone
is "pixels for a dump, no device has it: status" "$rc" 1
has "pixels for a dump, no device has it: said" "$said" "com.example.gone: no process of it runs on any device"
run "$capture" -q -s "$serial" --pixels-for "$was" -o x.pftrace --yes
is "pixels for a dump, it does not run: status" "$rc" 1
has "pixels for a dump, it does not run: said" "$said" "com.example.app: no process of it runs on $serial; start the application"
run "$capture" -q -s "$first" --pixels-for "$was" -o x.pftrace 5000
has "pixels for a dump, of a process that was named" "$(asked "$tmp/d36")" "dumpheap -b png 5000 FILE"
cp "$before" "$tmp/d36/heap.4821.png"
run "$capture" -q -s "$first" --pixels-for "$was" -o x.pftrace 4821
is "pixels for a dump, there are none: status" "$rc" 1
has "pixels for a dump, there are none: said" "$said" "com.example.app: there was not a single picture: nothing is written"
is "pixels for a dump, there are none: nothing is left" "$(left)$(ls)" ""

run "$capture" -q --pixels-for "$was" -o x.hprof
is "pixels for a dump, not as a trace: status" "$rc" 2
has "pixels for a dump, not as a trace: said" "$said" "-o x.hprof: pictures alone are written as a Perfetto trace"
run "$capture" -q --pixels-for "$(sample jvm)" -o x.pftrace
is "pixels for a Java dump: status" "$rc" 1
has "pixels for a Java dump: said" "$said" "it has no android.graphics.Bitmap"
run "$capture" -q --pixels-for "$(sample bitmaps-24)" -o x.pftrace --yes
is "pixels for a dump that has them: status" "$rc" 1
has "pixels for a dump that has them: said" "$said" "before Android 8 (API level 26) the pixels are in the dump already"
"$pack" "$was" --pid 10 -o x.10.pftrace
"$pack" "$was" --pid 11 -o x.11.pftrace
cat x.10.pftrace x.11.pftrace >x.both.pftrace
run "$capture" -q --pixels-for x.both.pftrace -o x.pftrace
is "pixels for two dumps: status" "$rc" 1
has "pixels for two dumps: what to do" "$said" "x.both.pftrace: the file holds 2 heap dumps" "heapfs -o dump=1 --export raw.hprof"
run "$heapfs" -o dump=1 --export raw.hprof x.both.pftrace
check "… which does it" cmp "$tmp/stdout" "$was"
rm x.*
run "$capture" -q --pixels-for "$tmp/nothing" -o x.pftrace
is "pixels for no dump: status" "$rc" 1
has "pixels for no dump: said" "$said" "heapfs-capture: $tmp/nothing: cannot open: No such file"
plan
