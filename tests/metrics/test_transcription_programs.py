"""Notes with General MIDI programs and percussion: MT3's numbers, plain references, what is missing, evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, UnknownNameError
from mirflow.metrics import transcription_programs
from mirflow.metrics.base import Scores, get_task
from mirflow.readers import read as read_annotation
from tests.note_strategies import pairs, to_annotation

from .batches import Pair, score_pairs

ORACLE = "02_mt3"
TASK = get_task("transcription")
MT3 = TASK.convention("mt3")
COMPUTED = {"transcription_metrics", "program_scores", "transcription_metrics(onsets_only=True)"}
"""What MT3's program was asked for."""
Row = tuple[float, float, float, float, int, int]
"""Start, end [s], MIDI pitch, velocity, program, percussion."""


def notes(*rows: Row | list[float]) -> Annotation:
    table = np.array(rows, dtype=np.float64).reshape(-1, 6)
    names = ("start", "end", "pitch", "velocity", "program", "drum")
    columns = {name: table[:, place].copy() for place, name in enumerate(names)}
    return Annotation("notes", {**columns, "pitch": 440 * 2 ** ((columns["pitch"] - 69) / 12)})


def score(*batch: tuple[Annotation, Annotation], metrics: str, convention: str = "mt3") -> Scores:
    rules = TASK.convention(convention)
    return score_pairs(rules, batch, rules.select(metrics.split()))


def arrays(side: Annotation) -> tuple[np.ndarray, ...]:
    columns = side.columns
    intervals = np.column_stack([columns["start"], columns["end"]])
    return intervals, *(columns[name] for name in ("pitch", "velocity", "program", "drum"))


BAND = notes((0, 1, 60, 80, 0, 0), (0, 1, 48, 70, 33, 0), (1, 2, 62, 90, 41, 0), (1, 1.1, 36, 99, 0, 1))


class TestMt3:
    """The columns of MT3's own program, on synthetic pieces, pieces of the Su set, and edge cases."""

    @staticmethod
    def assert_equal(reference: Annotation, estimate: Annotation, expected: dict[str, Any]) -> None:
        found = transcription_programs.evaluate(arrays(reference), arrays(estimate))
        named = {name: value for name, value in expected.items() if name in found}
        assert len(named) in (27, 51, 60)  # programs alone, without ends and velocities, and all
        assert {name: found[name] for name in named} == pytest.approx(named, rel=0, abs=1e-9)

    def test_all_columns_of_all_pairs(self, oracle: Path, expected: dict[str, Any]) -> None:
        read = {}
        for pair in (*expected["pairs"].values(), *expected["midi_pairs"].values()):
            for side in ("ref", "est"):
                path = oracle / pair.get(f"{side}_notes", pair[side])
                read[side] = read_annotation(path, task="transcription", pitch_unit="MIDI")
            for name in COMPUTED & {*pair}:
                self.assert_equal(read["ref"], read["est"], pair[name])

    def test_all_columns_of_the_edge_cases(self, expected: dict[str, Any]) -> None:
        for case in expected["edge"].values():
            for name in ("transcription_metrics", "program_scores"):
                if "exception" not in case[name]:  # of a library's metric of frames, where there are none
                    self.assert_equal(notes(*case["ref"]), notes(*case["est"]), case[name])

    def test_the_mean_over_the_pieces(self, oracle: Path, expected: dict[str, Any]) -> None:
        sides = [
            {
                path.name.split(".")[0]: mirflow.load(path, "transcription", pitch_unit="MIDI")
                for path in sorted((oracle / "inputs").glob(f"*.{side}.csv"))
            }
            for side in ("ref", "est")
        ]
        scores = mirflow.score(*sides, "transcription", convention="mt3").score
        means = expected["corpus_mean_of_pairs(unweighted, per metric)"]
        for one in MT3.select():
            for column in transcription_programs.column_names(one):
                assert scores.sel(metric=str(one)).mean().item() == pytest.approx(means[column], rel=0, abs=1e-9)

    def test_all_columns_are_computed_by_default(self) -> None:
        names = [name for one in MT3.select() for name in transcription_programs.column_names(one)]
        assert len(names) == len(set(names)) == 60


