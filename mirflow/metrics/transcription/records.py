"""The records of the transcription metrics, and the conventions of the task."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from ..base.record import Metric, Parameter, Value
from ..base.task import Convention, Task
from .cleaning import clean
from .evidence import evidence
from .rules import NO_OFFSET
from .scoring import score

_RAFFEL = "Raffel et al., mir_eval, ISMIR 2014"
_NOTES = f"Bay, Ehmann and Downie, ISMIR 2009; MIREX 2015 note tracking; {_RAFFEL}"
_VELOCITY = f"Hawthorne et al., Onsets and frames, ISMIR 2018; {_RAFFEL}"
_INSTRUMENTS = "MIREX 2015 note tracking, applied to the notes of each instrument"

_ONSET = Parameter("onset_tolerance", 0.05, "s", help="largest distance of the onsets", least=0.0)
_PITCH = Parameter("pitch_tolerance", 50.0, "cents", help="largest distance of the pitches", least=0.0)
_RATIO = Parameter("offset_ratio", 0.2, help="largest distance of the ends, as share of the reference note", least=0.0)
_LEAST = Parameter("offset_min_tolerance", 0.05, "s", help="that distance is at least this", least=0.0)
_STRICT = Parameter("strict", False, help="distances must be smaller than their tolerance")
_ROUNDING = Parameter(
    "rounding",
    "distances",
    choices=("distances", "times"),
    help="distances in time are rounded to 0.1 ms, or times rounded down to 10 ms",
)
_CHROMA = Parameter("chroma", False, help="octaves are ignored")
_BETA = Parameter("beta", 1.0, help="how many times as much recall counts", above=0.0)
_LOUDNESS = Parameter("velocity_tolerance", 0.1, help="largest distance of the scaled velocities", least=0.0)

_FULL = (_ONSET, _PITCH, _RATIO, _LEAST, _STRICT, _CHROMA, _ROUNDING)
_ONSETS_AND_PITCH = (_ONSET, _PITCH, _STRICT, _CHROMA, _ROUNDING)
_RATES = {
    "precision": ("Precision", "share of the estimated notes that are matched", "number of estimated notes"),
    "recall": ("Recall", "share of the reference notes that are matched", "number of reference notes"),
    "f_measure": (
        "F-measure",
        "weighted harmonic mean of precision and recall",
        "(beta^2 * reference notes + estimated notes) / (1 + beta^2)",
    ),
}
_OVERLAP = "mean, over the matched notes, of the time they share over the time from the first start to the last end"
_OTHER_MATCH = "below 1 where notes that may be matched with each other are matched crosswise"


def _with_beta(name: str, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    return (*parameters, _BETA) if name == "f_measure" else parameters


def _rates(
    before: str,
    after: str,
    what: str,
    parameters: tuple[Parameter, ...],
    literature: str,
    prefix: str = "",
    suffix: str = "",
    default: bool = True,
    exceptions: str = "",
) -> tuple[Metric, ...]:
    """Precision, recall and F-measure under one rule; `before` and `after` go round mir_eval's key."""
    return tuple(
        Metric(
            f"{prefix}{name}{suffix}",
            f"{title} ({what})",
            f"{summary} ({what})",
            weight,
            "notes",
            key=f"{before}{title}{after}" if default else "",
            pooling="micro" if prefix == "velocity_" else "exact",
            perfect_exceptions=exceptions,
            parameters=_with_beta(name, parameters),
            default=default,
            literature=literature,
        )
        for name, (title, summary, weight) in _RATES.items()
    )


def _overlap(
    name: str, title: str, parameters: tuple[Parameter, ...], literature: str, key: str = "", exceptions: str = ""
) -> Metric:
    return Metric(
        name,
        title,
        _OVERLAP,
        "number of matched notes",
        "notes",
        key=key,
        range=(-1.0, 1.0),
        pooling="micro" if name.startswith("velocity_") else "exact",
        perfect_exceptions=exceptions,
        parameters=parameters,
        default=bool(key),
        literature=literature,
    )


