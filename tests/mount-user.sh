#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Mounts of ordinary users, through fusermount3: who may look in. Needs root, to become others. Runs in a mount
# namespace of its own, so that nobody else sees the /dev/fuse and /etc/fuse.conf that it puts in place.
if [ "$(id -u)" -eq 0 ] && [ -z "${HEAPFS_NAMESPACE:-}" ] && unshare --mount true 2>/dev/null; then
	export HEAPFS_NAMESPACE=yes
	exec unshare --mount --propagation private sh "$0"
fi
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

one=65534 two=65533	# any two users; they need no account
first() { setpriv --reuid "$one" --regid "$one" --clear-groups "$@"; }
second() { setpriv --reuid "$two" --regid "$two" --clear-groups "$@"; }

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
command -v setpriv >/dev/null || skip_all "needs setpriv"
[ -u "$(command -v fusermount3)" ] || skip_all "fusermount3 is not setuid"

# Where udev does not run, /dev/fuse is root's alone.
chmod 755 "$tmp"
if [ -n "${HEAPFS_NAMESPACE:-}" ] && ! first test -w /dev/fuse; then
	mknod -m 666 "$tmp/fuse" c 10 229
	mount --bind "$tmp/fuse" /dev/fuse || skip_all "/dev/fuse is root's alone"
fi
first test -w /dev/fuse || skip_all "/dev/fuse is root's alone"
# The build folder may be out of their reach.
cp "$heapfs" "$tmp/heapfs"
heapfs=$tmp/heapfs
first "$heapfs" --version >/dev/null || skip_all "an ordinary user cannot run $heapfs"
dump=$(sample sample)
chmod 644 "$dump"
mkdir "$tmp/home"
chown "$one" "$tmp/home"
mnt=$tmp/home/mnt
gone() { [ ! -e "$1" ]; }

run first "$heapfs" "$dump" "$mnt"
is "an ordinary user mounts: status 0" "$rc$said" 0
check "… and makes the mount point" is_mounted
check "the user sees the tree" first cmp "$dump" "$mnt/raw.hprof"
is "files belong to the dump's owner" "$(first stat -c %u:%a "$mnt/info.txt")" 0:444
has "/proc/mounts has nosuid, nodev" "$(grep -F " $mnt " /proc/mounts)" "fuse.heapfs ro,nosuid,nodev" "user_id=$one"
refused "another user is refused" "Permission denied" second ls "$mnt"
refused "root is refused" "Permission denied" ls "$mnt/"
check "the user unmounts" first fusermount3 -u "$mnt"
check "the mount point is removed" until_true gone "$mnt"

run first "$heapfs" -o "uid=$one,gid=$one" "$dump" "$mnt"
is "-o uid, gid" "$(first stat -c %u:%g "$mnt/info.txt")" "$one:$one"
check "… and is unmounted" first fusermount3 -u "$mnt"
check "… and the mount point is removed" until_true gone "$mnt"

chmod 600 "$dump"
run first "$heapfs" "$dump" "$mnt"
is "a dump the user may not read: status 1" "$rc" 1
has "… the message" "$said" "heapfs: $dump: " "Permission denied"
check "… nothing is left" gone "$mnt"
chmod 644 "$dump"

mkdir -m 755 "$tmp/roots"
run first "$heapfs" "$dump" "$tmp/roots"
is "a folder that the user cannot write: status 1" "$rc" 1
has "… the message" "$said" "heapfs: $tmp/roots: " "Permission denied"
run first "$heapfs" "$dump" "$tmp/roots/new"
is "a mount point in such a folder: status 1" "$rc" 1
has "… the message" "$said" "heapfs: $tmp/roots/new: " "Permission denied"

# With the system's /etc/fuse.conf, and with each of both settings where there can be one of our own.
with_allow_other() {
	run first "$heapfs" -o allow_other "$dump" "$mnt"
	if grep -qx 'user_allow_other[[:blank:]]*' /etc/fuse.conf 2>/dev/null; then
		is "allow_other with user_allow_other: status 0" "$rc$said" 0
		check "… lets another user in" second cat "$mnt/info.txt"
		check "… lets root in" cat "$mnt/info.txt"
		check "… the user unmounts" first fusermount3 -u "$mnt"
	else
		is "allow_other without user_allow_other: status 1" "$rc" 1
		has "… the message" "$said" "user_allow_other" "heapfs: "
	fi
	check "… nothing is left" until_true gone "$mnt"
}
with_allow_other
for setting in '#user_allow_other' 'user_allow_other'; do
	echo "$setting" >"$tmp/fuse.conf"
	if [ -n "${HEAPFS_NAMESPACE:-}" ] && mount --bind "$tmp/fuse.conf" /etc/fuse.conf 2>/dev/null; then
		with_allow_other
		umount /etc/fuse.conf
	else
		skip "allow_other with $setting" "no mount namespace, or no /etc/fuse.conf"
	fi
done

mkdir "$tmp/by-root"
mnt=$tmp/by-root
if mount_dump "$dump"; then
	refused "a mount of root's: another user is refused" "Permission denied" second ls "$mnt/"
	unmount
fi
if mount_dump "$dump" -o allow_other; then
	check "a mount of root's with allow_other: another user is let in" second cmp "$dump" "$mnt/raw.hprof"
	unmount
fi
chmod 640 "$dump"
chown "$one:$one" "$dump"
if mount_dump "$dump" -o allow_other; then
	is "access bits follow the dump's" "$(stat -c %a "$mnt/info.txt" "$mnt/classes" | tr '\n' ' ')" "440 550 "
	check "its owner reads" first cat "$mnt/info.txt"
	refused "others do not" "Permission denied" second cat "$mnt/info.txt"
	unmount
fi

plan
