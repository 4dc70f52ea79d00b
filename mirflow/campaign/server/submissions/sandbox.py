"""Restrictions of a process by the Linux kernel: Landlock for files and signals, seccomp for system calls.

Landlock restricts paths and the filter restricts calls: Landlock alone does not cover chmod, utime and setxattr on
other files, connections to sockets by path, execution of programs, or namespaces. Neither needs privileges, programs or
libraries.
"""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_CREATE, _ADD, _RESTRICT = 444, 445, 446
# Landlock's access rights by bit, and the versions of its interface that added the later ones.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE, _MAKE_DIR, _MAKE_FILE, _MAKE_SOCKET = 0b11 << 4, 1 << 7, 1 << 8, 1 << 9
_FIRST, _REFER, _TRUNCATE, _IOCTL = (1 << 13) - 1, 1 << 13, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_READ = _READ_FILE | _READ_DIR
_WRITE = _READ | _WRITE_FILE | _REMOVE | _MAKE_DIR | _MAKE_FILE | _REFER | _TRUNCATE
_TCP, _SCOPES = 0b11, 0b11
# Files that Python and its libraries read; in /proc only those of the process itself.
_SYSTEM = ("/usr/share/zoneinfo", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/dev/urandom")
_SHARED = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64")  # folders of shared libraries
# Folders of Python's modules and of packages.
_INSTALLED = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_PACKAGE = Path(__file__).resolve().parents[3]
# Files needed for network access.
_NETWORK = ("/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/ssl", "/etc/gai.conf", "/etc/host.conf")


@dataclass(frozen=True)
class Allowed:
    """Permissions of a restricted process."""

    writable: Sequence[str] = ()
    readable: Sequence[str] = ()  # folders and files; without writable ones, files are not restricted
    network: bool = False
    processes: bool = False  # whether it may start processes and Python, and connect to them by Unix sockets


def restrict(allowed: Allowed) -> Iterator[str]:
    """Restrict this process and its children irrevocably; yields the enforced restrictions: folders, signals, calls."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return
    version = landlock_version()
    if allowed.writable and version and _restrict_by_landlock(libc, allowed, version):
        yield "folders"
        if version >= 6:
            yield "signals"
    if platform.machine() in _MACHINES:
        program = b"".join(struct.pack("=HBBI", *instruction) for instruction in _program(allowed))
        data = ctypes.create_string_buffer(program, len(program))
        head = struct.pack("@HP", len(program) // 8, ctypes.addressof(data))
        if libc.prctl(_SECCOMP, _FILTER, ctypes.c_char_p(head), 0, 0) == 0:
            yield "calls"


@cache
def landlock_version() -> int:
    """Return the version of the kernel's Landlock interface; 0 if it is missing or disabled."""
    if sys.platform != "linux":
        return 0
    number = int(ctypes.CDLL(None).syscall(_CREATE, None, ctypes.c_size_t(0), 1))
    return max(number, 0)


def _restrict_by_landlock(libc: ctypes.CDLL, allowed: Allowed, version: int) -> bool:
    files = _FIRST
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL)):
        files |= right if version >= since else 0
    ports = _TCP if version >= 4 and not allowed.network else 0
    scopes = _SCOPES if version >= 6 else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = struct.pack("=QQQ", files, ports, scopes)[:size]
    ruleset = libc.syscall(_CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    try:
        run, more = (_EXECUTE, _MAKE_SOCKET) if allowed.processes else (0, 0)
        network = _NETWORK if allowed.network else ()
        paths = [
            *((path, _READ | run) for path in libraries()),
            *((path, _READ) for path in (*_SYSTEM, *network, *allowed.readable)),
            ("/dev/null", _READ | _WRITE_FILE),
            *((path, _WRITE | more) for path in allowed.writable),
        ]
        if allowed.processes:
            paths += [("/proc", _READ), ("/dev/shm", _WRITE)]  # of children, whose pids are not known yet
            # A new process lists the folder of a checkout to find the package. Landlock's rules cover whole trees, so
            # all names below it can be listed, but contents cannot be read.
            paths.append((str(_PACKAGE.parent), _READ_DIR))
        for path, rights in paths:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # missing paths need no rule
            try:
                applicable = files & (rights if Path(path).is_dir() else rights & _OF_FILES)
                rule = struct.pack("=Qi", applicable, descriptor)
                if applicable and libc.syscall(_ADD, ruleset, 1, ctypes.c_char_p(rule), 0) != 0:
                    return False
            finally:
                os.close(descriptor)
        return bool(libc.syscall(_RESTRICT, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def libraries() -> Iterator[str]:
    """Yield the folders and files that Python loads packages and libraries from, in every sandbox.

    They are as narrow as an installation allows: an environment may lie in the folder of a campaign.
    """
    yield from _INSTALLED
    yield from (str(Path(sys.base_prefix, name)) for name in ("lib", "lib64"))
    yield from _SHARED
    # A checkout may contain a campaign next to the package, and its path may involve links.
    beside = _PACKAGE.parent if _PACKAGE.parent.name not in ("site-packages", "dist-packages") else None
    yield from (path for path in sys.path if path and Path(path).resolve() != beside)
    yield str(_PACKAGE)
    yield from (sys.executable, str(Path(sys.prefix, "pyvenv.cfg")))


# The filter: classic BPF on the number of the call and its arguments.
_LOAD, _EQUAL, _AT_LEAST, _SOME_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ALLOW, _REFUSE = 0x8000_0000, 0x7FFF_0000, 0x0005_0000
_EPERM, _ENOSYS = 1, 38
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_THREAD, _NAMESPACES = 0x0001_0000, 0x7E02_0080
_PUSH_INPUT = 0x5412
# Column of `_CALLS`, and the kernel's identifier of the architecture.
_MACHINES = {"x86_64": (0, 0xC000_003E), "aarch64": (1, 0xC000_00B7)}

# Calls that are always refused, with their numbers on x86-64 and 64-bit ARM.
_CALLS = {
    # Modes, owners, times and attributes of files, which Landlock does not cover.
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, -1),
    "fchown": (93, 55), "lchown": (94, -1), "fchownat": (260, 54), "utime": (132, -1), "utimes": (235, -1),
    "futimesat": (261, -1), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "setxattrat": (463, 463), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "removexattrat": (466, 466), "file_setattr": (469, 469), "truncate": (76, 45),
    "mknod": (133, -1), "mknodat": (259, 33), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    # Space that no folder shows, and names of files that change elsewhere.
    "fallocate": (285, 47), "memfd_create": (319, 279), "memfd_secret": (447, 447), "inotify_init": (253, -1),
    "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    # Other processes.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "tkill": (200, 130), "setpriority": (141, 140),
    "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274), "ioprio_set": (251, 30), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "process_madvise": (440, 440), "process_mrelease": (448, 448),
    # Namespaces and mounts.
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "move_mount": (429, 429), "open_tree": (428, 428), "open_tree_attr": (467, 467),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # Memory and messages shared by processes of an account.
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "mq_open": (240, 180), "mq_unlink": (241, 181),
    # Users, and further kernel interfaces that have had vulnerabilities or bypass filters.
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setgroups": (116, 159), "setfsuid": (122, 151),
    "setfsgid": (123, 152), "capset": (126, 91), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443), "personality": (135, 92),
    "syslog": (103, 116), "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266), "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
}  # fmt: skip
# Calls that start programs and processes.
_PROGRAMS = {"execve": (59, 221), "execveat": (322, 281), "fork": (57, -1), "vfork": (58, -1)}
_OF_SOCKETS = ("chmod", "fchmodat")  # calls used to set up Unix sockets between processes
_KILLS = {"kill": (62, 129), "tgkill": (234, 131)}
_CLONE, _CLONE3, _SOCKET, _CONNECT, _LIMITS, _IOCTL_CALL = (
    (56, 220), (435, 435), (41, 198), (42, 203), (302, 261), (16, 29),
)  # fmt: skip
_OPEN, _OPENAT, _OPENAT2 = (2, -1), (257, 56), (437, 437)
_NAMELESS = 0o20_000_000  # the flag of `open` for a file without a name (O_TMPFILE)
# Socket families needed for network access; 16: netlink, for information about interfaces.
_FAMILIES = (socket.AF_INET, socket.AF_INET6, 16)


def _program(allowed: Allowed) -> Iterator[tuple[int, int, int, int]]:
    """The filter that refuses system calls that no job needs."""
    column, machine = _MACHINES[platform.machine()]
    refuse, unknown = (_RETURN, 0, 0, _REFUSE | _EPERM), (_RETURN, 0, 0, _REFUSE | _ENOSYS)
    allow = _RETURN, 0, 0, _ALLOW

    def when(call: tuple[int, int], *then: tuple[int, int, int, int]) -> Iterator[tuple[int, int, int, int]]:
        if call[column] >= 0:
            yield _EQUAL, 0, len(then), call[column]
            yield from then

    argument = [(_LOAD, 0, 0, _ARGUMENTS + 8 * number) for number in range(3)]
    yield _LOAD, 0, 0, _ARCHITECTURE
    yield _EQUAL, 1, 0, machine
    yield _RETURN, 0, 0, _KILL
    yield _LOAD, 0, 0, _NUMBER
    if platform.machine() == "x86_64":  # the x32 calls of the same machine
        yield _AT_LEAST, 0, 1, 0x4000_0000
        yield refuse
    for name, call in _CALLS.items():
        if not (allowed.processes and name in _OF_SOCKETS):
            yield from when(call, refuse)
    for call in (_CLONE3, _OPENAT2):  # their flags are in memory; the C library falls back to the older calls
        yield from when(call, unknown)
    for call, index in ((_OPEN, 1), (_OPENAT, 2)):
        yield from when(call, argument[index], (_SOME_BITS, 0, 1, _NAMELESS), refuse, allow)
    yield from when(_IOCTL_CALL, argument[1], (_EQUAL, 0, 1, _PUSH_INPUT), refuse, allow)
    pid = os.getpid()
    if allowed.processes:
        yield from when(_CLONE, argument[0], (_SOME_BITS, 0, 1, _NAMESPACES), refuse, allow)
        if not allowed.network:  # its processes use private Unix sockets
            yield from when(_SOCKET, argument[0], (_EQUAL, 1, 0, int(socket.AF_UNIX)), refuse, allow)
        yield allow
        return
    for call in _PROGRAMS.values():
        yield from when(call, refuse)
    yield from when(
        _CLONE, argument[0], (_SOME_BITS, 0, 1, _NAMESPACES), refuse, (_SOME_BITS, 1, 0, _THREAD), refuse, allow
    )
    for call in _KILLS.values():
        yield from when(call, argument[0], (_EQUAL, 1, 0, pid), refuse, allow)
    yield from when(_LIMITS, argument[0], (_EQUAL, 2, 0, 0), (_EQUAL, 1, 0, pid), refuse, allow)
    if allowed.network:
        ways = [(_EQUAL, len(_FAMILIES) - index, 0, int(family)) for index, family in enumerate(_FAMILIES)]
        yield from when(_SOCKET, argument[0], *ways, refuse, allow)
    else:
        yield from when(_SOCKET, refuse)
        yield from when(_CONNECT, refuse)
    yield allow
