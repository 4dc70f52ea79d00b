"""Generations share the files of systems that stay as they are, and hold what a full rewrite would."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirflow.errors import DamagedError, StoreError
from mirflow.metrics.base import Sparse
from mirflow.store import GroupContent, StoreWriter, read_group, read_tree
from mirflow.store.cells import Cells, concatenate_cells, no_cells
from mirflow.store.format import loaded
from mirflow.store.stored import StoredGroup

from .example import CREATED, SYSTEMS, TRACKS, all_pairs, assert_same_cells, files_of, make_cells, make_content

BY_SYSTEM = ("score", "weight", "status", "repairs", "message", "digest", "stamp")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of three systems, with a confusion matrix."""
    with StoreWriter(tmp_path / "x.zarr") as writer:
        writer.publish([make_content(make_cells(all_pairs(), extras=True))], created=CREATED)
    return tmp_path / "x.zarr"


def add(path: Path, system: str = "new", first: bool = False) -> Path:
    """Publish with one more system, whose results alone are in memory."""
    with StoreWriter(path) as writer:
        before = writer.contents()["chord"]
        cells = concatenate_cells([before.cells, make_cells([(system, track) for track in TRACKS], extras=True)])
        systems = (system, *before.systems) if first else (*before.systems, system)
        return writer.publish([replace(before, systems=systems, cells=cells, system_coords={})], created=CREATED)


def inodes(generation: Path, names=(*BY_SYSTEM, "confusion")) -> dict[str, dict[str, int]]:
    """Inodes of the files of each system."""
    systems = zarr.open_group(str(generation), mode="r")["chord/system"][...].tolist()
    found: dict[str, dict[str, int]] = {system: {} for system in systems}
    for row, system in enumerate(systems):
        for name in names:
            folder = generation / "chord" / name
            for file in (*folder.glob(f"c.{row}.*"), *folder.glob(f"c/{row}/**/*")):
                if file.is_file():
                    place = str(file.relative_to(folder)).replace("/", ".").removeprefix(f"c.{row}.")
                    found[system][f"{name}/{place}"] = file.stat().st_ino
    return found


@pytest.mark.parametrize("first", [False, True], ids=["behind", "in front"])
def test_files_of_systems_that_stay_are_links(store, first):
    before = inodes(store.resolve())
    after = inodes(add(store, first=first))
    assert {system: after[system] for system in before} == before
    assert not set(after["new"].values()) & {inode for own in before.values() for inode in own.values()}
    assert len(before["KO1"]) == len({*BY_SYSTEM, "confusion"} - {"message"}), "a file of no message is written"


def test_removing_the_earlier_generation_leaves_the_files_of_the_later(store):
    before, cells = inodes(store.resolve()), read_group(store, "chord").cells
    for system in ("b", "c", "d"):
        add(store, system)
    assert [one.name for one in sorted(store.resolve().parent.glob("generation-*"))] == [
        "generation-000003",
        "generation-000004",
    ]
    after = inodes(store.resolve())
    assert {system: after[system] for system in before} == before
    part = read_group(store, "chord").part(SYSTEMS)
    assert_same_cells(part.cells, cells)


def test_results_that_stay_are_not_read(store, monkeypatch):
    with StoreWriter(store) as writer:
        before = writer.contents()["chord"]
        read = []
        monkeypatch.setattr(StoredGroup, "read", lambda self, name, *_: read.append(name) or np.ones((1, 7), np.int8))
        monkeypatch.setattr(StoredGroup, "entries", lambda *_: pytest.fail("entries are read"))
        writer.publish([replace(before, attrs={"more": 1})])
    assert read == ["status"]  # of one system: is any result of each track, and so its duration, still there?


def test_a_system_with_new_cells_is_written_and_the_others_are_linked(store):
    before, old = inodes(store.resolve()), read_group(store, "chord").cells
    with StoreWriter(store) as writer:
        content = writer.contents()["chord"]
        new = make_cells([("NG 1", TRACKS[2])], offset=5.0)
        writer.publish([replace(content, cells=concatenate_cells([content.cells, new]))], created=CREATED)
    after, now = inodes(store.resolve()), read_group(store, "chord").cells
    assert after["KO1"] == before["KO1"]
    assert after["Ünï"] == before["Ünï"]
    assert not set(after["NG 1"].values()) & set(before["NG 1"].values())
    changed = old.system.index("NG 1") + 2
    assert now.score[changed].tolist() == (old.score[changed] + 5.0).tolist()
    others = np.delete(np.arange(len(old)), changed)
    assert_same_cells(replace(now.take(others), extras={}), replace(old.take(others), extras={}))
    gone = now.extras["confusion"].index[:, 0] == changed
    assert not gone.any(), "entries of a result that was replaced go with it"


