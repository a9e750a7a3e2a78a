#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# threads/: stacks as the Java virtual machine itself printed them, links to what frames hold, names and parts.
# shellcheck disable=SC2016 # sh -c has arguments of its own, class names have $
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

absent() { ! [ -e "$1" ] && ! [ -L "$1" ]; }
entries() { (cd "$1" && find . -mindepth 1 -maxdepth 1 | sed 's|^\./||' | sort | tr '\n' ' '); }
count() { find "$1" -mindepth 1 -maxdepth 1 | wc -l; }
no_link_dangles() { [ -z "$(find "$1" -xtype l | head -n 1)" ]; }
heads() { head -qn 1 "$mnt"/threads/*/stack.txt; }

# A line a thread: its head, its state, its frames. From what jcmd's Thread.print says; threads without a number are not
# Java's. Modules are not in a dump, jcmd pads addresses, and cannot print what is beyond U+FFFF (nor, in the i386
# run, what is not ASCII): one name ends there.
printed() {
	awk '
		/^"/ {
			name = $0; sub(/" #.*/, "\"", name); sub(/"worker (日本|\?\?) [^"]*"/, "\"worker 日本\"", name)
			text = ""
			if (match($0, /" #[0-9]+ /)) {
				prio = $0; sub(/.* prio=/, "", prio); sub(/ .*/, "", prio)
				tid = $0; sub(/.* tid=0x0*/, "", tid); sub(/ .*/, "", tid)
				text = name substr($0, RSTART + 1, RLENGTH - 2) ($0 ~ / daemon /? " daemon" : "") " prio=" prio " tid=0x" tid
			}
			next
		}
		text != "" && /^   java.lang.Thread.State: / { sub(/^   java.lang.Thread.State: /, ""); text = text " state=" $0; next }
		text != "" && /^\tat / { sub(/^\tat /, ""); sub(/\([^()]*@[^()\/]*\//, "("); text = text "|" $0; next }
		/^$/ && text != "" { print text; text = "" }' "$1" | sort
}

# The same from stack.txt. A dump spells hidden classes Name+0x…, jcmd Name/0x…; and jcmd stops after 1,024 frames
# (MaxJavaStackTraceDepth), where deep-stack has over 3,000.
shown() {
	for stack in "$mnt"/threads/*/stack.txt; do
		awk '
			NR == 1 { sub(/日本 [^"]*"/, "日本\""); sub(/ object=[^ ]* class=[^ ]*/, ""); text = $0 }
			/^\tat / && ++n <= 1024 { sub(/^\tat /, ""); gsub(/\+0x/, "/0x"); text = text "|" $0 }
			END { print text }' "$stack"
	done | sort
}

# Threads of the VM that jcmd shows and a dump leaves out (JavaThread::is_hidden_from_external_view()).
hidden='^"\(Service Thread\|Monitor Deflation Thread\|C[12] CompilerThread[0-9]*\|Sweeper thread\)"'

### Real dumps: HotSpot's own word
for file in "$corpus"/generated/*.threads.txt; do
	name=${file##*/}
	name=${name%.threads.txt}
	for dump in "$corpus/generated/$name.hprof" "$corpus/generated/$name".*hprof.gz; do
		case ${dump##*/} in
		*'*'* | tiny-17-sa.*) continue ;;
		esac
		[ -e "$dump" ] || continue
		mount_dump "$dump" || continue
		what=${dump##*/}
		printed "$file" | grep -v "$hidden" >"$tmp/printed"
		shown | grep -v ' virtual ' >"$tmp/shown"
		check "$what: $(wc -l <"$tmp/printed") threads and $(tr -cd '|' <"$tmp/printed" | wc -c) frames, as jcmd printed them" \
			diff "$tmp/printed" "$tmp/shown"
		is "$what: folders are named after the threads" \
			"$(count "$mnt/threads") $(entries "$mnt/threads" | grep -c '13-deep-stack\|12-deep-stack')" \
			"$(find "$mnt/threads" -name stack.txt | wc -l) 1"
		check "$what: no link dangles" no_link_dangles "$mnt/threads"
		check "$what: the thread's link leads to a Thread" sh -c 'for link; do
			readlink -f "$link" | grep -q /objects/ && grep -q "^name: object = .*\"" "$link/object.txt" || exit; done' sh "$mnt"/threads/*/thread
		is "$what: links are the roots' whose frames are in the dump" \
			"$(find "$mnt/threads" -path '*/frames/*' -type l -printf '%f\n' | sort -u | wc -l)" \
			"$(find "$mnt/roots/java-frame" "$mnt/roots/jni-local" -type l -printf '%f\n' | sort -u | wc -l)"
		is "$what: all of a deep stack" "$(grep -c '^.at ' "$mnt"/threads/*-deep-stack/stack.txt)" \
			"$(case $name in tiny-17*) echo 3006 ;; *) echo 3007 ;; esac)"
		is "$what: nothing is in no frame" "$(find "$mnt/threads" -mindepth 2 -maxdepth 2 -name locals)" ""
		case $name in
		tiny-25*)
			is "$what: virtual threads, each with its name and number" \
				"$(heads | sed -n 's/^"\(virt-[0-9]*\)" #[0-9]* virtual object=0x[0-9a-f]* class=java.lang.VirtualThread state=WAITING (PARKED)$/\1/p' | sort -u | wc -l)" 50
			is "$what: … and its frames" \
				"$(grep -l 'at gen.Gen.lambda$threads$[0-9]*(Gen.java:521)' "$mnt"/threads/*-virt-*/stack.txt | wc -l)" 50
			is "$what: … from top to bottom" "$(for stack in "$mnt"/threads/*-virt-*/stack.txt; do
				grep '^.at ' "$stack" | sed '1p; $!d'; done | sort -u | tr '\n\t' '  ')" \
				" at jdk.internal.vm.Continuation.enter(Continuation.java:316)  at jdk.internal.vm.Continuation.yield0(Continuation.java:365) "
			;;
		esac
		unmount
	done