def _of_notes(suffix: str, what: str, parameters: tuple[Parameter, ...]) -> tuple[Metric, ...]:
    """The default metrics of whole notes, in mir_eval's order."""
    title, key = f"Average overlap ratio ({what})", f"Average_Overlap_Ratio{suffix}"
    return (
        *_rates("", suffix, what, parameters, _NOTES, suffix=suffix),
        _overlap(f"average_overlap_ratio{suffix}", title, parameters, _NOTES, key, _OTHER_MATCH),
    )


def _on_request(suffix: str, what: str, parameters: tuple[Parameter, ...]) -> tuple[Metric, ...]:
    heard = (*parameters, _LOUDNESS)
    loud = f"{what}, and velocity"
    exceptions = "below 1 where notes of other velocities are matched crosswise"
    name, title = f"velocity_average_overlap_ratio{suffix}", f"Average overlap ratio ({loud})"
    return (
        _overlap(f"best_overlap_ratio{suffix}", f"Best overlap ratio ({what})", parameters, _NOTES),
        *_rates("", "", loud, heard, _VELOCITY, "velocity_", suffix, False, exceptions),
        _overlap(name, title, heard, _VELOCITY, exceptions=_OTHER_MATCH),
        *(
            Metric(
                f"instrument_{one}{suffix}",
                f"{title} by instrument ({what})",
                f"{summary}, of each instrument ({what})",
                "none; by_instrument has the numbers of notes",
                "notes",
                pooling="none",
                parameters=_with_beta(one, parameters),
                dims=("instrument",),
                default=False,
                literature=_INSTRUMENTS,
            )
            for one, (title, summary, _) in _RATES.items()
        ),
        Metric(
            f"by_instrument{suffix}",
            f"Notes by instrument ({what})",
            "numbers of matched, of reference and of estimated notes of each instrument",
            "none",
            "notes",
            range=(0.0, float("inf")),
            orientation="none",
            pooling="none",
            perfect=None,
            parameters=parameters,
            dims=("instrument", "count"),
            default=False,
            literature=_INSTRUMENTS,
        ),
    )


METRICS = (
    *_of_notes("", "onset, pitch, offset", _FULL),
    *_of_notes(NO_OFFSET, "onset, pitch", _ONSETS_AND_PITCH),
    *_rates("Onset_", "", "onset", (_ONSET, _STRICT, _ROUNDING), _RAFFEL, prefix="onset_"),
    *_rates("Offset_", "", "offset", (_RATIO, _LEAST, _STRICT, _ROUNDING), _RAFFEL, prefix="offset_"),
    *_on_request("", "onset, pitch, offset", _FULL),
    *_on_request(NO_OFFSET, "onset, pitch", _ONSETS_AND_PITCH),
)

_OF_2015: dict[str, Value] = {"rounding": "times", "offset_min_tolerance": 0.0}
"""What MIREX's program of 2015 does otherwise than mir_eval."""


def _as_2015(metric: Metric) -> Metric:
    changed = (replace(one, default=_OF_2015.get(one.name, one.default)) for one in metric.parameters)
    return replace(metric, parameters=tuple(changed))


MIR_EVAL = Convention("mir_eval", "mir_eval 0.8.2", METRICS, clean, score, explain=evidence)
MIREX2015 = Convention(
    "mirex2015",
    "MIREX 2015 note tracking: times rounded down to 10 ms, ends within 20 % without a least tolerance",
    tuple(_as_2015(metric) for metric in METRICS),
    clean,
    score,
    explain=evidence,
)

TASK = Task(
    "transcription",
    "Note transcription",
    MappingProxyType({one.name: one for one in (MIR_EVAL, MIREX2015)}),
    ("f_measure_no_offset", "f_measure", "velocity_f_measure"),
)
