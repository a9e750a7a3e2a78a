# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# Sourced first by every script that mounts. Gives a temp folder, mounts in it, TAP output, and leaves nothing
# behind, whichever way the script ends.
#
# A script that can do without mounts sets without_mount=yes first; it is told by can_mount. Others end, or fail.
#
# Environment: builddir and srcdir (set by automake), HEAPFS_CORPUS (real dumps; absent: tests of them skip),
# CI (a test that cannot mount fails there instead of being skipped).

set -eu
LC_ALL=C.UTF-8
TZ=UTC
export LC_ALL TZ
builddir=${builddir:-$(pwd)}
srcdir=${srcdir:-$(pwd)}
heapfs=$builddir/heapfs
# shellcheck disable=SC2034 # for those who source this
corpus=${HEAPFS_CORPUS:-$srcdir/../shared/corpus}
tests=0		# so far
TAB=$(printf '\t')
export TAB

tmp=$(mktemp -d "${TMPDIR:-/tmp}/heapfs-test.XXXXXX")
tmp=$(cd "$tmp" && pwd -P)
mnt=$tmp/mnt	# where mount_dump mounts
err=$tmp/stderr	# what it said
started=	# processes to end on the way out

### The way out

# Mount points below the temp folder, the latest first. The kernel writes blanks and the like as \ooo.
mounts_left() {
	awk -v below="$tmp/" 'index($5, below) == 1 { line[++n] = $5 } END { while (n) print line[n--] }' \
		/proc/self/mountinfo
}

clean() {
	status=$?
	trap - EXIT HUP INT PIPE TERM
	set +e
	cd /
	for pid in $started; do
		kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
		rm -f "/tmp/.java_pid$pid" "/tmp/.attach_pid$pid" /tmp/hsperfdata_*/"$pid" # left by a Java VM that is killed
	done
	mounts_left | while IFS= read -r point; do
		point=$(printf '%b' "$(printf '%s' "$point" | sed 's/\\\([0-7][0-7][0-7]\)/\\0\1/g')")
		umount -l "$point" 2>/dev/null || fusermount3 -uz "$point"
	done
	rm -rf --one-file-system "$tmp"
	exit "$status"
}
trap clean EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
# Or `mount-tree.sh | head` leaves its mount behind.
trap 'exit 141' PIPE
trap 'exit 143' TERM

### TAP

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

pass() {
	tests=$((tests + 1))
	printf 'ok %d - %s\n' "$tests" "$1"
}

# fail MESSAGE [WHAT WAS SEEN…]
fail() {
	tests=$((tests + 1))
	printf 'not ok %d - %s\n' "$tests" "$1"
	shift
	for line; do
		diag "$line" | head -n 30
	done
}

# compared MESSAGE COMMAND…: ends with status 0, which it does where nothing differs, and says how much it compared
compared() {
	message=$1
	shift
	status=0
	seen=$("$@" 2>&1) || status=$?
	case "$status $seen" in
	"0 "[1-9]*compared) pass "$message: $seen" ;;
	*) fail "$message" "status $status" "$seen" ;;
	esac
}

# here TOOL MESSAGE: is it there? Else the test skips, or fails under CI, where all must be.
here() {
	command -v "$1" >/dev/null 2>&1 && return 0
	if [ -n "${CI:-}" ]; then fail "$2" "there is no $1"; else skip "$2" "there is no $1"; fi
	return 1
}

# all_here TOOL…: the same for the whole script
all_here() {
	for tool in "$@"; do
		command -v "$tool" >/dev/null 2>&1 && continue
		[ -n "${CI:-}" ] || skip_all "there is no $tool"
		fail "$tool is there"
		plan
		exit 1
	done
}

# skip MESSAGE WHY: one test
skip() {
	tests=$((tests + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tests" "$1" "$2"
}

# Ends the script without a single test.
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

plan() {
	echo "1..$tests"
}

# is MESSAGE SEEN EXPECTED
is() {
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "seen:     $2" "expected: $3"; fi
}

# has MESSAGE TEXT PART…: each part stands in the text
has() {
	message=$1 text=$2
	shift 2
	for part; do
		case $text in
		*"$part"*) ;;
		*)
			fail "$message" "seen:    $text" "lacking: $part"
			return 0
			;;
		esac
	done
	pass "$message"
}

