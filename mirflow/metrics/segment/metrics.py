"""The segment metrics: their declarations, cleaning, scores, evidence, kinds of errors, conventions, and the task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation
from ...annotations.grids import LABELS
from ...errors import MetricError
from ...kernels.clustering import expected_mutual_information, tabulate
from ...kernels.intervals import batches
from ...kernels.matching import match_nearest_first
from ...kernels.ratios import Scored, divide
from ...ragged import Bool, Column, Float, Ragged
from ..base import (
    GRIDS,
    Convention,
    Grid,
    Pairs,
    Scores,
    Sparse,
    Task,
    by_name,
    read_scores,
    refuse_unjudged,
    score_on_frames,
)
from ..cleaning import NO_TIMES, Cleaned, inspected, set_aside, usable_pair
from ..constants import SINGLE_LABEL
from ..edits import RIGHT, ErrorBudget, ErrorKind, LabelRows, LabelSpans, Mending, kinds_in, number_texts
from ..event_errors import pair_up
from ..events import matched
from ..measures import Family, Measure, Metric, Parameter, Value, Weight, family, metrics_in, select
from . import functions, kernel


def clean(rows: Ragged) -> Cleaned:
    """Clean rows of intervals for mir_eval's rules.

    Empty intervals are dropped, and those before time 0 cut; both are counted. Unordered intervals, overlaps and gaps
    are only counted; later rows take precedence in overlaps. Flaws are times that are not finite, and reversed
    intervals.
    """
    cleaned = clean_as_given(rows)
    start, end = (np.maximum(cleaned.rows.columns[name], 0.0) for name in ("start", "end"))
    if (end > start).all() and (start == cleaned.rows.columns["start"]).all():
        return cleaned
    cut = Ragged({**cleaned.rows.columns, "start": start, "end": end}, cleaned.rows.counts, rows.labels)
    return replace(cleaned, rows=cut.keep(end > start))


def clean_as_given(rows: Ragged) -> Cleaned:
    """Clean rows for convention mirex, which uses all intervals that are not reversed unmodified."""
    irregular = ("zero_length", "negative", "unsorted", "overlap", "gap")
    return set_aside(rows, *inspected("intervals", rows, (*NO_TIMES, "reversed"), irregular)[1:])


@dataclass(eq=False)
class FittedScores(kernel.PairScores):
    """Scores of pairs by mir_eval's rules."""

    sides: tuple[kernel.LabelledSpans, kernel.LabelledSpans]  # Spans with one row per pair, fitted to each other
    ends: tuple[Float, Float]  # Ends of the frames of each side: float64 (pairs,) each, seconds
    of_labels = ("frame_size",)

    def boundaries(self, given: kernel.Given) -> kernel.Both:
        """The boundaries of both sides, which may be trimmed."""
        left, right = self.sides
        sides = self.once("boundaries", lambda: (kernel.find_boundaries(left), kernel.find_boundaries(right)))
        return (sides[0].trim(), sides[1].trim()) if given["trim"] else sides

    def compare_labels(self, frame_size: Value) -> kernel.LabelAgreement:
        """Agreement of the labels of frames, or of all moments."""
        if frame_size == kernel.EXACT:
            # Seconds by the labels of both sides, from 0 to the end of each pair; frames approximate these.
            runs, times = kernel.paint_exactly(*self.sides, np.minimum(*self.ends))
            return kernel.LabelAgreement(tabulate(*runs, times), 1.0, exact=True)
        size = float(frame_size)
        left, right = (kernel.sample(side, end, size) for side, end in zip(self.sides, self.ends, strict=True))
        if (left.frames != right.frames).any():
            raise ValueError(f"the numbers of frames differ: {left.frames[0]} and {right.frames[0]}")
        return kernel.LabelAgreement(tabulate(left, right), size)

    def entropy(self, given: kernel.Given) -> kernel.Three:
        """Conditional entropies of the estimate and of the reference, and their F-measure."""
        marginal, single = bool(given.get("marginal", True)), float(given.get("single_label", 0.0))
        return kernel.conditional_entropy(self.agreement(given), float(given["beta"]), marginal, single)


