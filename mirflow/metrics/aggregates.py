"""Aggregates over tracks: each is declared here once, and read by queries, inference, captions, commands and the page.

To add one, declare it; a module outside of the package does the same::

    declare(Aggregate("trimmed_mean", "mean over the tracks without the best and the worst tenth", statistic=...))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Literal

from ..errors import MetricError

if TYPE_CHECKING:
    from ..kernels.agreement import Outcomes
    from ..kernels.ranking import Ordered
    from ..ragged import Float, Int

# The command line offers the names, so that numpy and kernels are imported when something is computed.

Factor = Literal["one", "weight", "duration"]
"""The factor of a track: 1, the weight of its score, or the seconds of its reference."""
Requirement = Literal["scores", "weights", "recall"]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One way to make one number of the scores of many tracks.

    It is one of five: a ratio of sums (`above` and `below`), a `statistic` of the scores, a ratio of what was counted
    of each class (`outcomes`), a statistic of what was added up along a dim (`of_sums` and `along`), or a value of each
    tag from the order of all tracks (`ordered` and `reached`).

    Parameters
    ----------
    name : str
    words : str
        Definition in a phrase.
    title : str
        Name in captions; empty: with spaces for underscores.
    above, below : {"", "one", "weight", "duration"}
        ``sum(score * above) / sum(below)`` over the tracks.
    statistic : callable or None
        From scores (..., tracks), sorted from the smallest to the largest, NaN behind, and how many there are of each
        row (...), at least one, to float64 (...).
    without_each : callable or None
        A faster way to the statistic without each of the scores: from sorted scores (tracks,), at least two, to
        float64 (tracks,). None: the statistic is computed that many times.
    outcomes : callable or None
        From :class:`mirflow.kernels.agreement.Outcomes`, summed over the tracks, to float64.
    rejections : bool
        Whether `outcomes` needs what was rightly left out, which counts of what was matched do not hold.
    of_sums : callable or None
        From values along a dim, the last one, that were added up over the tracks, to float64 without it.
    along : str
        That dim, as metrics call it; `CLASSES` of confusions, from which `mirflow.kernels.agreement.margins` are taken.
    unit : str
        Unit of what `of_sums` gives; empty for ratios.
    lower : bool
        Whether the smaller of two values of `of_sums` is the better one.
    ordered, reached : callable or None
        From :class:`mirflow.kernels.ranking.Ordered`; and the same from how many tracks with the tag, and of all,
        have at least each affinity, float64 (replicates, affinities) each.
    requires : {"scores", "weights", "recall"}
        The metrics that have it: all whose scores are better or worse, those whose weighted mean means something, or
        chord symbol recalls.
    """

    name: str
    words: str
    title: str = ""
    above: Factor | Literal[""] = ""
    below: Factor | Literal[""] = ""
    statistic: Callable[[Float, Int], Float] | None = None
    without_each: Callable[[Float], Float] | None = None
    outcomes: Callable[[Outcomes], Float] | None = None
    rejections: bool = False
    of_sums: Callable[[Float], Float] | None = None
    along: str = ""
    unit: str = ""
    lower: bool = False
    ordered: Callable[[Ordered], Float] | None = None
    reached: Callable[[Float, Float], Float] | None = None
    requires: Requirement = "scores"

    @property
    def written(self) -> str:
        """The name in a sentence."""
        return self.title or self.name.replace("_", " ")

    @property
    def needs_duration(self) -> bool:
        """Need of the durations of the references."""
        return "duration" in (self.above, self.below)

    @property
    def over_scores(self) -> bool:
        """True of aggregates of scores, not of counts or orders."""
        return bool(self.below) or self.statistic is not None

    def factors(self, weight: Float, duration: Float) -> tuple[Float, Float]:
        """Factors of a track's score above the fraction line, and what is added up below it.

        Parameters
        ----------
        weight : float64 (systems, tracks, metrics)
        duration : float64 (tracks,), seconds

        Returns
        -------
        (above, below) : float64 (systems, tracks, metrics)
        """
        return _factor(self.above, weight, duration), _factor(self.below, weight, duration)

    def of_ordered(self, ordered: Float, count: Int) -> Float:
        """The statistic of sorted scores (..., tracks), of which the first `count` (...) count; NaN of none."""
        import numpy as np

        assert self.statistic is not None
        if not ordered.shape[-1]:
            return np.full(count.shape, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):  # of both infinities the mean is NaN
            return np.where(count > 0, self.statistic(ordered, count), np.nan)


def _factor(name: str, weight: Float, duration: Float) -> Float:
    import numpy as np

    if name == "duration":
        return np.broadcast_to(duration[:, np.newaxis], weight.shape)
    return weight if name == "weight" else np.ones_like(weight)


