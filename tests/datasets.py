"""Small chord datasets on disk, for tests of whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import mirflow

CHORDS = ("C:maj", "A:min", "F:maj7", "G:7", "D:min/b3", "N", "E:sus4", "X", "B:hdim7")


def write_lab(path: Path, rng: np.random.Generator, segments: int = 12) -> None:
    """A chord annotation of random segments without gaps."""
    bounds = np.round(np.cumsum(rng.uniform(0.5, 4.0, segments + 1)) - 0.5, 3)
    bounds[0] = 0.0
    labels = rng.choice(CHORDS, segments)
    rows = zip(bounds[:-1], bounds[1:], labels, strict=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{start:.3f}\t{end:.3f}\t{label}\n" for start, end, label in rows))


def write_dataset(folder: Path, tracks: int = 6, systems: tuple[str, ...] = ("ada", "bob"), seed: int = 0) -> Path:
    """References, estimates and a pipeline file ``pipeline.yaml``; returns the pipeline's path."""
    rng = np.random.default_rng(seed)
    for number in range(tracks):
        write_lab(folder / "ref" / f"t{number:02d}.lab", rng)
        for system in systems:
            write_lab(folder / "est" / system / f"t{number:02d}.lab", rng)
    return write_pipeline(folder)


def write_pipeline(folder: Path, **evaluation: str) -> Path:
    """A pipeline file over the folder's references and estimates, with further keys of its evaluation."""
    extra = "".join(f"    {key}: {value}\n" for key, value in evaluation.items())
    path = folder / "pipeline.yaml"
    path.write_text(
        "name: test\n"
        "evaluations:\n"
        "  - task: chord\n"
        "    reference: ref/{track}.lab\n"
        "    estimates: est/{system}/{track}.lab\n"
        f"{extra}"
        f"store: {folder / 'store.zarr'}\n"
        "execution: {block: 2}\n"
    )
    return path


def write_patterns(folder: Path) -> None:
    """Two patterns of a reference, and an estimate with the second of them and one that is neither."""
    sides = {"ref": [[(0, 60), (1, 62)], [(4, 60), (5, 65)]], "est/x": [[(4, 60), (5, 65)], [(20, 60), (22, 61)]]}
    for name, patterns in sides.items():
        (folder / name).mkdir(parents=True)
        text = "".join(
            f"pattern{place}\noccurrence1\n" + "".join(f"{onset}, {pitch}\n" for onset, pitch in notes)
            for place, notes in enumerate(patterns, 1)
        )
        (folder / name / "a.txt").write_text(text)


def score_files(
    folder: Path,
    task: str,
    reference: Any = "ref/{track}.lab",
    estimates: Any = "est/{system}/{track}.lab",
    **keys: Any,
) -> Path:
    """The store of one evaluation of a folder's files; its pipeline stays there."""
    evaluation = {"task": task, "reference": reference, "estimates": estimates, **keys}
    path = folder / "p.yaml"
    path.write_text(json.dumps({"name": task, "evaluations": [evaluation], "store": str(folder / "s.zarr")}))
    return mirflow.run(path, scheduler="serial").store


def write_hidden(folder: Path, label: str, broken: str) -> Path:
    """A store of chords whose references alone have some labels and times, one of them in a message."""
    pipeline = write_dataset(folder, tracks=3)
    for track in range(3):
        file = folder / "ref" / f"t{track:02d}.lab"
        file.write_text(file.read_text() + f"70.123\t77.777\t{label}\n")
    (folder / "ref" / "t01.lab").write_text(f"0.0\t4.0\t{broken}\n")
    pipeline.write_text(pipeline.read_text().replace("store:", "    on_error: ignore\nstore:"))
    mirflow.run(pipeline)
    return folder / "store.zarr"
