"""The records of the beat metrics, and the conventions of the tasks beat and downbeat."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from ..base.record import Aggregate, Metric, Parameter, Pooling, Value
from ..base.task import Convention, Task
from ..events import CLOSE, clean
from .evidence import evidence
from .levels import CHOICES
from .scoring import score

_DAVIES = "Davies, Degara and Plumbley, Evaluation methods for musical audio beat tracking algorithms, 2009"
_ONE_BEAT = "0 where the reference has a single beat"
_MEAN_COUNT, _MORE = "mean of the numbers of beats of both sides", "the larger number of beats of both sides"

_SHARED_BEATS = (0.0, 2.0)
"""The range of a score that counts every reference beat, over the mean number of beats of both sides."""

_TRIM = Parameter("trim", 5.0, "s", help="beats before it are left out")
_WINDOW = Parameter("window", 0.07, "s", help="largest distance of matched beats", least=0.0)
_MATCHING = Parameter(
    "matching", "optimal", choices=("optimal", "greedy"), help="the largest matching, or that of the toolbox of MIREX"
)
_LEVELS = Parameter("levels", "mir_eval", choices=tuple(CHOICES), help="the metrical levels the best is taken of")
_SIGMA = Parameter("sigma", 0.04, "s", help="width of the Gaussian", above=0.0)
_CONTINUITY = (
    Parameter("phase", 0.175, help="largest deviation of a beat, as a share of the interval", least=0.0),
    Parameter("period", 0.175, help="largest deviation of an interval, as a share of it", least=0.0),
    _TRIM,
)


def _metric(
    name: str,
    title: str,
    summary: str,
    weight: str,
    key: str,
    parameters: tuple[Parameter, ...],
    literature: str,
    pooling: Pooling = "micro",
    weight_unit: str = "beats",
    exceptions: str = "",
    aliases: tuple[str, ...] = (),
    aggregate: Aggregate = "mean",
    default: bool = True,
    range: tuple[float, float] = (0.0, 1.0),
) -> Metric:
    return Metric(
        name,
        title,
        summary,
        weight,
        weight_unit,
        key=key,
        aliases=aliases,
        range=range,
        pooling=pooling,
        standard_aggregate=aggregate,
        perfect_exceptions=exceptions,
        parameters=parameters,
        default=default,
        literature=literature,
    )


def _of_continuity(name: str, title: str, summary: str, key: str) -> Metric:
    return _metric(
        name,
        title,
        summary,
        _MORE,
        key,
        _CONTINUITY,
        f"Hainsworth, PhD thesis, 2004; Klapuri, Eronen and Astola, IEEE TASLP 2006; {_DAVIES}",
        exceptions=f"{_ONE_BEAT}; less than 1 where reference beats repeat",
        aliases=(title,),
    )


_F_MEASURE = _metric(
    "f_measure",
    "F-measure",
    "harmonic mean of the shares of estimated and of reference beats that have a match within the window",
    _MEAN_COUNT,
    "F-measure",
    (_WINDOW, _MATCHING, _TRIM),
    f"Dixon, Evaluation of the audio beat tracking system BeatRoot, JNMR 2007; {_DAVIES}",
    pooling="exact",
)
_F_MEASURE_BEST = _metric(
    "f_measure_best",
    "F-measure at the best metrical level",
    "the largest F-measure against the reference at several metrical levels",
    f"{_MEAN_COUNT}, at the best level",
    "",
    (_WINDOW, _LEVELS, _MATCHING, _TRIM),
    "Nieto et al., The Harmonix Set, ISMIR 2019",
    aliases=("Max F-Measure",),
    default=False,
)
_CEMGIL = _metric(
    "cemgil",
    "Cemgil",
    "closeness of the nearest estimate to each reference beat under a Gaussian, over the mean number of beats; above 1 "
    "where reference beats are about as close together as the Gaussian is wide and share their nearest estimate",
    _MEAN_COUNT,
    "Cemgil",
    (_SIGMA, _TRIM),
    f"Cemgil et al., On tempo tracking, JNMR 2001; {_DAVIES}",
    pooling="exact",
    range=_SHARED_BEATS,
)
_CEMGIL_BEST = _metric(
    "cemgil_best",
    "Cemgil at the best metrical level",
    "the largest of Cemgil's scores against the reference at five metrical levels; above 1 where its beats at a level "
    "are about as close together as the Gaussian is wide",
    f"{_MEAN_COUNT}, at the best level",
    "Cemgil Best Metric Level",
    (_SIGMA, _TRIM),
    f"Stark, PhD thesis, 2011; {_DAVIES}",
    exceptions="above 1 where beats are so close together that the Gaussian reaches from one to the next",
    range=_SHARED_BEATS,
)
_GOTO = _metric(
    "goto",
    "Goto",
    "1 if some stretch of at least a quarter of the beats is found, and found precisely; else 0",
    "number of tracks with reference beats",
    "Goto",
    (
        Parameter("threshold", 0.35, help="largest error of a beat that is right, in half intervals; below 1"),
        Parameter("mu", 0.2, help="limit of the mean absolute error in the stretch"),
        Parameter("sigma", 0.2, help="limit of the standard deviation of the errors in the stretch"),
        _TRIM,
    ),
    f"Goto and Muraoka, Issues in evaluating beat tracking systems, IJCAI workshop 1997; {_DAVIES}",
    weight_unit="tracks",
    exceptions="0 where the reference has fewer than five beats",
)
_P_SCORE = _metric(
    "p_score",
    "P-score",
    "number of coincidences of impulses within a share of the beat, over the larger number of beats; above 1 where an "
    "impulse coincides with several, as it may where beats are much closer together than the median interval",
    f"{_MORE}, or of their impulses",
    "P-score",
    (
        Parameter("window", 0.2, help="half width of the window, as a share of the median interval", least=0.0),
        Parameter("remove_offset", True, help="whether frames are counted from the first beat, not from 0 s"),
        Parameter("normaliser", "beats", choices=("beats", "impulses"), help="what is counted for the denominator"),
        Parameter("rounding", "half_even", choices=("half_even", "half_up"), help="of the window, in frames"),
        _TRIM,
    ),
    "McKinney et al., JNMR 2007; equations 9 and 10 of Downie et al., 2010",
    exceptions=f"{_ONE_BEAT}; other values where beats are so close together that several share a window",
    range=(0.0, float("inf")),
)
_INFORMATION_GAIN = _metric(
    "information_gain",
    "Information gain",
    "how far the histogram of beat errors is from a uniform one, for the worse of both directions",
    "number of tracks with reference beats",
    "Information gain",
    (
        Parameter("bins", 41, help="number of bins of the histogram", least=2),
        Parameter(
            "edges", "uniform", choices=("uniform", "half_ends"), help="equal bins, or one more with half as wide ends"
        ),
        Parameter("normalise", True, help="whether to divide by the entropy of a uniform histogram; else in bits"),
        _TRIM,
    ),
    "Davies, Degara and Plumbley, Measuring the performance of beat tracking algorithms using a beat error histogram, "
    "IEEE Signal Processing Letters 2011",
    pooling="none",
    weight_unit="tracks",
    exceptions=f"{_ONE_BEAT}; NaN where all beats are at one time",
)

METRICS = (
    _F_MEASURE,
    _CEMGIL,
    _CEMGIL_BEST,
    _GOTO,
    _P_SCORE,
    _of_continuity(
        "cmlc",
        "CMLc",
        "longest run of right beats at the annotated level, over the larger number of beats",
        "Correct Metric Level Continuous",
    ),
    _of_continuity(
        "cmlt",
        "CMLt",
        "number of right beats at the annotated level, over the larger number of beats",
        "Correct Metric Level Total",
    ),
    _of_continuity(
        "amlc", "AMLc", "the largest CMLc against the reference at five levels", "Any Metric Level Continuous"
    ),
    _of_continuity("amlt", "AMLt", "the largest CMLt against the reference at five levels", "Any Metric Level Total"),
    _INFORMATION_GAIN,
    _F_MEASURE_BEST,
)

_MIREX: dict[str, Value] = {
    "matching": "greedy",
    "remove_offset": False,
    "normaliser": "impulses",
    "rounding": "half_up",
    "bins": 40,
    "edges": "half_ends",
    "normalise": False,
}
"""Where MIREX, that is the Beat Evaluation Toolbox, departs from mir_eval."""


def _as_in_mirex(metric: Metric) -> Metric:
    changed = tuple(replace(one, default=_MIREX.get(one.name, one.default)) for one in metric.parameters)
    if metric.name == "information_gain":
        return replace(metric, parameters=changed, range=(0.0, float("inf")), unit="bit", perfect=None)
    if metric.name in ("f_measure", "f_measure_best"):
        return replace(metric, parameters=changed, perfect_exceptions=CLOSE)
    return replace(metric, parameters=changed)


MIR_EVAL = Convention(
    "mir_eval", "mir_eval 0.8.2: beats before 5 s are left out", METRICS, clean, score, explain=evidence
)
MIREX = Convention(
    "mirex",
    "MIREX: greedy matching, P-score on frames from 0 s, information gain in bits with half as wide end bins",
    tuple(_as_in_mirex(metric) for metric in METRICS),
    clean,
    score,
    explain=evidence,
)
CONVENTIONS = MappingProxyType({one.name: one for one in (MIR_EVAL, MIREX)})

TASK = Task("beat", "Beat tracking", CONVENTIONS, ("f_measure",), {MIREX.name: ("p_score", "f_measure")})
