"""Aggregates over tracks, declared once for queries, inference, captions, commands and the page.

Modules outside of the package declare further ones in the same way::

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

# The command line lists the names; to keep it fast, numpy and kernels are imported when something is computed.

Factor = Literal["one", "weight", "duration"]
"""The factor of a track: 1, the weight of its score, or the seconds of its reference."""
Requirement = Literal["scores", "weights", "recall"]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A way to combine the scores of many tracks into one number.

    It is one of five kinds: a ratio of sums (`above` and `below`), a `statistic` of the scores, a ratio of counts by
    class (`outcomes`), a statistic of sums along a dim (`of_sums` and `along`), or a value per tag computed from the
    ranking of all tracks (`ordered` and `reached`).
    """

    name: str
    words: str
    """Definition in a phrase."""
    title: str = ""
    """Name in captions; empty: the name with spaces instead of underscores."""
    above: Factor | Literal[""] = ""
    below: Factor | Literal[""] = ""
    """``sum(score * above) / sum(below)`` over the tracks."""
    statistic: Callable[[Float, Int], Float] | None = None
    """(scores (..., tracks), counts (...)) -> float64 (...). Scores are sorted in ascending order with NaN at the end;
    at least one of each row is a number."""
    without_each: Callable[[Float], Float] | None = None
    """Fast leave-one-out statistic: sorted scores (tracks,), at least two -> float64 (tracks,). None: `statistic` is
    called for each track."""
    outcomes: Callable[[Outcomes], Float] | None = None
    """Function of :class:`mirflow.kernels.agreement.Outcomes`, summed over the tracks."""
    rejections: bool = False
    """Whether `outcomes` needs true negatives, which counts of matched items do not include."""
    of_sums: Callable[[Float], Float] | None = None
    """Function of sums over the tracks that reduces the last dim."""
    along: str = ""
    """Name of that dim in metrics; `CLASSES` for confusions, which are passed as
    `mirflow.kernels.agreement.margins`."""
    unit: str = ""
    """Unit of the result of `of_sums`; empty for ratios."""
    lower: bool = False
    """Whether smaller results of `of_sums` are better."""
    ordered: Callable[[Ordered], Float] | None = None
    reached: Callable[[Float, Float], Float] | None = None
    """Functions of :class:`mirflow.kernels.ranking.Ordered`, and of the numbers of tracks with the tag and of all
    tracks that reach each affinity, float64 (replicates, affinities) each."""
    requires: Requirement = "scores"
    """Metrics for which it is defined: those with an orientation, those with a meaningful weighted mean, or chord
    symbol recalls."""

    @property
    def written(self) -> str:
        """Name in running text."""
        return self.title or self.name.replace("_", " ")

    @property
    def needs_duration(self) -> bool:
        """Whether durations of the references are needed."""
        return "duration" in (self.above, self.below)

    @property
    def over_scores(self) -> bool:
        """Whether it aggregates scores, not counts or rankings."""
        return bool(self.below) or self.statistic is not None

    def factors(self, weight: Float, duration: Float) -> tuple[Float, Float]:
        """Factors of a track's score in the numerator, and summands of the denominator.

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
        """Statistic of the first `count` (...) of sorted scores (..., tracks); NaN if there are none."""
        import numpy as np

        assert self.statistic is not None
        if not ordered.shape[-1]:
            return np.full(count.shape, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):  # the mean of both infinities is NaN
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
    """Declare an aggregate for queries, intervals, tests, captions, commands and the page.

    Examples
    --------
    >>> declare(Aggregate("mean", "something else", above="one", below="one"))
    Traceback (most recent call last):
    mirflow.errors.MetricError: aggregate 'mean' is already declared; choose another name
    """
    if aggregate.name in DECLARED:
        raise MetricError(f"aggregate {aggregate.name!r} is already declared; choose another name")
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
    """Mean of two numbers, even if their sum overflows."""
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
        "share of the items estimated as a class or tag that belong to it, over all tracks",
        outcomes=methodcaller("precision"),
    ),
    Aggregate(
        "recall",
        "share of the items of a class or tag that were estimated as such, over all tracks",
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
        "intersection over union of a class or tag: items of it on both sides over items of it on either side, "
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
        "share of the items outside a class or tag that were not estimated as such, over all tracks",
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
        "distance of the histogram of all tracks from a uniform one, in bits",
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
    """A live view of the declared aggregates that meet a condition."""

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
"""Aggregates of scores that are one number per track."""
SCORE_AGGREGATES: Mapping[str, Aggregate] = _Some(lambda one: one.over_scores and one.requires == "scores")
"""Aggregates of scores along extra dims, such as frames or instruments."""
_OUTCOME_AGGREGATES = _Some(lambda one: one.outcomes is not None)
RATIO_AGGREGATES: Mapping[str, Aggregate] = _Some(lambda one: bool(one.outcomes or one.of_sums))
"""Aggregates of counts by class of both sides, by outcome, or along a dim, all computed from sums over tracks."""
_MATCH_AGGREGATES = _Some(lambda one: one.outcomes is not None and not one.rejections)
ORDER_AGGREGATES: Mapping[str, Aggregate] = _Some(lambda one: one.ordered is not None)
"""Aggregates of affinities, the standard one first."""
CLASS_AGGREGATES: Mapping[str, Aggregate] = _Some(lambda one: bool(one.outcomes or one.of_sums or one.ordered))
TABLE_AGGREGATES: Mapping[str, Aggregate] = {name: DECLARED[name] for name in ("sum", "mean")}
"""Aggregates of counts along extra dims, such as a confusion matrix, the standard one first."""


def table_aggregates(orientation: str, dims: tuple[str, ...] = ()) -> Mapping[str, Aggregate]:
    """Aggregates of a metric with extra dims: those of scores if it has an orientation, else those of counts.

    Counts by class of both sides, counts by outcome, and affinities also have values for each class or tag. Counts of
    matched items and of the items of either side do not include true negatives.
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
"""The aggregate that stores list for metrics that meet a requirement."""


def allowed_aggregates(listed: str) -> list[str]:
    """Aggregates of a stored metric: those listed in the store, and applicable ones declared by other packages.

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
