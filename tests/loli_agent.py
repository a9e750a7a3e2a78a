#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LoliProfiler's agent in an application, for tests of a capture: what it sent once, sent again.

usage: loli_agent.py DEVICE STREAM [KEY=VALUE…]

Listens at a port of this machine, which becomes port 7100 of the device (tests/device.py). Its one client gets the stream,
without the answer to SMAPS_DUMP at its end, in pieces of odd sizes. Keys:

  smaps=FILE   what is in the application's /proc/self/smaps. On SMAPS_DUMP it is written to the device's
               /data/local/tmp/smaps.txt if that is there, as an application may not make files there, and the command
               is answered. Without it nothing is.
  cut=N        closes behind so many bytes, and ends
  drop=N       closes behind so many bytes, and goes on with the next packet for the next client
  pause=S      waits so long at half of what it sends
"""
import os
import socket
import struct
import sys
import time

device, name = sys.argv[1:3]
keys = dict(word.split("=", 1) for word in sys.argv[3:])
with open(name, "rb") as file:
    stream = file.read()
ANSWER = struct.pack("<III", 8, 1, 0)
if stream.endswith(ANSWER):
    stream = stream[: -len(ANSWER)]
stream = stream[: int(keys.get("cut", len(stream)))]
SIZES = (1, 3, 7, 4093, 2, 65537, 131, 19, 8191)


def send(client, data):
    for i in range(1 << 30):
        piece, data = data[: SIZES[i % 9]], data[SIZES[i % 9] :]
        if not piece:
            return
        client.sendall(piece)


def border(at):
    """Where the next packet begins."""
    here = 0
    while here < at:
        here += 4 + struct.unpack_from("<I", stream, here)[0]
    return here


def dump_smaps():
    target = os.path.join(device, "root/data/local/tmp/smaps.txt")
    if not os.path.exists(target):
        return
    with open(keys["smaps"], "rb") as source, open(target, "wb") as file:
        file.write(source.read())


listener = socket.create_server(("127.0.0.1", 0))
os.makedirs(os.path.join(device, "ports"), exist_ok=True)
port = os.path.join(device, "ports/7100")
with open(port + ".part", "w", encoding="utf-8") as file:
    file.write(str(listener.getsockname()[1]))
os.rename(port + ".part", port)
sent = 0
while True:
    client, _ = listener.accept()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        ends = sorted({len(stream), *([int(keys["drop"])] if "drop" in keys and sent < int(keys["drop"]) else [])})
        half = (sent + ends[0]) // 2
        send(client, stream[sent:half])
        time.sleep(float(keys.get("pause", 0)))
        send(client, stream[half : ends[0]])
        sent = ends[0]
        if "cut" in keys:
            os.unlink(port)
            client.close()
            sys.exit()
        if sent < len(stream):
            sent = border(sent)
            client.close()
            continue
        while command := client.recv(1):
            if command == b"\0" and "smaps" in keys:
                dump_smaps()
                client.sendall(ANSWER)
    except OSError:
        pass
    client.close()
