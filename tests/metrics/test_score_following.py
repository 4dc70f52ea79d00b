"""Score following: the definitions of Cont et al. (2007), note by note, and MIREX 2006's threshold."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.collection import collect
from mirflow.errors import AnnotationError, MetricError
from mirflow.metrics import score_following
from mirflow.metrics.base import Pairs, Scores, get_task
from mirflow.metrics.measures import Measure
from mirflow.metrics.score_following import clean

MIREX = get_task("score_following").convention()
CONT = get_task("score_following").convention("cont2007")

Note = tuple[int, int, int]
"""Onset in the performance and in the score in milliseconds, and MIDI number, as files have them."""
Report = tuple[int, int, int, int]
"""Estimated onset, time of detection, onset in the score in milliseconds, and MIDI number."""

notes_of_a_score = st.lists(
    st.tuples(st.integers(0, 6000), st.integers(0, 12).map(lambda step: 500 * step), st.integers(60, 63)),
    max_size=12,
    unique_by=lambda note: note[1:],
)
reports = st.lists(
    st.tuples(
        st.integers(0, 6000),
        st.integers(0, 400),
        st.integers(0, 13).map(lambda step: 500 * step),
        st.integers(0, 1),
        st.integers(60, 64),
    ).map(lambda one: (one[0], one[0] + one[1], one[2] + one[3], one[4])),
    max_size=15,
)


def reference_of(notes: Sequence[Note]) -> Annotation:
    table = np.array(notes, dtype=np.float64).reshape(-1, 3)
    columns = {"time": table[:, 0] / 1000, "position": table[:, 1] / 1000, "pitch": table[:, 2]}
    return Annotation("following", columns)


def estimate_of(found: Sequence[Report]) -> Annotation:
    table = np.array(found, dtype=np.float64).reshape(-1, 4)
    columns = {name: table[:, place] / 1000 for place, name in enumerate(("time", "detected", "position"))}
    return Annotation("following", {**columns, "pitch": table[:, 3]})


def scored(pairs: Sequence[tuple[Annotation, Annotation]], measures: Sequence[Measure] | None = None) -> Scores:
    references, estimates = (clean(to_ragged(side)).rows for side in zip(*pairs, strict=True))
    return MIREX.score(Pairs.in_order(references, estimates), measures or MIREX.select())


def named(scores: Scores, pair: int = 0) -> dict[str, float]:
    return dict(zip((one.metric.name for one in MIREX.select()), scores.score[pair].tolist(), strict=True))


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def deviation(values: Sequence[float]) -> float:
    return math.sqrt(mean([(value - mean(values)) ** 2 for value in values])) if values else math.nan


def by_definition(notes: Sequence[Note], found: Sequence[Report], threshold: int, by: str) -> dict[str, float]:
    """Every note by itself, in whole milliseconds."""
    first: dict[tuple[int, int], Report] = {}
    for report in found:
        near = [note[1:] for note in notes if abs(note[1] - report[2]) <= 1 and note[2] == report[3]]
        if near:
            first.setdefault(near[0], report)
    aligned: list[tuple[Note, Report]] = []
    misaligned = 0
    for note in notes:
        report = first.get(note[1:])
        if report is not None:
            judged = report[0] if by == "estimated" else report[1]
            if abs(judged - note[0]) <= threshold:
                aligned.append((note, report))
            else:
                misaligned += 1
    size = len(notes)
    last = max((note[1] for note, _ in aligned), default=-1)
    offsets = [(report[1] - note[0]) / 1000 for note, report in aligned]
    errors = [(report[0] - note[0]) / 1000 for note, report in aligned]
    latencies = [(report[1] - report[0]) / 1000 for _, report in aligned]
    share = [math.nan] * 5
    if size:
        followed = sum(note[1] <= last for note in notes)
        share = [len(aligned) / size] * 2 + [(size - len(aligned) - misaligned) / size, misaligned / size]
        share.append(followed / size)
    names = ("overall_precision", "piecewise_precision", "missed", "misaligned", "completion")
    result = dict(zip(names, share, strict=True))
    for name, values in (("offset", offsets), ("error", errors)):
        result[f"mean_{name}"] = mean(values)
        result[f"mean_absolute_{name}"] = mean([abs(value) for value in values])
        result[f"std_{name}"] = deviation(values)
    distances = [
        abs(first[note[1:]][0 if by == "estimated" else 1] - note[0]) / 1000 for note in notes if note[1:] in first
    ]
    return {
        **result,
        "mean_latency": mean(latencies),
        "std_latency": deviation(latencies),
        "median_asynchrony": statistics.median(distances) if distances else math.nan,
    }


class TestDefinitions:
    NOTES: tuple[Note, ...] = ((0, 0, 60), (510, 500, 62), (1020, 1000, 64), (1020, 1000, 67), (2000, 1500, 60))
    REPORTS: tuple[Report, ...] = ((10, 60, 0, 60), (480, 530, 500, 62), (4020, 4090, 1000, 64), (2100, 2150, 1500, 60))

    @given(notes_of_a_score, reports, st.sampled_from([0, 100, 300, 2000]), st.sampled_from(["estimated", "detected"]))
    def test_equal_the_definition(self, notes: list[Note], found: list[Report], threshold: int, by: str) -> None:
        given = f"@{threshold / 1000}(by={by})"
        names = [f"{metric.name}{given}" for metric in MIREX.metrics if metric.name != "median_asynchrony"]
        measures = MIREX.select([*names, f"median_asynchrony(by={by})"])
        scores = scored([(reference_of(notes), estimate_of(found))], measures)
        expected = by_definition(notes, found, threshold, by)
        assert list(expected) == [one.metric.name for one in measures]
        assert scores.score[0] == pytest.approx(list(expected.values()), rel=1e-9, abs=1e-12, nan_ok=True)

    def test_exactly_at_the_threshold_a_note_is_aligned(self) -> None:
        """1.3 - 1.0 is more than 0.3 in floating point; in the milliseconds of the files it is not."""
        notes = [(1000, 0, 60), (1000, 500, 60)]
        found = [(1300, 1300, 0, 60), (1301, 1301, 500, 60)]
        assert scored([(reference_of(notes), estimate_of(found))], CONT.select(["misaligned"])).score[0, 0] == 0.5

    def test_thresholds_of_the_conventions(self) -> None:
        assert MIREX.select(["missed"])[0]["threshold"] == 2.0
        assert CONT.select(["missed"])[0]["threshold"] == 0.3
        scores = scored([(reference_of([(0, 0, 60)]), estimate_of([(2001, 2001, 0, 60)]))])
        assert named(scores)["misaligned"] == 1.0

    def test_judged_by_the_time_of_detection(self) -> None:
        pair = (reference_of([(0, 0, 60)]), estimate_of([(100, 2100, 0, 60)]))
        scores = scored([pair], MIREX.select(["overall_precision", "overall_precision@2.0(by=detected)"]))
        assert scores.score[0].tolist() == [1.0, 0.0]


class TestAsynchrony:
    CONVENTION = get_task("score_following").convention("asynchrony")

    def test_shares_within_25_to_200_ms_and_the_median_over_all_reported_notes(self) -> None:
        notes = [(1000 * place, 500 * place, 60) for place in range(5)]
        off = (25, 26, 100, 5000)  # and the last note is missed
        found = [(note[0] + late, note[0] + late, note[1], 60) for note, late in zip(notes, off, strict=False)]
        scores = scored([(reference_of(notes), estimate_of(found))], self.CONVENTION.select())
        assert scores.score[0].tolist() == pytest.approx([0.2, 0.4, 0.6, 0.6, 0.063, 0.2])
        assert scores.weight[0].tolist() == [5.0, 5.0, 5.0, 5.0, 4.0, 5.0]


class TestPiecewiseAndOverall:
    def test_they_weigh_pieces_and_notes(self) -> None:
        """Of two pieces one of 4 notes is followed to its end, and of one of 1 note nothing."""
        long = [(500 * i, 500 * i, 60) for i in range(4)]
        pairs = [
            (reference_of(long), estimate_of([(t, t, p, n) for t, p, n in long])),
            (reference_of(long[:1]), estimate_of([])),
        ]
        scores = scored(pairs, MIREX.select(["overall_precision", "piecewise_precision"]))
        assert scores.score.tolist() == [[1.0, 1.0], [0.0, 0.0]]
        assert scores.weight.tolist() == [[4.0, 1.0], [1.0, 1.0]]
        overall, piecewise = (scores.score * scores.weight).sum(axis=0) / scores.weight.sum(axis=0)
        assert (overall, piecewise) == (0.8, 0.5)


class TestWhichReportIsOfWhichNote:
    def test_the_first_report_counts_and_the_others_are_told(self) -> None:
        pair = (reference_of([(0, 0, 60)]), estimate_of([(10, 10, 0, 60), (0, 0, 0, 60), (5, 5, 700, 60)]))
        scores = scored([pair])
        assert named(scores)["mean_error"] == pytest.approx(0.01)
        assert scores.repairs.tolist() == [2]

    def test_two_notes_of_one_pitch_take_a_report_each(self) -> None:
        notes = [(0, 0, 60), (100, 0, 60)]
        found = named(scored([(reference_of(notes), estimate_of([(0, 0, 0, 60), (100, 100, 0, 60)]))]))
        assert (found["missed"], found["mean_absolute_error"]) == (0.0, 0.0)

    def test_without_pitches_positions_have_to_do(self) -> None:
        deaf = Annotation("following", {"time": np.array([0.25]), "position": np.array([0.5])})
        reference = reference_of([(0, 0, 60), (250, 500, 62)])
        assert named(scored([(reference, deaf)]))["overall_precision"] == 0.5

    def test_positions_may_be_rounded_differently(self) -> None:
        notes = reference_of([(0, 333, 60)])
        for off, missed in ((1, 0.0), (2, 1.0)):
            assert named(scored([(notes, estimate_of([(0, 0, 333 + off, 60)]))]))["missed"] == missed
        wide = MIREX.select(["missed@2.0(tolerance=0.01)"])
        assert scored([(notes, estimate_of([(0, 0, 340, 60)]))], wide).score[0, 0] == 0.0


class TestEmptyAndBadInput:
    def test_empty_sides(self) -> None:
        scores = scored(
            [(reference_of([(0, 0, 60)]), estimate_of([])), (reference_of([]), estimate_of([(0, 0, 0, 60)]))]
        )
        assert (named(scores)["overall_precision"], named(scores)["missed"]) == (0.0, 1.0)
        assert np.isnan(named(scores)["mean_offset"])
        assert np.isnan(scores.score[1]).all()
        assert not scores.weight[1].any()

    def test_without_times_of_detection_there_is_no_latency(self) -> None:
        estimate = Annotation("following", {"time": np.array([0.1]), "position": np.array([0.0])})
        pair = (reference_of([(0, 0, 60)]), estimate)
        scores = scored([pair], MIREX.select(["mean_latency", "mean_error"]))
        assert np.isnan(scores.score[0, 0])
        assert scores.weight.tolist() == [[0.0, 1.0]]
        refused = scored([pair], MIREX.select(["missed@2.0(by=detected)"])).refused
        assert refused[0].startswith("a report has no time of detection")

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"time": [-1.0], "position": [0.0]}, "time is negative: -1.0 s"),
            ({"time": [np.nan], "position": [0.0]}, "time is not finite: nan"),
            ({"time": [0.0], "position": [np.inf]}, "the position in the score is not finite: inf"),
            ({"time": [0.0], "position": [0.0], "detected": [np.inf]}, "the time of detection is not finite: inf"),
            ({"time": [0.0], "position": [0.0], "pitch": [-np.inf]}, "the pitch is not finite: -inf"),
        ],
    )
    def test_impossible_rows_are_named(self, columns: dict[str, list[float]], message: str) -> None:
        bad = Annotation("following", {name: np.array(values) for name, values in columns.items()})
        assert clean(to_ragged([bad])).flaws[0].message == message

    def test_the_function_raises(self) -> None:
        with pytest.raises(AnnotationError, match="reference: expected the columns time, position, pitch"):
            score_following.evaluate([[0.0, 1.0]], [])
        with pytest.raises(AnnotationError, match="estimate: time is negative"):
            score_following.evaluate([[0.0, 0.0, 60]], [[-1.0, 0.0, 0.0, 60]])
        with pytest.raises(MetricError, match="must be at least 0 s"):
            score_following.evaluate([[0.0, 0.0, 60]], [], threshold=-1)


def test_labelled_door() -> None:
    reference, estimate = reference_of(TestDefinitions.NOTES), estimate_of([*TestDefinitions.REPORTS, (9, 9, 9000, 1)])
    found = mirflow.evaluate(collect({"p": reference}), collect({"p": estimate}), metrics=["missed"])
    assert found.score.squeeze().item() == pytest.approx(0.2)
    told = mirflow.explain(reference, estimate, metric="missed")
    assert told.verdict.values.tolist() == ["aligned", "extra", "aligned", "misaligned", "missed", "aligned"]
