"""Drum transcription: ADTOF's numbers, mir_eval's matching drum by drum, drum maps, files, and own classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pretty_midi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.classes import Classes
from mirflow.errors import AnnotationError, InvalidAnnotationError, MetricError, MirflowError, MirflowWarning
from mirflow.metrics import drums
from mirflow.metrics.base import Pairs, get_task
from mirflow.readers import read
from mirflow.theory.general_midi import DRUM_MAPS, pitch_of

ORACLE = "05_drums"
Hits = tuple[list[float], list[str]]
RATES = {"F": "f_measure", "P": "precision", "R": "recall"}
PITCHES = {"35": "BD", "38": "SD", "47": "TT", "42": "HH", "49": "CY+RD"}
"""The classes by the pitches that ADTOF calls them by."""
CASES: dict[str, dict[str, Any]] = {
    "window 0.05": {},
    "window 0.03": {"window": 0.03},
    "window 0.02": {"window": 0.02},
    "window 0.025": {"window": 0.025},
    "window 0.05 octave": {"octave": True},
    "window 0.05 LABELS_3 (35,38,42)": {"map": "adtof3"},
}


def annotation(hits: Hits) -> Annotation:
    return Annotation("hits", {"time": np.array(hits[0], dtype=np.float64)}, [str(one) for one in hits[1]])


def identity(name: str, window: float = 0.05, **others: object) -> str:
    """The identity of a metric, with its window, so that it is no other's name."""
    return f"{name}@{window}({','.join(f'{key}={str(value).lower()}' for key, value in others.items())})"


class TestAdtof:
    def compare(self, reference: Hits, estimate: Hits, wanted: Mapping[str, float], **parameters: Any) -> int:
        whole = drums.evaluate(*reference, *estimate, "adtof", **parameters)
        classes = drums.class_scores(*reference, *estimate, "adtof", **parameters)
        count = 0
        for key, value in wanted.items():
            how, rate, which = key.split()
            if rate in RATES:
                name = RATES[rate]
                found = (
                    classes[PITCHES[which]][name] if which in PITCHES else whole[f"{how}_{name}".replace("sum_", "")]
                )
                assert found == pytest.approx(value, abs=1e-12), (key, parameters)
                count += 1
        return count

    def test_tracks(self, oracle: Path, expected: Mapping[str, Any]) -> None:
        count = 0
        for track in expected["tracks"].values():
            reference, estimate = (read(oracle / track[side], task="drums") for side in ("ref", "est"))
            sides = [(one.columns["time"], one.labels) for one in (reference, estimate)]
            for case, parameters in CASES.items():
                count += self.compare(*sides, track[case], **parameters)
        assert count > 1800

    def test_small_cases(self, expected: Mapping[str, Any]) -> None:
        for name, edge in expected["edge"].items():
            sides: list[Hits] = []
            for side in ("ref {class:[times]}", "est"):
                hits = [(time, pitch) for pitch, times in edge[side].items() for time in times]
                sides.append(([time for time, _ in hits], [pitch for _, pitch in hits]))
            for case in ("window 0.05", "window 0.05 octave"):
                assert self.compare(*sides, edge[case], **CASES[case]), name

    @pytest.mark.parametrize(("key", "number"), [("collection_first_10", 10), ("collection_all_12", 12)])
    def test_collections(self, oracle: Path, expected: Mapping[str, Any], key: str, number: int) -> None:
        paths = sorted(oracle.glob("inputs/*.ref.txt"))[:number]
        sides = [
            {path.name[:7]: read(path.with_name(path.name.replace("ref", side)), task="drums") for path in paths}
            for side in ("ref", "est")
        ]
        cases = {case: given for case, given in CASES.items() if case in expected[key]}
        names = [*RATES.values(), *(f"mean_{one}" for one in RATES.values()), "by_class", "class_f_measure"]
        asked = {(name, case): identity(name, **given) for name in names for case, given in cases.items()}
        scores = mirflow.score(sides[0], {"one": sides[1]}, "drums", convention="adtof", metrics=[*asked.values()])

        def query(name: str, case: str, aggregate: str) -> Any:
            return scores.mirflow.query(asked[name, case], aggregate=aggregate).value.squeeze()

        for case, wanted in ((case, expected[key][case]) for case in cases):
            for rate, name in RATES.items():
                assert query(name, case, "pooled").item() == pytest.approx(wanted[f"sum {rate} all"], abs=1e-12)
                assert query(f"mean_{name}", case, "mean").item() == pytest.approx(
                    wanted[f"mean {rate} all"], abs=1e-12
                )
            for pitch, drum in PITCHES.items():
                by_class = query("by_class", case, "f_measure").sel({"class": drum}).item()
                single = query("class_f_measure", case, "mean").sel({"class": drum}).item()
                assert (by_class, single) == pytest.approx(
                    (wanted[f"sum F {pitch}"], wanted[f"mean F {pitch}"]), abs=1e-12
                )

    def test_the_maps_are_adtofs(self, expected: Mapping[str, Any]) -> None:
        for name, table in expected["mapping"].items():
            own = DRUM_MAPS[f"adtof{name[-1]}"]
            classes: dict[int, set[int | None]] = {}
            for pitch in range(128):
                found = own.class_of(str(pitch))
                assert (found == -1) == (str(pitch) not in table)
                if found != -1:
                    classes.setdefault(table[str(pitch)], set()).add(found)
            assert sorted(one for places in classes.values() for one in places if one is not None) == list(
                range(int(name[-1]))
            )


