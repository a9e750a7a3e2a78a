#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# graph/leaks.tsv: that each kind of leak is told, and nothing that looks alike. And the native memory of objects, which
# is in the same sample.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

# leaks: class, kind and reason of each, sorted; ids in reasons as they are
leaks() {
	tail -n +2 "$mnt/graph/leaks.tsv" | cut -f 2-4 | sort
}

mount_dump "$(sample leaks-android)" || exit 1
is "columns" "$(head -n 1 "$mnt/graph/leaks.tsv")" "id${TAB}class${TAB}kind${TAB}reason${TAB}retained${TAB}path"
is "Android: each kind, and nothing that looks alike" "$(leaks)" \
	"com.example.DeadActivity${TAB}activity${TAB}mDestroyed is true
com.example.DeadDialog${TAB}dialog${TAB}mDecor is null
com.example.DeadFragment${TAB}fragment${TAB}mFragmentManager is null
com.example.DeadFragmentView${TAB}fragment view${TAB}a fragment whose mView is null has it
com.example.DeadModel${TAB}view model${TAB}mCleared is true
com.example.DeadNewModel${TAB}view model${TAB}impl.isCleared is true
com.example.DeadService${TAB}service${TAB}ActivityThread.mServices does not have it
com.example.DeadSupportFragment${TAB}fragment${TAB}mFragmentManager is null
com.example.DeadView${TAB}view${TAB}mAttachInfo is null, mWindowAttachCount is not 0
com.example.DeadXFragment${TAB}fragment${TAB}mFragmentManager is null"
is "the path" "$(awk -F '\t' '$2 == "com.example.DeadActivity" { print $6 }' "$mnt/graph/leaks.tsv")" \
	"root: sticky-class class com.example.Holder .things java.lang.Object[] [0] com.example.DeadActivity"
tail -n +2 "$mnt/graph/leaks.tsv" | while IFS=$TAB read -r id class kind reason retained path; do
	[ "$retained" = "$(value retained "$mnt/graph/objects/$id/retained.txt")" ] || echo "$class $kind $reason $path"
done >"$tmp/wrong"
is "retained, as retained.txt says" "$(cat "$tmp/wrong")" ""
ended=$(sed -n 2p "$mnt/classes/com.example.WeaklyHeldActivity/instances.tsv" | cut -f 1)
is "what is held weakly is none" "$(value held "$mnt/graph/objects/$ended/retained.txt")" "only weakly"

native() {
	value native "$mnt/graph/objects/$(sed -n 2p "$mnt/classes/$1/instances.tsv" | cut -f 1)/retained.txt"
}
is "native memory: two allocations, the lowest bit is none" "$(native com.example.Owner)" 1000098
is "native memory: freed; another kind of cleaner" "$(native com.example.Freed) $(native com.example.Other)" "0 0"
is "native memory by class" "$(awk -F '\t' '$6 { print $1, $6 }' "$mnt/graph/classes.tsv" | tail -n +2)" "com.example.Owner 1000098"
unmount

mount_dump "$(sample leaks-jvm)" || exit 1
cache=$(awk -F '\t' '$3 == "accumulates" { print $1 }' "$mnt/graph/leaks.tsv")
top=$(awk -F '\t' '$3 == "dominates" { print $1 }' "$mnt/graph/leaks.tsv")
thread=$(grep -l pool-1-thread-1 "$mnt"/instances/java.lang.Thread/*.txt)
thread=$(basename "$thread" .txt)
is "JVM: each kind, and nothing that looks alike" "$(leaks | sed 's/[0-9.]* %/N %/')" \
	"class com.example.DeadRegistry${TAB}dominates${TAB}retains N % of what is reachable; it spreads out at $cache
com.example.DeadStaticLoader${TAB}class loader${TAB}only class com.example.Plugins keeps it
com.example.DeadThreadLoader${TAB}class loader${TAB}only thread $thread \"pool-1-thread-1\" keeps it
java.lang.Object[]${TAB}accumulates${TAB}what $top retains spreads out here, over 100 objects"
reachable=$(value 'reachable bytes' "$mnt/graph/summary.txt")
part=$(awk -F '\t' '$3 == "dominates" { print $4 }' "$mnt/graph/leaks.tsv" | sed 's/retains \([0-9]*\).*/\1/')
retained=$(awk -F '\t' '$3 == "dominates" { print $5 }' "$mnt/graph/leaks.tsv")
is "the part of what is reachable" "$part" "$((100 * retained / reachable))"
unmount

if [ -d "$corpus/android" ]; then
	# Named for what it shows: a service that its binder keeps.
	mount_dump "$corpus/android/leak_service_binder.hprof"
	is "leak_service_binder: the two services" "$(leaks)" \
		"com.example.leakcanary.LeakyService${TAB}service${TAB}ActivityThread.mServices does not have it
com.example.leakcanary.LeakyService${TAB}service${TAB}ActivityThread.mServices does not have it"
	has "leak_service_binder: what keeps one" "$(cat "$mnt/graph/leaks.tsv")" \
		"LeakyService .leakAllTheBinders java.util.ArrayList .array java.lang.Object[] [0] com.example.leakcanary.LeakyService\$MyBinder .service"
	unmount
	mount_dump "$corpus/android/test-dump.hprof"
	is "test-dump: none" "$(cat "$mnt/graph/leaks.tsv")" "id${TAB}class${TAB}kind${TAB}reason${TAB}retained${TAB}path"
	unmount
else
	skip "real dumps" "no corpus of dumps in $corpus"
fi
plan
