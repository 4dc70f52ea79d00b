"""Aggregates over tracks (totals, medians, ratios of sums), declared once for queries, tests, captions and the page.

Some give a number for each class or tag. Which ones a metric with extra dims or a stored metric has is decided here.
Modules outside of the package declare further ones in the same way::

    declare(Statistic("trimmed_mean", "mean over the tracks without the best and the worst tenth", trimmed_mean))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from operator import methodcaller
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from ..errors import MetricError

if TYPE_CHECKING:
    from ..kernels.ranking import Ordered
    from ..ragged import Float, Int

# The command line lists the names; to keep it fast, numpy and kernels are imported when something is computed.

Factor = Literal["one", "weight", "duration"]
"""The factor of a track: 1, the weight of its score, or the seconds of its reference."""
Requirement = Literal["scores", "weights", "recall"]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A way to combine results of many tracks into one number; see the subclasses."""

    name: str
    words: str  # Definition in a phrase
    title: str = field(default="", kw_only=True)  # Name in captions; empty: the name with spaces instead of underscores
    unit: str = field(default="", kw_only=True)  # Unit of the number if it is not that of the scores; empty for ratios
    lower: bool = field(default=False, kw_only=True)
    """Whether smaller numbers are better where the metric has no orientation."""

    @property
    def written(self) -> str:
        """Name in running text."""
        return self.title or self.name.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Total(Aggregate):
    """The sum of counts."""


@dataclass(frozen=True, slots=True)
class ScoreAggregate(Aggregate):
    """Base of aggregates of scores."""

    requires: Requirement = field(default="scores", kw_only=True)
    """Metrics for which it is defined: those with an orientation, those with a meaningful weighted mean, or chord
    symbol recalls."""


@dataclass(frozen=True, slots=True)
class RatioOfSums(ScoreAggregate):
    """``sum(score * above) / sum(below)`` over the tracks."""

    above: Factor
    below: Factor

    def factors(self, weight: Float, duration: Float) -> tuple[Float, Float]:
        """Factors of a track's score in the numerator, and summands of the denominator.

        `weight` (float64 (systems, tracks, metrics)), `duration` (float64 (tracks,), seconds). Returns `(above`,
        `below)` (float64 (systems, tracks, metrics)).
        """
        import numpy as np

        seconds = np.broadcast_to(duration[:, np.newaxis], weight.shape)
        factors = {"duration": seconds, "weight": weight, "one": np.ones_like(weight)}
        below = factors[self.below]
        if self.below == "weight" and (weight == NEGLIGIBLE).any():
            below = np.where(weight == NEGLIGIBLE, 0.0, weight)
        return factors[self.above], below


@dataclass(frozen=True, slots=True)
class Statistic(ScoreAggregate):
    """A statistic of sorted scores."""

    statistic: Callable[[Float, Int], Float]
    """(scores (..., tracks), counts (...)) -> float64 (...). Scores are sorted in ascending order, whatever the
    orientation of the metric, with NaN at the end; at least one of each row is a number."""
    without_each: Callable[[Float], Float] | None = None
    """Fast leave-one-out statistic: sorted scores (tracks,), at least two -> float64 (tracks,). None: `statistic` is
    called for each track."""
    quantile: float | None = field(default=None, kw_only=True)
    """Which quantile it is, between neighbours linearly; None: another statistic, for which tests leave out each score
    in turn."""

    def of_ordered(self, ordered: Float, count: Int) -> Float:
        """Statistic of the first `count` (...) of sorted scores (..., tracks); NaN if there are none."""
        import numpy as np

        if not ordered.shape[-1]:
            return np.full(count.shape, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):  # the mean of both infinities is NaN
            return np.where(count > 0, self.statistic(ordered, count), np.nan)


@dataclass(frozen=True, slots=True)
class OutcomeRatio(Aggregate):
    """A ratio of the outcomes by class, summed over the tracks."""

    rejections: bool = False  # Whether it needs true negatives, which counts of matched items do not include
    along: ClassVar = ""

    def of_sums(self, sums: Float) -> Float:
        """Ratio of sums (..., outcomes) in the order of `mirflow.kernels.outcomes.COUNTED`."""
        from ..kernels.outcomes import Outcomes

        return Outcomes(*(sums[..., kind] for kind in range(4))).ratio(self.name)


@dataclass(frozen=True, slots=True)
class StatisticOfSums(Aggregate):
    """A statistic of sums over the tracks that reduces a dim of the metric."""

    of_sums: Callable[[Float], Float]  # Function that reduces the last dim
    along: str
    """Name of that dim in metrics; `CLASSES` for confusions, which are passed as
    `mirflow.kernels.outcomes.margins`."""