CLASSES = "classes"
"""Both dims of a confusion."""
DECLARED: dict[str, Aggregate] = {}
"""All aggregates by name, in the order in which they are listed."""


def declare(aggregate: Aggregate) -> Aggregate:
    """Make an aggregate known to queries, intervals, tests, captions, commands and the page.

    Raises
    ------
    MetricError
        If the name is taken, or there is not exactly one way to compute it.

    Examples
    --------
    >>> declare(Aggregate("mean", "something else", above="one", below="one"))
    Traceback (most recent call last):
    mirflow.errors.MetricError: aggregate 'mean' is declared already; choose another name
    """
    if aggregate.name in DECLARED:
        raise MetricError(f"aggregate {aggregate.name!r} is declared already; choose another name")
    ways = (aggregate.above, aggregate.statistic, aggregate.outcomes, aggregate.of_sums, aggregate.ordered)
    if sum(bool(way) for way in ways) != 1 or bool(aggregate.of_sums) != bool(aggregate.along):
        raise MetricError(
            f"aggregate {aggregate.name!r}: give above and below, or statistic, or outcomes, or of_sums and along, "
            "or ordered"
        )
    DECLARED[aggregate.name] = aggregate
    return aggregate


def _median(ordered: Float, count: Int) -> Float:
    import numpy as np

    number = count[..., np.newaxis]
    middle = np.maximum(number - 1, 0) // 2, np.minimum(number // 2, ordered.shape[-1] - 1)
    low, high = (np.take_along_axis(ordered, place, axis=-1)[..., 0] for place in middle)
    return _middle(low, high)


