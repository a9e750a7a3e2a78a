#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# heapfs-capture --jvm: a VM of this user, of another one, and in namespaces of its own; through jcmd and without it. What
# was captured is mounted and compared with the VM's own class histogram; nothing is left behind, whatever fails.
# shellcheck disable=SC2016 # names of classes have a $
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

all_here java javac jcmd
capture=$builddir/heapfs-capture
mkdir "$tmp/classes" "$tmp/out" "$tmp/empty"
chmod 755 "$tmp" "$tmp/classes"
# In the C locale javac would not know UTF-8, which does not matter here.
if ! javac -d "$tmp/classes" "$srcdir/tests/Held.java" >"$tmp/javac" 2>&1; then
	cat "$tmp/javac" >&2
	exit 1
fi

# vm NAME COMMAND…: starts one, with its id in $vm, when it is ready
vm() {
	name=$1
	shift
	"$@" >"$tmp/$name.out" 2>&1 &
	vm=$!
	started="$started $vm"
	if ! until_true grep -qs ready "$tmp/$name.out" && ! until_true grep -qs ready "$tmp/$name.out"; then
		fail "$name: a VM runs" "$(cat "$tmp/$name.out")"
		return 1
	fi
}

# nothing_left MESSAGE FOLDER…: no temporary file or folder of ours there, nor in /tmp, and no file that asks a VM to listen
nothing_left() {
	message=$1
	shift
	left=$(find "$@" -maxdepth 1 \( -name '*.hprof.*' -o -name '*.gz.*' -o -name '.attach_pid*' \)
		find /tmp -maxdepth 1 \( -name 'heapfs-capture.*' -o -name ".attach_pid$vm" \))
	is "$message: nothing is left behind" "$left" ""
}

# whole NAME FILE [AS USER…]: the file is what the VM has, by its own histogram. The VM may do a little of its own in between,
# so there is another try.
whole() {
	name=$1 file=$2
	shift 2
	for try in 1 2 3; do
		if ! "$@" jcmd "$vm" GC.class_histogram >"$tmp/histogram" 2>&1; then
			fail "$name: a histogram" "$(cat "$tmp/histogram")"
			return 0
		fi
		mount_dump "$file" || return 0
		tail -n +2 "$mnt/classes.tsv" >"$tmp/classes.tsv"
		things=$(column_of 'Held$Thing' instances)
		unmount
		LC_ALL=C awk -f "$srcdir/tests/histogram.awk" "$tmp/histogram" "$tmp/classes.tsv" >"$tmp/compared"
		awk -F "$TAB" '$1 != $2 { bad = 1 } END { exit bad }' "$tmp/compared" && break
		[ "$try" -lt 3 ] || break
		rm -f "$file"
		"$capture" -q --jvm "$vm" -o "$file" || :
	done
	is "$name: objects of the program" "$things" 5000
	while IFS="$TAB" read -r seen expected; do
		is "$name: as the VM's own histogram has it" "$seen" "$expected"
	done <"$tmp/compared"
}

### A VM of this user, through jcmd

