"""The segment metrics: their records, readings, cleaning, evidence, and the conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...annotations.schema import KINDS
from ...annotations.validation import inspect
from ...errors import AnnotationError, MetricError
from ...kernels.intervals import batches
from ...ragged import Column, Float, Int, Ragged
from ..base import (
    Cleaned,
    Convention,
    Grid,
    Measure,
    Metric,
    Parameter,
    Scores,
    Task,
    Weight,
    metric,
    metrics_in,
    refuse_grid,
    refuse_unjudged,
)
from ..cleaning import set_aside, usable
from ..events import matched
from . import kernel as of
from . import mirex
from .kernel import (
    MOST_FRAMES,
    Boundaries,
    Given,
    LabelAgreement,
    LabelledSpans,
    PairScores,
    Scored,
    Three,
    count_misfits,
    detect,
    deviate,
    encode,
    find_boundaries,
    fit_estimate,
    fit_reference,
    tabulate_sides,
    take,
    too_long,
)

_IMPOSSIBLE = ("not_finite", "too_late", "reversed")
_IRREGULAR = ("zero_length", "negative", "unsorted", "overlap", "gap")


def clean(rows: Ragged) -> Cleaned:
    """Make rows fit for mir_eval's rules.

    Intervals without length are dropped, and those before time 0 cut; both are counted, and so are intervals out of
    order, overlaps and gaps, which stay as they are: of intervals that overlap, the later row counts.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns start, end (float64, seconds) and label.

    Returns
    -------
    Cleaned
        Flaws are times that are not finite, and intervals that end before they start.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([-1.0, 2.0, 2.0]), "end": np.array([2.0, 2.0, 3.0]),
    ...                "label": np.array([0, 0, 0])}, (np.array([3]),), ("A",))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.columns["start"].tolist(), cleaned.repairs.tolist()
    ([0.0, 2.0], [2])
    """
    cleaned = _look_through(rows)
    start, end = (np.maximum(cleaned.rows.columns[name], 0.0) for name in ("start", "end"))
    if (end > start).all() and (start == cleaned.rows.columns["start"]).all():
        return cleaned
    cut = Ragged({**cleaned.rows.columns, "start": start, "end": end}, cleaned.rows.counts, rows.labels)
    return replace(cleaned, rows=cut.keep(end > start))


def clean_as_given(rows: Ragged) -> Cleaned:
    """The same for convention mirex, which takes all other intervals as they are.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 2.0]), "end": np.array([2.0, 1.0]), "label": np.array([0, 0])},
    ...               (np.array([2]),), ("A",))
    >>> clean_as_given(rows).flaws[0].message
    'interval ends before it starts: 2.0 to 1.0 s'
    """
    return _look_through(rows)


def _look_through(rows: Ragged) -> Cleaned:
    """Rows with impossible times set aside, and what is irregular counted."""
    findings = inspect(KINDS["intervals"], rows)
    irregular = np.zeros(len(rows.columns["start"]), dtype=np.bool_)
    for name in findings.keys() & set(_IRREGULAR):
        irregular |= findings[name].items
    found = [findings[name] for name in _IMPOSSIBLE if name in findings]
    return set_aside(rows, [(one.items, partial(one.describe, rows)) for one in found], irregular)


class Reader(PairScores):
    """Scores of some pairs; what several measures need is computed once.

    Parameters
    ----------
    references, estimates : LabelledSpans
        One row a pair, fitted to each other.
    end : float64 (pairs,), seconds
        Where the frames of both sides end.
    """

    def __init__(self, references: LabelledSpans, estimates: LabelledSpans, end: Float) -> None:
        super().__init__()
        self._sides = references, estimates
        self._end = end
        self._boundaries: dict[bool, tuple[Boundaries, Boundaries]] = {}
        self._agreements: dict[float, LabelAgreement] = {}

    def boundaries(self, trim: bool) -> tuple[Boundaries, Boundaries]:
        """The boundaries of both sides."""
        if False not in self._boundaries:
            self._boundaries[False] = find_boundaries(self._sides[0]), find_boundaries(self._sides[1])
        if trim not in self._boundaries:
            references, estimates = self._boundaries[False]
            self._boundaries[trim] = references.trim(), estimates.trim()
        return self._boundaries[trim]

    def agreement(self, given: Given) -> LabelAgreement:
        """What is known of the labels of frames."""
        frame_size = float(given["frame_size"])
        if frame_size not in self._agreements:
            table = tabulate_sides(*self._sides, self._end, frame_size)
            self._agreements[frame_size] = LabelAgreement(table, frame_size)
        return self._agreements[frame_size]

    def detection(self, given: Given) -> Three:
        """Precision, recall and F-measure of boundaries."""
        sides = self.boundaries(bool(given["trim"]))
        return detect(*sides, float(given["window"]), float(given["beta"]), str(given["matching"]))

    def deviation(self, given: Given) -> tuple[Scored, ...]:
        """Deviations from the reference to the estimate, and from the estimate to the reference."""
        return deviate(*self.boundaries(bool(given["trim"])), str(given["median"]))

    def pairwise(self, given: Given) -> Three:
        """Precision, recall and F-measure of pairs of frames."""
        return of.pairwise(self.agreement(given), float(given["beta"]))

    def rand(self, given: Given) -> Scored:
        """The Rand index."""
        return of.rand(self.agreement(given))

    def entropy(self, given: Given) -> Three:
        """Conditional entropies of the estimate and of the reference, and their F-measure."""
        marginal, single = bool(given["marginal"]), float(given["single_label"])
        return of.conditional_entropy(self.agreement(given), float(given["beta"]), marginal, single)

    def v_measure(self, given: Given) -> Three:
        """The V-measure with its precision and recall."""
        return of.conditional_entropy(self.agreement(given), float(given["beta"]), True, 0.0)


_TURNBULL = "Turnbull et al., A supervised approach for detecting boundaries in music, ISMIR 2007"
_LEVY = "Levy and Sandler, Structural segmentation of musical audio by constrained clustering, IEEE TASLP 16(2), 2008"
_HUBERT = "Hubert and Arabie, Comparing partitions, Journal of Classification 2, 1985"
_VINH = "Vinh, Epps and Bailey, Information theoretic measures for clusterings comparison, JMLR 11, 2010"
_STREHL = "Strehl and Ghosh, Cluster ensembles, JMLR 3, 2002"
_LUKASHEVICH = "Lukashevich, Towards quantitative measures of evaluating song segmentation, ISMIR 2008"
_ROSENBERG = "Rosenberg and Hirschberg, V-measure, EMNLP-CoNLL 2007"

_WINDOW = Parameter("window", 0.5, "s", help="largest distance of boundaries that match", least=0)
_BETA = Parameter("beta", 1.0, help="how many times as much recall counts as precision", least=0, mir_eval="beta")
_TRIM = Parameter("trim", False, help="leave out the first and the last boundary of each side", mir_eval="trim")
_MATCHING = Parameter(
    "matching", "optimal", choices=("optimal", "nearest"), help="as many matches as possible, or the nearest first"
)
_MEDIAN = Parameter(
    "median", "middle", choices=("middle", "upper"), help="of an even number: mean of the middle two, or the upper one"
)
_FRAME = Parameter("frame_size", 0.1, "s", help="distance of the frames", above=0, mir_eval="frame_size")
_MARGINAL = Parameter(
    "marginal", False, help="normalise by the entropy of the labels, as the V-measure does", mir_eval="marginal"
)
_SINGLE = Parameter("single_label", 0.0, help="the score of a side with a single label")
_ONE_FRAME = "NaN for a reference shorter than two frames, or where no two frames have the same label"
_ONE_LABEL = "0 (see single_label) where the reference has a single label"
_ENTROPIES = (_MARGINAL, _SINGLE)
_WANTED = Weight("number of boundaries of the reference", "boundaries")
_ESTIMATED = Weight("number of boundaries of the estimate", "boundaries")

_boundary = partial(
    metric,
    pooling="micro",
    parameters=(_WINDOW, _TRIM, _MATCHING),
    perfect_exceptions="0 where trimming leaves no boundary",
    literature=_TURNBULL,
    itemwise=True,
)
_deviation = partial(
    metric,
    range=(0.0, float("inf")),
    orientation="lower",
    unit="s",
    pooling="none",
    perfect=0.0,
    perfect_exceptions="NaN where trimming leaves no boundary",
    parameters=(_TRIM, _MEDIAN),
    literature=_TURNBULL,
)
_of_frames = partial(metric, pooling="micro", parameters=(_FRAME,))
_paired = partial(_of_frames, literature=_LEVY, perfect_exceptions=_ONE_FRAME)
_entropy = partial(_of_frames, parameters=(_FRAME, *_ENTROPIES), literature=_LUKASHEVICH, perfect_exceptions=_ONE_LABEL)
_v_measure = partial(_of_frames, literature=_ROSENBERG, perfect_exceptions="0 where the reference has a single label")


@_boundary("Precision", _ESTIMATED, key="Precision")
def precision(reader: Reader, measure: Measure) -> Scored:
    """Share of the estimate's boundaries that match one of the reference."""
    return reader.once(reader.detection, measure)[0]


