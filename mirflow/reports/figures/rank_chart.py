"""Ranks of systems: the ones that a test does not exclude, and how sure it is that each is better than each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from ...analysis.inference.rank_tests import ranks as ranks_of
from ...analysis.query_options import DEFAULT_LEVEL, MISSING
from ...errors import FigureError
from ...ragged import Float
from ..captions import origin_in_words, ranks_note, title_in
from ..layout import together
from ..tables import aggregate_in_words
from .canvas import Sheet, figure, label, sheet
from .track_scores import FigureOptions, Stored, board_of, frame_of, one_metric, query_of, signer_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_ROW = 0.17
"""Inches of a system."""
_MATRIX, _NUMBERS = 30, 12
"""Systems up to which there is a matrix, and up to which it has numbers."""


@figure("intervals of the systems' ranks, and chances of being better", place=2)
def ranks(
    scores: Stored,
    metric: str | None = None,
    aggregate: str | None = None,
    *,
    level: float = DEFAULT_LEVEL,
    cluster: str | None = None,
    replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    **options: Unpack[FigureOptions],
) -> Axes:
    """Show the ranks of each system that a test does not exclude, beside the chances of being better than others.

    Parameters
    ----------
    level, cluster, replicates, rng
        As for :func:`mirflow.analysis.inference.ranks`.
    **options
        As for :func:`mirflow.reports.figures.distributions`. The matrix of chances is left out of more than 30 systems,
        and on axes that are given.

    Returns
    -------
    matplotlib.axes.Axes
        Of the intervals.

    Raises
    ------
    FigureError
        If no system has a value.
    QueryError, UnknownNameError
        As for :func:`mirflow.analysis.inference.ranks`.
    """
    group, ds = board_of(scores, metric, options)
    query = query_of(options, one_metric(ds, metric), aggregate)
    found = ranks_of(ds, query, level=level, cluster=cluster, replicates=replicates, rng=rng, group=group)
    rank = found["rank"].values[:, 0]
    order = [place for place in np.argsort(rank, kind="stable").tolist() if not np.isnan(rank[place])]
    if not order:
        raise FigureError("nothing to rank: no track has a score of every system")
    frame = frame_of(options, "page")
    better = found["better"].values[np.ix_(order, order)][..., 0]
    has_matrix = 1 < len(order) <= _MATRIX and frame.ax is None and not np.isnan(found["first"].values).all()
    with sheet(frame, 0.55 + _ROW * len(order)) as page:
        ax, rows = page.ax, np.arange(len(order))
        low, rank, high, first = (found[name].values[order, 0] for name in ("rank_low", "rank", "rank_high", "first"))
        size = page.type_size(len(order))
        # A rank that is the only one has some length too.
        ax.hlines(rows, low - 0.15, high + 0.15, color="black", linewidth=2.0)
        ax.plot(rank, rows, "o", color="white", markeredgecolor="black", markersize=min(4.0, size * 0.6))
        shares = [
            "" if np.isnan(share) or share < 0.005 else f"  first: {100 * share:.0f} %" for share in first.tolist()
        ]
        for row, (end, text) in enumerate(zip(high.tolist(), shares, strict=True)):
            ax.text(end + 0.25, row, text, va="center", fontsize=0.9 * size, color="#444444")
        ax.set_yticks(rows, [label(found["system"].values[place]) for place in order], fontsize=size)
        ax.set_ylim(len(order) - 0.5, -0.5)
        count = len(order)
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000) if count / step <= 12)
        ax.set_xticks(sorted({1, *range(step, count + 1, step)}))
        ax.set_xlim(0.5, count + 0.5 + max(1.0, 0.16 * count))
        ax.set_xlabel("rank")
        ax.grid(axis="x")
        ax.tick_params(length=0)
        if has_matrix:
            _draw_matrix(page, better, [label(found["system"].values[place], 12) for place in order])
        title = f"Ranks by {label(title_in(found), 60)}, {aggregate_in_words(found['aggregate'].item())}"
        page.head(title, _describe(found, has_matrix), signer_of(ds, query, group=group))
    return page.ax


def _draw_matrix(page: Sheet, better: Float, names: list[str]) -> None:
    """The shares of replicates in which the system of a row is better than that of a column."""
    grid = page.figure.add_gridspec(1, 2, width_ratios=(1.15, 1))
    page.ax.set_subplotspec(grid[0])
    ax = page.figure.add_subplot(grid[1])
    # The ends of the scale are so dark that nothing could be read on them.
    image = ax.imshow(better, cmap="RdBu", vmin=-0.25, vmax=1.25, aspect="auto", interpolation="nearest")
    size = page.type_size(len(names))
    small = min(6.0, size, 14 * page.inches / len(names))
    if len(names) <= _NUMBERS:
        for row, column in np.argwhere(~np.isnan(better)).tolist():
            text = f"{100 * better[row, column]:.0f}"
            # Three digits do not fit into narrow cells; the colour of what is certain says it.
            if text not in ("0", "100"):
                ax.text(column, row, text, ha="center", va="center", fontsize=small, color="black")
    ax.set_yticks([])
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=size)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = page.figure.colorbar(image, ax=ax, pad=0.02, fraction=0.05, aspect=18)
    bar.ax.set_ylim(0, 1)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    bar.set_label("better than the column")


def _describe(found: xr.Dataset, has_matrix: bool) -> str:
    attrs = found.attrs
    kind = aggregate_in_words(found["aggregate"].item())
    clustered = f" ({together(attrs['cluster'])})" if attrs["cluster"] else ""
    drawn = f"{attrs['replicates']} bootstrap replicates over tracks{clustered}"
    shares = "first, and matrix" if has_matrix else "first"
    parts = [f"{kind} over the tracks", MISSING[attrs["missing"]], f"bars: {ranks_note(found, 0)}"]
    return f"{origin_in_words(attrs)}; {'; '.join(parts)}. {shares[:1].upper()}{shares[1:]}: shares of {drawn}"
