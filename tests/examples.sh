#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the examples of the man page, in their order, on the sample dump.
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

mksample sample "$tmp/app.hprof"
page=$srcdir/man/heapfs.1
cd "$tmp"
PATH=$builddir:$PATH
# The lines "$ command" of the examples, with roff's \e as the backslash it prints.
sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/s/^\$ //p' "$page" | sed 's/\\e/\\/g' >commands
while IFS= read -r command; do
	status=0
	sh -c "$command" >output 2>&1 </dev/null || status=$?
	if [ "$status" -ne 0 ]; then
		fail "$command" "status $status" "$(cat output)"
	else
		case $command in
		heapfs* | cp* | fusermount3*) pass "$command" ;;
		*) if [ -s output ]; then pass "$command"; else fail "$command" "it prints nothing"; fi ;;
		esac
	fi
done <commands
is "there are examples" "$([ "$tests" -gt 5 ] && echo yes)" yes
plan
