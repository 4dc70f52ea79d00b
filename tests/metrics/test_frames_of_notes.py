"""Active pitches of notes, notes that are cut or decoded, and deviations of matched notes."""

from __future__ import annotations

import csv
import json
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.errors import MirflowWarning
from mirflow.metrics import transcription
from mirflow.metrics.base import Pairs, get_task
from mirflow.metrics.transcription.frames import cut_overlaps, decode_rows
from mirflow.ragged import Ragged
from mirflow.theory.pitch import midi_to_hz
from tests.commands import printed

COLUMNS = ("start", "end", "pitch", "velocity", "program", "is_drum")
Notes = list[list[float]]
RATES = ("precision", "recall", "f_measure")
OVERLAP = "average_overlap_ratio"
OF_NOTES = ("{}_no_offset", "velocity_{}_no_offset", "{}", "velocity_{}")


def rows(notes: Notes) -> Ragged:
    """Notes with MIDI pitches as a row."""
    table = np.array(notes, dtype=np.float64).reshape(len(notes), -1 if notes else 4)
    names = ("start", "end", "pitch", "velocity", "program", "drum")
    columns = {name: table[:, place].copy() if len(notes) else np.zeros(0) for place, name in enumerate(names[:4])}
    columns["pitch"] = np.asarray(midi_to_hz(columns["pitch"]))
    if len(notes) and table.shape[1] == 6:
        columns["drum"] = table[:, 5].copy()
    return Ragged(columns, (np.array([len(notes)]),))


def scores(reference: Notes, estimate: Notes, names: list[str], convention: str = "mir_eval") -> list[float]:
    rules = get_task("transcription").convention(convention)
    sides = (rules.clean(rows(side)).rows for side in (reference, estimate))
    found: list[float] = rules.score(Pairs.in_order(*sides), rules.select(names), "union").score[0].tolist()
    return found


def known(shared_data: Path, name: str) -> tuple[Path, dict[str, Any]]:
    folder = shared_data / "oracles" / name
    if not folder.is_dir():
        pytest.skip(f"no pairs with known scores in {folder}")
    return folder, json.loads((folder / "expected.json").read_text())


def notes_of(folder: Path, side: str | Notes) -> Notes:
    if not isinstance(side, str):
        return side
    with (folder / side).open(newline="") as lines:
        return [[float(row[name]) for name in COLUMNS if name in row] for row in csv.DictReader(lines)]


def test_scores_are_those_of_transkun(shared_data: Path) -> None:
    folder, expected = known(shared_data, "04_frames")
    names = [f"frame_{rate}" for rate in (*RATES, "accuracy")]
    names += [form.format(rate) for form in OF_NOTES for rate in (*RATES, OVERLAP)]
    kinds = ("frame", "note", "note+velocity", "note+offset", "note+velocity+offset")
    for name, pair in {**expected["pairs"], **expected["edge"]}.items():
        found = scores(notes_of(folder, pair["ref"]), notes_of(folder, pair["est"]), names, "mirex2024")
        wanted = pair["transkun"]["metrics [precision,recall,f1,overlap]"]
        np.testing.assert_allclose(found, np.concatenate([wanted[kind] for kind in kinds]), atol=1e-12, err_msg=name)


def test_scores_are_those_of_onsets_and_frames(shared_data: Path) -> None:
    folder, expected = known(shared_data, "04_frames")
    errors = ("substitution_error", "miss_error", "false_alarm_error", "total_error")
    plain = ("precision", "recall", "accuracy", *errors)
    table = {f"frame_{name}": f"metric/frame/{name}" for name in (*plain, *(f"chroma_{one}" for one in plain))}
    table["frame_f_measure"] = "metric/frame/f1"
    kinds = ("note", "note-with-velocity", "note-with-offsets", "note-with-offsets-and-velocity")
    for form, kind in zip(OF_NOTES, kinds, strict=True):
        for mine, theirs in zip((*RATES, OVERLAP), ("precision", "recall", "f1", "overlap"), strict=True):
            table[form.format(mine)] = f"metric/{kind}/{theirs}"
    for name, pair in {**expected["pairs"], **expected["edge"]}.items():
        sides = notes_of(folder, pair["ref"]), notes_of(folder, pair["est"])
        found = scores(*sides, list(table), "onsets_and_frames")
        wanted = [pair["onsets_and_frames"][key] for key in table.values()]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12, err_msg=name)


def test_loud_frames_are_those_of_mt3(shared_data: Path) -> None:
    folder, expected = known(shared_data, "02_mt3")
    names = [f"frame_{rate}@loud" for rate in RATES]
    for name, pair in {**expected["pairs"], **expected["edge"], **expected["midi_pairs"]}.items():
        wanted = pair.get("transcription_metrics", {})
        reference, estimate = (notes_of(folder, pair.get(f"{side}_notes", pair[side])) for side in ("ref", "est"))
        if "Frame F1" not in wanted or any(start == end for start, end, *_ in (*reference, *estimate)):
            continue  # notes without length are dropped
        found = scores(reference, estimate, names)
        np.testing.assert_array_equal(found, [wanted[f"Frame {key}"] for key in ("Precision", "Recall", "F1")], name)


