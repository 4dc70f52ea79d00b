"""Note transcription in datasets: weights, repairs, velocities, instruments, evidence, MIREX's tables."""

from __future__ import annotations

import csv
from pathlib import Path

import mir_eval
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow import evaluate, explain
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.errors import InvalidAnnotationError, MetricError
from mirflow.metrics import transcription
from mirflow.metrics.base import Scores, get_task
from mirflow.metrics.transcription.metrics import clean
from tests.note_strategies import Notes, pairs, to_annotation

from .batches import score_pairs

TASK = get_task("transcription")
Row = tuple[float, float, float]


def notes(*rows: Row, velocity: list[float] | None = None, labels: list[str] | None = None) -> Annotation:
    """Start and end in seconds, pitch in Hz."""
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    columns = {name: table[:, place].copy() for place, name in enumerate(("start", "end", "pitch"))}
    if velocity is not None:
        columns["velocity"] = np.array(velocity)
    return Annotation("notes", columns, labels)


def score(*batch: tuple[Annotation, Annotation], metrics: str, convention: str = "mir_eval") -> Scores:
    rules = TASK.convention(convention)
    return score_pairs(rules, batch, rules.select(metrics.split()))


THREE = notes((0.0, 1.0, 440.0), (1.0, 2.0, 220.0), (2.0, 3.0, 330.0))
NOTHING = notes()


@pytest.mark.parametrize(
    ("alias", "identity"),
    [("COnPOff", "f_measure"), ("COnP@0.1", "f_measure_no_offset@0.1"), ("con", "onset_f_measure")],
)
def test_the_names_of_singing_transcription_are_aliases(alias: str, identity: str) -> None:
    assert [str(measure) for measure in TASK.convention().select([alias])] == [identity]


class TestWeights:
    def test_they_are_the_scores_own_denominators(self) -> None:
        estimate = notes((0.0, 1.0, 440.0), (1.0, 2.5, 220.0))
        names = "precision recall f_measure f_measure(beta=2.0) average_overlap_ratio average_overlap_ratio_no_offset"
        found = score((THREE, estimate), (THREE, NOTHING), (NOTHING, THREE), metrics=names)
        assert found.weight[0].tolist() == [2.0, 3.0, 2.5, 14 / 5, 1.0, 2.0]
        assert found.weight[1].tolist() == [0.0, 3.0, 1.5, 12 / 5, 0.0, 0.0]
        assert found.weight[2].tolist() == [3.0, 0.0, 1.5, 3 / 5, 0.0, 0.0]
        assert found.score[1:].tolist() == [[0.0] * 6] * 2


class TestCleaning:
    def test_notes_without_length_are_dropped_and_counted(self) -> None:
        cleaned = clean(to_ragged([notes((0.0, 1.0, 440.0), (1.0, 1.0, 440.0)), THREE]))
        assert cleaned.rows.counts[0].tolist() == [1, 3]
        assert cleaned.repairs.tolist() == [1, 0]
        assert not cleaned.flaws

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ((2.0, 1.0, 440.0), "note ends before it starts: 2.0 to 1.0 s"),
            ((-0.5, 1.0, 440.0), "time is negative: -0.5 to 1.0 s"),
            ((0.0, np.inf, 440.0), "time is not finite: 0.0 to inf s"),
            ((0.0, 1.0, np.nan), "pitch is not finite: nan"),
            ((0.0, 1.0, -3.0), "pitch is not above 0 Hz: -3.0"),
        ],
    )
    def test_what_is_no_note_sets_its_row_aside(self, row: Row, message: str) -> None:
        cleaned = clean(to_ragged([THREE, notes((0.0, 1.0, 440.0), row)]))
        assert cleaned.flaws[1].item == 1
        assert cleaned.flaws[1].message == message
        assert cleaned.rows.counts[0].tolist() == [3, 0]
        with pytest.raises(InvalidAnnotationError, match="estimate"):
            evaluate(THREE, notes((0.0, 1.0, 440.0), row), "transcription")


class TestBestOverlap:
    def test_it_does_not_depend_on_which_largest_matching_is_found(self) -> None:
        reference = notes((0.0, 1.0, 440.0), (0.01, 0.5, 440.0))
        estimate = notes((0.01, 0.5, 440.0), (0.0, 1.0, 440.0))
        found = score((reference, estimate), metrics="average_overlap_ratio_no_offset best_overlap_ratio_no_offset")
        assert found.score[0].tolist() == [pytest.approx(0.49), 1.0]