@dataclass(frozen=True, slots=True)
class RankingMeasure(Aggregate):
    """A number for each tag, computed from the ranking of all tracks."""

    ordered: Callable[[Ordered], Float]  # Function of :class:`mirflow.kernels.ranking.Ordered`
    reached: Callable[[Float, Float], Float]
    """Function of the numbers of tracks with the tag and of all tracks that reach each affinity, float64 (replicates,
    affinities) each."""


NEGLIGIBLE = 2.0**-900
"""Weight of scores that have a numerator over a denominator of 0: the product is the numerator, to the bit."""


CLASSES = "classes"  # Both dims of a confusion
DECLARED: dict[str, Aggregate] = {}  # All aggregates by name, in the order in which they are listed
AGGREGATES: dict[str, ScoreAggregate] = {}  # Aggregates of scores that are one number per track
RATIOS: dict[str, RatioOfSums] = {}
OVER_DURATIONS: set[str] = set()  # Names of those that need the durations of the references
STATISTICS: dict[str, Statistic] = {}  # The two kinds of aggregates of scores
RATIO_AGGREGATES: dict[str, OutcomeRatio | StatisticOfSums] = {}
"""Aggregates of counts by class of both sides, by outcome, or along a dim, all computed from sums over tracks."""
ORDER_AGGREGATES: dict[str, RankingMeasure] = {}  # Aggregates of affinities, the standard one first
CLASS_AGGREGATES: dict[str, OutcomeRatio | StatisticOfSums | RankingMeasure] = {}
_KINDS = (RatioOfSums, Statistic, OutcomeRatio, StatisticOfSums, RankingMeasure, Total)
TABLES: tuple[tuple[dict[str, Any], tuple[type[Aggregate], ...]], ...] = (
    (DECLARED, _KINDS),
    (AGGREGATES, (ScoreAggregate,)),
    (RATIOS, (RatioOfSums,)),
    (STATISTICS, (Statistic,)),
    (RATIO_AGGREGATES, (OutcomeRatio, StatisticOfSums)),
    (ORDER_AGGREGATES, (RankingMeasure,)),
    (CLASS_AGGREGATES, (OutcomeRatio, StatisticOfSums, RankingMeasure)),
)
"""The aggregates of some classes by name, all of which grow with each one that is declared."""


def declare(aggregate: Aggregate) -> Aggregate:
    """Declare an aggregate for queries, intervals, tests, captions, commands and the page.

    Examples
    --------
    >>> declare(RatioOfSums("mean", "something else", "one", "one"))
    Traceback (most recent call last):
    mirflow.errors.MetricError: aggregate 'mean' is already declared; choose another name
    """
    if not isinstance(aggregate, _KINDS):
        names = ", ".join(kind.__name__ for kind in _KINDS)
        raise MetricError(f"invalid aggregate {aggregate!r}: expected one of the classes {names}")
    factors = get_args(Factor)
    for field_name, known in (("requires", get_args(Requirement)), ("above", factors), ("below", factors)):
        value = getattr(aggregate, field_name, known[0])
        if value not in known:
            raise MetricError(
                f"aggregate {aggregate.name!r}: unknown {field_name} {value!r}; known: {', '.join(known)}"
            )
    if aggregate.name in DECLARED:
        raise MetricError(f"aggregate {aggregate.name!r} is already declared; choose another name")
    for table, kinds_in_table in TABLES:
        if isinstance(aggregate, kinds_in_table):
            table[aggregate.name] = aggregate
    if isinstance(aggregate, RatioOfSums) and "duration" in (aggregate.above, aggregate.below):
        OVER_DURATIONS.add(aggregate.name)
    return aggregate