vm own java -Xmx64m -cp "$tmp/classes" Held || exit 1
own=$vm
run "$capture" -q --jvm "$vm" --all -o "$tmp/out/all.hprof"
is "--all: captured" "$rc $said" "0 "
mount_dump "$tmp/out/all.hprof"
is "--all: what is not live is there, too" "$(column_of 'Held$Garbage' instances)" 300
unmount
run "$capture" --jvm "$vm" -o "$tmp/out/live.hprof"
has "captured, and said what is done" "$rc $said" "0 " "dumping process $vm (java), live objects"
whole "live" "$tmp/out/live.hprof"
mount_dump "$tmp/out/live.hprof"
is "live: what is not live is not there" "$(column_of 'Held$Garbage' instances)" 0
unmount
is "its rights are those of a new file" "$(stat -c %a "$tmp/out/live.hprof")" "$(umask 022 && touch "$tmp/new" && stat -c %a "$tmp/new")"
nothing_left "live" "$tmp/out"
before=$(cksum "$tmp/out/live.hprof")
run "$capture" -q --jvm "$vm" -o "$tmp/out/live.hprof"
has "what is there is not overwritten" "$rc $said" "1 " "live.hprof: File exists"
is "and it is as it was" "$(cksum "$tmp/out/live.hprof")" "$before"
run "$capture" -q --jvm "$vm" -o "$tmp/nowhere/x.hprof"
has "a folder that is not there" "$rc $said" "1 " "nowhere/x.hprof: No such file or directory"
(cd "$tmp/out" && "$capture" -q --jvm "$vm" -o relative.hprof)
check "a path that is relative" test -s "$tmp/out/relative.hprof"
# jcmd would take these apart at blanks and quotes, and newer VMs put their id in for %p.
for name in "a b" "it's" 'a"b' 'a%pb' 'a%%b'; do
	mkdir "$tmp/out/$name"
	run "$capture" -q --jvm "$vm" -o "$tmp/out/$name/$name.hprof"
	is "a path with odd characters: $name" "$rc $said $(head -c 12 "$tmp/out/$name/$name.hprof")" "0  JAVA PROFILE"
	is "a path with odd characters: $name: nothing else is there" "$(ls "$tmp/out/$name")" "$name.hprof"
done
run "$capture" -q --jvm "$vm" --gz -o "$tmp/out/live.gz"
if [ "$rc" -eq 0 ]; then
	is "--gz: a gzip file" "$(head -c 2 "$tmp/out/live.gz" | od -An -tx1 | tr -d ' \n')" 1f8b
	whole "--gz" "$tmp/out/live.gz"
else
	has "--gz: a VM before Java 15" "$rc $said" "1 " "needs a VM of Java 15"
fi
nothing_left "--gz" "$tmp/out"

### What is no VM, or cannot be had

for pid in abc 0 -5 99999999999; do
	run "$capture" --jvm "$pid" -o "$tmp/out/x.hprof"
	has "--jvm $pid: refused" "$rc $said" "1 " "--jvm $pid: must be the id of a process"
done
sleep 600 &
sleeper=$!
started="$started $sleeper"
run "$capture" --jvm "$sleeper" -o "$tmp/out/x.hprof"
has "a process that is no VM" "$rc $said" "1 " "process $sleeper (sleep) is no Java VM"
check "and it is still there" kill -0 "$sleeper"
kill "$sleeper"
wait "$sleeper" 2>/dev/null || :
run "$capture" --jvm "$sleeper" -o "$tmp/out/x.hprof"
has "a process that has ended" "$rc $said" "1 " "there is no process $sleeper"

### A VM that does not answer: the deadline, and signals

kill -STOP "$own"
run "$capture" -q --timeout 1 --jvm "$own" -o "$tmp/out/late.hprof"
has "a VM that does not go on" "$rc $said" "1 " "process $own (java): no dump by jcmd: it does not go on"
for signal in INT TERM HUP; do
	# Not an asynchronous list's: those start with SIGINT ignored.
	rc=0
	timeout -s "$signal" 1 "$capture" --jvm "$own" -o "$tmp/out/late.hprof" 2>"$err" || rc=$?
	has "SIG$signal ends it" "$(cat "$err")" "stopped by signal"
done
is "no file" "$(find "$tmp/out" -name 'late*')" ""
kill -CONT "$own"
nothing_left "given up" "$tmp/out"
run "$capture" -q --jvm "$own" -o "$tmp/out/again.hprof" --mount "$mnt"
is "captured when it goes on" "$rc $said" "0 "
check "--mount: it is there" cmp "$mnt/raw.hprof" "$tmp/out/again.hprof"
unmount

