"""Compare every two systems, or all systems with a baseline.

Differences come with intervals and corrected p-values over the tracks that the systems have in common. Systems that
share a letter do not differ significantly. Tables show the best system with each other one, csv and json all pairs. Of
more than 100 systems only the best one is compared with each other one, unless you ask for all.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation that of :func:`mirflow.analysis.inference.resolution.compare_with_resolution`, of
    :func:`mirflow.analysis.inference.rank_tests.friedman`, or, with a baseline, of
    :func:`mirflow.analysis.inference.noninferiority.noninferiority`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..analysis.query_options import DEFAULT_LEVEL, MOST_SYSTEMS, Query, QueryOption
from ..errors import QueryError
from . import CHOICE, HEADLINE, Answer, Boards, each_evaluation, question

if TYPE_CHECKING:
    import xarray as xr

    from ..reports.tables import Table


_FRIEDMAN = (
    "metric aggregate system other mean_rank other_mean_rank rank_difference rank_low rank_high p_pair significant "
    "statistic p f_statistic f_p concordance critical_difference dof n level missing undefined unit_of_comparison"
)
"""Columns for programs of Friedman's test."""


def _cost(scores: int, systems: int, tracks: int, words: Mapping[str, Any]) -> float:
    """Of many systems, the pairs with the best one are compared, and corrected for all pairs."""
    return scores * systems * 6e-7 if systems <= MOST_SYSTEMS else scores * 2e-6 + systems**2 * 5e-5


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
    cost=_cost,
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

    def readable(ds: xr.Dataset) -> list[Table]:
        if baseline is not None:
            return [tables.noninferiority_table(ds, percent=percent)]
        if friedman:
            return tables.friedman_tables(ds, all_pairs=all_pairs)
        return tables.comparison_tables(ds, percent=percent, all_pairs=all_pairs)

    rows: Any = tables.comparison_long_table
    if baseline is not None or friedman:
        rows = _FRIEDMAN if friedman else tables.noninferiority_long_table
    result = each_evaluation(boards, query, infer, readable, rows)
    if margin is None:
        return result
    failures = [one for ds in result for one in tables.noninferiority_sentences(ds, percent=percent)]
    return Tabulation(result.items, result.tables, lambda: [result.rows()], result.notes, failures)
