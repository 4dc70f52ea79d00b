"""Onsets, notes, tempi, chords and keys by madmom's rules: the rules written down plainly, and madmom itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.metrics import key, onset, tempo
from mirflow.metrics.base import Pairs, Scores, get_task
from mirflow.metrics.chord.madmom import Chord, encode, reduce
from mirflow.metrics.events import Events
from mirflow.metrics.onset_madmom import combine as combine_events
from mirflow.metrics.transcription import madmom as notes
from mirflow.ragged import Ragged
from tests.event_strategies import pairs, to_rows

from .plain_madmom import combine, note_scores, onset_scores, tempo_scores

ORACLE = "01_madmom"
EVENTS = {name.replace("f_m", "fm"): name for name in ("precision", "recall", "f_measure", "accuracy")}
EVENTS |= {name: name for name in ("mean_error", "std_error")}
ONSET_SETTINGS: Mapping[str, Mapping[str, float]] = {
    "class_default(window .025, combine 0)": {},
    "cli_default(window .025, combine .03)": {"combine": 0.03},
    "window .05": {"window": 0.05},
    "window .05 combine .03": {"window": 0.05, "combine": 0.03},
    "delay .01 combine .03": {"delay": 0.01, "combine": 0.03},
}
NOTE_SETTINGS: Mapping[str, Mapping[str, float]] = {
    "default(window .025)": {},
    "window .05": {"window": 0.05},
    "delay -.01": {"delay": -0.01},
}
TEMPO_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "default(tolerance .04, double, triple, sort)": {},
    "no_sort": {"sort": False},
    "no_triple": {"triple": False},
    "no_double_no_triple": {"double": False, "triple": False},
    "max_len 1": {"max_len": 1},
    "max_len 2": {"max_len": 2},
    "tolerance .08": {"tol": 0.08},
}
TEMPI = {"pscore": "p_score", "any": "any_correct", "all": "all_correct", "acc1": "accuracy1", "acc2": "accuracy2"}
CHORDS = {name.replace("_inv", "bass"): name for name in ("root", "majmin", "majmin_inv", "sevenths", "sevenths_inv")}
CHORDS |= {name: name for name in ("segmentation", "oversegmentation", "undersegmentation")}


def score(task: str, sides: Sequence[Ragged], given: Mapping[str, Any]) -> tuple[Scores, list[str]]:
    """Scores of the first rows of both sides, the second, and so on; and the names of the columns."""
    rules = get_task(task).convention("madmom")
    measures = [one.measure(**given) for one in rules.metrics if not one.dims or one.name == "counts"]
    names = [one.metric.name for one in measures if not one.metric.dims]
    return rules.score(Pairs.in_order(*(rules.clean(side).rows for side in sides)), measures, "union"), names


def assert_scores(
    scores: Scores, names: Sequence[str], rows: Iterable[Mapping[str, Any]], keys: Mapping[str, str]
) -> None:
    for row, expected in enumerate(rows):
        if "exception" in expected:
            continue
        for of, name in keys.items():
            found, wanted = scores.score[row, names.index(name)], expected[of]
            if isinstance(wanted, dict):
                assert np.isnan(found)
                assert row in scores.partly
            else:
                np.testing.assert_allclose(found, float(wanted), rtol=0, atol=1e-9, err_msg=f"{row} {name}")


def assert_counts(scores: Scores, rows: Sequence[Mapping[str, Any]]) -> None:
    (table,) = scores.extras.values()
    found = np.zeros((len(rows), 3))
    found[tuple(table.index.T)] = table.value
    for row, one in enumerate(rows):
        if "exception" not in one:
            assert found[row].tolist() == [one["num_tp"], one["num_annotations"], one["num_tp"] + one["num_fp"]]


class TestOnsets:
    @pytest.mark.filterwarnings("ignore:.* onsets are empty:mirflow.errors.MirflowWarning")
    @given(pairs, st.sampled_from([0.025, 0.05, 0.25]), st.sampled_from([0.0, 0.03, 0.25]), st.sampled_from([0, 0.01]))
    @settings(max_examples=40)
    def test_scores_are_those_of_the_rules_written_down_plainly(
        self, pair: tuple[np.ndarray, np.ndarray], window: float, combined: float, delay: float
    ) -> None:
        found = onset.madmom.evaluate(*pair, window=window, combine=combined, delay=float(delay))
        assert found == pytest.approx(onset_scores(*map(list, pair), window, combined, delay), abs=1e-12, nan_ok=True)

    @given(st.lists(st.lists(st.integers(0, 40).map(lambda one: one / 20), max_size=12), max_size=5))
    @settings(max_examples=40)
    def test_onsets_are_combined_from_left_to_right_in_any_order(self, rows: list[list[float]]) -> None:
        events = to_rows(*(np.array(row, dtype=np.float64) for row in rows)) if rows else to_rows(np.zeros(0))
        found = combine_events(Events(events.columns["time"], events.counts[0]), 0.1)
        assert found.times.tolist() == [time for row in rows for time in combine(row, 0.1)]

    @pytest.mark.parametrize("setting", ONSET_SETTINGS)
    def test_real_onsets_and_edge_cases_score_as_in_madmom(
        self, oracle: Path, expected: dict[str, Any], setting: str
    ) -> None:
        cases = [*expected["onsets"].values(), *expected["onsets_edge"].values()]
        read = {one: np.loadtxt(oracle / one, ndmin=1) for case in cases for one in _files(case)}
        sides = [
            to_rows(*(read[case[side]] if _files(case) else np.array(case[side], dtype=np.float64) for case in cases))
            for side in ("ann", "det")
        ]
        found, names = score("onset", sides, ONSET_SETTINGS[setting])
        results = [case["results"][setting] for case in cases]
        assert_scores(found, names, results, EVENTS)
        assert_counts(found, results)

    def test_evidence_shows_combined_onsets(self) -> None:
        sides = (Annotation("events", {"time": np.array(times)}) for times in ([1.0, 1.02, 2.0], [1.01]))
        found = mirflow.explain(*sides, "f_measure(combine=0.03)", task="onset", convention="madmom")
        assert found["reference"].values.tolist() == [1.01, 2.0]
        assert found["verdict"].values.tolist() == ["hit", "missed"]


def _files(case: Mapping[str, Any]) -> list[str]:
    return [case[side] for side in ("ann", "det") if isinstance(case[side], str)]


_note = st.tuples(st.integers(0, 12).map(lambda one: one / 40), st.sampled_from([220.0, 440.0]))


def note_rows(sides: Sequence[Sequence[Sequence[float]]]) -> Ragged:
    flat = np.array([one[:2] for side in sides for one in side], dtype=np.float64).reshape(-1, 2)
    columns = {"start": flat[:, 0], "end": flat[:, 0], "pitch": flat[:, 1]}
    return Ragged(columns, (np.array([len(side) for side in sides], dtype=np.int64),))


class TestNotes:
    @given(st.lists(_note, max_size=8), st.lists(_note, max_size=8))
    @settings(max_examples=75)
    def test_scores_are_those_of_the_rules_written_down_plainly(
        self, reference: list[tuple[float, float]], estimate: list[tuple[float, float]]
    ) -> None:
        wanted = note_scores(reference, estimate, 0.025)
        sides = [tuple(np.array(side, dtype=np.float64).reshape(-1, 2).T) for side in (reference, estimate)]
        if wanted is None:
            with pytest.raises(ValueError, match="occurs several times, but only some are matched"):
                notes.evaluate(*sides)
        else:
            assert notes.evaluate(*sides) == pytest.approx(wanted, abs=1e-12, nan_ok=True)

    @pytest.mark.parametrize("setting", NOTE_SETTINGS)
    def test_real_notes_score_as_in_madmom(self, oracle: Path, expected: dict[str, Any], setting: str) -> None:
        cases = list(expected["notes"].values())
        sides = [note_rows([np.loadtxt(oracle / one[side]).tolist() for one in cases]) for side in ("ann", "det")]
        found, names = score("transcription", sides, NOTE_SETTINGS[setting])
        results = [one["results"][setting] for one in cases]
        assert_scores(found, names, results, EVENTS)
        assert_counts(found, results)
        assert {*found.refused} == {row for row, one in enumerate(results) if "exception" in one}

    def test_edge_cases_score_as_in_madmom(self, expected: dict[str, Any]) -> None:
        cases = list(expected["notes_edge"].values())
        found, names = score("transcription", [note_rows([one[s] for one in cases]) for s in ("ann", "det")], {})
        assert_scores(found, names, [one["default"] for one in cases], EVENTS)
        assert {*found.refused} == {row for row, one in enumerate(cases) if "exception" in one["default"]}

    def test_a_pair_that_is_refused_under_some_windows_has_scores_under_the_others(self) -> None:
        rows = note_rows([[[1.0, 440.0], [1.0, 440.0]]]), note_rows([[[1.04, 440.0]]])
        rules = get_task("transcription").convention("madmom")
        measures = rules.select(["f_measure", "f_measure@0.05"])
        found = rules.score(Pairs.in_order(*rows), measures, "union")
        np.testing.assert_array_equal(found.score, [[0.0, np.nan]])
        assert "reference: a note at 1.0 s" in found.partly[0]

    def test_evidence_shows_what_is_matched(self) -> None:
        one = Annotation("notes", {"start": np.array([0.0, 1.0]), "end": np.ones(2), "pitch": np.array([440.0, 220.0])})
        other = Annotation(
            "notes", {"start": np.array([0.02, 1.0]), "end": np.ones(2), "pitch": np.array([440.0, 221.0])}
        )
        found = mirflow.explain(one, other, "recall", task="transcription", convention="madmom")
        assert found["verdict"].values.tolist() == ["hit", "missed", "extra"]


_tempo = st.tuples(
    st.sampled_from([0.0, 30.0, 60.0, 62.4, 115.2, 120.0, 124.8, 180.0, 360.0]), st.sampled_from([0.0, 0.25, 0.5, 3.0])
)


class TestTempi:
    @given(st.lists(_tempo, max_size=4), st.lists(_tempo, max_size=4))
    @settings(max_examples=75)
    def test_scores_are_those_of_the_rules_written_down_plainly(
        self, reference: list[tuple[float, float]], estimate: list[tuple[float, float]]
    ) -> None:
        sides = (np.array(side, dtype=np.float64).reshape(-1, 2) for side in (reference, estimate))
        assert tempo.madmom.evaluate(*sides) == pytest.approx(tempo_scores(reference, estimate), abs=1e-12)

    @pytest.mark.parametrize("setting", TEMPO_SETTINGS)
    def test_every_case_scores_as_in_madmom(self, expected: dict[str, Any], setting: str) -> None:
        for case in expected["tempo"].values():
            sides = (np.array(case[side], dtype=np.float64) for side in ("ann", "det"))
            found = tempo.madmom.evaluate(*sides, **TEMPO_SETTINGS[setting])
            wanted = case["results"][setting]
            assert found == pytest.approx({TEMPI[of]: float(value) for of, value in wanted.items()}, abs=1e-9)

    def test_evidence_shows_shares_of_the_strength(self) -> None:
        sides = (Annotation("tempo", {"tempo": np.array(tempi)}) for tempi in ([60.0, 90.0, 120.0], [121.0]))
        found = mirflow.explain(*sides, "p_score", task="tempo", convention="madmom")
        assert found["verdict"].values.tolist() == ["wrong", "wrong", "right"]
        assert found["share"].values.tolist() == [1 / 3] * 3


def chord_rows(sides: Sequence[Sequence[Sequence[Any]]]) -> Ragged:
    rows = [row for side in sides for row in side]
    numbers: dict[str, int] = {}
    label = [numbers.setdefault(row[2], len(numbers)) for row in rows]
    columns = {
        "start": np.array([float(row[0]) for row in rows]),
        "end": np.array([float(row[1]) for row in rows]),
        "label": np.array(label, dtype=np.int64),
    }
    return Ragged(columns, (np.array([len(side) for side in sides], dtype=np.int64),), tuple(numbers))


_sounding = st.lists(st.integers(0, 1), min_size=12, max_size=12).filter(any).map(tuple)  # a bass always sounds


class TestChords:
    @given(_sounding, st.integers(0, 11), st.booleans())
    def test_a_reduced_chord_has_one_third_at_most_one_fifth_and_stays_as_it_is(
        self, sounding: tuple[int, ...], bass: int, tetrads: bool
    ) -> None:
        found = reduce(Chord(0, bass, sounding), tetrads, with_bass=True)
        on = [semitone for semitone, one in enumerate(found.sounding) if one]
        assert sum(semitone in (2, 3, 4, 5) for semitone in on) <= 1
        assert len(on) <= 3 + tetrads
        assert found.bass in (0, *on)
        assert reduce(found, tetrads, with_bass=True) == found

    def test_every_label_is_read_and_reduced_as_in_madmom(self, expected: dict[str, Any]) -> None:
        ways = {
            "triad": (False, False),
            "triad_bass": (False, True),
            "tetrad": (True, False),
            "tetrad_bass": (True, True),
        }
        for label, one in expected["chord_labels"].items():
            chord = encode(label)
            # madmom writes -1 for the tones of X, which it then takes for tones that sound.
            assert chord == Chord(one["root"], one["bass"], tuple(map(abs, one["intervals"])))
            for name, way in ways.items():
                root, bass, sounding = one[name]
                assert reduce(chord, *way) == Chord(root, bass, tuple(sounding)), (label, name)

    def test_real_chords_and_edge_cases_score_as_in_madmom(self, oracle: Path, expected: dict[str, Any]) -> None:
        cases = [*expected["chords"].values(), *expected["chords_edge"].values()]
        sides = []
        for side in ("ann", "det"):
            files = ((oracle / one[side]).read_text().splitlines() if _files(one) else None for one in cases)
            rows = [
                [line.split() for line in file] if file else one[side] for file, one in zip(files, cases, strict=True)
            ]
            sides.append(chord_rows(rows))
        found, names = score("chord", sides, {})
        assert_scores(found, names, [one["results"] for one in cases], CHORDS)

    @pytest.mark.parametrize(
        ("estimate", "root"),
        [
            ([[0, 0.5, "G"], [2, 5, "C"]], 1.0),  # a gap across the start takes the chord behind it
            ([[1, 2, "C"], [4, 5, "G"]], 1.0),  # one across the end, or up to it, the chord before
            ([[1, 2, "C"], [3, 5, "G"]], 1.0),
            ([[1, 2, "C"]], 0.5),  # where nothing follows or comes before, there is no chord
            ([[2, 3, "C"]], 0.5),
        ],
    )
    def test_gaps_at_the_ends_of_the_reference(self, estimate: list[list[Any]], root: float) -> None:
        found, names = score("chord", [chord_rows([[[1, 3, "C"]]]), chord_rows([estimate])], {})
        assert found.score[0, names.index("root")] == pytest.approx(root)

    def test_an_x_in_the_reference_is_compared(self) -> None:
        sides = (
            Annotation("intervals", {"start": np.array([0.0, 2.0]), "end": np.array([2.0, 4.0])}, labels)
            for labels in (["X", "G"], ["C", "G"])
        )
        found = mirflow.explain(*sides, "majmin", task="chord", convention="madmom")
        assert found["verdict"].values.tolist() == ["wrong", "right"]


class TestKeys:
    def test_points_are_those_of_madmom(self, expected: dict[str, Any]) -> None:
        for pair, one in expected["key"].items():
            estimate, reference = (side.split(" ", 1)[1] for side in pair.split(" | "))
            assert key.weighted_score(reference, estimate, allow_descending_fifths=True) == one["default"][0]
            assert key.weighted_score(reference, estimate) == one["strict_fifth"][0]

    def test_shares_of_relations_are_those_of_madmom(self, expected: dict[str, Any]) -> None:
        given = expected["key_mean"]
        rows = [to_ragged([Annotation("key", {}, [one]) for one in given[side]]) for side in ("ann", "det")]
        for name, asked in (("default", {}), ("strict_fifth", {"allow_descending_fifths": False})):
            rules = get_task("key").convention("madmom")
            measures = [one.measure(**asked) for one in rules.metrics]
            found = rules.score(Pairs.in_order(*(rules.clean(one).rows for one in rows)), measures, "union")
            names = {"correct": "same", "weighted": "weighted_score"}
            places = {one.metric.name: column for column, one in enumerate(measures)}
            for of, value in given[name].items():
                assert found.score[:, places[names.get(of, of)]].mean() == pytest.approx(value, abs=1e-12)


@pytest.mark.slow
def test_sums_and_means_over_files_are_queries(oracle: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    root = Path(__file__).parents[2] / "pipelines/papers/madmom.yaml"
    mirflow.run(root, root=oracle, store=tmp_path / "x.zarr", scheduler="serial")
    boards = mirflow.open_store(tmp_path / "x.zarr")

    def ask(group: str, metric: str, aggregate: str, system: str | None = None) -> float:
        found = boards[group].mirflow.query(metric, aggregate, system=system, missing="skip")["value"]
        return float(found.sel(metric=metric).item() if "metric" in found.dims else found.values.ravel()[0])

    first = "class_default(window .025, combine 0)"
    for of, name in EVENTS.items():
        assert ask("onset", name, "mean") == pytest.approx(expected["onsets_mean"][first][of], abs=1e-9)
        pooled = ask("onset", "error_moments", "standard_deviation") if name == "std_error" else None
        pooled = ask("onset", name, "pooled") if pooled is None else pooled
        assert pooled == pytest.approx(expected["onsets_sum"][first][of], abs=1e-9)
    counts = boards["onset"].mirflow.query("counts", "sum")["value"]
    assert counts.sel(count="matched").values[0] == expected["onsets_sum"][first]["num_tp"]
    for system in ("KO2", "NMSD2", "CB4"):
        for of, name in CHORDS.items():
            way = "pooled" if "seg" in name else "wcsr"
            assert ask("chord", name, way, system) == pytest.approx(expected["chords_sum"][system][of], abs=1e-9)
            assert ask("chord", name, "mean", system) == pytest.approx(expected["chords_mean"][system][of], abs=1e-9)
