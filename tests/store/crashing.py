"""Writers that can be killed, started as processes of their own by the tests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mirflow.store import StoreWriter
from mirflow.store.cells import Cells, concatenate_cells

from .example import CREATED, SYSTEMS, make_cells, make_content

TRACKS = tuple(f"{i:03d}" for i in range(24))
_BLOCK = 2


def run_once(path: Path, pause: float = 0.0) -> None:
    """What a run does: take up the journal, compute what is missing block by block, publish."""
    with StoreWriter(path) as writer:
        done = writer.journal.read("chord", "v1")
        previous = writer.contents().get("chord")
        if previous is not None:
            done.append(previous.cells)
        have = {track for block in done for track in block.track}
        missing = [track for track in TRACKS if track not in have]
        for start in range(0, len(missing), _BLOCK):
            block = _computed(missing[start : start + _BLOCK])
            time.sleep(pause)
            writer.journal.append("chord", "v1", block)
            done.append(block)
        cells = concatenate_cells(done)
        writer.publish([make_content(cells, tracks=TRACKS)], created=CREATED)


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
