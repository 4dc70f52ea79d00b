"""Do metrics, or annotators, agree on which systems are better, and systems on which tracks are hard?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError, UnknownNameError
from ...ragged import Float, Int
from ..aggregation import answer_of
from ..scores import ANNOTATOR, Array, names_of
from ..selection import Question
from .sample import dataset_of, select_numbers, settle, signs_of

if TYPE_CHECKING:
    import xarray as xr

BETWEEN = {"metric": "systems", "annotator": "systems", "system": "tracks"}
"""Whose rankings are compared, and what they rank."""


@dataclass(frozen=True)
class MetricAgreement:
    """How much alike metrics or annotators rank the systems, or systems the tracks.

    Parameters
    ----------
    between : {"metric", "annotator", "system"}
        Whose rankings are compared.
    names : list of str
        Of these.
    systems, metrics, aggregates : list of str
        ``aggregates`` is along the metrics.
    system_coords, metric_coords : mapping of str to array
    tau, p : float64 (names, names)
        1: the same order; -1: the reverse one. NaN where one gives all of them the same figure.
    n : int64 (names, names)
    attrs : mapping of str to str
    """

    between: str
    names: list[str]

    systems: list[str]
    metrics: list[str]
    aggregates: list[str]
    system_coords: Mapping[str, Array]
    metric_coords: Mapping[str, Array]
    tau: Float
    p: Float
    n: Int
    attrs: Mapping[str, str]

    def to_dataset(self) -> xr.Dataset:
        """``tau``, ``p`` and ``n`` over (metric, other), or over (annotator, other) or (system, other)."""
        import xarray as xr

        arrays: dict[str, Array] = {"tau": self.tau, "p": self.p, "n": self.n}
        variables = {name: ((self.between, "other"), array) for name, array in arrays.items()}
        ranked = BETWEEN[self.between]
        told = {
            "tau": f"Kendall's tau-b of the rankings of the {ranked}",
            "p": "p-value of no association",
            "n": f"number of {ranked} that both have a value for",
        }
        if self.between == "metric":
            return dataset_of(self, variables, {"aggregate": self.aggregates}, told)
        coords = {self.between: self.names, "other": self.names}
        described = {name: (dims, array, {"long_name": told[name]}) for name, (dims, array) in variables.items()}
        return xr.Dataset(described, coords, {**self.attrs, "metric": self.metrics[0], "aggregate": self.aggregates[0]})


def agreement(
    ds: xr.Dataset, question: Question | None = None, *, between: str = "metric", group: str = ""
) -> MetricAgreement:
    """Kendall's tau-b between the rankings of the systems by every two metrics, or by every two annotators.

    Between systems it is that of the tracks' scores: whether two systems find the same tracks hard.

    Parameters
    ----------
    ds : xr.Dataset
    question : Question or None
        As for :func:`mirflow.analysis.aggregation.ask`, without groups of tracks. A metric of which lower values are
        better ranks the other way round. Between annotators and systems it is about one metric.
    between : {"metric", "annotator", "system"}
        ``annotator`` is for evaluations that keep the scores of each.
    group : str
        A name of the evaluation to carry along.

    Returns
    -------
    MetricAgreement

    Raises
    ------
    QueryError
        For fewer than two systems, a metric of which neither high nor low values are better, several metrics where one
        is needed, an evaluation without annotators, and as a plain question.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    question = question or Question()
    if question.by:
        raise QueryError("metrics are compared over all tracks of a question; name those of one group as tracks")
    if between not in BETWEEN:
        raise UnknownNameError("between", between, BETWEEN)
    by = ANNOTATOR if between == ANNOTATOR else None
    part = select_numbers(ds, replace(question, by=by), single=between != "metric")
    if between != "metric" and part.sizes["metric"] != 1:
        known = ", ".join(names_of(part, "metric"))
        raise QueryError(f"agreement between {between}s is that of one metric; name one of: {known}")
    answer = answer_of(part, by, group)
    if len(answer.systems) < 2:
        raise QueryError(f"{len(answer.systems)} system to rank; at least two are needed")
    orientations = [str(one) for one in answer.metric_coords["orientation"].tolist()]
    signs = signs_of(answer.metrics, orientations)
    if between == "system":
        score = np.where(part["included"].values, part["score"].values, np.nan)
        value, names = score[..., 0].T * signs, answer.systems
    elif between == ANNOTATOR:
        value, names = (
            answer.value[:, 0, answer.filled] * signs,
            [str(answer.group(place)[0]) for place in answer.filled],
        )
    else:
        value, names = answer.value[..., 0] * signs, answer.metrics
    tau, p, n = rank_correlations(settle(value))
    named = (answer.systems, answer.metrics, answer.aggregates, answer.system_coords, answer.metric_coords)
    return MetricAgreement(between, names, *named, tau, p, n, dict(answer.attrs))


def rank_correlations(value: Float) -> tuple[Float, Float, Int]:
    """Kendall's tau-b of every two columns.

    Parameters
    ----------
    value : float64 (systems, metrics)
        Higher is better; NaN where there is no figure.

    Returns
    -------
    tau, p : float64 (metrics, metrics)
    n : int64 (metrics, metrics)

    Examples
    --------
    >>> rank_correlations(np.array([[0.1, 3.0], [0.2, 2.0], [0.3, 4.0]]))[0].round(3).tolist()
    [[1.0, 0.333], [0.333, 1.0]]
    """
    from scipy.stats import kendalltau

    count = value.shape[1]
    tau, p, n = np.full((count, count), np.nan), np.full((count, count), np.nan), np.zeros((count, count), np.int64)
    for one in range(count):
        for other in range(one + 1):
            both = ~np.isnan(value[:, one]) & ~np.isnan(value[:, other])
            n[one, other] = n[other, one] = both.sum()
            if both.sum() > 1:
                found = kendalltau(value[both, one], value[both, other])
                tau[one, other] = tau[other, one] = found.statistic
                p[one, other] = p[other, one] = found.pvalue
    return tau, p, n
