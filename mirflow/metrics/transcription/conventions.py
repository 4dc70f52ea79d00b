"""Conventions of transcription, including those of piano music: pedal, cut notes, notes decoded from frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

from ...annotations.annotation import Annotation
from ...annotations.collection import Collection
from ...ragged import Bool, Ragged
from ...theory.pitch import HIGHEST_MIDI
from ..base import Convention, Doubt, Grid, Pairs, Scores, Task
from ..cleaning import Cleaned, set_aside
from ..measures import Measure, Metric, Parameter
from .frames import NEEDS
from .kernel import NO_OFFSET, VELOCITY
from .madmom import CONVENTION as MADMOM
from .metrics import METRICS, MIR_EVAL, MIREX2015, MT3, RATES, clean, evidence, score
from .note_errors import NOTES
from .resolving import cut_rows, decode_rows

_PEDAL = MappingProxyType({"pedal": "extend"})  # Options of reading: the sustain pedal extends notes of MIDI files
_OF_PIANO = (
    *(f"{kind}{rate}{suffix}" for kind, suffix in (("", NO_OFFSET), ("", ""), ("velocity_", "")) for rate in RATES),
    *(f"frame_{name}" for name in (*RATES, "accuracy")),
)
"""Metrics reported in papers on piano transcription."""


def _of_piano(metrics: Sequence[Metric]) -> tuple[Measure, ...]:
    records = {metric.name: metric for metric in metrics}
    return tuple(records[name].measure() for name in _OF_PIANO)


def clean_cut(rows: Ragged) -> Cleaned:
    """Clean rows, ending notes at the next onset of their pitch and dropping notes of zero length."""
    return clean(cut_rows(rows))


_LATEST = 30000.0  # Latest time in seconds for conventions that use frames


def clean_early(rows: Ragged) -> Cleaned:
    """Clean rows for frames, refusing notes that end too late."""
    cleaned = clean(rows)
    end = cleaned.rows.columns["end"]
    late = set_aside(cleaned.rows, [(end > _LATEST, lambda item: f"end is later than {_LATEST:.0f} s: {end[item]}")])
    return Cleaned(late.rows, cleaned.repairs, dict(sorted({**late.flaws, **cleaned.flaws}.items())))


def score_decoded(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score the notes that are decoded from labels of frames: a `Scorer`."""
    references, estimates = decode_rows(pairs.references), decode_rows(pairs.estimates)
    return score(replace(pairs, references=references, estimates=estimates), measures, grid)


_SCALE = Parameter("velocity_scale", 128.0, above=0.0, help="divisor of velocities before they are scaled")


_KNOWN = ("", VELOCITY, NEEDS)  # Metrics of decoded notes, which have neither instruments nor programs


_MAESTRO = tuple(metric.with_defaults(frames="decoded") for metric in METRICS)
MAESTRO = Convention(
    "maestro",
    "mir_eval's rules, on notes extended by the sustain pedal; frames as in Onsets and Frames",
    _MAESTRO,
    clean,
    score,
    default_measures=_of_piano(_MAESTRO),
    explain=evidence,
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
    default_measures=_of_piano(_MIREX2024),
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
    score_decoded,
    default_measures=_of_piano(_DECODED),
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


def _may_have_channels(measures: Sequence[Measure], annotations: Collection) -> Bool:
    velocity = annotations.rows.columns.get("velocity")
    scored = any(measure.metric.name.startswith("velocity") for measure in measures)
    if velocity is None or not scored:
        return np.zeros(len(annotations), np.bool_)
    return ~annotations.holding((velocity < 1) | (velocity > _CHANNELS))


def _having_velocities(measures: Sequence[Measure], annotations: Collection, above: float = -np.inf) -> Bool:
    velocity = annotations.rows.columns.get("velocity")
    return np.zeros(len(annotations), np.bool_) if velocity is None else annotations.holding(velocity > above)


TASK = Task(
    "transcription",
    "Note transcription",
    MappingProxyType(
        {rules.name: rules for rules in (MIR_EVAL, MIREX2015, MAESTRO, MIREX2024, ONSETS_AND_FRAMES, MT3, MADMOM)}
    ),
    ("f_measure_no_offset", "f_measure", "velocity_f_measure"),
    {"mt3": ("program_f_measure",), MADMOM.name: ("f_measure",)},
    errors=NOTES,
    doubts=(
        Doubt(
            "velocity",
            f"velocities of notes are above {HIGHEST_MIDI}",
            of_side=doubt_velocities,
            suspects=partial(_having_velocities, above=HIGHEST_MIDI),
        ),
        Doubt(
            "velocity",
            f"all velocities of a side are one whole number from 1 to {_CHANNELS}, and a metric compares velocities",
            of_side=doubt_channels,
            suspects=_may_have_channels,
        ),
    ),
)
