"""Where tests find real data, and what every test may use."""

from __future__ import annotations

import gc
import inspect
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from click.testing import CliRunner, Result
from filelock import FileLock

import mirflow

from .browser import browser as browser
from .browser import visit as visit

# A change must not be refused because of an input that it has nothing to do with: there the examples are always the
# same. Everywhere else they differ from run to run, and find what is still unknown.
# Examples are a fifth of the time of all tests: half of the usual number is drawn where a test does not say it.
# How long examples take tells of the machine, and of what else it does.
_COMMON: dict[str, Any] = {
    "max_examples": 50, "deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]
}  # fmt: skip
hypothesis.settings.register_profile("ci", derandomize=True, **_COMMON)
hypothesis.settings.register_profile("searching", **_COMMON)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "searching")

if "mix_stderr" in inspect.signature(CliRunner).parameters:  # click before 8.2
    CliRunner.__init__.__defaults__ = ("utf-8", None, False, False)
    Result.output = property(lambda self: self.stdout + (self.stderr if self.stderr_bytes is not None else ""))

# Tables are as wide as the terminal, which is another one in every worker.
os.environ["COLUMNS"] = "120"

# Each core has a process of tests already: threads of linear algebra wait for each other there, and tests of separation
# take eight times the time. This is read when numpy is imported, and by the commands that tests start.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

# Without bytecode every worker rewrites the assertions of 300 files again, which takes half the time of a collection,
# and every command that a test starts compiles the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector from the objects of a collection, all of which live as long as the tests.

    It went through them again and again, for two fifths of the time of a collection. Freezing them as well would hide
    them from hypothesis, which looks for what refers to its random generator.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.set_threshold(10_000, 20, 20)
        gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what opens a browser as slow."""
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run one process more than there are cores: commands, servers and browsers are waited for."""
    return (os.cpu_count() or 1) + 1


def pytest_configure() -> None:
    """Write temporary files to memory where there is plenty: stores and databases wait for the disk at each write."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 8 * 2**30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


PIPELINES = Path(__file__).parents[1] / "pipelines"
BUNDLED = {"demo", "mirex-demo", "tunes"}
"""Pipelines whose data are shipped with them; real data are in folders of the pipelines' names, but for:"""
FOLDERS = {
    "mirex-segment": "mir_eval-fixtures",
    "mirex2015-transcription": "mirex2015-su-transcription",
    "separation": "mir_eval-fixtures",
}
_BESIDE = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def _runs_are_signed_with_a_key_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The key of who runs the tests is neither made nor used; all test processes share one, as they share stores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(_shared_folder(tmp_path_factory, "state")))
        yield


def _shared_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    """A temporary folder that is the same for all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    """No test leaves figures open, of which matplotlib warns when there are more than 20."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real annotations and official tables; the test is skipped where it is absent."""
    folder = Path(os.environ.get("MIRFLOW_DATA", _BESIDE))
    if not folder.is_dir():
        pytest.skip(f"no real data: set MIRFLOW_DATA to the folder ({folder} is not there)")
    return folder


@pytest.fixture(scope="session")
def shipped_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that gives the store of a shipped pipeline, computed by one process for all. No test may change it."""
    folder = _shared_folder(tmp_path_factory, "shipped")

    def store(name: str) -> Path:
        path, done = folder / f"{name}.zarr", folder / f"{name}.done"
        with FileLock(folder / f"{name}.lock"):
            if not done.exists():
                data = None if name in BUNDLED else request.getfixturevalue("shared_data") / FOLDERS.get(name, name)
                report = mirflow.run(PIPELINES / f"{name}.yaml", root=data, store=path, scheduler="serial")
                assert report.failed == 0
                done.touch()
        return path

    return store


@pytest.fixture(scope="session")
def demo_store(shipped_store: Callable[[str], Path]) -> Path:
    """The store of six tunes and three systems, whose numbers do not depend on the demonstration that users see."""
    return shipped_store("tunes")


@pytest.fixture(scope="session")
def mirex2013_store(shipped_store: Callable[[str], Path]) -> Path:
    """The store of MIREX 2013's chord results."""
    return shipped_store("mirex2013-ace")
