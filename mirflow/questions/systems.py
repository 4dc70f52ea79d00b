"""Questions about systems: whether they differ, how they rank, what combining them reaches, how many tracks suffice.

Systems are compared with each other, or with a baseline for being no worse by more than a margin. Other questions
measure how far metrics, annotators or systems agree in their rankings, and how much the estimates of systems overlap.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..analysis.query_options import DEFAULT_LEVEL, MOST_SYSTEMS, Query, QueryOption
from ..errors import QueryError
from . import CHOICE, HEADLINE, Answer, Boards, each_evaluation, question, replicating, testing

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr

    from ..progress import Progress


_FRIEDMAN = (
    "metric aggregate system other mean_rank other_mean_rank rank_difference rank_low rank_high p_pair significant "
    "statistic p f_statistic f_p concordance critical_difference dof n level missing undefined unit_of_comparison"
)
"""Columns for programs of Friedman's test."""


@question(
    "Test the differences of systems.",
    section="first",
    place=7,
    words=CHOICE | {"aggregate", "across"},
    options={
        "test": QueryOption(
            "Default: auto, a permutation test of the value itself.",
            choices=lambda: ("auto", "permutation", "wilcoxon", "t"),
        ),
        "friedman": QueryOption("Friedman's test with Tukey-Kramer HSD, as MIREX."),
        "unit": QueryOption(
            "Unit of observation: track, or a coordinate of the tracks; for --friedman also a dim of the metric (tag)."
        ),
        "baseline": QueryOption(
            "Compare with this system, or with the systems of one labelled store.", metavar="SYSTEM|LABEL"
        ),
        "margin": QueryOption(
            "By how much systems may be worse than the baseline; the command exits with 3 unless each is shown to be "
            "no worse by more.",
            flag="--not-worse",
            metavar="MARGIN",
            least=0.0,
        ),
        "anytime": QueryOption(
            "Intervals and tests that hold at every look while tracks are added, narrowest at N tracks.",
            metavar="N",
            least=1,
        ),
        "all_pairs": QueryOption(
            "List all pairs of systems, not only those with the best system; of more than 100, compare all.", local=True
        ),
    },
    helps={**HEADLINE, "missing": "Treatment of cells without a score. Default: common."},
    # Of many systems, the pairs with the best one are compared, and corrected for all pairs.
    cost=lambda scores, systems, tracks, words: (
        scores * systems * 6e-7 if systems <= MOST_SYSTEMS else scores * 2e-6 + systems**2 * 5e-5
    ),
)
def compare(
    boards: Boards,
    query: Query,
    *,
    test: str = "auto",
    correction: str = "auto",
    friedman: bool = False,
    unit: str = "track",
    cluster: str | None = None,
    baseline: str | None = None,
    margin: float | None = None,
    level: float = DEFAULT_LEVEL,
    anytime: int | None = None,
    replicates: int = 10_000,
    rng: int = 0,
    percent: bool = False,
    all_pairs: bool = False,
) -> Answer:
    """Compare every two systems, or all systems with a baseline.

    Differences come with intervals and corrected p-values over the tracks that the systems have in common. Systems that
    share a letter do not differ significantly. Tables show the best system with each other one, csv and json all pairs.
    Of more than 100 systems only the best one is compared with each other one, unless you ask for all.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation that of :func:`mirflow.analysis.inference.resolution.compare_with_resolution`, of
        :func:`mirflow.analysis.inference.rank_tests.friedman`, or, with a baseline, of
        :func:`mirflow.analysis.inference.noninferiority.noninferiority`.
    """
    from ..analysis.inference.noninferiority import noninferiority
    from ..analysis.inference.rank_tests import friedman as compare_ranks
    from ..analysis.inference.repeated_runs import is_about_runs
    from ..analysis.inference.resolution import compare_with_resolution
    from ..analysis.per_class import rated_kind
    from ..metrics.aggregates import CLASS_AGGREGATES
    from ..reports import comparisons_tables as tables
    from ..reports.tables import Tabulation

    how: dict[str, Any] = {"cluster": cluster, "anytime": anytime, "replicates": replicates, "rng": rng}
    changed = [name for name, value in {"test": test, "correction": correction}.items() if value != "auto"]
    if baseline is not None and (friedman or changed):
        other = "friedman" if friedman else changed[0]
        raise QueryError(f"'baseline' compares intervals of differences and takes no {other!r}")
    changed += [name for name, value in how.items() if value not in (None, 10_000, 0)]
    if friedman and changed:
        raise QueryError(f"'friedman' compares ranks and takes no {changed[0]!r}")
    if margin is not None and baseline is None:
        raise QueryError("'margin' (--not-worse) is about a baseline; name it ('baseline')")

    def infer(ds: xr.Dataset, query: Query, group: str) -> xr.Dataset:
        words: dict[str, Any] = {"unit": unit, "level": level, "group": group}
        if baseline is not None:
            return noninferiority(ds, query, baseline, margin or 0.0, **words, **how)
        if query.across and rated_kind(ds, query) is None and not is_about_runs(ds, query):
            names = "|".join(CLASS_AGGREGATES)
            raise QueryError(f"'across' is about runs, or classes and tags; add 'aggregate' {names}")
        if friedman:
            return compare_ranks(ds, query, **words)
        words |= {"test": test, "correction": correction, "all_pairs": all_pairs}
        return compare_with_resolution(ds, query, **words, **how)

    rows: Any = tables.comparison_long_table
    readable: Any = partial(tables.comparison_tables, percent=percent, all_pairs=all_pairs)
    if friedman:
        readable, rows = partial(tables.friedman_tables, all_pairs=all_pairs), _FRIEDMAN
    elif baseline is not None:
        gate = partial(tables.noninferiority_table, percent=percent)
        readable, rows = lambda ds: [gate(ds)], tables.noninferiority_long_table
    result = each_evaluation(boards, query, infer, readable, rows)
    if margin is None:
        return result
    failures = [sentence for ds in result for sentence in tables.noninferiority_sentences(ds, percent=percent)]
    return Tabulation(result.items, result.tables, lambda: [result.rows()], result.notes, failures)