_WINDOW = Parameter("window", 0.5, "s", help="largest distance of boundaries that match", least=0)
_BETA = Parameter("beta", 1.0, help="weight of recall relative to precision", least=0, mir_eval="beta")
_TRIM = Parameter("trim", False, help="leave out the first and last boundary of each side", mir_eval="trim")
_MATCHINGS, _MEDIANS = ("optimal", "nearest"), ("middle", "upper")
_MATCHING = Parameter("matching", "optimal", choices=_MATCHINGS, help="largest matching, or nearest boundaries first")
_MEDIAN = Parameter("median", "middle", "", _MEDIANS, "for even numbers: mean of the middle two, or the upper one")
_FRAME = Parameter("frame_size", 0.1, "s", help="distance of the frames", above=0, mir_eval="frame_size")
_EXACT = replace(_FRAME, help="distance of the frames; exact: durations instead of frames", words=(kernel.EXACT,))
_BY_ENTROPY = "normalise by the entropy of the labels, as the V-measure does"
_MARGINAL = Parameter("marginal", False, help=_BY_ENTROPY, mir_eval="marginal")
_SINGLE = Parameter("single_label", 0.0, choices=(0.0, 1.0), help="the score of a side with a single label")
_WANTED = Weight("number of boundaries of the reference", "boundaries")
_ESTIMATED = Weight("number of boundaries of the estimate", "boundaries")


def _read(kind: str, index: int, scores: kernel.PairScores, measure: Measure) -> Scored:
    """One of the scores of a kind, which is a method that is called once for the same parameters."""
    given = {"beta": 1.0, **measure.parameters}
    scored: Sequence[Scored] = scores.once((kind, *sorted(given.items())), lambda: getattr(scores, kind)(given))
    return scored[index]


def _of_kind(
    kind: str,
    weights: Sequence[Weight],
    parameters: tuple[Parameter, ...],
    *rows: tuple[str, str, str],
    f_pooling: str = "micro",
    **common: Any,
) -> Family:
    """Metrics that one method scores, by names, titles (mir_eval's keys) and summaries; the third is an F-measure."""
    with_beta = (*parameters[:1], _BETA, *parameters[1:])
    members = {
        index: {
            "name": name,
            "title": title,
            "key": title,
            "summary": summary,
            **({"parameters": with_beta, "pooling": f_pooling} if index == 2 else {"parameters": parameters}),
        }
        for index, (name, title, summary) in enumerate(rows)
    }
    return family(weights, members, **{"mir_eval": kind, "pooling": "micro", **common})(partial(_read, kind))


_MIXED = "(beta^2 * {} + {}) / (1 + beta^2)"
_BOTH = replace(_WANTED, words=_MIXED.format("boundaries of the reference", "boundaries of the estimate"))
_NEAREST = "median time from a boundary of the {} to the nearest of the {}"
_ONE_LABEL = "share of the pairs of frames with one label in the {} that have one label in the {}"