def _middle(low: Float, high: Float) -> Float:
    """Mean of two numbers, even if their sum overflows."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.asarray((low + high) / 2)
    beyond = np.isinf(middle) & np.isfinite(low) & np.isfinite(high)
    return np.where(beyond, low / 2 + high / 2, middle) if beyond.any() else middle


def median(ordered: Float, count: Int) -> Float:
    """Median of the first `count` (...) of sorted scores (..., tracks): a `Statistic.statistic`."""
    import numpy as np

    number = count[..., np.newaxis]
    middle = np.maximum(number - 1, 0) // 2, np.minimum(number // 2, ordered.shape[-1] - 1)
    low, high = (np.take_along_axis(ordered, index, axis=-1)[..., 0] for index in middle)
    return _middle(low, high)


def median_without_each(ordered: Float) -> Float:
    """Median without each of the sorted scores (tracks,): a `Statistic.without_each`."""
    import numpy as np

    index, units = np.arange(len(ordered)), len(ordered)
    low, high = (units - 2) // 2, (units - 1) // 2
    return _middle(ordered[low + (index <= low)], ordered[high + (index <= high)])


def _call(module: str, name: str, *arguments: Float) -> Float:
    """Call a function of a kernel, which is only imported then."""
    result: Float = getattr(import_module(f"..kernels.{module}", __package__), name)(*arguments)
    return result


_WEIGHTED = "mean over the tracks, weighted by"
for _one in (
    RatioOfSums("mean", "plain mean over the tracks", "one", "one"),
    Statistic("median", "median over the tracks", median, median_without_each, quantile=0.5),
    RatioOfSums("pooled", f"{_WEIGHTED} the metric's own weight", "weight", "weight", requires="weights"),
    RatioOfSums("wcsr", f"{_WEIGHTED} their evaluated seconds", "weight", "weight", requires="recall"),
    RatioOfSums("wcsr_tn", f"{_WEIGHTED} the durations of their references", "duration", "duration", requires="recall"),
    RatioOfSums(
        "wcsr_total", "right seconds over the seconds of all references", "weight", "duration", requires="recall"
    ),
    Total("sum", "added up over the tracks"),
    *(
        OutcomeRatio(
            name,
            f"{words}, over all tracks",
            rejections=name in ("accuracy", "negative_accuracy"),
            title={"f_measure": "F-measure", "iou": "intersection over union"}.get(name, ""),
        )
        for name, words in (
            ("precision", "share of the items estimated as a class or tag that belong to it"),
            ("recall", "share of the items of a class or tag that were estimated as such"),
            ("f_measure", "harmonic mean of precision and recall of a class or tag"),
            (
                "iou",
                "intersection over union of a class or tag: items of it on both sides over items of it on either side",
            ),
            ("accuracy", "share of the decisions on a class or tag that are right"),
            ("negative_accuracy", "share of the items outside a class or tag that were not estimated as such"),
        )
    ),
    StatisticOfSums(
        "mcc",
        "Matthews correlation coefficient of the classes of both sides, over all tracks",
        partial(_call, "outcomes", "matthews_correlation"),
        CLASSES,
        title="Matthews correlation coefficient",
    ),
    StatisticOfSums(
        "information_gain",
        "distance of the histogram of all tracks from a uniform one, in bits",
        partial(_call, "ratios", "information_gain"),
        "bin",
        unit="bit",
    ),
    StatisticOfSums(
        "standard_deviation",
        "standard deviation of the errors of all tracks",
        partial(_call, "ratios", "standard_deviation"),
        "moment",
        unit="s",
        lower=True,
    ),
    RankingMeasure(
        "roc_auc",
        "area under the ROC curve of all tracks in order of affinity",
        methodcaller("roc_auc"),
        partial(_call, "ranking", "roc_auc"),
        title="area under the ROC curve",
    ),
    RankingMeasure(
        "average_precision",
        "average precision of all tracks in order of affinity",
        methodcaller("average_precision"),
        partial(_call, "ranking", "average_precision"),
    ),
):
    declare(_one)
_SHIPPED = frozenset(DECLARED)
TABLE_AGGREGATES: Mapping[str, Aggregate] = {name: DECLARED[name] for name in ("sum", "mean")}
"""Aggregates of counts along extra dims, such as a confusion matrix, the standard one first."""


def table_aggregates(orientation: str, dims: tuple[str, ...] = ()) -> Mapping[str, Aggregate]:
    """Aggregates of a metric with extra dims: those of scores if it has an orientation, else those of counts.

    Counts by class of both sides, counts by outcome, and affinities also have values for each class or tag. Counts of
    matched items and of the items of either side do not include true negatives.
    """
    if orientation != "none":
        return {name: statistic for name, statistic in AGGREGATES.items() if statistic.requires == "scores"}
    if "side" in dims:
        return ORDER_AGGREGATES
    along: Mapping[str, Aggregate] = {name: ratio for name, ratio in RATIO_AGGREGATES.items() if ratio.along in dims}
    if along:
        return {**TABLE_AGGREGATES, **along}
    confusion = dims == ("ref_class", "est_class")
    if not confusion and not {"count", "outcome"} & set(dims):
        return TABLE_AGGREGATES
    ratios = {
        name: ratio
        for name, ratio in RATIO_AGGREGATES.items()
        if (
            not ("count" in dims and ratio.rejections)
            if isinstance(ratio, OutcomeRatio)
            else confusion and ratio.along == CLASSES
        )
    }
    return {**TABLE_AGGREGATES, **ratios}


_LISTED = {"scores": "median", "weights": "pooled", "recall": "wcsr"}
"""The aggregate that stores list for metrics that meet a requirement."""


def allowed_aggregates(listed: str) -> list[str]:
    """Aggregates of a stored metric: those listed in the store, and applicable ones declared since it was written."""
    names = [name for name in listed.split() if name in DECLARED]
    later = (
        aggregate
        for name, aggregate in AGGREGATES.items()
        # Stores of published scores do not list aggregates over durations, which they do not hold.
        if name not in names and not (name in _SHIPPED and name in OVER_DURATIONS)
    )
    return [*names, *(aggregate.name for aggregate in later if _LISTED[aggregate.requires] in names)]
