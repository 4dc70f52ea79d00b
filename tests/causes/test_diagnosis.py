"""Planted causes are found with their amounts, on the side that has them, and nothing where nothing is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.source import HeldSource, Source
from mirflow.causes import indicators
from mirflow.causes.diagnosis import ALL, Board, Cause, Judge, find_causes
from mirflow.causes.transformations import ESTIMATE, REFERENCE, TRANSFORMATIONS, Correction, LowPair
from mirflow.errors import MirflowWarning
from mirflow.readers.options import Reading

CHORDS = ("C:maj", "G:maj", "A:min", "F:maj7", "D:min/b3", "E:7", "N", "Bb:maj")


def made(task: str, seed: int = 0, off: float = 0.0) -> Annotation:
    """An annotation of some three minutes; `off` is the deviation of its times."""
    rng, noise = np.random.default_rng(seed), np.random.default_rng(99)
    starts = np.cumsum(rng.uniform(0.8, 3.0, 90))
    times = starts + noise.normal(0, off, 90) if off else starts
    ends = np.append(times[1:], times[-1] + 2)
    pitch = 440 * 2 ** (rng.integers(-20, 15, 90) / 12)
    if task == "chord":
        return Annotation("intervals", {"start": times, "end": ends}, rng.choice(CHORDS, 90).tolist())
    if task == "transcription":
        return Annotation("notes", {"start": times, "end": times + 0.5, "pitch": pitch})
    if task == "melody":
        frames = np.arange(0, 100, 0.02)
        values = pitch[np.minimum(np.searchsorted(starts, frames), 89)]
        return Annotation("series", {"time": frames, "frequency": values})
    beats = np.cumsum(rng.uniform(0.45, 0.55, 200)) if task == "beat" else times
    return Annotation("events", {"time": beats})


def board(task: str, systems: dict[str, list[Annotation]], references: list[Annotation]) -> Board:
    judge = Judge.of(task, "")
    assert judge is not None
    tracks = [f"t{number}" for number in range(len(references))]

    def held(side: str, some: list[Annotation]) -> dict[str, Source]:
        return {track: HeldSource(one, f"{side} {track}") for track, one in zip(tracks, some, strict=True)}

    score = np.array([
        judge.score([LowPair(task, left, right) for left, right in zip(references, own, strict=True)])
        for own in systems.values()
    ])  # fmt: skip
    estimates = {name: held(name, own) for name, own in systems.items()}
    return Board("x", judge, tracks, list(systems), held("reference", references), estimates, score)


def causes(task: str, systems: dict[str, list[Annotation]], references: list[Annotation]) -> list[Cause]:
    return find_causes(board(task, systems, references), lambda source: source.read()[0]).findings


PLANTED = {
    "displacement of chords": ("chord", Correction("displacement", ESTIMATE, 4.0, "s")),
    "displacement of beats": ("beat", Correction("displacement", ESTIMATE, 7.13, "s")),
    "displacement of notes": ("transcription", Correction("displacement", ESTIMATE, 2.5, "s")),
    "displacement of a melody": ("melody", Correction("displacement", ESTIMATE, 12.0, "s")),
    "transposition of chords": ("chord", Correction("transposition", ESTIMATE, 2.0, "semitones")),
    "transposition of notes": ("transcription", Correction("transposition", ESTIMATE, -12.0, "semitones")),
    "tuning": ("melody", Correction("tuning", ESTIMATE, 0.55, "semitones")),
    "milliseconds": ("onset", Correction("time_scale", ESTIMATE, 1000.0, "factor")),
    "another rate": ("beat", Correction("time_scale", ESTIMATE, 44100 / 48000, "factor")),
    "twice the tempo": ("beat", Correction("metrical_level", ESTIMATE, 2.0, "factor")),
}
each_planted = pytest.mark.parametrize(("task", "planted"), PLANTED.values(), ids=PLANTED)


@each_planted
def test_what_was_planted_in_a_cell_is_found_and_undone(task: str, planted: Correction) -> None:
    reference = made(task)
    right = LowPair(task, reference, made(task, off=0.01))
    wrong = planted.apply(right).estimate
    (found,) = causes(task, {"a": [right.estimate], "b": [wrong], "c": [right.estimate]}, [reference])
    undo = {"time_scale": 1 / planted.amount, "metrical_level": 1 / planted.amount}.get(planted.cause, -planted.amount)
    assert (found.system, found.track, found.change.cause, found.change.side) == ("b", "t0", planted.cause, ESTIMATE)
    assert found.change.amount == pytest.approx(undo, rel=0.01, abs=0.03)
    assert found.would_be > found.score + 0.25
    assert (found.systems, found.of) == (1, 3)


def test_what_all_systems_of_a_track_share_is_the_references() -> None:
    references = [made("chord", seed) for seed in range(3)]
    late = replace(references[1], columns={name: times + 5 for name, times in references[1].columns.items()})
    systems = {name: [made("chord", seed, off) for seed in range(3)] for name, off in (("a", 0.01), ("b", 0.05))}
    (found,) = causes("chord", systems, [references[0], late, references[2]])
    assert (found.track, found.system, found.change.side, found.systems) == ("t1", ALL, REFERENCE, 2)
    assert found.change.amount == pytest.approx(-5, abs=0.05)
    assert found.sentence.startswith("the reference (or the recording) is 5 s late: majmin")


def test_what_all_tracks_of_a_system_share_is_the_systems() -> None:
    references = [made("melody", seed) for seed in range(5)]
    numbers = [
        replace(one, columns={**one.columns, "frequency": indicators.pitches(one)}) for one in references
    ]  # fmt: skip
    (found,) = causes("melody", {"a": references, "b": numbers}, references)
    assert (found.track, found.system, found.change.cause, found.change.unit) == (ALL, "b", "pitch_unit", "MIDI")
    assert (found.tracks, found.remedy) == (5, "pitch_unit: MIDI")


def respelled(one: Annotation, spelling: Callable[[str], str]) -> Annotation:
    return replace(one, labels=[spelling(label) for label in one.labels or ()])


def with_columns(one: Annotation, **columns: np.ndarray) -> Annotation:
    return replace(one, columns={**one.columns, **columns})


SYMBOLS = {":maj7": "maj7", ":maj": "", ":min": "m", ":min/b3": "m", ":7": "7"}
SPOILT: dict[str, tuple[str, str, Callable[[Annotation], Annotation]]] = {
    "durations": ("chord", "columns", lambda one: with_columns(one, end=one.columns["end"] - one.columns["start"])),
    "ends": ("chord", "columns", lambda one: with_columns(one, end=one.columns["end"] + one.columns["start"])),
    "pitch before time": (
        "melody",
        "columns",
        lambda one: with_columns(one, time=one.columns["frequency"], frequency=one.columns["time"]),
    ),
    "velocity before pitch": (
        "transcription",
        "columns",
        lambda one: with_columns(one, pitch=np.full(90, 1047.0), velocity=indicators.pitches(one)),
    ),
    "lead sheets": (
        "chord",
        "labels",
        lambda one: respelled(
            one, lambda label: re.sub(r":maj7|:maj|:min/b3|:min|:7", lambda end: SYMBOLS[end[0]], label)
        ),
    ),
    "upper case": ("chord", "labels", lambda one: respelled(one, str.upper)),
    "one third": ("chord", "part", lambda one: indicators.cut_at(one, indicators.last_time(one) / 3)),
    "one third of notes": ("transcription", "part", lambda one: indicators.cut_at(one, 60.0)),
    "milliseconds": ("beat", "time_scale", lambda one: with_columns(one, time=one.columns["time"] * 1000)),
    "all beats": (
        "downbeat",
        "metrical_level",
        lambda one: with_columns(one, time=np.interp(np.arange(0, 89, 0.25), np.arange(90), one.columns["time"])),
    ),
}


@pytest.mark.parametrize(("task", "cause", "spoil"), SPOILT.values(), ids=SPOILT)
def test_what_was_spoilt_in_all_tracks_of_a_system_is_the_systems(
    task: str, cause: str, spoil: Callable[[Annotation], Annotation]
) -> None:
    references = [made(task, seed) for seed in range(4)]
    right = [made(task, seed, off=0.01) for seed in range(4)]
    found = causes(task, {"a": right, "b": [spoil(one) for one in right], "c": right}, references)
    assert [(one.system, one.track, one.change.cause, one.tracks) for one in found] == [("b", ALL, cause, 4)]


@pytest.mark.parametrize(
    ("task", "cause", "amount"), [("key", "transposition", -2.0), ("tempo", "metrical_level", 2.0)]
)
def test_one_key_or_tempo_says_nothing_and_those_of_a_system_do(task: str, cause: str, amount: float) -> None:
    if task == "key":
        references = [Annotation("key", {}, [name]) for name in ("C major", "A minor", "Eb major", "F# minor")]
    else:
        columns = [{"tempo": np.array([tempo]), "weight": np.ones(1)} for tempo in (100.0, 121.0, 93.0, 77.0)]
        references = [Annotation("tempo", own) for own in columns]
    undo = Correction(cause, ESTIMATE, -amount if task == "key" else 1 / amount, TRANSFORMATIONS[cause].unit)
    wrong = [undo.apply(LowPair(task, one, one)).estimate for one in references]
    assert causes(task, {"a": [wrong[0], *references[1:]]}, references) == []
    (found,) = causes(task, {"a": wrong, "b": references}, references)
    assert (found.system, found.track, found.change.cause, found.change.amount) == ("a", ALL, cause, amount)


def test_a_class_in_another_case_is_named() -> None:
    with pytest.warns(
        MirflowWarning, match="labels of the estimate are spelled otherwise: case, punctuation or encoding"
    ):
        mirflow.evaluate("rock", "Rock", "classification")


def test_two_causes_are_found_one_after_the_other() -> None:
    reference = made("transcription")
    late = Correction("displacement", ESTIMATE, 3.0, "s").apply(LowPair("transcription", reference, reference)).estimate
    numbers = replace(late, columns={**late.columns, "pitch": indicators.pitches(late)})
    found = causes("transcription", {"a": [numbers]}, [reference])
    assert {one.change.cause for one in found} == {"pitch_unit", "displacement"}


def test_an_estimate_of_another_track_is_recognised() -> None:
    references = [made("chord", seed) for seed in range(6)]
    exchanged = [references[1], references[0], *references[2:]]
    found = causes("chord", {"a": exchanged}, references)
    assert {(one.track, one.change.cause, one.change.unit) for one in found} == {
        ("t0", "other_track", "t1"),
        ("t1", "other_track", "t0"),
    }


@pytest.mark.parametrize("task", ["chord", "transcription", "melody", "beat", "onset"])
def test_nothing_is_found_between_annotations_of_different_music(task: str) -> None:
    references = [made(task, seed) for seed in range(2)]
    strangers = [made(task, seed + 50) for seed in range(2)]
    assert causes(task, {"a": strangers}, references) == []


def test_transpositions_change_roots_alone() -> None:
    times = np.arange(6.0)
    labels = ["C:maj/3", "B", "N", "F#:min7", "Gb", "X"]
    chords = Annotation("intervals", {"start": times, "end": times + 1}, labels)
    assert indicators.transpose(chords, 1, "chord").labels == ["Db:maj/3", "C", "N", "G:min7", "G", "X"]
    assert indicators.transpose(Annotation("key", {}, ["a minor"]), 2, "key").labels == ["b minor"]


@pytest.mark.parametrize(
    ("task", "change"),
    [
        *(
            ("beat", Correction("time_scale", ESTIMATE, factor, "factor"))
            for factor in (0.001, 1 / 44100, 0.01, 512 / 44100)
        ),
        ("melody", Correction("pitch_unit", ESTIMATE, float("nan"), "MIDI")),
        ("chord", Correction("labels", ESTIMATE, float("nan"), "leadsheet symbols")),
    ],
)
def test_the_options_that_mend_a_side_are_those_of_reading(task: str, change: Correction) -> None:
    option = TRANSFORMATIONS[change.cause].option(change)
    assert option
    Reading.of(task, **option)


def test_changes_have_inverses_for_the_other_side() -> None:
    for name, amount in (("displacement", 3.0), ("transposition", 2.0), ("time_scale", 0.001)):
        change = Correction(name, ESTIMATE, amount, TRANSFORMATIONS[name].unit)
        undone = change.inverse()
        assert undone is not None
        assert undone.side == REFERENCE
        again = undone.inverse()
        assert again is not None
        assert again.amount == pytest.approx(amount)


def test_a_budget_bounds_what_is_searched_and_the_rest_is_tried_with_what_was_found() -> None:
    references = [made("beat", seed) for seed in range(8)]
    late = [
        Correction("displacement", ESTIMATE, 7.13, "s").apply(LowPair("beat", one, one)).estimate for one in references
    ]
    late[7] = made("beat", 70)
    full = board("beat", {"a": late, "b": references}, references)
    searched, every = (find_causes(full, lambda source: source.read()[0], budget=budget) for budget in (2.5, None))
    assert [(diagnosis.looked, diagnosis.left) for diagnosis in (searched, every)] == [(8, 1), (8, 0)]
    (system,) = every.findings
    assert (system.track, system.tracks, system.out_of) == (ALL, 7, 8)
    assert {one.change.cause for one in searched.findings} == {"displacement"}