times = st.lists(st.integers(0, 300).map(lambda n: round(0.01 * n, 4)), max_size=12).map(sorted)
labels = st.sampled_from(["36", "35", "kick", "38", "42", "HH", "46", "49", "56", "60"])
hits = times.flatmap(
    lambda found: st.tuples(st.just(found), st.lists(labels, min_size=len(found), max_size=len(found)))
)


def plain(reference: Hits, estimate: Hits, window: float, name: str) -> tuple[dict[str, list[float]], list[list[int]]]:
    """Precision, recall and F-measure of each class that occurs, and numbers of hits, by mir_eval's matching."""
    drum_map = DRUM_MAPS[name]
    found, counts = {}, []
    for place, drum in enumerate(drum_map.names):
        sides = [
            np.array([time for time, label in zip(*side, strict=True) if drum_map.class_of(label) == place])
            for side in (reference, estimate)
        ]
        if not len(sides[0]) + len(sides[1]):
            continue
        matched = len(mir_eval.util.match_events(*sides, window)) if min(map(len, sides)) else 0
        precision, recall = (matched / len(side) if len(side) else 0.0 for side in sides[::-1])
        f = 2 * precision * recall / (precision + recall) if matched else 0.0
        found[drum] = [f, precision, recall]
        counts.append([matched, len(sides[0]), len(sides[1])])
    return found, counts


@settings(deadline=None, max_examples=40)
@given(
    batch=st.lists(st.tuples(hits, hits), min_size=1, max_size=4),
    window=st.sampled_from([0.0, 0.02, 0.05, 1.0]),
    name=st.sampled_from(sorted(DRUM_MAPS)),
)
def test_scores_are_those_of_mir_evals_matching_drum_by_drum(
    batch: list[tuple[Hits, Hits]], window: float, name: str
) -> None:
    rules, row = get_task("drums").convention(), np.arange(len(batch))
    sides = (rules.clean(to_ragged([annotation(one) for one in side])).rows for side in zip(*batch, strict=True))
    texts = [f"{one}@{window}(map={name})" for one in ("f_measure", "precision", "recall", "mean_f_measure")]
    together = rules.score(Pairs(*sides, row, row), rules.select(texts), "union").score
    for number, (reference, estimate) in enumerate(batch):
        classes, counts = plain(reference, estimate, window, name)
        assert drums.class_scores(*reference, *estimate, window=window, map=name) == {
            drum: dict(zip(("f_measure", "precision", "recall"), values, strict=True))
            for drum, values in classes.items()
        }
        matched, one, other = (sum(count[place] for count in counts) for place in range(3))
        f = 2 * matched / (one + other) if one + other else 0.0
        mean = np.mean([values[0] for values in classes.values()]) if classes else 0.0
        wanted = [f, matched / other if other else 0.0, matched / one if one else 0.0, mean]
        assert together[number].tolist() == pytest.approx(wanted, abs=1e-12)