detection = _of_kind(
    "detection",
    (_ESTIMATED, _WANTED, _BOTH),
    (_WINDOW, _TRIM, _MATCHING),
    ("precision", "Precision", "share of the estimate's boundaries that match one of the reference"),
    ("recall", "Recall", "share of the reference's boundaries that match one of the estimate"),
    ("f_measure", "F-measure", "harmonic mean of precision and recall of boundaries"),
    perfect_exceptions="0 if trimming leaves no boundary",
    literature="@turnbull2007",
    itemwise=True,
)
deviation = _of_kind(
    "deviation",
    (_WANTED, _ESTIMATED),
    (_TRIM, _MEDIAN),
    ("deviation_ref_to_est", "Ref-to-est deviation", _NEAREST.format("reference", "estimate")),
    ("deviation_est_to_ref", "Est-to-ref deviation", _NEAREST.format("estimate", "reference")),
    range=(0.0, float("inf")),
    orientation="lower",
    unit="s",
    pooling="none",
    perfect=0.0,
    perfect_exceptions="NaN if trimming leaves no boundary",
    literature="@turnbull2007",
)
pairs_of_frames = _of_kind(
    "pairwise",
    [
        Weight(words, "pairs of frames")
        for words in (
            "pairs of frames with one label in the estimate",
            "pairs of frames with one label in the reference",
            _MIXED.format("pairs with one label in the reference", "those in the estimate"),
        )
    ],
    (_EXACT,),
    ("pairwise_precision", "Pairwise Precision", _ONE_LABEL.format("estimate", "reference")),
    ("pairwise_recall", "Pairwise Recall", _ONE_LABEL.format("reference", "estimate")),
    ("pairwise_f_measure", "Pairwise F-measure", "harmonic mean of pairwise precision and recall"),
    perfect_exceptions="NaN for a reference shorter than two frames, or if no two frames have the same label",
    literature="@levy2008",
)
_FROM_CHANCE = "largest possible difference from chance"
_INFORMATION = {"mir_eval": "mutual_information", "literature": "@strehl2002"}
_OF_RAND = {"literature": "@hubert1985", "perfect_exceptions": "NaN for a reference shorter than two frames"}
_ADJUSTED_RAND = {"literature": "@hubert1985", "mir_eval": "ari", "range": (-1.0, 1.0)}
_UNBOUNDED = {
    "range": (0.0, float("inf")),
    "unit": "nat",
    "perfect": None,
    "perfect_exceptions": "it is the entropy of the reference's labels",
}
_ADJUSTED_INFORMATION = {"literature": "@vinh2010", "range": (float("-inf"), 1.0)}


@family(
    {
        "rand_index": Weight("all pairs of frames", "pairs of frames"),
        "adjusted_rand_index": Weight(f"{_FROM_CHANCE}, in pairs of frames", "pairs of frames"),
        "mutual_information": Weight("length of all frames", "s"),
        "adjusted_mutual_information": Weight(f"{_FROM_CHANCE}, times the length of all frames", "nat s"),
        "normalized_mutual_information": Weight(
            "geometric mean of both entropies, times the length of all frames", "nat s"
        ),
    },
    {
        title.lower().replace(" ", "_"): {"title": title, "key": title, "summary": summary, **about}
        for title, summary, about in (
            ("Rand Index", "share of the pairs of frames that both sides label equally, or both differently", _OF_RAND),
            ("Adjusted Rand Index", "Rand index corrected for chance", _ADJUSTED_RAND),
            (
                "Mutual Information",
                "information that the labels of one side provide about those of the other",
                _INFORMATION | _UNBOUNDED,
            ),
            (
                "Adjusted Mutual Information",
                "mutual information corrected for chance",
                _INFORMATION | _ADJUSTED_INFORMATION,
            ),
            (
                "Normalized Mutual Information",
                "mutual information over the geometric mean of both entropies",
                _INFORMATION,
            ),
        )
    },
    pooling="micro",
    parameters=(_FRAME,),
)
def clusterings(name: str, scores: kernel.PairScores, measure: Measure) -> Scored:
    """Agreement of the labels of frames as of two clusterings."""
    agreement = scores.agreement(measure)
    table, seconds = agreement.table, agreement.table.frames * agreement.hop
    if name == "mutual_information":
        return agreement.information, seconds
    counts, frames = (table.left.counts, table.right.counts), table.frames
    single = (counts[0] == counts[1]) & (counts[0] <= 1)
    if name == "normalized_mutual_information":
        whole = np.sqrt(agreement.entropies[0] * agreement.entropies[1])
        score = agreement.information / np.maximum(whole, 1e-10)
        return np.where(single, 1.0, score), whole * seconds
    if name == "adjusted_mutual_information":
        chance, unit = expected_mutual_information(table), seconds
        gain, reach = agreement.information - chance, np.maximum(*agreement.entropies) - chance
    else:
        both, reference, estimate, every = agreement.pairs
        if name == "rand_index":
            cells, left, right = agreement.squares
            neither = (frames**2 - left - right + cells) / 2
            return divide(both + neither, every, scores.undefined), np.maximum(every, 0.0)
        chance, unit = divide(reference * estimate, every), np.ones(len(every))
        gain, reach = both - chance, (reference + estimate) / 2 - chance
    # Pairs with one class, or with as many classes as frames, on both sides agree perfectly.
    trivial = single | ((counts[0] == frames) & (counts[1] == frames))
    score = divide(gain, reach, np.nan, where=~trivial & (reach != 0))
    return np.where(trivial, 1.0, score), np.where(trivial, 0.0, np.maximum(reach, 0.0)) * unit


