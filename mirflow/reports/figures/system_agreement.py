"""How much systems agree, by their scores of tracks or by their estimates, as a matrix with a dendrogram."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_query
from ...analysis.inference import agreement as agreement_of
from ...analysis.query_options import MISSING
from ...analysis.scores import names_of
from ...errors import FigureError, QueryError, counted
from ...ragged import Float
from ..captions import metric_title, origin_in_words
from ..overlaps import overlaps
from ..tables import aggregate_in_words
from .canvas import Sheet, figure, label, sheet
from .track_scores import FigureOptions, Stored, board_of, frame_of, one_metric, query_of, rank_systems

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_ROW, _NUMBERS, _ROWS = 0.22, 16, 100
"""Inches of a system, systems up to which there are numbers, and those that a page has room for."""
_NAMES = {"pearson": ("r", "Pearson's correlation"), "kendall": ("tau", "Kendall's tau-b")}


@figure("how much systems agree, with a dendrogram", place=7)
def agreement(
    scores: Stored,
    metric: str | None = None,
    aggregate: str | None = None,
    *,
    of: Literal["scores", "outputs"] = "scores",
    coefficient: Literal["pearson", "kendall"] = "pearson",
    root: str | Path | None = None,
    **options: Unpack[FigureOptions],
) -> Axes:
    """Show how much every two systems agree, in the order of a dendrogram of average linkage, the best one first.

    Parameters
    ----------
    aggregate : str or None
        Of outputs: the aggregate over the tracks; None: the metric's standard one.
    of : {"scores", "outputs"}
        ``scores``: whether systems find the same tracks hard. ``outputs``: the estimates of the system of a row scored
        with those of the system of a column as the reference; the files of the store's pipeline are read.
    coefficient : {"pearson", "kendall"}
        The correlation of the scores of tracks.
    root : path or None
        Of outputs: present folder of the annotations; None: the original one.
    **options
        As for :func:`mirflow.reports.figures.distributions`, for at most 100 systems.

    Returns
    -------
    matplotlib.axes.Axes
        Of the matrix.

    Raises
    ------
    FigureError
        For fewer than two systems, or more than 100, and if annotations are gone.
    """
    for given, known, what in ((of, ("scores", "outputs"), "agreement"), (coefficient, _NAMES, "coefficient")):
        if given not in known:
            raise FigureError(f"not a kind of {what}: {given!r}; say {' or '.join(known)}")
    group, ds = board_of(scores, metric, options)
    query = query_of(options, one_metric(ds, metric), aggregate if of == "outputs" else None)
    try:
        found = overlaps(ds, query, group, root) if of == "outputs" else agreement_of(ds, query, between="system")
    except QueryError as error:
        raise FigureError(str(error)) from None
    name = "value" if of == "outputs" else _NAMES[coefficient][0]
    value, systems = found[name].values, names_of(found, "system")
    if not 2 <= len(systems) <= _ROWS:
        raise FigureError(f"a matrix shows 2 to {_ROWS} systems, not {len(systems)}: choose some (system)")
    ranking = aggregate_query(ds, query, group)
    named = names_of(ranking, "system", rank_systems(ranking))
    best = [named.index(system) if system in named else len(named) for system in systems]
    linked = _linked(value, best, lower=of == "outputs" and found.attrs["orientation"] == "lower")
    frame = frame_of(options, "page")
    names = [label(system) for system in systems]
    with sheet(frame, 0.75 + max(_ROW, 2.2 / len(systems)) * len(systems)) as page:
        _draw(page, value, names, linked, of)
        metric = found.attrs["metric"]
        title = metric_title(
            metric, names_of(ds, "title")[names_of(ds, "metric").index(metric)] if "title" in ds.coords else ""
        )
        page.head(f"Agreement of systems by {label(title, 60)}", _describe(found, of, coefficient, group))
    return page.ax


def _linked(value: Float, best: list[int], *, lower: bool) -> dict[str, Any]:
    """Leaves and lines of the dendrogram of average linkage; distances that are not known are the largest ones.

    Of the two sides of each fork, that with the better best system, by their ranks, comes first.
    """
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    both = (value + value.T) / 2
    rest = ~np.eye(len(value), dtype=np.bool_)
    most = max(1.0, float(np.nanmax(both[rest], initial=1.0)))
    distance = both if lower else most - both
    distance = np.where(np.isnan(distance), np.nanmax(distance[rest], initial=1.0), distance)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(np.maximum(distance, 0.0), checks=False), "average")
    first = [*best]
    for fork in tree:
        sides = sorted(fork[:2].astype(int).tolist(), key=first.__getitem__)
        fork[:2] = sides
        first.append(first[sides[0]])
    return dict(dendrogram(tree, no_plot=True))


def _draw(page: Sheet, value: Float, names: list[str], linked: dict[str, Any], of: str) -> None:
    order = linked["leaves"]
    shown = np.ma.masked_invalid(value[np.ix_(order, order)])
    shown[np.diag_indices(len(order))] = np.ma.masked
    rest = value[~np.eye(len(value), dtype=np.bool_)]
    known = rest[np.isfinite(rest)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    least, low = low, low - 0.25 * (high - low or 1.0)  # so that all entries have some colour
    if page.frame.ax is None:
        grid = page.figure.add_gridspec(1, 2, width_ratios=(1, 0.32))
        page.ax.set_subplotspec(grid[0])
        # The dendrogram beside the rows of the matrix, the leaves on the left.
        tree = page.figure.add_subplot(grid[1])
        for across, up in zip(linked["icoord"], linked["dcoord"], strict=True):
            tree.plot(up, (np.array(across) - 5) / 10, color="#444444", linewidth=0.9)
        tree.set(ylim=(len(names) - 0.5, -0.5), yticks=[])
        tree.set_xlim(left=0)
        tree.spines["left"].set_visible(False)
        tree.tick_params(axis="x", labelsize=6.5)
        tree.set_xlabel("distance", fontsize=6.5)
    ax = page.ax
    image = ax.imshow(shown, cmap="Blues", vmin=low, vmax=high, aspect="auto", interpolation="nearest")
    ax.set_facecolor("#EEEEEE")
    size = page.type_size(len(names))
    ordered = [names[row] for row in order]
    ax.set_yticks(range(len(names)), ordered, fontsize=size)
    ax.set_xticks(range(len(names)), ordered, fontsize=size, rotation=90)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if of == "outputs":
        ax.set_ylabel("estimates")
        ax.set_xlabel("as the reference")
    for row, column in np.argwhere(~np.ma.getmaskarray(shown)).tolist() if len(names) <= _NUMBERS else ():
        own = float(shown[row, column])
        text = f"{own:.2f}".replace("0.", ".", 1) if abs(own) < 1 else f"{own:.3g}"
        colour = "white" if (own - low) / (high - low or 1.0) > 0.6 else "black"
        ax.text(column, row, text, ha="center", va="center", fontsize=min(6.5, size), color=colour)
    bar = page.figure.colorbar(image, ax=page.figure.axes, pad=0.02, fraction=0.04, aspect=24)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=6.5)
    if high > least:
        bar.ax.set_ylim(least, high)


def _describe(found: xr.Dataset, of: str, coefficient: str, group: str) -> str:
    attrs, n = found.attrs, found["n"].values
    pairs = n[~np.eye(len(n), dtype=np.bool_)]
    low, high = int(pairs.min()), int(pairs.max())
    over = counted(high, "track") if low == high else f"{low} to {high} tracks"
    if of == "outputs":
        kind = aggregate_in_words(attrs["aggregate"])
        what = f"estimates of each row scored with those of each column as the reference, {kind} over {over}"
    else:
        what = f"{_NAMES[coefficient][1]} of the scores of {over}; {MISSING[attrs['missing']]}"
    distance = "1 minus the correlation"
    if of == "outputs":
        distance = "the mean of both ways" if attrs["orientation"] == "lower" else "1 minus the mean of both ways"
        if float(np.nanmax(found["value"].values)) > 1 and attrs["orientation"] != "lower":
            distance = "the largest value minus the mean of both ways"
    told = origin_in_words({**attrs, "group": group} if group else attrs)
    return f"{told}; {what}. Dendrogram: average linkage, distance: {distance}"
