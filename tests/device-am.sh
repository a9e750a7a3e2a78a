# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# `am` of a device for tests (device.sh), run by the device's shell. What it does stands in files of the device's folder:
#
#   am.shape     how dumpheap goes: see below; none: it waits until the dump is written
#   am.seconds   how long writing takes (0.2)
#   heap.PID     the dump; heap.PID.FORMAT with pictures; heap.PID.rest what is left of garbage without -g
#   am.args      is written: the arguments, a line a call
#
# Shapes and texts: ActivityManagerShellCommand.runDumpHeap of Android 9 to 15, and what Android 5 to 8 printed.

# shellcheck disable=SC2154 # of the device's shell
echo "$*" >>"$device/am.args"
[ "$1" = dumpheap ] || { echo "Error: unknown command '$1'"; exit 255; }
shift
sdk=$(sed -n 's/^\[ro.build.version.sdk\]: \[\(.*\)\]$/\1/p' "$device/props")
shape=$(cat "$device/am.shape" 2>/dev/null)
seconds=$(cat "$device/am.seconds" 2>/dev/null || echo 0.2)
gc='' format=''
while :; do
	case $1 in
	-g)
		if [ "$sdk" -lt 27 ] || [ "$shape" = no-g ]; then
			echo "Error: Unknown option: -g"
			exit 255
		fi
		gc=yes
		;;
	-b)
		if [ "$sdk" -lt 35 ] || [ "$shape" = no-b ]; then
			echo "Error: Unknown option: -b"
			exit 255
		fi
		shift
		format=$1
		;;
	*) break ;;
	esac
	shift
done
pid=$1 file=$root$2
dump=$device/heap.$pid${format:+.$format}
[ -n "$gc" ] || [ ! -e "$dump.rest" ] || dump=$dump.rest

# As the application writes it, in a session of its own: it goes on whatever becomes of am.
write() {
	# shellcheck disable=SC2016 # the inner shell expands it
	exec setsid sh -c '
		size=$(stat -c %s "$1")
		for part in 0 1 2 3; do
			sleep "$3"
			dd if="$1" bs=$((size / 4 + 1)) skip=$part count=1 status=none
		done >>"$2"' - "$dump" "$file" "$(awk -v all="$seconds" 'BEGIN { print all / 4 }')" </dev/null >/dev/null 2>&1
}

trace() { # of a Java exception
	echo "	at com.android.server.am.ActivityManagerService.dumpHeap(ActivityManagerService.java:13371)"
	echo "	at android.os.Binder.execTransact(Binder.java:951)"
}

case $shape in
no-debug) # Android 10 and later
	echo "File: $2"
	echo
	echo "Exception occurred while executing 'dumpheap':"
	echo "java.lang.SecurityException: Process not debuggable: ProcessRecord{1c4 $pid:com.example.release/u0a85}"
	trace
	exit 255
	;;
no-debug-old) # before it, with status 0 as am was a script
	echo "java.lang.SecurityException: Process not debuggable: ProcessRecord{1c4 $pid:com.example.release/u0a85}"
	trace
	exit 0
	;;
error-0)
	echo "Error: Could not find process $pid"
	exit 0
	;;
unknown)
	echo "Exception occurred while executing 'dumpheap':" >&2
	echo "java.lang.IllegalArgumentException: Unknown process: $pid" >&2
	trace >&2
	exit 255
	;;
failed)
	echo "File: $2"
	: >"$file"
	echo "Waiting for dump to finish..."
	echo "HEAP DUMP FAILED on process $pid"
	exit 255
	;;
broken) # the system's server ends in the midst of it
	echo "File: $2"
	echo "Waiting for dump to finish..."
	echo "cmd: Failure calling service activity: Broken pipe (32)"
	exit 224
	;;
no-room)
	echo "Error: java.io.IOException: write failed: ENOSPC (No space left on device)"
	exit 255
	;;
silent) # a frozen application: am returns, nothing is written
	: >"$file"
	exit 0
	;;
hangs)
	: >"$file"
	exec sleep 1000
	;;
late) # Android 8: am returns at once
	: >"$file"
	write &
	exit 0
	;;
pauses) # its size holds for longer than a look, before it is whole
	size=$(stat -c %s "$dump")
	head -c $((size / 2)) "$dump" >"$file"
	# shellcheck disable=SC2016 # the inner shell expands it
	setsid sh -c 'sleep 1.6; tail -c +"$3" "$1" >>"$2"' - "$dump" "$file" $((size / 2 + 1)) </dev/null >/dev/null 2>&1 &
	exit 0
	;;
cut)
	head -c 3000 "$dump" >"$file"
	exit 0
	;;
esac
echo "File: $2"
: >"$file"
echo "Waiting for dump to finish..."
(write)
