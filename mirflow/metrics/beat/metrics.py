"""The beat metrics: their records, how score and weight are read off a batch, evidence, and the conventions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import MetricError
from ...kernels.intervals import batches
from ...ragged import Bool, Column, Float, Int, Ragged
from ..base import Aggregate, Convention, Grid, Measure, Metric, Parameter, Pooling, Scores, Task, Value
from ..cleaning import usable
from ..events import CLOSE, clean, events_of, matched
from .kernel import (
    CHOICES,
    TOO_CLOSE,
    Batch,
    Choices,
    at_levels,
    bin_edges,
    cemgil,
    continuity,
    goto,
    information_gain,
    p_score,
)

Reading = Callable[[Batch, Measure], tuple[Float, Float]]
"""Batch and measure -> score and weight, float64 (pairs,) each."""


def choices_of(measure: Measure) -> Choices:
    """The parameters of a P-score."""
    return Choices(
        float(measure["window"]),
        bool(measure["remove_offset"]),
        str(measure["normaliser"]),
        str(measure["rounding"]),
    )


def measurable(batch: Batch, measure: Measure) -> Bool:
    """The pairs of which the P-score can be measured."""
    return _p_score(batch, measure)[2]


def _p_score(batch: Batch, measure: Measure) -> tuple[Float, Float, Bool]:
    choices = choices_of(measure)
    return batch.once(choices, lambda: p_score(batch, choices))


def _best(score: Float, denominator: Float) -> tuple[Float, Float]:
    """The best level's score and its denominator; the first one on ties."""
    chosen = score.argmax(axis=1)[:, np.newaxis]
    return np.take_along_axis(score, chosen, 1)[:, 0], np.take_along_axis(denominator, chosen, 1)[:, 0]


def _annotated(score: Float, denominator: Float) -> tuple[Float, Float]:
    return score[:, 0], denominator[:, 0]