# lacks MESSAGE TEXT PART
lacks() {
	case $2 in
	*"$3"*) fail "$1" "seen: $2" "should not be there: $3" ;;
	*) pass "$1" ;;
	esac
}

# check MESSAGE COMMAND…: it succeeds
check() {
	message=$1
	shift
	if "$@" >"$tmp/check" 2>&1; then
		pass "$message"
	else
		fail "$message" "status $? of: $*" "$(head -c 4000 "$tmp/check")"
	fi
}

# refused MESSAGE ERROR COMMAND…: it fails, and says so
refused() {
	message=$1 wanted=$2
	shift 2
	if "$@" >"$tmp/check" 2>&1; then
		fail "$message" "succeeded: $*"
	else
		has "$message" "$(head -c 4000 "$tmp/check")" "$wanted"
	fi
}

### Mounts

can_mount=yes
why=
if "$heapfs" --version 2>&1 | grep -q 'without libfuse'; then # ./configure --disable-mount
	can_mount=no
	why="this heapfs was built without libfuse"
elif [ ! -c /dev/fuse ] || ! command -v fusermount3 >/dev/null; then
	can_mount=no
	why="no /dev/fuse or no fusermount3 here"
fi
if [ "$can_mount" = no ] && [ -z "${without_mount:-}" ]; then
	case ${CI:+$why} in
	*fusermount3*)
		echo "1..1"
		echo "not ok 1 - there is /dev/fuse and fusermount3"
		exit 1
		;;
	esac
	skip_all "$why"
fi

is_mounted_at() {
	mounts_left | grep -qxF "$1"
}

is_mounted() {
	is_mounted_at "$mnt"
}

# Runs a command with what it says in $err; its exit status goes to $rc.
run() {
	rc=0
	"$@" >"$tmp/stdout" 2>"$err" </dev/null || rc=$?
	said=$(cat "$err")
}

# mount_dump DUMP [OPTION…]: on $mnt. Waits for nothing: when the command returns 0, the tree is there. Makes the
# folder first, or the next mount would compete with the last one's daemon, which removes what it made.
mount_dump() {
	mounted=$1
	shift
	mkdir -p "$mnt"
	run "$heapfs" "$@" "$mounted" "$mnt"
	[ "$rc" -eq 0 ] && is_mounted && return 0
	fail "mounts ${mounted##*/}" "exit status $rc: $said"
	return 1
}

# At once: no file is open any more when a test is over, except in passing (a daemon that ends).
unmount_at() {
	for again in 1 2 3 4 5; do
		fusermount3 -u "$1" 2>"$tmp/unmount" && return 0
		sleep "0.$again"
	done
	fail "unmounts" "$(cat "$tmp/unmount")"
	return 1
}

unmount() {
	unmount_at "$mnt"
}

# until_true COMMAND…: within 5 seconds
until_true() {
	for pause in 0.01 0.02 0.05 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1; do
		"$@" && return 0
		sleep "$pause"
	done
	"$@"
}

### Dumps

mksample() {
	"$builddir/tests/mksample" "$@"
}

# sample KIND: makes one in the temp folder and prints its name
sample() {
	[ -e "$tmp/$1.hprof" ] || mksample "$1" "$tmp/$1.hprof"
	printf '%s\n' "$tmp/$1.hprof"
}

# object ID: its folder, computed as a reader of the documentation would
object() {
	printf '%s/objects/%x/%x/%s\n' "${root:-$mnt}" $(($1 >> 28)) $((($1 >> 16) & 0xfff)) "$1"
}

# value KEY [FILE]: of a "key: value" file, by default info.txt
value() {
	sed -n "s/^$1: //p" "${2:-$mnt/info.txt}"
}

# column_of CLASS COLUMN: of classes.tsv
column_of() {
	awk -F '\t' -v class="$1" -v column="$2" 'NR == 1 { for (n = 1; n < NF && $n != column;) n++ }
		$1 == class { print $n }' "${root:-$mnt}/classes.tsv"
}
