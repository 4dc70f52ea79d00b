"""The records of the segment metrics, and the conventions of the task."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from . import mirex
from .cleaning import clean, clean_as_given
from .evidence import evidence
from .reading import BETA
from .scoring import score

_TURNBULL = "Turnbull et al., A supervised approach for detecting boundaries in music, ISMIR 2007"
_LEVY = "Levy and Sandler, Structural segmentation of musical audio by constrained clustering, IEEE TASLP 16(2), 2008"
_HUBERT = "Hubert and Arabie, Comparing partitions, Journal of Classification 2, 1985"
_VINH = "Vinh, Epps and Bailey, Information theoretic measures for clusterings comparison, JMLR 11, 2010"
_STREHL = "Strehl and Ghosh, Cluster ensembles, JMLR 3, 2002"
_LUKASHEVICH = "Lukashevich, Towards quantitative measures of evaluating song segmentation, ISMIR 2008"
_ROSENBERG = "Rosenberg and Hirschberg, V-measure, EMNLP-CoNLL 2007"

_WINDOW = Parameter("window", 0.5, "s", help="largest distance of boundaries that match", least=0)
_BETA = Parameter("beta", BETA, help="how many times as much recall counts as precision", least=0)
_TRIM = Parameter("trim", False, help="leave out the first and the last boundary of each side")
_MATCHING = Parameter(
    "matching", "optimal", choices=("optimal", "nearest"), help="as many matches as possible, or the nearest first"
)
_MEDIAN = Parameter(
    "median", "middle", choices=("middle", "upper"), help="of an even number: mean of the middle two, or the upper one"
)
_FRAME = Parameter("frame_size", 0.1, "s", help="distance of the frames", above=0)
_MARGINAL = Parameter("marginal", False, help="normalise by the entropy of the labels, as the V-measure does")
_SINGLE = Parameter("single_label", 0.0, help="the score of a side with a single label")
_ONE_FRAME = "NaN for a reference shorter than two frames, or where no two frames have the same label"
_ONE_LABEL = "0 (see single_label) where the reference has a single label"


def _boundary(name: str, title: str, summary: str, weight: str, beta: bool = False) -> Metric:
    return Metric(
        name,
        title,
        summary,
        weight,
        "boundaries",
        key=title,
        pooling="micro",
        parameters=(_WINDOW, *([_BETA] if beta else []), _TRIM, _MATCHING),
        perfect_exceptions="0 where trimming leaves no boundary",
        literature=_TURNBULL,
    )


def _deviation(name: str, key: str, summary: str, weight: str) -> Metric:
    return Metric(
        name,
        key,
        summary,
        weight,
        "boundaries",
        key=key,
        range=(0.0, float("inf")),
        orientation="lower",
        unit="s",
        pooling="none",
        perfect=0.0,
        perfect_exceptions="NaN where trimming leaves no boundary",
        parameters=(_TRIM, _MEDIAN),
        literature=_TURNBULL,
    )


def _of_frames(
    name: str, key: str, summary: str, weight: str, weight_unit: str, literature: str, **others: Any
) -> Metric:
    parameters = (_FRAME, *others.pop("parameters", ()))
    settings = {"pooling": "micro", "parameters": parameters, "key": key, "literature": literature, **others}
    return Metric(name, key, summary, weight, weight_unit, **settings)


_PAIRS = "pairs of frames"
_PAIRED = {"literature": _LEVY, "perfect_exceptions": _ONE_FRAME}
_ENTROPY = {"literature": _LUKASHEVICH, "perfect_exceptions": _ONE_LABEL}
_ENTROPIES = (_MARGINAL, _SINGLE)
_V = {"literature": _ROSENBERG, "perfect_exceptions": "0 where the reference has a single label"}

METRICS = (
    _boundary(
        "precision",
        "Precision",
        "share of the estimate's boundaries that match one of the reference",
        "number of boundaries of the estimate",
    ),
    _boundary(
        "recall",
        "Recall",
        "share of the reference's boundaries that match one of the estimate",
        "number of boundaries of the reference",
    ),
    _boundary(
        "f_measure",
        "F-measure",
        "harmonic mean of precision and recall of boundaries",
        "(beta^2 * boundaries of the reference + boundaries of the estimate) / (1 + beta^2)",
        beta=True,
    ),
    _deviation(
        "deviation_ref_to_est",
        "Ref-to-est deviation",
        "median time from a boundary of the reference to the nearest of the estimate",
        "number of boundaries of the reference",
    ),
    _deviation(
        "deviation_est_to_ref",
        "Est-to-ref deviation",
        "median time from a boundary of the estimate to the nearest of the reference",
        "number of boundaries of the estimate",
    ),
    _of_frames(
        "pairwise_precision",
        "Pairwise Precision",
        "of the pairs of frames with one label in the estimate, the share with one label in the reference",
        "pairs of frames with one label in the estimate",
        _PAIRS,
        **_PAIRED,
    ),
    _of_frames(
        "pairwise_recall",
        "Pairwise Recall",
        "of the pairs of frames with one label in the reference, the share with one label in the estimate",
        "pairs of frames with one label in the reference",
        _PAIRS,
        **_PAIRED,
    ),
    _of_frames(
        "pairwise_f_measure",
        "Pairwise F-measure",
        "harmonic mean of pairwise precision and recall",
        "(beta^2 * pairs with one label in the reference + those in the estimate) / (1 + beta^2)",
        _PAIRS,
        parameters=(_BETA,),
        **_PAIRED,
    ),
    _of_frames(
        "rand_index",
        "Rand Index",
        "share of the pairs of frames that both sides label equally, or both differently",
        "all pairs of frames",
        _PAIRS,
        _HUBERT,
        perfect_exceptions="NaN for a reference shorter than two frames",
    ),
    _of_frames(
        "adjusted_rand_index",
        "Adjusted Rand Index",
        "Rand index corrected for chance",
        "how far above chance it could be, in pairs of frames",
        _PAIRS,
        _HUBERT,
        range=(-1.0, 1.0),
    ),
    _of_frames(
        "mutual_information",
        "Mutual Information",
        "what the labels of one side tell about those of the other",
        "length of all frames",
        "s",
        _STREHL,
        range=(0.0, float("inf")),
        unit="nat",
        perfect=None,
        perfect_exceptions="it is the entropy of the reference's labels",
    ),
    _of_frames(
        "adjusted_mutual_information",
        "Adjusted Mutual Information",
        "mutual information corrected for chance",
        "how far above chance it could be, times the length of all frames",
        "nat s",
        _VINH,
        range=(float("-inf"), 1.0),
    ),
    _of_frames(
        "normalized_mutual_information",
        "Normalized Mutual Information",
        "mutual information over the geometric mean of both entropies",
        "geometric mean of both entropies, times the length of all frames",
        "nat s",
        _STREHL,
    ),
    _of_frames(
        "nce_over",
        "NCE Over",
        "1 - entropy of the estimate's labels given the reference's, normalised",
        "largest possible entropy of the estimate's labels, times the length of all frames",
        "bit s",
        parameters=_ENTROPIES,
        **_ENTROPY,
    ),
    _of_frames(
        "nce_under",
        "NCE Under",
        "1 - entropy of the reference's labels given the estimate's, normalised",
        "largest possible entropy of the reference's labels, times the length of all frames",
        "bit s",
        parameters=_ENTROPIES,
        **_ENTROPY,
    ),
    _of_frames(
        "nce_f",
        "NCE F-measure",
        "harmonic mean of nce_over and nce_under",
        "(beta^2 * weight of nce_under + weight of nce_over) / (1 + beta^2)",
        "bit s",
        parameters=(_BETA, *_ENTROPIES),
        pooling="none",
        **_ENTROPY,
    ),
    _of_frames(
        "v_precision",
        "V Precision",
        "share of the estimate's entropy that the reference explains",
        "entropy of the estimate's labels, times the length of all frames",
        "bit s",
        **_V,
    ),
    _of_frames(
        "v_recall",
        "V Recall",
        "share of the reference's entropy that the estimate explains",
        "entropy of the reference's labels, times the length of all frames",
        "bit s",
        **_V,
    ),
    _of_frames(
        "v_measure",
        "V-measure",
        "harmonic mean of v_precision and v_recall",
        "(beta^2 * weight of v_recall + weight of v_precision) / (1 + beta^2)",
        "bit s",
        parameters=(_BETA,),
        **_V,
    ),
)

DEFAULT = (
    *(f"{name}@{window}" for window in (0.5, 3.0) for name in ("precision", "recall", "f_measure")),
    *(metric.name for metric in METRICS[3:]),
)
"""What mir_eval's evaluate computes, in its order."""

