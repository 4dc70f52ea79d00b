"""Stores that were damaged or made to trip their reader: each is an error that names the store, at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numcodecs.zstd import Zstd

import mirflow
from mirflow.errors import StoreError
from mirflow.store import format as store_format
from mirflow.store.stored import _Attributes
from tests.commands import invoke
from tests.groups import random_group, write_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a coordinate, scores and a message."""
    group = random_group(2, 10, 2)
    group["message"].values[0, 0] = "the file ends early"
    return write_store(tmp_path / "s.zarr", {"chord": group})


def chunk_of(store: Path, name: str) -> Path:
    return min((store / "chord" / name).glob("c.*"))


def change_arrays(store: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the metadata of an array where they are and where those of all arrays are gathered."""
    for file, key in ((store / name / "zarr.json", ""), (store / "zarr.json", name)):
        data = json.loads(file.read_text())
        gathered = (data.get("consolidated_metadata") or {}).get("metadata", {})  # null in zarr 3.1.2
        if not key or key in gathered:
            change(gathered[key] if key else data)
        file.write_text(json.dumps(data))


def other_size(store: Path) -> None:
    """A frame that is whole and holds nothing."""
    chunk_of(store, "score").write_bytes(Zstd(checksum=True).encode(b""))


def bomb(store: Path) -> None:
    """A frame of a gigabyte in a few kilobytes."""
    chunk_of(store, "status").write_bytes(Zstd(checksum=True).encode(np.zeros(2**30, np.int8)))


def text_bomb(store: Path) -> None:
    chunk_of(store, "message").write_bytes(Zstd(checksum=True).encode(np.zeros(2**30, np.int8)))


def no_text(store: Path) -> None:
    """A frame of text whose lengths lead beyond its end."""
    chunk_of(store, "message").write_bytes(Zstd(checksum=True).encode(b"\n\0\0\0\xff\xff\xff\x7f"))


def huge(store: Path) -> None:
    """Arrays of two gigabytes, of which one chunk is there."""
    for file in (store / "zarr.json", *(store / "chord").rglob("zarr.json")):
        data = json.loads(file.read_text())
        members = (data.get("consolidated_metadata") or {}).get("metadata", {})  # null in zarr 3.1.2
        for one in [data, *members.values()]:
            names = one.get("dimension_names")
            if names:
                one["shape"] = [
                    2_000_000_000 if name == "track" else size for name, size in zip(names, one["shape"], strict=True)
                ]
        file.write_text(json.dumps(data))


def twice_compressed(store: Path) -> None:
    """A frame of the right size in which there is a frame of a gigabyte."""
    change_arrays(store, "chord/track", lambda array: array["codecs"].append(array["codecs"][-1]))
    inner = Zstd(checksum=True).encode(np.zeros(2**30, np.int8))
    chunk_of(store, "track").write_bytes(Zstd(checksum=True).encode(inner))


def large_chunks(store: Path) -> None:
    """Chunks of eight terabytes, of which the array has the first few bytes."""
    change_arrays(
        store, "chord/status", lambda array: array["chunk_grid"]["configuration"].update(chunk_shape=[1, 10**12])
    )


def other_coordinates(store: Path) -> None:
    """An attribute that names no coordinates, so that metrics are not described."""
    change_arrays(store, "chord", lambda group: group["attributes"].update(coordinates="x"))


def empty_chunk(store: Path) -> None:
    chunk_of(store, "score").write_bytes(b"")


def pipe(store: Path) -> None:
    """A chunk that nobody ever writes."""
    chunk = chunk_of(store, "score")
    chunk.unlink()
    os.mkfifo(chunk)


def loop(store: Path) -> None:
    store.unlink()
    store.symlink_to(store.name)


HARMS = [
    other_size,
    bomb,
    text_bomb,
    twice_compressed,
    no_text,
    large_chunks,
    huge,
    other_coordinates,
    empty_chunk,
    pipe,
    loop,
]


@pytest.mark.parametrize("harm", HARMS, ids=lambda one: one.__name__)
def test_python_raises_an_error_that_names_the_store(store: Path, harm: Callable[[Path], None]) -> None:
    harm(store)
    with pytest.raises(StoreError, match=r"s\.zarr.*(is damaged|no such store|leads to|not a store)"):
        mirflow.open_store(store).load()


@pytest.mark.parametrize("place", ["", "chord"], ids=["store", "evaluation"])
def test_attributes_of_another_type_are_an_error_wherever_they_stand(store: Path, place: str) -> None:
    kept = {file: file.read_text() for file in (store / "zarr.json", store / place / "zarr.json")}
    for name in _Attributes.__struct_fields__:
        for value in ("2026-13", "4" * 400) if name == "grid" else (5, [[]], {"x": [5]}):
            change_arrays(store, place, lambda group, name=name, value=value: group["attributes"].update({name: value}))
            with pytest.raises(StoreError, match=rf"s\.zarr: is damaged: its attributes are not .*`\$\.{name}"):
                mirflow.open_store(store)
            for file, text in kept.items():
                file.write_text(text)


def test_texts_are_no_longer_than_those_of_a_run(store: Path) -> None:
    change_arrays(store, "chord", lambda group: group["attributes"].update(pipeline="x" * (2**20 + 1)))
    with pytest.raises(StoreError, match=r"s\.zarr: is damaged: .*length <= 1048576 - at `\$\.pipeline`"):
        mirflow.open_store(store)


def test_names_have_an_end_on_either_side(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = mirflow.open_store(store)["chord"].to_dataset()
    long = scores.assign_coords(system=["s" * 10_001, *scores["system"].values[1:]])
    for written in (False, True):
        if written:  # by a program without this limit
            monkeypatch.setattr(store_format, "MAX_LABEL", 10**9)
            mirflow.save(long, store.parent / "long.zarr")
            monkeypatch.undo()
        with pytest.raises(StoreError, match=r"the name 's{40}'\.\.\. has more than 10000 characters"):
            mirflow.open_store(store.parent / "long.zarr") if written else mirflow.save(
                long, store.parent / "long.zarr"
            )


@pytest.mark.parametrize("harm", HARMS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("command", ["problems", "query"])
def test_commands_say_it_in_a_line(store: Path, harm: Callable[[Path], None], command: str) -> None:
    harm(store)
    result = invoke(command, store)
    # A query reads no messages, and problems are listed without scores.
    unread = [(one, "problems") for one in (other_size, empty_chunk, pipe)]
    if (harm, command) not in [(text_bomb, "query"), (no_text, "query"), *unread]:
        assert result.exit_code not in (0, 1)
        assert "s.zarr" in " ".join(result.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize("harm", [bomb, text_bomb, twice_compressed, huge], ids=lambda one: one.__name__)
def test_little_memory_is_taken(store: Path, harm: Callable[[Path], None]) -> None:
    harm(store)
    code = (
        "import resource, sys, mirflow\n"
        "import mirflow.store.zarr_io, xarray\n"
        "from mirflow.errors import StoreError\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    mirflow.open_store(sys.argv[1]).load()\nexcept StoreError:\n    pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, store], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) < 200_000