def plainly(sides: list[Annotation], granularity: str) -> dict[str, tuple[float, float, float]]:
    """Precision, recall and F-measure by mir_eval's matching of each group of notes."""
    numbers = {"program": np.zeros(3), "nondrum_program": np.zeros(3), "drum": np.zeros(3)}
    grouped = []
    for side in sides:
        _, _, _, program, drum = arrays(side)
        mapped = {"flat": 0 * program, "midi_class": program // 8, "full": program}[granularity]
        grouped.append([(int(d), int(p if d else m)) for d, p, m in zip(drum, program, mapped, strict=True)])
    for group in sorted({*grouped[0], *grouped[1]}):
        given = []
        for side, own in zip(sides, grouped, strict=True):
            mask = np.array([one == group for one in own], dtype=bool)
            given += [arrays(side)[0][mask], arrays(side)[1][mask]]
        matched = len(mir_eval.transcription.match_notes(*given, **({"offset_ratio": None} if group[0] else {})))
        counts = np.array([matched, len(given[1]), len(given[3])])
        numbers["program"] += counts
        numbers["drum" if group[0] else "nondrum_program"] += counts
    found = {}
    for name, (matched, reference, estimate) in numbers.items():
        rates = (matched / estimate if estimate else 0.0, matched / reference if reference else 0.0)
        found[name] = (*rates, 2 * matched / (reference + estimate) if matched else 0.0)
    return found


@st.composite
def annotated(draw: st.DrawFn) -> tuple[Annotation, Annotation]:
    """Pairs of transcriptions of a few instruments of two families, and percussion."""
    sides = []
    for side in draw(pairs):
        one = to_annotation(side)
        size = len(one.columns["start"])
        programs = draw(st.lists(st.sampled_from([0.0, 1.0, 7.0, 8.0]), min_size=size, max_size=size))
        drums = draw(st.lists(st.sampled_from([0.0, 0.0, 1.0]), min_size=size, max_size=size))
        columns = {**one.columns, "program": np.array(programs), "drum": np.array(drums)}
        sides.append(Annotation("notes", columns))
    return sides[0], sides[1]


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(annotated(), min_size=1, max_size=3))
def test_scores_are_those_of_the_notes_of_each_program(batch: list[Pair]) -> None:
    rates = ("precision", "recall", "f_measure")
    names = [f"{part}_{rate}" for part in ("program", "nondrum_program", "drum") for rate in rates]
    for granularity in ("flat", "midi_class", "full"):
        asked = " ".join(name if name.startswith("drum") else f"{name}@{granularity}" for name in names)
        found = score(*batch, metrics=asked)
        for number, pair in enumerate(batch):
            expected = plainly(list(pair), granularity)
            values = [expected[part][place] for part in ("program", "nondrum_program", "drum") for place in range(3)]
            assert found.score[number] == pytest.approx(values, abs=1e-12)


class TestPrograms:
    estimate = notes((0, 1, 60, 80, 1, 0), (0, 1, 48, 70, 33, 0), (1, 2, 62, 90, 40, 0), (1, 3, 36, 99, 0, 1))

    def test_families_and_all_programs_count_as_the_same_on_request(self) -> None:
        found = score((BAND, self.estimate), metrics="program_recall@[flat,midi_class,full]")
        assert found.score[0].tolist() == [1.0, 1.0, 0.5]

    def test_the_weighted_mean_is_the_score_of_all_notes_of_the_collection(self) -> None:
        found = score((BAND, self.estimate), (BAND, BAND), (BAND, notes()), metrics="program_f_measure drum_f_measure")
        micro = (found.score * found.weight).sum(axis=0) / found.weight.sum(axis=0)
        assert micro.tolist() == pytest.approx([2 * (2 + 4) / (12 + 8), 2 * 2 / (3 + 2)])

    def test_percussion_needs_the_same_kit_and_no_end(self) -> None:
        drum, longer = notes((0, 0.01, 36, 80, 0, 1)), notes((0, 3.0, 36, 80, 0, 1))
        other = notes((0, 0.01, 36, 80, 8, 1))
        pitched = notes((0, 0.01, 36, 80, 0, 0))
        found = score((drum, longer), (drum, other), (drum, pitched), metrics="drum_recall program_recall@flat")
        assert found.score.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]

    def test_counts_have_the_names_of_general_midi(self) -> None:
        full = mirflow.evaluate(BAND, self.estimate, "transcription", metrics=["by_program"])["by_program_full"]
        assert full.instrument.values.tolist() == [
            *("Acoustic Grand Piano", "Bright Acoustic Piano", "Electric Bass (finger)", "Violin", "Viola", "Drums")
        ]
        assert full.sel(instrument="Drums").values.tolist() == [1.0, 1.0, 1.0]
        assert full.sel(instrument="Viola").values.tolist() == [0.0, 1.0, 0.0]
        table = mirflow.evaluate(BAND, self.estimate, "transcription", metrics=["by_program@midi_class"])
        families = table["by_program_midi_class"]
        assert families.instrument.values.tolist() == ["Piano", "Bass", "Strings", "Drums"]
        assert families.values.tolist() == [[1.0, 1.0, 1.0]] * 4

    def test_a_note_without_a_program_has_no_score_and_says_so(self) -> None:
        plain = Annotation("notes", {name: BAND.columns[name] for name in ("start", "end", "pitch", "velocity")})
        found = score((BAND, plain), (BAND, notes()), metrics="f_measure program_f_measure drum_f_measure by_program")
        assert found.partly == {
            0: "estimate: a note has no program, which program_f_measure compares; remove it from the metrics"
        }
        assert np.isnan(found.score).tolist() == [[False, True, False], [False, False, False]]
        assert set(found.extras["by_program_full"].index[:, 0].tolist()) == {1}
        assert list(score((BAND, plain), metrics="program_f_measure by_program").refused) == [0]

    def test_programs_that_there_are_not_are_refused(self) -> None:
        odd = notes((0, 1, 60, 80, 128, 0))
        found = score((odd, BAND), metrics="program_f_measure")
        assert found.refused[0].startswith("reference: a note has a program outside 0 to 127, which program_f_")

    def test_percussion_without_a_program_is_of_the_usual_kit(self) -> None:
        drums = {**notes((0, 1, 36, 80, 0, 1)).columns, "program": np.array([np.nan])}
        pair = Annotation("notes", drums), notes((0, 1, 36, 80, 0, 1))
        assert score(pair, metrics="program_f_measure drum_f_measure").score.tolist() == [[1.0, 1.0]]


