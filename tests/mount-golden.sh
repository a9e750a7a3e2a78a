#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The sample dump's whole tree against a specification made earlier, by a tool that is not ours: kinds, modes, sizes,
# times, link targets and contents. What there are thousands of is left out, and info.txt, which names the machine's
# files and cores. After a change that is meant, make it anew and read the difference:
#
#     builddir=build srcdir=. sh tests/mount-golden.sh --update

# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

spec=$srcdir/tests/sample.mtree
command -v mtree >/dev/null 2>&1 || skip_all "there is no mtree"
mksample sample "$tmp/sample.hprof"
chmod 644 "$tmp/sample.hprof"
cat >"$tmp/exclude" <<'END'
./info.txt
./graph/progress.txt
./objects/1
./objects/7
./instances/com.example.app.Row
./instances/java.lang.String
./instances/byte\[\]
END
mount_dump "$tmp/sample.hprof" "-ouid=0,gid=0"
if [ "${1-}" = --update ]; then
	mtree -c -k type,mode,nlink,uid,gid,size,time,link,sha256digest -X "$tmp/exclude" -p "$mnt" |
		sed '/^#	 *\(user\|machine\|tree\|date\)/d' >"$spec"
	exit
fi
status=0
mtree -f "$spec" -X "$tmp/exclude" -p "$mnt" >"$tmp/differences" 2>&1 || status=$?
is "the sample's tree is as it was specified" "$status $(cat "$tmp/differences")" "0 "
is "the specification is about all of it" "$([ "$(grep -c sha256 "$spec")" -gt 100 ] && echo yes)" yes
plan