# Nobody has asked this one to listen yet, so jcmd makes a file in its folder, which must not stay when jcmd is ended.
mkdir "$tmp/working"
vm stopped sh -c "cd '$tmp/working' && exec java -Xmx64m -cp '$tmp/classes' Held" || exit 1
kill -STOP "$vm"
"$capture" -q --timeout 60 --jvm "$vm" -o "$tmp/out/late.hprof" 2>"$err" &
pid=$!
started="$started $pid"
check "a VM that does not listen: jcmd asks it to" until_true test -e "$tmp/working/.attach_pid$vm"
kill -TERM "$pid"
wait "$pid" 2>/dev/null || :
has "a VM that does not listen: given up" "$(cat "$err")" "stopped by signal"
nothing_left "a VM that does not listen" "$tmp/out" "$tmp/working"
kill -CONT "$vm"

# Without room for it.
if [ "$(id -u)" -ne 0 ] || ! mkdir "$tmp/full" || ! mount -t tmpfs -o size=100k none "$tmp/full" 2>/dev/null; then
	skip "a full filesystem" "it cannot be mounted here"
else
	run "$capture" -q --jvm "$own" -o "$tmp/full/x.hprof"
	has "a full filesystem: why" "$rc $said" "1 " "No space left on device"
	is "a full filesystem: nothing is left" "$(ls -A "$tmp/full")" ""
	umount "$tmp/full"
fi

### Another user's

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
	skip "another user's VM" "not root, or no setpriv"
else
	nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
	# shellcheck disable=SC2086 # words
	vm nobody $nobody java -Xmx64m -cp "$tmp/classes" Held || exit 1
	chmod 700 "$tmp/out"
	run "$capture" -q --jvm "$vm" -o "$tmp/out/nobody.hprof"
	is "another user's VM: captured" "$rc $said" "0 "
	is "and the file is ours" "$(stat -c %u:%h "$tmp/out/nobody.hprof")" 0:1
	# shellcheck disable=SC2086 # words
	whole "another user's" "$tmp/out/nobody.hprof" $nobody
	# Without setpriv jcmd cannot be run as that user.
	run env PATH="$tmp/empty" JAVA_HOME= "$capture" -q --jvm "$vm" -o "$tmp/out/nobody2.hprof"
	is "without jcmd: captured" "$rc $said" "0 "
	# shellcheck disable=SC2086 # words
	whole "without jcmd" "$tmp/out/nobody2.hprof" $nobody
	run env PATH="$tmp/empty" JAVA_HOME= "$capture" -q --jvm "$vm" --gz --all -o "$tmp/out/nobody.gz"
	if [ "$rc" -eq 0 ]; then
		is "without jcmd, --gz: a gzip file" "$(head -c 2 "$tmp/out/nobody.gz" | od -An -tx1 | tr -d ' \n')" 1f8b
	else
		has "without jcmd, --gz: a VM before Java 15" "$said" "Java 15"
	fi
	mkdir "$tmp/theirs"
	chown 65534 "$tmp/theirs"
	run "$capture" -q --jvm "$vm" -o "$tmp/theirs/x.hprof"
	is "into a folder of that user: captured" "$rc $said" "0 "
	is "into a folder of that user: the file is ours" "$(stat -c %u "$tmp/theirs/x.hprof")" 0
	run setpriv --reuid=1 --regid=1 --clear-groups "$capture" --jvm "$vm" -o "$tmp/theirs/y.hprof"
	has "a third user may not" "$rc $said" "1 " "process $vm (java) is of user " "run heapfs-capture as that user, or as root"
	# jcmd may be that user's own program: no rights, no environment and no terminal of ours.
	cat >"$tmp/empty/jcmd" <<-'END'
		#!/bin/sh
		echo "1:"
		echo "user $(id -u) $(id -G) secret ${SECRET-none} session $(ps -o sid= -p $$ | tr -d ' ') is $PPID"
	END
	chmod 755 "$tmp/empty" "$tmp/empty/jcmd"
	run env SECRET=ours JAVA_HOME= PATH="$tmp/empty:$PATH" "$capture" -q --jvm "$vm" -o "$tmp/out/theirs.hprof"
	has "jcmd is run as that user" "$said" "user 65534 65534 secret none session"
	check "jcmd is run in a session of its own" test "$(printf '%s\n' "$said" | sed 's/.*session \([0-9]*\).*/\1/')" != \
		"$(ps -o sid= -p $$ | tr -d ' ')"
	rm "$tmp/empty/jcmd"
	kill -STOP "$vm"
	run env PATH="$tmp/empty" JAVA_HOME= "$capture" -q --timeout 1 --jvm "$vm" -o "$tmp/out/late.hprof"
	has "without jcmd: a VM that does not go on" "$rc $said" "1 " "process $vm (java): no dump: it does not go on"
	kill -CONT "$vm"
	nothing_left "another user's" "$tmp/out" "$tmp/theirs"
