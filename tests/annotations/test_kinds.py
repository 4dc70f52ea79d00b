"""Every kind that can be read, as dataset, collection and pack, also mixed with annotations that lack columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.annotations.annotation import Annotation, from_ragged, to_ragged
from mirflow.annotations.arrays import as_array
from mirflow.annotations.collection import Collection, collect
from mirflow.annotations.collection import from_dataset as collection_from_dataset
from mirflow.annotations.labelled import from_dataset, to_dataset
from mirflow.annotations.schema import KINDS as DECLARED
from mirflow.annotations.schema import Kind
from mirflow.annotations.source import HeldSource
from mirflow.engine.block import BlockSide
from mirflow.engine.lazy import LazyCollection
from mirflow.errors import AnnotationError
from mirflow.metrics.base import get_task
from mirflow.pipeline import plan_evaluation
from mirflow.store.packs import open_pack, write_pack


def counts(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, dtype=np.int64)


def floats(*numbers: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(numbers, dtype=np.float64)


def hierarchy(*levels: list[str]) -> Annotation:
    time = np.concatenate([np.zeros(0), *(np.arange(len(level), dtype=np.float64) for level in levels)])
    labels = [label for level in levels for label in level]
    return Annotation("hierarchy", {"start": time, "end": time + 1}, labels, (counts(*map(len, levels)),))


def events(times: list[float], labels: list[str] | None = None) -> Annotation:
    return Annotation("events", {"time": floats(*times)}, labels)


def intervals(*labels: str) -> Annotation:
    time = np.arange(len(labels), dtype=np.float64)
    return Annotation("intervals", {"start": time, "end": time + 1}, list(labels))


def patterns(occurrences: list[int], notes: list[int]) -> Annotation:
    number = np.arange(sum(notes), dtype=np.float64)
    return Annotation(
        "patterns", {"onset": number - 1, "pitch": 60 + number}, None, (counts(*occurrences), counts(*notes))
    )


def tempo(*tempi: float, salience: list[float] | None = None) -> Annotation:
    return Annotation(
        "tempo", {"tempo": floats(*tempi)} | ({} if salience is None else {"salience": floats(*salience)})
    )


KINDS: dict[str, list[Annotation]] = {
    "events": [events([0.5, 1.0], ["1", "2"]), events([0.7]), events([]), events([0.1, 0.2], ["kick", "1"])],
    "intervals": [intervals("C"), intervals(), intervals("G", "C")],
    "hierarchy": [hierarchy(["A"], ["a", "b"]), hierarchy(), hierarchy(["A", "B"], [], ["x"])],
    "patterns": [patterns([2, 1], [2, 1, 1]), patterns([], []), patterns([1], [3])],
    "tempo": [tempo(60, 120, salience=[0.25, 0.75]), tempo(90), tempo()],
    "key": [Annotation("key", {}, ["C minor"]), Annotation("key", {}, []), Annotation("key", {}, ["Gb:major"])],
}

each_kind = pytest.mark.parametrize("kind", KINDS)


def content(annotation: Annotation) -> tuple[object, ...]:
    """What must survive; of optional columns an empty annotation has nothing to keep."""
    columns: Mapping[str, list[float]] = {n: c.tolist() for n, c in annotation.columns.items() if len(c)}
    inner = [level.tolist() for level in annotation.inner_counts]
    return annotation.kind, columns, annotation.labels or None, inner, len(annotation)


@each_kind
def test_an_annotation_survives_being_a_dataset(kind: str) -> None:
    for annotation in KINDS[kind]:
        assert content(from_dataset(to_dataset(annotation))) == content(annotation)


@each_kind
def test_annotations_survive_being_rows(kind: str) -> None:
    rows = to_ragged(KINDS[kind])
    assert len(rows) == len(KINDS[kind])
    for row, annotation in enumerate(KINDS[kind]):
        assert content(from_ragged(kind, rows, row)) == content(annotation)
    backwards = to_ragged(KINDS[kind][::-1])
    assert content(from_ragged(kind, backwards, 0)) == content(KINDS[kind][-1])


def named(kind: str) -> dict[str, Annotation]:
    return {f"t{number}": annotation for number, annotation in enumerate(KINDS[kind])}


def check(collection: Collection, kind: str) -> None:
    assert collection.tracks == tuple(named(kind))
    for track, annotation in named(kind).items():
        assert content(collection.annotation(track)) == content(annotation)


@each_kind
def test_a_dataset_of_a_collection_shares_its_arrays_both_ways(kind: str) -> None:
    collection = collect(named(kind))
    rows, dataset = collection.rows, collection.dataset
    back = collection_from_dataset(dataset).rows
    arrays = [(dataset[name], column, back.columns[name]) for name, column in rows.columns.items()]
    sizes = [variable for name, variable in dataset.data_vars.items() if str(name).endswith("_size")]
    assert [size.attrs["sample_dimension"] for size in sizes] == list(DECLARED[kind].dims)
    for labelled, given, restored in [*arrays, *zip(sizes, rows.counts, back.counts, strict=True)]:
        assert np.shares_memory(labelled.values, given)
        assert np.shares_memory(restored, given)
        assert labelled.attrs["long_name"]


@each_kind
def test_a_collection_survives_being_a_dataset(kind: str) -> None:
    collection = collect(named(kind))
    check(collection, kind)
    check(collection_from_dataset(collection.dataset), kind)
    last = list(named(kind))[-1]
    assert content(collection.sel(track=last).annotation(last)) == content(KINDS[kind][-1])


@each_kind
@pytest.mark.parametrize("block", [1, 2, 64])
def test_a_lazy_collection_has_the_same_rows_in_any_blocks(kind: str, block: int) -> None:
    held = tuple(HeldSource(annotation, track) for track, annotation in named(kind).items())
    check(LazyCollection(kind, tuple(named(kind)), held, block).compute(scheduler="synchronous"), kind)


@each_kind
def test_a_pack_gives_back_what_was_put_in(kind: str, tmp_path: Path) -> None:
    collection = collect(named(kind))
    write_pack(tmp_path / "p.zarr", kind, collection.tracks, collection.rows)
    pack = open_pack(tmp_path / "p.zarr")
    assert list(pack) == list(named(kind))
    for track, annotation in named(kind).items():
        assert content(pack[track].read()[0]) == content(annotation)


def test_downbeats_are_taken_from_a_pack_of_beats_too(tmp_path: Path) -> None:
    beats = {"a": events([0.0, 0.5, 1.0], ["1", "2", "1"]), "b": events([3.0], ["1"])}
    rows = collect(beats).rows
    write_pack(tmp_path / "p.zarr", "events", list(beats), rows)
    downbeats = mirflow.load_collection(tmp_path / "p.zarr", "downbeat")
    assert [downbeats[track].time.values.tolist() for track in beats] == [[0.0, 1.0], [3.0]]
    assert len(mirflow.load_collection(tmp_path / "p.zarr", "downbeat", select="all")["a"].time) == 3
    evaluation = {"task": "downbeat", "reference": "p.zarr", "estimates": "p.zarr"}
    plan = plan_evaluation(evaluation, tmp_path, open_pack=open_pack)
    (reference,) = plan.references[0]
    assert reference.source.read()[0].columns["time"].tolist() == [0.0, 1.0]


def test_a_dataset_that_was_cut_is_refused() -> None:
    dataset = to_dataset(KINDS["hierarchy"][0])
    with pytest.raises(AnnotationError, match="segment_size counts 3 segments, but there are 2"):
        from_dataset(dataset.isel(segment=slice(2)))
    with pytest.raises(AnnotationError, match="needs the variables segment_size"):
        from_dataset(dataset.drop_vars("segment_size"))


def test_items_of_nested_kinds_know_their_files() -> None:
    annotation = hierarchy(["A"], ["a", "b"], [], ["x"])
    whole = Annotation("hierarchy", annotation.columns, annotation.labels, annotation.inner_counts, files=tuple("wxyz"))
    assert [whole.file(item) for item in range(4)] == ["w", "x", "x", "z"]
    assert annotation.file(0) is None


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for side, shift in (("ref", 0), ("est", 1)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.key").write_text("C minor" if side == "ref" else "Eb major")
        (tmp_path / side / "a.txt").write_text("60 120 0.5\n")
        (tmp_path / side / "a_upper.lab").write_text("0 8 A\n")
        (tmp_path / side / "a_lower.lab").write_text(f"0 {3 + shift} a\n{3 + shift} 8 b\n")
    return tmp_path


def test_files_of_these_kinds_are_loaded_and_scored(files: Path) -> None:
    key = mirflow.load(files / "ref" / "a.key", task="key")
    assert (key.label.values.tolist(), dict(key.sizes)) == (["C minor"], {"key": 1})
    scores = mirflow.evaluate_paths(files / "ref" / "a.key", files / "est" / "a.key", "key")
    assert scores.score.sel(metric="weighted_score").item() == 0.3
    assert mirflow.evaluate(key, key).score.sel(metric="weighted_score").item() == 1.0
    tempo = mirflow.evaluate_paths(files / "ref" / "a.txt", files / "est" / "a.txt", "tempo")
    assert tempo.score.sel(metric="p_score").item() == 1.0


def test_hierarchies_of_several_files_are_loaded_and_scored(files: Path, tmp_path: Path) -> None:
    levels = ["upper", "lower"]
    one = mirflow.load(files / "ref" / "a_{level}.lab", task="hierarchy", levels=levels)
    assert (one.segment_size.values.tolist(), one.label.values.tolist()) == ([1, 2], ["A", "a", "b"])
    paths = [files / side / "a_{level}.lab" for side in ("ref", "est")]
    scores = mirflow.evaluate_paths(*paths, "hierarchy", levels=levels, metrics=["l_measure"])
    other = mirflow.load(paths[1], task="hierarchy", levels=levels)
    assert scores.score.item() == mirflow.evaluate(one, other, metrics=["l_measure"]).score.item()
    perfect = mirflow.evaluate_paths(paths[0], paths[0], "hierarchy", levels=levels, metrics=["l_measure"])
    assert perfect.score.item() == 1.0
    songs = mirflow.load_collection(files / "ref" / "{track}_{level}.lab", "hierarchy", levels=levels)
    assert songs["a"].label.values.tolist() == ["A", "a", "b"]
    pattern = str(files / "ref" / "{track}_{level}.lab")
    assert mirflow.pack(pattern, tmp_path / "p.zarr", "hierarchy", levels=levels) == 1
    packed = mirflow.load_collection(tmp_path / "p.zarr", "hierarchy")
    assert packed["a"].segment_size.values.tolist() == [1, 2]


@each_kind
def test_a_collection_of_a_pack_is_that_of_its_annotations(kind: str, tmp_path: Path) -> None:
    own = {name: replace(one, attrs={"title": f"song {name}"}) for name, one in named(kind).items()}
    rows, titles = to_ragged(list(own.values())), tuple(f"song {name}" for name in own)
    write_pack(tmp_path / "p.zarr", kind, list(own), rows, {"artist": "A"}, {"title": titles})
    task = next(task for task in DECLARED[kind].tasks if task not in ("beat", "downbeat"))
    found = mirflow.load_collection(tmp_path / "p.zarr", task)
    one_by_one = mirflow.load_collection(tmp_path / "p.zarr", task, lazy=True).compute(scheduler="synchronous")
    check(found, kind)
    for name, values in one_by_one.metadata.items():
        assert found.metadata[name].tolist() == values.tolist()
    again = mirflow.load_collection(tmp_path / "p.zarr", task).rows
    assert all(np.shares_memory(again.columns[name], column) for name, column in found.rows.columns.items())


def test_a_side_of_a_block_is_a_labelled_collection() -> None:
    spans = [HeldSource(one, name) for name, one in named("intervals").items()]
    side = BlockSide([*spans, spans[0], None], DECLARED["intervals"])
    found = side.annotations
    assert found.tracks == ("t0", "t1", "t2")
    assert found.dataset.row_size.values.tolist() == [1, 0, 2]
    cleaned = side.clean(get_task("chord").convention())
    assert np.shares_memory(found.dataset.start.values, cleaned.rows.columns["start"])
    assert repr(side).startswith("<one side of a block: <mirflow.Collection: 3 tracks of intervals, 3 segments")


def test_the_file_of_the_level_is_blamed(files: Path) -> None:
    (files / "est" / "a_lower.lab").write_text("# fine\n0 3 a\n8 3 b\n")
    paths = [files / side / "a_{level}.lab" for side in ("ref", "est")]
    scores = mirflow.evaluate_paths(*paths, "hierarchy", levels=["upper", "lower"])
    assert str(scores.message.item()).startswith(
        f"reason (estimate): {files}/est/a_lower.lab:3: interval ends before it starts"
    )


@pytest.mark.parametrize("kind", DECLARED.values(), ids=lambda kind: kind.name)
def test_columns_of_a_kind_cover_what_it_needs_and_its_usual_order(kind: Kind) -> None:
    assert {*chain(*kind.needed), *kind.usual_order, *kind.narrow_order} <= {*kind.columns}
    assert bool(kind.columns) == bool(kind.needed) == bool(kind.usual_order)


@pytest.mark.parametrize("counts", [[1.0, np.nan], [np.inf, 0.0], [-1, 2], [0.5, 0.5], [1e300, 0.0], ["1", "0"]])
def test_counts_that_are_none_are_refused_without_a_warning_of_numpy(counts: list[Any]) -> None:
    variables = {"time": ("time", [0.0, 1.0]), "frequency": ("pitch", [440.0]), "pitch_size": ("time", counts)}
    with pytest.raises(AnnotationError, match="pitch_size must contain whole numbers of at least 0"):
        from_dataset(xr.Dataset(variables, attrs={"kind": "multipitch"}))


def test_an_array_that_is_too_large_for_the_memory_is_not_invalid() -> None:
    class Huge:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise MemoryError

    with pytest.raises(MemoryError):
        as_array("time", Huge())
