"""The beat metrics: records that read score and weight of batches, evidence, and conventions mir_eval and mirex.

Doubts report files whose times are probably tempi or beginnings of chords, and beats that are all left out. `TASK`
and the scores of batches are here, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation
from ...annotations.collection import Collection
from ...kernels.intervals import batches
from ...kernels.ratios import Scored
from ...ragged import Bool, Int
from ...theory.harte import InvalidChordException, parse_chord
from ...theory.leadsheet import translate_symbol
from ..base import Convention, Doubt, Grid, Pairs, Scores, Task, by_name
from ..event_errors import BEATS
from ..events import CLOSE, clean, events_of, evidence
from ..measures import COUNTS, CountedWeight, Measure, Parameter, Value, family, metric, metrics_in
from . import kernel, madmom
from .kernel import CHOICES, TOO_CLOSE, Batch, at_level

_ONE_BEAT = "0 if the reference has a single beat"
_MEAN_COUNT = CountedWeight("mean of the numbers of beats of both sides", "beats", "mean")
_MEAN_COUNT_AT_BEST = replace(_MEAN_COUNT, words=f"{_MEAN_COUNT.words}, at the best level")
_LARGER_COUNT = CountedWeight("the larger number of beats of both sides", "beats", "larger")
_TRACKS = CountedWeight("number of tracks with reference beats", "tracks", "track")
_SHARED_BEATS = (0.0, 2.0)  # Range of a score that counts reference beats over the mean number of beats of both sides
_TRIM = Parameter("trim", 5.0, "s", help="leave out beats before this time")
_WINDOW = Parameter(
    "window", 0.07, "s", help="largest distance of matched beats", least=0.0, mir_eval="f_measure_threshold"
)
_MATCHING = Parameter(
    "matching", "optimal", choices=("optimal", "greedy"), help="a largest matching, or MIREX's greedy one"
)
_LEVELS = Parameter("levels", "mir_eval", choices=tuple(CHOICES), help="metrical levels of which the best is taken")
_SIGMA = Parameter("sigma", 0.04, "s", help="width of the Gaussian", above=0.0, mir_eval="cemgil_sigma")


f_measure = metric(
    "F-measure",
    _MEAN_COUNT,
    name="f_measure",
    summary="harmonic mean of the shares of estimated and reference beats that have a match within the window",
    key="F-measure",
    itemwise=True,
    parameters=(_WINDOW, _MATCHING, _TRIM),
    literature="@dixon2007; @davies2009",
)(kernel.f_measure)


@family(
    {"cemgil": _MEAN_COUNT, "cemgil_best": _MEAN_COUNT_AT_BEST},
    {
        "cemgil": {
            "title": "Cemgil",
            "summary": "closeness of the nearest estimate to each reference beat under a Gaussian, over the mean "
            "number of beats; above 1 if reference beats are closer than about the width of the Gaussian and share "
            "their nearest estimate",
            "key": "Cemgil",
            "literature": "@cemgil2000; @davies2009",
        },
        "cemgil_best": {
            "title": "Cemgil at the best metrical level",
            "summary": "largest of Cemgil's scores for the reference at five metrical levels; above 1 if beats of a "
            "level are closer than about the width of the Gaussian",
            "key": "Cemgil Best Metric Level",
            "mir_eval": "cemgil",
            "pooling": "micro",
            "perfect_exceptions": "above 1 if beats are so close together that the Gaussian reaches from one to the "
            "next",
            "literature": "@stark2011; @davies2009",
        },
    },
    range=_SHARED_BEATS,
    parameters=(_SIGMA, _TRIM),
)
def cemgil(what: str, batch: Batch, measure: Measure) -> Scored:
    """Cemgil's score at the annotated or at the best level."""
    return at_level(what == "cemgil_best", *kernel.cemgil(batch, measure))


goto = metric(
    "Goto",
    _TRACKS,
    key="Goto",
    parameters=(
        *(
            Parameter(name, default, help=what, mir_eval=f"goto_{name}")
            for name, default, what in (
                ("threshold", 0.35, "largest error of a correct beat, in half intervals; below 1"),
                ("mu", 0.2, "limit of the mean absolute error in the section"),
                ("sigma", 0.2, "limit of the standard deviation of the errors in the section"),
            )
        ),
        _TRIM,
    ),
    pooling="micro",
    perfect_exceptions="0 if the reference has fewer than five beats",
    literature="@goto1997; @davies2009",
    summary="1 if a section with at least a quarter of the beats is tracked precisely; else 0",
)(kernel.goto)