class TestConvention:
    def test_percussion_is_left_out_of_all_that_is_not_about_it(self) -> None:
        estimate = notes((0, 1, 60, 80, 0, 0), (1, 1.1, 36, 99, 0, 1))
        found = score((BAND, estimate), metrics="recall_no_offset onset_recall velocity_recall drum_recall")
        assert found.score[0].tolist() == [1 / 3, 1 / 3, 1 / 3, 1.0]
        plain = score((BAND, estimate), metrics="recall_no_offset", convention="mir_eval")
        assert plain.score[0].tolist() == [0.5]

    def test_one_tolerance_holds_for_notes_that_last_a_while(self) -> None:
        short, longer = notes((0, 0.01, 60, 80, 0, 0)), notes((0, 0.045, 60, 80, 0, 0))
        found = score((short, longer), metrics="tolerance_recall@[0.01,0.05] recall")
        assert found.score[0].tolist() == [1.0, 1.0, 1.0]
        nothing = notes((2, 2, 60, 80, 0, 0))
        found = score((nothing, nothing), metrics="recall recall_no_offset tolerance_recall")
        assert found.score[0].tolist() == [0.0, 0.0, 1.0]
        assert found.weight[0].tolist() == [0.0, 0.0, 1.0]

    def test_notes_without_length_are_counted_as_repairs(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("start,end,pitch,velocity,program,is_drum\n0,1,60,80,0,0\n2,2,60,80,0,0\n")
        asked = {"convention": "mt3", "pitch_unit": "MIDI", "metrics": ["program_f_measure", "tolerance_f_measure"]}
        found = mirflow.evaluate(tmp_path / "a.csv", tmp_path / "a.csv", "transcription", **asked)
        assert found.score.values.tolist() == [1.0, 1.0]
        assert found.weight.values.tolist() == [1.0, 2.0]

    def test_midi_files_are_read_with_percussion(self, tmp_path: Path) -> None:
        import pretty_midi

        played = pretty_midi.PrettyMIDI()
        for program, drum in ((40, False), (0, True)):
            played.instruments.append(pretty_midi.Instrument(program, is_drum=drum))
            played.instruments[-1].notes.append(pretty_midi.Note(80, 60, 0.5, 1.0))
        played.write(str(tmp_path / "a.mid"))
        sides = tmp_path / "a.mid", tmp_path / "a.mid"
        for convention, notes_of_each in (("mt3", [2.0, 1.0]), ("mir_eval", [1.0, 0.0])):
            asked = {"convention": convention, "metrics": ["program_f_measure", "drum_f_measure"]}
            assert mirflow.evaluate(*sides, "transcription", **asked).weight.values.tolist() == notes_of_each

    def test_columns_of_mt3_are_aliases(self) -> None:
        for alias, identity in (
            ("Onset + offset + program F1@flat", "program_f_measure@flat"),
            ("Drum onset recall", "drum_recall"),
            ("Onset + velocity precision", "velocity_precision_no_offset"),
        ):
            assert [str(one) for one in MT3.select([alias])] == [identity]

    def test_frames_of_mt3_are_pooled_as_sums(self) -> None:
        # Percussion alone shortens all notes of an estimate, so that frames of joined files are others.
        usual = {metric.name: metric.pooling for metric in TASK.convention("mir_eval").metrics}
        changed = [metric.name for metric in MT3.metrics if metric.pooling != usual.get(metric.name, "exact")]
        assert changed == [name for name in usual if name.startswith("frame_")]
        assert {metric.pooling for metric in MT3.metrics if metric.name in changed} == {"micro"}


class TestEvidence:
    estimate = notes((0, 1, 60, 80, 1, 0), (0, 1, 48, 70, 33, 0), (1, 3, 36, 99, 0, 1))

    def test_it_shows_programs_and_percussion(self) -> None:
        found = mirflow.explain(BAND, self.estimate, "program_f_measure", "transcription", convention="mt3")
        rows = {
            (row.verdict, row.reference_program, row.estimate_program)
            for row in found.to_dataframe().fillna(-1.0).itertuples()
        }
        assert rows == {
            ("hit", 33.0, 33.0),
            ("hit", 0.0, 0.0),
            ("missed", 0.0, -1.0),
            ("missed", 41.0, -1.0),
            ("extra", -1.0, 1.0),
        }

    def test_it_is_about_the_notes_that_count(self) -> None:
        def verdicts(metric: str) -> list[str]:
            found = mirflow.explain(BAND, self.estimate, metric, "transcription", convention="mt3")
            return sorted(found.verdict.values.tolist())

        assert verdicts("drum_f_measure") == ["hit"]
        assert verdicts("f_measure") == ["hit", "hit", "missed"]
        assert verdicts("nondrum_program_f_measure") == ["extra", "hit", "missed", "missed"]

    def test_notes_without_a_program_are_refused(self) -> None:
        plain = Annotation("notes", {name: BAND.columns[name] for name in ("start", "end", "pitch")})
        with pytest.raises(AnnotationError, match="a note has no program, which program_recall compares"):
            mirflow.explain(BAND, plain, "program_recall", "transcription")


class TestPairFunctions:
    def test_they_are_the_metrics(self) -> None:
        pair = BAND, TestPrograms.estimate
        sides = [arrays(one)[:2] + arrays(one)[3:] for one in pair]  # without velocities
        expected = score(pair, metrics="program_f_measure@flat program_f_measure_no_offset drum_recall")
        flat = transcription_programs.precision_recall_f1(*sides, granularity="flat")
        onsets = transcription_programs.precision_recall_f1(*sides, offset_ratio=None)
        drums = transcription_programs.precision_recall_f1(*sides, "drum")
        assert [flat[2], onsets[2], drums[1]] == expected.score[0].tolist()

    def test_unknown_options_are_refused(self) -> None:
        sides = [arrays(one)[:2] + arrays(one)[3:] for one in (BAND, TestPrograms.estimate)]
        with pytest.raises(TypeError, match="did you mean 'offset_ratio'"):
            transcription_programs.precision_recall_f1(*sides, offsetratio=None)
        with pytest.raises(TypeError, match="offset_ratio"):
            transcription_programs.precision_recall_f1(*sides, "drum", offset_ratio=None)
        with pytest.raises(UnknownNameError, match="unknown notes 'drums'; did you mean"):
            transcription_programs.precision_recall_f1(*sides, "drums")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({1: np.array([440.0])}, r"reference: 2 intervals, but pitch of shape \(1,\)"),
            ({1: np.array([440.0, -1.0])}, "reference: note 1: pitch is not above 0 Hz: -1.0"),
            ({2: np.array([0, 128])}, "reference: a note has a program outside 0 to 127"),
        ],
    )
    def test_bad_input_is_refused(self, change: dict[int, np.ndarray], message: str) -> None:
        good = np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([440.0, 220.0]), np.array([0, 8]), np.zeros(2)
        bad = tuple(change.get(place, column) for place, column in enumerate(good))
        with pytest.raises(ValueError, match=message):
            transcription_programs.precision_recall_f1(bad, good)
