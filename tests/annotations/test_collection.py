"""Collections: ragged, labelled, and never mutilated in silence; labels as codes into a shared vocabulary."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation, CodedLabels, from_ragged, to_ragged
from mirflow.annotations.collection import Collection, RowSource, collect, read_rows
from mirflow.annotations.collection import from_dataset as collection_from_dataset
from mirflow.annotations.labelled import from_dataset, to_dataset
from mirflow.annotations.schema import KINDS, TASK_KINDS, kind_of
from mirflow.errors import AnnotationError, UnknownNameError


def chords(*labels: str, **attrs: str | float) -> Annotation:
    times = np.arange(len(labels), dtype=np.float64)
    return Annotation("intervals", {"start": times, "end": times + 1}, list(labels), attrs=attrs)


@pytest.fixture
def songs() -> Collection:
    return collect({"a": chords("C", "G", duration=2.0), "b": chords("G", duration=1.0), "c": chords(duration=0.0)})


def test_every_task_has_one_kind() -> None:
    assert len(TASK_KINDS) == sum(len(kind.tasks) for kind in KINDS.values())
    assert kind_of("beat").dims == ("event",)
    with pytest.raises(UnknownNameError, match="did you mean 'chord'"):
        kind_of("chords")


def test_an_annotation_survives_being_a_dataset() -> None:
    dataset = to_dataset(chords("C:maj", "N", annotator="A1"))
    assert dataset.start.attrs["units"] == "s"
    assert dataset.sizes == {"segment": 2}
    back = from_dataset(dataset)
    assert back.labels == ["C:maj", "N"]
    assert back.attrs == {"annotator": "A1"}
    assert back.columns["end"].tolist() == [1.0, 2.0]


def test_a_nested_annotation_survives_being_a_dataset() -> None:
    counts = (np.array([2, 1]), np.array([1, 2, 1]))
    pattern = Annotation("patterns", {"onset": np.arange(4.0), "pitch": np.arange(60.0, 64)}, None, counts)
    dataset = to_dataset(pattern)
    assert dataset.sizes == {"pattern": 2, "occurrence": 3, "note": 4}
    back = from_dataset(dataset)
    assert [inner.tolist() for inner in back.inner_counts] == [[2, 1], [1, 2, 1]]
    assert len(back) == 2


def test_a_dataset_that_is_no_annotation_is_refused() -> None:
    with pytest.raises(AnnotationError, match="unknown kind 'None'"):
        from_dataset(to_dataset(chords("C")).drop_attrs())
    with pytest.raises(AnnotationError, match="needs the variables end"):
        from_dataset(to_dataset(chords("C")).drop_vars("end"))


def test_a_collection_gives_back_each_track(songs: Collection) -> None:
    assert len(songs) == 3
    assert list(songs) == ["a", "b", "c"]
    assert songs["a"].label.values.tolist() == ["C", "G"]
    assert songs["c"].sizes == {"segment": 0}
    assert songs.annotation("b").attrs == {"duration": 1.0, "track": "b"}


def test_selecting_tracks_takes_their_values_along(songs: Collection) -> None:
    some = songs.sel(track=["c", "a"])
    assert some.tracks == ("c", "a")
    assert some.rows.counts[0].tolist() == [0, 2]
    assert some.metadata["duration"].tolist() == [0.0, 2.0]
    assert songs.isel(track=slice(0, 1)).tracks == ("a",)
    with pytest.raises(UnknownNameError, match="unknown track 'd'"):
        songs.sel(track="d")


def test_tracks_are_selected_by_slices_of_names_and_by_masks(songs: Collection) -> None:
    assert songs.sel(track=slice("b", None)).tracks == ("b", "c")
    assert songs.sel(track=slice("a", "b")).sizes == {"track": 2, "segment": 3}
    assert songs.isel(track=songs.metadata["duration"] > 0).tracks == ("a", "b")
    assert songs.isel(track=-1).tracks == ("c",)
    with pytest.raises(AnnotationError, match="without a step"):
        songs.sel(track=slice("a", "c", 2))


def test_a_collection_is_a_mapping_of_tracks_to_datasets(songs: Collection) -> None:
    assert "a" in songs
    assert "d" not in songs
    assert {track: ds.sizes["segment"] for track, ds in songs.items()} == {"a": 2, "b": 1, "c": 0}
    assert songs.get("d") is None
    assert songs == songs  # and no comparison of arrays
    with pytest.raises(UnknownNameError, match="unknown track 'start'"):
        songs["start"]  # the values of all tracks together are not to be had without their tracks


def test_a_collection_prints_its_sizes_and_not_its_arrays(songs: Collection) -> None:
    assert repr(songs).splitlines() == [
        "<mirflow.Collection: 3 tracks of intervals, 3 segments",
        "  tracks: 'a', 'b', 'c'",
        "  metadata: duration>",
    ]
    many = collect({f"t{number}": chords("C") for number in range(12)})
    assert "'t3', ...>" in repr(many)
    assert many._repr_html_().count("<tr>") == 11
    assert "and 2 more tracks" in many._repr_html_()


def test_a_collection_survives_being_a_dataset(songs: Collection) -> None:
    dataset = songs.dataset
    assert dataset.row_size.attrs["sample_dimension"] == "segment"
    back = collection_from_dataset(dataset)
    assert back.tracks == songs.tracks
    assert back["a"].label.values.tolist() == ["C", "G"]
    assert back.metadata["duration"].tolist() == [2.0, 1.0, 0.0]


def test_a_dataset_cut_without_its_values_is_refused(songs: Collection) -> None:
    cut = songs.dataset.sel(track=["a"])
    with pytest.raises(AnnotationError, match="select tracks with the collection's own sel"):
        collection_from_dataset(cut)


@pytest.mark.parametrize("order", [[1, 0, 2], [2, 1, 0]])
def test_a_dataset_reordered_without_its_values_is_refused(songs: Collection, order: list[int]) -> None:
    with pytest.raises(AnnotationError, match="tracks were reordered or renamed, but not their values"):
        collection_from_dataset(songs.dataset.isel(track=order))


def test_tracks_of_a_collection_are_distinct_and_of_one_kind(songs: Collection) -> None:
    with pytest.raises(AnnotationError, match="track 'a' occurs twice in the collection"):
        Collection("intervals", ("a", "a", "b"), songs.rows)
    with pytest.raises(AnnotationError, match="of one kind, not of events, intervals"):
        collect({"a": chords("C"), "b": Annotation("events", {"time": np.zeros(1)})})
    with pytest.raises(AnnotationError, match="at least one"):
        collect({})


class TestRowsAtOnce:
    def test_are_the_annotations_of_single_tracks(self, songs: Collection) -> None:
        sources = [RowSource(songs, track, track) for track in reversed(songs.tracks)]
        ((places, part),) = read_rows(sources)
        rows = [from_ragged("intervals", part, row) for row in range(len(part))]
        assert places.tolist() == list(range(len(sources)))
        assert set(part.labels) == {label for source in sources for label in source.read()[0].labels or ()}
        for annotation, source in zip(rows, sources, strict=True):
            alone = source.read()[0]
            assert annotation.labels == alone.labels
            for name, column in alone.columns.items():
                np.testing.assert_array_equal(annotation.columns[name], column)

    def test_are_read_one_by_one_if_they_differ_in_columns_or_have_attributes_that_matter(self) -> None:
        beats = Annotation("events", {"time": np.array([0.5])}, ["1"])
        one = collect({"a": beats, "b": replace(beats, labels=None)})
        two = replace(collect({"a": beats}), attrs={"namespace": "beat"})
        three = collect(
            {"a": Annotation("hierarchy", {"start": np.zeros(1), "end": np.ones(1)}, ["A"], (np.ones(1, int),))}
        )
        sources = [RowSource(each, "a", "a") for each in (one, two, three)]
        assert read_rows(sources) == []
        assert read_rows([RowSource(collect({"a": beats}), "a", "a"), *sources])[0][0].tolist() == [0]


WORDS = ("x", "y", "z")


def coded(*codes: int, words: tuple[str, ...] = WORDS) -> CodedLabels:
    return CodedLabels(words, np.array(codes, dtype=np.int64))


def test_coded_labels_are_a_sequence_of_texts():
    labels = coded(2, 0, 2)
    assert (len(labels), labels[1], labels[-1], list(labels[1:])) == (3, "x", "z", ["x", "z"])
    assert labels == ["z", "x", "z"]
    assert labels != ["z", "x"]
    assert labels != "zxz"[:1]
    assert "x" in labels
    assert repr(labels) == "['z', 'x', 'z']"
    assert pickle.loads(pickle.dumps(labels)) == labels
    with pytest.raises(IndexError):
        labels[3]


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 2), max_size=4)), min_size=1, max_size=5))
def test_rows_are_the_same_whichever_way_labels_are_reported(rows):
    def side(*, plain: bool):
        labels = [
            [words[code] for code in codes] if plain or not shared else coded(*codes, words=words)
            for place, (shared, codes) in enumerate(rows)
            for words in (WORDS if place % 2 else ("z", "w", "x"),)
        ]
        return to_ragged([Annotation("ranking", {}, one) for one in labels])

    texts = []
    for ragged in (side(plain=True), side(plain=False)):
        texts.append([ragged.labels[code] for code in ragged.columns["label"].tolist()])
        assert ragged.counts[0].tolist() == [len(codes) for _, codes in rows]
    assert texts[0] == texts[1]


def test_a_dataset_has_coded_labels_as_text():
    dataset = to_dataset(Annotation("ranking", {"value": np.array([2.0, 1.0])}, coded(1, 0)))
    assert dataset.label.values.tolist() == ["y", "x"]
    assert from_dataset(dataset).labels == ["y", "x"]
