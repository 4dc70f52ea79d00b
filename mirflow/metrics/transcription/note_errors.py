"""Kinds of errors of notes and of pedals."""

from __future__ import annotations

import numpy as np

from ...ragged import Bool, Column, Int, Ragged, ranges, rows_of
from ...theory.pitch import hz_to_midi
from ..edits import RIGHT, Edits, ErrorBudget, ErrorKind
from ..measures import Measure
from .frames import LOUD
from .kernel import INSTRUMENT, LENGTHENED, N_DECIMALS, OF_PROGRAMS, VELOCITY

_LATE = 0.25  # Seconds within which a note has another onset and is not missing
_CLOSE = 0.05  # Seconds within which onsets are taken for the same, unless the measure tolerates more
OF_TIMES = (
    ErrorKind("onset", "a note that begins early or late by up to a quarter of a second"),
    ErrorKind("end", "a note that ends early or late"),
    ErrorKind("missing", "notes of the reference without an estimate"),
    ErrorKind("extra", "estimated notes without one of the reference"),
)
"""Kinds of errors that notes without pitches may have as well."""
_KINDS = (
    *OF_TIMES,
    ErrorKind("octave", "a note in another octave"),
    ErrorKind("tuning", "a pitch that is off by less than half a semitone"),
    ErrorKind("velocity", "a note with another velocity"),
    ErrorKind("program", "a note of another program or instrument"),
)
_ONSET, _END, _MISSING, _EXTRA, _OCTAVE, _TUNING, _VELOCITY, _PROGRAM = range(len(_KINDS))
_SOUNDS = ("label", "program", "drum")
"""Columns that say which instrument plays a note."""


def _align(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Edits:
    own, other = _comparable(reference, estimate, measure)
    tolerance = float(measure.parameters.get("onset_tolerance", measure.parameters.get("tolerance", _CLOSE)))
    left, right = _pair_up(own, other, max(tolerance, _CLOSE))
    inserted, removed = np.full(len(own["start"]), _MISSING), np.full(len(other["start"]), _EXTRA)
    inserted[left] = removed[right] = RIGHT
    partner = np.zeros(len(removed), dtype=np.int64)
    partner[right] = left
    paired = tuple(
        {name: values[item] for name, values in side.items()} for side, item in ((own, left), (other, right))
    )
    changed = {}
    for name, kind in _classify(paired[0], paired[1], measure, 0.0 if exact else tolerance, exact).items():
        changed[name] = np.full(len(removed), RIGHT)
        changed[name][right] = kind
    return Edits(reference, estimate, inserted, removed, partner, changed)


def _comparable(reference: Ragged, estimate: Ragged, measure: Measure) -> tuple[dict[str, Column], dict[str, Column]]:
    """The columns of both sides that the measure looks at, with pitches in semitones and labels as common codes."""
    needs = measure.metric.needs
    looked_at = ["start", "end"]
    if needs == VELOCITY or measure.parameters.get("frames") == LOUD:
        looked_at.append("velocity")
    if needs in (INSTRUMENT, LENGTHENED, *OF_PROGRAMS):
        looked_at += _SOUNDS
    codes = {label: code for code, label in enumerate(dict.fromkeys((*reference.labels, *estimate.labels)))}
    sides = []
    for rows in (reference, estimate):
        columns: dict[str, Column] = {name: rows.columns[name] for name in looked_at if name in rows.columns}
        if "label" in columns:
            columns["label"] = np.array([*(codes[label] for label in rows.labels), -1])[columns["label"]]
        columns["pitch"] = np.asarray(hz_to_midi(rows.columns["pitch"]))
        sides.append(columns)
    return sides[0], sides[1]


def _pair_up(own: dict[str, Column], other: dict[str, Column], close: float) -> tuple[Int, Int]:
    """Pair the notes of both sides: first those of one pitch and time, then of other octaves, then of other onsets."""
    order = np.argsort(own["start"], kind="stable")
    start = own["start"][order]
    first = np.searchsorted(start, other["start"] - _LATE)
    last = np.searchsorted(start, other["start"] + _LATE, side="right")
    left, right = order[ranges(first, last - first)], rows_of(last - first)
    apart = np.abs(own["start"][left] - other["start"][right])
    interval = np.abs(own["pitch"][left] - other["pitch"][right])
    same, octaves = interval < 0.5, np.abs(interval - 12 * np.round(interval / 12)) < 0.5
    at_once = np.round(apart, N_DECIMALS) <= close
    stage = np.select([same & at_once, octaves & at_once, same], [0, 1, 2], 3)
    sound = _differ(own, other, left, right)
    best = np.lexsort((left, right, np.abs(own["end"][left] - other["end"][right]), apart, sound, stage))
    taken: tuple[set[int], set[int]] = set(), set()
    pairs = []
    for one, two in zip(left[best[stage[best] < 3]].tolist(), right[best[stage[best] < 3]].tolist(), strict=True):
        if one not in taken[0] and two not in taken[1]:
            taken[0].add(one)
            taken[1].add(two)
            pairs.append((one, two))
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return edges[:, 0], edges[:, 1]


def _differ(own: dict[str, Column], other: dict[str, Column], left: Int | slice, right: Int | slice) -> Bool:
    """Whether notes are of different instruments."""
    differs = np.zeros(len(own["start"][left]), dtype=np.bool_)
    for name in _SOUNDS:
        if name in own:
            first, second = own[name][left].astype(np.float64), other[name][right].astype(np.float64)
            differs |= (first != second) & ~(np.isnan(first) & np.isnan(second))
    return differs


def _classify(
    own: dict[str, Column], other: dict[str, Column], measure: Measure, tolerance: float, exact: bool
) -> dict[str, Int]:
    """Kinds of errors of the columns of notes that are paired in order."""
    share, least = (float(measure.parameters.get(name, 0.0)) for name in ("offset_ratio", "offset_min_tolerance"))
    reach = np.zeros(len(own["start"])) if exact else np.maximum(least, share * (own["end"] - own["start"]))
    late = np.round(np.abs(own["start"] - other["start"]), N_DECIMALS) > tolerance
    ends = np.round(np.abs(own["end"] - other["end"]), N_DECIMALS) > reach
    if exact:
        late, ends = own["start"] != other["start"], own["end"] != other["end"]
    elif "offset_ratio" not in measure.parameters:
        ends[:] = False
    kinds = {"start": np.where(late, _ONSET, RIGHT), "end": np.where(ends, _END, RIGHT)}
    # No note may end before it begins: where a time does not fit the other one mended, both are mended at once.
    crossed = (late | ends) & ((own["start"] >= other["end"]) | (own["end"] <= other["start"]))
    for name in kinds:
        kinds[name][crossed] = np.where(late[crossed], _ONSET, _END)
    interval = np.abs(own["pitch"] - other["pitch"])
    detuned = interval > (0.0 if exact else float(measure.parameters.get("pitch_tolerance", 50.0)) / 100)
    kinds["pitch"] = np.select([interval >= 0.5, detuned], [_OCTAVE, _TUNING], RIGHT)
    if "velocity" in own:
        kinds["velocity"] = np.where(own["velocity"] != other["velocity"], _VELOCITY, RIGHT)
    sounds = np.where(_differ(own, other, slice(None), slice(None)), _PROGRAM, RIGHT)
    return kinds | {name: sounds for name in _SOUNDS if name in own}


NOTES = ErrorBudget(_KINDS, _align)