_PAULUS = "J. Paulus, MATLAB functions for MIREX structural segmentation, 2008 and 2009"
_EXTENT = Parameter(
    "extent",
    "given",
    choices=("given", "reference"),
    help="both sides as they are, or fitted to the reference as mir_eval does",
)
_SILENCE = Parameter(
    "silence",
    "ignored",
    choices=("ignored", "counted"),
    help=f"boundaries of intervals labelled {', '.join(mirex.SILENCE)}",
)
_POINTS = Parameter("points", 1000, help="how many points, from the earliest to the latest time", least=2)
_MIREX_PARAMETERS = {
    "detection": (_WINDOW, replace(_MATCHING, default="nearest"), _SILENCE, _EXTENT),
    "deviation": (_MEDIAN, _SILENCE, _EXTENT),
    "entropy": (_POINTS, replace(_SINGLE, default=1.0), _EXTENT),
    "rand": (_POINTS, _EXTENT),
    "pairwise": (replace(_POINTS, default=500), _EXTENT),
}
_MIREX_KEYS = {
    "nce_over": ("entropy", "S_o"),
    "nce_under": ("entropy", "S_u"),
    "pairwise_f_measure": ("pairwise", "Fpair"),
    "pairwise_precision": ("pairwise", "Ppair"),
    "pairwise_recall": ("pairwise", "Rpair"),
    "rand_index": ("rand", "Rand"),
    "f_measure": ("detection", "F"),
    "precision": ("detection", "P"),
    "recall": ("detection", "R"),
    "deviation_ref_to_est": ("deviation", "medianTrue2claim"),
    "deviation_est_to_ref": ("deviation", "medianClaim2true"),
}


