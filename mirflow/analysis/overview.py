"""What is in a store at a glance: systems and their main figures, as text and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..annotations.collection import Collection
from ..errors import MirflowError, counted
from .aggregate import ask
from .answer import Answer
from .cautions import told_cautions
from .policies import find_gaps
from .query import boards_of, headline_metrics
from .question import Question
from .references import REFERENCES_DIFFER
from .scoreboard import Scoreboard, from_dataset

if TYPE_CHECKING:
    import xarray as xr

_METRICS, _SYSTEMS = 6, 60


@dataclass(frozen=True)
class Overview:
    """A line of text, and evaluations, whose scores are read only for HTML."""

    line: str
    boards: Mapping[str, Scoreboard] = field(default_factory=dict)

    def text(self) -> str:
        """For a terminal."""
        return f"<mirflow {self.line}>"

    def html(self) -> str:
        """For a notebook."""
        sections = "".join(_section(name, board) for name, board in self.boards.items())
        return f"<div><div><b>mirflow</b> {escape(self.line)}</div>{sections}</div>"


def tree_overview(tree: xr.DataTree) -> Overview:
    """A store, or one group of it."""
    boards = boards_of(tree)
    line = "; ".join(f"{name} {_size(board)}" for name, board in boards.items())
    return Overview(f"store: {line or 'no scores'}", boards)


def dataset_overview(ds: xr.Dataset, collection: Collection | None) -> Overview:
    """An evaluation, or a collection of annotations."""
    if collection is not None:
        return Overview(f"collection: {counted(ds.sizes.get('track', 0), 'track')}")
    if "score" not in ds.data_vars:
        return Overview("accessor: neither scores nor a collection")
    board = from_dataset(ds)
    return Overview(f"scores: {_size(board)}", {"": board})


def _size(board: Scoreboard) -> str:
    sizes = {"system": board.systems, "track": board.tracks, "metric": board.metrics}
    return " x ".join(counted(len(names), dim) for dim, names in sizes.items())


def _section(name: str, board: Scoreboard) -> str:
    told = ", ".join(f"{key} {board.attrs[key]}" for key in ("task", "convention", "grid") if board.attrs.get(key))
    head = f"<div>{escape(': '.join(filter(None, (name, told))))}</div>"
    if not board.metrics or not board.systems or not board.tracks:
        return f"{head}<div>no scores of single numbers</div>"
    metrics = headline_metrics(board, _METRICS)
    try:
        answer = ask(board, Question(metrics, exact=True))
    except MirflowError as error:  # a table of contents says what it can
        return f"{head}<div>{escape(str(error))}</div>"
    return head + _table(answer) + _notes(answer, board)


def _table(answer: Answer) -> str:
    heads = "".join(f"<th>{escape(name)}<br><small>{escape(kind)}</small></th>" for name, kind in _named(answer))
    rows = []
    for place, system in enumerate(answer.systems[:_SYSTEMS]):
        cells = "".join(f"<td>{_figure(float(value))}</td>" for value in answer.value[place, :, 0])
        counts = answer.counts["n"][place, :, 0]
        span = str(counts.max()) if np.ptp(counts) == 0 else f"{counts.min()}-{counts.max()}"
        rows.append(f"<tr><th>{escape(system)}</th>{cells}<td>{span}</td></tr>")
    body = "".join(rows)
    return f"<table><thead><tr><th>system</th>{heads}<th>n</th></tr></thead><tbody>{body}</tbody></table>"


def _named(answer: Answer) -> list[tuple[str, str]]:
    units = (f" [{unit}]" if unit else "" for unit in answer.units)
    names = (f"{name}{unit}" for name, unit in zip(answer.metrics, units, strict=True))
    return list(zip(names, answer.aggregates, strict=True))


def _figure(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:z.4f}"


def _notes(answer: Answer, board: Scoreboard) -> str:
    score, weight, status, duration = board.load(range(len(board.systems)))
    lost = int(find_gaps(score, weight, status, duration).missing.all(axis=2).sum())
    notes = [f"missing ({answer.attrs['missing']}): {lost} of {status.size} cells without any score"]
    notes += [f"references: {answer.attrs[REFERENCES_DIFFER]}"] if REFERENCES_DIFFER in answer.attrs else []
    notes += [f"warning: {said}" for said in told_cautions(board.attrs)]
    if len(answer.metrics) < len(board.metrics):
        notes.append(f"{len(answer.metrics)} of {len(board.metrics)} metrics shown")
    if len(answer.systems) > _SYSTEMS:
        notes.append(f"{_SYSTEMS} of {len(answer.systems)} systems shown")
    return "".join(f"<div><small>{escape(note)}</small></div>" for note in notes)