def test_other_tracks_metrics_and_labels_are_rewritten_from_what_is_stored(store):
    before = loaded(read_group(store, "chord"))
    with StoreWriter(store) as writer:
        content = writer.contents()["chord"]
        confusion = replace(content.cells.extras["confusion"], coords=(("N", "A", "B", "C"), ("y", "x")))
        cells = replace(no_cells(("majmin", "other", "root")), extras={"confusion": confusion})
        writer.publish([replace(content, tracks=("more", *TRACKS[::-1]), cells=cells, attrs={})], created=CREATED)
    after = zarr.open_group(str(store), mode="r")["chord"]
    score = before.cells.score.reshape(3, 7, 3)[:, ::-1]
    np.testing.assert_array_equal(after["score"][:, 1:, [2, 0]], score[..., :2])
    assert np.isnan(after["score"][:, 0]).all()
    assert np.isnan(after["score"][..., 1]).all()
    assert after["status"][:, 0].tolist() == [0, 0, 0]
    np.testing.assert_array_equal(after["duration"][1:], [8.0] * 7)
    assert after["confusion"].shape == (3, 8, 4, 2)
    assert after["confusion"][...].sum() == before.cells.extras["confusion"].value.sum()


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOSYS])
def test_where_links_are_refused_files_are_copied(store, monkeypatch, number):
    def refuse(*_args, **_keywords):
        raise OSError(number, os.strerror(number))

    linked = files_of(add(store))
    with StoreWriter(store) as writer:
        content = writer.contents()["chord"]
        monkeypatch.setattr(os, "link", refuse)
        generation = writer.publish([content], created=CREATED)
    assert files_of(generation) == linked
    assert all(file.stat().st_nlink == 1 for file in generation.rglob("*") if file.is_file())


@pytest.mark.parametrize("name", ["score", "confusion"])
def test_a_lost_file_is_not_passed_on(store, name):
    min((store / "chord" / name).glob("c.*")).unlink()
    with pytest.raises(DamagedError, match=f"chunks of '{name}' are lost"):
        add(store)
    assert store.resolve().name == "generation-000001"


def test_a_reader_keeps_its_generation_while_new_ones_share_its_files(store):
    tree = read_tree(store)["chord"]
    expected = tree.score.values
    add(store, "b")
    np.testing.assert_array_equal(tree.score.isel(system=1).values, expected[1])
    add(store, "c")
    with pytest.raises(StoreError, match="was replaced by later runs while it was open"):
        tree.score.load()
    np.testing.assert_array_equal(read_tree(store)["chord"].score.values[:3], expected)


_SYSTEMS, _TRACKS, _MEASURES = ("a", "b", "c", "d"), ("s", "t", "u", "v"), ("m", "n", "o")
_LABELS = ("A", "B", "C")


@st.composite
def steps(draw: st.DrawFn) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], list[tuple[str, str]], int]:
    """What a run names, the cells that it computes in addition to those that are lacking, and a seed."""
    chosen = [
        tuple(draw(st.permutations(names)))[: draw(st.integers(1, len(names)))]
        for names in (_SYSTEMS, _TRACKS, _MEASURES)
    ]
    pairs = [(system, track) for system in chosen[0] for track in chosen[1]]
    return *chosen, draw(st.lists(st.sampled_from(pairs), unique=True, max_size=3)), draw(st.integers(0, 2**32 - 1))


def computed(pairs: list[tuple[str, str]], measures: tuple[str, ...], seed: int) -> Cells:
    """Random results, those with extra dims at random labels."""
    rng = np.random.default_rng(seed)
    cells = make_cells(pairs, measures)
    labels = tuple(sorted(rng.choice(_LABELS, rng.integers(1, 4), replace=False).tolist()))
    index = np.array([[cell, rng.integers(len(labels))] for cell in range(0, len(pairs), 2)], dtype=np.int64)
    sparse = Sparse(("ref",), (labels,), index.reshape(-1, 2), rng.uniform(1, 2, len(index)))
    score = rng.uniform(size=cells.score.shape)
    message = tuple(rng.choice(["", "ü"], len(pairs)).tolist())
    stamp = rng.integers(1, 2**60, len(pairs))
    return replace(cells, score=score, weight=1 + score, message=message, stamp=stamp, extras={"seconds": sparse})


@pytest.mark.slow
@given(st.lists(steps(), min_size=2, max_size=4), st.integers(1, 9))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_generations_of_links_are_the_bytes_of_full_rewrites(tmp_path_factory, history, most):
    """Systems, tracks and metrics come, go and move, and cells change."""
    path = tmp_path_factory.mktemp("generations")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(GroupContent.blocks, "__defaults__", (most,))
        for number, (systems, tracks, measures, changed, seed) in enumerate(history):
            with StoreWriter(path / "x") as writer:
                before = writer.contents().get("chord")
                known = set() if before is None else set(zip(*_names(loaded(before).cells), strict=True))
                lacking = [(s, t) for s in systems for t in tracks if (s, t) not in known]
                new = computed([*lacking, *(pair for pair in changed if pair in known)], measures, seed)
                heads = [] if before is None else [replace(no_cells(measures), extras=before.cells.extras)]
                stored = {} if before is None else {s: before.stored[s] for s in systems if s in before.stored}
                content = GroupContent("chord", systems, tracks, concatenate_cells([*heads, new]), stored=stored)
                whole = loaded(content)
                folder = writer.publish([content], created=CREATED)
            with StoreWriter(path / f"whole-{number}") as writer:
                expected = writer.publish([whole], created=CREATED)
            assert files_of(folder) == files_of(expected)


def _names(cells: Cells) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return cells.system, cells.track
