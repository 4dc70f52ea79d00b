"""Figures for papers, of result stores and judgements; matplotlib (extra ``report``) is imported when one is drawn."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from .bars import groups
from .canvas import save, save_caption
from .confusion import confusion
from .critical_difference import critical_difference
from .distributions import distributions
from .fine_and_broad import graders
from .heatmap import heatmap
from .scatter import scatter
from .timeline import timeline
from .tolerance import tolerance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "confusion",
    "critical_difference",
    "distributions",
    "graders",
    "groups",
    "heatmap",
    "save",
    "save_caption",
    "scatter",
    "timeline",
    "tolerance",
]

Taken = ParamSpec("Taken")


def _method(draw: Callable[Concatenate[Any, Taken], Axes]) -> Callable[Concatenate[Plots, Taken], Axes]:
    """A figure's function as a method, with its signature and its words but for the scores."""

    def method(self: Plots, /, *given: Taken.args, **named: Taken.kwargs) -> Axes:
        return draw(self.scores, *given, **named)

    functools.update_wrapper(method, draw)
    return method


class Plots:
    """The figures of :mod:`mirflow.report.figures`, about a dataset or tree of scores.

    Parameters
    ----------
    scores : xr.Dataset or xr.DataTree
    """

    def __init__(self, scores: Any) -> None:
        self.scores = scores

    distributions = _method(distributions)
    critical_difference = _method(critical_difference)
    heatmap = _method(heatmap)
    scatter = _method(scatter)
    tolerance = _method(tolerance)
    groups = _method(groups)
    confusion = _method(confusion)
    timeline = _method(timeline)