@_boundary("Recall", _WANTED, key="Recall")
def recall(reader: Reader, measure: Measure) -> Scored:
    """Share of the reference's boundaries that match one of the estimate."""
    return reader.once(reader.detection, measure)[1]


@_boundary(
    "F-measure",
    Weight("(beta^2 * boundaries of the reference + boundaries of the estimate) / (1 + beta^2)", "boundaries"),
    key="F-measure",
    parameters=(_WINDOW, _BETA, _TRIM, _MATCHING),
)
def f_measure(reader: Reader, measure: Measure) -> Scored:
    """Harmonic mean of precision and recall of boundaries."""
    return reader.once(reader.detection, measure)[2]


@_deviation("Ref-to-est deviation", _WANTED, key="Ref-to-est deviation")
def deviation_ref_to_est(reader: Reader, measure: Measure) -> Scored:
    """Median time from a boundary of the reference to the nearest of the estimate."""
    return reader.once(reader.deviation, measure)[0]


@_deviation("Est-to-ref deviation", _ESTIMATED, key="Est-to-ref deviation")
def deviation_est_to_ref(reader: Reader, measure: Measure) -> Scored:
    """Median time from a boundary of the estimate to the nearest of the reference."""
    return reader.once(reader.deviation, measure)[1]


@_paired(
    "Pairwise Precision",
    Weight("pairs of frames with one label in the estimate", "pairs of frames"),
    key="Pairwise Precision",
)
def pairwise_precision(reader: Reader, measure: Measure) -> Scored:
    """Of the pairs of frames with one label in the estimate, the share with one label in the reference."""
    return reader.once(reader.pairwise, measure)[0]


