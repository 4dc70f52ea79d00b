"""Every score of a metric at once: tracks across, systems down."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ...analysis.scores import names_of
from ...errors import FigureError, counted
from ...ragged import Float, Int
from ..drawing import PALE
from ..results import column_of
from .canvas import Sheet, figure, label, sheet
from .track_scores import FigureOptions, Stored, axis_name, describe, frame_of, rank_systems, scores_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_NAME = 0.105
"""Inches that the name of a track needs across."""
_MANY, _CAP = 200, 0.05
"""Scores from which on this share of them at either end has the colour of the end, so that few do not take all."""
ORDERS = ("difficulty", "stored")


@figure("tracks x systems", place=3)
def heatmap(
    scores: Stored,
    metric: str | None = None,
    aggregate: str | None = None,
    *,
    order: str = "difficulty",
    **options: Unpack[FigureOptions],
) -> Axes:
    """Tracks x systems, bright where scores are good, hatched where there is none.

    Parameters
    ----------
    aggregate : str or None
        What orders the systems; None: the metric's standard one.
    order : {"difficulty", "stored"}
        Of the tracks: by the mean of the systems' scores, the hardest first, or in the order of the store.
    **options
        As for :func:`mirflow.reports.figures.distributions`; by default every existing score is shown
        (``missing="skip"``).
    """
    if order not in ORDERS:
        raise FigureError(f"not an order of tracks: {order!r}; say {' or '.join(ORDERS)}")
    options.setdefault("missing", "skip")
    result, tracks, score, signed = scores_of(scores, metric, aggregate, options)
    rows, columns = rank_systems(result), _columns(result, score, order)
    frame = frame_of(options, "page")
    has_names = len(columns) * _NAME < frame.inches - 1.6
    with sheet(frame, 0.5 + max(0.5, min(0.16, 6.5 / len(rows)) * len(rows)) + 0.9 * has_names) as page:
        capped = _draw(page, result, score[rows][:, columns])
        ax = page.ax
        small = page.type_size(len(rows), 6)
        ax.set_yticks(range(len(rows)), list(map(label, names_of(result, "system", rows))), fontsize=small)
        if has_names:
            names = [label(tracks[column], 22) for column in columns]
            ax.set_xticks(range(len(columns)), names, rotation=90, fontsize=6)
        else:
            first = "the hardest first" if order == "difficulty" else "in the order of the store"
            ax.set_xticks([])
            ax.set_xlabel(f"{counted(len(columns), 'track')}, {first}")
        ax.tick_params(length=0)
        title = f"{label(axis_name(result), 60)} of every track and system"
        ends = f"; colours end at the {100 * _CAP:.0f} % lowest and highest scores" if capped else ""
        page.head(title, f"{describe(result)}; hatched: no score{ends}", signed)
    return page.ax


def _columns(result: xr.Dataset, score: Float, order: str) -> Int:
    if order == "stored":
        return np.arange(score.shape[1])
    with warnings.catch_warnings():  # tracks that no system has come last
        warnings.simplefilter("ignore", RuntimeWarning)
        mean = np.nanmean(score, axis=0)
    return np.argsort(-mean if column_of(result, "orientation")[0] == "lower" else mean, kind="stable")


def _draw(page: Sheet, result: xr.Dataset, score: Float) -> bool:
    """Draw the scores; whether some are beyond the ends of the colours."""
    from matplotlib.patches import Rectangle

    ax = page.ax
    finite = score[np.isfinite(score)]
    ratio = not column_of(result, "unit")[0] and bool(((finite >= 0) & (finite <= 1)).all())
    least, most = (float(finite.min()), float(finite.max())) if finite.size and not ratio else (0.0, 1.0)
    low, high = least, most
    if finite.size >= _MANY:
        low, high = np.quantile(finite, [_CAP, 1 - _CAP]).tolist()
        low, high = (low, high) if low < high else (least, most)
    frame = Rectangle((0, 0), 1, 1, transform=ax.transAxes, facecolor=PALE, edgecolor="#888888", hatch="//////")
    frame.set_linewidth(0)
    ax.add_patch(frame).set_zorder(0)
    colours = "cividis_r" if column_of(result, "orientation")[0] == "lower" else "cividis"
    image = ax.imshow(
        np.ma.masked_where(np.isnan(score), np.clip(score, low, high)),
        aspect="auto",
        cmap=colours,
        vmin=low,
        vmax=high,
        interpolation="nearest",
    )
    image.set_zorder(1)
    ax.spines[:].set_visible(False)
    beyond = bool((finite < low).any()), bool((finite > high).any())
    extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(beyond, "neither")
    bar = page.figure.colorbar(image, ax=ax, pad=0.01, fraction=0.04, aspect=18, extend=extend)
    bar.outline.set_visible(False)
    bar.set_label(label(axis_name(result), 40))
    return any(beyond)