ticks = st.integers(0, 20)
some_notes = st.lists(
    st.tuples(ticks, st.integers(1, 8), st.sampled_from([60, 61, 72]), st.integers(1, 127)).map(
        lambda note: [note[0] / 8, (note[0] + note[1]) / 8, note[2], note[3]]
    ),
    max_size=7,
)


@given(some_notes, some_notes)
def test_active_pitches_are_those_of_a_piano_roll(reference: Notes, estimate: Notes) -> None:
    rolls = np.zeros((2, 128, 40), dtype=bool)
    for roll, notes in zip(rolls, (reference, estimate), strict=True):
        for start, end, pitch, _ in notes:
            roll[int(pitch), round(start * 8) : round(end * 8)] = True
    ours, theirs = rolls
    hits, either = (ours & theirs).sum(), (ours | theirs).sum()
    numbers = ours.sum(axis=0), theirs.sum(axis=0)
    octaves = [roll[:120].reshape(10, 12, 40).sum(axis=0) for roll in rolls]
    few, many = np.minimum(*numbers).sum(), np.maximum(*numbers).sum()
    wanted = {
        "frame_precision": (hits, theirs.sum()),
        "frame_recall": (hits, ours.sum()),
        "frame_accuracy": (hits, either),
        "frame_substitution_error": (few - hits, ours.sum()),
        "frame_total_error": (many - hits, ours.sum()),
        "frame_chroma_recall": (np.minimum(*octaves).sum(), ours.sum()),
    }
    for hop in (0.0, 0.125):
        found = scores(reference, estimate, [f"{name}(hop={hop})" for name in wanted])
        expected = [part / whole if whole else 0.0 for part, whole in wanted.values()]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def labelled(notes: Notes) -> list[tuple[int, int, int]]:
    """Notes that are read back from a roll of labels, one cell after the other."""
    roll = np.zeros((128, 200), dtype=int)
    for start, end, pitch, _ in notes:
        first, stop = round(start / 0.032), round(end / 0.032)
        roll[int(pitch), first] = 3
        roll[int(pitch), first + 1 : stop] = 2
        roll[int(pitch), stop] = 1
    found = []
    for pitch, frame in zip(*np.nonzero(roll == 3), strict=True):
        if frame and roll[pitch, frame - 1] == 3:
            continue
        stop = int(frame)
        while roll[pitch, stop] >= 2:
            stop += 1
        found.append((int(frame), stop, int(pitch)))
    return sorted(found)


short_notes = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 20), st.sampled_from([60, 61])).map(
        lambda note: [note[0] / 50, (note[0] + note[1]) / 50, note[2], 64]
    ),
    max_size=7,
)


@given(short_notes)
def test_decoded_notes_are_those_of_a_walk_over_the_labels(notes: Notes) -> None:
    found = decode_rows(rows(notes)).columns
    first, stop = (np.rint(found[name] / 0.032).astype(int).tolist() for name in ("start", "end"))
    pitch = np.rint(69 + 12 * np.log2(found["pitch"] / 440)).astype(int).tolist()
    assert sorted(zip(first, stop, pitch, strict=True)) == labelled(notes)


def test_a_note_is_cut_where_its_pitch_starts_again_and_loses_its_tail() -> None:
    clean = get_task("transcription").convention("mirex2024").clean
    found = clean(rows([[0, 3, 60, 80], [1, 2, 60, 80], [1, 4, 62, 80], [5, 6, 60, 80], [5, 6, 60, 80]]))
    assert found.rows.columns["end"].tolist() == [1, 2, 4, 6]
    assert found.repairs.tolist() == [1]


_TIMES = st.sampled_from([0.0, 0.5, 1.0, 1.25])


@given(notes=st.lists(st.tuples(st.integers(0, 1), st.integers(60, 61), _TIMES, _TIMES), max_size=12))
def test_notes_in_any_order_end_where_the_next_one_of_their_row_and_pitch_starts(
    notes: list[tuple[int, int, float, float]],
) -> None:
    notes = sorted(((row, pitch, start, start + length) for row, pitch, start, length in notes), key=lambda n: n[0])
    row, pitch, start, end = (np.array(column) for column in (list(zip(*notes, strict=True)) or [()] * 4))
    expected = [end for *_, end in notes]
    places = sorted(range(len(notes)), key=lambda place: (notes[place], place))
    for place, following in pairwise(places):
        if notes[place][:2] == notes[following][:2]:
            expected[place] = min(expected[place], notes[following][2])
    found = cut_overlaps(row.astype(int), pitch.astype(int), start.astype(float), end.astype(float))
    assert found.tolist() == expected


