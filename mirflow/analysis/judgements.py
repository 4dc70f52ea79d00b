"""Judgements of graders: agreement, fine scores within each broad category, workload, and plans of a grading.

Judgements are read from files or taken from collections; results are datasets. A plan says how many queries and graders
show a difference of two systems.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.collection import Collection, collect
from ..annotations.source import Source
from ..errors import AnnotationError, InvalidAnnotationError, MetricError, problems_of, together
from ..kernels.agreement import GraderAgreement, fleiss_kappa, merge_categories
from ..metrics.similarity import BROAD, clean
from ..ragged import Bool, Column, Float, Int, rows_of
from ..readers.options import Reading
from ..readers.patterns import Pattern
from ..readers.tables.table import spread_tables
from .query_options import DEFAULT_LEVEL

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "LIMIT",
    "SCHEMES",
    "GraderAgreement",
    "Workload",
    "fine_within_broad",
    "fleiss_kappa",
    "grader_agreement",
    "grading_effort",
    "merge_categories",
    "read_judgements",
]

Judgements = Collection | str | os.PathLike[str]
"""A collection of judgements, or the file that holds them."""
SOURCE = "judged_file"


@dataclass(frozen=True, slots=True)
class AllJudged:
    """Every judgement of a collection."""

    pair: Int
    """Numbers of the pairs of a query and a candidate, from 0: int64 (judgements,)."""
    level: Float
    """float64 (judgements,). 0 for NS, 1 for SS, 2 for VS; NaN without a broad category."""
    fine: Float
    """NaN without a fine judgement: float64 (judgements,)."""
    query: Int
    """Numbers of the queries: int64 (judgements,)."""
    grader: Column
    """str (judgements,). Empty: not told."""
    copied: Bool
    """bool (judgements,). True for copies: the same judgement of the query that graders heard is also listed for an
    earlier query."""
    source: str
    """Path of their file; empty for a collection."""

    def once(self) -> AllJudged:
        """Keep the judgements that graders made: one for a query and all of its mutations."""
        made = ~self.copied
        _, pair = np.unique(self.pair[made], return_inverse=True)
        level, fine, query, grader = self.level[made], self.fine[made], self.query[made], self.grader[made]
        return AllJudged(pair, level, fine, query, grader, self.copied[made], self.source)


def read_judgements(path: str | os.PathLike[str]) -> Collection:
    """The judgements in a file, by query; the attribute ``judged_file`` says which file."""
    annotations: dict[str, Annotation] = {}
    problems = problems_of(_sources(path).items(), lambda one: annotations.update({one[0]: one[1].read()[0]}))
    if problems:
        raise together(problems)
    return replace(collect(annotations), attrs={SOURCE: os.fspath(path)})


def _sources(path: str | os.PathLike[str]) -> Mapping[str, Source]:
    """The judgements of each query in a file or a pack."""
    text = Path(path).as_posix()
    if Pattern(text).is_pack:
        from ..store.packs import open_pack

        return open_pack(text)
    return spread_tables(text, Reading.of("similarity"))


def all_judged(judgements: Judgements) -> AllJudged:
    """The judgements of all queries.

    `judgements`: of kind judgements. A file holds query, candidate, grader, broad and fine.
    """
    if not isinstance(judgements, Collection):
        judgements = read_judgements(judgements)
    if judgements.kind != "judgements":
        raise AnnotationError(f"needs judgements of candidates, not {judgements.kind}")
    source = str(judgements.attrs.get(SOURCE, ""))
    cleaned = clean(judgements.rows)
    for row, flaw in cleaned.flaws.items():
        query = judgements.tracks[row]
        # Line of a judgement in its file, which is read again, as a collection has no lines.
        line = _sources(source)[query].read()[0].line(flaw.item) if source else None
        raise InvalidAnnotationError(f"query {query!r}: {flaw.message}", path=source or None, line=line)
    rows = cleaned.rows
    owner = rows_of(rows.counts[0])
    key = owner * max(len(rows.labels), 1) + rows.columns["label"]
    _, pair = np.unique(key, return_inverse=True)
    # Nothing was set aside, so that the graders are those of the same rows.
    grader = judgements.rows.columns.get("grader", np.full(len(owner), ""))
    copied, heard, label = np.zeros(len(owner), bool), judgements.rows.columns.get("judged_as"), rows.columns["label"]
    if heard is not None:
        # Judgements of a candidate for a query that graders heard, but for those under the first name of the query.
        tracks = np.array(judgements.tracks)[owner]
        _, queries = np.unique(np.where(heard == "", tracks, heard), return_inverse=True)
        _, same = np.unique(queries * (int(label.max(initial=0)) + 1) + label, return_inverse=True)
        first = np.full(len(owner), len(judgements.tracks))
        np.minimum.at(first, same, owner)
        copied = np.asarray(owner != first[same])
    return AllJudged(pair, rows.columns["level"], rows.columns["value"], owner, grader, copied, source)


SCHEMES = MappingProxyType({"3-level": ((0,), (1,), (2,)), "2-level": ((0,), (1, 2))})
"""Which of NS, SS and VS are taken together: none, or SS and VS as similar (S)."""
_ABOUT_KAPPA = {
    "kappa": "Fleiss's kappa",
    "observed": "share of the pairs of graders that agree",
    "expected": "share that would agree by chance",
    "graded": "pairs of a query and a candidate with a broad judgement",
    "compared": "pairs of a query and a candidate with at least two",
    "unanimous": "share of them on which all graders agree",
    "divided": "share of them on which some graders agree",
    "scattered": "share of them on which no two graders agree",
}


def grader_agreement(judgements: Judgements) -> xr.Dataset:
    """Agreement of graders on the broad categories.

    `judgements`: see :func:`mirflow.analysis.judgements.fine_within_broad`. Returns over ``scheme`` (``3-level``: NS,
    SS, VS; ``2-level``: NS, S): ``kappa``, ``observed`` and ``expected`` agreement, ``graded`` and ``compared`` (pairs
    of a query and a candidate with a grader, and with several), the shares ``unanimous``, ``divided`` and ``scattered``
    of the latter, and ``strength`` in the words of Landis and Koch. The attributes ``least_graders`` and
    ``most_graders`` tell how many judged a pair. Raises `AnnotationError` without any broad judgement, and for a grader
    who judged a candidate twice.

    References
    ----------
    See :func:`mirflow.kernels.agreement.fleiss_kappa`; section 4.2 and table 6 of Downie et al. 2010.

    Examples
    --------
    >>> from mirflow.annotations.annotation import Annotation
    >>> from mirflow.annotations.collection import collect
    >>> broad = np.array(["VS", "SS", "NS", "NS"])
    >>> query = Annotation("judgements", {"broad": broad}, ["x", "x", "y", "y"])
    >>> grader_agreement(collect({"q1": query})).kappa.values.round(4).tolist()
    [0.2, 1.0]
    """
    import xarray as xr

    judged = all_judged(judgements).once()
    mask = ~np.isnan(judged.level)
    if not mask.any():
        raise AnnotationError("the judgements have no broad category", path=judged.source or None)
    pairs = int(judged.pair.max()) + 1
    cell = judged.pair[mask] * len(BROAD) + judged.level[mask].astype(np.int64)
    counts = np.bincount(cell, minlength=pairs * len(BROAD)).reshape(pairs, len(BROAD))
    kappas = [fleiss_kappa(merge_categories(counts, groups)) for groups in SCHEMES.values()]
    variables = {
        name: ("scheme", np.array([asdict(kappa)[name] for kappa in kappas]), {"long_name": about})
        for name, about in _ABOUT_KAPPA.items()
    }
    strength = np.array([kappa.strength for kappa in kappas], dtype=str)
    graders = counts.sum(axis=1)
    graders = graders[graders > 0]
    return xr.Dataset(
        {**variables, "strength": ("scheme", strength, {"long_name": "in the words of Landis and Koch"})},
        {"scheme": list(SCHEMES)},
        {"least_graders": int(graders.min()), "most_graders": int(graders.max())},
    )


_REACH = 1.5
"""Interquartile ranges that a whisker reaches at most."""
_ABOUT_BOXES = {
    "n": "judgements",
    "mean": "mean",
    "lowest": "lowest judgement",
    "whisker_low": "lowest judgement within 1.5 interquartile ranges of the box",
    "q1": "first quartile",
    "median": "median",
    "q3": "third quartile",
    "whisker_high": "highest judgement within 1.5 interquartile ranges of the box",
    "highest": "highest judgement",
    "outliers": "judgements beyond the whiskers",
}


def fine_within_broad(judgements: Judgements) -> xr.Dataset:
    """The distribution of the fine judgements within each broad category, as the box plots of figure 2 show it.

    `judgements`: of kind judgements, as ``mirflow.load_collection(path, "similarity")`` reads them; or that path: a
    file with the columns query, candidate, grader, broad and fine. Returns over ``broad`` (NS, SS, VS): ``n``,
    ``mean``, ``lowest``, ``whisker_low``, ``q1``, ``median``, ``q3``, ``whisker_high``, ``highest`` and ``outliers``
    (their number), in the scale of the fine judgements; NaN where there are none. Quartiles are interpolated linearly.
    Raises `AnnotationError` without a judgement that has both parts, and for a grader who judged a candidate twice.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    figure 2.

    Examples
    --------
    >>> from mirflow.annotations.annotation import Annotation
    >>> from mirflow.annotations.collection import collect
    >>> columns = {"broad": np.array(["NS"] * 5), "value": np.array([0.0, 1.0, 1.0, 2.0, 9.0])}
    >>> found = fine_within_broad(collect({"q1": Annotation("judgements", columns, list("abcde"))}))
    >>> {name: float(found[name].sel(broad="NS")) for name in ("median", "whisker_high", "outliers")}
    {'median': 1.0, 'whisker_high': 2.0, 'outliers': 1.0}
    """
    import xarray as xr

    judged = all_judged(judgements).once()
    both = ~np.isnan(judged.level) & ~np.isnan(judged.fine)
    if not both.any():
        raise AnnotationError("no judgement has both a broad and a fine part", path=judged.source or None)
    boxes: list[tuple[float, ...]] = []  # in the order of what is said about them
    for level in range(len(BROAD)):
        fine = judged.fine[both & (judged.level == level)]
        if not len(fine):
            boxes.append((0, *[np.nan] * 8, 0))
            continue
        q1, median, q3 = np.quantile(fine, [0.25, 0.5, 0.75]).tolist()
        inside = (fine >= q1 - _REACH * (q3 - q1)) & (fine <= q3 + _REACH * (q3 - q1))
        lower, upper = (fine.min(), fine[inside].min(), q1), (q3, fine[inside].max(), fine.max())
        boxes.append((len(fine), fine.mean(), *lower, median, *upper, (~inside).sum()))
    columns = zip(_ABOUT_BOXES.items(), zip(*boxes, strict=True), strict=True)
    variables = {name: ("broad", np.array(values), {"long_name": about}) for (name, about), values in columns}
    return xr.Dataset(variables, {"broad": list(BROAD)})


LIMIT = 240.0
"""Minutes that a volunteer can be asked for."""
_DIGITS = 9
"""Whole numbers are found in spite of rounding."""


@dataclass(frozen=True)
class Workload:
    """An evaluation by graders, and whether it can be done: (A * Q * C * M * P) / G <= 240 minutes.

    Raises `MetricError` for a factor that is not a number above 0, and a product beyond all numbers.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    equation 15. It counts every candidate of every system; what several systems return is judged only once, so that it
    is an upper bound: AMS in 2007 would have taken 300 minutes by it, and took 242 pairs a grader.

    Examples
    --------
    AMS in 2006: 6 systems, 60 queries, 5 candidates, 24 graders, 3 a pair.

    >>> ams = Workload(algorithms=6, queries=60, candidates=5, graders=24, graders_per_pair=3)
    >>> ams.minutes_per_grader, ams.feasible, ams.most("queries"), ams.least_graders
    (225.0, True, 64, 23)
    """

    algorithms: float
    """A: how many systems return candidates."""
    queries: float
    """Q"""
    candidates: float
    """C: how many each system returns for a query."""
    graders: float
    """G: how many people judge."""
    minutes: float = 1.0
    """M: how long a judgement of one pair takes."""
    graders_per_pair: float = 1.0
    """P: how many people judge the same pair."""
    limit: float = LIMIT
    """Minutes that each of them can be asked for."""

    judgements: float = field(init=False, repr=False, compare=False)
    """Judgements that are to be made, if no two systems return the same candidate."""
    minutes_per_grader: float = field(init=False, repr=False, compare=False)
    """The left side of the equation."""
    feasible: bool = field(init=False, repr=False, compare=False)
    """Whether it holds."""
    least_graders: int = field(init=False, repr=False, compare=False)
    """The fewest graders with whom it would hold."""

    def __post_init__(self) -> None:
        for factor in fields(self):
            if factor.init and not (math.isfinite(value := getattr(self, factor.name)) and value > 0):
                raise MetricError(f"{factor.name} must be a number above 0, not {value!r}")
        judgements = self.algorithms * self.queries * self.candidates * self.graders_per_pair
        minutes, graders = judgements * self.minutes / self.graders, judgements * self.minutes / self.limit
        most = self.limit * max(self.algorithms, self.queries, self.candidates, self.graders_per_pair)
        if not (0 < minutes < math.inf and most / minutes < math.inf and graders < math.inf):
            raise MetricError("the factors are too large or too small to be multiplied")
        computed = {"judgements": judgements, "minutes_per_grader": minutes, "feasible": minutes <= self.limit}
        computed["least_graders"] = max(math.ceil(round(graders, _DIGITS)), 1)
        for name, value in computed.items():
            object.__setattr__(self, name, value)

    def most(self, factor: str) -> int:
        """The largest whole number of algorithms, queries, candidates or graders_per_pair for which it would hold.

        `factor`: its name; the others keep theirs.
        """
        factors = ("algorithms", "queries", "candidates", "graders_per_pair")
        if factor not in factors:
            raise MetricError(f"{factor!r} is not counted up to the limit; known: {', '.join(factors)}")
        value: float = getattr(self, factor)
        return math.floor(round(self.limit / self.minutes_per_grader * value, _DIGITS))


_ABOUT_EFFORT = {
    "queries": "queries that show the difference with the power",
    "judgements": "judgements of these, if no two systems return the same candidate",
    "graders": "fewest graders who have the time for these",
}


def grading_effort(
    judgements: Judgements,
    difference: float,
    *,
    graders_per_pair: int = 3,
    algorithms: int = 2,
    candidates: int = 5,
    power: float = 0.8,
    level: float = DEFAULT_LEVEL,
    minutes: float = 1.0,
    limit: float = LIMIT,
) -> xr.Dataset:
    """The queries and graders that show a difference of two systems, by the graders of each pair.

    A fine judgement is the sum of a mean of the query and effects of the candidate, the grader, and of both together,
    whose variances are estimated from judgements of candidates of the same query. Two systems that return different
    candidates differ on a query by the mean of these, whose variance is ``2 (candidate + (grader + residual) / P) / C``
    for C candidates of each with P graders each.

    `judgements`: of a campaign with systems and candidates like those of the planned one; see
    :func:`fine_within_broad`. `difference`: the difference of mean fine judgements that is to be shown, in their scale.
    `graders_per_pair`: numbers from 1 to this one are planned. `algorithms`, `candidates`, `minutes`, `limit`: as for
    :class:`Workload`. The difference is tested between every two algorithms, corrected by Bonferroni. `power`, `level`:
    the probability with which it is to be significant at ``1 - level``. Returns over ``graders_per_pair``: ``queries``,
    ``judgements`` and ``graders``. The attributes ``candidate``, ``grader`` and ``residual`` are the variances. Raises
    `MetricError` for a factor that is not above 0, and a power or level outside of (0, 1). Raises `AnnotationError`
    without pairs that two graders judged, or of queries with a single candidate.

    References
    ----------
    Brennan, *Generalizability Theory*, 2001, chapters 3 and 5; Bodoff and Li, "Test theory for assessing IR test
    collections", SIGIR 2007.
    """
    import xarray as xr
    from scipy.special import ndtri

    from ..kernels.agreement import variance_components
    from .inference.resolution import needed_units

    for name, value in (("difference", difference), ("graders_per_pair", graders_per_pair)):
        if not (math.isfinite(value) and value > 0):
            raise MetricError(f"{name} must be a number above 0, not {value!r}")
    if algorithms < 2:
        raise MetricError(f"algorithms must be 2 or more, of which two are compared, not {algorithms!r}")
    for name, value in (("power", power), ("level", level)):
        if not 0 < value < 1:
            raise MetricError(f"{name} must be between 0 and 1, not {value!r}")
    judged = all_judged(judgements).once()
    mask = ~np.isnan(judged.fine)
    _, grader = np.unique(judged.grader[mask], return_inverse=True)
    components = variance_components(judged.fine[mask, np.newaxis], judged.pair[mask], grader, judged.query[mask])
    if not mask.any() or np.isnan(components.objects + components.residual).any():
        message = "variances need fine judgements of several candidates of a query by two graders each or more"
        raise AnnotationError(message, path=judged.source or None)
    each = np.arange(1, graders_per_pair + 1)
    spread = np.sqrt(np.concatenate([2 * components.of_one(count) / candidates for count in each.tolist()]))
    critical = np.full(len(each), ndtri(1 - (1 - level) / (algorithms * (algorithms - 1))))
    queries = needed_units(spread, np.full(len(each), float(difference)), critical, power)
    works = [
        Workload(algorithms, float(many), candidates, 1.0, minutes, float(count), limit)
        for many, count in zip(queries, each, strict=True)
    ]
    judged_pairs, graders = zip(*((round(work.judgements), work.least_graders) for work in works), strict=True)
    columns = zip(_ABOUT_EFFORT.items(), (queries.astype(np.int64), judged_pairs, graders), strict=True)
    variables = {
        name: ("graders_per_pair", np.array(values), {"long_name": about}) for (name, about), values in columns
    }
    parts = zip(("candidate", "grader", "residual"), (part.item() for part in components), strict=True)
    return xr.Dataset(variables, {"graders_per_pair": each}, dict(parts))