fi

### In namespaces of its own, as in a container

if ! unshare -m -p --fork true 2>/dev/null; then
	skip "a VM in a container" "no namespaces here"
else
	# Its /tmp is its own, so the program comes through a descriptor.
	tar -C "$tmp/classes" -cf "$tmp/classes.tar" .
	vm container unshare -m -p --fork --kill-child --mount-proc sh -c "exec 3<'$tmp/classes.tar' && mount -t tmpfs none /tmp &&
		mkdir /tmp/classes && tar -C /tmp/classes -xf - <&3 && exec java -Xmx64m -cp /tmp/classes Held" || exit 1
	vm=$(pgrep -P "$vm")
	started="$started $vm"
	run "$capture" -q --jvm "$vm" -o "$tmp/out/container.hprof"
	is "in a container: captured" "$rc $said" "0 "
	mount_dump "$tmp/out/container.hprof"
	is "in a container: objects of the program" "$(column_of 'Held$Thing' instances)" 5000
	unmount
	is "in a container: nothing is left behind" "$(find "/proc/$vm/root/tmp" -name 'heapfs*' -o -name '.attach*')" ""
	run "$capture" -q --jvm "$vm" --gz --all -o "$tmp/out/container.gz"
	if [ "$rc" -eq 0 ]; then
		check "in a container: --gz" gzip -t "$tmp/out/container.gz"
	else
		has "in a container: --gz" "$said" "Java 15"
	fi
fi

# Who is root in a namespace of its own can mount anything at the folder that the VM is to write to.
if ! unshare -m true 2>/dev/null || ! command -v setpriv >/dev/null || ! command -v nsenter >/dev/null; then
	skip "something mounted at our folder" "no namespaces here"
else
	vm mounter unshare -m --propagation private setpriv --reuid=65534 --regid=65534 --clear-groups java -Xmx64m \
		-cp "$tmp/classes" Held || exit 1
	mkdir "$tmp/precious"
	echo ours >"$tmp/precious/file"
	chmod 755 "$tmp/precious"
	kill -STOP "$vm"
	"$capture" -q --timeout 60 --jvm "$vm" -o "$tmp/out/mounted.hprof" 2>"$err" &
	pid=$!
	started="$started $pid"
	ours() { folder=$(find /tmp -maxdepth 1 -name 'heapfs-capture.*' -newer "$tmp/precious/file" | head -n 1) && [ -n "$folder" ]; }
	check "something mounted at our folder: it is there" until_true ours
	is "something mounted at our folder: it is the VM's user's" "$(stat -c '%u %a' "$folder")" "65534 700"
	check "something mounted at our folder: it can be" nsenter -t "$vm" -m mount --bind "$tmp/precious" "$folder"
	kill -TERM "$pid"
	wait "$pid" 2>/dev/null || :
	is "something mounted at our folder: what is in it stays" "$(cat "$tmp/precious/file" 2>&1)" ours
	is "something mounted at our folder: and is still whose it was" "$(stat -c '%u %a' "$tmp/precious")" "0 755"
	kill -CONT "$vm"
	nsenter -t "$vm" -m umount "$folder" 2>/dev/null || :
	rmdir "$folder" 2>/dev/null || :
fi
plan
