"""Functions that compare systems, as the commands do, and return tables: ``compare``, ``ranks``, ``overlap``, ..."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from .analysis.evaluations import ScoresLike, evaluations_of
from .analysis.per_class import rated_kind
from .analysis.queries import NO_NUMBER, choose
from .analysis.query_options import Names, Query, QueryOptions, make_query
from .analysis.selection import headline_metric
from .errors import QueryError
from .metrics.aggregates import CLASS_AGGREGATES
from .reports.tables import Table, Tabulation

if TYPE_CHECKING:
    import xarray as xr

    from .analysis.inference.resampling import Seed


def compare(
    scores: ScoresLike,
    metric: Names = None,
    aggregate: str | None = None,
    *,
    group: str | None = None,
    primary: bool = False,
    test: str | None = None,
    correction: str | None = None,
    friedman: bool = False,
    unit: str = "track",
    cluster: str | None = None,
    anytime: int | None = None,
    baseline: str | None = None,
    margin: float = 0.0,
    level: float = 0.95,
    replicates: int | None = None,
    rng: Seed | None = None,
    percent: bool = False,
    all_pairs: bool = False,
    worst: int | None = None,
    best: int | None = None,
    **options: Unpack[QueryOptions],
) -> Tabulation[xr.Dataset]:
    """Compare every two systems, as the command ``mirflow compare`` does.

    Parameters
    ----------
    scores : path, sequence or mapping of paths, xr.DataTree or xr.Dataset
        As for :func:`mirflow.query`.
    metric : str or sequence of str
        By which systems are compared; None only with `primary`.
    aggregate, **options
        See :class:`mirflow.analysis.query_options.Query`.
    group : str or None
        The evaluation; None: every one that has the metrics.
    primary : bool
        Compare by the headline metric of each evaluation.
    test, correction, unit, cluster, level, replicates, rng, anytime
        See :func:`mirflow.analysis.inference.comparisons.compare`; None: its default.
    friedman : bool
        Friedman's test on ranks with Tukey-Kramer HSD instead.
    baseline : str or None
        Compare the systems with this one, or with those of one of the labelled stores.
    margin : float
        By how much a system may be worse than the baseline.
    percent : bool
        Ratios as percentages in tables for people.
    all_pairs : bool
        Every two systems in tables for people, not only the best one beside each other one. Datasets and the rows for
        programs have all of up to 100 systems; of more, all are compared only if this is set.
    worst, best : int or None
        List so many of the tracks on which each system loses most, or gains most, against the baseline.

    Returns
    -------
    Tabulation of xr.Dataset
        A dataset for each evaluation: that of :func:`mirflow.analysis.inference.comparisons.compare`, ``friedman``, or,
        with a baseline, ``noninferiority``; and for each list of tracks that of :func:`mirflow.analysis.worst.changes`,
        which alone are the rows for programs.

    Raises
    ------
    QueryError
        If options exclude each other, there are fewer than two systems, or a test does not fit the value.
    UnknownNameError
        For a name that is not there, with a suggestion.
    StoreError
        If a path is not a result store.
    """
    how = {"test": test, "correction": correction, "cluster": cluster, "replicates": replicates, "rng": rng}
    how |= {"anytime": anytime}
    how = {name: value for name, value in how.items() if value is not None}
    _check_comparison(metric, options, how, primary=primary, friedman=friedman, baseline=baseline)
    listed = {"worst": worst, "best": best}
    _check_lists(listed, options, baseline, unit)
    asked = make_query("compare", metric, aggregate, **options)
    found, notes = [], []
    for name, ds in choose(evaluations_of(scores), asked.metric, group).items():
        if primary and not ds.sizes["metric"]:
            notes.append(f"{name}: left out, without {NO_NUMBER}")
            continue
        own = replace(asked, metric=headline_metric(ds), exact=True) if primary else asked
        words: dict[str, Any] = {**how, "unit": unit, "level": level, "group": name}
        found.append(_compare(ds, own, words, friedman, baseline, margin, all_pairs))
        if baseline is not None:
            found += _changes(ds, own, baseline, found[-1]["metric"].values.tolist(), listed, name)
    rows = [ds for ds in found if "baseline_value" in ds] or found
    return Tabulation(
        found,
        lambda width: [table for ds in found for table in _comparison_tables(ds, percent, all_pairs)],
        lambda: list(map(_comparison_rows, rows)),
        notes,
    )


def _check_lists(listed: Mapping[str, int | None], options: Mapping[str, Any], baseline: str | None, unit: str) -> None:
    """Refuse lists of tracks without a baseline, and options that single tracks do not have."""
    for name, count in listed.items():
        if count is None:
            continue
        if baseline is None:
            raise QueryError(f"{name!r} lists tracks by their change from a baseline; name it ('baseline')")
        for other, given in (("unit", unit != "track"), ("across", options.get("across"))):
            if given:
                raise QueryError(f"{name!r} lists single tracks and takes no {other!r}")


def _changes(
    ds: xr.Dataset, asked: Query, baseline: str, metrics: list[str], listed: Mapping[str, int | None], group: str
) -> list[xr.Dataset]:
    """The tracks that changed most against a baseline, by each metric."""
    from .analysis.inference.noninferiority import baselines_of
    from .analysis.worst import changes

    orders = {order: count for order, count in listed.items() if count is not None}
    if not orders:
        return []
    pairs = baselines_of(ds, asked, baseline)
    queries = [replace(asked, metric=metric, exact=True) for metric in metrics]
    return [
        changes(ds, query, pairs, count, best=order == "best", group=group)
        for query in queries
        for order, count in orders.items()
    ]


def _check_comparison(
    metric: Names,
    options: Mapping[str, Any],
    how: Mapping[str, Any],
    *,
    primary: bool,
    friedman: bool,
    baseline: str | None,
) -> None:
    """Refuse a comparison of nothing, or of two things, and options that would not be looked at."""
    if not metric and not primary:
        raise QueryError(
            "say which metric to compare by: -m NAME (metric=NAME in Python), or --primary (primary=True) for the "
            "headline metric of each evaluation"
        )
    for name, given in (("metric", metric), ("param", options.get("param")), ("over", options.get("over"))):
        if primary and given:
            raise QueryError(f"'primary' compares by the headline metric of each evaluation and takes no {name!r}")
    if friedman and how:
        raise QueryError(f"'friedman' compares ranks and takes no {next(iter(how))!r}")
    for name, chosen in (("friedman", friedman), ("test", "test" in how), ("correction", "correction" in how)):
        if baseline is not None and chosen:
            raise QueryError(f"'baseline' compares intervals of differences and takes no {name!r}")


def _compare(
    ds: xr.Dataset,
    asked: Query,
    how: Mapping[str, Any],
    by_ranks: bool,
    baseline: str | None,
    margin: float,
    all_pairs: bool,
) -> xr.Dataset:
    """Compare the systems of one evaluation."""
    from .analysis.inference import friedman
    from .analysis.inference.noninferiority import noninferiority
    from .analysis.inference.repeated_runs import is_about_runs
    from .analysis.inference.resolution import compare_with_resolution

    if baseline is not None:
        return noninferiority(ds, asked, baseline, margin, **how)
    if asked.across and rated_kind(ds, asked) is None and not is_about_runs(ds, asked):
        raise QueryError(f"'across' is about runs, or classes and tags; add 'aggregate' {'|'.join(CLASS_AGGREGATES)}")
    if by_ranks:
        return friedman(ds, asked, **how)
    return compare_with_resolution(ds, asked, **how, all_pairs=all_pairs)


def _comparison_tables(ds: xr.Dataset, percent: bool, all_pairs: bool) -> list[Table]:
    """Tables for people of any kind of comparison."""
    from .reports import comparisons_tables as comparisons

    if "verdict" in ds:
        return [comparisons.noninferiority_table(ds, percent=percent)]
    if "baseline_value" in ds:
        return [comparisons.changes_table(ds, percent=percent)]
    if "mean_rank" in ds:
        return comparisons.friedman_tables(ds, all_pairs=all_pairs)
    return comparisons.comparison_tables(ds, percent=percent, all_pairs=all_pairs)


def _comparison_rows(ds: xr.Dataset) -> Table:
    """The table for programs of any kind of comparison."""
    from .reports import comparisons_tables as comparisons

    if "verdict" in ds:
        return comparisons.noninferiority_long_table(ds)
    if "baseline_value" in ds:
        return comparisons.changes_long_table(ds)
    return comparisons.friedman_long_table(ds) if "mean_rank" in ds else comparisons.comparison_long_table(ds)
