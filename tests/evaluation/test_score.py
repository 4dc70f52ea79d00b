"""Scores of annotations in memory: one dataset, in whatever form references and estimates are given."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings

import mirflow
from mirflow.errors import AnnotationError, MetricError, MirflowWarning, QueryError, ScoreError, ScoringInterrupted

from ..annotation_strategies import annotations
from ..commands import listed_tasks
from ..forms import arguments, as_read, columns, dataset, in_rows, table
from ..groups import CODES
from ..samples import sample

TASKS = listed_tasks()
each_task = pytest.mark.parametrize("task", TASKS)
Annotations = dict[str, Any]


def warned(expected: object, match: str) -> AbstractContextManager[Any]:
    """A context in which there has to be a warning, if one is expected."""
    return pytest.warns(MirflowWarning, match=match) if expected else nullcontext()


def score(*sides: Any, **options: Any) -> xr.Dataset:
    """Scores, without warnings of names that do not match, which random annotations give rise to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)
        return mirflow.score(*sides, **options).load()


def pairs(references: Annotations, systems: dict[str, Annotations]) -> Iterator[tuple[str, str, Any, Any]]:
    return ((track, name, references[track], one[track]) for name, one in systems.items() for track in references)


@each_task
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_every_form_gives_the_same_scores(task: str, data: st.DataObject) -> None:
    drawn = [as_read(data.draw(annotations(task))) for _ in range(6)]
    references, ours, theirs = (dict(zip("ab", drawn[place : place + 2], strict=True)) for place in (0, 2, 4))
    systems = {"ours": ours, "theirs": theirs}
    expected = score(references, systems, task)
    forms: list[Callable[[Any], Any]] = [arguments, columns, lambda one: dataset(one, task)]
    for form in forms:
        own = {track: form(one) for track, one in references.items()}
        others = {name: {track: form(one) for track, one in side.items()} for name, side in systems.items()}
        xr.testing.assert_identical(score(own, others, task), expected)
    xr.testing.assert_identical(
        score(mirflow.collection(task, references), {k: mirflow.collection(task, v) for k, v in systems.items()}, task),
        expected,
    )
    if task not in ("retrieval", "similarity", "tagging", "classification"):  # whose names whole collections match
        xr.testing.assert_identical(score(pairs(references, systems), task=task, block=3), expected)
    if all(map(in_rows, drawn)):
        both = pd.concat([table(side, name) for name, side in systems.items()])
        xr.testing.assert_identical(score(table(references), both, task), expected)


def test_one_dataset_of_a_nested_kind_is_one_annotation() -> None:
    levels = dataset(sample("hierarchy", np.random.default_rng(0)), "hierarchy")
    scores = mirflow.score({"a": levels}, {"a": levels}, "hierarchy")
    assert scores.score.sel(metric="l_recall").item() == 1.0


WITHOUT_ARRAYS = ("audio_to_score", "classification", "local_key", "note_alignment", "separation", "similarity")
"""Tasks without a function that takes the arrays of both sides and gives a dict of scores."""
KEYED = [task for task in TASKS if task not in WITHOUT_ARRAYS]


@pytest.mark.parametrize("task", KEYED)
def test_arrays_are_in_the_order_of_the_functions_over_one_pair(task: str) -> None:
    rng = np.random.default_rng(5)
    sides = [arguments(sample(task, rng)) for _ in range(2)]
    if task == "tempo":
        sides = [(np.array([60.0, 121.0]), 0.3), (np.array([61.0, 180.0]),)]
    elif task == "score_following":
        sides[0] = (sides[0][0][:, [0, 2, 3]],)
    elif task in ("retrieval", "tagging"):
        sides = [(dict(zip(*side, strict=False)) if len(side) == 2 else side[0],) for side in sides]
    elif task in ("beat", "downbeat", "onset", "alignment", "lyrics"):
        sides = [side[:1] for side in sides]
    elif task == "key":
        sides = [tuple(side[0]) for side in sides]
    elif task in ("transcription", "drums"):
        sides = [side[:2] for side in sides]
    module = import_module(f"mirflow.metrics.{task}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)
        expected = module.evaluate(*sides[0], *sides[1])
    keys = {one.metric.key or one.metric.name: str(one) for one in module.TASK.convention().select()}
    names = {key: name for key, name in keys.items() if key in expected}
    assert len(names) > len(expected) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)  # of what is not there to be measured
        scores = mirflow.score({"a": sides[0]}, {"a": sides[1]}, task).score.sel(metric=list(names.values()))
    np.testing.assert_allclose(scores.values.ravel(), [expected[key] for key in names], rtol=0, atol=1e-12)