conditional_entropies = _of_kind(
    "entropy",
    (
        Weight("largest possible entropy of the estimate's labels, times the length of all frames", "bit s"),
        Weight("largest possible entropy of the reference's labels, times the length of all frames", "bit s"),
        Weight(_MIXED.format("weight of nce_under", "weight of nce_over"), "bit s"),
    ),
    (_EXACT, _MARGINAL, _SINGLE),
    ("nce_over", "NCE Over", "1 - entropy of the estimate's labels given the reference's, normalised"),
    ("nce_under", "NCE Under", "1 - entropy of the reference's labels given the estimate's, normalised"),
    ("nce_f", "NCE F-measure", "harmonic mean of nce_over and nce_under"),
    f_pooling="none",
    mir_eval="nce",
    perfect_exceptions="0 (see single_label) if the reference has a single label",
    literature="@lukashevich2008",
)
v_measures = _of_kind(
    "entropy",
    (
        Weight("entropy of the estimate's labels, times the length of all frames", "bit s"),
        Weight("entropy of the reference's labels, times the length of all frames", "bit s"),
        Weight(_MIXED.format("weight of v_recall", "weight of v_precision"), "bit s"),
    ),
    (_EXACT,),
    ("v_precision", "V Precision", "share of the estimate's entropy that the reference explains"),
    ("v_recall", "V Recall", "share of the reference's entropy that the estimate explains"),
    ("v_measure", "V-measure", "harmonic mean of v_precision and v_recall"),
    mir_eval="vmeasure",
    perfect_exceptions="0 if the reference has a single label",
    literature="@rosenberg2007",
)

METRICS = metrics_in(globals())

_AT_ONCE = 1 << 13  # Intervals processed at once, so that they fit into the cache


def score(
    pairs: Pairs,
    measures: Sequence[Measure],
    grid: Grid = "union",
    *,
    fitted: bool = True,
    fold: Callable[[str], str] = str.lower,
    decimals: int | None = None,
) -> Scores:
    """Score pairs by mir_eval's rules: a `Scorer`.

    An empty reference gives score 0 (NaN for deviations) and weight 0. Metrics of labels have their own frame size.
    With `fitted`, estimates are cropped and padded to the reference. Labels are compared after `fold`; times are
    rounded to `decimals` if given.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.
    """
    every = np.zeros((2, len(pairs), sum(not measure.metric.dims for measure in measures)))
    extras: dict[str, Sparse] = {}
    needs = np.array([measure.metric.needs for measure in measures if not measure.metric.dims], dtype=str)
    if unmodified := [measure for measure in measures if measure.metric.needs]:
        scores = read_scores(unmodified, functions.LabelTimes(pairs), len(pairs))
        every[:, :, needs != ""] = scores.score, scores.weight
        extras = dict(scores.extras)
    measures = [measure for measure in measures if not measure.metric.needs]
    values = np.zeros((2, len(pairs), len(measures)))
    values[0][:, [measure.metric.unit == "s" for measure in measures]] = np.nan
    repairs = np.zeros(len(pairs), dtype=np.int64)
    refused: dict[int, str] = {}
    filled = np.flatnonzero(pairs.counts[0] > 0)
    codes = kernel.encode(pairs.references.labels, fold), kernel.encode(pairs.estimates.labels, fold)
    for part in batches(pairs[filled].sizes + 2, _AT_ONCE):
        batch = filled[part]
        given = [kernel.take(*side, code.of_label) for side, code in zip(pairs[batch].sides, codes, strict=True)]
        if decimals is not None:
            given = [replace(s, start=np.round(s.start, decimals), end=np.round(s.end, decimals)) for s in given]
        end = given[0].latest()
        if fitted:  # repairs are late starts, and estimates with intervals that end before or after their limit
            late = [kernel.extreme(np.minimum, side.start, side.counts, 0.0) > 0 for side in given]
            other_end = (given[1].latest() != end) & (given[1].counts > 0)
            repairs[batch] = late[0].astype(np.int64) + late[1] + other_end
            given = [*kernel.fit(given, codes, end)]
        values[:, batch], of_part = _read_sides(given[0], given[1], end, measures)
        refused |= {int(batch[index]): message for index, message in of_part.items()}
    every[:, :, needs == ""] = values
    every[0, list(refused)], every[1, list(refused)] = np.nan, 0.0
    return Scores(every[0], every[1], extras, refused, repairs)


