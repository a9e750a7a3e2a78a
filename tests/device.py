#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small Android device for tests: it speaks adb's transport over TCP to the system's own adb server.

usage: device.py FOLDER

All that it is lies in its folder, and is read anew each time, so that a test can change it while it runs:

  bin/        what its shell finds: `adb shell LINE` is `sh -c LINE` with nothing but this folder in PATH, a line of its
              own for standard output and error and for the exit status, and with these set: device (the folder), root
              (below it), host_path (a PATH that has the programs of this machine)
  root/       its files, for push, pull and ls: /data/local/tmp/x is root/data/local/tmp/x
  jdwp/PID    its debuggable processes: the file has a port of this machine that such a connection goes to; an empty one
              is a process that lets nobody in (another debugger is there)
  ports/N     a port of the device: the file has the port of this machine that it is
  state       "device", "unauthorized" (its dialog is never tapped) or "offline" (it never answers)
  features    of its adbd, "shell_v2,cmd"; empty as before Android 7: then no exit status is passed on
  port        written by the device once it listens: where `adb connect 127.0.0.1:PORT` finds it
  log         written by the device: a line a service that was opened, or a file of sync

Sources: platform/packages/modules/adb, protocol.txt, OVERVIEW.TXT, SYNC.TXT, SERVICES.TXT, shell_protocol.h.
"""
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading

CNXN, AUTH, OPEN, OKAY, CLSE, WRTE = (
    int.from_bytes(name, "little") for name in (b"CNXN", b"AUTH", b"OPEN", b"OKAY", b"CLSE", b"WRTE"))
VERSION = 0x01000001
MOST = 256 * 1024  # bytes of a message
CHUNK = 64 * 1024  # bytes of a DATA of sync, at most


class Gone(Exception):
    """The other side has closed."""


class Stream:
    """One service that the host has opened."""

    def __init__(self, connection, number, remote):
        self.connection, self.number, self.remote = connection, number, remote
        self.incoming = queue.Queue()  # bytes, or None at the end
        self.ready = threading.Semaphore(0)  # the host took the last WRTE
        self.closed = False
        self.on_close = None
        self.rest = b""

    def write(self, data):
        while data:
            if self.closed:
                raise Gone
            part, data = data[: self.connection.most], data[self.connection.most :]
            self.connection.send(WRTE, self.number, self.remote, part)
            self.ready.acquire()
        if self.closed:
            raise Gone

    def read_some(self):
        """What came, b"" at the end."""
        if self.rest:
            data, self.rest = self.rest, b""
            return data
        data = self.incoming.get()
        if data is None:
            self.incoming.put(None)
            return b""
        self.connection.send(OKAY, self.number, self.remote)
        return data

    def read(self, count):
        data = b""
        while len(data) < count:
            more = self.read_some()
            if not more:
                raise Gone
            data += more
        data, self.rest = data[:count], data[count:] + self.rest
        return data

    def close(self):
        """By the host, or since the connection is gone."""
        self.closed = True
        self.incoming.put(None)
        self.ready.release()
        if self.on_close:
            self.on_close()


class Device:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.lock = threading.Lock()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def text(self, *names, default=""):
        try:
            with open(self.path(*names), encoding="utf-8") as file:
                return file.read().strip()
        except OSError:
            return default

    def file(self, path):
        """Where a file of the device's is here."""
        return self.path("root", os.path.normpath("/" + path).lstrip("/"))

    def log(self, *words):
        with self.lock, open(self.path("log"), "a", encoding="utf-8") as file:
            file.write(" ".join(words).replace("\n", "\\n") + "\n")

    # --- services ---

    def serve(self, stream, service):
        self.log(service)
        kind, _, rest = service.partition(":")
        words = kind.split(",")
        if words[0] in ("shell", "exec"):
            self.shell(stream, rest, words[0] == "shell" and "v2" in words)
        elif kind == "sync":
            self.sync(stream)
        elif kind == "jdwp" and rest:
            self.relay(stream, self.text("jdwp", rest))
        elif kind == "jdwp":
            pids = sorted(os.listdir(self.path("jdwp")), key=int)
            stream.write("".join(pid + "\n" for pid in pids).encode())
        elif kind == "tcp":
            self.relay(stream, self.text("ports", rest))

    def shell(self, stream, line, v2):
        """With v2 standard output, error and the exit status come apart; before, all is one."""
        environment = {"PATH": self.path("bin"), "device": self.folder, "root": self.path("root"),
                       "host_path": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8"}
        process = subprocess.Popen(["/bin/sh", "-c", line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE if v2 else subprocess.STDOUT, env=environment,
                                   cwd=self.path("root"), start_new_session=True)

        def hang_up():  # as adbd does; what has a session of its own goes on
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGHUP)
                except ProcessLookupError:
                    pass

        stream.on_close = hang_up
        lock = threading.Lock()

        def copy(file, kind):
            try:
                while data := os.read(file.fileno(), 32768):
                    with lock:
                        stream.write(struct.pack("<BI", kind, len(data)) + data if v2 else data)
            except Gone:
                pass

        threads = [threading.Thread(target=copy, args=(process.stdout, 1), daemon=True)]
        if v2:
            threads.append(threading.Thread(target=copy, args=(process.stderr, 2), daemon=True))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        status = process.wait()
        if v2:
            stream.write(struct.pack("<BIB", 3, 1, status & 255 if status >= 0 else 128 - status))

    def relay(self, stream, port):
        """To a port of this machine; nobody there: the service cannot be opened."""
        if not port:
            return
        with socket.create_connection(("127.0.0.1", int(port))) as peer:
            def back():
                try:
                    while data := peer.recv(65536):
                        stream.write(data)
                except (Gone, OSError):
                    pass
                self.finish(stream)

            def hang_up():
                try:
                    peer.shutdown(socket.SHUT_RDWR)
                except OSError:  # the peer was first
                    pass

            stream.on_close = hang_up
            thread = threading.Thread(target=back, daemon=True)
            thread.start()
            try:
                while data := stream.read_some():
                    peer.sendall(data)
                peer.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            thread.join()

    def finish(self, stream):
        """The device's side closes."""
        if not stream.closed:
            stream.connection.send(CLSE, stream.number, stream.remote)
            stream.closed = True
            stream.incoming.put(None)

    # --- files ---

    def sync(self, stream):
        while True:
            name, length = struct.unpack("<4sI", stream.read(8))
            path = stream.read(length).decode()
            if name == b"QUIT":
                return
            if name == b"STAT":
                self.sync_stat(stream, path)
            elif name == b"LIST":
                stream.write(b"DONE" + bytes(16))
            elif name == b"RECV":
                self.log("pull", path)
                self.receive(stream, path)
            elif name == b"SEND":
                self.log("push", path)
                self.send(stream, path)
            else:
                self.fail(stream, "unknown request")
                return

    def fail(self, stream, message):
        data = message.encode()
        stream.write(struct.pack("<4sI", b"FAIL", len(data)) + data)

    def sync_stat(self, stream, path):
        try:
            st = os.stat(self.file(path))
            reply = struct.pack("<4sIII", b"STAT", st.st_mode, st.st_size & 0xFFFFFFFF, int(st.st_mtime))
        except OSError:
            reply = struct.pack("<4sIII", b"STAT", 0, 0, 0)
        stream.write(reply)

    def receive(self, stream, path):
        """To the host. "pull.slow" has seconds to wait before each chunk, "pull.cut" how many bytes there are."""
        try:
            with open(self.file(path), "rb") as file:
                cut = int(self.text("pull.cut", default="-1"))
                while data := file.read(CHUNK):
                    if slow := self.text("pull.slow"):
                        threading.Event().wait(float(slow))
                    if 0 <= cut < len(data):
                        self.fail(stream, "read failed: I/O error")
                        return
                    cut -= len(data) if cut >= 0 else 0
                    stream.write(struct.pack("<4sI", b"DATA", len(data)) + data)
            stream.write(struct.pack("<4sI", b"DONE", 0))
        except OSError as error:
            self.fail(stream, f"open failed: {error.strerror}")

    def send(self, stream, path):
        """From the host: "PATH,MODE", then chunks."""
        target = self.file(path.rpartition(",")[0])
        data = b""
        while True:
            name, length = struct.unpack("<4sI", stream.read(8))
            if name == b"DONE":
                break
            data += stream.read(length)
        try:
            with open(target, "wb") as file:
                file.write(data)
            stream.write(struct.pack("<4sI", b"OKAY", 0))
        except OSError as error:
            self.fail(stream, f"couldn't create file: {error.strerror}")


class Connection:
    """To one adb server."""

    def __init__(self, device, sock):
        self.device, self.sock = device, sock
        self.lock = threading.Lock()
        self.streams = {}
        self.numbers = 0
        self.most = 4096

    def send(self, command, first, second, data=b""):
        head = struct.pack("<6I", command, first, second, len(data), sum(data) & 0xFFFFFFFF, command ^ 0xFFFFFFFF)
        try:
            with self.lock:
                self.sock.sendall(head + data)
        except OSError:
            raise Gone from None

    def receive(self, count):
        data = b""
        while len(data) < count:
            more = self.sock.recv(count - len(data))
            if not more:
                raise Gone
            data += more
        return data

    def run(self):
        try:
            while True:
                command, first, second, length, _, magic = struct.unpack("<6I", self.receive(24))
                if magic != command ^ 0xFFFFFFFF:
                    raise Gone
                self.handle(command, first, second, self.receive(length))
        except (Gone, OSError):
            pass
        for stream in list(self.streams.values()):
            stream.close()
        self.sock.close()

    def handle(self, command, first, second, data):
        state = self.device.text("state", default="device")
        if state == "offline":
            return
        if command == CNXN:
            self.most = min(second, MOST)
            if state == "unauthorized":
                self.send(AUTH, 1, 0, os.urandom(20))
                return
            banner = "device::ro.product.name=test;ro.product.model=Test;ro.product.device=test;features="
            self.send(CNXN, VERSION, MOST, (banner + self.device.text("features")).encode())
        elif command == AUTH:
            if first == 2:  # a signature: of no key that this device knows. Of a public key (3) it asks the user.
                self.send(AUTH, 1, 0, os.urandom(20))
        elif command == OPEN:
            self.numbers += 1
            stream = self.streams[self.numbers] = Stream(self, self.numbers, first)
            service = data.rstrip(b"\0").decode()
            threading.Thread(target=self.serve, args=(stream, service), daemon=True).start()
        elif command == OKAY and second in self.streams:
            self.streams[second].ready.release()
        elif command == WRTE and second in self.streams:
            self.streams[second].incoming.put(data)
        elif command == CLSE and second in self.streams:
            self.streams[second].close()

    def serve(self, stream, service):
        kind, _, rest = service.partition(":")
        # Who forwards to nobody learns it at once.
        folder = {"jdwp": "jdwp", "tcp": "ports"}.get(kind)
        refused = folder and rest and not os.path.exists(self.device.path(folder, rest))
        try:
            if refused:
                self.device.log("refused", service)
                self.send(CLSE, 0, stream.remote)
                stream.closed = True
            else:
                self.send(OKAY, stream.number, stream.remote)
                try:
                    self.device.serve(stream, service)
                except OSError as error:  # nobody listens at the port of this machine
                    self.device.log("failed", service, str(error))
                self.device.finish(stream)
        except Gone:
            pass
        self.streams.pop(stream.number, None)


def main():
    device = Device(sys.argv[1])
    listener = socket.create_server(("127.0.0.1", 0))
    with open(device.path("port.part"), "w", encoding="utf-8") as file:
        file.write(f"{listener.getsockname()[1]}\n")
    os.rename(device.path("port.part"), device.path("port"))
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=Connection(device, sock).run, daemon=True).start()


if __name__ == "__main__":
    main()