REFERENCES = {"a": np.array([1.0, 2.0]), "b": np.array([0.5, 1.5])}


@pytest.mark.parametrize(
    ("estimate", "status", "message"),
    [
        ([1.0, "x"], "invalid", "estimate b: time is not a number: 'x'"),
        (np.zeros((2, 2)), "invalid", r"estimate b: time has the shape \(2, 2\), not \(n,\)"),
        ({"time": [1.0], "label": ["x", "y"]}, "invalid", "columns differ in length: time has 1, label has 2"),
        ([1.0, np.nan], "invalid", "estimate b:2: time is not finite: nan"),
        (([1.0], ["x"], ["y"]), "invalid", "3 arguments: events take time, label"),
        (object(), "invalid", "estimate b: time is not an array: object"),
        ("absent.txt", "unreadable", "absent.txt: .*No such file"),
        (mirflow.annotation("key", "C major"), "invalid", "holds key, but the task onset compares events"),
        (None, "missing_estimate", "system 'ours' has no estimate of track 'b'"),
        ([], "empty_estimate", "system 'ours' has an empty estimate of track 'b'"),
    ],
)
def test_a_bad_annotation_is_a_cell_with_a_message(estimate: Any, status: str, message: str) -> None:
    estimates = {"ours": {"a": [1.0, 2.0], "b": estimate}}
    with warned(
        not status.endswith("_estimate"), f"1 of 2 cells has no score .1 {status}., the first being .*{message}"
    ):
        scores = mirflow.score(REFERENCES, estimates, "onset", metrics=["f_measure"])
    assert scores.status.values.tolist() == [[CODES["ok"], CODES[status]]]
    assert scores.score.values[0, 0, 0] == 1.0
    assert re.search(message, scores.message.values[0, 1])
    if status != "empty_estimate":
        with pytest.raises(ScoreError, match=f"system 'ours', track 'b': {status}: .*{message}") as caught:
            mirflow.score(REFERENCES, estimates, "onset", metrics=["f_measure"], on_error="raise", block=1)
        assert caught.value.scores.score.values[0, 0, 0] == 1.0


def test_tracks_of_one_side_only_are_missing_on_the_other() -> None:
    scores = mirflow.score(REFERENCES, {"ours": {"a": [1.0], "c": [1.0]}, "none": {}}, "onset")
    assert scores.track.values.tolist() == ["a", "b", "c"]
    wanted = [["ok", "missing_estimate", "missing_reference"], ["missing_estimate"] * 2 + ["missing_reference"]]
    assert scores.status.values.tolist() == [[CODES[name] for name in row] for row in wanted]


def test_tracks_without_any_in_common_are_warned_of() -> None:
    with pytest.warns(
        MirflowWarning, match="no track in common: the closest names are 'a' in the reference and 'a.wav'"
    ):
        scores = mirflow.score(REFERENCES, {"a.wav": [1.0]}, "onset")
    assert "no track in common" in scores.attrs["warnings"]


