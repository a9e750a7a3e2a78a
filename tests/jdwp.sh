#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pictures of a running application by JDWP, with a Java virtual machine as the peer. The application stands still unless
# it is nudged, which it counts in "beats"; after each case it must run on, and take another debugger.
# shellcheck disable=SC2034 # for lib.sh
without_mount=yes
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

bin=${JAVA_HOME:+$JAVA_HOME/bin/}
if ! command -v "${bin}javac" >/dev/null || ! command -v "${bin}jdb" >/dev/null; then
	skip_all "no Java development kit here (JAVA_HOME, PATH)"
fi

out=$tmp/out	# what the application says
log=$tmp/log	# what the client says
java=$tmp/java
mkdir "$java" "$tmp/int"
"${bin}javac" -d "$java" -sourcepath "$srcdir/tests/java" "$srcdir/tests/java/Host.java"

# with CLASSES OPTION KIND:SIZE…: starts an application
with() {
	classes=$1 option=$2
	shift 2
	rm -f "$tmp/in" "$out"
	mkfifo "$tmp/in"
	exec 3<>"$tmp/in"
	"${bin}java" -Xmx128m -XX:TieredStopAtLevel=1 -Djava.awt.headless=true "$option" \
		-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0 -cp "$classes" Host "$@" \
		<"$tmp/in" >"$out" 2>&1 3>&- &
	app=$!
	started="$started $app"
	# A machine at work may need more than the usual five seconds.
	until_true grep -qs ready "$out" || until_true grep -qs ready "$out" || until_true grep -qs ready "$out" && return 0
	fail "the application starts" "$(cat "$out")"
}
host() { with "$java" -Dsleep=400 "$@"; }

# Its input ends, and so does it.
leave() {
	exec 3>&-
	ended=0
	wait "$app" || ended=$?
	[ "$ended" -eq "${1:-0}" ] || fail "the application ends by itself" "status $ended" "$(cat "$out")"
}

port() { sed -n 's/^Listening for transport dt_socket at address: //p' "$out" | tail -n 1; }
listens() { grep -c '^Listening' "$out" || :; }
beats() { grep -c '^beat' "$out" || :; }
more() { [ "$("$1")" -gt "$2" ]; }
got() { sed -n "s/^$1: //p" "$log"; }
# client COMMAND [KEY=VALUE…]: its status is in $rc, what it said in $log
client() {
	what=$1
	shift
	rc=0
	timeout 60 "$builddir/tests/jdwp_fetch" "$what" "$(port)" "$@" >"$log" 2>&1 || rc=$?
}
# fetch [KEY=VALUE…]: with a nudge
fetch() {
	before=$(listens)
	client fetch nudge="$tmp/in" "$@"
}
# No debugger is at it any more, nothing in it waits.
runs_on() {
	beat=$(beats)
	echo >&3
	if ! until_true more beats "$beat" || ! until_true more listens "$before"; then
		fail "$1: the application runs on, and waits for a debugger" "$(cat "$out")"
		return 0
	fi
	cp "$log" "$tmp/kept"
	client probe
	is "$1: the application runs on, and takes another debugger" "$(got end)$(got error)" "done"
	mv "$tmp/kept" "$log"
	until_true more listens $((before + 1)) || fail "$1: the application lets go of it" "$(cat "$out")"
}
pictures() { sed -n 's/^picture: .*0001\(...\) \([^ ]*\) .*/\1:\2/p' "$log" | tr '\n' ' '; }
# counts ALL RECYCLED WITHOUT DRAWABLE FETCHED FAILED LEFT: the line of them
counts() {
	echo "all $1, recycled $2, without $3, unasked 0, drawable $4, fetched $5, failed $6, left $7"
}

### What comes is what compress() makes, and nothing else
host usual:64x48 recycled:30x30 throws:90x90 nothing:31x31 wrong:20x20 usual:0x7 refuses:7x7 prose:6x6 cut:40x40 \
	noise:500x700 usual:1x1
