"""Options of queries: each is declared here once; Python, the command line and the HTTP API follow.

Beside them are the default level of intervals, the names of their methods, of policies for missing and undefined scores
and of tests, and the words by which tables describe these.


To add one, declare a field of :class:`Query`, and its type in :class:`QueryOptions`, or in :class:`SelectionOptions` if
figures have it. The command line and the HTTP API pass values as text, lists of texts or pairs. This module is light to
import, as every command's help needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NoReturn, TypedDict, Unpack

from ..errors import QueryError, refuse_unknown
from ..metrics.aggregates import DECLARED

MISSING = {
    "raise": "none may be missing",
    "zero": "missing ones count as 0 with the weight of an empty estimate",
    "skip": "each system over the tracks that it has",
    "common": "only the tracks that every system has",
}
UNDEFINED = {
    "keep": "scores with nothing to measure count as they are",
    "skip": "scores with nothing to measure are left out",
}

DEFAULT_LEVEL = 0.95
"""The level of confidence of all intervals, and 1 - significance of all tests, where no other is asked for."""
AUTO, NORMAL, SEQUENCE = "auto", "normal", "sequence"
NORMAL_UNITS = 20_000
"""Units (clusters) from which on the intervals of means and weighted ratios are normal by default."""
METHODS = {
    "bca": "bias-corrected and accelerated (Efron 1987)",
    "percentile": "quantiles of the replicates",
    NORMAL: "by the delta method",
}
"""Methods of intervals; the first two are of bootstraps."""
INVERTED = "inverted"
"""Method of intervals that hold what a test does not exclude."""
ANYTIME = "anytime"
"""Attribute of results that hold at every look while tracks are added: the units at which intervals are narrowest."""


def say_level(level: float | str) -> str:
    """A level of confidence for people.

    Examples
    --------
    >>> say_level(0.95), say_level("0.975")
    ('95 %', '97.5 %')
    """
    return f"{100 * float(level):g} %"


def say_intervals(attrs: Mapping[str, str], over: str = "") -> str:
    """Describe how intervals were computed.

    `attrs`: of a result with intervals: `method`, `replicates`, and perhaps `anytime`. `over`: what is drawn, if it is
    to be named.

    Examples
    --------
    >>> say_intervals({"method": "bca", "replicates": "10000"}, "tracks")
    'bootstrap over tracks (bca, 10000 replicates)'
    >>> say_intervals({"method": "normal, bca", "replicates": "10000"})
    'normal (delta method) from 20000 units on, else bootstrap, bca, 10000 replicates'
    """
    if attrs["method"] == SEQUENCE:
        return (
            "confidence sequence for all looks; if differences of units have a skewness of 2, in up to 8 % of the "
            f"cases not all of 1,000 hold; narrowest at n = {attrs[ANYTIME]}"
        )
    if attrs["method"] == INVERTED:
        if attrs["correction"] == MAX_T:
            return "what the corrected test does not exclude, all pairs together"
        return (
            "what the test does not exclude"
            if attrs["correction"] == "none"
            else "what the corrected test does not exclude"
        )
    normal, drawn = f"{NORMAL} (delta method)", attrs["method"].removeprefix(f"{NORMAL}, ")
    if drawn == NORMAL:
        return f"{normal} over {over}" if over else normal
    how = f"{drawn}, {attrs['replicates']} replicates"
    text = f"bootstrap over {over} ({how})" if over else f"bootstrap, {how}"
    return text if drawn == attrs["method"] else f"{normal} from {NORMAL_UNITS} units on, else {text}"


def say_undefined(policy: str, valueless: str = "") -> str:
    """Describe the treatment of undefined scores, of which some or all may be NaN.

    `policy` ({"keep", "skip"}), `valueless` ({"", "some", "all"}): which of them are NaN: these never count.

    Examples
    --------
    >>> say_undefined("keep", "some")
    'scores with nothing to measure count as they are, without a value not at all'
    """
    if policy == "keep" and valueless == "all":
        return "scores with nothing to measure have no value and are left out"
    return UNDEFINED[policy] + (", without a value not at all" if policy == "keep" and valueless else "")


MOST_SYSTEMS = 100
"""Systems up to which all pairs are compared by default."""
COMPARED_WITH = "compared_with"
"""The coordinate of metrics that names the system with which alone all others were compared; empty: all pairs were."""
MAX_T = "max-t"
"""Simultaneous p-values by the largest statistic of all pairs."""
_SPOKEN = {
    "permutation": "permutation test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "t": "paired t-test",
    SEQUENCE: "confidence sequence",
    MAX_T: "max-T",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
    "none": "uncorrected",
}


def say_test(test: str, correction: str) -> str:
    """Name a test and its correction.

    Examples
    --------
    >>> say_test("permutation", "max-t")
    'permutation test, max-T'
    """
    return f"{_SPOKEN.get(test, test)}, {_SPOKEN.get(correction, correction)}"


def alpha_of(attrs: Mapping[str, str]) -> float:
    """Significance level of a confidence level, such as 0.05 for 0.95, without rounding errors."""
    return round(1 - float(attrs["level"]), 12)


Names = str | Sequence[str] | None
Parameters = Mapping[str, object] | None
Reductions = Mapping[str, str] | None
BEST, NAME, STORED = ORDERS = ("best", "name", "stored")
"""Orders of systems that are not metrics."""


@dataclass(frozen=True)
class QueryOption:
    """How an option is given on the command line and in the HTTP API."""

    help: str
    flags: tuple[str, ...] = ()
    """Flags of the command line, without the one that has the option's name."""
    many: bool = False
    """Whether it may be repeated."""
    values: int = 1
    """How many values it has."""
    pairs: bool = False
    """Whether values are pairs of a name and a value; then it may be repeated."""
    metavar: str | None = None
    """Placeholder of the value in help texts."""
    choices: Callable[[], Iterable[str]] | None = None
    """Returns the values to choose from; more may be added later."""
    parameter: str = ""
    """Name in the HTTP API where it differs."""
    kind: type = str
    """Type of a value."""
    default: Any = None
    """The value if none is given."""
    flag: str = ""
    """Flag of the command line where it does not have the option's name."""
    needed: bool = False
    """Whether one must be given."""
    least: float | None = None
    """Smallest value of a number."""
    level: bool = False
    """Whether the number is a level of confidence, between 0 and 1."""
    alone: Any = None
    """On the command line, the value of the option without one; None: it needs one."""
    folder: bool = False
    """Whether it is a folder on this machine."""
    unlisted: bool = False
    """Whether the command line has no such option."""
    local: bool = False
    """Whether the HTTP API does not offer it."""


