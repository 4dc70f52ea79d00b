"""Scores on frames: those of aligned annotations, and those of mir_eval on the same sampled frames."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pytest

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.collection import Collection
from mirflow.annotations.schema import kind_of
from mirflow.errors import AnnotationError, MetricError
from mirflow.metrics.base import FRAMES, get_task, tasks
from tests.samples import sample, sample_rows

# Generated sides begin late and end early, which evaluate tells.
pytestmark = pytest.mark.filterwarnings("ignore:.*scored although irregular:mirflow.errors.MirflowWarning")

FRAMED = [(task, name) for task in tasks() for name, one in get_task(task).conventions.items() if FRAMES in one.grids]
HOP = 0.25


def _frames_in(one: Annotation) -> np.ndarray:
    return np.arange(np.ceil(one.columns["end"].max() / HOP)) * HOP


def _label(rows: list[tuple[float, float, str]], time: float) -> str:
    return next((label for start, end, label in rows if start <= time < end), "")


def _labels(one: Annotation, times: np.ndarray) -> list[str]:
    rows = list(zip(one.columns["start"], one.columns["end"], one.labels or (), strict=True))
    return [_label(rows, time) for time in times.tolist()]


def _runs(labels: list[str]) -> tuple[np.ndarray, list[str]]:
    """Intervals of equal labels, in frames, without those of no label."""
    cuts = [0, *(place for place in range(1, len(labels)) if labels[place] != labels[place - 1]), len(labels)]
    spans = [(a, b) for a, b in pairwise(cuts) if labels[a]]
    return np.array(spans, dtype=np.float64), [labels[a] for a, _ in spans]


def _collections(task: str, name: str) -> tuple[Collection, Collection]:
    rules, tracks = get_task(task).convention(name), tuple("abcdef")
    first, second = (rules.clean(sample_rows(task, 6, seed)).rows for seed in (1, 2))
    return Collection(kind_of(task).name, tracks, first), Collection(kind_of(task).name, tracks, second)


class TestContract:
    @pytest.mark.parametrize(("task", "name"), FRAMED)
    def test_aligned_annotations_score_as_on_the_grid(self, task: str, name: str) -> None:
        rules = get_task(task).convention(name)
        # Only csr_framewise has frames of its own, from the start of the reference on.
        metrics = [one for one in rules.metrics if not one.dims and one.name != "csr_framewise"]
        measures = [one.measure() for one in metrics if not rules.framed or one.name in rules.framed]
        way = {"resampling": str(measures[-1]["resampling"])} if task == "melody" else {}
        sides = _collections(task, name)
        on_grid = mirflow.evaluate(*sides, task, convention=name, grid=HOP, metrics=measures)
        aligned = [mirflow.align(one, {"hop": HOP}, **way) for one in sides]
        found = mirflow.evaluate(*aligned, task, convention=name, metrics=measures)
        assert found.attrs["grid"] == on_grid.attrs["grid"] == HOP
        assert (found.status == 1).all()
        for variable in ("score", "weight"):
            np.testing.assert_allclose(found[variable], on_grid[variable], rtol=0, atol=1e-12)
        mixed = mirflow.score(sides[0], {"x": aligned[1]}, task, convention=name, metrics=measures)
        np.testing.assert_allclose(mixed.score[0], on_grid.score, rtol=0, atol=1e-12)

    def test_runs_take_the_same_frames(self, tmp_path: Any) -> None:
        rng = np.random.default_rng(4)
        for side in ("reference", "x"):
            (tmp_path / side).mkdir()
            one = sample("segment", rng)
            rows = zip(one.columns["start"], one.columns["end"], one.labels or (), strict=True)
            (tmp_path / side / "a.lab").write_text(
                "".join(f"{start:.17g} {end:.17g} {text}\n" for start, end, text in rows)
            )
        (tmp_path / "p.yaml").write_text(
            "store: s.zarr\nevaluations:\n  - {task: segment, grid: {hop: 0.25}, reference: 'reference/{track}.lab',"
            " estimates: '{system}/{track}.lab', systems: [x]}\n"
        )
        mirflow.run(tmp_path / "p.yaml", scheduler="serial")
        stored = mirflow.open_store(tmp_path / "s.zarr")["segment"]
        sides = [mirflow.load(tmp_path / side / "a.lab", task="segment") for side in ("reference", "x")]
        aligned = [mirflow.align(one, {"hop": HOP}) for one in sides]
        expected = mirflow.evaluate(*aligned, metrics=None).score
        assert stored.metric.values.tolist() == expected.metric.values.tolist()
        np.testing.assert_array_equal(stored.score.values[0, 0], expected)

    def test_real_melodies_that_end_at_or_behind_a_frame_score_as_on_the_grid(self, shared_data: Path) -> None:
        folder, name = shared_data / "adc2004-melody", "sg2melodytranscriptmel{track}.txt"
        paths = folder / "reference" / name, next((folder / "estimates").iterdir()) / name
        sides = [mirflow.load_collection(path, "melody") for path in paths]
        on_grid = mirflow.evaluate(*sides, "melody", grid=0.01)
        found = mirflow.evaluate(*(mirflow.align(one, {"hop": 0.01}) for one in sides), "melody")
        np.testing.assert_allclose(found.weight, on_grid.weight, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.score, on_grid.score, rtol=0, atol=1e-12)
        track = sides[0].tracks[0]
        single = [mirflow.align(one[track], {"hop": 0.01}) for one in sides]
        np.testing.assert_array_equal(mirflow.evaluate(*single).weight, found.weight.sel(track=track))

    def test_late_references_of_chords_are_sampled_at_multiples_of_the_hop(self) -> None:
        sides = [
            Annotation("intervals", {"start": np.array([0.3, at]), "end": np.array([at, 2.0])}, ["C", "G"])
            for at in (1.1, 0.9)
        ]
        found = mirflow.evaluate(*sides, "chord", metrics=["root"], grid=0.5)
        assert (found.score.item(), found.weight.item()) == (2 / 3, 1.5)  # frames at 0.5, 1.0 and 1.5 s
        aligned = [mirflow.align(one, {"hop": 0.5}) for one in sides]
        assert mirflow.evaluate(*aligned, "chord", metrics=["root"]).score.item() == 2 / 3


class TestOracles:
    def test_segments_are_those_of_mir_eval_on_the_frames(self) -> None:
        rng = np.random.default_rng(3)
        for _ in range(5):
            sides = [sample("segment", rng) for _ in range(2)]
            times = _frames_in(sides[0])
            found = mirflow.evaluate(*sides, "segment", grid=HOP).score
            given: list[Any] = []
            for one in sides:
                runs = _runs(_labels(one, times))
                given += mir_eval.util.adjust_intervals(*runs, t_min=0.0, t_max=float(len(times)))
            how = {"frame_size": 1.0}
            expected = [
                *mir_eval.segment.pairwise(*given, **how),
                mir_eval.segment.rand_index(*given, **how),
                mir_eval.segment.ari(*given, **how),
                *mir_eval.segment.mutual_information(*given, **how),
                *mir_eval.segment.nce(*given, **how),
                *mir_eval.segment.vmeasure(*given, **how),
            ]
            np.testing.assert_allclose(found, expected, atol=1e-9)

    @pytest.mark.filterwarnings("ignore:Segment hierarchy is inconsistent")  # of mir_eval
    def test_hierarchies_are_those_of_mir_eval_on_the_frames(self) -> None:
        rng = np.random.default_rng(3)
        sides = [sample("hierarchy", rng) for _ in range(2)]
        length = int(np.ceil(sides[0].columns["end"].max() / HOP))
        given: list[Any] = []
        for one in sides:
            ends = np.cumsum(one.inner_counts[0])
            levels = [
                Annotation(
                    "intervals",
                    {name: one.columns[name][end - size : end] for name in ("start", "end")},
                    list(one.labels or ())[end - size : end],
                )
                for end, size in zip(ends, one.inner_counts[0], strict=True)
            ]
            runs = [_runs(_labels(level, np.arange(length) * HOP)) for level in levels]
            given += [[spans for spans, _ in runs], [labels for _, labels in runs]]
        found = mirflow.evaluate(*sides, "hierarchy", grid=HOP).score
        expected = mir_eval.hierarchy.evaluate(*given, frame_size=1.0, window=15.0 / HOP)
        np.testing.assert_allclose(found, list(expected.values()), atol=1e-9)

    def test_multiple_pitches_are_those_of_mir_eval_after_resampling_both_sides(self) -> None:
        rng = np.random.default_rng(3)
        sides = [sample("multipitch", rng) for _ in range(2)]
        times = np.arange(int(sides[0].columns["time"].max() / HOP) + 1) * HOP
        sampled = []
        for one in sides:
            pitches = np.split(one.columns["frequency"], np.cumsum(one.inner_counts[0])[:-1])
            sampled.append(mir_eval.multipitch.resample_multipitch(one.columns["time"], pitches, times))
        expected = mir_eval.multipitch.evaluate(times, sampled[0], times, sampled[1])
        found = mirflow.evaluate(*sides, "multipitch", grid=HOP)
        np.testing.assert_allclose(found.score, list(expected.values()), atol=1e-9)
        moved = mirflow.align(sides[1], {"hop": HOP})
        assert moved.frequency.max() > 0
        # Without the roll of which they are the pitches, frequencies have no effect.
        silent = mirflow.evaluate(sides[0], moved.assign(active=moved.active & False), "multipitch")
        assert silent.score.sel(metric="recall") == 0

    def test_local_keys_are_the_mean_of_mir_eval_over_the_frames(self) -> None:
        rng = np.random.default_rng(3)
        sides = [sample("local_key", rng) for _ in range(2)]
        pairs = zip(*(_labels(one, _frames_in(sides[0])) for one in sides), strict=True)
        every = [mir_eval.key.weighted_score(*keys) if keys[1] else 0.0 for keys in pairs if keys[0]]
        how = {"convention": "mirex2005", "metrics": ["weighted_score"]}
        found = mirflow.evaluate(*sides, "local_key", grid=HOP, **how)
        assert found.score.item() == pytest.approx(np.mean(every), abs=1e-9)
        assert found.weight.item() == len(every) * HOP

    def test_pedals_are_down_in_the_frames_that_begin_with_them_down(self) -> None:
        rng = np.random.default_rng(3)
        sides = [sample("pedal", rng) for _ in range(2)]
        times = np.arange(np.ceil(max(one.columns["end"].max() for one in sides) / HOP)) * HOP
        down = []
        for one in sides:
            rows = list(zip(one.columns["start"], one.columns["end"], one.labels or (), strict=True))
            rows = [row for row in rows if row[2] in ("sustain", "64", "")]
            down.append(np.array([any(start <= time < end for start, end, _ in rows) for time in times.tolist()]))
        found = mirflow.evaluate(*sides, "pedal", metrics=["frame_precision", "frame_recall"], grid=HOP).score
        both = (down[0] & down[1]).sum()
        np.testing.assert_allclose(found, [both / down[1].sum(), both / down[0].sum()], atol=1e-7)


class TestMessages:
    @pytest.mark.parametrize(
        ("task", "metrics", "message"),
        [
            ("beat", None, "known: union .*compares events by their times, not frame by frame"),
            ("tempo", None, "tempo have no form on a time grid"),
            ("segment", ["f_measure"], "f_measure is not defined on frames: .*ask for one of pairwise_precision"),
            ("segment", ["rand_index(frame_size=0.5)"], "frames of 0.5 s, the grid of 0.25 s; give only one"),
            ("pedal", ["precision"], "precision is not defined on frames"),
        ],
    )
    def test_what_has_no_meaning_on_frames_is_refused(self, task: str, metrics: Any, message: str) -> None:
        rng = np.random.default_rng(3)
        with pytest.raises(MetricError, match=message):
            mirflow.evaluate(sample(task, rng), sample(task, rng), task, metrics=metrics, grid=HOP)

    def test_a_convention_that_has_no_frames_names_those_that_have(self) -> None:
        with pytest.raises(MetricError, match=r"known: union \(of the task segment, mir_eval is\)"):
            get_task("segment").convention("frameless").grid({"hop": HOP})

    def test_metrics_with_frames_of_their_own_take_those_of_the_grid(self) -> None:
        measures = get_task("segment").convention().on_grid(get_task("segment").convention().select(), HOP, asked=False)
        assert {one["frame_size"] for one in measures} == {HOP}
        assert str(measures[0]) == "pairwise_precision@0.25"

    def test_aligned_annotations_that_do_not_meet_are_refused(self) -> None:
        rng = np.random.default_rng(3)
        sides = [sample("chord", rng) for _ in range(2)]
        frames = mirflow.align(sides[0], {"hop": HOP})
        for other, grid in ((mirflow.align(sides[1], {"hop": 0.5}), None), (sides[1], "union"), (sides[1], 0.5)):
            with pytest.raises(MetricError, match="hops of a comparison differ"):
                mirflow.evaluate(frames, other, "chord", grid=grid)
        with pytest.raises(MetricError, match="only what was aligned on frames is scored"):
            mirflow.evaluate(mirflow.align(sides[0]), sides[1], "chord")
        both = mirflow.align(sides, {"hop": HOP}, names=["ours", "theirs"])
        with pytest.raises(AnnotationError, match="select one of 'ours', 'theirs' along 'annotation'"):
            mirflow.evaluate(both, sides[1], "chord")
        ours, theirs = (both.sel(annotation=name, drop=True) for name in ("ours", "theirs"))
        assert mirflow.score({"a": ours}, {"a": theirs}, "chord").attrs["grid"] == HOP

    def test_annotations_that_take_too_many_frames_are_refused(self) -> None:
        long = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([5e6])}, ["A"])
        with pytest.raises(AnnotationError, match=r"reference: ends too late for frames of 0\.25 s"):
            mirflow.evaluate(long, long, "segment", grid=HOP)


def test_accumulators_take_what_is_aligned_on_their_grid() -> None:
    sides = [mirflow.annotation("chord", [[0, end], [end, 2.5]], ["C:maj", "G:7"]) for end in (1.05, 1.2)]
    frames = [mirflow.align(side, {"hop": 0.1}) for side in sides]
    expected = mirflow.evaluate(*sides, "chord", metrics=["majmin"], grid=0.1).score.item()
    for pair in (frames, [{"a": side} for side in frames], [[side] for side in frames], (frames[0], sides[1])):
        scores = mirflow.Accumulator("chord", metrics=["majmin"], grid=0.1)
        scores.update(*pair)
        assert scores.compute() == {"chord/majmin": expected}
        with pytest.raises(MetricError, match="the hops of a comparison differ"):
            mirflow.Accumulator("chord").update(*pair)
