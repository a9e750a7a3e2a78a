#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes Perfetto traces out of dumps: traces.py SOURCE-FOLDER DUMP OTHER-DUMP ANDROID-DUMP FOLDER

Each is written as text, which protoc encodes. Beside NAME.pftrace lies what must come out of it, as NAME.1, NAME.2
and so on: the bytes of its dumps. All are cut into chunks of 1000 bytes.
"""

import struct
import subprocess
import sys
import zlib

source, a, b, android, folder = sys.argv[1:]
A, B, ANDROID = (open(name, "rb").read() for name in (a, b, android))
CHUNK = 1000
OURS = (f"{source}/contrib/perfetto", "hprof_dump.proto", "heapfs.perfetto.Trace")
OTHER = (f"{source}/tests", "other.proto", "heapfs.other.Trace")


def encode(text, schema=OURS):
    place, file, message = schema
    command = ["protoc", f"--encode={message}", f"-I{place}", f"{place}/{file}"]
    return subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


def other(text):
    return encode(text, OTHER)


def quoted(data):
    return '"' + "".join(f"\\{byte:03o}" for byte in data) + '"'


def packet(body, sequence=1, more=""):
    return f"packet {{ timestamp: 5 timestamp_clock_id: 6 trusted_packet_sequence_id: {sequence} {more} {body} }}\n"


def dump(pid, data=None, index=None, last=False, sequence=1, more=""):
    """One HprofDump packet."""
    body = f"pid: {pid} "
    if data is not None:
        body += f"hprof_data: {quoted(data)} "
    if index is not None:
        body += f"chunk_index: {index} "
    if last:
        body += "last_chunk: true"
    return packet(f"hprof_dump {{ {body} }}", sequence, more)


def cut(data, size=CHUNK):
    return [data[at : at + size] for at in range(0, len(data), size)]


def chunks(pid, data, size=CHUNK, sequence=1):
    """The packets of a whole dump, in order."""
    parts = cut(data, size)
    return [dump(pid, part, i, i == len(parts) - 1, sequence) for i, part in enumerate(parts)]


def older(pid, data):
    """The same as the first form of the message has it."""
    return [dump(pid, part) for part in cut(data)]


def compressed(text):
    return packet(f"compressed_packets: {quoted(zlib.compress(encode(text)))}")


def interleaved(x, y):
    for i in range(max(len(x), len(y))):
        yield from x[i : i + 1] + y[i : i + 1]


def png(width, height, shade=0):
    """A grey picture."""

    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes([shade]) * width) * height
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + part(b"IDAT", zlib.compress(rows))
        + part(b"IEND", b"")
    )


def picture(pid, name, data):
    pid = "" if pid is None else f"pid: {pid}"
    return packet(f"hprof_bitmap {{ {pid} filename: {quoted(name.encode())} png_image: {quoted(data)} }}", 2)


def save(name, trace, *truths):
    with open(f"{folder}/{name}.pftrace", "wb") as file:
        file.write(trace if isinstance(trace, bytes) else encode("".join(trace)))
    for number, truth in enumerate(truths, 1):
        with open(f"{folder}/{name}.{number}", "wb") as file:
            file.write(truth)


whole = chunks(10, A)
COUNT = len(whole)

# One dump, as it should be, and in every order.
save("ordered", whole, A)
save("one", chunks(10, A, len(A)), A)
save("older", older(10, A), A)
save("shuffled", [whole[i] for i in (3, 0, 6, 1, 5, 2, 4)], A)
save("backwards", whole[::-1], A)
save("empty-last", [dump(10, part, i) for i, part in enumerate(cut(A))] + [dump(10, None, COUNT, True)], A)
save("compressed", [compressed("".join(whole[:2])), whole[2], compressed("".join(whole[3:]))], A)
save("compressed-shuffled", [compressed(whole[i]) for i in (3, 0, 6, 1, 5, 2, 4)], A)

# What is missing.
save("no-first", whole[1:])
save("no-middle", whole[:2] + whole[4:], A[:2000] + bytes(2000) + A[4000:])
save("no-two", [whole[i] for i in (0, 2, 3, 5, 6)], A[:1000] + bytes(1000) + A[2000:4000] + bytes(1000) + A[5000:])
save("no-last", whole[:-1], A[: (COUNT - 1) * CHUNK])
save("twice", whole[:3] + whole[2:], A)
uneven = [dump(10, A[:700], 0), dump(10, A[700:2000], 1), dump(10, A[2500:], 3, True)]
save("uneven", uneven, A[:2000] + A[2500:])
lost = older(10, A)
lost[4] = dump(10, A[4000:5000], more="previous_packet_dropped: 1")
save("dropped", lost[:3] + lost[4:], A[:3000] + A[4000:])
first = [dump(10, A[:1000], 0, more="previous_packet_dropped: 1 first_packet_on_sequence: true")]
save("dropped-first", first + whole[1:], A)
save("headless", chunks(30, b"no dump at all " * 40) + whole, A)
damaged = zlib.compress(encode(whole[1]))[:-30]
save("damaged-zlib", [whole[0], packet(f"compressed_packets: {quoted(damaged)}")] + whole[2:])
save("cut", encode("".join(whole))[:-300])

# Several dumps.
second = chunks(20, B)
save("interleaved", interleaved(whole, second), A, B)
save("again", whole + chunks(10, B), A, B)
save("again-older", older(10, A) + older(10, B), A, B)
save("sequences", interleaved(whole, chunks(10, B, sequence=7)), A, B)
names = packet(
    'process_tree { processes { pid: 10 ppid: 1 cmdline: "com.example.first" cmdline: "--verbose" } '
    'processes { pid: 20 cmdline: "com.example.\\303\\244\\n" } processes { pid: 30 cmdline: "com.example.third" } }'
)
save("named", [names] + whole, A)
save("named-both", list(interleaved(whole, second)) + [compressed(names)], A, B)

# Fields that mean something else.
events = (f"generic_gpu_frequency_event {{ gpu_id: {i} frequency_khz: 500000 }}" for i in range(20))
gpu = other("".join(f"packet {{ timestamp: 5 {event} }}\n" for event in events))
graph = other("packet { timestamp: 5 heap_graph { pid: 11 index: 0 continued: false } }\n")
zstd = other('packet { zstd_compressed_packets: "\\050\\265\\057\\375\\044\\000\\001\\000\\000\\231\\351\\330\\121" }\n' * 2)
save("gpu", gpu)
save("gpu-beside", gpu + encode("".join(whole[:3])) + gpu + encode("".join(whole[3:])) + gpu, A)
save("graph-beside", encode("".join(whole)) + graph, A)
save("zstd", zstd)
save("zstd-beside", zstd + encode("".join(whole)), A)

# Pictures. Of the Android dump's Bitmaps (see tests/sample_bitmaps.c) a010 is 20x10, a090 24x16, a110 30x20, a910 57x50
# and recycled; two share ac90 and are 36x31.
app = chunks(7, ANDROID)
joined = [
    picture(7, "bitmap_0xb400007b3c00a010.png", png(20, 10)),
    picture(7, "0xB400007B3C00A090", png(24, 16, 99)),
]
odd = [
    picture(7, "bitmap_0xb400007b3c00a110.png", png(31, 20)),  # another size
    picture(7, "bitmap_0xb400007b3c00a910.png", png(57, 50)),  # of a recycled one
    picture(7, "bitmap_0x7b3cffff10.png", png(9, 9)),  # of none
    picture(7, "bitmap_0.png", png(1, 1)),
    picture(7, "bitmap_0.png", png(2, 1)),
    picture(7, "bitmap_0.png", png(3, 1)),
    picture(7, "6-bitmap_0.png", png(4, 1)),  # as the second one is called
    picture(7, "a/b/../c.png", png(5, 1)),
    picture(7, "", png(6, 1)),
    picture(7, "unnamed", png(7, 1)),
    picture(7, "..", png(8, 1)),
    picture(7, "n" * 300 + ".png", png(9, 1)),
    picture(7, "\u00e4 \U0001f600\n.png", png(10, 1)),
    picture(7, "photo.jpg", b"\xff\xd8\xff\xe0" + bytes(40)),
    picture(7, "photo.webp", b"RIFF\x20\0\0\0WEBPVP8L" + bytes(30)),
    picture(7, "both_0xb400007b3c00ac90.png", png(36, 31)),
]
save("pictures", app[:1] + joined + odd + app[1:], ANDROID)
save("pictures-first", joined + app, ANDROID)
save("pictures-pid-0", app + [picture(0, "zero.png", png(5, 5)), picture(None, "none.png", png(6, 6))], ANDROID)
save("pictures-of-both", app + whole + [picture(0, "zero.png", png(5, 5)), picture(10, "ten.png", png(6, 6)),
     picture(7, "seven.png", png(7, 7)), picture(99, "other.png", png(8, 8))], ANDROID, A)
save("pictures-compressed", [compressed("".join(joined))] + app, ANDROID)
numbered = (
    f'packet {{ picture {{ pid: 7 name: "0xb400007b3c00a010" image: {quoted(png(20, 10))} }} }}\n'
    f'packet {{ not_a_picture {{ pid: 7 name: "text" image: "no picture, but long enough" }} }}\n'
    f'packet {{ not_a_picture {{ name: "no-process" image: {quoted(png(3, 3))} }} }}\n'
)
save("pictures-3000", encode("".join(app)) + other(numbered), ANDROID)
save("pictures-many", app + [picture(7, f"picture-{i % 1500}.png", png(1, 1, i % 256)) for i in range(3000)], ANDROID)
for name, width, height, shade in (("20x10", 20, 10, 0), ("24x16", 24, 16, 99)):
    with open(f"{folder}/{name}.png", "wb") as file:
        file.write(png(width, height, shade))