mkdir "$tmp/got" "$tmp/expected"
fetch folder="$tmp/got"
is "usual: ends well" "$rc $(got end) $(got error)" "0 done "
is "usual: each bitmap is counted" "$(got counts)" "$(counts 11 1 2 8 3 5 0)"
is "usual: largest first" "$(pictures)" "900:500x700 000:64x48 a00:1x1 "
is "usual: the first failure is told" "$(got failure)" "0xb400007b90001200: the call threw java.lang.IllegalStateException"
has "usual: which virtual machine" "$(got vm)" "64-Bit Server VM "
is "usual: one nudge, progress after each and before" "$(got nudges) $(got tells)" "1 9"
runs_on usual
printf '%s\n' "$tmp/expected" >&3
until_true grep -q written "$out" || fail "usual: the application writes them, too" "$(cat "$out")"
for file in "$tmp/got"/*; do
	check "usual: ${file##*/} is what the application itself writes" cmp "$file" "$tmp/expected/${file##*/}"
done
is "usual: bytes" "$(got bytes)" "$(cat "$tmp/got"/* | wc -c)"

fetch
is "again: the same" "$(got end) $(got counts)" "done $(counts 11 1 2 8 3 5 0)"
runs_on again

### Budgets
size() { wc -c <"$tmp/got/0xb400007b90001$1.png"; }
fetch budget_bytes=$(($(size 900) - 1))
is "one larger than the budget of bytes: the others come" "$(got end) $(pictures)" "bytes 000:64x48 a00:1x1 "
is "… and it is counted" "$(got counts)" "$(counts 11 1 2 8 2 5 1)"
runs_on "one larger than the budget"
fetch budget_bytes=$(($(size 900) + $(size 000) - 1))
is "one that does not fit any more ends it" "$(got end) $(got counts)" "bytes $(counts 11 1 2 8 1 1 6)"
runs_on "one that does not fit"
fetch budget_ms=0
is "no time at all: nothing is asked" "$(got end) $(got counts)" \
	"time all 11, recycled 0, without 0, unasked 11, drawable 0, fetched 0, failed 0, left 0"
runs_on "no time"
fetch stop=2
is "the caller has enough" "$(got end) $(pictures)" "stopped 900:500x700 000:64x48 "
runs_on "the caller has enough"

### Who else is there
mkfifo "$tmp/jdb"
exec 4<>"$tmp/jdb"
before=$(listens)
: >"$tmp/jdb.out"
"${bin}jdb" -attach "127.0.0.1:$(port)" <"$tmp/jdb" >"$tmp/jdb.out" 2>&1 3>&- 4>&- &
jdb=$!
started="$started $jdb"
until_true grep -q '^Initializing jdb' "$tmp/jdb.out" || until_true grep -q '^Initializing jdb' "$tmp/jdb.out" ||
	fail "jdb attaches" "$(cat "$tmp/jdb.out")"
client fetch nudge="$tmp/in" connect_ms=2000
is "another debugger is attached" "$(got end)" refused
has "… and the message tells what is there" "$(got error)" "no connection to 127.0.0.1:$(port): Connection refused"
exec 4>&-
wait "$jdb" || :
until_true more listens "$before"
fetch
is "… and gone: pictures come" "$(got end) $(got counts)" "done $(counts 11 1 2 8 3 5 0)"
runs_on "after another debugger"
leave
client fetch
is "no application" "$(got end)" refused

### Threads
# With only the event's thread running, compress() would wait for ever.
host usual:9x9 locked:64x64
fetch command_ms=8000
is "a lock that another thread must give up" "$(got end) $(got counts)" "done $(counts 2 0 0 2 2 0 0)"
runs_on "a lock"
# In idle virtual machines a thread of the system wakes up once a minute or so.
before=$(listens)
client fetch safe_ms=700
is "no nudge" "$(got end) $(pictures)" "idle "
has "no nudge: the message tells what to do" "$(got error)" "ran no code within 1 s: bring it to the front"
runs_on "no nudge"
leave

### Garbage collection
host
fetch
is "Bitmap was never loaded" "$(got end) $(got nudges)" "no bitmaps 0"
runs_on "no bitmaps"
is "nothing collects by itself" "$(grep -c garbage "$out")" 0
before=$(listens)
client gc nudge="$tmp/in"
is "garbage collection" "$(got end)$(got error)" "done"
runs_on "garbage collection"
has "garbage collection: weak references are cleared" "$(grep '^beat' "$out" | tail -n 1)" "garbage was collected"
leave

### Applications that take their time, or end
host usual:64x64 slow:50x50 slow:40x40 slow:30x30
fetch budget_ms=500
fetched=$(got counts | sed 's/.* fetched \([1-3]\),.*/\1/') # 2, where the machine is not very slow
is "the budget of time" "$(got end) $(got counts)" "time $(counts 4 0 0 4 "$fetched" 0 $((4 - fetched)))"
runs_on "the budget of time"
fetch command_ms=300
is "no answer in time: what came is kept" "$(got end) $(got counts)" "silent $(counts 4 0 0 4 1 0 3)"
has "no answer in time: a message" "$(got error)" "did not answer in time"
runs_on "no answer in time"

# interrupted SIGNAL: once the first picture came
interrupted() {
	before=$(listens)
	rm -f "$log"
	"$builddir/tests/jdwp_fetch" fetch "$(port)" nudge="$tmp/in" >"$log" 2>&1 3>&- &
	fetching=$!
	started="$started $fetching"
	until_true grep -qs '^picture' "$log"
	kill "-$1" "$fetching"
	ended=0
	wait "$fetching" || ended=$?
}
interrupted TERM
is "interrupted: ends at once" "$ended $(got end) $(got counts)" "0 cancelled $(counts 4 0 0 4 1 0 3)"
runs_on interrupted
interrupted KILL
is "killed" "$ended" 137
runs_on killed
leave

host usual:64x64 dies:50x50 usual:40x40
fetch
is "the virtual machine ends half-way: what came is kept" "$(got end) $(got counts) $(pictures)" \
	"gone $(counts 3 0 0 3 1 0 2) 000:64x64 "
has "… and a message" "$(got error)" "the connection was closed"
leave 137

host recycled:64x64
fetch
is "nothing that can be drawn" "$(got end) $(got counts)" "done $(counts 1 1 0 0 0 0 0)"
runs_on "nothing that can be drawn"
leave

### As up to Android 4.4: the pointer is an int
mkdir -p "$tmp/old/android/graphics"
cp "$srcdir/tests/java/Host.java" "$tmp/old/"
sed 's/long mNativePtr/int mNativeBitmap/; s/mNativePtr/mNativeBitmap/g; s/(long) pointer/(int) pointer/' \
	"$srcdir/tests/java/android/graphics/Bitmap.java" >"$tmp/old/android/graphics/Bitmap.java"
"${bin}javac" -d "$tmp/int" -sourcepath "$tmp/old" "$tmp/old/Host.java"
with "$tmp/int" -Dsleep=0 usual:3x2 nothing:3x3
fetch
is "a pointer of 32 bits" "$(got end) $(got counts) $(grep '^picture' "$log" | cut -d ' ' -f 2,3)" \
	"done $(counts 2 0 1 1 1 0 0) 0x90001000 3x2"
runs_on "a pointer of 32 bits"
bytes=$(got bytes)
fetch budget_bytes="$bytes"
is "a budget of bytes that just suffices" "$(got end) $(got counts)" "done $(counts 2 0 1 1 1 0 0)"
leave

plan