@_paired(
    "Pairwise Recall",
    Weight("pairs of frames with one label in the reference", "pairs of frames"),
    key="Pairwise Recall",
)
def pairwise_recall(reader: Reader, measure: Measure) -> Scored:
    """Of the pairs of frames with one label in the reference, the share with one label in the estimate."""
    return reader.once(reader.pairwise, measure)[1]


@_paired(
    "Pairwise F-measure",
    Weight(
        "(beta^2 * pairs with one label in the reference + those in the estimate) / (1 + beta^2)", "pairs of frames"
    ),
    key="Pairwise F-measure",
    parameters=(_FRAME, _BETA),
)
def pairwise_f_measure(reader: Reader, measure: Measure) -> Scored:
    """Harmonic mean of pairwise precision and recall."""
    return reader.once(reader.pairwise, measure)[2]


@_of_frames(
    "Rand Index",
    Weight("all pairs of frames", "pairs of frames"),
    key="Rand Index",
    literature=_HUBERT,
    perfect_exceptions="NaN for a reference shorter than two frames",
)
def rand_index(reader: Reader, measure: Measure) -> Scored:
    """Share of the pairs of frames that both sides label equally, or both differently."""
    return reader.rand(measure.parameters)


@_of_frames(
    "Adjusted Rand Index",
    Weight("how far above chance it could be, in pairs of frames", "pairs of frames"),
    summary="Rand index corrected for chance",
    key="Adjusted Rand Index",
    literature=_HUBERT,
    range=(-1.0, 1.0),
)
def adjusted_rand_index(reader: Reader, measure: Measure) -> Scored:
    """Rand index corrected for chance."""
    return of.adjusted_rand(reader.agreement(measure.parameters))