class TestDrums:
    def test_hits_may_coincide_and_stand_in_any_order(self) -> None:
        reference = ([1.0, 0.5, 0.5], [38, 42, 36])
        assert drums.f_measure(*reference, [0.5, 0.5, 1.0], ["kick", "Closed Hi-Hat", "SD"]) == 1

    def test_hits_of_one_class_at_one_time_are_not_merged(self) -> None:
        reference, estimate = ([0.5], [42]), ([0.5, 0.5], [42, 44])
        assert drums.evaluate(*reference, *estimate)["precision"] == 0.5

    def test_drums_of_no_class_are_left_out_on_both_sides(self) -> None:
        assert drums.recall([0.5, 1.0], [36, 49], [0.5], [36], map="adtof3") == 1
        assert drums.recall([0.5, 1.0], [36, 49], [0.5], [36], map="adtof5") == 0.5

    def test_hits_at_twice_the_rate(self) -> None:
        slow, fast = ([1.0, 2.0, 3.0], [42] * 3), ([1.0, 1.5, 2.0, 2.5, 3.0], [42] * 5)
        assert drums.precision(*slow, *fast) == 0.6
        assert drums.evaluate(*slow, *fast, octave=True)["f_measure"] == 1
        assert drums.evaluate(*fast, *slow, octave=True)["f_measure"] == 1

    def test_absent_classes_and_shares_of_nothing(self) -> None:
        reference, nothing = ([0.5], [36]), ([], [])
        assert drums.evaluate(*reference, *nothing)["precision"] == 0
        assert drums.evaluate(*reference, *nothing, "adtof")["mean_f_measure"] == 0.8
        assert drums.mean_f_measure(*reference, *nothing, absent="counted", zero_division=1.0) == 0.8
        assert drums.class_scores(*reference, *nothing).keys() == {"BD"}

    def test_every_class_of_a_map_is_a_drum_of_its_own(self) -> None:
        for name, one in DRUM_MAPS.items():
            assert [one.class_of(drum) for drum in one.names] == list(range(len(one.names)))
            assert all(pitch_of(drum) is not None for drum in one.names)
            assert re.fullmatch(r"[a-z]+\d+", name)
            assert len(one.names) == int(re.sub(r"\D", "", name))
            pitches = [pitch for own in one.classes.values() for pitch in own]
            assert len(set(pitches)) == len(pitches)

    def test_evidence_names_classes(self) -> None:
        reference, estimate = annotation(([0.5, 1.0], ["36", "38"])), annotation(([0.51, 1.0], ["BD", "42"]))
        found = mirflow.explain(reference, estimate, task="drums", metric="f_measure")
        assert found["class"].values.tolist() == ["BD", "SD", "HH"]
        assert found["verdict"].values.tolist() == ["hit", "missed", "extra"]
        from mirflow.reports.drawing import explained

        assert "upwards: kick, snare" in explained("hits", {name: found[name].values for name in found})
        with pytest.raises(MetricError, match="leave octave out"):
            mirflow.explain(reference, estimate, task="drums", metric="f_measure(octave=true)")

    @pytest.mark.parametrize(
        ("label", "message"),
        [
            ("oboe", "estimate: not a drum: 'oboe'; use a General MIDI pitch, a common name"),
            ("200", r"not a General MIDI pitch \(an integer from 0 to 127\): 200"),
            ("36.5", "not a General MIDI pitch"),
            ("", "hit without a drum"),
        ],
    )
    def test_what_is_no_drum_is_refused(self, label: str, message: str) -> None:
        with pytest.raises(AnnotationError, match=message):
            drums.f_measure([0.5], [36], [0.5], [label])

    def test_bad_arguments_are_refused(self) -> None:
        with pytest.raises(AnnotationError, match="reference: 2 times, but 1 drums"):
            drums.f_measure([0.5, 1.0], [36], [0.5], [36])
        with pytest.raises(TypeError, match="unexpected keyword argument 'windw'; did you mean 'window'"):
            drums.evaluate([0.5], [36], [0.5], [36], windw=0.1)
        with pytest.raises(MirflowError, match=r"unknown value of 'map'.*adtof3"):
            drums.evaluate([0.5], [36], [0.5], [36], map="mine")
        with pytest.raises(AnnotationError, match="reference: time is not finite"):
            drums.f_measure([np.nan], [36], [0.5], [36])


def test_a_map_that_leaves_out_most_hits_is_doubted() -> None:
    """Of Roland's kits, whose pitches are in no map but one."""
    hits = [0.5 * place for place in range(8)], ["22"] * 6 + ["36", "38"]
    kit = {"a": annotation(hits)}
    with pytest.warns(MirflowWarning, match=r"6 of 8 hits of the estimate \('22'\) are not in the map adtof5"):
        scores = mirflow.score(kit, {"one": kit}, "drums", metrics=["f_measure"])
    assert scores.score.item() == 1
    assert not mirflow.score(kit, {"one": kit}, "drums", metrics=["f_measure(map=groove9)"]).message.item()