@pytest.mark.parametrize(
    ("references", "estimates", "message"),
    [
        ({}, {}, "nothing to score"),
        ([], None, "nothing to score: no pair was given"),
        (REFERENCES, None, "estimates are missing"),
        (REFERENCES, [1.0], "the estimates are given as list, which names no tracks: pass a mapping {'track 1': ..., "),
        ([[1.0], [2.0]], [[1.0], [2.0]], "pass a mapping .*, a collection, or a table with a column 'track'"),
        (np.array([1.0]), np.array([1.0]), "given as ndarray, .*; mirflow.evaluate scores one pair"),
        ([1.0], [1.0], "given as list, .*; mirflow.evaluate scores one pair"),
        ({"a": [1.0], 3: [1.0]}, {}, "invalid name of a track: 3 and others are text"),
        (REFERENCES, {"ours": {"a": [1.0]}, "b": [1.0]}, "'ours' holds many tracks, 'b' is one annotation"),
        (REFERENCES, {"a": {"tiem": [1.0]}}, "'tiem' is not a column of events; did you mean 'time'"),
        (REFERENCES, {"a": {"time": [1.0], "lable": ["x"]}}, "'lable' is not a column of events; did you mean 'label'"),
        (mirflow.collection("key", {"a": "C major"}), {"a": [1.0]}, "the reference holds key, the task onset compares"),
        (table({"a": sample("onset", np.random.default_rng(0))}, "ours"), {}, "the references name systems"),
    ],
)
def test_sides_in_no_form_are_errors(references: Any, estimates: Any, message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        mirflow.score(references, estimates, "onset")


def test_a_task_that_is_no_text_is_an_error() -> None:
    with pytest.raises(AnnotationError, match="a task is named by text, such as 'beat', not by dict"):
        mirflow.score("onset", REFERENCES, REFERENCES)  # type: ignore[arg-type]
    with pytest.raises(AnnotationError, match="a task is named by text, such as 'beat', not by ndarray"):
        mirflow.evaluate("beat", np.zeros(1), np.zeros(1))  # type: ignore[arg-type]
    with pytest.raises(
        AnnotationError, match="the first argument must be the name of a task, such as 'beat', not list"
    ):
        mirflow.annotation([1.0], "beat")  # type: ignore[arg-type]


NOTES = [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]


def test_midi_numbers_on_both_sides_are_warned_of() -> None:
    numbers, higher = (NOTES, [60.0, 62.0, 64.0]), (NOTES, [60.0, 62.0, 65.0])
    message = "the pitches of both sides are whole numbers from 60 to 64 and from 60 to 65: are they MIDI numbers"
    with pytest.warns(MirflowWarning, match=message):
        scores = mirflow.score({"a": numbers}, {"a": higher}, "transcription", metrics=["f_measure"])
    assert scores.score.item() == 1.0  # 64 and 65 Hz are 27 cents apart: the warning is of scores that are too good


@pytest.mark.parametrize(
    ("pitches", "message"),
    [
        ([60.0, 62.0, 64.0], "the estimate's pitches are whole numbers from 60 to 64: are they MIDI numbers"),
        (
            [60.02, 62.1, 63.9],
            "the estimate's pitches are numbers from 60.02 to 63.9: are they MIDI numbers.*midi_to_hz",
        ),
        ([130.8, 146.8, 164.8], None),
    ],
)
def test_pitches_that_look_like_midi_numbers_are_warned_of(pitches: list[float], message: str | None) -> None:
    pair = {"a": (NOTES, [261.6, 293.7, 329.6])}, {"a": (NOTES, pitches)}
    with warned(True, message or "nothing to measure for average_overlap"):  # as no note matches
        scores = mirflow.score(*pair, "transcription")
    assert (scores.message.item() == "") == (message is None)


def test_an_annotation_of_midi_numbers_is_warned_of() -> None:
    with pytest.warns(MirflowWarning, match=r"the pitches are whole numbers from 60 to 64: .* pitch_unit: MIDI"):
        mirflow.annotation("notes", NOTES, [60, 62, 64])


def test_times_in_another_unit_are_warned_of() -> None:
    references = {name: np.arange(1.0, 60.0) for name in "ab"}
    estimates = {name: 100 * times for name, times in references.items()}
    with pytest.warns(MirflowWarning, match=r"track 'a': .* are the times in ms.* \(and 1 more, see message\)"):
        mirflow.score(references, estimates, "beat")


def test_what_was_computed_before_an_interruption_is_kept() -> None:
    def interrupted() -> Iterator[tuple[str, Any, Any]]:
        yield from ((f"t{number}", [1.0], [1.0]) for number in range(130))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="128 cells scored before, see the attribute scores") as caught:
        mirflow.score(interrupted(), task="onset")
    assert isinstance(caught.value, ScoringInterrupted)
    assert caught.value.scores.score.shape == (1, 128, 3)


