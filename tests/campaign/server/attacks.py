"""Attacks from inside the confinement of checks, run as a process: ``attacks.py PACKAGE FOLDER UID``; prints JSON.

Each gives the reason for which it was refused, or what it reached.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def main(package: str, folder: str, uid: int) -> None:
    sys.path.append(package)
    from mirflow.campaign.server.submissions.confinement import Confines, confine, lacks

    base = Path(folder)
    inside, secret, victim = base / "files", base / "reference.lab", base / "campaign.db"
    inside.mkdir()
    secret.write_text("0 1 C:maj\n")
    victim.write_bytes(b"x" * 1000)
    (base / "kept").mkdir()
    if uid:
        for path in (base, *base.iterdir()):
            os.chown(path, uid, uid)
        os.setgid(uid)
        os.setuid(uid)
    path_socket, tcp = socket.socket(socket.AF_UNIX), socket.create_server(("127.0.0.1", 0))
    path_socket.bind(str(base / "pg.sock"))
    path_socket.listen(4)
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(b"\0mirflow-test-%d" % os.getpid())
    abstract.listen(4)
    other, parent, port = subprocess.Popen(["sleep", "60"]), os.getpid(), tcp.getsockname()[1]
    libc = ctypes.CDLL(None, use_errno=True)

    def call(function: str, *arguments: object) -> object:
        if getattr(libc, function)(*arguments) == -1:
            raise OSError(ctypes.get_errno(), function)
        return f"{function} succeeded"

    def connect(family: int, address: object) -> str:
        with socket.socket(family) as one:
            one.connect(address)
        return "connected"

    def fork() -> str:
        if os.fork() == 0:
            os._exit(0)
        return "forked"

    def through_link() -> str:
        (inside / "link").symlink_to(secret)
        return (inside / "link").read_text()

    def commands() -> str:
        return "".join(Path("/proc", str(pid), "cmdline").read_text() for pid in (parent, other.pid))

    attacks: dict[str, Callable[[], object]] = {
        "read": secret.read_text,
        "read through a link": through_link,
        "list": lambda: [*base.iterdir()],
        "write": lambda: (base / "new").write_text("a"),
        "append": lambda: victim.open("a").write("a"),
        "remove": victim.unlink,
        "rename": lambda: victim.rename(base / "kept" / "moved"),
        "link": lambda: os.link(victim, inside / "hard"),
        "truncate": lambda: os.truncate(victim, 0),
        "truncate by opening": lambda: os.open(victim, os.O_TRUNC | os.O_RDONLY),
        "chmod": lambda: victim.chmod(0o777),
        "chown": lambda: os.chown(victim, 0, 0),
        "utime": lambda: os.utime(victim, (0, 0)),
        "setxattr": lambda: os.setxattr(victim, "user.a", b"1"),
        "kill": lambda: os.kill(other.pid, 9) or "killed",
        "stop the parent": lambda: os.kill(parent, 19) or "stopped",
        "limits of another": lambda: resource.prlimit(other.pid, 7, (0, 0)),
        "priority of another": lambda: os.setpriority(os.PRIO_PROCESS, other.pid, 19) or "lowered",
        "socket by path": lambda: connect(socket.AF_UNIX, str(base / "pg.sock")),
        "abstract socket": lambda: connect(socket.AF_UNIX, b"\0mirflow-test-%d" % parent),
        "tcp": lambda: connect(socket.AF_INET, ("127.0.0.1", port)),
        "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"a", ("127.0.0.1", port)),
        "commands of others": commands,
        "environment of the parent": Path("/proc", str(parent), "environ").read_bytes,
        "memory of the parent": Path("/proc", str(parent), "mem").open,
        "root of the parent": lambda: [*Path(f"/proc/{parent}/root").iterdir()],
        "trace": lambda: call("ptrace", 16, other.pid, 0, 0),
        "fork": fork,
        "exec": lambda: os.execv("/bin/sh", ["sh", "-c", "true"]),
        "new namespaces": lambda: call("unshare", 0x10000000 | 0x00020000),
        "mount": lambda: call("mount", b"none", str(inside).encode(), b"tmpfs", 0, None),
        "chroot": lambda: os.chroot(inside),
        "shared memory": lambda: call("shmget", 0x1234, 4096, 0o1666),
        "a disk": lambda: os.open("/dev/vda", os.O_RDONLY) if Path("/dev/vda").exists() else _none(),
        "the kernel's log": lambda: os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK),
        "accounts of the host": Path("/etc/passwd").read_text,
        "what is below /usr": lambda: [*map(os.listdir, ("/usr", "/usr/src", "/usr/local"))],
        "watch": lambda: call("inotify_init1", 0),
        "a file in memory": lambda: os.memfd_create("a"),
        "a file without a name": lambda: os.open(inside, os.O_TMPFILE | os.O_RDWR),
        "reserve space": lambda: os.posix_fallocate(os.open(inside / "space", os.O_CREAT | os.O_RDWR), 0, 10**6),
    }  # fmt: skip
    reading, writing = os.pipe()
    if os.fork() == 0:
        held = confine(Confines(30, 2**30, 10**9, writable=(str(inside),), readable=(str(inside),)))
        found: dict[str, object] = {"held": held, "lacks": lacks(held)}
        for name, attack in attacks.items():
            try:
                found[name] = f"REACHED {attack()!r}"[:200]
            except (OSError, RuntimeError) as error:
                found[name] = f"{type(error).__name__}: {error}"
        (inside / "own").mkdir()
        (inside / "own" / "file").write_bytes(b"abc")
        (inside / "own" / "file").rename(inside / "file")  # between folders, as unpacking does
        with (inside / "file").open("r+b") as file:
            file.truncate(1)
        found["inside"] = (inside / "file").read_bytes().decode()
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.close(writing)
    text = b""
    while piece := os.read(reading, 65536):
        text += piece
    found = json.loads(text)
    found["victim"] = [victim.stat().st_size, oct(victim.stat().st_mode & 0o777), int(victim.stat().st_mtime) > 0]
    found["other lives"] = other.poll() is None
    other.kill()
    print(json.dumps(found))


def _none() -> None:
    raise FileNotFoundError("there is no such disk")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
