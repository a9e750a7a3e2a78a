#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes gzip files of every shape out of a dump, and files that are no dump: gzips.py DUMP FOLDER

    gzips.py --jvm DUMP FILE: as the JVM writes it (GC.heap_dump -gz=1)

What of NAME.gz must be mounted is the dump, unless it is in NAME.truth.
"""

import bz2
import gzip
import io
import lzma
import random
import struct
import sys
import tarfile
import zipfile
import zlib

COMMENT = b"HPROF BLOCKSIZE=1048576\0"
FHCRC, FEXTRA, FNAME, FCOMMENT = 2, 4, 8, 16


def member(data, flags=0, more=b"", level=6):
    """One gzip member; `more` is what the flags announce."""
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + more
    if flags & FHCRC:
        head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    squeezed = zlib.compressobj(level, zlib.DEFLATED, -15)
    return head + squeezed.compress(data) + squeezed.flush() + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def cut(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def jvm(data, size=20000, comments=(0,), level=6):
    """The members of a file as the JVM writes it."""
    return [
        member(part, FCOMMENT, COMMENT, level) if i in comments else member(part, level=level)
        for i, part in enumerate(cut(data, size))
    ]


if sys.argv[1] == "--jvm":
    with open(sys.argv[2], "rb") as dump, open(sys.argv[3], "wb") as out:
        first = True
        while part := dump.read(1 << 20):
            out.write(jvm(part, 1 << 20, (0,) if first else (), 1)[0])
            first = False
    sys.exit()

DUMP, folder = open(sys.argv[1], "rb").read(), sys.argv[2]


def save(name, data, truth=None):
    with open(f"{folder}/{name}", "wb") as file:
        file.write(data)
    if truth is not None:
        with open(f"{folder}/{name}".replace(".gz", ".truth"), "wb") as file:
            file.write(truth)


def nested(times):
    data = DUMP
    for _ in range(times):
        data = gzip.compress(data, 1)
    return data


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


one = member(DUMP)
members = [member(part) for part in cut(DUMP, 30000)]
blocks = jvm(DUMP)
save("one.gz", one)
save("stored.gz", member(DUMP, level=0))
save("many.gz", b"".join(members))
save("jvm.gz", b"".join(blocks))
save("jvm-comments.gz", b"".join(jvm(DUMP, comments=(0, 1, 5))))
save("jvm-tiny.gz", b"".join(jvm(DUMP, 700)))
save("jvm-one.gz", member(DUMP, FCOMMENT, COMMENT))
large = jvm(DUMP[:40000]) + [member(DUMP[40000:] + bytes(3 << 20))] + jvm(bytes(50000))
save("jvm-large.gz", b"".join(large), DUMP + bytes((3 << 20) + 50000))
save("jvm-stored.gz", b"".join([blocks[0], member(DUMP[20000:60000], level=0)] + blocks[3:]))
# Bytes within a member that look like the beginning of another one.
inside = DUMP[:20000] + member(b"")[:10] * 3 + DUMP[20000:40000]
save("jvm-inside.gz", b"".join([member(inside, FCOMMENT, COMMENT, 0)] + blocks[2:]), inside + DUMP[40000:])
save("twice.gz", nested(2))
save("eight.gz", nested(8))
save("nine.gz", nested(9))
save("jvm-twice.gz", b"".join(jvm(b"".join(blocks))))
save("lies.hprof", one)
save("lies.gz", DUMP)
save("name.gz", member(DUMP, FNAME, b"../app.hprof\0"))
extra = struct.pack("<H", 6) + b"AB\2\0xy" + b"app.hprof\0about it\0"
save("extra.gz", member(DUMP, FEXTRA | FNAME | FCOMMENT | FHCRC, extra))
save("empty-members.gz", member(b"") * 2 + members[0] + member(b"") + b"".join(members[1:]) + member(b"") * 3)
between = blocks[:3] + [member(b"")] * 2 + blocks[3:] + [member(b"")]
save("jvm-empty-members.gz", member(b"", FCOMMENT, COMMENT) + b"".join(between))
for name, data in ("one", one), ("many", b"".join(members)), ("jvm", b"".join(blocks)):
    save(f"{name}-junk.gz", data + b"junk at the end")
    save(f"{name}-zeros.gz", data + bytes(1000))

# The JVM's members with one in the middle that is damaged: in its data, its header, and its trailer.
N = 5
begin = sum(map(len, blocks[:N]))
end = begin + len(blocks[N])
hole = DUMP[: N * 20000] + bytes(20000) + DUMP[(N + 1) * 20000 :]
whole = b"".join(blocks)
save("damaged-data.gz", flipped(whole, (begin + end) // 2))
save("damaged-magic.gz", flipped(whole, begin), hole)
save("damaged-flags.gz", flipped(whole, begin + 3), hole)
save("damaged-crc.gz", flipped(whole, end - 8), DUMP)
save("damaged-length.gz", flipped(whole, end - 4), DUMP)
save("damaged-length-high.gz", flipped(whole, end - 1), DUMP)
earlier = begin - len(blocks[N - 1]) - len(blocks[N - 2])
save("damaged-twice.gz", flipped(flipped(whole, begin), earlier), hole[: (N - 2) * 20000] + bytes(20000) + hole[(N - 1) * 20000 :])
save("damaged-first.gz", flipped(whole, len(blocks[0]) - 8), DUMP)
save("damaged-last.gz", flipped(whole, len(whole) - 8), DUMP)

# What is no dump. Each also in gzip.
archive = io.BytesIO()
with zipfile.ZipFile(archive, "w") as packed:
    packed.writestr("app.hprof", DUMP)
tape = io.BytesIO()
with tarfile.open(fileobj=tape, mode="w") as packed:
    info = tarfile.TarInfo("app.hprof")
    info.size = len(DUMP)
    packed.addfile(info, io.BytesIO(DUMP))
noise = random.Random(5).randbytes(5000)
others = {
    "zip": archive.getvalue(),
    "zstd": bytes.fromhex("28b52ffd2400010000") + bytes.fromhex("99e9d851"),
    "bzip2": bz2.compress(DUMP),
    "xz": lzma.compress(DUMP, preset=0),
    "7z": b"7z\xbc\xaf\x27\x1c\0\4" + noise,
    "lz4": b"\x04\x22\x4d\x18" + noise,
    "tar": tape.getvalue(),
    "text": b"This is no dump.\n" * 10,
    "newlines": b"\n\n\nA text that begins as a trace does.\n" * 10,
    "utf-8": "\nZoë 日本\n".encode() * 300,
    "zeros": bytes(10000),
    "phd": b"\0\x12portable heap dump\0\0\0\6\0\0\0\0",
    "javacore": b"0SECTION       TITLE subcomponent dump routine\nNULL\n",
    "elf": b"\x7fELF\2\1\1\0" + noise,
    "noise": b"\x99" + noise,
    "byte": b"\n",
    "agent-text": b"JAVA PROFILE 1.0.1, created Fri Nov 30 11:04:03 2026\n",
    "version": b"JAVA PROFILE 2.0\0\0\0\0\4" + bytes(20),
    "cut-word": b"JAVA PROF",
    "cut-magic": b"JAVA PROFILE 1.0",
    "cut-version": b"JAVA PROFILE 1.0.2",
    "cut-header": DUMP[:25],
}
for name, data in others.items():
    save(f"{name}.bin", data)
    save(f"{name}.bin.gz", gzip.compress(data))
save("empty.bin", b"")
save("empty.bin.gz", gzip.compress(b""))
save("gzip-header.bin", one[:10])
save("gzip-magic.bin", one[:2])
