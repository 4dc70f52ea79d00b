"""Signals at any moment: one line, the exit code that shells know, what was computed kept, no process left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mirflow
from mirflow.engine.block import BlockWork, score_block
from mirflow.interruption import Interrupted, answer_signals, deferred, stop_answering
from mirflow.store.cells import Cells
from tests.datasets import write_dataset

from .waiting import PATIENCE, until

HERE = Path(__file__).parents[1]
KEPT = "computed scores are kept: run the same command to continue"


@pytest.fixture(autouse=True)
def signals_of_a_terminal() -> Iterator[None]:
    """Signals as a shell's foreground job has them: children of a job in the background inherit ignored ones."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


# A command whose first block is scored, and whose other blocks are never done.
RUN = """
import sys
from mirflow.engine import schedule
from tests.test_interruption import score_one_then_wait
schedule.score_block = score_one_then_wait
from mirflow.__main__ import main
main()
"""

# A command that gets a signal at a certain moment.
AT = """
import importlib, os, signal, sys
from mirflow.__main__ import main
def at(name, which, times):
    module, _, attribute = name.rpartition(":")
    owner, _, method = attribute.rpartition(".")
    owner = getattr(importlib.import_module(module), owner)
    usual, calls = getattr(owner, method), []
    def stopped(*arguments, **keywords):
        calls.append(1)
        if len(calls) >= which and len(calls) < which + times:
            os.kill(os.getpid(), signal.SIGINT)
        return usual(*arguments, **keywords)
    setattr(owner, method, stopped)
class Import:
    moment = sys.argv[1]
    def find_spec(self, name, *_):
        if name == self.moment:
            os.kill(os.getpid(), signal.SIGINT)
if ":" in sys.argv[1]:
    at(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
else:
    sys.meta_path.insert(0, Import())
del sys.argv[1:4]
main()
"""


def score_one_then_wait(work: BlockWork) -> Cells:
    """Stands for `score_block` in a worker: the first block is scored, whichever that is; the others never are."""
    folder = Path(os.environ["WAITING"])
    try:
        (folder.parent / "scored").touch(exist_ok=False)
        return score_block(work)
    except FileExistsError:
        pass
    (folder / str(os.getpid())).touch()
    (folder / str(os.getppid())).touch()
    time.sleep(10 * PATIENCE)
    raise AssertionError("unreachable")


def is_alive(process: str) -> bool:
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Waiting:
    """A run of which one block is in the journal, and two workers and their server are alive."""

    def __init__(self, folder: Path) -> None:
        self.pipeline = write_dataset(folder)
        self.folder, self.journal = folder / "waiting", folder / ".store.zarr.d" / "journal-000000"
        self.folder.mkdir()
        self.process = subprocess.Popen(
            [*(sys.executable, "-c", RUN, "run", str(self.pipeline)), *("--scheduler", "processes", "--workers", "2")],
            cwd=HERE,
            env={**os.environ, "WAITING": str(self.folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        until(lambda: len(self.others) >= 3 and any(self.journal.glob("*.cells")))

    @property
    def others(self) -> list[str]:
        """The workers and their server."""
        return [path.name for path in self.folder.iterdir()]

    def end(self) -> tuple[int, str]:
        """Exit code and what was said, when all processes are gone."""
        _, message = self.process.communicate(timeout=PATIENCE)
        until(lambda: not any(map(is_alive, self.others)))
        return self.process.returncode, message

    def assert_goes_on(self) -> None:
        """What was computed is taken up."""
        (evaluation,) = mirflow.run(self.pipeline).evaluations
        assert (evaluation.counts["resumed"], evaluation.counts["new"]) == (4, 12)
        assert not evaluation.failed


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM])
def test_workers_and_their_server_end_when_the_run_is_gone(tmp_path: Path, stop: signal.Signals) -> None:
    waiting = Waiting(tmp_path)
    waiting.process.send_signal(stop)
    code, _ = waiting.end()
    assert code == (-9 if stop == signal.SIGKILL else 143)
    waiting.assert_goes_on()


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("stop", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated"), (signal.SIGHUP, 129, "hung up")],
    ids=["INT", "TERM", "HUP"],
)
def test_a_signal_to_the_terminal_ends_a_run_with_one_line(
    tmp_path: Path, stop: signal.Signals, code: int, word: str, times: int
) -> None:
    waiting = Waiting(tmp_path)
    for _ in range(times):
        os.killpg(waiting.process.pid, stop)
    assert waiting.end() == (code, f"{word}; {KEPT}\n")
    waiting.assert_goes_on()


@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("moment", "which", "line"),
    [
        ("mirflow.cli", 1, "interrupted"),
        ("mirflow.cli.pipelines", 1, "interrupted"),
        ("mirflow.engine.runs", 1, "interrupted"),
        ("zarr", 1, f"interrupted; {KEPT}"),
        ("mirflow.store.zarr_io:BuildingStore.set", 1, f"interrupted; {KEPT}"),
        ("mirflow.store.zarr_io:BuildingStore.set", 40, f"interrupted; {KEPT}"),
        ("mirflow.store.write:StoreWriter._put", 1, f"interrupted; {KEPT}"),
        ("mirflow.store.write:StoreWriter._link", 1, f"interrupted; {KEPT}"),
    ],
)
def test_ctrl_c_while_starting_or_publishing_ends_with_one_line(
    tmp_path: Path, moment: str, which: int, line: str, times: int
) -> None:
    pipeline = write_dataset(tmp_path)
    command = [sys.executable, "-c", AT, moment, str(which), str(times), "run", "--quiet", str(pipeline)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=HERE, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (130, f"{line}\n", "")
    assert mirflow.run(pipeline).evaluations[0].failed == 0


def test_what_the_parent_ignores_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        answer_signals()
        signal.raise_signal(signal.SIGHUP)
        with pytest.raises(Interrupted, match="terminated"):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)  # too soon after the other
        assert stop_answering()
        signal.raise_signal(signal.SIGTERM)
        assert not stop_answering()
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def test_a_signal_waits_until_what_must_be_whole_is_done() -> None:
    done: list[int] = []

    def work() -> None:
        with deferred():
            signal.raise_signal(signal.SIGINT)
            done.append(1)
        done.append(2)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]
