"""The ``.mirflow`` accessor of xarray datasets and trees: all questions to scores, plots, reports, and an overview.

The overview is shown by notebooks: a table of the headline metrics of each evaluation. Queries of lazy scores can be
lazy, and their dask graph can be drawn. A dataset of annotations gives its collection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from ..analysis.lookup import find_metrics
from ..analysis.queries import boards_of, choose_one, evaluate_query, headline_metrics, lazy_query
from ..analysis.query_options import Names, Query, QueryOptions, make_query
from ..analysis.scores import as_scores, names_of, scores_frame, show_span
from ..analysis.selection import count_unscored
from ..annotations.collection import Collection
from ..annotations.collection import from_dataset as collection_from_dataset
from ..errors import MirflowError, QueryError, counted
from ..metrics.base import chosen_grid
from ..notebook import styled
from ..reports.captions import title_in
from ..reports.standings import rank_result
from ..store.format import REFERENCES_DIFFER, list_cautions
from . import QUESTIONS, find, method_of

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Inference:
    """Inference about the systems of one evaluation; `group` selects it in a tree with several."""

    def __init__(self, scored: Any) -> None:
        self._scored: Any = scored

    def _overview(self) -> Overview:
        import xarray as xr

        boards: Mapping[str, xr.Dataset] = {}
        if isinstance(self._scored, xr.DataTree):
            boards = boards_of(self._scored)
            called = " ".join(filter(None, ("store", str(self._scored.attrs.get("name", "")))))
        elif "row_size" in self._scored.variables:
            return Overview(f"collection: {counted(self._scored.sizes.get('track', 0), 'track')}")
        elif "score" not in self._scored.data_vars:
            return Overview("accessor: neither scores nor a collection")
        else:
            boards, called = {"": as_scores(self._scored)}, "scores"
        sizes = {
            name: " x ".join(counted(ds.sizes[dim], dim) for dim in ("system", "track", "metric"))
            for name, ds in boards.items()
        }
        line = "; ".join(f"{name} {size}".lstrip() for name, size in sizes.items())
        return Overview(f"{called}: {line or 'no scores'}", boards)

    def __repr__(self) -> str:
        return f"<mirflow {self._overview().line}>"

    def _repr_html_(self) -> str:
        line, boards = self._overview()
        sections = "".join(_section(name, ds) for name, ds in boards.items())
        return styled(f'<div class="title">mirflow {escape(line)}</div>{sections}')

    def _choose(self, metric: Names, group: str | None) -> tuple[str, xr.Dataset]:
        import xarray as xr

        if isinstance(self._scored, xr.DataTree):
            return choose_one(boards_of(self._scored), metric, group)
        if group is not None:
            raise QueryError(f"group {group!r}: this dataset is a single evaluation; query the tree for others")
        return "", as_scores(self._scored)

    @property
    def plot(self) -> Any:
        """Figures: ``plot.distributions(...)`` and the other functions of :mod:`mirflow.reports.figures`."""
        from ..reports.figures import Plots

        return Plots(self._scored)

    def report(self, path: str | Path = "report.html", **options: Any) -> Any:
        """Write one HTML page about the scores; see :func:`mirflow.report`."""
        from ..reports.page import report

        return report(self._scored, path, **options)

    def graph(self, path: str | Path | None = None) -> Any:
        """Draw the dask graph of lazy scores: for each block of what is selected, read, clean, score and store.

        Parameters
        ----------
        path : path or None
            ``.mmd``, ``.md`` and ``.txt`` are written in Mermaid, other formats, such as ``.svg``, by graphviz. None:
            the drawing is returned, by graphviz if it is installed, else as text in Mermaid.
        """
        from ..engine.drawing import draw_tree

        return draw_tree(self._scored, path)

    def to_dataframe(self, metric: Names = None, *, group: str | None = None) -> pd.DataFrame:
        """The scores of single cells: one row for each system, track and metric.

        Parameters
        ----------
        metric : str, sequence of str or None
            Metrics with one number per track; None: all.
        group : str or None
            The evaluation, in a tree with several.

        Returns
        -------
        pd.DataFrame
            Columns ``system``, ``track``, ``metric``, ``score``, ``weight``, ``unit``, ``status``, ``message``, and one
            for each coordinate of the tracks.
        """
        _, ds = self._choose(metric, group)
        return scores_frame(ds if metric is None else ds.isel(metric=find_metrics(ds, metric)))

    def query(self, *positional: Any, group: str | None = None, lazy: bool = False, **words: Any) -> xr.Dataset:
        """Aggregates over the tracks of one evaluation; see :func:`mirflow.query`.

        With `lazy`, the answer to a query of lazy scores is lazy, too; see
        :func:`mirflow.analysis.queries.lazy_query`.
        """
        if lazy:
            for word in words.keys() & find("query").options.keys():
                raise QueryError(f"{word!r} cannot stay lazy: it needs all scores at once; ask without lazy=True")
            query = make_query("query", *positional, **words)
            name, ds = self._choose(query.metric, group)
            return lazy_query(ds, query, name)
        ask: Callable[..., xr.Dataset] = method_of(find("query"))
        return ask(self, *positional, group=group, **words)

    def signature(
        self,
        metric: Names = None,
        aggregate: str | None = None,
        by: Names = None,
        *,
        group: str | None = None,
        percent: bool = False,
        **options: Unpack[QueryOptions],
    ) -> list[str]:
        """Signatures of the numbers that ``query`` gives; see :func:`mirflow.signature`."""
        from ..analysis.signatures import signature

        return signature(self._scored, metric, aggregate, by, group=group, percent=percent, **options)


for _name in QUESTIONS:
    if _name != "query":
        setattr(Inference, _name, method_of(find(_name)))


_METRICS, _SYSTEMS = 6, 60


class Overview(NamedTuple):
    """A line of text, and the evaluations, whose scores are read only for HTML."""

    line: str
    boards: Mapping[str, xr.Dataset] = {}


def _section(name: str, ds: xr.Dataset) -> str:
    task, convention, grid = (str(ds.attrs.get(key, "")) for key in ("task", "convention", "grid"))
    rules = [f"{key} {text}" for key, text in (("task", task), ("convention", convention)) if text]
    told = ", ".join(filter(None, (*rules, chosen_grid(task, convention, grid))))
    head = f'<div class="title">{escape(": ".join(filter(None, (name, told))))}</div>'
    if not all(ds.sizes[dim] for dim in ("system", "track", "metric")):
        return f"{head}<div>no scores of single numbers</div>"
    metrics = headline_metrics(ds, _METRICS)
    try:
        (result,) = evaluate_query(ds, Query(metrics, exact=True))
    except MirflowError as error:  # an overview shows what is available
        return f"{head}<div>{escape(str(error))}</div>"
    lost, cells = count_unscored(ds), ds.sizes["system"] * ds.sizes["track"]
    notes = [f"missing ({result.attrs['missing']}): {lost} of {cells} cells without any score"]
    notes += [f"references: {result.attrs[REFERENCES_DIFFER]}"] if REFERENCES_DIFFER in result.attrs else []
    notes += [f"warning: {caution}" for caution in list_cautions(ds.attrs)]
    if result.sizes["metric"] < ds.sizes["metric"]:
        notes.append(f"{result.sizes['metric']} of {ds.sizes['metric']} metrics shown")
    if result.sizes["system"] > _SYSTEMS:
        notes.append(f"{_SYSTEMS} of {result.sizes['system']} systems shown")
    listed = "".join(f'<div class="note">{escape(note)}</div>' for note in notes)
    leader = f"{title_in(result)}: {rank_result(result).sentence(brief=True)}"
    units = [f" [{unit}]" if unit else "" for unit in names_of(result, "unit")]
    named = zip(names_of(result, "metric"), units, names_of(result, "aggregate"), strict=True)
    heads = "".join(
        f'<th class="number">{escape(name + unit)}<br><small>{escape(kind)}</small></th>' for name, unit, kind in named
    )
    rows, value, n = [], result["value"].values, result["n"].values
    for index, system in enumerate(names_of(result, "system")[:_SYSTEMS]):
        shown = ("-" if np.isnan(number) else f"{number:z.4f}" for number in value[index].tolist())
        entries = "".join(f'<td class="number">{number}</td>' for number in shown)
        rows.append(f'<tr><th>{escape(system)}</th>{entries}<td class="number">{show_span(n[index])}</td></tr>')
    table = f'<table><thead><tr><th>system</th>{heads}<th class="number">n</th></tr></thead>'
    return f"{head}<div>{escape(leader)}</div>{table}<tbody>{''.join(rows)}</tbody></table>{listed}"


class DatasetAccessor(Inference):
    """``ds.mirflow``: queries of one evaluation of a store, or of a collection of annotations.

    Raises
    ------
    AnnotationError
        If a collection was sliced so that its counts and its values do not match.
    """

    def __init__(self, ds: xr.Dataset) -> None:
        super().__init__(ds)
        self._collection = collection_from_dataset(ds) if "row_size" in ds.variables else None

    @property
    def collection(self) -> Collection:
        """The collection of annotations that the dataset holds."""
        return collection_from_dataset(self._scored) if self._collection is None else self._collection

    def sel(self, *, track: str | Sequence[str]) -> xr.Dataset:
        """Select tracks of a collection with their values, which xarray's ``sel`` would not select."""
        return self.collection.sel(track=track).dataset


class DataTreeAccessor(Inference):
    """``tree.mirflow``: queries of a whole store."""