def test_times_beyond_all_recordings_are_no_frames() -> None:
    found = get_task("transcription").convention("onsets_and_frames").clean(rows([[0, 40000, 60, 80]]))
    assert found.flaws[0].message == "end is later than 30000 s: 40000.0"


APART: tuple[Notes, Notes] = (
    [[0, 1, 60, 80], [2, 3, 62, 60], [4, 5, 64, 50]],
    [[0.03, 1.5, 60, 90], [1.99, 3.0, 62, 60], [4.02, 4.9, 64, 30], [9, 10, 40, 1]],
)


class TestDeviations:
    def test_statistics(self) -> None:
        onsets, ends = [0.03, -0.01, 0.02], [0.5, 0.0, -0.1]
        names = [
            f"{part}_deviation@{one}" for part in ("onset", "offset") for one in ("mean_absolute", "median_absolute")
        ]
        names += ["onset_deviation@standard_deviation", "onset_bias", "velocity_error", "velocity_bias"]
        wanted = [
            np.mean(np.abs(onsets)),
            0.02,
            np.mean(np.abs(ends)),
            0.1,
            np.std(onsets),
            np.mean(onsets),
            10,
            -10 / 3,
        ]
        np.testing.assert_allclose(scores(APART[0], APART[1], names), wanted, atol=1e-12)

    def test_without_a_match_there_is_none(self) -> None:
        assert np.isnan(scores(APART[0], APART[1][-1:], ["onset_deviation", "offset_bias"])).all()

    def test_one_pair(self) -> None:
        sides = [np.array(notes) for notes in APART]
        found = transcription.deviations(*((side[:, :2], midi_to_hz(side[:, 2])) for side in sides))
        assert found["onset_bias"] == pytest.approx(0.04 / 3)


def test_one_pair_has_active_pitches() -> None:
    intervals, pitches = np.array([[0.0, 1.0], [0.5, 1.5]]), np.array([440.0, 450.0])
    assert transcription.frame_precision_recall_f1((intervals, pitches), (intervals[:1], pitches[:1]))[1] == 1 / 1.5
    with pytest.raises(ValueError, match="non-positive pitch"):
        transcription.frame_precision_recall_f1((intervals, -pitches), (intervals, pitches))


def test_evidence_shows_when_pitches_are_active() -> None:
    sides = [(np.array([[0.0, end]]), np.array([440.0])) for end in (2.0, 3.0)]
    found = mirflow.explain(*sides, "frame_recall", "transcription")
    assert found.start.values.tolist() == [0.0, 2.0]
    assert found.verdict.values.tolist() == ["hit", "extra"]
    cut = mirflow.explain(*sides, "frame_recall", "transcription", convention="mirex2024")
    assert cut.end.values.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("way", ["active", "cut", "decoded", "loud", "active, hop=0.05"])
def test_scores_are_sums_over_the_evidence(way: str) -> None:
    rng, sides = np.random.default_rng(0), []
    for _ in range(2):
        start, length = np.round(rng.uniform(0, 20, (2, 120)) * [[1], [0.1]], 2)
        sides.append(np.column_stack([start, start + length + 0.01, rng.integers(58, 64, 120), np.full(120, 80)]))
    given = [(side[:, :2], np.asarray(midi_to_hz(side[:, 2]))) for side in sides]
    found = mirflow.explain(given[0], given[1], f"frame_recall(frames={way})", "transcription")
    length = (found.end - found.start).values
    hit, missed, extra = (length[found.verdict.values == one].sum() for one in ("hit", "missed", "extra"))
    names = [f"frame_{name}(frames={way})" for name in ("precision", "recall", "accuracy")]
    wanted = [hit / (hit + extra), hit / (hit + missed), hit / (hit + missed + extra)]
    own = scores(sides[0].tolist(), sides[1].tolist(), names)
    np.testing.assert_allclose(own, wanted, rtol=0, atol=1e-8 if way == "cut" else 1e-12)


def test_the_command(tmp_path: Path) -> None:
    for name, end in (("ref", 2), ("est", 3)):
        (tmp_path / f"{name}.csv").write_text(f"start,end,pitch,velocity\n0,{end},440,80\n")
    words = "evaluate", tmp_path / "ref.csv", tmp_path / "est.csv", "--task", "transcription"
    assert "0.6667" in printed(*words, "-m", "frame_precision")
    assert "frame_accuracy" in printed(*words, "--convention", "mirex2024")


def test_velocities_that_no_instrument_has_are_compared_without_a_warning() -> None:
    """They are beyond the largest whole number; warnings are errors here."""
    notes = {"start": [0.0, 0.0], "end": [1.0, 1.0], "pitch": [440.0, 220.0], "velocity": [1e300, 1e300]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)  # that such velocities are odd
        scores = mirflow.evaluate(notes, notes, "transcription", metrics=["frame_f_measure"], convention="mt3")
    assert scores.score.item() == 1.0