@question(
    "Say how sure the ranks of the systems are.", words=CHOICE | {"aggregate", "sort"}, helps=HEADLINE, cost=testing
)
def ranks(
    boards: Boards,
    query: Query,
    *,
    level: float = DEFAULT_LEVEL,
    correction: str = "auto",
    unit: str = "track",
    cluster: str | None = None,
    replicates: int = 10_000,
    rng: int = 0,
    percent: bool = False,
) -> Answer:
    """Rank the systems over all tracks, and say how sure the ranks are.

    Each system has the ranks that the permutation tests of ``compare`` do not exclude, the chance of being first, and
    of being better than each other one.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation that of :func:`mirflow.analysis.inference.rank_tests.ranks`.

    Examples
    --------
    >>> import numpy as np, mirflow
    >>> times = np.arange(1.0, 9.0)
    >>> references = {str(track): times + track for track in range(8)}
    >>> estimates = {name: {track: own[:count] for track, own in references.items()} for name, count in
    ...              {"few": 3, "most": 7, "some": 5}.items()}
    >>> result = mirflow.ranks(mirflow.score(references, estimates, "onset"), "f_measure")
    >>> result["rank_low"].values.ravel().tolist(), result["first"].values.ravel().tolist()
    ([3.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    """
    from ..analysis.inference.rank_tests import ranks as infer
    from ..reports.inference_tables import rank_tables

    infer = partial(
        infer, level=level, correction=correction, unit=unit, cluster=cluster, replicates=replicates, rng=rng
    )
    readable = partial(rank_tables, percent=percent, ranked=query.sort is None)
    columns = (
        "metric aggregate system value unit rank rank_low rank_high first other better n test level correction missing "
        "undefined resampled"
    )
    return each_evaluation(boards, query, infer, readable, columns)


@question(
    "Say how far rankings agree.",
    words=CHOICE | {"aggregate"},
    options={
        "between": QueryOption("What ranks.", choices=lambda: ("metric", "annotator", "system")),
        "level": QueryOption("Level of intervals of tau, between metrics. Default: none.", level=True),
    },
    helps={"metric": "Metrics by name or alias. Repeat for several. Default: all that rank, or the headline."},
    cost=replicating,
)
def agreement(
    boards: Boards, query: Query, *, between: str = "metric", level: float | None = None, cluster: str | None = None
) -> Answer:
    """Measure how far metrics or annotators agree on the ranking of systems, or systems on the ranking of tracks.

    The agreement is Kendall's tau-b of every two rankings: 1 the same order, -1 the reverse. Between metrics these are
    by default all that rank; between annotators and systems the question is about one metric, by default the headline.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation that of :func:`mirflow.analysis.inference.correlations.agreement`.
    """
    from ..analysis.inference.correlations import agreement as infer
    from ..analysis.lookup import headline_metric
    from ..reports.comparisons_tables import columns_table
    from ..reports.inference_tables import agreement_table
    from ..reports.tables import Tabulation

    if cluster is not None and level is None:
        raise QueryError("'cluster' is about intervals; add 'level'")
    found = []
    for name, ds in boards.items():
        if query.metric is not None:
            asked = query
        elif between == "metric":
            ranking = ds["metric"].values[ds["orientation"].values != "none"].tolist()
            asked = replace(query, metric=ranking, exact=True)
        else:
            asked = replace(query, metric=headline_metric(ds), exact=True)
        found.append(infer(ds, asked, between=between, level=level, cluster=cluster, group=name))
    about = "" if between == "metric" else "metric aggregate "
    more = "r " if between == "system" else "" if level is None else "low high "
    drawn = "" if level is None else " level replicates resampled"
    columns = f"{about}{between} other tau p {more}n missing undefined{drawn}".split()
    return Tabulation(
        found, lambda width: list(map(agreement_table, found)), lambda: [columns_table(ds, columns) for ds in found]
    )