p_score = metric(
    "P-score",
    replace(_LARGER_COUNT, words=f"{_LARGER_COUNT.words}, or of their impulses"),
    key="P-score",
    needs="intervals",
    range=(0.0, float("inf")),
    parameters=(
        Parameter(
            "window",
            0.2,
            help="half width of the window as a share of the median interval",
            least=0.0,
            mir_eval="p_score_threshold",
        ),
        Parameter("remove_offset", True, help="whether to count frames from the first beat instead of 0 s"),
        Parameter("normaliser", "beats", choices=("beats", "impulses"), help="items counted in the denominator"),
        Parameter("rounding", "half_even", choices=("half_even", "half_up"), help="rounding of the window to frames"),
        _TRIM,
    ),
    pooling="micro",
    perfect_exceptions=f"{_ONE_BEAT}; other values if beats are so close together that several share a window",
    literature="@mckinney2007; equations 9 and 10 of @downie2010",
    summary="number of coincidences of impulses within a share of the beat, over the larger number of beats; above 1 "
    "if an impulse coincides with several, which can happen if beats are much closer than the median interval",
)(kernel.p_score)


_CONTINUITY = {
    "cmlc": (
        "Correct Metric Level Continuous",
        "longest run of correct beats at the annotated level, over the larger number of beats",
    ),
    "cmlt": (
        "Correct Metric Level Total",
        "number of correct beats at the annotated level, over the larger number of beats",
    ),
    "amlc": ("Any Metric Level Continuous", "largest CMLc for the reference at five levels"),
    "amlt": ("Any Metric Level Total", "largest CMLt for the reference at five levels"),
}


@family(
    _LARGER_COUNT,
    {
        name: {
            "title": name[:3].upper() + name[3],
            "key": key,
            "aliases": (name[:3].upper() + name[3],),
            "summary": summary,
        }
        for name, (key, summary) in _CONTINUITY.items()
    },
    needs="intervals",
    mir_eval="continuity",
    parameters=(
        *(
            Parameter(name, 0.175, help=f"largest {what}", least=0.0, mir_eval=f"continuity_{name}_threshold")
            for name, what in (
                ("phase", "deviation of a beat as a share of the interval"),
                ("period", "deviation of an interval as a share of it"),
            )
        ),
        _TRIM,
    ),
    pooling="micro",
    perfect_exceptions=f"{_ONE_BEAT}; less than 1 if reference beats are repeated",
    literature="@hainsworth2004; @klapuri2006; @davies2009",
)
def continuity(what: str, batch: Batch, measure: Measure) -> Scored:
    """Longest run, or number, of correct beats at the annotated or at the best level."""
    longest, total, denominator = kernel.continuity(batch, measure)
    return at_level(what.startswith("aml"), longest if what.endswith("c") else total, denominator)


information_gain = metric(
    "Information gain",
    _TRACKS,
    key="Information gain",
    needs="intervals",
    parameters=(
        Parameter("bins", 41, help="number of bins of the histogram", least=2, mir_eval="bins"),
        Parameter(
            "edges", "uniform", choices=("uniform", "half_ends"), help="equal bins, or one more with half-width ends"
        ),
        Parameter("normalise", True, help="whether to divide by the entropy of a uniform histogram; otherwise in bits"),
        _TRIM,
    ),
    pooling="none",
    perfect_exceptions=f"{_ONE_BEAT}; NaN if all beats are at the same time",
    literature="@davies2011",
    summary="distance of the histogram of beat errors from a uniform one, for the worse of both directions",
)(kernel.information_gain)


f_measure_best = metric(
    "F-measure at the best metrical level",
    _MEAN_COUNT_AT_BEST,
    name="f_measure_best",
    summary="largest F-measure for the reference at several metrical levels",
    aliases=("Max F-Measure",),
    parameters=(_WINDOW, _LEVELS, _MATCHING, _TRIM),
    pooling="micro",
    default=False,
    literature="@nieto2019",
)(kernel.f_measure)