def _middle(low: Float, high: Float) -> Float:
    """The number between two, also where their sum is none."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.asarray((low + high) / 2)
    beyond = np.isinf(middle) & np.isfinite(low) & np.isfinite(high)
    return np.where(beyond, low / 2 + high / 2, middle) if beyond.any() else middle


def _median_without_each(ordered: Float) -> Float:
    import numpy as np

    place, units = np.arange(len(ordered)), len(ordered)
    low, high = (units - 2) // 2, (units - 1) // 2
    return _middle(ordered[low + (place <= low)], ordered[high + (place <= high)])


def _information_gain(histogram: Float) -> Float:
    from ..kernels.moments import information_gain

    return information_gain(histogram)


def _standard_deviation(moments: Float) -> Float:
    from ..kernels.moments import standard_deviation

    return standard_deviation(moments)


def _matthews_correlation(margins: Float) -> Float:
    from ..kernels.agreement import matthews_correlation

    return matthews_correlation(margins)


def _roc_auc(having: Float, every: Float) -> Float:
    from ..kernels.ranking import roc_auc

    return roc_auc(having, every)


def _average_precision(having: Float, every: Float) -> Float:
    from ..kernels.ranking import average_precision

    return average_precision(having, every)


for _one in (
    Aggregate("mean", "plain mean over the tracks", above="one", below="one"),
    Aggregate("median", "median over the tracks", statistic=_median, without_each=_median_without_each),
    Aggregate(
        "pooled",
        "mean over the tracks, weighted by the metric's own weight",
        above="weight",
        below="weight",
        requires="weights",
    ),
    Aggregate(
        "wcsr",
        "mean over the tracks, weighted by their evaluated seconds",
        above="weight",
        below="weight",
        requires="recall",
    ),
    Aggregate(
        "wcsr_tn",
        "mean over the tracks, weighted by the durations of their references",
        above="duration",
        below="duration",
        requires="recall",
    ),
    Aggregate(
        "wcsr_total",
        "right seconds over the seconds of all references",
        above="weight",
        below="duration",
        requires="recall",
    ),
    Aggregate("sum", "added up over the tracks", above="one"),
    Aggregate(
        "precision",
        "share of what was estimated as a class or tag that is of it, over all tracks",
        outcomes=methodcaller("precision"),
    ),
    Aggregate(
        "recall",
        "share of what is of a class or tag that was estimated as such, over all tracks",
        outcomes=methodcaller("recall"),
    ),
    Aggregate(
        "f_measure",
        "harmonic mean of precision and recall of a class or tag, over all tracks",
        title="F-measure",
        outcomes=methodcaller("f_measure"),
    ),
    Aggregate(
        "iou",
        "intersection over union of a class or tag: what is of it on both sides over what is of it on either, "
        "over all tracks",
        title="intersection over union",
        outcomes=methodcaller("iou"),
    ),
    Aggregate(
        "accuracy",
        "share of the decisions on a class or tag that are right, over all tracks",
        outcomes=methodcaller("accuracy"),
        rejections=True,
    ),
    Aggregate(
        "negative_accuracy",
        "share of what is not of a class or tag that was not estimated as such, over all tracks",
        outcomes=methodcaller("negative_accuracy"),
        rejections=True,
    ),
    Aggregate(
        "mcc",
        "Matthews correlation coefficient of the classes of both sides, over all tracks",
        title="Matthews correlation coefficient",
        of_sums=_matthews_correlation,
        along=CLASSES,
    ),
    Aggregate(
        "information_gain",
        "how far the histogram of all tracks is from a uniform one, in bits",
        of_sums=_information_gain,
        along="bin",
        unit="bit",
    ),
    Aggregate(
        "standard_deviation",
        "standard deviation of the errors of all tracks",
        of_sums=_standard_deviation,
        along="moment",
        unit="s",
        lower=True,
    ),
    Aggregate(
        "roc_auc",
        "area under the ROC curve of all tracks in order of affinity",
        title="area under the ROC curve",
        ordered=methodcaller("roc_auc"),
        reached=_roc_auc,
    ),
    Aggregate(
        "average_precision",
        "average precision of all tracks in order of affinity",
        ordered=methodcaller("average_precision"),
        reached=_average_precision,
    ),
):
    declare(_one)
_SHIPPED = frozenset(DECLARED)


class _Some(Mapping[str, Aggregate]):
    """Those of the declared aggregates for which something holds, also of those that are declared later."""

    def __init__(self, holds: Callable[[Aggregate], bool]) -> None:
        self._holds = holds

    def __getitem__(self, name: str) -> Aggregate:
        if not self._holds(DECLARED[name]):
            raise KeyError(name)
        return DECLARED[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, one in DECLARED.items() if self._holds(one))

    def __len__(self) -> int:
        return sum(1 for _ in self)


AGGREGATES: Mapping[str, Aggregate] = _Some(lambda one: one.over_scores)
"""Of scores that are one number a track."""
SCORE_AGGREGATES: Mapping[str, Aggregate] = _Some(lambda one: one.over_scores and one.requires == "scores")
"""Of scores along extra dims, such as those of single frames or instruments."""
_OUTCOME_AGGREGATES = _Some(lambda one: one.outcomes is not None)
RATIO_AGGREGATES: Mapping[str, Aggregate] = _Some(lambda one: bool(one.outcomes or one.of_sums))
"""Of what is counted by class of both sides, or by outcome, or along a dim; all are read off sums over tracks."""
_MATCH_AGGREGATES = _Some(lambda one: one.outcomes is not None and not one.rejections)
ORDER_AGGREGATES: Mapping[str, Aggregate] = _Some(lambda one: one.ordered is not None)
"""Of affinities; the first is the standard one."""
CLASS_AGGREGATES: Mapping[str, Aggregate] = _Some(lambda one: bool(one.outcomes or one.of_sums or one.ordered))
TABLE_AGGREGATES: Mapping[str, Aggregate] = {name: DECLARED[name] for name in ("sum", "mean")}
"""Of what is counted along extra dims, such as a confusion matrix; the first is the standard one."""


def table_aggregates(orientation: str, dims: tuple[str, ...] = ()) -> Mapping[str, Aggregate]:
    """The aggregates of a metric with extra dims: those of scores, where one way is better, or of counts.

    Counts by class of both sides, counts by outcome, and affinities also have values of each class or tag. Numbers of
    what was matched, and of what either side has, do not hold what was rightly left out.
    """
    if orientation != "none":
        return SCORE_AGGREGATES
    if "side" in dims:
        return ORDER_AGGREGATES
    along = {name: one for name, one in RATIO_AGGREGATES.items() if one.along and one.along in dims}
    if along:
        return {**TABLE_AGGREGATES, **along}
    if "count" in dims:
        return {**TABLE_AGGREGATES, **_MATCH_AGGREGATES}
    if dims == ("ref_class", "est_class"):
        of_all = {name: one for name, one in RATIO_AGGREGATES.items() if one.along == CLASSES}
        return {**TABLE_AGGREGATES, **_OUTCOME_AGGREGATES, **of_all}
    return {**TABLE_AGGREGATES, **_OUTCOME_AGGREGATES} if "outcome" in dims else TABLE_AGGREGATES


_LISTED = {"scores": "median", "weights": "pooled", "recall": "wcsr"}
"""The aggregate that a store lists of a metric that meets a requirement."""


def allowed_aggregates(listed: str) -> list[str]:
    """The aggregates of a stored metric: those that its store lists, and those declared by others that it can have.

    Parameters
    ----------
    listed : str
        Names, separated by spaces.

    Examples
    --------
    >>> allowed_aggregates("mean median pooled")
    ['mean', 'median', 'pooled']
    """
    names = [name for name in listed.split() if name in DECLARED]
    later = (one for name, one in AGGREGATES.items() if name not in _SHIPPED and name not in names)
    return [*names, *(one.name for one in later if _LISTED[one.requires] in names)]