def broken(tracks: int) -> Iterator[tuple[str, Any, Any]]:
    yield from ((f"t{number}", [1.0], [1.0]) for number in range(tracks))
    raise KeyError("gone")


@pytest.mark.parametrize(
    ("items", "message", "kept"),
    [
        (broken(3), "could not be read on: KeyError: 'gone'; the last track is 't2'", 3),
        (broken(0), "KeyError: 'gone'; before any track", 0),
        ([("a", [1.0], [1.0])] * 2, "system 'estimate' has two estimates of track 'a'", 1),
        ([("a", [1.0], [1.0]), ("b", [1.0])], "pairs are .*: 2 values; the last track is 'a'", 1),
        ([("a", [1.0], [1.0]), (None, [1.0], [1.0])], "invalid name of a track: None", 1),
    ],
)
def test_pairs_that_cannot_be_read_on_keep_what_was_scored(items: Any, message: str, kept: int) -> None:
    with pytest.raises(ScoreError, match=message) as caught:
        mirflow.score(items, task="onset", block=2)
    assert caught.value.scores.sizes["track"] == kept
    assert (caught.value.scores.score.sel(metric="f_measure") == 1.0).all()


def test_pairs_are_held_no_longer_than_their_block() -> None:
    alive: set[int] = set()

    class Held(np.ndarray):
        def __del__(self) -> None:
            alive.discard(id(self))

    most = 0

    def stream() -> Iterator[tuple[str, Any, Any]]:
        nonlocal most
        for number in range(100):
            one = np.array([1.0, 2.0]).view(Held)
            alive.add(id(one))
            most = max(most, len(alive))
            yield f"t{number}", one, [1.0]

    scores = mirflow.score(stream(), task="onset", block=4)
    assert scores.sizes["track"] == 100
    assert most <= 12


def test_files_objects_and_tables_are_told_apart(tmp_path: Path) -> None:
    import pretty_midi

    played = pretty_midi.PrettyMIDI()
    piano = pretty_midi.Instrument(program=0)
    piano.notes = [pretty_midi.Note(velocity=64, pitch=69 + place, start=place, end=place + 0.5) for place in range(3)]
    played.instruments = [piano]
    played.write(str(tmp_path / "a.mid"))
    plain = mirflow.load(tmp_path / "a.mid", "transcription")
    scores = mirflow.score({"a": played}, {"file": {"a": tmp_path / "a.mid"}, "plain": {"a": plain}}, "transcription")
    assert (scores.score.sel(metric=["f_measure", "onset_f_measure"]) == 1.0).all()
    assert plain.program.values.tolist() == mirflow.annotation("transcription", played).program.values.tolist()
    jam = mirflow.to_jams(mirflow.annotation("beat", [5.5, 6.0, 6.5]), task="beat")
    assert (mirflow.score({"a": jam}, {"a": [5.5, 6.0, 6.5]}, "beat").score.sel(metric="f_measure") == 1.0).all()


class Tensor:
    """An array of another package, which numpy knows by its protocol alone."""

    def __init__(self, values: list[float]) -> None:
        self.values = np.array(values, dtype=np.float32)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