@question("Say what combining systems could reach.", words=CHOICE | {"aggregate"}, helps=HEADLINE, cost=replicating)
def oracle(
    boards: Boards,
    query: Query,
    *,
    level: float = DEFAULT_LEVEL,
    cluster: str | None = None,
    method: str = "auto",
    percent: bool = False,
) -> Answer:
    """Combine the systems by the best one of each track: what this could reach, and which systems add most.

    The oracle knows the scores, so that it is an upper bound. Its gain over the best single system has an interval.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation that of :func:`mirflow.analysis.inference.oracles.oracle`.
    """
    from ..analysis.inference.oracles import oracle as infer
    from ..reports.inference_tables import oracle_tables

    infer = partial(infer, level=level, cluster=cluster, method=method)
    columns = (
        "metric aggregate system value unit best_on step together oracle gain low high n level method replicates "
        "missing undefined resampled"
    )
    return each_evaluation(boards, query, infer, partial(oracle_tables, percent=percent), columns)


@question(
    "Score systems with each other.",
    words=("metric", "aggregate", "system", "tracks", "where", "param", "undefined"),
    helps={"metric": "The metric, by name or alias. Default: the headline."},
)
def overlap(
    boards: Boards,
    query: Query,
    *,
    root: str | Path | None = None,
    percent: bool = False,
    progress: bool | Progress | None = None,
) -> Answer:
    """Score the estimates of every system with those of every other one as the reference.

    The files that the pipeline of the store names are read again. Each two systems are compared on the tracks that both
    have.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation ``value`` and ``n`` over (system, other).
    """
    from ..progress import progress_of
    from ..reports.inference_tables import overlap_table
    from ..reports.overlaps import overlaps

    infer = partial(overlaps, root=root, progress=progress_of(progress))
    columns = "metric aggregate system other value unit n undefined"
    return each_evaluation(boards, query, infer, lambda ds: [overlap_table(ds, percent=percent)], columns)


_PAIR = "metric aggregate system other difference"
_TEST = "wanted power level correction critical n missing"
"""Columns for programs of plans of tracks and of annotators, before and behind their own."""


@question(
    "Estimate how many tracks a difference takes.",
    words=CHOICE | {"aggregate"},
    options={
        "difference": QueryOption(
            "The difference to be shown, in the unit of the metric. Default: that of these systems.",
            metavar="SIZE",
            least=0.0,
        ),
        "power": QueryOption("Probability with which it is to be shown.", level=True),
        "annotations": QueryOption(
            "Tracks for 1 to N annotators of each, from scores of each annotator (combine: each).", metavar="N", least=1
        ),
        "level": QueryOption("Tests use 1 - level.", level=True),
    },
    helps={**HEADLINE, "missing": "Treatment of cells without a score. Default: common."},
    cost=testing,
)
def plan(
    boards: Boards,
    query: Query,
    *,
    difference: float | None = None,
    power: float = 0.8,
    annotations: int | None = None,
    correction: str = "auto",
    unit: str = "track",
    cluster: str | None = None,
    level: float = DEFAULT_LEVEL,
    replicates: int = 10_000,
    rng: int = 0,
    percent: bool = False,
    all_pairs: bool = False,
) -> Answer:
    """Estimate the smallest difference that these tracks show, and how many tracks another one takes.

    The scores are of systems on tracks like those of the collection that is planned. The numbers are for the
    permutation test of ``compare`` between all systems of the query. From the scores of each annotator, variances
    between tracks and between annotators say how many annotators a track should have.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation that of :func:`mirflow.analysis.inference.resolution.resolution`, with `annotations` that of
        :func:`mirflow.analysis.inference.resolution.annotation_effort`.
    """
    from ..analysis.inference.resolution import annotation_effort, resolution
    from ..reports.inference_tables import plan_table

    how: dict[str, Any] = {"correction": correction, "unit": unit, "cluster": cluster, "level": level, "rng": rng}
    how |= {"difference": difference, "power": power, "replicates": replicates}

    infer, columns = partial(resolution, **how), f"{_PAIR} error resolution needed {_TEST} unit_of_comparison"
    if annotations is not None:
        columns = f"{_PAIR} track_variance annotator_variance residual_variance annotators needed_with {_TEST}"
        infer = partial(annotation_effort, annotations=annotations, **how)
    table = partial(plan_table, percent=percent, all_pairs=all_pairs)
    return each_evaluation(
        boards, query, infer, lambda ds: [table(ds, metric) for metric in range(ds.sizes["metric"])], columns
    )