METRICS = metrics_in(globals())
_BATCH = 2**16  # Beats of both sides processed at once, so that results fit into the cache


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score pairs of beat sequences cleaned by :func:`mirflow.metrics.events.clean`, as mir_eval does.

    Scores are 0 if a side is empty, or has a single beat and the measure needs an interval. As in mir_eval, the P-score
    is refused if all reference beats are in one frame of 10 ms.
    """
    values = np.zeros((2, len(pairs), len(measures)))
    refused: dict[int, str] = {}
    for trim in dict.fromkeys(float(measure["trim"]) for measure in measures):
        left, right = (rows.keep(rows.columns["time"] >= trim) for rows in (pairs.references, pairs.estimates))
        late = replace(pairs, references=left, estimates=right)
        for part in batches(late.sizes, _BATCH):
            chosen = late[part] if len(late) > 1 else late
            counts, out = chosen.counts, values[:, part]
            fewest = np.minimum(*counts)
            least = 2 if (fewest != 1).all() else 1  # without pairs of a single beat, all measures share a batch
            shared: dict[int, tuple[Int, Batch]] = {}
            for column, measure in enumerate(measures):
                if float(measure["trim"]) != trim:
                    continue
                needed = 2 if measure.metric.needs == "intervals" else least
                if needed not in shared:
                    enough = (fewest >= needed).nonzero()[0]
                    shared[needed] = enough, Batch(*(events_of(rows, row[enough]) for rows, row in chosen.sides))
                enough, batch = shared[needed]
                scored: Int | slice = enough
                if len(enough) == len(chosen):
                    scored = slice(None)
                else:
                    out[1, :, column] = COUNTS[measure.metric.counts](*counts)
                    if measure.metric.orientation == "lower":
                        out[0, fewest < needed, column] = np.nan  # without matched beats there is no error, not even 0
                    if not len(enough):
                        continue
                out[0, scored, column], out[1, scored, column], *measurable = measure.read(batch)
                alike = enough[~np.all(measurable, axis=0)].tolist() if measurable else []
                refused |= {part.start + pair: TOO_CLOSE for pair in alike}
    if refused:
        values[0, list(refused)] = np.nan
    return Scores(values[0], values[1], refused=refused)


_MIREX: dict[str, Value] = {
    "matching": "greedy",
    "remove_offset": False,
    "normaliser": "impulses",
    "rounding": "half_up",
    "bins": 40,
    "edges": "half_ends",
    "normalise": False,
}
"""Parameters in which MIREX (the Beat Evaluation Toolbox) differs from mir_eval."""


_CHANGED: dict[str, dict[str, Any]] = {
    "information_gain": {"range": (0.0, float("inf")), "unit": "bit", "perfect": None},
    "f_measure": {"perfect_exceptions": CLOSE},
    "f_measure_best": {"perfect_exceptions": CLOSE},
}


def suspect_early(measures: Sequence[Measure], annotations: Collection) -> Bool:
    """Mask annotations with only beats that are left out."""
    trim = min((float(each["trim"]) for each in measures if "trim" in each.parameters), default=-np.inf)
    time = annotations.rows.columns["time"]
    return ~annotations.holding(time >= trim) | annotations.holding(np.isnan(time))


def doubt_trim(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str:
    """Report a reference, or both sides, with only beats that are so early that they are left out."""
    trims = {measure.metric.name: float(measure["trim"]) for measure in measures if "trim" in measure.parameters}
    trim = min(trims.values(), default=-np.inf)
    last = [float(side.columns["time"].max(initial=-np.inf)) for side in (reference, estimate)]
    if last[0] >= trim:
        return ""
    remedy = f"trim=0 counts them, as in {next(iter(trims))}(trim=0)"
    if last[1] >= trim:
        return f"all beats of the reference are before {trim:g} s and left out, so none can be found: {remedy}"
    return f"all beats of both sides are before {trim:g} s and left out, so nothing is measured: {remedy}"


_EARLY = Doubt(
    "early_beats",
    "all beats of the reference, or of both sides, are so early that they are left out (`trim`)",
    of_pair=doubt_trim,
    suspects=suspect_early,
)
_TEMPI = (30.0, 300.0)
"""Beats per minute of usual tempi."""
_FAR = 5.0
"""Seconds by which neighbouring beats are not apart, nor the only two downbeats."""
_NO_BEATS = frozenset(("B", "D", "Db"))
"""Names of chords that may as well stand for beats and downbeats."""


def doubt_tempi(annotation: Annotation, far: float = _FAR) -> str:
    """Report times that are a tempo or a list of tempi: usual tempi only, far apart, or alike and not ascending.

    Three times or more are far apart if `far` seconds are between neighbours.

    Examples
    --------
    >>> doubt_tempi(Annotation("events", {"time": np.array([120.0, 119.5, 121.0])}))  # doctest: +ELLIPSIS
    'the 3 times are from 119.5 to 121 and do not ascend: are they tempi in beats per minute? ...'
    >>> doubt_tempi(Annotation("events", {"time": np.array([60.0, 90.0, 120.0])}))  # doctest: +ELLIPSIS
    'the 3 times are from 60 to 120 and at least 5 s apart: are they tempi in beats per minute? ...'
    >>> doubt_tempi(Annotation("events", {"time": np.array([120.0, 120.5, 121.0, 121.5])}))
    ''
    """
    times = annotation.columns["time"]
    count, (low, high) = len(times), _TEMPI
    if not count or not (times.min() >= low and times.max() <= high):
        return ""
    steps = np.diff(times)
    far = far if count > 2 else _FAR
    apart = bool((np.abs(steps) >= far).all())
    if not apart and (times.max() > 2 * times.min() or 3 * np.count_nonzero(steps <= 0) < count - 1):
        return ""
    expected = "in beats per minute? Times of beats are expected"
    if count < 3:
        what = "the only time is" if count == 1 else "the only times are"
        asked = "is it a tempo" if count == 1 else "are they tempi"
        return f"{what} {' and '.join(f'{time:g}' for time in times.tolist())}: {asked} {expected}"
    reason = f"at least {far:g} s apart" if apart else "do not ascend"
    return f"the {count} times are from {times.min():g} to {times.max():g} and {reason}: are they tempi {expected}"


def doubt_chords(annotation: Annotation) -> str:
    """Report beats that are labelled with chords, as of a file of chords.

    Examples
    --------
    >>> doubt_chords(Annotation("events", {"time": np.arange(3.0)}, ["C", "G", "Am"]))
    "labels such as 'Am' and 'C' are chords: are the times beginnings of chords? Then use task chord"
    """
    names = sorted({*(annotation.labels or ())} - {"", "N", "X"})
    if len(annotation) < 3 or len(names) < 2 or _NO_BEATS.issuperset(names):
        return ""
    for label in names:
        if label[0] not in "ABCDEFG":
            return ""
        try:
            if translate_symbol(label) is None:
                parse_chord(label)
        except InvalidChordException:
            return ""
    shown = f"{names[0]!r} and {names[1]!r}"
    return f"labels such as {shown} are chords: are the times beginnings of chords? Then use task chord"


def suspect_tempi(measures: Sequence[Measure], annotations: Collection) -> Bool:
    """Mask annotations whose times are all usual tempi."""
    low, high = _TEMPI
    times = annotations.rows.columns["time"]
    return (annotations.rows.counts[0] > 0) & ~annotations.holding((times < low) | (times > high))


def suspect_labels(form: str, measures: Sequence[Measure], annotations: Collection) -> Bool:
    """Mask all annotations if any label has the form of a regular expression."""
    vocabulary = annotations.rows.labels or ()
    return np.full(len(annotations), any(re.match(form, label) for label in vocabulary), dtype=np.bool_)


DOUBTS = (
    Doubt(
        "tempi",
        "times of beats are a tempo, or tempi: numbers from 30 to 300, far apart, or alike and not ascending",
        of_side=doubt_tempi,
        suspects=suspect_tempi,
    ),
    Doubt(
        "chords",
        "beats are labelled with names of chords, as in a file of chords",
        of_side=doubt_chords,
        suspects=partial(suspect_labels, "[A-G]"),
    ),
)
_evidence = partial(evidence, "beats", METRICS)
MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: beats before 5 s are left out",
    METRICS,
    clean,
    score,
    explain=_evidence,
    doubts=(_EARLY,),
    literature="@raffel2014",
    counted=True,
)
MIREX = replace(
    MIR_EVAL,
    name="mirex",
    summary="MIREX: greedy matching, P-score on frames from 0 s, information gain in bits with half-width end bins",
    metrics=tuple(replace(record.with_defaults(**_MIREX), **_CHANGED.get(record.name, {})) for record in METRICS),
    literature="@downie2010",
)
CONVENTIONS = by_name(MIR_EVAL, MIREX, madmom.CONVENTION)

TASK = Task(
    "beat",
    "Beat tracking",
    CONVENTIONS,
    ("f_measure",),
    {MIREX.name: ("p_score", "f_measure")},
    errors=BEATS,
    doubts=DOUBTS,
)
