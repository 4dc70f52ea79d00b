"""The task of transcription: its `TASK`, conventions of piano music, doubts about velocities, and the error budget.

Conventions of pedals, cut notes and notes decoded from frames are declared here; the work is done in `metrics.py` and
`frames.py`. The error budget pairs the notes of both sides and says in which columns paired notes differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

from ...annotations.annotation import Annotation
from ...annotations.collection import Collection
from ...ragged import Bool, Column, Int, Ragged, ranges, rows_of
from ...theory.pitch import HIGHEST_MIDI, hz_to_midi
from ..base import Convention, Doubt, Task, by_name
from ..cleaning import Cleaned, set_aside
from ..edits import RIGHT, Edits, ErrorBudget, ErrorKind
from ..measures import Measure, Parameter, select
from .frames import LOUD, NEEDS, decode_rows
from .kernel import INSTRUMENT, LENGTHENED, N_DECIMALS, NO_OFFSET, OF_PROGRAMS, VELOCITY
from .madmom import CONVENTION as MADMOM
from .metrics import METRICS, MIR_EVAL, MIREX2015, MT3, RATES, clean, evidence, score

_PEDAL = MappingProxyType({"pedal": "extend"})  # Options of reading: the sustain pedal extends notes of MIDI files
_OF_PIANO = (
    *(f"{kind}{rate}{suffix}" for kind, suffix in (("", NO_OFFSET), ("", ""), ("velocity_", "")) for rate in RATES),
    *(f"frame_{name}" for name in (*RATES, "accuracy")),
)
"""Metrics reported in papers on piano transcription."""

clean_cut = partial(clean, cut=True)
"""Clean rows, ending notes at the next onset of their pitch and dropping notes of zero length."""
_LATEST = 30000.0  # Latest time in seconds for conventions that use frames


def clean_early(rows: Ragged) -> Cleaned:
    """Clean rows for frames, refusing notes that end too late."""
    cleaned = clean(rows)
    end = cleaned.rows.columns["end"]
    late = set_aside(cleaned.rows, [(end > _LATEST, lambda item: f"end is later than {_LATEST:.0f} s: {end[item]}")])
    return Cleaned(late.rows, cleaned.repairs, dict(sorted({**late.flaws, **cleaned.flaws}.items())))


_SCALE = Parameter("velocity_scale", 128.0, above=0.0, help="divisor of velocities before they are scaled")
_KNOWN = ("", VELOCITY, NEEDS)  # Metrics of decoded notes, which have neither instruments nor programs
_MAESTRO = tuple(metric.with_defaults(frames="decoded") for metric in METRICS)
MAESTRO = replace(
    MIR_EVAL,
    name="maestro",
    summary="mir_eval's rules, on notes extended by the sustain pedal; frames as in Onsets and Frames",
    metrics=_MAESTRO,
    default_measures=select(_OF_PIANO, _MAESTRO),
    reading=_PEDAL,
    literature="@hawthorne2018",
)
_MIREX2024 = tuple(metric.with_defaults(frames="cut") for metric in METRICS)
MIREX2024 = Convention(
    "mirex2024",
    "as Transkun: notes extended by the pedal, cut at the next onset of their pitch; active pitches in continuous time",
    _MIREX2024,
    clean_cut,
    score,
    default_measures=select(_OF_PIANO, _MIREX2024),
    explain=partial(evidence, keeping=clean_cut),
    reading=_PEDAL,
    literature="@mirex2024piano; @yan2021",
)
_DECODED = tuple(
    # Metrics that compare velocities one by one have a scale of them.
    replace(metric, parameters=(*metric.parameters, _SCALE))
    if any(parameter.name == "velocity_tolerance" for parameter in metric.parameters)
    else metric
    for metric in (metric.with_defaults(frames="decoded") for metric in METRICS if metric.needs in _KNOWN)
)
ONSETS_AND_FRAMES = Convention(
    "onsets_and_frames",
    "as Onsets and Frames: notes decoded from labels of frames of 32 ms, and these frames",
    _DECODED,
    clean_early,
    partial(score, resolve=decode_rows),
    default_measures=select(_OF_PIANO, _DECODED),
    explain=partial(evidence, keeping=clean_early, resolve=decode_rows),
    reading=_PEDAL,
    literature="@hawthorne2018",
)

_PLAYED = 5  # Number of notes whose velocities are looked at
_ORDER = "are velocities and pitches swapped? Declare the order (columns), or swap the arrays"


def doubt_velocities(annotation: Annotation) -> str:
    """Report velocities outside the range of MIDI, such as pitches in Hz."""
    velocity = annotation.columns.get("velocity")
    if velocity is None or not len(velocity) or not np.nanmax(velocity, initial=0) > HIGHEST_MIDI:
        return ""
    reach = f"velocities range from {np.nanmin(velocity):.4g} to {np.nanmax(velocity):.4g}"
    return f"{reach}, but from 0 to {HIGHEST_MIDI} in MIDI: {_ORDER}"


def doubt_channels(annotation: Annotation) -> str:
    """Report velocities that are one small whole number: probably the channel or the program of the notes."""
    velocity = annotation.columns.get("velocity")
    if velocity is None or len(velocity) < _PLAYED or not 1 <= velocity[0] <= _CHANNELS:
        return ""
    if (velocity != velocity[0]).any() or velocity[0] != round(float(velocity[0])):
        return ""
    return (
        f"all {len(velocity)} velocities are {velocity[0]:.0f}: are they channels or programs? Velocities are numbers "
        f"from 0 to {HIGHEST_MIDI}"
    )


_CHANNELS = 16


def suspect_channels(measures: Sequence[Measure], annotations: Collection) -> Bool:
    """Mask annotations whose velocities may be channels, if a measure compares velocities."""
    velocity = annotations.rows.columns.get("velocity")
    scored = any(measure.metric.name.startswith("velocity") for measure in measures)
    if velocity is None or not scored:
        return np.zeros(len(annotations), np.bool_)
    return ~annotations.holding((velocity < 1) | (velocity > _CHANNELS))


def suspect_velocities(measures: Sequence[Measure], annotations: Collection) -> Bool:
    """Mask annotations with velocities above those of MIDI."""
    velocity = annotations.rows.columns.get("velocity")
    return np.zeros(len(annotations), np.bool_) if velocity is None else annotations.holding(velocity > HIGHEST_MIDI)


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


def find_errors(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Edits:
    """Find the edits of notes: those without a partner, and the columns in which paired ones differ."""
    # The columns that the measure looks at, with pitches in semitones and labels as common codes.
    needs, looked_at = measure.metric.needs, ["start", "end"]
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
        sides.append({**columns, "pitch": np.asarray(hz_to_midi(rows.columns["pitch"]))})
    own, other = sides
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


NOTES = ErrorBudget(_KINDS, find_errors)


TASK = Task(
    "transcription",
    "Note transcription",
    by_name(MIR_EVAL, MIREX2015, MAESTRO, MIREX2024, ONSETS_AND_FRAMES, MT3, MADMOM),
    ("f_measure_no_offset", "f_measure", "velocity_f_measure"),
    {"mt3": ("program_f_measure",), MADMOM.name: ("f_measure",)},
    errors=NOTES,
    doubts=(
        Doubt(
            "velocity",
            f"velocities of notes are above {HIGHEST_MIDI}",
            of_side=doubt_velocities,
            suspects=suspect_velocities,
        ),
        Doubt(
            "velocity",
            f"all velocities of a side are one whole number from 1 to {_CHANNELS}, and a metric compares velocities",
            of_side=doubt_channels,
            suspects=suspect_channels,
        ),
    ),
)
