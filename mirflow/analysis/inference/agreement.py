"""Do metrics agree on which systems are better?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError
from ...ragged import Float, Int
from ..aggregate import answer_of
from ..question import Question
from ..scoreboard import Array, Scoreboard
from .layout import dataset_of
from .sample import select_numbers, settle, signs_of

if TYPE_CHECKING:
    import xarray as xr

_LONG_NAMES = {
    "tau": "Kendall's tau-b of the rankings of the systems",
    "p": "p-value of no association",
    "n": "number of systems that both metrics have a figure for",
}


@dataclass(frozen=True)
class Agreement:
    """How much alike metrics rank the systems.

    Parameters
    ----------
    systems, metrics, aggregates : list of str
        ``aggregates`` is along the metrics.
    system_coords, metric_coords : mapping of str to array
    tau, p : float64 (metrics, metrics)
        1: the same order; -1: the reverse one. NaN where a metric gives all systems the same figure.
    n : int64 (metrics, metrics)
    attrs : mapping of str to str
    """

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
        """``tau``, ``p`` and ``n`` over (metric, other)."""
        arrays: dict[str, Array] = {"tau": self.tau, "p": self.p, "n": self.n}
        variables = {name: (("metric", "other"), array) for name, array in arrays.items()}
        return dataset_of(self, variables, {"aggregate": self.aggregates}, _LONG_NAMES)


def agreement(board: Scoreboard, question: Question | None = None, *, group: str = "") -> Agreement:
    """Kendall's tau-b between the rankings of the systems by every two metrics.

    Parameters
    ----------
    board : Scoreboard
    question : Question or None
        As for :func:`mirflow.analysis.aggregate.ask`, without groups of tracks. A metric of which lower values are
        better ranks the other way round.
    group : str
        A name of the evaluation to carry along.

    Returns
    -------
    Agreement

    Raises
    ------
    QueryError
        For fewer than two systems, a metric of which neither high nor low values are better, and as a plain question.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    question = question or Question()
    if question.by:
        raise QueryError("metrics are compared over all tracks of a question; name those of one group as tracks")
    answer = answer_of(select_numbers(board, question), None, group)
    if len(answer.systems) < 2:
        raise QueryError(f"{len(answer.systems)} system to rank; at least two are needed")
    orientations = [str(one) for one in answer.metric_coords["orientation"].tolist()]
    signs = signs_of(answer.metrics, orientations)
    tau, p, n = rank_correlations(settle(answer.value[..., 0] * signs))
    named = (answer.systems, answer.metrics, answer.aggregates, answer.system_coords, answer.metric_coords)
    return Agreement(*named, tau, p, n, dict(answer.attrs))


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
