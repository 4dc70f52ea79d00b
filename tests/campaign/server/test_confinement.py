"""Code that a file could bring into a check, and into scoring, finds nothing that it could use."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import pwd
import signal
import struct
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mirflow
from mirflow.campaign.server.submissions import confinement as confinement_module
from mirflow.campaign.server.submissions.confinement import (
    LACKS,
    Confinement,
    Confines,
    JobDiskError,
    JobError,
    JobTimeoutError,
    StoppedError,
    lacks,
)
from mirflow.campaign.server.submissions.sandbox import landlock_version
from mirflow.campaign.server.submissions.worker import Worker, demand_confinement
from mirflow.errors import MirflowError
from mirflow.store.read import read_scores

from ...waiting import until
from .campaigns import CAMPAIGN, estimates, open_campaign, state, submit, work_off, worker_of, write_campaign

PACKAGE = str(Path(mirflow.__file__).parents[1])
ATTACKS = str(Path(__file__).with_name("attacks.py"))


def run_attacks(folder: Path, uid: int, interpreter: str = sys.executable) -> dict[str, Any]:
    command = [interpreter, ATTACKS, PACKAGE, str(folder), str(uid)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 0, found.stderr
    answer: dict[str, Any] = json.loads(found.stdout)
    return answer


def own_user() -> int:
    return 0


def nobody() -> int:
    """Another account than that of the installation, which is imported before."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    return pwd.getpwnam("nobody").pw_uid


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is none of Linux")
@pytest.mark.parametrize("user", [own_user, nobody], ids=["this account", "nobody"])
def test_code_inside_of_a_check_reaches_nothing(tmp_path, user):
    uid = user()
    folder = tmp_path
    if uid:  # every folder above has to be open to it
        for one in (folder, *folder.parents):
            if not one.stat().st_mode & 0o001 and one.owner() == pwd.getpwuid(os.getuid()).pw_name:
                one.chmod(one.stat().st_mode | 0o001)
    found = run_attacks(folder, uid)
    held, missing = found.pop("held"), found.pop("lacks")
    if landlock_version() < 3 or "calls" not in held:
        pytest.skip(f"this kernel lacks Landlock 3 or filters of system calls: {missing}")
    assert missing == []
    assert found.pop("inside") == "a"
    assert found.pop("victim") == [1000, oct(0o666 & ~_umask()), True]
    assert found.pop("other lives")
    assert {name: how for name, how in found.items() if how.startswith("REACHED")} == {}
    assert len(found) > 35


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


CONFINED = """\
import json, os, resource, signal, socket, sys
sys.path.append({package!r})
from mirflow.campaign.server.submissions.confinement import Confines, confine


def limit(name):
    return resource.getrlimit(getattr(resource, f"RLIMIT_{{name}}"))[0]


def namespaces():
    return [os.stat(f"/proc/self/ns/{{name}}").st_ino for name in ("net", "ipc")]


{before}
held = confine(Confines({confines}))
print(json.dumps({report}))
"""


