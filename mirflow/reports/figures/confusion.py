"""Confusion matrices of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from ...analysis.dims import table_of
from ...analysis.lookup import find_measures, find_tables, split_names
from ...analysis.per_class import CONFUSED, aggregate_table, select_table
from ...analysis.query_options import MISSING
from ...analysis.scores import names_of
from ...errors import FigureError, UnknownNameError, counted
from ...kernels.ratios import divide
from ...ragged import Float
from ..captions import metric_title, origin_in_words
from ..layout import REST, choose_labels, with_others
from ..results import column_of, count_tracks, labels_of, values_of
from ..tables import aggregate_in_words
from .canvas import Sheet, figure, label, sheet
from .track_scores import FigureOptions, Stored, board_of, frame_of, query_of, signer_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


@figure("which classes a system confuses", place=7)
def confusion(scores: Stored, metric: str | None = None, *, most: int = 26, **options: Unpack[FigureOptions]) -> Axes:
    """Shares of the time, or the tracks, of each class of the reference by the classes of a system's estimates.

    Parameters
    ----------
    scores : path, xr.DataTree or xr.Dataset
        With a confusion matrix, such as chord's ``confusion@majmin`` or classification's ``confusion``.
    metric : str or None
        None: the only one.
    most : int
        Classes to show; the others are put together as ``(rest)``.
    **options
        As for :func:`mirflow.reports.figures.distributions`; ``system`` names one, where there are several.

    Raises
    ------
    FigureError
        If several systems or matrices are meant, or there is none.
    """
    if most < 2:
        raise FigureError(f"a matrix needs two classes or more, not {most}")
    group, ds = board_of(scores, metric, options)
    tables = find_tables(ds)
    found = list(tables) if metric is None else split_names(ds, metric)[1]
    if metric is None:  # of several tables those are meant that are confusions
        found = [one for one in found if table_of(ds, one).dims[2:] == CONFUSED] or found
    if metric is not None and not found:
        raise UnknownNameError("confusion", metric, tables.values())
    if not found:
        raise FigureError("the scores hold no confusion; ask for it in the pipeline, as in metrics: [confusion@majmin]")
    if len(found) > 1:
        raise FigureError(f"several metrics have extra dims; choose one: {', '.join(tables[one] for one in found)}")
    variable = found[0]
    given = options.get("system")
    names = names_of(ds, "system") if given is None else [given] if isinstance(given, str) else list(given)
    if len(names) != 1:
        raise FigureError(f"a confusion matrix shows one system; choose one of: {', '.join(names)}")
    system = names[0]
    options["system"] = system
    query = query_of(options, None)
    result = aggregate_table(select_table(ds, variable, query), None, group)
    dims = tuple(labels_of(result))
    if dims != CONFUSED:
        raise FigureError(f"{result.attrs['metric']} is not a confusion of classes: its dims are {', '.join(dims)}")
    values, labels = _fold(*_square(result), most)
    frame = frame_of(options)
    with sheet(frame, frame.inches * 0.8) as page:
        _draw(page, values, labels)
        page.ax.set_xlabel(f"estimated by {label(system)}")
        page.ax.set_ylabel("reference")
        title = metric_title(result.attrs["metric"], find_measures(ds)[variable].metric.title)
        about = _describe(result, labels[-1] == REST)
        page.head(f"{label(title, 60)}: {label(system)}", about, signer_of(ds, query, result))
    return page.ax


def _square(result: xr.Dataset) -> tuple[Float, list[str]]:
    """All classes on both sides: estimates may have some that no reference has, such as no class at all."""
    down, across = labels_of(result).values()
    labels = list(dict.fromkeys([*down, *across]))
    place = {name: at for at, name in enumerate(labels)}
    values: Float = np.zeros((len(labels), len(labels)))
    values[np.ix_([place[name] for name in down], [place[name] for name in across])] = values_of(result)[0, 0]
    return np.nan_to_num(values), labels


def _fold(values: Float, every: list[str], most: int) -> tuple[Float, list[str]]:
    """The largest classes in their own order, and the sum of the others."""
    rows, _ = choose_labels(values, most, True)
    if not len(rows):
        raise FigureError("the matrix is empty: no track counts")
    labels = [every[row] or "-" for row in rows.tolist()]
    folded: Float = with_others(with_others(values, rows).T, rows).T
    if not folded[-1].any() and not folded[:, -1].any():
        return folded[:-1, :-1], labels
    return folded, [*labels, REST]


def _draw(page: Sheet, values: Float, labels: list[str]) -> None:
    from matplotlib.colors import PowerNorm

    ax, whole = page.ax, values.sum(axis=1, keepdims=True)
    share = divide(values, whole, np.nan)
    # The square root, so that rare confusions can be seen beside what is right.
    scale = PowerNorm(0.5, vmin=0, vmax=1)
    image = ax.imshow(np.ma.masked_invalid(share), cmap="Blues", norm=scale, interpolation="nearest")
    count = len(labels)
    size = min(7.0, page.inches * 0.75 * 72 / count * 0.85)
    names = [label(name, 10) for name in labels]
    ax.set_xticks(range(count), names, rotation=90, fontsize=size)
    ax.set_yticks(range(count), names, fontsize=size)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(count + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(count + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=0.6)
    ax.tick_params(which="minor", length=0)
    if page.inches * 0.75 * 72 / count > 13:
        for row, column in np.argwhere(np.nan_to_num(share) >= 0.005).tolist():
            colour = "white" if share[row, column] > 0.35 else "black"
            ax.text(column, row, f"{100 * share[row, column]:.0f}", ha="center", va="center", fontsize=6, color=colour)
    bar = page.figure.colorbar(image, ax=ax, pad=0.02, fraction=0.045, aspect=22)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    bar.set_label("share of the reference's class")


def _describe(result: xr.Dataset, rest: bool) -> str:
    attrs, lost, n = result.attrs, int(values_of(result, "n_missing").sum()), int(values_of(result, "n").sum())
    tracks, (unit,) = count_tracks(result), column_of(result, "unit")
    of = "" if n == tracks else f"{n} of "
    over = f"{aggregate_in_words(attrs['aggregate'])} over {of}{counted(tracks, 'track')}"
    missing = (
        f"{counted(lost, 'track')} without a score ({MISSING[attrs['missing']]})" if lost else "no score is missing"
    )
    rows = "rows add up to 100 %" + ("; (rest): all other classes" if rest else "")
    over += f" [{unit}]" if unit else ""
    return f"{origin_in_words(attrs)}; {over}; {missing}; {rows}"
