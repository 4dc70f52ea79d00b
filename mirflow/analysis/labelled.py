"""Inference from xarray: what the accessors of datasets and trees share."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack, cast

from .class_figures import rated_kind
from .inference import agreement, compare, friedman, intervals, rate_intervals
from .inference.resampling import Seed
from .question import Names, Options, make_question
from .scoreboard import Scoreboard
from .worst import extremes

if TYPE_CHECKING:
    import xarray as xr


class IntervalOptions(TypedDict, total=False):
    """How intervals are made; see :func:`mirflow.analysis.inference.bootstrap.intervals`."""

    level: float
    method: str
    replicates: int
    unit: str
    cluster: str | None
    rng: Seed


class _AllOptions(IntervalOptions, Options):
    """The words of a question and of its intervals."""


class Inference:
    """Statements about the systems of one evaluation. `group` names it in a tree that has several."""

    def _choose(self, metric: Names, group: str | None) -> tuple[str, Scoreboard]:
        raise NotImplementedError

    def intervals(
        self,
        metric: Names = None,
        aggregate: str | None = None,
        by: Names = None,
        *,
        group: str | None = None,
        **options: Unpack[_AllOptions],
    ) -> xr.Dataset:
        """Figures over the tracks with confidence intervals: as ``query``, with ``low`` and ``high``.

        Parameters
        ----------
        metric, aggregate, by, group
            As for ``query``.
        **options
            ``level``, ``method``, ``replicates``, ``unit``, ``cluster``, ``rng``: see
            :func:`mirflow.analysis.inference.bootstrap.intervals`; and the other words of a question.
        """
        name, board = self._choose(metric, group)
        asked, how = _apart(options)
        question = make_question("intervals", metric, aggregate, by, **asked)
        if rated_kind(board, question) is not None:
            return rate_intervals(board, question, **how, group=name).to_dataset()
        return intervals(board, question, **how, group=name).to_dataset()

    def worst(
        self,
        metric: str | None = None,
        n: int = 10,
        *,
        best: bool = False,
        overall: bool = False,
        group: str | None = None,
        **options: Unpack[Options],
    ) -> xr.Dataset:
        """The tracks with the worst scores of one metric, or the best; see :func:`mirflow.analysis.worst.extremes`.

        Scores with nothing to measure are left out unless ``undefined="keep"`` is said.
        """
        name, board = self._choose(metric, group)
        asked: Options = {"undefined": "skip", **options}
        question = make_question("worst", metric, **asked)
        return extremes(board, question, n, best=best, overall=overall, group=name).to_dataset()

    def compare(
        self,
        metric: Names = None,
        aggregate: str | None = None,
        *,
        group: str | None = None,
        test: str = "auto",
        correction: str = "auto",
        **options: Unpack[_AllOptions],
    ) -> xr.Dataset:
        """Every two systems compared; see :func:`mirflow.analysis.inference.comparisons.compare`."""
        name, board = self._choose(metric, group)
        asked, how = _apart(options)
        question = make_question("compare", metric, aggregate, **asked)
        return compare(board, question, test=test, correction=correction, **how, group=name).to_dataset()

    def friedman(
        self,
        metric: Names = None,
        aggregate: str | None = None,
        *,
        group: str | None = None,
        unit: str = "track",
        level: float = 0.95,
        **options: Unpack[Options],
    ) -> xr.Dataset:
        """Ranks of the systems and which of them differ; see :func:`mirflow.analysis.inference.friedman.friedman`."""
        name, board = self._choose(metric, group)
        question = make_question("friedman", metric, aggregate, **options)
        return friedman(board, question, unit=unit, level=level, group=name).to_dataset()

    def agreement(
        self,
        metric: Names = None,
        aggregate: str | None = None,
        *,
        between: str = "metric",
        group: str | None = None,
        **options: Unpack[Options],
    ) -> xr.Dataset:
        """How much alike metrics (or annotators) rank the systems, or systems the tracks.

        See :func:`mirflow.analysis.inference.agreement.agreement`.
        """
        name, board = self._choose(metric, group)
        question = make_question("agreement", metric, aggregate, **options)
        return agreement(board, question, between=between, group=name).to_dataset()


def _apart(options: _AllOptions) -> tuple[Options, IntervalOptions]:
    """The words of a question, and those of its intervals; an unknown one is an error of the call that gets it."""
    own = IntervalOptions.__annotations__
    asked = {name: value for name, value in options.items() if name not in own}
    how = {name: value for name, value in options.items() if name in own}
    return cast(Options, asked), cast(IntervalOptions, how)
