"""Matrices: scores of tracks and systems, classes that a system confuses, and how much systems agree.

Systems agree in the scores of tracks, or in their estimates, whose files are then read again; a dendrogram orders them.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_query
from ...analysis.dims import table_of
from ...analysis.inference import agreement as agreement_of
from ...analysis.lookup import find_measures, find_tables, split_names
from ...analysis.per_class import CONFUSED, aggregate_table, select_table
from ...analysis.query_options import MISSING
from ...analysis.scores import names_of
from ...errors import FigureError, QueryError, UnknownNameError, counted
from ...kernels.ratios import divide
from ...ragged import Float
from ..captions import metric_title, origin_in_words, title_in
from ..drawing import PALE
from ..layout import REST, choose_labels, with_others
from ..overlaps import overlaps
from ..results import axes_of, column_of, values_of
from ..tables import aggregate_in_words
from .canvas import Sheet, figure, label, sheet
from .track_scores import (
    FigureOptions,
    Stored,
    axis_name,
    board_of,
    describe,
    frame_of,
    one_metric,
    query_of,
    rank_systems,
    scores_of,
    signer_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME = 0.105
"""Inches that the name of a track needs across."""
_MANY, _CAP = 200, 0.05
"""Scores from which on this share of them at either end has the colour of the end, so that few do not take all."""
ORDERS = ("difficulty", "stored")


@figure("tracks x systems", place=6)
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
    rising = column_of(result, "orientation")[0] != "lower"
    rows, columns = rank_systems(result), np.arange(score.shape[1])
    if order == "difficulty":
        with warnings.catch_warnings():  # tracks that no system has come last
            warnings.simplefilter("ignore", RuntimeWarning)
            mean = np.nanmean(score, axis=0)
        columns = np.argsort(mean if rising else -mean, kind="stable")
    score = score[rows][:, columns]
    finite = score[np.isfinite(score)]
    ratio = not column_of(result, "unit")[0] and bool(((finite >= 0) & (finite <= 1)).all())
    least, most = (float(finite.min()), float(finite.max())) if finite.size and not ratio else (0.0, 1.0)
    low, high = np.quantile(finite, [_CAP, 1 - _CAP]).tolist() if finite.size >= _MANY else (least, most)
    low, high = (low, high) if low < high else (least, most)
    beyond = bool((finite < low).any()), bool((finite > high).any())
    frame = frame_of(options, "page")
    has_names = len(columns) * _NAME < frame.inches - 1.6
    with sheet(frame, 0.5 + max(0.5, min(0.16, 6.5 / len(rows)) * len(rows)) + 0.9 * has_names) as page:
        from matplotlib.patches import Rectangle

        ax = page.ax
        ground = Rectangle((0, 0), 1, 1, transform=ax.transAxes, facecolor=PALE, edgecolor="#888888", hatch="//////")
        ground.set_linewidth(0)
        ax.add_patch(ground).set_zorder(0)
        colours: dict[str, Any] = {"cmap": "cividis" if rising else "cividis_r", "vmin": low, "vmax": high}
        shown = np.ma.masked_where(np.isnan(score), np.clip(score, low, high))
        image = ax.imshow(shown, aspect="auto", interpolation="nearest", **colours)
        image.set_zorder(1)
        ax.spines[:].set_visible(False)
        extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(beyond, "neither")
        bar = page.figure.colorbar(image, ax=ax, pad=0.01, fraction=0.04, aspect=18, extend=extend)
        bar.outline.set_visible(False)
        bar.set_label(label(axis_name(result), 40))
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
        ends = f"; colours end at the {100 * _CAP:.0f} % lowest and highest scores" if any(beyond) else ""
        page.head(title, f"{describe(result)}; hatched: no score{ends}", signed)
    return page.ax


@figure("which classes a system confuses", place=11)
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
    variables = list(tables) if metric is None else split_names(ds, metric)[1]
    if metric is None:  # of several tables those are meant that are confusions
        variables = [name for name in variables if table_of(ds, name).dims[2:] == CONFUSED] or variables
    if metric is not None and not variables:
        raise UnknownNameError("confusion", metric, tables.values())
    if not variables:
        raise FigureError("the scores hold no confusion; ask for it in the pipeline, as in metrics: [confusion@majmin]")
    if len(variables) > 1:
        raise FigureError(
            f"several metrics have extra dims; choose one: {', '.join(map(tables.__getitem__, variables))}"
        )
    variable = variables[0]
    chosen = options.get("system")
    names = names_of(ds, "system") if chosen is None else [chosen] if isinstance(chosen, str) else list(chosen)
    if len(names) != 1:
        raise FigureError(f"a confusion matrix shows one system; choose one of: {', '.join(names)}")
    system = options["system"] = names[0]
    query = query_of(options, None)
    result = aggregate_table(select_table(ds, variable, query), None, group)
    attrs, dims = result.attrs, axes_of(result).labels
    if tuple(dims) != CONFUSED:
        raise FigureError(f"{attrs['metric']} is not a confusion of classes: its dims are {', '.join(dims)}")
    # All classes on both sides: estimates may have some that no reference has, such as no class at all.
    down, across = dims.values()
    classes = list(dict.fromkeys([*down, *across]))
    values: Float = np.zeros((len(classes), len(classes)))
    values[np.ix_([classes.index(name) for name in down], [classes.index(name) for name in across])] = np.nan_to_num(
        values_of(result)[0, 0]
    )
    # The largest classes in their own order, and the sum of the others.
    rows, _ = choose_labels(values, most, True)
    if not len(rows):
        raise FigureError("the matrix is empty: no track counts")
    labels = [classes[row] or "-" for row in rows.tolist()]
    values = with_others(with_others(values, rows).T, rows).T
    has_rest = bool(values[-1].any() or values[:, -1].any())
    values, labels = (values, [*labels, REST]) if has_rest else (values[:-1, :-1], labels)
    frame = frame_of(options)
    with sheet(frame, frame.inches * 0.8) as page:
        _draw_shares(page, values, labels)
        page.ax.set_xlabel(f"estimated by {label(system)}")
        page.ax.set_ylabel("reference")
        title = metric_title(attrs["metric"], find_measures(ds)[variable].metric.title)
        lost, n = (int(values_of(result, name).sum()) for name in ("n_missing", "n"))
        tracks, (unit,) = axes_of(result).tracks, column_of(result, "unit")
        over = f"{aggregate_in_words(attrs['aggregate'])} over {'' if n == tracks else f'{n} of '}"
        over += f"{counted(tracks, 'track')}{f' [{unit}]' if unit else ''}"
        without = f"{counted(lost, 'track')} without a score ({MISSING[attrs['missing']]})"
        about = f"{origin_in_words(attrs)}; {over}; {without if lost else 'no score is missing'}; rows add up to 100 %"
        about += "; (rest): all other classes" if has_rest else ""
        page.head(f"{label(title, 60)}: {label(system)}", about, signer_of(ds, query, result))
    return page.ax


def _draw_shares(page: Sheet, values: Float, labels: list[str]) -> None:
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


_ROW, _NUMBERS, _ROWS = 0.22, 16, 100
"""Inches of a system, systems up to which there are numbers, and those that a page has room for."""
_NAMES = {"pearson": ("r", "Pearson's correlation"), "kendall": ("tau", "Kendall's tau-b")}


@figure("how much systems agree, with a dendrogram", place=12)
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
    lower = of == "outputs" and found.attrs["orientation"] == "lower"
    linked = _linked(value, best, lower=lower)
    frame = frame_of(options, "page")
    names = [label(system) for system in systems]
    with sheet(frame, 0.75 + max(_ROW, 2.2 / len(systems)) * len(systems)) as page:
        _draw_agreement(page, value, names, linked, of)
        attrs, n = found.attrs, found["n"].values[~np.eye(len(systems), dtype=np.bool_)]
        low, high = int(n.min()), int(n.max())
        over = counted(high, "track") if low == high else f"{low} to {high} tracks"
        what = f"{_NAMES[coefficient][1]} of the scores of {over}; {MISSING[attrs['missing']]}"
        distance = "1 minus the correlation"
        if of == "outputs":
            kind = aggregate_in_words(attrs["aggregate"])
            what = f"estimates of each row scored with those of each column as the reference, {kind} over {over}"
            largest = "the largest value" if float(np.nanmax(value)) > 1 else "1"
            distance = f"{'' if lower else f'{largest} minus '}the mean of both ways"
        about = f"{origin_in_words({**attrs, 'group': group} if group else attrs)}; {what}. Dendrogram: average linkage"
        title = title_in(ds, names_of(ds, "metric").index(attrs["metric"]))
        page.head(f"Agreement of systems by {label(title, 60)}", f"{about}, distance: {distance}")
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


def _draw_agreement(page: Sheet, value: Float, names: list[str], linked: dict[str, Any], of: str) -> None:
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
