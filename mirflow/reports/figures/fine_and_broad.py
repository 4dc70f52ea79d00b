"""Box plots of the fine judgements within each broad category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from ...analysis.judgements import Judgements, all_judged, fine_within_broad
from ...annotations.collection import Collection
from ...errors import FigureError, counted
from ...metrics.similarity import BROAD
from ...ragged import Float
from ..drawing import BLUE, RED, SKY
from .canvas import Frame, Sheet, Width, label, sheet

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

Several = Mapping[str, Judgements]
"""The judgements of several campaigns, by their names."""
_ROW, _GAP = 0.2, 0.9
"""Inches of a box, and what lies between two campaigns as a share of it."""


class Placing(TypedDict, total=False):
    """Axes and size of a figure."""

    ax: Axes | None
    width: Width
    height: float | None
    caption: bool


def graders(judgements: Judgements | Several, **placing: Unpack[Placing]) -> Axes:
    """The fine judgements within each broad category as box plots: figure 2 of the MIREX chapter.

    Parameters
    ----------
    judgements : Collection, path, or mapping of str to these
        As for :func:`mirflow.analysis.judgements.fine_within_broad`; of several campaigns, each under its name.
    **placing
        ``ax``, ``width``, ``height``, ``caption``: see :func:`mirflow.reports.figures.distributions`.

    Returns
    -------
    matplotlib.axes.Axes
        Box: quartiles and median; whiskers to the farthest judgement within 1.5 interquartile ranges of it; a cross
        for each judgement beyond; a diamond for the mean.

    Raises
    ------
    AnnotationError
        Without a judgement that has both parts, and for a grader who judged a candidate twice.
    FigureError
        If there is nothing to show.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    figure 2.
    """
    single = isinstance(judgements, Collection) or not isinstance(judgements, Mapping)
    several: Several = {"": judgements} if single else judgements  # type: ignore[dict-item, assignment]
    campaigns = []
    for name, one in several.items():
        judged = all_judged(one).once()
        known = ~np.isnan(judged.fine)
        fine = [judged.fine[known & (judged.level == level)] for level in range(len(BROAD))]
        campaigns.append((name, fine_within_broad(one), fine))
    if not campaigns:
        raise FigureError("no judgements to show")
    rows = len(BROAD) * len(campaigns) + _GAP * (len(campaigns) - 1)
    frame = Frame(
        placing.get("ax"), placing.get("width", "column"), placing.get("height"), placing.get("caption", True)
    )
    with sheet(frame, 0.5 + _ROW * rows + (_ROW * _GAP if len(campaigns) > 1 else 0)) as page:
        _draw(page, campaigns)
        total = sum(int(boxes["n"].sum()) for _, boxes, _ in campaigns)
        page.head(
            "Fine judgements within broad categories",
            f"{counted(total, 'judgement')}, in parentheses those of each category. Box: quartiles and median; "
            "whiskers: to 1.5 of its length; crosses: judgements beyond; diamond: mean",
        )
    return page.ax


def _draw(page: Sheet, campaigns: Sequence[tuple[str, xr.Dataset, Sequence[Float]]]) -> None:
    """A row for each category, those of a campaign below its name."""
    ax = page.ax
    places: list[float] = []
    names: list[str] = []
    for number, (title, boxes, parts) in enumerate(campaigns):
        first = number * (len(BROAD) + _GAP)
        if len(campaigns) > 1:
            at = ax.get_yaxis_transform()
            paper = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            name = label(title, max(6, min(60, int((page.inches * 72 - 50) / (0.64 * 7)))))
            ax.text(
                0, first - 0.5 - _GAP / 2, name, transform=at, fontweight="bold", fontsize=7, va="center", bbox=paper
            )
        for index, (broad, fine) in enumerate(zip(BROAD, parts, strict=True)):
            places.append(first + index)
            names.append(f"{broad} ({len(fine)})")
            if not len(fine):
                continue
            place, box = first + index, boxes.sel(broad=broad)
            low, quarter, middle, third, high, mean = (
                float(box[name]) for name in ("whisker_low", "q1", "median", "q3", "whisker_high", "mean")
            )
            ax.barh(place, third - quarter, 0.56, quarter, color=SKY, alpha=0.55, edgecolor=BLUE, linewidth=0.5)
            ax.hlines([place] * 2, [low, third], [quarter, high], color=BLUE, linewidth=0.7)
            ax.vlines([low, high], place - 0.14, place + 0.14, color=BLUE, linewidth=0.7)
            ax.vlines(middle, place - 0.28, place + 0.28, color="black", linewidth=1.2)
            beyond = fine[(fine < low) | (fine > high)]
            ax.scatter(beyond, np.full(len(beyond), place), s=9, color=BLUE, marker="+", linewidths=0.6)
            ax.plot(mean, place, marker="D", markersize=3.4, color=RED, markeredgecolor="white", markeredgewidth=0.5)
    ax.set_yticks(places, names)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(places) + 0.5, -0.5 - (_GAP if len(campaigns) > 1 else 0))
    ax.set_xlabel("fine judgement")
    ax.grid(axis="x")
    ax.spines["left"].set_visible(False)