def _f_measure(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    found = at_levels(batch, float(measure["window"]), str(measure["matching"]), ("annotated",))
    return _annotated(*found)


def _f_measure_best(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    levels = CHOICES[str(measure["levels"])]
    return _best(*at_levels(batch, float(measure["window"]), str(measure["matching"]), levels))


def _goto(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    limits = float(measure["threshold"]), float(measure["mu"]), float(measure["sigma"])
    return goto(batch, *limits), np.ones(len(batch.reference))


def _longest(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    longest, _, denominator = continuity(batch, float(measure["phase"]), float(measure["period"]))
    return longest, denominator


def _total(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    _, total, denominator = continuity(batch, float(measure["phase"]), float(measure["period"]))
    return total, denominator


def _information_gain(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    edges = bin_edges(int(measure["bins"]), str(measure["edges"]))
    return information_gain(batch, edges, bool(measure["normalise"])), np.ones(len(batch.reference))


OF_EVENTS: dict[str, Reading] = {
    "f_measure": _f_measure,
    "f_measure_best": _f_measure_best,
    "cemgil": lambda batch, measure: _annotated(*cemgil(batch, float(measure["sigma"]))),
    "cemgil_best": lambda batch, measure: _best(*cemgil(batch, float(measure["sigma"]))),
    "goto": _goto,
}
"""Measures that need one beat on each side."""

OF_INTERVALS: dict[str, Reading] = {
    "p_score": lambda batch, measure: _p_score(batch, measure)[:2],
    "cmlc": lambda batch, measure: _annotated(*_longest(batch, measure)),
    "cmlt": lambda batch, measure: _annotated(*_total(batch, measure)),
    "amlc": lambda batch, measure: _best(*_longest(batch, measure)),
    "amlt": lambda batch, measure: _best(*_total(batch, measure)),
    "information_gain": _information_gain,
}
"""Measures that need two beats on each side, because they use intervals; otherwise they are 0."""


def plain_weight(name: str, references: Int, estimates: Int) -> Float:
    """The weight of a measure that is 0 because there are not enough beats.

    Parameters
    ----------
    name : str
        Of the measure.
    references, estimates : int64 (pairs,)
        Numbers of beats.

    Examples
    --------
    >>> plain_weight("f_measure", np.array([4]), np.array([0])), plain_weight("goto", np.array([4]), np.array([0]))
    (array([2.]), array([1.]))
    """
    if name in ("goto", "information_gain"):
        return (references > 0).astype(np.float64)
    if name in OF_INTERVALS:
        return np.maximum(references, estimates).astype(np.float64)
    return 0.5 * (references + estimates).astype(np.float64)


_BATCH = 2**16
"""Beats of both sides that are handled at once, so that what is computed from them stays in the cache."""


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs of beat sequences.

    Parameters
    ----------
    references, estimates : Ragged
        Column time (float64, seconds); rows as :func:`mirflow.metrics.events.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        Beats are compared as they are; there is nothing to choose.

    Returns
    -------
    Scores
        Equal to mir_eval's: 0 where a side is empty, or has a single beat and the measure needs an interval. A pair is
        refused if a P-score is asked for and all of its reference beats fall into one frame of 10 ms, as mir_eval
        refuses it. A pair's numbers do not depend on what it is batched with, to the bit.

    References
    ----------
    M. E. P. Davies, N. Degara and M. D. Plumbley, "Evaluation methods for musical audio beat tracking algorithms",
    Queen Mary University of London, C4DM-TR-09-06, 2009.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> beats = Ragged({"time": np.array([6.0, 7.0, 8.0, 9.0])}, (np.array([4]),))
    >>> late = Ragged({"time": np.array([6.05, 7.05, 8.2])}, (np.array([3]),))
    >>> row, wanted = np.array([0]), get_task("beat").convention().select(["f_measure", "cmlt"])
    >>> scores = score(beats, late, row, row, wanted)
    >>> scores.score.round(3).tolist(), scores.weight.tolist()
    ([[0.571, 0.5]], [[3.5, 4.0]])
    """
    found = np.zeros((2, len(reference_row), len(measures)))
    refused: dict[int, str] = {}
    for trim in dict.fromkeys(float(measure["trim"]) for measure in measures):
        sides = _trimmed(references, trim), _trimmed(estimates, trim)
        columns = [place for place, measure in enumerate(measures) if float(measure["trim"]) == trim]
        sizes = sides[0].counts[0][reference_row] + sides[1].counts[0][estimate_row]
        for batch in batches(sizes, _BATCH):
            rows = reference_row[batch], estimate_row[batch]
            refused |= {
                batch.start + pair: TOO_CLOSE for pair in _score(sides, rows, measures, columns, found[:, batch])
            }
    found[0, list(refused)] = np.nan
    return Scores(found[0], found[1], refused=refused)


def _trimmed(rows: Ragged, trim: float) -> Ragged:
    late = rows.columns["time"] >= trim
    return rows if late.all() else rows.keep(late)


def _score(
    sides: tuple[Ragged, Ragged], rows: tuple[Int, Int], measures: Sequence[Measure], columns: Sequence[int], out: Float
) -> list[int]:
    """Write scores and weights of some measures, float64 (2, pairs, measures); returns the refused pairs."""
    counts = [side.counts[0][row] for side, row in zip(sides, rows, strict=True)]
    fewest = np.minimum(*counts)
    batch: dict[int, Batch] = {}
    refused = []
    for column in columns:
        measure = measures[column]
        name = measure.metric.name
        needed = 2 if name in OF_INTERVALS else 1
        enough = np.flatnonzero(fewest >= needed)
        out[1, :, column] = plain_weight(name, *counts)
        if not len(enough):
            continue
        if needed == 1 and (fewest[enough] > 1).all():
            needed = 2  # the same pairs, so the same batch
        if needed not in batch:
            batch[needed] = Batch(*(events_of(side, row[enough]) for side, row in zip(sides, rows, strict=True)))
        read = OF_EVENTS.get(name) or OF_INTERVALS[name]
        out[0, enough, column], out[1, enough, column] = read(batch[needed], measure)
        if name == "p_score":
            refused += enough[~measurable(batch[needed], measure)].tolist()
    return refused


_JUDGED = "f_measure"


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The beats of both sides, with what became of them.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind events.
    measure : Measure
        ``f_measure``.

    Returns
    -------
    dict of str to array
        ``reference`` and ``estimate`` (float64, seconds; NaN where the other side has no match), in order of time, and
        ``verdict``: ``hit``, ``missed`` or ``extra``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.
    MetricError
        If the measure does not judge beats one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from mirflow.metrics.base import get_task
    >>> def beats(*times):
    ...     return Annotation("events", {"time": np.array(times)})
    >>> measure = get_task("beat").convention().select(["f_measure"])[0]
    >>> found = evidence(beats(6.0, 7.0), beats(6.02, 6.5), measure)
    >>> found["verdict"].tolist(), found["estimate"].tolist()
    (['hit', 'extra', 'missed'], [6.02, 6.5, nan])
    """
    if measure.metric.name != _JUDGED:
        raise MetricError(f"{measure} does not judge beats one by one; ask for {_JUDGED}")
    sides = (
        usable(annotation, clean(to_ragged([annotation])), side).columns["time"]
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    )
    references, estimates = (times[times >= float(measure["trim"])] for times in sides)
    return matched(references, estimates, float(measure["window"]), str(measure["matching"]))


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
