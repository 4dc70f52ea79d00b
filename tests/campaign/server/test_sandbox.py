"""What a restricted process can still do: a fresh Python of a checkout, and the barriers one by one."""

from __future__ import annotations

import ctypes
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mirflow
from mirflow.campaign.server.submissions.sandbox import _CALLS, _KILLS, _MACHINES, _PROGRAMS, landlock_version

VERSION = 444, None, ctypes.c_size_t(0), 1  # the system call that asks for the version of Landlock
LANDLOCK = ctypes.CDLL(None).syscall(*VERSION) if sys.platform == "linux" else 0
pytestmark = pytest.mark.skipif(LANDLOCK < 1, reason="this kernel lacks Landlock")

RESTRICTED = """\
import json, os, socket, subprocess, sys
from pathlib import Path
from mirflow.campaign.server.submissions import sandbox
from mirflow.campaign.server.submissions.sandbox import Allowed, restrict


def attempt(action):
    try:
        return action()
    except OSError as error:
        return type(error).__name__


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stdout + done.stderr


"""


def run_restricted(folder: Path, script: str, checkout: Path | None = None) -> Any:
    """Run a script in a process of its own, away from the package; what it prints as JSON."""
    found = subprocess.run(
        [sys.executable, "-c", RESTRICTED + script],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(checkout or Path(mirflow.__file__).parents[1])},
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.fixture
def checkout() -> Iterator[Path]:
    """The package as in a checkout, below no path of libraries, with a file and a folder beside it.

    It is not in shared memory, which processes of the sandbox may use.
    """
    folder = Path(tempfile.mkdtemp(), "checkout")
    shutil.copytree(Path(mirflow.__file__).parent, folder / "mirflow", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "data").mkdir()
    for path in (folder / "campaign.yaml", folder / "data" / "reference.lab"):
        path.write_text("secret")
    yield folder
    shutil.rmtree(folder.parent)


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """The folder that a restricted process may write in."""
    folder = tmp_path / "inside"
    folder.mkdir()
    return folder


def test_the_version_of_landlock_is_that_of_the_kernel():
    assert landlock_version() == LANDLOCK


def test_a_fresh_python_finds_the_package_of_a_checkout(checkout, inside):
    found = run_restricted(
        inside,
        """
list(restrict(Allowed(writable=[os.getcwd()], processes=True)))
print(json.dumps(python("import mirflow.engine; print(mirflow.engine.__file__)")))
""",
        checkout,
    )
    assert found == f"{checkout}/mirflow/engine/__init__.py\n"


@pytest.mark.parametrize("linked", [False, True], ids=["as it is", "by a link"])
@pytest.mark.parametrize("processes", [False, True], ids=["alone", "with processes"])
def test_files_beside_the_package_of_a_checkout_cannot_be_read(tmp_path, checkout, inside, linked, processes):
    path = checkout
    if linked:
        path = tmp_path / "link"
        path.symlink_to(checkout)
    found = run_restricted(
        inside,
        f"""
list(restrict(Allowed(writable=[os.getcwd()], processes={processes})))
beside = Path({str(checkout)!r})
print(json.dumps([
    attempt((beside / "campaign.yaml").read_text),
    attempt((beside / "data" / "reference.lab").read_text),
    attempt(lambda: (beside / "campaign.yaml").write_text("mine")),
    attempt(lambda: sorted(os.listdir(beside))),
    attempt(lambda: bool((beside / "mirflow" / "__init__.py").read_text())),
]))
""",
        path,
    )
    names = ["campaign.yaml", "data", "mirflow"] if processes else "PermissionError"
    assert found == ["PermissionError"] * 3 + [names, True]


@pytest.mark.skipif(LANDLOCK < 4, reason="this kernel lacks Landlock 4, which restricts TCP")
@pytest.mark.parametrize(
    ("allowed", "expected"),
    [("", "PermissionError"), ("processes=True", "PermissionError"), ("network=True", "connected")],
    ids=["alone", "with processes", "with a network"],
)
def test_without_a_filter_of_system_calls_landlock_alone_decides_who_may_connect(inside, allowed, expected):
    found = run_restricted(
        inside,
        f"""
sandbox.platform.machine = lambda: "a machine whose calls are not known"
server = socket.create_server(("127.0.0.1", 0))
held = list(restrict(Allowed(writable=[os.getcwd()], {allowed})))
assert "calls" not in held, held
print(json.dumps(attempt(lambda: socket.create_connection(server.getsockname(), 5) and "connected")))
""",
    )
    assert found == expected


@pytest.mark.skipif(platform.machine() not in _MACHINES, reason="system calls of this machine are not filtered")
def test_without_landlock_the_filter_of_system_calls_alone_refuses_programs_and_processes(inside):
    found = run_restricted(
        inside,
        """
import ctypes, errno

libc = ctypes.CDLL(None, use_errno=True)
column, _ = sandbox._MACHINES[sandbox.platform.machine()]


def call(number):
    pid = libc.syscall(number, None, None, None)
    if pid == 0:
        os._exit(0)
    return "begun" if pid > 0 else errno.errorcode[ctypes.get_errno()]


sandbox.landlock_version = lambda: 0
assert list(restrict(Allowed(writable=[os.getcwd()]))) == ["calls"]
calls = {name: numbers[column] for name, numbers in sandbox._PROGRAMS.items()}
print(json.dumps({name: call(number) for name, number in calls.items() if number >= 0}))
""",
    )
    assert {"execve", "execveat"} <= {*found}
    assert {*found.values()} == {"EPERM"}


def test_restricting_leaves_no_file_open(inside):
    before, after = run_restricted(
        inside,
        """
before = sorted(os.listdir("/proc/self/fd"))
list(restrict(Allowed(writable=[os.getcwd()])))
print(json.dumps([before, sorted(os.listdir("/proc/self/fd"))]))
""",
    )
    assert before == after


@pytest.mark.parametrize(
    ("column", "header"),
    [(0, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), (1, "/usr/include/asm-generic/unistd.h")],
    ids=["x86-64", "64-bit ARM"],
)
def test_numbers_of_system_calls_are_those_of_the_kernel_s_headers(column, header):
    if not Path(header).exists():
        pytest.skip(f"this host lacks {header}")
    defined = re.findall(r"^#define __NR(?:3264)?_(\w+) (\d+)$", Path(header).read_text(), re.MULTILINE)
    numbers = {name: int(number) for name, number in defined}
    calls = {name: call[column] for name, call in {**_CALLS, **_PROGRAMS, **_KILLS}.items() if call[column] >= 0}
    known = {name: number for name, number in calls.items() if name in numbers}
    assert len(known) > 60
    assert known == {name: numbers[name] for name in known}