done

### What other writers say
head_of() { # DUMP THREAD: its first two lines
	head -n 2 "$mnt/threads/$1/stack.txt" | sed 's/ tid=[^ ]*//; s/ object=[^ ]*//'
}
with() { [ -e "$corpus/$1" ] && mount_dump "$corpus/$1"; }
if with generated/tiny-17-sa.hprof.gz; then
	is "serviceability agent: threads, those of the VM too" "$(count "$mnt/threads")" 19
	is "… whose stacks are matched by their order" "$(grep -lF '(by the order of threads;' "$mnt"/threads/*/stack.txt | wc -l)" 11
	# Of another run: other addresses and numbers, and the names of lambdas.
	same() { sed 's/" #[0-9]* /" /; s/ tid=[^ |]*//; s|Lambda[$][0-9]*/0x[0-9a-f]*|Lambda|g'; }
	printed "$corpus/generated/tiny-17.threads.txt" | grep -v "$hidden" | same >"$tmp/printed"
	shown | grep -v "$hidden" | same >"$tmp/shown"
	check "… which is as jcmd printed a run of the same program" diff "$tmp/printed" "$tmp/shown"
	unmount
fi
if with jvm/HeapDumpSample-1.hprof; then
	is "JDK 5: a thread without a stack" "$(head_of 10-AWT-EventQueue-0)" \
		"\"AWT-EventQueue-0\" #13 prio=6 class=java.awt.EventDispatchThread state=WAITING (on object monitor)
${TAB}(no stack trace of this thread is in the dump)"
	is "… but with locals, in no frame" "$(find "$mnt/threads" -path '*/locals/*' -type l | wc -l) $(find "$mnt/threads" -name frames)" \
		"$(cat "$mnt"/threads/*/stack.txt | grep -c '^.- ') "
	unmount
fi
if with jvm/sun_jdk6_18_x32.hprof; then
	is "JDK 6" "$(head_of '11-Finalizer')" "\"Finalizer\" #3 daemon prio=8 class=java.lang.ref.Finalizer\$FinalizerThread state=WAITING (on object monitor)
${TAB}at java.lang.Object.wait(Native Method)"
	is "JDK 6: frames in all" "$(cat "$mnt"/threads/*/stack.txt | grep -c '^.at ')" 111
	is "JDK 6: threads without frames" "$(grep -lF '(no Java frames)' "$mnt"/threads/*/stack.txt | wc -l)" 2
	unmount
fi
if with jvm/oracle_jdk7_21_hprofagent.hprof; then
	is "hprof agent: each of two dumps" "$(count "$mnt/dump-1/threads") $(count "$mnt/dump-2/threads")" "6 6"
	has "hprof agent: where a thread was made" "$(cat "$mnt/dump-2/threads/1-DestroyJavaVM/stack.txt")" \
		"where it was made:)
${TAB}at java.lang.Thread.<init>(Thread.java:508)"
	unmount
fi
for dump in android/leak_service_binder.hprof android/test-dump.hprof; do
	with "$dump" || continue
	is "$dump: threads" "$(count "$mnt/threads")" "$(find "$mnt/roots/thread-object" -type l | wc -l)"
	is "$dump: the main thread" "$(head_of "$(entries "$mnt/threads" | tr ' ' '\n' | head -n 1)")" \
		"\"main\" #1 prio=5 class=java.lang.Thread
${TAB}(no stack trace of this thread is in the dump)"
	check "$dump: no link dangles" no_link_dangles "$mnt/threads"
	unmount
done