@_of_frames(
    "Mutual Information",
    Weight("length of all frames", "s"),
    key="Mutual Information",
    literature=_STREHL,
    range=(0.0, float("inf")),
    unit="nat",
    perfect=None,
    perfect_exceptions="it is the entropy of the reference's labels",
)
def mutual_information(reader: Reader, measure: Measure) -> Scored:
    """What the labels of one side tell about those of the other."""
    return of.information(reader.agreement(measure.parameters))


@_of_frames(
    "Adjusted Mutual Information",
    Weight("how far above chance it could be, times the length of all frames", "nat s"),
    key="Adjusted Mutual Information",
    literature=_VINH,
    range=(float("-inf"), 1.0),
)
def adjusted_mutual_information(reader: Reader, measure: Measure) -> Scored:
    """Mutual information corrected for chance."""
    return of.adjusted_information(reader.agreement(measure.parameters))


@_of_frames(
    "Normalized Mutual Information",
    Weight("geometric mean of both entropies, times the length of all frames", "nat s"),
    key="Normalized Mutual Information",
    literature=_STREHL,
)
def normalized_mutual_information(reader: Reader, measure: Measure) -> Scored:
    """Mutual information over the geometric mean of both entropies."""
    return of.normalized_information(reader.agreement(measure.parameters))


@_entropy(
    "NCE Over",
    Weight("largest possible entropy of the estimate's labels, times the length of all frames", "bit s"),
    key="NCE Over",
)
def nce_over(reader: Reader, measure: Measure) -> Scored:
    """1 - entropy of the estimate's labels given the reference's, normalised."""
    return reader.once(reader.entropy, measure)[0]


@_entropy(
    "NCE Under",
    Weight("largest possible entropy of the reference's labels, times the length of all frames", "bit s"),
    key="NCE Under",
)
def nce_under(reader: Reader, measure: Measure) -> Scored:
    """1 - entropy of the reference's labels given the estimate's, normalised."""
    return reader.once(reader.entropy, measure)[1]


@_entropy(
    "NCE F-measure",
    Weight("(beta^2 * weight of nce_under + weight of nce_over) / (1 + beta^2)", "bit s"),
    key="NCE F-measure",
    pooling="none",
    parameters=(_FRAME, _BETA, *_ENTROPIES),
)
def nce_f(reader: Reader, measure: Measure) -> Scored:
    """Harmonic mean of nce_over and nce_under."""
    return reader.once(reader.entropy, measure)[2]


@_v_measure(
    "V Precision",
    Weight("entropy of the estimate's labels, times the length of all frames", "bit s"),
    key="V Precision",
)
def v_precision(reader: Reader, measure: Measure) -> Scored:
    """Share of the estimate's entropy that the reference explains."""
    return reader.once(reader.v_measure, measure)[0]


@_v_measure(
    "V Recall", Weight("entropy of the reference's labels, times the length of all frames", "bit s"), key="V Recall"
)
def v_recall(reader: Reader, measure: Measure) -> Scored:
    """Share of the reference's entropy that the estimate explains."""
    return reader.once(reader.v_measure, measure)[1]


@_v_measure(
    "V-measure",
    Weight("(beta^2 * weight of v_recall + weight of v_precision) / (1 + beta^2)", "bit s"),
    key="V-measure",
    parameters=(_FRAME, _BETA),
)
def v_measure(reader: Reader, measure: Measure) -> Scored:
    """Harmonic mean of v_precision and v_recall."""
    return reader.once(reader.v_measure, measure)[2]


METRICS = metrics_in(globals())