class TestVelocities:
    loud = notes((0.0, 1.0, 440.0), (1.0, 2.0, 220.0), velocity=[20.0, 90.0])

    def test_without_velocities_only_the_measures_that_compare_them_have_no_score(self) -> None:
        batch = (self.loud, self.loud), (self.loud, THREE), (self.loud, NOTHING)
        found = score(*batch, metrics="velocity_f_measure f_measure velocity_average_overlap_ratio")
        assert not found.refused
        assert list(found.partly) == [1]
        assert found.partly[1].startswith("estimate: a note has no velocity, which velocity_f_measure compares")
        assert found.score[[0, 2]].tolist() == [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
        assert np.isnan(found.score[1]).tolist() == [True, False, True]
        assert found.score[1, 1] == score((self.loud, THREE), metrics="f_measure").score[0, 0]
        assert found.weight[1, 0] == found.weight[1, 1] > 0  # so that it counts as missing, not as undefined

    def test_pairs_without_velocities_are_refused_where_nothing_else_is_asked_for(self) -> None:
        batch = (self.loud, self.loud), (self.loud, THREE), (self.loud, NOTHING)
        assert list(score(*batch, metrics="velocity_f_measure velocity_recall").refused) == [1]
        assert not score(*batch, metrics="f_measure").refused

    def test_negative_velocities_are_refused(self) -> None:
        found = score((notes((0.0, 1.0, 440.0), velocity=[-1.0]), self.loud), metrics="velocity_recall")
        assert "reference: a note has a negative velocity" in found.refused[0]

    def test_a_track_without_velocities_is_invalid_and_says_why(self) -> None:
        with pytest.raises(InvalidAnnotationError, match="a note has no velocity, which velocity_recall compares"):
            evaluate(self.loud, THREE, "transcription", metrics=["velocity_recall"])


class TestInstruments:
    reference = notes((0.0, 1.0, 440.0), (1.0, 2.0, 220.0), (2.0, 3.0, 330.0), labels=["flute", "flute", "horn"])
    estimate = notes((0.0, 1.0, 440.0), (1.0, 2.0, 220.0), (2.0, 3.0, 331.0), labels=["flute", "horn", "horn"])

    def test_scores_stand_over_the_instruments(self) -> None:
        names = ["f_measure", "instrument_f_measure", "instrument_recall", "by_instrument", "by_instrument_no_offset"]
        found = evaluate(self.reference, self.estimate, "transcription", metrics=names)
        assert found.score.item() == 1.0
        assert found["instrument_f_measure_0.05"].to_series().to_dict() == pytest.approx(
            {"flute": 2 / 3, "horn": 2 / 3}
        )
        assert found["instrument_recall_0.05"].to_series().to_dict() == {"flute": 0.5, "horn": 1.0}
        counts = found["by_instrument_0.05"]
        assert counts.dims == ("instrument", "count")
        assert counts.sel(instrument="flute").values.tolist() == [1.0, 2.0, 1.0]
        assert counts.sel(instrument="horn").values.tolist() == [1.0, 1.0, 2.0]

    def test_what_an_instrument_has_nothing_of_is_nan(self) -> None:
        estimate = notes((0.0, 1.0, 440.0), labels=["oboe"])
        names = ["instrument_precision", "instrument_recall", "instrument_f_measure"]
        found = evaluate(self.reference, estimate, "transcription", metrics=names)
        recall, precision = found["instrument_recall_0.05"], found["instrument_precision_0.05"]
        assert np.isnan(recall.sel(instrument="oboe"))
        assert recall.sel(instrument="horn") == 0.0
        assert np.isnan(precision.sel(instrument="horn"))
        assert found["instrument_f_measure_0.05"].values.tolist() == [0.0, 0.0, 0.0]

    def test_notes_without_a_label_are_one_instrument(self) -> None:
        found = evaluate(THREE, THREE, "transcription", metrics=["by_instrument"])["by_instrument_0.05"]
        assert found.instrument.values.tolist() == [""]
        assert found.values.tolist() == [[3.0, 3.0, 3.0]]

    @settings(max_examples=50)
    @given(st.lists(st.tuples(pairs, st.integers(0, 99)), min_size=1, max_size=3))
    def test_they_are_mir_evals_scores_of_the_notes_of_each_label(
        self, batch: list[tuple[tuple[Notes, Notes], int]]
    ) -> None:
        annotated, labelled = [], []
        for pair, seed in batch:
            rng = np.random.default_rng(seed)
            labels = [rng.choice(["a", "b"], len(side[1])) for side in pair]
            labelled.append(labels)
            one, other = (to_annotation(side, own.tolist()) for side, own in zip(pair, labels, strict=True))
            annotated.append((one, other))
        sparse = score(*annotated, metrics="by_instrument").extras["by_instrument_0.05"]
        found = {tuple(index): value for index, value in zip(sparse.index.tolist(), sparse.value, strict=True)}
        for number, ((pair, _), labels) in enumerate(zip(batch, labelled, strict=True)):
            for place, name in enumerate(sparse.coords[0]):
                kept = [own == name for own in labels]
                sides = [part[mask] for side, mask in zip(pair, kept, strict=True) for part in side[:2]]
                matched = len(mir_eval.transcription.match_notes(*sides))
                counts = [found.get((number, place, kind), 0.0) for kind in range(3)]
                assert counts == [matched, kept[0].sum(), kept[1].sum()]


class TestEvidence:
    def test_it_shows_hits_misses_and_extra_notes_with_their_ends_and_pitches(self) -> None:
        estimate = notes((2.01, 3.0, 330.0), (0.0, 1.0, 441.0), (1.0, 2.0, 233.0))
        found = explain(THREE, estimate, "f_measure", "transcription")
        assert found.verdict.values.tolist() == ["hit", "missed", "extra", "hit"]
        assert found.estimate_pitch.values[[0, 2, 3]].tolist() == [441.0, 233.0, 330.0]
        assert found.reference_end.values[[0, 1, 3]].tolist() == [1.0, 2.0, 3.0]
        assert np.isnan(found.reference.values[2])
        assert explain(THREE, estimate, "onset_f_measure", "transcription").verdict.values.tolist() == ["hit"] * 3

    def test_velocities_and_instruments_are_not_judged_one_by_one(self) -> None:
        for name in ("velocity_recall", "by_instrument"):
            with pytest.raises(MetricError, match="does not judge notes one by one"):
                explain(THREE, THREE, name, "transcription")


def test_octaves_are_ignored_on_request() -> None:
    estimate = notes((0.0, 1.0, 880.0), (1.0, 2.0, 221.0), (2.0, 3.0, 400.0))
    assert score((THREE, estimate), metrics="recall recall(chroma=true)").score[0].tolist() == [1 / 3, 2 / 3]


class TestMirex2015:
    """The official tables of the Su set: six systems on ten pieces."""

    SYSTEMS = ("BW2", "BW3", "CB1", "CB2", "SY1", "SY2")

    @pytest.fixture
    def folder(self, shared_data: Path) -> Path:
        return shared_data / "mirex2015-su-transcription"

    @staticmethod
    def read(path: Path) -> Annotation:
        text = path.read_text(encoding="utf-8").replace(",", " ")
        start, end, pitch = np.array(text.split(), dtype=np.float64).reshape(-1, 3).T
        return Annotation("notes", {"start": start, "end": end, "pitch": pitch})

    def batch(self, folder: Path) -> tuple[list[tuple[Annotation, Annotation]], list[tuple[str, str]]]:
        pieces = sorted((folder / "reference/gt_textfrommidi").iterdir())
        cells = [(system, path.name) for system in self.SYSTEMS for path in pieces]
        references = {path.name: self.read(path) for path in pieces}
        return [
            (references[name], self.read(folder / "estimates" / system / name.replace("_tutti.mid", "")))
            for system, name in cells
        ], cells

    def official(self, folder: Path, table: str, cells: list[tuple[str, str]]) -> np.ndarray:
        """Correct notes and average overlap ratio of each cell."""
        found = []
        for system, name in cells:
            path = folder / "official" / system / f"{system}{table}.results.csv"
            lines = csv.reader(path.read_text(encoding="utf-8").splitlines())
            row = next(line for line in lines if line and line[0] == name.removesuffix(".txt"))
            found.append([float(row[3]), np.nan_to_num(float(row[7]))])
        return np.array(found)

    def test_mir_evals_scores_of_all_systems(self, folder: Path) -> None:
        batch, _ = self.batch(folder)
        found = score_pairs(TASK.convention(), batch)
        for (reference, estimate), scores in zip(batch, found.score, strict=True):
            sides = [
                part
                for side in (reference.columns, estimate.columns)
                for part in (np.column_stack([side["start"], side["end"]]), side["pitch"])
            ]
            expected = list(mir_eval.transcription.evaluate(*sides).values())
            np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize(
        ("table", "suffix", "chroma", "equal"),
        [
            ("", "", "", 50),
            (".onsetOnly", "_no_offset", "", 55),
            (".chroma", "", "(chroma=true)", 50),
            (".onsetOnly.chroma", "_no_offset", "(chroma=true)", 52),
        ],
    )
    def test_the_convention_finds_the_published_number_of_correct_notes(
        self, folder: Path, table: str, suffix: str, chroma: str, equal: int
    ) -> None:
        """Exactly in most of 60 cells, one or two notes off in the others; mir_eval's rules are 0.013 to 0.022 off."""
        batch, cells = self.batch(folder)
        names = f"precision{suffix}{chroma} average_overlap_ratio{suffix}{chroma}"
        found = score(*batch, metrics=names, convention="mirex2015")
        hits = np.rint(found.score[:, 0] * found.weight[:, 0])
        expected = self.official(folder, table, cells)
        assert np.count_nonzero(hits == expected[:, 0]) == equal
        assert np.abs(hits - expected[:, 0]).max() <= 2
        assert np.abs(found.score[:, 1] - expected[:, 1]).mean() < 0.005


def test_many_notes_of_all_lengths_near_each_other_are_soon_matched() -> None:
    rng = np.random.default_rng(0)
    start = np.sort(rng.uniform(0, 20, 2000))
    rows = np.column_stack([start, start + rng.choice([0.1, 1.0, 9.0], 2000), np.full(2000, 440.0)])
    other = rows + np.array([0.02, 0.03, 0.0])
    table = [notes(*map(tuple, side)) for side in (rows, other)]
    found = score((table[0], table[1]), metrics="onset_f_measure offset_f_measure").score[0]
    expected = [
        measure(rows[:, :2], other[:, :2])[2]
        for measure in (
            mir_eval.transcription.onset_precision_recall_f1,
            mir_eval.transcription.offset_precision_recall_f1,
        )
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_too_many_notes_at_one_time_are_refused_and_others_scored() -> None:
    crowd = notes(*[(0.0, 1.0, 440.0)] * 2100)
    spread = notes(*[(float(time), time + 1.0, 440.0) for time in range(2100)])
    found = score((crowd, crowd), (spread, spread), (THREE, THREE), metrics="f_measure onset_recall")
    assert list(found.refused) == [0]
    assert "2100 reference and 2100 estimated notes" in found.refused[0]
    assert np.isnan(found.score[0]).all()
    assert found.score[1:].tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert found.weight[0].tolist() == [1050.0, 2100.0]
    times, pitches = np.tile([0.0, 1.0], (2100, 1)), np.full(2100, 440.0)
    with pytest.raises(ValueError, match="more than 4194304 pairs"):
        transcription.evaluate(times, pitches, times, pitches)


@pytest.mark.parametrize("row", [(1e308, 1.1e308, 440.0), (0.0, 2e9, 440.0)])
def test_times_that_are_hardly_in_seconds_make_a_file_invalid(row: Row) -> None:
    cleaned = clean(to_ragged([notes(row), THREE]))
    assert list(cleaned.flaws) == [0]
    assert "is not in seconds" in cleaned.flaws[0].message


def test_velocities_that_are_refused_do_not_disturb() -> None:
    loud = notes((0.0, 1.0, 440.0), (1.0, 2.0, 440.0), velocity=[np.inf, 5.0])
    fine = notes((0.0, 1.0, 440.0), (1.0, 2.0, 440.0), velocity=[1.0, 5.0])
    found = score((loud, fine), (fine, fine), metrics="velocity_f_measure")
    assert list(found.refused) == [0]
    assert found.score[1].tolist() == [1.0]
