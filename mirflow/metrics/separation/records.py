"""The records of the separation metrics, and the conventions of the task."""

from __future__ import annotations

import math
from types import MappingProxyType

from ..base.record import Aggregate, Metric, Parameter
from ..base.task import Convention, Task
from .cleaning import clean
from .decomposition import FILTERS_LENGTH
from .scoring import score, score_museval

_VINCENT = "Vincent, Gribonval and Fevotte, Performance measurement in blind audio source separation, 2006"
_IMAGES = "Vincent et al., The Signal Separation Evaluation Campaign (2007-2010), Signal Processing 92, 2012"
_SISEC = "Stoeter, Liutkus and Ito, The 2018 Signal Separation Evaluation Campaign, LVA/ICA 2018"
_LE_ROUX = "Le Roux, Wisdom, Erdogan and Hershey, SDR - half-baked or well done?, ICASSP 2019"

_LENGTH = Parameter("filters_len", FILTERS_LENGTH, "samples", help="taps of the filters that are forgiven", least=1)
_ZERO_MEAN = Parameter("zero_mean", False, help="take the mean of each channel off first")
_ROUNDED = "rounding leaves some 250 dB or more in place of infinity"

_TITLES = {
    "sdr": ("SDR", "energy of the filtered source over that of everything else"),
    "sir": ("SIR", "energy of the filtered source over that of the other sources"),
    "sar": ("SAR", "energy of all filtered sources over that of what is none of them"),
    "image_sdr": ("Image SDR", "energy of the source over that of everything else, its own distortion too"),
    "image_isr": ("Image ISR", "energy of the source over that of its spatial (or filtering) distortion"),
    "image_sir": ("Image SIR", "energy of the filtered source over that of the other sources"),
    "image_sar": ("Image SAR", "energy of all filtered sources over that of what is none of them"),
    "si_sdr": ("SI-SDR", "energy of the source, scaled to fit, over that of everything else"),
}
_KEYS = {
    "sdr": "Sources{} - Source to Distortion",
    "sir": "Sources{} - Source to Interference",
    "sar": "Sources{} - Source to Artifact",
    "image_sdr": "Images{} - Source to Distortion",
    "image_isr": "Images{} - Image to Spatial",
    "image_sir": "Images{} - Source to Interference",
    "image_sar": "Images{} - Source to Artifact",
}
_EXACT = {"image_sdr", "si_sdr"}
"""What compares samples with samples: nothing is left of a perfect estimate."""


def _permutation(default: bool) -> Parameter:
    text = "look for the order of the estimates with the best mean (of SIR; of SI-SDR for itself)"
    return Parameter("permutation", default, help=text)


def _spans(window: float, hop: float) -> tuple[Parameter, Parameter]:
    return (
        Parameter("window", window, "s", help="length of a frame", above=0.0),
        Parameter("hop", hop, "s", help="from one frame to the next", above=0.0),
    )


def _scalar(
    name: str, shown: str, parameters: tuple[Parameter, ...], how: str, aggregate: Aggregate, literature: str
) -> Metric:
    title, summary = _TITLES[shown]
    return Metric(
        name,
        title,
        f"{summary}; {how}",
        "number of sources with a score",
        "sources",
        range=(-math.inf, math.inf),
        unit="dB",
        pooling="micro",
        standard_aggregate=aggregate,
        perfect=math.inf,
        perfect_exceptions="" if shown in _EXACT and aggregate == "mean" else _ROUNDED,
        parameters=parameters,
        literature=literature,
    )


def _extra(
    name: str,
    shown: str,
    parameters: tuple[Parameter, ...],
    dims: tuple[str, ...],
    key: str,
    literature: str,
    aggregate: Aggregate = "mean",
) -> Metric:
    title, summary = _TITLES[shown]
    return Metric(
        name,
        f"{title} by {' and '.join(dims)}",
        f"{summary}; of each {' and '.join(dims)}",
        "none",
        "sources",
        key=key,
        range=(-math.inf, math.inf),
        unit="dB",
        pooling="none",
        standard_aggregate=aggregate,
        perfect=math.inf,
        perfect_exceptions=_ROUNDED,
        parameters=parameters,
        dims=dims,
        default=False,
        literature=literature,
    )


def _mir_eval() -> tuple[Metric, ...]:
    whole, spans = (_LENGTH, _permutation(True)), (*_spans(30.0, 15.0), _LENGTH, _permutation(False))
    literature = {name: _IMAGES if name.startswith("image") else _VINCENT for name in _KEYS}
    scalars = [_scalar(name, name, whole, "mean over the sources", "mean", literature[name]) for name in _KEYS]
    by_source = [
        _extra(f"source_{name}", name, whole, ("source",), key.format(""), literature[name])
        for name, key in _KEYS.items()
    ]
    by_frame = [
        _extra(f"frame_{name}", name, spans, ("source", "frame"), key.format(" Frames"), literature[name])
        for name, key in _KEYS.items()
    ]
    return (*scalars, *_invariant(True), *by_source, *by_frame, _order(whole))


def _order(parameters: tuple[Parameter, ...]) -> Metric:
    return Metric(
        "source_permutation",
        "Order of the estimates",
        "which estimated source, counted from 0, was held against each reference source",
        "none",
        "sources",
        key="Sources - Source permutation",
        range=(0.0, math.inf),
        orientation="none",
        pooling="none",
        perfect=None,
        parameters=parameters,
        dims=("source",),
        default=False,
        literature=_VINCENT,
        nominal=True,
    )


def _invariant(permutation: bool) -> tuple[Metric, Metric]:
    parameters = (_ZERO_MEAN, _permutation(permutation))
    return (
        _scalar("si_sdr", "si_sdr", parameters, "mean over the sources", "mean", _LE_ROUX),
        _extra("source_si_sdr", "si_sdr", parameters, ("source",), "", _LE_ROUX),
    )


def _museval() -> tuple[Metric, ...]:
    origin = Parameter(
        "filters",
        "track",
        choices=("track", "frame"),
        help="filters of the whole track (BSS Eval v4) or of each frame (v3)",
    )
    parameters = (*_spans(1.0, 1.0), _LENGTH, origin)
    shown = {"sdr": "image_sdr", "isr": "image_isr", "sir": "image_sir", "sar": "image_sar"}
    how = "median over frames, then mean over the sources"
    scalars = [_scalar(name, own, parameters, how, "median", _SISEC) for name, own in shown.items()]
    by_source = [
        _extra(f"source_{name}", own, parameters, ("source",), "", _SISEC, "median") for name, own in shown.items()
    ]
    by_frame = [
        _extra(f"frame_{name}", own, parameters, ("source", "frame"), "", _SISEC, "median")
        for name, own in shown.items()
    ]
    return (*scalars, *_invariant(False), *by_source, *by_frame)


MIR_EVAL = Convention("mir_eval", "mir_eval 0.8.2", _mir_eval(), clean, score)
MUSEVAL = Convention("museval", "museval 0.4.1: BSS Eval v4, medians over frames", _museval(), clean, score_museval)

TASK = Task(
    "separation",
    "Source separation",
    MappingProxyType({one.name: one for one in (MIR_EVAL, MUSEVAL)}),
    ("sdr", "image_sdr", "si_sdr"),
)
