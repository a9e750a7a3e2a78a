#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the examples of the man page, and the tour of the README, whose output must be what is printed there.
# Both are about the sample dump.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

PATH=$builddir:$PATH

# The lines "$ command" of the examples, with roff's \e as the backslash it prints.
mkdir "$tmp/man"
cd "$tmp/man"
mksample sample app.hprof
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

# The README's tour: indented lines, a command behind "$ ", then what it prints.
mkdir "$tmp/readme"
cd "$tmp/readme"
mksample sample app.hprof
before=$tests
sed -n '/^## A tour/,/^## The tree/s/^    //p' "$srcdir/README" >tour
grep -n '^\$ ' tour | while IFS=: read -r line command; do
	tail -n "+$((line + 1))" tour | awk '/^\$ / { exit } { print }' >"expected.$line"
	printf '%s\n' "${command#\$ }" >"command.$line"
	echo "$line"
done >lines
while read -r line; do
	command=$(cat "command.$line")
	sh -c "$command" >output 2>&1 </dev/null || true
	is "README: $command" "$(cat output)" "$(cat "expected.$line")"
done <lines
is "the README has a tour" "$([ "$tests" -gt $((before + 5)) ] && echo yes)" yes
plan
