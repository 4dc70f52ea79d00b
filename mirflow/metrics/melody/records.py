"""The records of the melody metrics, and the conventions of the task."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import MappingProxyType

from ..base.record import Metric, Parameter, Value
from ..base.task import FRAMES, Convention, Task
from .cleaning import clean
from .evidence import evidence
from .scoring import REFERENCE, score
from .series import RESAMPLINGS

_LITERATURE = (
    "Salamon, Gomez, Ellis and Richard, Melody extraction from polyphonic music signals, IEEE Signal Processing "
    "Magazine 2014; Poliner et al., IEEE TASLP 2007; with continuous voicing Bittner and Bosch, ISMIR 2019"
)
_EXCEPTIONS = "a reference whose voicing is not only 0 and 1"

_RESAMPLING = Parameter(
    "resampling", "linear", choices=RESAMPLINGS, help="how a series is read between its samples: kind of mir_eval"
)
_PITCHED = (
    Parameter("cent_tolerance", 50.0, "cent", help="a right pitch is less than so far off", least=0.0),
    _RESAMPLING,
    Parameter(
        "base_frequency", 10.0, "Hz", help="where cents are counted from; a pitch of just that is none", above=0.0
    ),
)

METRICS = (
    Metric(
        "voicing_recall",
        "Voicing Recall",
        "share of the voiced frames of the reference that the estimate calls voiced",
        "voiced frames of the reference, in seconds",
        key="Voicing Recall",
        aliases=("VR", "vx_recall"),
        parameters=(_RESAMPLING,),
        perfect_exceptions=_EXCEPTIONS,
        literature=_LITERATURE,
    ),
    Metric(
        "voicing_false_alarm",
        "Voicing False Alarm",
        "share of the unvoiced frames of the reference that the estimate calls voiced",
        "unvoiced frames of the reference, in seconds",
        key="Voicing False Alarm",
        aliases=("VFA", "vx_false_alarm"),
        orientation="lower",
        parameters=(
            _RESAMPLING,
            Parameter("of_none", 0.0, choices=(0.0, 1.0), help="the score where no frame of the reference is unvoiced"),
        ),
        perfect=0.0,
        literature=_LITERATURE,
    ),
    Metric(
        "raw_pitch_accuracy",
        "Raw Pitch Accuracy",
        "share of the voiced frames of the reference on which the pitch is right, whether it is called voiced or not",
        "voiced frames of the reference, in seconds, each times its voicing",
        key="Raw Pitch Accuracy",
        aliases=("RPA", "raw_pitch"),
        parameters=_PITCHED,
        literature=_LITERATURE,
    ),
    Metric(
        "raw_chroma_accuracy",
        "Raw Chroma Accuracy",
        "share of the voiced frames of the reference on which the pitch is right but for octaves",
        "voiced frames of the reference, in seconds, each times its voicing",
        key="Raw Chroma Accuracy",
        aliases=("RCA", "raw_chroma"),
        parameters=_PITCHED,
        literature=_LITERATURE,
    ),
    Metric(
        "overall_accuracy",
        "Overall Accuracy",
        "share of all frames that are right: voiced with the right pitch, or unvoiced on both sides",
        "frames of the reference, in seconds",
        key="Overall Accuracy",
        aliases=("OA",),
        parameters=_PITCHED,
        perfect_exceptions=_EXCEPTIONS,
        literature=_LITERATURE,
    ),
)

GRIDS = (REFERENCE, FRAMES)
HOP = "0.01"
"""Seconds between the frames of MIREX; also the name of its default grid."""


def _as_in_mirex(resampling: str) -> tuple[Metric, ...]:
    defaults: dict[str, Value] = {"resampling": resampling, "of_none": 1.0}

    def changed(metric: Metric) -> Metric:
        parameters = tuple(replace(one, default=defaults.get(one.name, one.default)) for one in metric.parameters)
        if metric.name == "voicing_false_alarm":
            exceptions = "a reference without unvoiced frames, of which it is 1"
            return replace(metric, parameters=parameters, perfect_exceptions=exceptions)
        return replace(metric, parameters=parameters)

    return tuple(changed(metric) for metric in METRICS)


MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: estimates are interpolated at the times of the reference",
    METRICS,
    clean,
    score,
    GRIDS,
    explain=evidence,
)
MIREX = Convention(
    "mirex",
    "MIREX as the literature has it: frames of 10 ms, each with the nearest sample",
    _as_in_mirex("nearest"),
    clean,
    score,
    (HOP, *GRIDS),
    explain=partial(evidence, hop=float(HOP)),
)
MIREX_HOLD = Convention(
    "mirex_hold",
    "MIREX as mir_eval's authors ran it: frames of 10 ms, each with the sample before it",
    _as_in_mirex("hold"),
    clean,
    score,
    (HOP, *GRIDS),
    explain=partial(evidence, hop=float(HOP)),
)

TASK = Task(
    "melody",
    "Melody extraction",
    MappingProxyType({one.name: one for one in (MIR_EVAL, MIREX, MIREX_HOLD)}),
    ("overall_accuracy",),
)