def _option(help: str, *flags: str, default: Any = None, **how: Any) -> Any:
    """A field with its option."""
    return field(default=default, metadata={"option": QueryOption(help, flags, **how)})


@dataclass(frozen=True)
class Query:
    """A query for aggregated scores. All functions that take one accept the same options."""

    metric: Names = _option(
        "Metrics by name or alias, with or without parameters. Repeat for several. Default: all.", "-m", many=True
    )
    """Names of metrics. A bare name or an alias selects all stored parameters of the metric (where one metric is
    needed, the default ones), an identity with parameters selects these. None: all metrics that are one number. Ask
    for a metric with extra dims, such as a confusion matrix, alone."""
    aggregate: str | None = _option(
        "Default: the one that the field reports for each metric.", "-a", choices=lambda: DECLARED
    )
    """How the scores of tracks are combined; None: each metric's standard aggregate. Without a `metric`, the query
    returns the metrics for which the aggregate is defined. Metrics with extra dims have ``sum`` (their standard
    aggregate) and ``mean``; no other metric has ``sum``."""
    by: Names = _option(
        "Group tracks by a coordinate (genre, ...) or by annotator; track lists each track. Repeat for several.",
        "-b",
        many=True,
    )
    """Coordinates along ``track`` by which to group; each becomes a dim of the result. ``track`` lists the single
    tracks, ``annotator`` each annotator of an evaluation that keeps their scores."""
    system: Names = _option(
        "Systems, by name or pattern (*). Repeat for several. Default: all.", "--systems", "-s", many=True
    )
    """Systems, by name or by patterns with ``*``, ``?`` and ``[...]``; None: all."""
    tracks: Names = _option(
        "Tracks, by name or pattern (*). Repeat for several. Default: all.",
        "--track",
        "-t",
        many=True,
        parameter="track",
    )
    """Tracks, by name or by patterns; None: all."""
    where: str | None = _option(
        "Only tracks that satisfy an expression: \"genre == 'Rock' and year < 1980\". See the docs.", "-w"
    )
    """Only tracks that satisfy an expression over their coordinates, such as ``genre == 'Rock' and year < 1980``: see
    :func:`mirflow.analysis.lookup.holds`. ``track`` is the track's name, ``duration`` that of its reference in
    seconds."""
    annotator: Names = _option("Only scores against this annotator. Repeat for several.", many=True)
    """Only scores against these annotators, for an evaluation that keeps the scores of each."""
    param: Parameters = _option("Only metrics with this parameter: window=0.05.", pairs=True, metavar="NAME=VALUE")
    """Only metrics with these parameters: ``{"window": 0.05}``. A value may be a sequence."""
    over: Reductions = _option(
        "In each track: mean, median, sum, min, max, or one label of a dim of a metric; system or run=best, mean, "
        "median, worst, or a metric that chooses. Applied in the order given.",
        pairs=True,
        metavar="DIM=HOW",
    )
    """For a metric with extra dims: how to reduce some of them within each track, in this order, before tracks are
    aggregated: ``{"frame": "median", "source": "mean"}``, or which label to select, ``{"source": "vocals"}``. A word
    that names a reduction is always the reduction. A metric without remaining dims is one number per track, and can be
    queried like any score. ``system`` reduces the systems on each track, and ``run`` the runs of each model:
    ``worst``, ``mean``, ``median``, ``best``, or a metric by which the best one is chosen; ``"worst,mean,best"`` gives
    several. See :mod:`mirflow.analysis.dims`."""
    across: Mapping[str, str | Sequence[str]] | None = _option(
        "Across the values of groups or classes: mean, std, median, min, max. fold=mean,std gives both.",
        pairs=True,
        metavar="DIM=HOW",
    )
    """How to reduce across the values of groups (of `by`), classes or tags, after everything else, in this order:
    ``{"class": "mean"}``, ``{"fold": "mean,std"}``. Besides the words of `over` there is ``std``, the standard
    deviation of a sample."""
    missing: str | None = _option(
        "Treatment of cells without a score. Default: common (tracks that all systems have) for several systems, "
        "else skip.",
        choices=lambda: MISSING,
    )
    """Treatment of cells without a score. ``zero`` counts them as 0 with the weight of an empty estimate (tracks
    without a usable reference are still left out); ``common`` uses only tracks that every system of the query has;
    ``skip`` leaves them out; ``raise`` is an error. None: ``common`` where several systems are compared, else ``skip``.
    By track, and where systems of several stores have no track in common, it is ``skip`` too."""
    undefined: str = _option(
        "Treatment of scores with nothing to measure. Default: keep.", choices=lambda: UNDEFINED, default="keep"
    )
    """Whether scores with nothing to measure (weight 0) count with their stored value, usually 0 (``keep``), or are
    left out (``skip``)."""
    sort: str | None = _option(
        "Order of systems. Default: best (by the headline or first metric) in tables for people, else stored.",
        metavar="METRIC|best|name|stored",
    )
    """Order of the systems: a metric, the best first by its value over all tracks of the query; ``best``, the best
    first by the first metric of the result; or ``name``. None or ``stored``: the order of the store, or of `system`."""
    exact: bool = False
    """Whether metrics are named by their stored identities; a bare name then means the default parameters only."""


