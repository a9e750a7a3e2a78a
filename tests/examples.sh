#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the examples of the man page, the tour of the README and the recipes; what the last two print must be what stands
# there. All are about the sample dump.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

PATH=$builddir:$PATH

# The lines "$ command" of the examples, with roff's \e as the backslash it prints.
mkdir "$tmp/man"
cd "$tmp/man"
mksample sample app.hprof
# Pictures from elsewhere: any, under the pointer of a Bitmap without one.
mkdir fetched
heapfs --export bitmaps/0xb400007b3c00a010.png app.hprof >fetched/0xb400007b3c00a410.png
heapfs-pack app.hprof --bitmaps fetched -o live.pftrace
sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/s/^\$ //p' "$srcdir/man/heapfs.1" | sed 's/\\e/\\/g' >commands
while IFS= read -r command; do
	status=0
	sh -c "$command" >output 2>&1 </dev/null || status=$?
	if [ "$status" -ne 0 ]; then
		fail "man: $command" "status $status" "$(cat output)"
	else
		case $command in
		heapfs* | cp* | fusermount3*) pass "man: $command" ;;
		*) if [ -s output ]; then pass "man: $command"; else fail "man: $command" "it prints nothing"; fi ;;
		esac
	fi
done <commands
is "the man page has examples" "$([ "$tests" -gt 5 ] && echo yes)" yes

# run_all NAME TOUR: of indented lines, a command stands behind "$ ", then what it prints.
run_all() {
	grep -n '^\$ ' "$2" | while IFS=: read -r line command; do
		tail -n "+$((line + 1))" "$2" | awk '/^\$ / { exit } { print }' >"expected.$line"
		printf '%s\n' "${command#\$ }" >"command.$line"
		echo "$line"
	done >lines
	while read -r line; do
		command=$(cat "command.$line")
		sh -c "$command" >output 2>&1 </dev/null || true
		is "$1: $command" "$(cat output)" "$(cat "expected.$line")"
	done <lines
}

mkdir "$tmp/readme"
cd "$tmp/readme"
mksample sample app.hprof
before=$tests
sed -n '/^## A tour/,/^## The tree/s/^    //p' "$srcdir/README" >tour
run_all README tour
is "the README has a tour" "$([ "$tests" -gt $((before + 5)) ] && echo yes)" yes

mkdir "$tmp/recipes" "$tmp/recipes/heap"
cd "$tmp/recipes"
mksample sample app.hprof
heapfs app.hprof heap
before=$tests
sed -n '/^## Hundreds/q;s/^    //p' "$srcdir/contrib/recipes/README" >recipes
run_all recipe recipes
is "there are twenty recipes, and each prints something" \
	"$([ "$tests" -ge $((before + 20)) ] && echo yes; grep -c . expected.* | grep ':0$')" yes
fusermount3 -u heap

# Hosts are folders here, and ssh goes into them.
if parallel --version 2>/dev/null | grep -q GNU && command -v sqlite3 >/dev/null; then
	mkdir -p "$tmp/fleet/bin" "$tmp/fleet/home/.parallel" "$tmp/fleet/at/web-1/dumps" "$tmp/fleet/at/web-2/dumps"
	cd "$tmp/fleet"
	: >home/.parallel/will-cite # it asks for that once
	mksample sample at/web-1/dumps/app-1.hprof
	mksample leaks-android at/web-1/dumps/app-2.hprof
	mksample bitmaps-36 at/web-2/dumps/app-3.hprof
	printf 'web-1\nweb-2\n' >hosts
	cat >bin/ssh <<-END
		#!/bin/sh
		cd "$PWD/at/\$1" && shift && exec sh -c "\$*"
	END
	chmod +x bin/ssh
	PATH=$PWD/bin:$PATH
	HOME=$PWD/home
	export PATH HOME
	before=$tests
	# Blocks between ``` are shown only.
	# shellcheck disable=SC2016 # backquotes are meant
	sed -n '/^## Hundreds/,$p' "$srcdir/contrib/recipes/README" | sed '/^```/,/^```/d' | sed -n 's/^    //p' >recipes
	run_all fleet recipes
	is "there are recipes for many dumps" "$([ "$tests" -gt $((before + 8)) ] && echo yes)" yes
elif [ -n "${CI:-}" ]; then
	fail "GNU parallel and sqlite3 are there"
else
	skip "recipes for many dumps" "no GNU parallel or no sqlite3 here"
fi
plan
