#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# heapfs-capture --loli against devices of our own (device.sh): what LoliProfiler's agent sent once, sent again behind a port
# of the device (loli_agent.py), is saved as LoliProfiler saved it, and mounted; memory, screen and mappings beside it;
# how it ends, lost connections, lives one after another, and the agent loaded into a Java VM by its debugger's connection.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"
# shellcheck source=tests/device.sh
. "$srcdir/tests/device.sh"

loli=$corpus/loli
[ -d "$loli" ] || skip_all "no corpus here"
grep -q '^#define HAVE_LZ4' "$builddir/config.h" || skip_all "built without liblz4"
capture=$builddir/heapfs-capture
mkdir "$tmp/out"
cd "$tmp/out"
device_make "$tmp/d29" 29
device=$tmp/d29
python3 "$srcdir/tests/loli_saved.py" "$loli/tools" smaps "$loli/base_mono.loli" >"$tmp/smaps"
python3 "$srcdir/tests/loli_saved.py" "$loli/tools" smaps "$loli/nostack.loli" >"$tmp/smaps.nostack"

### What a capture asks of the device

tool "$device" dumpsys <<'END'
	echo "$*" >>"$device/dumpsys.args"
	[ "$1 $2" = "meminfo --package" ] || exit 0
	[ ! -e "$device/meminfo.fails" ] || { echo "No process found for: $3"; exit 0; }
	cat <<-TEXT
		Applications Memory Usage (in Kilobytes):
		Uptime: 123 Realtime: 456

		** MEMINFO in pid 4821 [$3] **
		                   Pss  Private  Private  SwapPss     Heap     Heap     Heap
		                 Total    Dirty    Clean    Dirty     Size    Alloc     Free
		                ------   ------   ------   ------   ------   ------   ------
		  Native Heap    89088    89000        0        0   100000    90000    10000
		  Dalvik Heap     5000     4900        0        0     9000     5000     4000
		      Gfx dev    40960    40960        0        0
		    EGL mtrack   27648    27648        0        0
		     GL mtrack   60416    60416        0        0
		      Unknown    14336    14000        0        0
		        TOTAL   289792   280000     2000        0   109000    95000    14000

		 App Summary
		                       Pss(KB)
		        Native Heap:    70000
		           Unknown:      1
		             TOTAL:   289792
	TEXT
END
tool "$device" screencap <<'END'
	[ ! -e "$device/screencap.fails" ] || exit 1
	printf '\211PNG\r\n\032\nabcd'
END
# Without run-as.PID, as for an application that is not debuggable.
tool "$device" run-as <<'END'
	package=$1
	shift
	[ -e "$device/debuggable" ] || { echo "run-as: package not debuggable: $package" >&2; exit 1; }
	case $* in
	"cat /proc/"*"/smaps") exec cat "$device/smaps.${2#/proc/}" 2>/dev/null || exit 1 ;;
	esac
	mkdir -p "$root/data/data/$package"
	cd "$root/data/data/$package"
	[ ! -e "$device/run-as.slow" ] || [ "$1" != sh ] || { "$@"; exec sleep 60; }
	exec "$@"
