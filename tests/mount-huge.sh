#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A heap record over 4 GiB, whose length of 32 bits has wrapped (HotSpot up to 8; Eclipse bug 404679): two byte arrays
# of the largest length and an instance behind them. The file is sparse, and mounting reads none of its holes.

# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "there is no python3"

# huge TAG FILE: with HEAP_DUMP (0c), or with a HEAP_DUMP_SEGMENT (1c) and its end
huge() {
	python3 - "$@" <<'END'
import struct, sys
tag = int(sys.argv[1], 16)
file = open(sys.argv[2], "wb")
put = lambda format, *values: file.write(struct.pack(">" + format, *values))
def record(kind, body):
    put("BII", kind, 0, len(body))
    file.write(body)
file.write(b"JAVA PROFILE 1.0.1\0" if tag == 0x0c else b"JAVA PROFILE 1.0.2\0")
put("IQ", 8, 1700000000000)
classes = ((0x1000, b"java/lang/Object", 0), (0x1080, b"[B", 0x1000), (0x1100, b"x/Last", 0x1000))
for number, (id, name, above) in enumerate(classes):
    record(1, struct.pack(">Q", number + 1) + name)
    record(2, struct.pack(">IQIQ", number + 1, id, 0, number + 1))
put("BII", tag, 0, 0)
start = file.tell()
for id, name, above in classes:
    put("BQI6QIHHH", 0x20, id, 0, above, *[0] * 9)
for id in (0x100000000, 0x200000000):
    put("BQIIB", 0x23, id, 0, 2**31 - 3, 8)
    file.seek(2**31 - 3, 1)
put("BQIQI", 0x21, 0x300000000, 0, 0x1100, 0)
end = file.tell()
file.seek(start - 4)
put("I", (end - start) % 2**32)
file.seek(end)
if tag == 0x1c:
    put("BII", 0x2c, 0, 0)
END
}

for tag in 0c 1c; do
	huge "$tag" "$tmp/$tag.hprof"
	mount_dump "$tmp/$tag.hprof"
	is "$tag: all objects are there" "$(grep '^objects: ' "$mnt/info.txt")" "objects: 3"
	is "$tag: the one behind 4 GiB too" "$(ls "$mnt/instances/x.Last")" "$(printf '0x300000000\n0x300000000.txt')"
	has "$tag: the length is named" "$(grep '^warning: ' "$mnt/info.txt")" "4294967564 bytes, not 268" "at byte "
	is "$tag: size of an array" "$(stat -c %s "$mnt/objects/0x200000000/data.bin")" 2147483645
	is "$tag: shallow size" "$(sed -n 's/^shallow: //p' "$mnt/objects/0x200000000/object.txt")" 2147483664
	is "$tag: raw.hprof has the size of the file" "$(stat -c %s "$mnt/raw.hprof")" "$(stat -c %s "$tmp/$tag.hprof")"
	unmount
done
plan