def run_confined(confines: str, report: str, before: str = "") -> Any:
    """Confine a process of its own, with a single thread like those that are forked, and read what it reports then."""
    script = CONFINED.format(package=PACKAGE, confines=confines, report=report, before=before)
    found = subprocess.run(
        [sys.executable, "-c", script], env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.mark.parametrize(
    ("allowed", "processors", "processes"),
    [("", 1, 0), ("threads=True", os.cpu_count(), -1), ("alone=False", os.cpu_count(), -1)],
    ids=["alone", "with threads", "with processes"],
)
def test_a_job_has_its_seconds_on_every_processor_that_it_may_use(allowed, processors, processes):
    report = "[held, *map(limit, ['CPU', 'NPROC', 'NOFILE', 'FSIZE', 'CORE'])]"
    held, *limits = run_confined(f"9.5, file_size=10**6, files=64, {allowed}", report)
    assert limits[1] == processes or processes < 0
    assert ("processes" in held) == (processes == 0)
    assert [limits[0], *limits[2:]] == [10 * processors, 64, 10**6, 0]
    assert {"time", "files", "sizes", "core"} <= {*held}


def test_a_job_has_memory_in_addition_to_that_of_python_and_its_libraries():
    before = "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()"
    held, size, most = run_confined("10, memory=2**28", "[held, size, limit('AS')]", before)
    assert "memory" in held
    assert size + 2**28 <= most < 2 * size + 2**28


def test_limits_of_the_worker_s_own_process_are_never_raised():
    before = "resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))"
    assert run_confined("10, files=64", "[limit('NOFILE'), 'files' in held]", before) == [32, True]


def test_a_job_has_its_own_environment_and_the_usual_signals():
    before = "os.environ['SECRET'] = 'x'\nfor number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)"
    report = "[dict(os.environ), [signal.getsignal(number) == signal.SIG_DFL for number in (1, 2, 15)]]"
    assert run_confined("10, environment={'LANG': 'C'}", report, before) == [{"LANG": "C"}, [True] * 3]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is none of Linux")
@pytest.mark.parametrize("user", [own_user, nobody], ids=["this account", "nobody"])
@pytest.mark.parametrize("network", [False, True])
def test_a_job_without_a_network_leaves_that_of_the_host(user, network):
    become = f"os.setgid({uid}); os.setuid({uid})" if (uid := user()) else ""
    before = f"{become}\nhosts = namespaces()"
    report = "['network' in held, *(one != other for one, other in zip(namespaces(), hosts))]"
    asked: dict[str, Any] = {"user": uid, "group": uid} if uid else {}
    possible = subprocess.run(["unshare", "--user", "--net", "true"], capture_output=True, check=False, **asked)
    left = not network and possible.returncode == 0
    assert run_confined(f"10, network={network}", report, before) == [left] * 3


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is none of Linux")
def test_a_job_without_a_network_needs_no_user_namespace_if_it_is_root_s():
    # A process with several threads cannot enter one.
    before = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    report = "['network' in held, *(one != other for one, other in zip(namespaces(), hosts))]"
    possible = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    assert run_confined("10", report, f"{before}hosts = namespaces()") == [possible.returncode == 0] * 3


@pytest.mark.skipif(landlock_version() < 1, reason="this kernel lacks Landlock")
@pytest.mark.parametrize("alone", [True, False])
def test_where_only_system_calls_are_filtered_signals_and_network_are_held_if_no_process_can_be_started(
    tmp_path, alone
):
    before = (
        "from mirflow.campaign.server.submissions import confinement, sandbox\n"
        "sandbox.landlock_version, confinement._without_network = lambda: 1, lambda: False"
    )
    held = run_confined(f"10, alone={alone}, writable=({str(tmp_path)!r},)", "held", before)
    if "calls" not in held:
        pytest.skip("system calls of this machine are not filtered")
    assert "folders" in held
    assert ("signals" in held, "network" in held) == (alone, alone)


def test_a_job_that_may_write_anywhere_is_not_restricted_in_its_files(tmp_path):
    held, _ = run_confined("10", f"[held, os.chmod({str(tmp_path)!r}, 0o700)]")
    assert not {"folders", "signals", "calls"} & {*held}


PLUGIN = """\
import errno, os, socket, time
from pathlib import Path

from mirflow import errors
from mirflow.campaign.server.submissions import checking, confinement


def wait(*_):
    Path({folder!r}, "begun").write_text(str(os.getpid()))
    time.sleep(600)


def fail(task, send):
    raise eval(task["error"])


socket.create_connection = wait  # within the job "hold"
checking.check_job = fail
"""


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    """A plugin with which the job "hold" never ends and "check" fails with a given error."""
    path = tmp_path / "plugin.py"
    path.write_text(PLUGIN.format(folder=str(tmp_path)))
    return str(path)


@pytest.fixture
def jobs(plugin: str) -> Iterator[Confinement]:
    with Confinement(modules=(), plugins=[plugin]) as jobs:
        yield jobs


def test_a_job_that_only_waits_ends_with_its_time_and_when_it_is_stopped(tmp_path, jobs):
    task, begun = {"inside": str(tmp_path)}, tmp_path / "begun"
    with pytest.raises(JobTimeoutError, match=r"took longer than 0\.5 seconds"):
        jobs.run("hold", task, Confines(0.5))
    with pytest.raises(StoppedError, match="was stopped"):
        jobs.run("hold", task, Confines(600), beat=lambda: not begun.exists())


def test_what_kept_a_job_from_a_result_decides_whether_it_is_tried_again(jobs):
    def kind_of(error: str) -> str:
        with pytest.raises(JobError) as caught:
            jobs.run("check", {"error": error}, Confines(60))
        assert len(str(caught.value)) <= 2000
        return f"{caught.type.__name__}: {caught.value}"

    assert {error: kind_of(error) for error in EXPECTED} == EXPECTED
    assert len(kind_of("errors.MirflowError('x' * 10_000)")) > 2000


# What is told of the errors of a check.
EXPECTED = {
    "errors.MirflowError('line 1')": "JobRefusedError: line 1",
    "errors.StoreError('damaged')": "SystemTroubleError: damaged",
    "errors.RunError('a process died')": "JobError: could not be scored: a process died",
    "MemoryError()": "JobMemoryError: needed more memory than it may have",
    "OSError(errno.ENOSPC, 'disk full')": "SystemTroubleError: [Errno 28] disk full",
    "OSError(errno.ELOOP, 'many links', 'a.lab')": "JobError: a.lab: many links",
    "ZeroDivisionError()": "JobError: ended without a result: it was killed, or used up its processor time",
}


def test_messages_of_a_job_are_limited(tmp_path, confinement, monkeypatch):
    monkeypatch.setattr(confinement_module, "MAX_MESSAGES", 10)
    with pytest.raises(JobError, match="sent too many messages"):
        confinement.run("hold", {"inside": str(tmp_path)}, Confines(60))


HOLDING = """\
import sys
sys.path.append({package!r})
from mirflow.campaign.server.submissions.confinement import Confinement, Confines
with Confinement(modules=(), plugins=[{plugin!r}]) as jobs:
    jobs.run("hold", {{"inside": {folder!r}}}, Confines(600))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is none of Linux")
@pytest.mark.parametrize("killed", ["worker", "server"])
def test_jobs_end_with_the_process_that_forked_them_and_with_the_worker(tmp_path, plugin, killed):
    script = HOLDING.format(package=PACKAGE, plugin=plugin, folder=str(tmp_path))
    worker = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    try:
        until(lambda: (tmp_path / "begun").exists() and (tmp_path / "begun").read_text())
        job = int((tmp_path / "begun").read_text())
        server = int(_stat(job)[1])
        assert os.getsid(server) != os.getsid(worker.pid)  # signals of a terminal reach the worker alone
        os.kill(worker.pid if killed == "worker" else server, signal.SIGKILL)
        until(lambda: not any(_runs(pid) for pid in (server, job)))
    finally:
        worker.kill()
        worker.wait()


def _stat(pid: int) -> list[str]:
    """State and parent of a process, and more."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _runs(pid: int) -> bool:
    try:
        return _stat(pid)[0] != "Z"
    except OSError:
        return False


PROBE = '''\
import os
import resource
import socket
from pathlib import Path

STATE = Path({state!r})


def refused(action):
    try:
        action()
    except OSError:
        return True
    return False


def probe(reference, estimate):
    """1 if nothing but references and what was read of the own submission can be reached."""
    names = {{
        "database": lambda: (STATE / "campaign.db").read_bytes(),
        "key": lambda: (STATE / "secret.key").read_bytes(),
        "raw": lambda: (STATE / "systems" / "oak" / "dev0.lab").read_bytes(),
        "others": lambda: [os.listdir(STATE / "readings" / one) for one in ("elm", "oak")],
        "home": lambda: os.listdir(Path({home!r})),
        "references": lambda: (Path({data!r}) / "new.lab").write_text("x"),
        "network": lambda: socket.create_connection(("127.0.0.1", 9), 1),
        "program": lambda: os.execv("/bin/sh", ["sh", "-c", "true"]),
        "fork": lambda: os.fork() or os._exit(0),
        "chmod": lambda: (STATE / "campaign.db").chmod(0o777),
        "parent": lambda: os.kill(os.getppid(), 19),
    }}
    reached = [name for name, action in names.items() if not refused(action)]
    if "PGPASSWORD" in os.environ or "DASK_X" in os.environ or os.environ.get("DATA") != "dev":
        reached.append("environment")
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        reached.append("memory")
    assert not reached, reached
    return 1.0, 1.0
'''


@pytest.mark.slow
@pytest.mark.skipif(landlock_version() < 6, reason="this kernel lacks Landlock 6")
def test_what_scores_sees_references_and_readings_alone(tmp_path, confinement, monkeypatch):
    for name, value in (("PGPASSWORD", "secret"), ("DASK_X", "1"), ("DATA", "dev")):
        monkeypatch.setenv(name, value)
    home = tmp_path / "home"
    home.mkdir()
    folder = tmp_path / "campaign"
    folder.mkdir()
    places = {"state": str(folder / "state"), "data": str(folder / "dev"), "home": str(home)}
    (folder / "own.py").write_text(PROBE.format(**places))
    text = CAMPAIGN.replace("[majmin, root]", '[majmin, "own.py:probe"]').replace("dev: dev", "dev: ${DATA}")
    service = open_campaign(folder, text)
    # References may be links that lead out of the folders that a campaign names.
    elsewhere = tmp_path / "annex"
    elsewhere.mkdir()
    for path in (folder / "dev" / "reference").iterdir():
        path.rename(elsewhere / path.name)
        path.symlink_to(elsewhere / path.name)
    for name in ("elm", "oak"):
        id = submit(service, name, estimates())
        work_off(worker_of(service, confinement))
        assert state(service, id).state == "scored", state(service, id).reason
    ds = read_scores(service.folder_of("stores") / "dev.zarr")["chord"]
    assert ds["message"].values.ravel().tolist() == [""] * 12
    assert ds["score"].isel(metric=1).values.tolist() == [[1.0] * 6] * 2


@pytest.mark.parametrize("scheduler", ["processes", "threads", "auto"])
def test_every_scheduler_of_this_host_scores_within_the_confines(tmp_path, confinement, scheduler):
    service = open_campaign(tmp_path, CAMPAIGN.replace("scheduler: serial", f"scheduler: {scheduler}, block: 1"))
    id = submit(service, "oak", estimates(wrong=2))
    work_off(worker_of(service, confinement))
    assert state(service, id).state == "scored", state(service, id).reason


class Lacking(Confinement):
    """A host without Landlock and filters."""

    def run(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {"held": ["network", "files", "time", "memory"], "opened": [["the database", "campaign.db", ""]]}


def test_a_host_that_confines_less_is_told_what_it_lacks():
    assert lacks([*LACKS]) == []
    assert [why.partition(":")[0] for why in lacks(["network", "memory", "signals"])] == [
        "no Landlock",
        "no filter of system calls",
    ]


def test_a_worker_warns_of_what_is_missing_or_refuses_to_start(tmp_path, caplog, monkeypatch):
    service = open_campaign(tmp_path)
    worker = Worker(service)
    worker.jobs.confinement = Lacking()
    monkeypatch.setattr(worker, "step", worker.stop)
    with caplog.at_level(logging.WARNING, "mirflow.worker"):
        worker.run()
    assert "not fully confined: no Landlock" in caplog.text
    (tmp_path / "second").mkdir()
    required = open_campaign(tmp_path / "second", f"{CAMPAIGN}limits: {{confinement: required}}\n")
    with pytest.raises(
        MirflowError, match=r"limits\.confinement is required, but this host does not support it: no Landlock"
    ):
        demand_confinement(required, Lacking())


LAYOUTS = """\
import json, sys
from mirflow.campaign.server.service import open_service
from mirflow.campaign.server.submissions.confinement import Confinement
from mirflow.campaign.server.submissions.worker import demand_confinement
from mirflow.errors import MirflowError
said = []
with Confinement(modules=()) as confinement:
    for path in sys.argv[1:]:
        try:
            said.append(demand_confinement(open_service([path]), confinement)[1])
        except MirflowError as error:
            said.append(str(error))
print(json.dumps(said))
"""
# Folders of campaigns, one of them that of Python's environment, and what a check could open of each.
PLACES = {
    "environment": "",
    "environment/campaigns/2027": "",
    "environment/lib/campaign": "",
    "environment/{library}/campaign": "the campaign file",
    "editable": "the campaign file",
    "editable/campaigns/2027": "the campaign file",
    "linked": "the references of split test",
    "elsewhere": "",
}


@pytest.mark.slow
@pytest.mark.skipif(landlock_version() < 6, reason="this kernel lacks Landlock 6")
def test_a_campaign_that_demands_confinement_is_refused_where_a_check_could_open_it(tmp_path):
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    (library,) = environment.glob("lib/*/site-packages")
    packages = [path for path in sys.path if path.endswith("-packages")] + [PACKAGE, str(tmp_path / "editable")]
    (library / "packages.pth").write_text("\n".join(packages))
    folders = {tmp_path / name.format(library=library.relative_to(environment)): name for name in PLACES}
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        write_campaign(folder, f"{CAMPAIGN}limits: {{confinement: required}}\n")
    reference = tmp_path / "linked" / "test" / "reference" / "test5.lab"
    reference.rename(tmp_path / "editable" / "test5.lab")
    reference.symlink_to(tmp_path / "editable" / "test5.lab")
    found = subprocess.run(
        [environment / "bin" / "python", "-c", LAYOUTS, *(folder / "campaign.yaml" for folder in folders)],
        env={"PATH": os.defpath}, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    for (folder, name), said in zip(folders.items(), json.loads(found.stdout), strict=True):
        if PLACES[name]:
            assert f"is required, but the processes that read submissions can open {PLACES[name]} ({folder}" in said
            assert "move the campaign and its data out of that folder, or write confinement: wanted" in said
        else:
            assert said == [], name


WRITING = """\
import os
from mirflow.campaign.server.submissions import checking


def write(task, send):
    how = task["how"]
    for number in range(1000):
        path = os.path.join(task["out"], f"{number}")
        with open(path, "wb") as file:
            file.write(bytes(10**6) if how != "many" else b"")
            if how == "unlinked":
                os.unlink(path)
                os.fsync(file.fileno())
    return {}


checking.check_job = write
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is none of Linux")
@pytest.mark.parametrize(("how", "most"), [("large", 20 * 10**6), ("many", 10**6), ("unlinked", 20 * 10**6)])
def test_what_a_job_writes_is_bounded_in_its_sum(tmp_path, how, most):
    plugin, why = tmp_path / "plugin.py", f"wrote more than {most // 10**6} MB"
    plugin.write_text(WRITING)
    # What is written to shared memory, where the folders of tests may be, is not counted as written to a disk.
    with tempfile.TemporaryDirectory() as out, Confinement(modules=(), plugins=[str(plugin)]) as jobs:
        confines = Confines(60, file_size=2 * 10**6, written=most, writable=(out,))
        with pytest.raises(JobDiskError, match=why):
            jobs.run("check", {"how": how, "out": out}, confines)


WITHOUT_LANDLOCK = """\
import os, sys
sys.path.append({tests!r})
from tests.campaign.server.test_confinement import refuse_landlock
refuse_landlock()
os.execv(sys.executable, [sys.executable, "-m", "mirflow", *sys.argv[1:]])
"""


def refuse_landlock() -> None:
    """Make the kernel answer as one without Landlock, for this process and those that it starts."""
    program = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x0005_0000 | 38), (0x06, 0, 0, 0x7FFF_0000)]
    data = b"".join(struct.pack("=HBBI", *one) for one in program)
    held = ctypes.create_string_buffer(data, len(data))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    head = struct.pack("@HP", len(program), ctypes.addressof(held))
    assert libc.prctl(22, 2, ctypes.c_char_p(head), 0, 0) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is none of Linux")
@pytest.mark.parametrize(
    "command",
    [["serve", "--port", "0"], pytest.param(["serve", "worker"], marks=pytest.mark.slow)],
    ids=["server", "worker"],
)
def test_server_and_worker_refuse_a_host_that_cannot_confine(tmp_path, command):
    service = open_campaign(tmp_path, f"{CAMPAIGN}limits: {{confinement: required}}\n")
    script = WITHOUT_LANDLOCK.format(tests=str(Path(__file__).parents[3]))
    found = subprocess.run(
        [sys.executable, "-c", script, *command, str(service.path)],
        cwd=PACKAGE, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if "Operation not permitted" in found.stderr and "prctl" in found.stderr:
        pytest.skip("filters of system calls are not allowed here")
    assert found.returncode not in (0, None)
    assert "limits.confinement is required, but this host does not support it: no Landlock" in found.stderr
    assert "Traceback" not in found.stderr
