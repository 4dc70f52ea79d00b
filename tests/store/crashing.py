"""Writers that can be killed, started as processes of their own by the tests."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from mirflow.store import StoreWriter
from mirflow.store.cells import Cells, concatenate_cells
from mirflow.store.format import loaded

from .example import CREATED, SYSTEMS, files_of, make_cells, make_content

TRACKS = tuple(f"{i:03d}" for i in range(24))
_BLOCK = 2


def run_once(path: Path, pause: float = 0.0) -> None:
    """What a run does: take up the journal, compute what is missing block by block, publish."""
    with StoreWriter(path) as writer:
        done = [*writer.journal.read("chord", "v1")]
        previous = writer.contents().get("chord")
        have = {track for block in done for track in block.track}
        if previous is not None:
            done.append(previous.cells)
            have |= set(loaded(previous).cells.track)
        missing = [track for track in TRACKS if track not in have]
        for start in range(0, len(missing), _BLOCK):
            block = _computed(missing[start : start + _BLOCK])
            time.sleep(pause)
            writer.journal.append("chord", "v1", block)
            done.append(block)
        cells = concatenate_cells(done)
        stored = {} if previous is None else previous.stored
        writer.publish([make_content(cells, tracks=TRACKS, stored=stored)], created=CREATED)


def _computed(tracks: list[str]) -> Cells:
    cells = make_cells([(system, track) for track in tracks for system in SYSTEMS], extras=True)
    # Nothing of a cell may depend on the block in which it was computed.
    count = len(cells)
    cells.repairs[:] = 0
    cells.stamp[:] = [int(track) for track in cells.track]
    index = cells.extras["confusion"].index
    index[:] = np.column_stack([np.arange(count), np.arange(count) % 3, np.zeros(count, dtype=np.int64)])[: len(index)]
    cells.extras["confusion"].value[:] = 1.5
    return cells


def publish_forever(path: Path) -> None:
    """Generation after generation, all numbers of one being its own."""
    number = 0
    with StoreWriter(path) as writer:
        while True:
            number += 1
            cells = make_cells([(system, track) for system in SYSTEMS for track in TRACKS])
            cells.score[:] = cells.weight[:] = number
            writer.publish([make_content(cells, tracks=TRACKS, attrs={"number": number})], created=CREATED)


def killed_at(path: Path, step: str, before: bool) -> None:
    """Run once and be killed right before or right after a step of publishing."""
    owner, name = {
        "start": (StoreWriter, "_start"),
        "rename": (Path, "rename"),
        "link": (StoreWriter, "_link"),
        "clean": (StoreWriter, "_clean"),
        "replace": (Path, "replace"),
        "discard": (StoreWriter, "_discard"),
    }[step]
    original: Callable[..., object] = getattr(owner, name)

    def stepping(self: object, *args: object, **keywords: object) -> object:
        # The journal's files are renamed too, and leftovers of the start are discarded too.
        publishing = "journal" not in str(self) and (step != "discard" or "generation-" in str(args))
        if publishing and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(self, *args, **keywords)
        if publishing:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, stepping)
    run_once(path)


NEW = "new"
"""A system that is added to a store of others."""


def add_system(path: Path) -> None:
    """Publish a store with one more system: links to the files of the others, and files of its own."""
    with StoreWriter(path) as writer:
        before = writer.contents().get("chord")
        assert before is not None
        cells = concatenate_cells([before.cells, make_cells([(NEW, track) for track in before.tracks], extras=True)])
        systems = (*(name for name in before.systems if name != NEW), NEW)
        writer.publish([replace(before, systems=systems, cells=cells)], created=CREATED)


_CHANGES = ("os.link", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink")


def kill_at(number: int, folder: Path) -> None:
    """Kill this process before it changes something below a folder for so many times."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, args: tuple[object, ...]) -> None:
        writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        if (event in _CHANGES or writes) and str(folder) in " ".join(map(str, args)):
            step()

    fsync = os.fsync
    os.fsync = lambda descriptor: (step(), fsync(descriptor))[1]  # type: ignore[assignment]
    sys.addaudithook(hook)


def in_fork(function: Callable[..., object], *args: object) -> int:
    """The exit code of a function in a fork of this process."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            function(*args)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _add_and_die(path: Path, number: int) -> None:
    kill_at(number, path.parent)
    add_system(path)


def kill_at_calls(folder: Path, expected: dict[str, dict[str, bytes]], step: int) -> None:
    """Add a system to copies of the store ``x.zarr`` of a folder, each time killed `step` calls later; look at them.

    All generations must be whole, and `expected`; running again gives the last one. This process opens no store, as
    threads do not survive a fork.
    """
    for number in itertools.count(1, step):
        copy = folder / str(number)
        shutil.copytree(folder / ".x.zarr.d", copy / ".x.zarr.d")
        (copy / "x.zarr").symlink_to((folder / "x.zarr").readlink())
        code = in_fork(_add_and_die, copy / "x.zarr", number)
        assert code in (0, -signal.SIGKILL), f"call {number}"
        assert files_of((copy / "x.zarr").resolve()) in expected.values(), f"call {number}"
        # Whatever is left of a generation that was not put in place is alike.
        if number % 5 == 1 or not (copy / ".x.zarr.d" / "building").exists():
            assert in_fork(add_system, copy / "x.zarr") == 0, f"call {number}"
            assert files_of((copy / "x.zarr").resolve()) == expected["generation-000002"], f"call {number}"
        for generation in (copy / ".x.zarr.d").glob("generation-*"):
            assert files_of(generation) in expected.values(), f"call {number} wrote through a link"
        shutil.rmtree(copy)
        if code == 0:
            assert number > 50
            return
