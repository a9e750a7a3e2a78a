# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# Sourced after lib.sh: small devices (tests/device.py, which says what is in a device's folder), behind an adb server of
# their own. Nothing of this machine's adb is touched: server port, keys and log are in the temp folder.

all_here adb python3

# A port that nobody listens at.
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# shellcheck disable=SC2154 # of lib.sh
mkdir "$tmp/home" "$tmp/temp"
HOME=$tmp/home
TMPDIR=$tmp/temp
ANDROID_ADB_SERVER_PORT=$(free_port)
ADB_LOCAL_TRANSPORT_MAX_PORT=5554 # does not look for emulators, which would be this machine's
ADB_MDNS=0
export HOME TMPDIR ANDROID_ADB_SERVER_PORT ADB_LOCAL_TRANSPORT_MAX_PORT ADB_MDNS
unset ANDROID_HOME ANDROID_SDK_ROOT ANDROID_SERIAL

# On the way out whoever may still ask the server for something ends before it does: a client without a server starts one.
finish() {
	status=$?
	set +e
	for pid in $started; do
		[ "$pid" = "$server" ] || kill -9 "$pid" 2>/dev/null
	done
	adb kill-server 2>/dev/null
	(exit "$status")
	clean
}
listens_at() { grep -q ":$(printf %04X "$1") [0-9A-F]*:0000 0A" /proc/net/tcp /proc/net/tcp6; }

# The server belongs to us, and is in the list of what clean() ends. No client is run before it listens, for the same reason.
adb nodaemon server >"$tmp/adb.log" 2>&1 &
server=$!
started="$started $server"
trap finish EXIT
until_true listens_at "$ANDROID_ADB_SERVER_PORT" || { echo "Bail out! the adb server does not start"; exit 1; }

# tool DEVICE NAME: a program of a device's shell, from standard input. It finds this machine's programs; with a file
# slow.NAME in the device's folder it waits so many seconds first.
tool() {
	{
		# shellcheck disable=SC2016 # the device's shell expands it
		printf '#!/bin/sh\nPATH=$host_path\n[ ! -e "$device/slow.%s" ] || sleep "$(cat "$device/slow.%s")"\n' "$2" "$2"
		cat
	} >"$1/bin/$2"
	chmod +x "$1/bin/$2"
}

# device_make FOLDER SDK: one that has an application, 4821 com.example.app, which can be dumped, and two that cannot:
# 812 com.example.release is not debuggable, 611 media.extractor is native.
device_make() {
	device=$1 sdk=$2
	mkdir "$device" "$device/bin" "$device/jdwp" "$device/ports" "$device/root"
	mkdir -p "$device/root/data/local/tmp"
	echo device >"$device/state"
	[ "$sdk" -lt 24 ] || echo 'shell_v2,cmd' >"$device/features"
	cat >"$device/props" <<-END
		[ro.build.fingerprint]: [test/device/$sdk:user/release-keys]
		[ro.build.version.sdk]: [$sdk]
		[ro.debuggable]: [0]
		[ro.product.model]: [Test $sdk]
	END
	cat >"$device/processes" <<-END
		1 init
		611 media.extractor
		700 system_server
		812 com.example.release
		4821 com.example.app
		4900 com.example.app:remote
		5000 com.android.settings
	END
	cat >"$device/packages" <<-END
		package:com.android.settings
		package:com.example.release
		package:com.example.app
	END
	: >"$device/jdwp/4821"
	: >"$device/jdwp/4900"
	tool "$device" getprop <<-'END'
		[ -z "$1" ] || exec sed -n "s/^\[$1\]: \[\(.*\)\]$/\1/p" "$device/props"
		cat "$device/props"
	END
	tool "$device" pm <<-'END'
		cat "$device/packages"
	END
	if [ "$sdk" -ge 26 ]; then
		tool "$device" ps <<-'END'
			echo '  PID NAME'
			awk '{ id = $1; sub(/^[^ ]* /, ""); printf "%5d %s\n", id, $0 }' "$device/processes"
		END
	else # toolbox: what is given is a name
		tool "$device" ps <<-'END'
			echo 'USER     PID   PPID  VSIZE  RSS     WCHAN    PC         NAME'
			[ $# -eq 0 ] || exit 0
			awk '{ printf "u0_a1     %-5d 197   1034300 51234 ffffffff 00000000 S %s\n", $1, $2 }' "$device/processes"
		END
	fi
	# stat came with toybox, in Android 6.
	[ "$sdk" -lt 23 ] || tool "$device" stat <<-'END'
		[ ! -e "$device/stat.fails" ] || { echo "stat: I/O error" >&2; exit 1; }
		stat "$1" "$2" "$root$3"
	END
	tool "$device" ls <<-'END'
		file=$root$2
		[ -e "$file" ] || { echo "$2: No such file or directory"; exit 1; }
		echo "-rw------- shell    shell     $(stat -c %s "$file") 2015-01-01 10:00 ${2##*/}"
	END
	tool "$device" rm <<-'END'
		rm "$1" "$root$2"
	END
	tool "$device" dumpsys <<-'END'
		echo "Applications Memory Usage (in Kilobytes):"
	END
	# shellcheck disable=SC2154 # of lib.sh
	tool "$device" am <"$srcdir/tests/device-am.sh"
}

# device_start FOLDER: sets `serial`; it is in adb's list then.
device_start() {
	python3 "$srcdir/tests/device.py" "$1" 2>"$1/errors" &
	started="$started $!"
	until_true test -e "$1/port" || { echo "Bail out! the device does not start"; exit 1; }
	serial=127.0.0.1:$(cat "$1/port")
	timeout 20 adb connect "$serial" >"$tmp/connect" 2>&1 &
	# shellcheck disable=SC2016 # the inner shell expands it
	until_true sh -c 'adb devices | grep -q "^$1.$2"' - "$serial" "$(cat "$1/state")" ||
		fail "the device is there" "$(cat "$tmp/connect")" "$(adb devices)"
}

device_stop() {
	adb disconnect "$serial" >/dev/null
}