def _read_sides(
    references: kernel.LabelledSpans, estimates: kernel.LabelledSpans, end: Float, measures: Sequence[Measure]
) -> tuple[Float, dict[int, str]]:
    """Scores and weights of fitted sides, float64 (2, pairs, measures), and the pairs that are refused."""
    values = np.zeros((2, len(end), len(measures)))
    frame_sizes = {measure["frame_size"] for measure in measures if "frame_size" in measure.parameters}
    sizes = [float(size) for size in frame_sizes - {kernel.EXACT}]
    for size in sizes:
        if not 0 < size < np.inf:
            raise MetricError(f"the frame size must be greater than 0, got {size!r}")
    refused = {
        int(pair): f"reference: ends at {end[pair]} s, too late for frames of {size} s "
        f"(more than {kernel.MOST_FRAMES}); are its times in seconds?"
        for size in sizes
        for pair in np.flatnonzero(~(end / size < kernel.MOST_FRAMES + 1))
    }
    short = end.copy()
    short[list(refused)] = 0.0
    scores = FittedScores((references, estimates), (short, short))
    for column, measure in enumerate(measures):
        values[:, :, column] = measure.read(scores)
    values[0, list(refused)], values[1, list(refused)] = np.nan, 0.0
    return values, refused


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, *, fitted: bool = True
) -> dict[str, Column]:
    """Return the boundaries of both sides, fitted to each other, with verdicts: an `Explainer`.

    Columns are ``reference`` and ``estimate`` (seconds; NaN if not matched), in order of time, and ``verdict``:
    ``hit``, ``missed`` or ``extra``. Metrics of functional labels return stretches between boundaries; see
    `functions.evidence`.
    """
    cleaner = clean if fitted else clean_as_given
    if measure.metric.needs:
        refuse_unjudged(measure, (*METRICS, *functions.METRICS), "stretches of time")
        return functions.evidence(reference, estimate, measure, cleaner)
    refuse_unjudged(measure, METRICS, "boundaries")
    rows = usable_pair(reference, estimate, cleaner, filled=1)
    codes = [kernel.encode(side.labels) for side in rows]
    spans = [kernel.take(side, np.zeros(1, int), code.of_label) for side, code in zip(rows, codes, strict=True)]
    if fitted:
        spans = [*kernel.fit(spans, codes, spans[0].latest())]
    boundaries = [kernel.find_boundaries(side) for side in spans]
    if measure["trim"]:
        boundaries = [side.trim() for side in boundaries]
    return matched(boundaries[0].time, boundaries[1].time, float(measure["window"]), str(measure["matching"]))


_KINDS = (
    ErrorKind("shifted", "boundaries that are early or late by up to 3 s"),
    ErrorKind("missing", "boundaries of the reference without an estimate"),
    ErrorKind("extra", "estimated boundaries without one of the reference"),
    ErrorKind("labels", "labels of segments, whatever their boundaries"),
)
_SHIFTED, _MISSING, _EXTRA, _LABELS = range(len(_KINDS))


