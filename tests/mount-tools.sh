#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everyday tools on a mounted tree: what they find is complete, the same for all, and the same every time.
# shellcheck disable=SC2016 # sh -c has arguments of its own
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

treecheck=$builddir/tests/treecheck
have() { command -v "$1" >/dev/null; }
names() { (cd "$1" && find . ! -name . | sort); }
numbers() { (cd "$1" && find . -printf '%i %p\n' | sort -k 2); }
sums() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 md5sum); }

# Copies of a tree of small files go to memory where that can be: a disk takes minutes.
copies=$tmp/copies
mkdir "$copies"
[ "$(id -u)" -ne 0 ] || mount -t tmpfs none "$copies" || :

# python PROGRAM…: -E -S -s, so that nothing of the user's runs
python() { python3 -ESs "$@"; }

with_tools() {
	kind=$1
	count=$(wc -l <"$tmp/names.$kind")
	check "$kind: find sees $count entries" [ "$count" -gt 100 ]
	is "$kind: find tells apart by type as stat does" "$(cd "$mnt" && find . -mindepth 1 -printf '%y\n' | sort | uniq -c)" \
		"$(cd "$mnt" && find . -mindepth 1 -print0 | xargs -0 stat -c %F | sed 's/regular.*/f/; s/directory/d/; s/symbolic link/l/' |
		sort | uniq -c)"
	ls -lRA "$mnt" >"$tmp/ls" 2>"$tmp/ls.err" && rc=0 || rc=$?
	is "$kind: ls -lRA" "$rc$(cat "$tmp/ls.err")" 0
	is "$kind: ls -lRA sees as many as find" "$(grep -c '^[-dl]r' "$tmp/ls")" "$count"
	if have python3; then
		is "$kind: Python's scandir sees as many" "$(python -c '
import os, sys
def walk(path):
    n = 0
    with os.scandir(path) as entries:
        for e in entries:
            n += 1
            assert e.inode() == e.stat(follow_symlinks=False).st_ino, e.path
            if e.is_dir(follow_symlinks=False):
                n += walk(e.path)
    return n
print(walk(sys.argv[1]))' "$mnt" 2>&1)" "$count"
	else
		skip "$kind: Python's scandir" "no python3"
	fi
	if have perl; then
		is "$kind: Perl's File::Find sees as many" \
			"$(perl -MFile::Find -e 'my $n = -1; find({ wanted => sub { $n++ }, no_chdir => 1 }, $ARGV[0]); print $n' "$mnt" 2>&1)" "$count"
	else
		skip "$kind: Perl's File::Find" "no perl"
	fi
	check "$kind: grep -r reads everything" sh -c 'grep -rc "" "$1" >/dev/null' sh "$mnt"
	check "$kind: du" du -s "$mnt"
	is "$kind: du's apparent size is the sum of all sizes" "$(du -sb "$mnt" | cut -f 1)" \
		"$(cd "$mnt" && find . -printf '%s\n' | awk '{ n += $1 } END { printf "%.0f", n }')"

	check "$kind: cp -a" cp -a "$mnt" "$copies/copy"
	check "$kind: the copy is the same" diff -r --no-dereference "$mnt" "$copies/copy"
	check "$kind: sizes and times of the copy are the same" sh -c '
		list() { (cd "$1" && find . -type f -printf "%p %s %m %T@\n" | sort); }
		list "$1" >"$3/a" && list "$2" >"$3/b" && cmp "$3/a" "$3/b"' sh "$mnt" "$copies/copy" "$tmp"
	if have rsync; then
		is "$kind: rsync finds no difference to the copy" "$(rsync -rlptcn --delete -i "$mnt/" "$copies/copy/" 2>&1)" ""
		check "$kind: rsync copies" rsync -a "$mnt/objects/" "$copies/rsync/"
		check "$kind: … the same" diff -r --no-dereference "$mnt/objects" "$copies/rsync"
	else
		skip "$kind: rsync" "no rsync"
	fi
	chmod -R u+w "$copies/copy" "$copies/rsync" 2>/dev/null || :
	rm -rf "$copies/copy" "$copies/rsync"
	check "$kind: tar" tar -C "$mnt" -cf "$copies/tar" .
	check "$kind: tar compares the same" tar -C "$mnt" -df "$copies/tar"
	rm "$copies/tar"

	sums "$mnt" >"$tmp/sums.$kind"
	is "$kind: all files have a sum" "$(wc -l <"$tmp/sums.$kind")" "$(find "$mnt" -type f | wc -l)"
	readers=
	for i in 1 2 3 4 5 6 7 8; do
		sums "$mnt" >"$tmp/sums.$i" &
		readers="$readers $!"
	done
	for reader in $readers; do
		wait "$reader" || fail "$kind: a reader failed"
	done
	check "$kind: 8 readers at once read the same" sh -c '
		cd "$1" && for i in 1 2 3 4 5 6 7 8; do cmp "sums.$2" "sums.$i" || exit 1; done' sh "$tmp" "$kind"

	if have xfs_io; then
		folder=$(find "$mnt/objects" -mindepth 2 -maxdepth 2 | head -n 1)
		xfs_io -r -c 'readdir -v' "$folder" >"$tmp/readdir"
		is "$kind: xfs_io readdir sees as many" "$(grep -c 'd_ino: 0x' "$tmp/readdir")" \
			"$(find "$folder" -mindepth 1 -maxdepth 1 | awk 'END { print NR + 2 }')"
		lacks "$kind: xfs_io readdir: no inode number 0" "$(cat "$tmp/readdir")" "d_ino: 0x0,"
	else
		skip "$kind: xfs_io" "no xfs_io"
	fi
}