### Our own: all oddities
if mount_dump "$(sample threads)"; then
	cd "$mnt/threads"
	is "names" "$(entries . | sed 's/ \([01]\)/,\1/g')" \
		"01-main,02-parks,03-sleeps,04-blocked,05-waits,06-ended,07-new,08-eater,09-unnamed,10-.. %2Fetc%0A,11-agent's name,12-unnamed,13-unnamed,14-deep "
	is "in a thread's folder" "$(entries 01-main) / $(entries 02-parks) / $(entries 12-unnamed)" \
		"frames locals stack.txt thread  / stack.txt thread  / stack.txt "
	is "frames that hold something that is there" "$(entries 01-main/frames)" "0 1 2 9 "
	target=$(find 01-main/frames/0 -type l -printf '%f\n')
	is "a frame's links, each object once" "$(entries 01-main/frames/1)" \
		"$target $(basename "$(readlink 01-main/thread)") "
	is "a link" "$(readlink "01-main/frames/1/$target")" "../../../../$(object "$target" | sed "s|^$mnt/||")"
	is "a link to a class" "$(readlink -f 01-main/frames/2/*)" "$mnt/classes/java.lang.String"
	is "a link in no frame" "$(readlink "01-main/locals/$target")" "../../../$(object "$target" | sed "s|^$mnt/||")"
	is "a link to the thread" "$(readlink -f 01-main/thread)" "$(object "$(sed -n 's/.* object=\(0x[0-9a-f]*\) .*/\1/p' 01-main/stack.txt)")"
	is "the thread that ran out of memory" "$(grep -l 'ran out of memory' ./*/stack.txt)" "./08-eater/stack.txt"
	is "a deep stack's frames: in parts" "$(entries 14-deep/frames)" "0000 2048 4096 "
	is "… of 2048 frames, of which each third holds something" \
		"$(for part in 0000 2048 4096; do count 14-deep/frames/$part; done | tr '\n' ' ')" "683 684 301 "
	is "5000 locals of a frame: in parts" "$(entries 14-deep/frames/2048/4000)" "0000 2048 4096 "
	is "… of 2048" "$(for part in 0000 2048 4096; do count 14-deep/frames/2048/4000/$part; done | tr '\n' ' ')" "2048 2048 904 "
	check "no link dangles" no_link_dangles .
	for name in 1-main 001-main 01-Main 01-main. 01 main 00-main 15-x frames; do
		check "$name is not found" absent "$name"
	done
	for name in 01-main/frames/00 01-main/frames/3 01-main/frames/5 14-deep/frames/0 14-deep/frames/2049 14-deep/frames/0000/2049 \
		14-deep/frames/6144 14-deep/frames/2048/0000 01-main/frames/1/0x0 02-parks/frames 02-parks/locals 12-unnamed/thread; do
		check "$name is not found" absent "$name"
	done
	check "treecheck" "$builddir/tests/treecheck" --max-files 9000 .
	cd /
	unmount
	if mount_dump "$tmp/threads.hprof" -o links=no; then
		is "links=no: none" "$(find "$mnt/threads" -type l | wc -l)" 0
		unmount
	fi
fi
if mount_dump "$(sample many-threads)"; then
	cd "$mnt/threads"
	is "5000 threads: in parts" "$(entries .)" "0000 2048 4096 "
	is "… of 2048" "$(for part in *; do count "$part"; done | tr '\n' ' ')" "2048 2048 904 "
	is "… numbered from 1 on" "$(entries 2048 | cut -d ' ' -f 1) $(entries 4096 | tr ' ' '\n' | tail -n 1)" "2049-pool-2048 5000-pool-4999"
	check "… links lead out of them" no_link_dangles 2048
	check "… a thread is in its part only" absent 0000/2049-pool-2048
	check "treecheck" "$builddir/tests/treecheck" --max-files 9000 2048
	cd /
	unmount
fi
### A Perfetto heap graph: two threads and an object in a frame, of which the graph does not say whose it is
make_graph() {
	python3 - "$1" <<-'END'
		import sys
		def varint(n):
		    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])
		def number(field, n):
		    return varint(field << 3) + varint(n)
		def message(field, body):
		    return varint(field << 3 | 2) + varint(len(body)) + body
		graph = number(1, 42)
		graph += message(7, message(1, varint(1000) + varint(1002)) + number(2, 8))
		graph += message(7, message(1, varint(1004)) + number(2, 3))
		graph += message(9, number(1, 1) + message(3, b"java.lang.Object") + number(4, 8) + number(7, 2))
		graph += message(9, number(1, 2) + message(3, b"java.lang.Thread") + number(4, 16) + number(5, 1) + number(7, 2))
		for id in (1000, 1002, 1004):
		    graph += message(2, number(1, id) + number(2, 2) + number(3, 16))
		packet = number(8, 10**9) + number(10, 7) + message(56, graph + number(5, 0))
		open(sys.argv[1], "wb").write(message(1, packet))
	END
}
if here python3 "heap graph" && check "heap graph: a trace is made" make_graph "$tmp/graph.pftrace" &&
	mount_dump "$tmp/graph.pftrace"; then
	is "heap graph: threads, as roots say" "$(cd "$mnt/threads" && find . -mindepth 1 | sort | tr '\n' ' ')" \
		"./1-unnamed ./1-unnamed/stack.txt ./1-unnamed/thread ./2-unnamed ./2-unnamed/stack.txt ./2-unnamed/thread "
	is "heap graph: of which it knows no more" "$(heads | tr '\n' ' ')" \
		"\"\" object=0x1f40 class=java.lang.Thread \"\" object=0x1f50 class=java.lang.Thread "
	unmount
fi
if mount_dump "$(sample jdk8)"; then
	check "a dump whose roots name no thread has no threads/" absent "$mnt/threads"
	unmount
fi
plan