class Refusing:
    def __array__(self, *options: Any, **others: Any) -> Any:
        raise TypeError("can't convert a device tensor")


def test_arrays_and_tables_of_other_packages_are_taken() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    references = {"a": [1.0, 2.0], "b": [1.5]}
    estimates = {"tensor": {"a": Tensor([1.0, 2.0]), "b": Refusing()}}
    with pytest.warns(MirflowWarning, match=r"1 of 2 cells has no score"):
        scores = mirflow.score(references, estimates, "onset", metrics=["recall"])
    assert scores.score.values[0, 0, 0] == 1.0
    assert "time is not an array: Refusing: can't convert a device tensor" in scores.message.values[0, 1]
    long = pyarrow.table({"track": ["a", "b", "a"], "time": [1.0, 1.5, 2.0]})
    assert mirflow.score(long, long, "onset", metrics=["recall"]).score.values.ravel().tolist() == [1.0, 1.0]


class TestTables:
    """Data frames, arrow tables and series, with a row for each item or lists in a row for each track."""

    TIMES: ClassVar = {"a": [1.0, 2.0], "b": [1.5]}
    LONG = pd.DataFrame({"track": ["a", "a", "b"], "time": [1.0, 2.0, 1.5]})

    @staticmethod
    def recall(*sides: Any, task: str = "onset") -> list[float]:
        values: list[float] = mirflow.score(*sides, task, metrics=["recall"]).score.values.ravel().tolist()
        return values

    @pytest.mark.parametrize("cell", [list, tuple, np.array, pd.Series])
    def test_lists_in_a_row_for_each_track(self, cell: Callable[[Any], Any]) -> None:
        nested = pd.DataFrame({"track": list(self.TIMES), "time": [cell(one) for one in self.TIMES.values()]})
        assert self.recall(nested, self.LONG) == self.recall(self.LONG, nested) == [1.0, 1.0]

    def test_rows_of_a_group_as_lists(self) -> None:
        nested = self.LONG.groupby("track").agg(list).reset_index()
        assert self.recall(nested, nested) == [1.0, 1.0]

    @pytest.mark.parametrize("system", [{}, {"system": ["ours", "ours"]}])
    def test_lists_of_arrow(self, system: dict[str, list[str]]) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        nested = pyarrow.table({"track": list(self.TIMES), "time": list(self.TIMES.values())})
        assert self.recall(nested, nested.to_pandas().assign(**system)) == [1.0, 1.0]

    def test_pairs_labels_and_optional_lists(self) -> None:
        chords = {"track": ["a", "b"], "intervals": [[[0, 1], [1, 2]], [[0, 2.0]]], "label": [["C", "N"], ["G"]]}
        nested = pd.DataFrame(chords)
        assert mirflow.score(nested, nested, "chord", metrics=["root"]).score.values.ravel().tolist() == [1.0, 1.0]
        pairs = pd.DataFrame(
            {"track": ["a", "a", "b"], "intervals": [[0, 1], [1, 2], [0, 2]], "label": ["C", "N", "G"]}
        )
        assert mirflow.score(nested, pairs, "chord", metrics=["root"]).score.values.ravel().tolist() == [1.0, 1.0]
        notes = pd.DataFrame(
            {
                "track": ["a", "b"],
                "start": [[0.0], [1.0]],
                "end": [[1.0], [2.0]],
                "pitch": [[440.0], [220.0]],
                "velocity": [[64], None],
            }
        )
        found = mirflow.collection("transcription", notes)
        assert [found.annotation(track).columns.get("velocity") is None for track in "ab"] == [False, True]

    def test_pitches_at_a_time_are_lists_beside_numbers(self) -> None:
        rows = pd.DataFrame({"track": ["a", "a"], "time": [0.0, 0.01], "frequency": [[440.0, 220.0], []]})
        nested = pd.DataFrame({"track": ["a"], "time": [[0.0, 0.01]], "frequency": [[[440.0, 220.0], []]]})
        for sides in ((rows, nested), (nested, rows)):
            found = mirflow.score(*sides, "multipitch", metrics=["accuracy"])
            assert found.score.item() == 1.0

    def test_two_rows_of_lists_of_a_track_are_an_error(self) -> None:
        twice = pd.DataFrame({"track": ["a", "a"], "time": [[1.0], [2.0]]})
        with pytest.raises(AnnotationError, match="track 'a' has several rows of lists"):
            mirflow.score(twice, twice, "onset")

    def test_other_columns_are_left_out(self) -> None:
        more = self.LONG.assign(algo="madmom", comment="x")
        assert self.recall(more, self.LONG) == [1.0, 1.0]
        assert mirflow.annotation("onset", more.drop(columns="track")).sizes["event"] == 3
        with pytest.raises(AnnotationError, match=r"the table has a column 'track'"):
            mirflow.annotation("onset", more)

    def test_a_column_that_may_be_misspelt_is_warned_of(self) -> None:
        with pytest.warns(MirflowWarning, match="the column 'labels' is ignored: rename it to 'label'"):
            self.recall(self.LONG.assign(labels="x"), self.LONG)

    def test_a_column_that_is_missing_is_an_error(self) -> None:
        wrong = self.LONG.rename(columns={"time": "onset_ms"})
        with pytest.raises(AnnotationError, match=r"no column 'time', which events need; rename one of onset_ms"):
            mirflow.score(wrong, self.LONG, "onset")

    def test_a_series_is_an_array(self) -> None:
        series = pd.Series([1.0, 2.0])
        assert self.recall({"a": series}, {"a": [1.0, 2.0]}) == [1.0]
        assert mirflow.annotation("onset", series).time.values.tolist() == [1.0, 2.0]
        assert mirflow.annotation("chord", pd.Series([[0, 1], [1, 2]]), pd.Series(["C", "N"])).sizes["segment"] == 2
        assert mirflow.evaluate(series, series, "onset", metrics=["recall"]).score.item() == 1.0
        scores = mirflow.Accumulator("onset", metrics=["recall"])
        scores.update(series, series)
        scores.update([series, series], [series, series])
        assert (len(scores), scores.compute()) == (3, {"onset/recall": 1.0})