OPTIONS: Mapping[str, QueryOption] = {
    word.name: word.metadata["option"] for word in fields(Query) if "option" in word.metadata
}
"""The options by the name of the field, in the order in which help lists them."""


class SelectionOptions(TypedDict, total=False):
    """Types of the options of a :class:`Query` that choose scores; figures have them too."""

    system: Names
    tracks: Names
    where: str | None
    over: Reductions
    missing: str | None
    undefined: str


class QueryOptions(SelectionOptions, total=False):
    """Types of all options of a :class:`Query` that are given by keyword."""

    annotator: Names
    param: Parameters
    across: Mapping[str, str | Sequence[str]] | None
    sort: str | None


def make_query(
    function: str, metric: Names = None, aggregate: str | None = None, by: Names = None, **options: Unpack[QueryOptions]
) -> Query:
    """Make a query from the arguments of the function of that name."""
    if "lazy" in options:
        refuse_lazy(function)
    if not options.keys() <= OPTIONS.keys():
        refuse_unknown(function, options, [*OPTIONS, "group"])
    return Query(metric, aggregate, by, **options)


def refuse_lazy(function: str) -> NoReturn:
    """Say that a function cannot give a lazy answer."""
    raise QueryError(
        f"{function} cannot stay lazy: it needs all scores at once; only the query of lazy scores can, as "
        "open_pipeline(...).mirflow.query(lazy=True)"
    )


def as_names(names: Names) -> list[str] | None:
    """One name or several as a list without repetitions; None stays None."""
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(dict.fromkeys(map(str, names)))
