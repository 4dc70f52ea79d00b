"""Non-inferiority: whether systems are shown to be no worse than a baseline by more than a margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import QueryError, UnknownNameError
from ..query_options import Query
from ..scores import names_of
from ..system_groups import MODEL, group_systems, has_runs
from .comparisons import compare
from .repeated_runs import is_about_runs
from .sample import select_numbers

if TYPE_CHECKING:
    import xarray as xr

PASSED = ("not worse", "better")
VERDICTS = (*PASSED, "worse", "perhaps worse", "too few tracks", "lacks tracks")
"""The possible verdicts; those of `PASSED` are no reason to refuse a system."""


def noninferiority(ds: xr.Dataset, query: Query, baseline: str, margin: float = 0.0, **options: Any) -> xr.Dataset:
    """Test systems for noninferiority to a baseline on the tracks that the two have in common.

    A system is *not worse* where the lower end of the interval of the difference (towards better values) is at least
    ``-margin``; as the interval is two-sided, its lower end at 95 % is a one-sided bound at 97.5 %.

    Parameters
    ----------
    ds : xr.Dataset
        The scores of an evaluation.
    query : Query
        Metrics, tracks and policies; its systems are those to be judged, by default all others.
    baseline : str
        A system; or the label of one of several stores, whose systems are the baselines of those with the same names;
        or, of a query across runs, a model.
    margin : float
        How much worse a system may be, in the unit of the metric.
    **options
        ``level``, ``method``, ``replicates``, ``cluster``, ``rng``, ``unit``: see
        :func:`mirflow.analysis.inference.comparisons.compare`.

    Returns
    -------
    xr.Dataset
        Over (system, metric): ``gain`` (the difference towards better values), ``low`` and ``high``, ``n`` (common
        tracks), ``n_lacking`` (tracks that only the baseline has a score of) and ``verdict``: ``better`` (the whole
        interval is above 0), ``not worse``, ``worse`` (below 0), ``perhaps worse``, ``too few tracks`` for an interval,
        or ``lacks tracks``, unless the policy for missing scores is ``zero``. Over (system): ``baseline``.

    References
    ----------
    G. Piaggio et al., "Reporting of noninferiority and equivalence randomized trials", JAMA 308(24), 2012.
    """
    import xarray as xr

    if not margin >= 0:
        raise QueryError(f"the margin is how much worse a system may be, and not negative: {margin:g}")
    if is_about_runs(ds, query):
        every = _runs(ds, replace(query, system=None))
        if baseline not in every:
            raise UnknownNameError("baseline", baseline, every)
        members = {**_runs(ds, query), baseline: every[baseline]}
        pairs: Mapping[str, str] = {name: baseline for name in members if name != baseline}
        if not pairs:
            raise QueryError(f"no model to compare with the baseline {baseline!r}")
    else:
        pairs = _pairs(ds, query, baseline)
        members = {name: [name] for name in (*pairs, *pairs.values())}
    found = [_judge(ds, query, members[name], members[other], margin, options) for name, other in pairs.items()]
    first = found[0]
    coords: dict[str, Any] = {"system": list(pairs), "baseline": ("system", list(pairs.values()))}
    coords |= {name: first[name].variable for name in ("metric", "aggregate", "unit", "orientation")}
    names = ("gain", "low", "high", "n", "n_lacking", "verdict")
    variables = {name: (("system", "metric"), np.stack([one[name].values for one in found])) for name in names}
    attrs = {name: value for name, value in first.attrs.items() if name not in ("test", "correction")}
    return xr.Dataset(variables, coords, {**attrs, "margin": margin})


def _pairs(ds: xr.Dataset, query: Query, baseline: str) -> Mapping[str, str]:
    """The baseline of each system that is judged."""
    every = names_of(ds, "system")
    asked = names_of(select_numbers(ds, query), "system")
    if baseline in every:
        pairs = {name: baseline for name in asked if name != baseline}
    elif has_runs(ds) and baseline in group_systems(ds, MODEL)[0]:
        raise QueryError(f"{baseline!r} is a model with several runs: compare models by them (across run=mean)")
    else:
        own = {name.removeprefix(f"{baseline}/"): name for name in every if name.startswith(f"{baseline}/")}
        if not own:
            raise UnknownNameError("baseline", baseline, every)
        others = [name for name in asked if name not in own.values()]
        pairs = {name: own[name.partition("/")[2]] for name in others if name.partition("/")[2] in own}
    if not pairs:
        raise QueryError(f"no system to compare with the baseline {baseline!r}")
    return pairs


def _runs(ds: xr.Dataset, query: Query) -> dict[str, list[str]]:
    """The runs of each model that is asked for."""
    systems = select_numbers(ds, replace(query, across=None))
    models, codes = group_systems(systems, MODEL)
    names = names_of(systems, "system")
    return {model: [names[row] for row in np.flatnonzero(codes == index)] for index, model in enumerate(models)}


def _judge(
    ds: xr.Dataset, query: Query, own: list[str], base: list[str], margin: float, options: Mapping[str, Any]
) -> xr.Dataset:
    """Compare a system, or the runs of a model, with its baseline: variables over (metric)."""
    query = replace(query, system=[*own, *base])
    found = compare(ds, query, **options)
    lower = found["orientation"].values == "lower"
    if "none" in names_of(found, "orientation"):
        metric = names_of(found, "metric")[names_of(found, "orientation").index("none")]
        raise QueryError(f"neither high nor low values of {metric!r} are better, and no system is worse by it")
    difference, low, high = (found[name].values[0, 1] for name in ("difference", "low", "high"))
    gain, low, high = (np.where(lower, -a, b) for a, b in ((difference, difference), (high, low), (low, high)))
    included = select_numbers(ds, replace(query, missing="skip", across=None))["_included"].values
    lacking = (included[len(own) :].any(axis=0) & ~included[: len(own)].all(axis=0)).sum(axis=0)
    verdict = np.full(gain.shape, "perhaps worse", dtype=f"U{max(map(len, VERDICTS))}")
    verdict[high < 0] = "worse"
    verdict[low >= -margin] = "not worse"
    verdict[low > 0] = "better"
    verdict[np.isnan(low) | np.isnan(high)] = "too few tracks"
    verdict[(gain == 0) & (found["ties"].values[0, 1] == found["n"].values[0, 1])] = "not worse"  # equal on every track
    if query.missing != "zero":
        verdict[lacking > 0] = "lacks tracks"
    kept = found.drop_vars(list(found.data_vars))
    columns = {"gain": gain, "low": low, "high": high, "n": found["n"].values[0, 1], "n_lacking": lacking}
    return kept.assign({name: ("metric", values) for name, values in {**columns, "verdict": verdict}.items()})