_AT_ONCE = 1 << 13
"""How many intervals are worked on at once: what stays in the cache."""


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs by mir_eval's rules.

    Parameters
    ----------
    references, estimates : Ragged
        Columns start, end (float64, seconds) and label; rows as :func:`mirflow.metrics.segment.metrics.clean` leaves
        them. An empty reference gives score 0 (a deviation NaN) and weight 0.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
        Of convention mir_eval.
    grid : "union"
        There is no other: metrics of labels have a frame size of their own.

    Returns
    -------
    Scores
        Equal to mir_eval's. A pair's numbers do not depend on what it is batched with, to the bit.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> reference = Ragged({"start": np.array([0.0, 6.0]), "end": np.array([6.0, 10.0]), "label": np.array([0, 1])},
    ...                    (np.array([2]),), ("verse", "chorus"))
    >>> estimate = Ragged({"start": np.array([0.0]), "end": np.array([10.0]), "label": np.array([0])},
    ...                   (np.array([1]),), ("A",))
    >>> row, wanted = np.array([0]), get_task("segment").convention().select(["precision", "recall@3.0"])
    >>> score(reference, estimate, row, row, wanted).score.round(3).tolist()
    [[1.0, 0.667]]
    """
    refuse_grid(grid, "segments")
    values = np.zeros((2, len(reference_row), len(measures)))
    values[0][:, [measure.metric.unit == "s" for measure in measures]] = np.nan
    repairs = np.zeros(len(reference_row), dtype=np.int64)
    refused: dict[int, str] = {}
    heard = np.flatnonzero(references.counts[0][reference_row] > 0)
    codes = encode(references.labels), encode(estimates.labels)
    rows = reference_row[heard], estimate_row[heard]
    for part in batches(references.counts[0][rows[0]] + estimates.counts[0][rows[1]] + 2, _AT_ONCE):
        pairs = heard[part]
        given = take(references, rows[0][part], codes[0].of_label), take(estimates, rows[1][part], codes[1].of_label)
        end = given[0].latest()
        repairs[pairs] = count_misfits(*given, end)
        sides = fit_reference(given[0], codes[0]), fit_estimate(given[1], codes[1], end)
        values[:, pairs], of_part = read_sides(*sides, end, measures)
        refused |= {int(pairs[place]): message for place, message in of_part.items()}
    return Scores(values[0], values[1], {}, refused, repairs)


def read_sides(
    references: LabelledSpans, estimates: LabelledSpans, end: Float, measures: Sequence[Measure]
) -> tuple[Float, dict[int, str]]:
    """Scores and weights of fitted sides, float64 (2, pairs, measures), and the pairs that are refused."""
    values = np.zeros((2, len(end), len(measures)))
    sizes = {float(m["frame_size"]) for m in measures if "frame_size" in m.parameters}
    for size in sizes:
        if not 0 < size < np.inf:
            raise MetricError(f"a frame size has to be above 0: {size!r}")
    shown = {size: np.flatnonzero(too_long(end, size)) for size in sizes}
    refused = {
        int(place): f"reference: ends at {end[place]} s, too late for frames of {size} s "
        f"(more than {MOST_FRAMES}); are its times in seconds?"
        for size, places in shown.items()
        for place in places
    }
    short = end.copy()
    short[list(refused)] = 0.0
    reader = Reader(references, estimates, short)
    for column, measure in enumerate(measures):
        values[:, :, column] = measure.read(reader)
    values[0, list(refused)], values[1, list(refused)] = np.nan, 0.0
    return values, refused


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The boundaries of both sides, fitted to each other, with what became of them.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind intervals.
    measure : Measure
        ``precision``, ``recall`` or ``f_measure`` of convention mir_eval.

    Returns
    -------
    dict of str to array
        ``reference`` and ``estimate`` (float64, seconds; NaN where the other side has no match), in order of time, and
        ``verdict``: ``hit``, ``missed`` or ``extra``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored or the reference is empty.
    MetricError
        If the measure does not judge boundaries one by one.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def song(*bounds):
    ...     times = np.array(bounds)
    ...     return Annotation("intervals", {"start": times[:-1], "end": times[1:]}, ["a"] * (len(bounds) - 1))
    >>> measure = get_task("segment").convention().select(["recall"])[0]
    >>> evidence(song(0.0, 10.0, 30.0), song(0.0, 10.3, 20.0, 30.0), measure)["verdict"].tolist()
    ['hit', 'hit', 'extra', 'hit']
    """
    refuse_unjudged(measure, METRICS, "boundaries")
    rows = [
        usable(annotation, clean(to_ragged([annotation])), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    ]
    if not len(rows[0].columns["start"]):
        raise AnnotationError("the reference is empty, so there is nothing to explain")
    codes = [encode(side.labels) for side in rows]
    only = np.zeros(1, dtype=np.int64)
    given = [take(side, only, code.of_label) for side, code in zip(rows, codes, strict=True)]
    fitted = fit_reference(given[0], codes[0]), fit_estimate(given[1], codes[1], given[0].latest())
    found = [find_boundaries(side) for side in fitted]
    if measure["trim"]:
        found = [side.trim() for side in found]
    return matched(found[0].time, found[1].time, float(measure["window"]), str(measure["matching"]))


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
