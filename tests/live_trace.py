#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a Perfetto trace of pictures, without a dump: live_trace.py TRACE ITEM...

Items, in this order in the trace: process=PID=NAME, picture=PID=NAME=FILE, many=PID=COUNT for pictures that all have the
pointer 0x1; after an item `compressed` the others are in one compressed packet.
"""

import sys
import zlib


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packet(item):
    kind, pid, rest = item.split("=", 2)
    if kind == "process":  # TracePacket.process_tree, .processes, .pid and .cmdline
        return block(1, number(8, 5) + block(2, block(1, number(1, int(pid)) + block(3, rest.encode()))))
    if kind == "many":
        one = number(1, int(pid)) + block(2, b"0x1.jpg") + block(3, b"\xff\xd8\xff\xe0" + bytes(20))
        return block(1, block(2129, one)) * int(rest)
    name, path = rest.split("=", 1)
    with open(path, "rb") as file:
        data = file.read()
    return block(1, number(8, 5) + block(2129, number(1, int(pid)) + block(2, name.encode()) + block(3, data)))


items = sys.argv[2:]
plain = items.index("compressed") if "compressed" in items else len(items)
trace = b"".join(packet(item) for item in items[:plain])
if plain < len(items):
    trace += block(1, block(50, zlib.compress(b"".join(packet(item) for item in items[plain + 1 :]))))
with open(sys.argv[1], "wb") as file:
    file.write(trace)