END
tool "$device" rm <<'END'
	for file; do
		case $file in
		-*) ;;
		/data/*) rm -f "$root$file" ;;
		*) rm -f "$file" ;;
		esac
	done
END
for name in cat chmod touch; do
	# shellcheck disable=SC2016 # the device's shell expands it
	printf 'first=$1\n[ %s != chmod ] || shift\n[ %s != chmod ] || set -- "$first" "$root$1"\n[ %s = chmod ] || set -- "$root$1"\nexec %s "$@"\n' \
		"$name" "$name" "$name" "$name" | tool "$device" "$name"
done
tool "$device" monkey <<'END'
	echo "$*" >>"$device/monkey.args"
	echo "6001 $2" >>"$device/processes"
	: >>"$device/started"
END
device_start "$device"

# agent STREAM [KEY=VALUE…]: one that answers, until agent_end
agent() {
	rm -f "$device/ports/7100"
	python3 "$srcdir/tests/loli_agent.py" "$device" "$@" &
	agent=$!
	started="$started $agent"
	until_true test -e "$device/ports/7100"
}
agent_end() {
	kill "$agent" 2>/dev/null || :
	wait "$agent" 2>/dev/null || :
}

nothing_left() { # nothing_left NAME [FILE…]
	message=$1
	shift
	wanted=$(for file; do echo "$file"; done | sort)
	is "$message: files" "$(ls)" "$wanted"
	is "$message: nothing is left on the device, or in the adb server" "$(find "$device/root" -type f; adb forward --list)" ""
	is "$message: nor in the temp folder" "$(find "$TMPDIR" -mindepth 1 ! -name 'adb*.log')" ""
	rm -f x*
}

saved() { # saved NAME ARGUMENT…: tests/loli_saved.py finds no difference
	saved_as=$1
	shift
	compared "$saved_as" python3 "$srcdir/tests/loli_saved.py" "$loli/tools" "$@"
}

### Attached, for a time; the agent writes its mappings

agent "$loli/base_mono.agentstream" "smaps=$tmp/smaps"
run "$capture" -q --loli --app com.example.app --attach --duration 7 -o x.loli --mount "$mnt"
is "attached: status" "$rc" 0
has "attached: what is in it" "$said" "x.loli: 617 allocations of 3456858 bytes; 33921 came, of which 33304 were freed"
lacks "attached: nothing is wrong" "$said" "not known"
saved "attached: as LoliProfiler saved it" compare "$loli/base_mono.loli" x.loli
if is_mounted; then
	is "mounted: no warning" "$(value warnings)" 0
	is "mounted: the series" "$(sed -n 2p "$mnt/timeline.tsv" | cut -f 2-)" "283${TAB}87${TAB}40${TAB}27${TAB}59${TAB}14"
	lines=$(tail -n +2 "$mnt/timeline.tsv" | wc -l)
	check "mounted: a sample a second ($lines in 7 s)" test "$lines" -ge 4 -a "$lines" -le 8
	# From the first byte on, which may be some seconds after the beginning on a machine that is busy.
	is "mounted: a picture each five seconds" "$(cd "$mnt/screenshots" && echo * | sed 's/^000[5-9]s.png$/good/')" good
	unmount
fi
is "the mappings were asked of the agent, by a file that it may write to" "$(grep -c 'shell.*touch /data/local/tmp/smaps.txt' "$device/log")" 1
agent_end
nothing_left "attached" x.loli

### A signal ends it; the mappings by run-as; freed records kept

: >"$device/debuggable"
mkdir "$device/smaps.4821"
cp "$tmp/smaps" "$device/smaps.4821/smaps"
agent "$loli/base_mono.agentstream"
rc=0
timeout -s INT 7 "$capture" --loli --app com.example.app --attach --all -o x.loli 2>"$err" || rc=$?
has "SIGINT: saved" "$(cat "$err")" "33921 allocations of 16068810 bytes; 33921 came, of which 33304 were freed"
saved "--all: all that came" all "$loli/base_mono.agentstream" x.loli
lacks "run-as: the agent is not asked" "$(tail -n 3 "$device/log")" "smaps.txt"
if mount_dump x.loli; then
	is "--all: live, freed" "$(value live) $(value freed)" "617 33304"
	is "SIGINT: with mappings" "$(grep -c 'libUE4.so' "$mnt/smaps.tsv")" 1
	unmount
fi
agent_end
nothing_left "SIGINT" x.loli

### A connection that ends

cut=300007
agent "$loli/base_mono.agentstream" "cut=$cut"
run "$capture" -q --loli --app com.example.app --attach --duration 6 -o x.loli
is "lost: status" "$rc" 1
has "lost: what is said" "$said" "com.example.app: the connection to the agent was lost after" "inside a packet" "x.loli: "
python3 - "$loli/tools" "$loli/base_mono.agentstream" "$cut" x.loli >"$tmp/compared" 2>&1 <<'END' || :
import sys
tools, stream, cut, saved = sys.argv[1:]
sys.path.insert(0, tools)
sys.argv = ['x']
import agent_decode, loli_decode
packets, tail = agent_decode.decode(open(stream, 'rb').read()[:int(cut)])
messages = [message for packet in packets for message in packet[3]]
latest = {}
for message in messages:
    if message[0] == 'free':
        latest[message[2]] = max(latest.get(message[2], 0), message[1])
live = [message[2] for message in messages if message[0] == 'alloc' and message[2] >= latest.get(message[5], 0)]
profile = loli_decode.decode(open(saved, 'rb').read())[0]
print(tail > 0 and [record[1] for record in profile['records']] == live and len(live) > 100)
END
is "lost: what came before is there" "$(cat "$tmp/compared")" True
agent_end
nothing_left "lost" x.loli

# A packet's beginning.
at=$(python3 - "$loli/base_mono.agentstream" <<'END'
import struct, sys
stream = open(sys.argv[1], 'rb').read()
at = 0
while at < 400000:
    at += 4 + struct.unpack_from('<I', stream, at)[0]
print(at)
END
)
agent "$loli/base_mono.agentstream" "drop=$at"
run "$capture" -q --loli --app com.example.app --attach --duration 6 -o x.loli
is "only the connection was lost: status" "$rc" 0
saved "only the connection was lost: one life goes on" compare "$loli/base_mono.loli" x.loli
agent_end
nothing_left "only the connection was lost" x.loli

### The application ends, and comes back: two lives

agent "$loli/base_mono.agentstream" "cut=$at" pause=1
first=$agent
mkdir -p "$device/smaps.4999"
cp "$tmp/smaps.nostack" "$device/smaps.4999/smaps"
(
	wait_for() { while kill -0 "$first" 2>/dev/null; do sleep 0.1; done; }
	wait_for
	sed -i '/^4821 /d' "$device/processes"
	sleep 3
	echo "4999 com.example.app" >>"$device/processes"
	exec python3 "$srcdir/tests/loli_agent.py" "$device" "$loli/nostack.agentstream"
) &
second=$!
started="$started $second"
echo other >x-2.loli # is not overwritten
run "$capture" -q --loli --app com.example.app --attach --duration 16 -o x.loli
is "two lives: status" "$rc" 0
is "two lives: a name that is taken" "$(cat x-2.loli)" other
has "two lives: what is said" "$said" "the connection to the agent was lost" "com.example.app is there again, as process 4999" \
	"x.loli: " "x-3.loli: 575 allocations of 3175066 bytes; 31289 came, of which 30714 were freed"
saved "two lives: the second is as LoliProfiler saved it" compare "$loli/nostack.loli" x-3.loli
kill "$second" 2>/dev/null || :
wait "$second" 2>/dev/null || :
sed -i '/^4999 /d' "$device/processes"
echo "4821 com.example.app" >>"$device/processes"
nothing_left "two lives" x.loli x-2.loli x-3.loli

### Nobody answers, or somebody else

rm -f "$device/ports/7100"
run "$capture" -q --loli --app com.example.app --attach --duration 2 -o x.loli
has "no agent" "$rc $said" "1 " "no agent answers at port 7100 of $serial: is libloli.so in the application"
nothing_left "no agent"
printf 'HTTP/1.1 400 Bad Request\r\n\r\n' >"$tmp/http"
agent "$tmp/http"
run "$capture" -q --loli --app com.example.app --attach --duration 20 -o x.loli
has "another server" "$rc $said" "1 " "this is not what LoliProfiler's agent sends"
agent_end
rm -f x.loli
nothing_left "another server"
run "$capture" -q --loli --app com.example.gone --attach -o x.loli
has "an application that does not run" "$rc $said" "1 " "com.example.gone does not run on $serial; without --attach it is started"
run "$capture" -q --loli --attach -o x.loli
has "no application" "$rc $said" "2 " "--loli needs --app PACKAGE and -o FILE"
run "$capture" -q --loli --app 'x;reboot' --attach -o x.loli
has "a name that is a command" "$rc $said" "2 " "--app x;reboot: may have letters, digits, dots and underscores only"
run "$capture" -q --app com.example.app -o x.loli
has "--app without --loli" "$rc $said" "2 " "--app is not for dumps of applications"
run "$capture" -q --loli --app com.example.app --agent "$tmp/nowhere.so" -o x.loli
has "an agent that is not there" "$rc $said" "1 " "$tmp/nowhere.so: No such file or directory"
nothing_left "refused"

### Memory and screen cannot be had; a process of another name

: >"$device/meminfo.fails"
: >"$device/screencap.fails"
agent "$loli/nostack.agentstream"
run "$capture" -q --loli --app com.example.app --subprocess remote --attach --duration 5 -o x.loli
has "no series, no pictures: saved all the same" "$rc $said" "0 " "no memory series from here on" "x.loli: 575 allocations"
is "a subprocess: whose memory" "$(tail -n 1 "$device/dumpsys.args")" "meminfo --package com.example.app:remote"
has "no mappings: said" "$said" "the mappings are not known"
agent_end
rm -f "$device/meminfo.fails" "$device/screencap.fails"
nothing_left "no series" x.loli

### Started, with the agent loaded by a debugger's connection

if ! command -v javac >/dev/null || ! command -v java >/dev/null; then
	skip "the agent is loaded" "no JDK here"
else
	jdk=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
	mkdir "$tmp/classes" "$tmp/agent"
	cat >"$tmp/classes/Busy.java" <<-'END'
		public class Busy {
			public static void main(String[] args) throws InterruptedException {
				System.out.println("ready");
				while (true)
					Thread.sleep(50);
			}
		}
	END
	cat >"$tmp/agent/agent.c" <<-END
		#include <jni.h>
		#include <stdio.h>
		JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
		{
			FILE *file = fopen("$tmp/agent/loaded", "w");
			fputs("loaded\n", file);
			fclose(file);
			return JNI_VERSION_1_6;
		}
	END
	javac -d "$tmp/classes" "$tmp/classes/Busy.java" >"$tmp/javac" 2>&1
	${CC:-cc} -shared -fPIC -I "$jdk/include" -I "$jdk/include/linux" -o "$tmp/agent/libloli.so" "$tmp/agent/agent.c"
	port=$(free_port)
	java -Xmx32m "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:$port" -cp "$tmp/classes" Busy \
		>"$tmp/busy" 2>&1 &
	started="$started $!"
	until_true grep -qs ready "$tmp/busy"
	echo "$port" >"$device/jdwp/6001"
	tool "$device" am <<-'END'
		echo "$*" >>"$device/am.args"
	END
	sed -i '/com.example.app$/d' "$device/processes"
	mkdir -p "$tmp/data/LoliProfiler" "$device/smaps.6001"
	cp "$tmp/smaps" "$device/smaps.6001/smaps"
	printf 'threshold:128\n' >"$tmp/data/LoliProfiler/loli3.conf"
	agent "$loli/base_mono.agentstream"
	run env XDG_DATA_HOME="$tmp/data" "$capture" -q --loli --app com.example.app --agent "$tmp/agent/libloli.so" --duration 5 -o x.loli
	is "loaded: status" "$rc" 0
	is "loaded: by the VM" "$(cat "$tmp/agent/loaded" 2>&1)" loaded
	is "started: waiting for a debugger, which is taken back" "$(cat "$device/am.args")" "set-debug-app -w com.example.app
clear-debug-app"
	is "started: how" "$(cat "$device/monkey.args")" "-p com.example.app -c android.intent.category.LAUNCHER 1"
	is "LoliProfiler's own configuration, and the agent, were pushed" "$(grep -c '^push /data/local/tmp/\(loli3.conf\|libloli.so\),' "$device/log")" 2
	saved "loaded: as LoliProfiler saved it" compare "$loli/base_mono.loli" x.loli
	nothing_left "loaded" x.loli
	# A signal while it is being put there: it is there, but nobody has said so yet.
	: >"$device/run-as.slow"
	"$capture" -q --loli --app com.example.app --attach --agent "$tmp/agent/libloli.so" -o x.loli 2>"$err" &
	pid=$!
	started="$started $pid"
	check "stopped while it is put there" until_true test -s "$device/root/data/data/com.example.app/libloli.so"
	kill -TERM "$pid"
	wait "$pid" 2>/dev/null || :
	rm "$device/run-as.slow"
	nothing_left "stopped while it is put there"
	# Neither debuggable nor rooted.
	rm "$device/debuggable"
	run "$capture" -q --loli --app com.example.app --attach --agent "$tmp/agent/libloli.so" --duration 5 -o x.loli
	has "not debuggable" "$rc $said" "1 " "the agent cannot be put into its folder: run-as: package not debuggable" \
		"must be a debuggable application, or the device rooted"
	nothing_left "not debuggable"
	# Rooted: su puts it there, and reads the mappings.
	tool "$device" su <<-'END'
		[ "$1" = -c ] || exit 1
		echo "$2" >>"$device/su.lines"
		exec sh -c "$(printf '%s\n' "$2" | sed "s, /data/, $root/data/,g; s,/proc/\([0-9]*\)/smaps,$device/smaps.\1/smaps,")"
	END
	mkdir -p "$device/root/data/data/com.example.app"
	: >"$device/log"
	run "$capture" -q --loli --app com.example.app --attach --agent "$tmp/agent/libloli.so" --duration 3 -o x.loli
	is "rooted: status" "$rc" 0
	is "rooted: by su" "$(cut -d ' ' -f 1-2 "$device/su.lines")" "cp /data/local/tmp/libloli.so
cat /proc/6001/smaps
rm -f"
	lacks "rooted: the agent is not asked for its mappings" "$(cat "$device/log")" "smaps.txt"
	agent_end
	nothing_left "rooted" x.loli
fi
plan