class TestOwnClasses:
    TREE = Classes.of(tree={"low": ["35", "36", "floor"], "high": ["42", "46"]})

    def test_a_tree_is_a_drum_map(self) -> None:
        reference, estimate = ([0.5, 0.5, 1.0, 2.0], [36, 42, "floor", 38]), ([0.5, 0.5, 1.0], ["low", "high", "35"])
        assert drums.evaluate(*reference, *estimate, classes=self.TREE)["f_measure"] == 1
        assert drums.evaluate(*reference, *estimate[:2], classes=self.TREE, map="adtof3")["recall"] < 1

    def test_it_is_the_default_map_of_an_evaluation(self) -> None:
        hits = annotation(([0.5, 1.0], ["36", "floor"]))
        sides = {"a": hits}, {"one": {"a": hits}}
        scores = mirflow.score(*sides, task="drums", classes=self.TREE, metrics=["class_f_measure", "f_measure"])
        assert scores.mirflow.query("class_f_measure").value.coords["class"].values.tolist() == ["low", "high"]
        assert scores.coords["map"].values.tolist() == ["classes"]

    def test_without_one_there_is_no_such_map(self) -> None:
        with pytest.raises(MirflowError, match="unknown value of 'map'"):
            get_task("drums").convention().select(["f_measure(map=classes)"])

    def test_other_labels_are_refused(self) -> None:
        with pytest.raises(AnnotationError, match=r"not a drum: 'oboe'.*known: high, low"):
            drums.evaluate([0.5], ["oboe"], [0.5], ["low"], classes=self.TREE)


class TestFiles:
    def test_text_and_tables(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("0.5\t36\n0.5\t42\n1.0\tbass drum\n")
        found = read(tmp_path / "a.txt", task="drums")
        assert found.columns["time"].tolist() == [0.5, 0.5, 1.0]
        assert found.labels == ["36", "42", "bass drum"]
        (tmp_path / "b.csv").write_text("onset,midi_pitch,velocity\n0.5,36,100\n")
        found = read(tmp_path / "b.csv", task="drums")
        assert (found.labels, found.columns["velocity"].tolist()) == (["36"], [100.0])

    def test_what_is_written_is_read_again(self, tmp_path: Path) -> None:
        mirflow.to_lab(annotation(([0.5, 0.5], ["36", "Hand Clap"])), tmp_path / "a.txt")
        found = read(tmp_path / "a.txt", task="drums")
        assert (found.columns["time"].tolist(), found.labels) == ([0.5, 0.5], ["36", "Hand Clap"])

    def test_rows_with_more_numbers_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("0.5 36 100\n1.0 38 90\n")
        message = (
            r"a.txt:1: not a row of drums \(time, label\): '0.5 36 100'.*columns: \{time: 0, label: 1, velocity: 2\}"
        )
        with pytest.raises(InvalidAnnotationError, match=message):
            read(tmp_path / "a.txt", task="drums")
        columns = {"time": 0, "label": 1, "velocity": 2}
        assert read(tmp_path / "a.txt", task="drums", columns=columns).labels == ["36", "38"]

    @pytest.fixture
    def song(self) -> pretty_midi.PrettyMIDI:
        song = pretty_midi.PrettyMIDI()
        for drum, pitches in ((False, (60, 36)), (True, (38, 36))):
            part = pretty_midi.Instrument(0, is_drum=drum)
            part.notes = [pretty_midi.Note(50 + pitch, pitch, 0.5 * (pitch == 38), 1.0) for pitch in pitches]
            song.instruments.append(part)
        return song

    def test_midi_holds_the_hits_of_channel_10(self, tmp_path: Path, song: pretty_midi.PrettyMIDI) -> None:
        song.write(str(tmp_path / "a.mid"))
        found = read(tmp_path / "a.mid", task="drums")
        assert (found.columns["time"].tolist(), found.labels) == ([0.0, 0.5], ["36", "38"])
        assert found.columns["velocity"].tolist() == [86.0, 88.0]
        scores = mirflow.evaluate(mirflow.annotation("drums", song), found, task="drums")
        assert scores.score.sel(metric="f_measure").item() == 1

    def test_midi_with_drums_on_another_channel_is_refused(self, tmp_path: Path, song: pretty_midi.PrettyMIDI) -> None:
        del song.instruments[1]
        song.write(str(tmp_path / "a.mid"))
        with pytest.raises(
            InvalidAnnotationError, match="all notes are on channel 1, none on the percussion channel 10"
        ):
            read(tmp_path / "a.mid", task="drums")