NO_ANNOTATIONS: dict[str, Any] = {
    "a number without a dim": np.array(3.0),
    "None without a dim": np.array(None, dtype=object),
    "lists that differ in length": np.array([[1, 2], [1]], dtype=object),
    "objects": np.array([object(), 1.0], dtype=object),
    "a whole number beyond all floats": [10**400],
    "a path with a null character": "a\0b.txt",
    "a path that is too long": "a" * 5000 + ".txt",
    "a path that cannot be encoded": "a\ud800.txt",
}


@each_task
def test_no_annotation_is_an_error_of_ours(task: str) -> None:
    for one in NO_ANNOTATIONS.values():
        for given_as in (one, (one, one), (np.zeros(1), one)):
            with suppress(AnnotationError):  # some tasks take some of them
                mirflow.annotation(task, given_as)


def test_a_long_path_is_not_quoted_in_full() -> None:
    with pytest.raises(AnnotationError, match="File name too long") as caught:
        mirflow.evaluate("a" * 5000 + ".txt", "b.txt", "onset")
    assert len(str(caught.value)) < 2000


class TestArguments:
    """Arguments as newcomers write them."""

    TIMES = np.arange(6.0, 16.0, 0.5)

    @pytest.mark.parametrize("metrics", ["f_measure", "F1", ["F1"], ["F-Measure"], "f score", "f_measure@0.07"])
    def test_a_metric_by_a_usual_name_alone_or_in_a_list(self, metrics: Any) -> None:
        scores = mirflow.score({"a": self.TIMES}, {"a": self.TIMES}, "beat", metrics=metrics)
        assert scores.metric.values.tolist() == ["f_measure"]
        assert mirflow.Accumulator("beat", metrics=metrics).update(self.TIMES, self.TIMES) is None
        assert scores.mirflow.query("F1")["value"].item() == 1.0

    def test_a_function_alone(self) -> None:
        def first(reference: Any, estimate: Any) -> float:
            return float(reference[0] - estimate[0])

        assert mirflow.evaluate(self.TIMES, self.TIMES, "beat", metrics=first).score.item() == 0.0

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"metric": "f_measure"}, "unknown option of reading 'metric'; did you mean 'metrics'"),
            ({"f_measure_threshold": 0.1}, r"is a parameter of metrics: write metrics=\['f_measure@0.1'\]"),
            ({"window": 0.1}, r"write metrics=\['f_measure@0.1'\]"),
            ({"trim": "x"}, r"write metrics=\['f_measure\(trim=...\)'\]"),
            ({"time_unit": "ms"}, "the annotations in memory are not read: convert the times, as in times / 1000"),
            ({"estimate_columns": {"time": 1}}, "the estimate in memory are not read: rename the columns"),
        ],
    )
    def test_options_that_do_not_fit_say_what_to_write(self, options: Any, message: str) -> None:
        for call in (
            lambda: mirflow.score({"a": self.TIMES}, {"a": self.TIMES}, "beat", **options),
            lambda: mirflow.score([("a", self.TIMES, self.TIMES)], task="beat", **options),
            lambda: mirflow.evaluate(self.TIMES, self.TIMES, "beat", **options),
        ):
            with pytest.raises((AnnotationError, MetricError), match=message):
                call()

    def test_files_are_read_by_options(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        path.write_text("".join(f"{1000 * time:.0f}\n" for time in self.TIMES))
        for sides in (({"a": self.TIMES}, {"a": path}), ([("a", self.TIMES, path)],)):
            scores = mirflow.score(*sides, task="beat", metrics="F1", estimate_time_unit="ms")
            assert scores.score.item() == 1.0

    def test_classes_are_a_list_of_names(self) -> None:
        for call in (mirflow.evaluate, lambda *sides, **how: mirflow.score(*({"a": side} for side in sides), **how)):
            scores = call("rock", "pop", task="classification", metrics=["accuracy"], classes=["rock", "pop"])
            assert scores.score.item() == 0.0
            with pytest.raises(AnnotationError, match=r"expected names of classes such as \['rock', 'pop'\]"):
                call("rock", "pop", task="classification", classes="rock")

    def test_metadata_that_is_nowhere(self) -> None:
        scores = mirflow.score({"a": self.TIMES}, {"a": self.TIMES}, "beat", metrics="F1")
        with pytest.raises(QueryError, match=r"unknown track coordinate 'genre': .*tracks: metadata.csv"):
            scores.mirflow.query("F1", by="genre")
        with_genre = scores.assign_coords(genre=("track", ["pop"]))
        assert with_genre.mirflow.query("F1", by="genre")["value"].item() == 1.0

    def test_keys_of_mir_eval_are_a_coordinate(self) -> None:
        metrics = ["F-measure", "Cemgil", "f_measure@0.1"]
        scores = mirflow.score({"a": self.TIMES}, {"a": self.TIMES}, "beat", metrics=metrics)
        assert scores.mir_eval_key.values.tolist() == ["F-measure", "Cemgil", ""]
        assert scores.swap_dims(metric="mir_eval_key").score.sel(mir_eval_key="Cemgil").item() == 1.0
        segments = np.array([[0.0, 1.0], [1.0, 2.0]]), ["A", "B"]
        keys = mirflow.evaluate(segments, segments, "segment", metrics=["f_measure@[0.5,3]"]).mir_eval_key
        assert keys.values.tolist() == ["F-measure@0.5", "F-measure@3.0"]