# An overlay over the tree: its names, its statfs and a copy up must be to the kernel's taste.
on_overlay() {
	mkdir "$tmp/overlay" "$tmp/over"
	if [ "$(id -u)" -ne 0 ] || ! mount -t tmpfs none "$tmp/over" 2>/dev/null; then
		skip "overlayfs" "needs root"
		return
	fi
	mkdir "$tmp/over/upper" "$tmp/over/work"
	if ! grep -q 'overlay$' /proc/filesystems && ! modprobe overlay 2>/dev/null; then
		skip "overlayfs" "the kernel has none"
	else
		check "overlayfs: mounts" mount -t overlay overlay \
			-o "lowerdir=$mnt,upperdir=$tmp/over/upper,workdir=$tmp/over/work" "$tmp/overlay"
		names "$tmp/overlay" >"$tmp/names.overlay"
		check "overlayfs: shows the same names" cmp "$tmp/names.overlay" "$tmp/names.$kind"
		check "overlayfs: a file can be changed" sh -c 'echo more >>"$1/info.txt" && tail -n 1 "$1/info.txt" | grep -qx more' \
			sh "$tmp/overlay"
		umount "$tmp/overlay"
	fi
	umount "$tmp/over"
}

# It tries to write, so it must know where not to.
mkdir "$tmp/writable"
refused "treecheck refuses what is not mounted read-only" "not mounted read-only" "$treecheck" "$tmp/writable"
is "… and leaves it alone" "$(find "$tmp/writable" -mindepth 1)" ""

for kind in sample jvm; do
	mount_dump "$(sample "$kind")" || continue
	names "$mnt" >"$tmp/names.$kind"
	numbers "$mnt" >"$tmp/numbers.$kind"
	with_tools "$kind"
	if [ "$kind" = sample ]; then
		is "the README's search for destroyed activities" \
			"$(cd "$mnt" && grep -rl 'mDestroyed: boolean = true' instances/com.example.app.MainActivity | wc -l)" 1
		on_overlay
	fi
	check "$kind: treecheck of everything" "$treecheck" "$mnt"
	unmount
done

# Other ways to serve: nothing is different.
for way in readdirplus=auto readdirplus=no -s clone_fd,max_threads=1 max_threads=64; do
	case $way in
	-s) mount_dump "$(sample jvm)" -s || continue ;;
	*) mount_dump "$(sample jvm)" -o "$way" || continue ;;
	esac
	numbers "$mnt" >"$tmp/now"
	check "$way: the same names and inode numbers as before" cmp "$tmp/now" "$tmp/numbers.jvm"
	sums "$mnt" >"$tmp/now"
	check "$way: the same contents as before" cmp "$tmp/now" "$tmp/sums.jvm"
	check "$way: treecheck" "$treecheck" --max-files 4000 "$mnt"
	unmount
done

plan