def find_errors(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Mending:
    """Find the edits of boundaries, and of the side that the labels are taken from."""
    codes = {label: code for code, label in enumerate(dict.fromkeys((*reference.labels, *estimate.labels)))}
    sides = []
    for rows in (reference, estimate):
        numbers = np.array([*(codes[label] for label in rows.labels), -1], dtype=np.int64)
        sides.append(LabelSpans(rows, np.append(numbers[rows.columns["label"]], -1), carry=False))
    bounds = [np.unique(np.concatenate([side.start, side.end])) for side in sides]
    every = np.concatenate(bounds)
    order = np.argsort(every, kind="stable")
    kinds_of = np.full(len(bounds[0]), _MISSING), np.full(len(bounds[1]), _EXTRA)
    hit = pair_up(bounds[0], bounds[1], 0.0 if exact else float(measure.parameters.get("window", 0.5)))
    kinds_of[0][hit[0]] = kinds_of[1][hit[1]] = RIGHT
    left = np.flatnonzero(kinds_of[0] == _MISSING), np.flatnonzero(kinds_of[1] == _EXTRA)
    # Boundaries within 3 s are shifted, and not missing.
    near = pair_up(bounds[0][left[0]], bounds[1][left[1]], 3.0, match_nearest_first)
    kinds_of[0][left[0][near[0]]] = kinds_of[1][left[1][near[1]]] = _SHIFTED
    for end in (0, -1) if len(bounds[0]) and len(bounds[1]) else ():
        # The ends of both sides belong together, however far apart they are.
        if kinds_of[0][end] == _MISSING and kinds_of[1][end] == _EXTRA:
            kinds_of[0][end] = kinds_of[1][end] = _SHIFTED
    kind = np.concatenate(kinds_of)[order]
    boundaries, of_reference = every[order], (np.arange(len(every)) < len(bounds[0]))[order]

    def mend(kinds: Bool) -> Ragged:
        row, item = np.nonzero(kinds[:, kind] == of_reference)
        times = boundaries[item]
        follows = np.flatnonzero((row[1:] == row[:-1]) & (times[1:] > times[:-1]))
        start, end, row = times[follows], times[follows + 1], row[follows]
        places = [side.at((start + end) / 2) for side in sides]
        # Outside of the intervals of a side, its labels are those of the other one.
        from_reference = np.where(kinds[row, _LABELS], places[0] >= 0, places[1] < 0)
        label = np.where(from_reference, *(side.code[index] for side, index in zip(sides, places, strict=True)))
        either = (places[0] >= 0) | (places[1] >= 0)
        counts = np.bincount(row[either], minlength=len(kinds)).astype(np.int64)
        return Ragged({"start": start[either], "end": end[either], "label": label[either]}, (counts,), (*codes,))

    present = kinds_in(kind)
    if measure.metric.mir_eval not in ("detection", "deviation"):  # whose functions in mir_eval ignore labels
        present = np.append(present, _LABELS)
    return Mending(present, len(every), mend, (of_reference, boundaries, kind))


_ROWS = LabelRows(number_texts, (("A", "A"), ("B", "B"), ("C", "C")), bounded=True)


_FITTED = "both sides unmodified, or fitted to the reference as in mir_eval"
_EXTENT = Parameter("extent", "given", choices=("given", "reference"), help=_FITTED)
_SILENT = f"boundaries of intervals labelled {', '.join(kernel.SILENCE)}"
_SILENCE = Parameter("silence", "ignored", choices=("ignored", "counted"), help=_SILENT)
_POINTS = Parameter("points", 1000, help="number of points from the earliest to the latest time", least=2)


def _of_mirex(
    metrics: Sequence[Metric], aliases: Sequence[str], parameters: tuple[Parameter, ...], exceptions: str = ""
) -> tuple[Metric, ...]:
    common: dict[str, Any] = {"key": "", "parameters": parameters, "perfect_exceptions": exceptions}
    return tuple(
        replace(record, aliases=(alias,), literature=f"{record.literature}; @paulus2009", **common)
        for record, alias in zip(metrics, aliases, strict=True)
    )


_OF_LABELS = (
    *_of_mirex(conditional_entropies[:2], ("S_o", "S_u"), (_POINTS, replace(_SINGLE, default=1.0), _EXTENT)),
    *_of_mirex(
        (pairs_of_frames[2], *pairs_of_frames[:2]),
        ("Fpair", "Ppair", "Rpair"),
        (replace(_POINTS, default=500), _EXTENT),
        "0 if no two frames have the same label",
    ),
    *_of_mirex(clusterings[:1], ("Rand",), (_POINTS, _EXTENT)),
)
_DETECTION = _of_mirex(
    (detection[2], *detection[:2]),
    ("F", "P", "R"),
    (_WINDOW, replace(_MATCHING, default="nearest"), _SILENCE, _EXTENT),
    "0 if all labels are silence",
)
_UNKEYED = tuple(replace(record, key="") for record in detection)
_IN_WINDOWS, _OF_MIREX_IN_WINDOWS, _UNKEYED_IN_WINDOWS = (
    [record.measure(window=window) for window in (0.5, 3.0) for record in records]
    for records in (detection, _DETECTION, _UNKEYED)
)
_OF_DEVIATIONS = "medianTrue2claim", "medianClaim2true"
_DEVIATION = _of_mirex(deviation, _OF_DEVIATIONS, (_MEDIAN, _SILENCE, _EXTENT), "NaN if all labels are silence")


MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: the estimate is fitted to the reference, labels are compared at frames of 0.1 s",
    (*METRICS, *functions.METRICS, *functions.OF_ONE_SIDE),
    clean,
    partial(score_on_frames, score, "intervals", LABELS),
    GRIDS,
    tuple(record.name for record in METRICS if any(parameter.name == "frame_size" for parameter in record.parameters)),
    default_measures=(*_IN_WINDOWS, *(metric.measure() for metric in METRICS[3:])),
    explain=evidence,
    literature="@raffel2014",
)
MIREX = Convention(
    "mirex",
    "MIREX's scores: annotations are not fitted, nearest boundaries matched first, a fixed number of points",
    (*_OF_LABELS, *_DETECTION, *_DEVIATION),
    clean_as_given,
    kernel.score_as_mirex,
    default_measures=(
        *(metric.measure() for metric in _OF_LABELS),
        *_OF_MIREX_IN_WINDOWS,
        *(metric.measure() for metric in _DEVIATION),
    ),
    literature="@downie2010",
)

