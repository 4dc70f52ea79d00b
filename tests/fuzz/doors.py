"""The ways into mirflow, and what may come of a file at any of them: a score, a status, or an error of ours."""

from __future__ import annotations

import gc
import resource
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any

import dask.array  # noqa: F401  imported here, as what is imported under the limits below may stay half imported
import xarray  # noqa: F401

import mirflow
from mirflow.engine.block import BlockWork, TrackWork, score_block
from mirflow.engine.pair_scores import BROKEN
from mirflow.errors import MirflowError, MirflowWarning
from mirflow.evaluation.linter import check_paths
from mirflow.metrics.base import get_task
from mirflow.pipeline.plan import Reference
from mirflow.readers.options import Reading
from mirflow.readers.sources import FileSource, source_at
from mirflow.store.cells import Status

SECONDS = 5.0
"""Of the processor that one file may take at one door, ten times what the largest needs. It may twice: a machine that
stands still counts that as the file's."""
MEMORY = 5 * 2**27
"""Bytes that one file may take: labels on a grid of eight million frames, which xarray copies, take nearly 2**29."""

Options = Mapping[str, Any]
"""How files are read: options of :func:`mirflow.readers`."""

AS_FOUND: Options = MappingProxyType({})

TABLES = ("run", "qrels", "lists", "groups", "matrix")


class Defect(AssertionError):
    """What must not come of a file."""


class Slow(Defect):
    """More time than a file may take."""


def pass_through(
    door: str, task: str, convention: str | None, reference: Path, estimate: Path, options: Options = AS_FOUND
) -> str:
    """What came of a pair of files at a door.

    Raises
    ------
    Defect
        If a metric failed, or it took too long.
    Exception
        Whatever else is not an error of ours.
    """
    try:
        return _pass_once(door, task, convention, reference, estimate, options)
    except Slow:
        return _pass_once(door, task, convention, reference, estimate, options)


def _pass_once(door: str, task: str, convention: str | None, reference: Path, estimate: Path, options: Options) -> str:
    with _limits(), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MirflowWarning)
        try:
            return DOORS[door](task, convention, reference, estimate, options)
        except MirflowError as error:
            text = str(error)
            if BROKEN in text or len(text) > 20_000:
                raise Defect(text[:2000]) from error
            text.encode("utf-8")  # what cannot be written down breaks the store, the terminal and the report
            return f"{type(error).__name__}: {text}"


@contextmanager
def _limits() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise Slow(f"takes more than {SECONDS:.0f} s")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGPROF, stop)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    gc.disable()  # errors that are raised while hypothesis times a collection are lost
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        gc.enable()
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, before)


def _run(task: str, convention: str | None, reference: Path, estimate: Path, options: Options) -> str:
    """As `mirflow run` scores a cell."""
    rules = get_task(task).convention(convention)
    reading = Reading.of(task, **options)

    def source(path: Path, name: str) -> Any:
        if reading.kind == "audio":
            return source_at(path, reading)
        return FileSource(str(path), reading, name=name)

    own, other = source(reference, "reference"), source(estimate, "estimate")
    tracks = (TrackWork("a", (Reference(own),), ("s",), (other,), (0,)),)
    cells = score_block(BlockWork("e", task, rules.name, rules.grid(None), rules.select(), "", tracks))
    status, message = Status(int(cells.status[0])), cells.message[0]
    if status == Status.failed or len(message) > 20_000:
        raise Defect(message[:2000])
    message.encode("utf-8")
    return f"{status.name}: {message}"


def _evaluate(task: str, convention: str | None, reference: Path, estimate: Path, options: Options) -> str:
    sides: list[Any] = [str(reference), str(estimate)]
    if options:
        sides = [mirflow.load(path, task=task, **options) for path in sides]
    scores = mirflow.evaluate(*sides, task, convention=convention)
    return f"scored: {scores.score.values.tolist()}"


def _explain(task: str, convention: str | None, reference: Path, estimate: Path, options: Options) -> str:
    rules = get_task(task).convention(convention)
    first = str(rules.select(None)[0])
    evidence = mirflow.explain(str(reference), str(estimate), first, task, convention=convention)
    return f"explained: {dict(evidence.sizes)}"


def _load(task: str, convention: str | None, reference: Path, estimate: Path, options: Options) -> str:
    return f"loaded: {dict(mirflow.load(str(estimate), task=task, **options).sizes)}"


def _align(task: str, convention: str | None, reference: Path, estimate: Path, options: Options) -> str:
    both = [mirflow.load(str(path), task=task, **options) for path in (reference, estimate)]
    aligned = [mirflow.align(both, grid=grid) for grid in ("union", {"hop": 0.01})]
    back = [len(mirflow.from_grid(one)) for one in aligned]
    return f"aligned: {[dict(one.sizes) for one in aligned]}, and back: {back}"


def _check(task: str, convention: str | None, reference: Path, estimate: Path, options: Options) -> str:
    checks = list(check_paths([estimate], task, convention=convention, schema=False, **options))
    return f"checked: {sum(len(file.problems) for file in checks)} problems"


def _table(task: str, convention: str | None, reference: Path, estimate: Path, options: Options) -> str:
    tables = [mirflow.load_collection(str(path), task, **options) for path in (reference, estimate)]
    return f"scored: {mirflow.evaluate(*tables, task, convention=convention).score.shape}"


DOORS: dict[str, Callable[[str, str | None, Path, Path, Options], str]] = {
    "run": _run,
    "evaluate": _evaluate,
    "explain": _explain,
    "load": _load,
    "align": _align,
    "check": _check,
    "table": _table,
}


def doors_of(task: str, suffix: str) -> tuple[str, ...]:
    """The doors that files of a task and suffix go through, those that matter most several times."""
    if suffix in TABLES:
        return ("table", "table", "check")
    doors = ("run", "run", "run", "run", "evaluate", "load", "check")
    doors += ("explain",) if get_task(task).convention().explain is not None else ()
    doors += ("align",) if Reading.of(task=task).kind in ("intervals", "events", "series") else ()
    return doors + (
        ("table",) if Reading.of(task=task).kind in ("labels", "ranking", "judgements", "following") else ()
    )