def _of_mirex(metric: Metric) -> Metric:
    family, alias = _MIREX_KEYS[metric.name]
    exceptions = {
        "entropy": "",
        "pairwise": "0 where no two frames have the same label",
        "rand": "",
        "detection": "0 where all labels are silence",
        "deviation": "NaN where all labels are silence",
    }
    return replace(
        metric,
        key="",
        aliases=(alias,),
        parameters=_MIREX_PARAMETERS[family],
        perfect_exceptions=exceptions[family],
        literature=f"{metric.literature}; {_PAULUS}",
    )


_BY_NAME = {metric.name: metric for metric in METRICS}

MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: the estimate is fitted to the reference, labels are compared at frames of 0.1 s",
    METRICS,
    clean,
    score,
    default_measures=DEFAULT,
    explain=evidence,
)
MIREX = Convention(
    "mirex",
    "MIREX's own scores: annotations as they are, nearest boundaries matched first, a fixed number of points",
    tuple(_of_mirex(_BY_NAME[name]) for name in _MIREX_KEYS),
    clean_as_given,
    mirex.score,
    default_measures=(
        *("nce_over", "nce_under", "pairwise_f_measure", "pairwise_precision", "pairwise_recall", "rand_index"),
        *(f"{name}@{window}" for window in (0.5, 3.0) for name in ("f_measure", "precision", "recall")),
        *("deviation_ref_to_est", "deviation_est_to_ref"),
    ),
)

TASK = Task(
    "segment",
    "Structural segmentation",
    MappingProxyType({one.name: one for one in (MIR_EVAL, MIREX)}),
    ("f_measure", "pairwise_f_measure"),
)