_FUNCTIONAL = (
    functions.METRICS[0].with_defaults(extent="common", times=functions.MS),
    *(one.with_defaults(extent="given") for one in functions.METRICS[1:]),
    *functions.OF_ONE_SIDE,
)
MIREX2025 = Convention(
    "mirex2025_structure",
    "MIREX 2025: accuracy of functional labels in whole milliseconds of the common time, unmodified boundaries",
    (*_FUNCTIONAL, *_UNKEYED),
    clean_as_given,
    partial(score, fitted=False),
    default_measures=(*select(("label_accuracy", "iou"), _FUNCTIONAL), *_UNKEYED_IN_WINDOWS),
    explain=partial(evidence, fitted=False),
    literature="@mirex2025structure",
)

_FRAMELESS = tuple(
    replace(one.with_defaults(frame_size=kernel.EXACT), key="", literature=f"{one.literature}; @xi2025")
    for one in (*pairs_of_frames, *conditional_entropies, *v_measures)
)
FRAMELESS = Convention(
    "frameless",
    "frameless-eval: durations instead of frames; times are rounded to 5 decimals, labels are case-sensitive",
    _FRAMELESS,
    clean,
    partial(score, fold=str, decimals=kernel.DECIMALS),
    literature="@xi2025",
)

TASK = Task(
    "segment",
    "Structural segmentation",
    by_name(MIR_EVAL, MIREX, MIREX2025, FRAMELESS),
    ("f_measure", "pairwise_f_measure"),
    {MIREX2025.name: ("label_accuracy", "f_measure"), FRAMELESS.name: ("pairwise_f_measure", "v_measure")},
    errors=ErrorBudget(_KINDS, find_errors, _ROWS, version=2),
    doubts=(SINGLE_LABEL,),
)
