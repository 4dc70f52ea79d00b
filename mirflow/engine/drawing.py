"""Drawings of the graph of a pipeline: each block as its steps, from its files to the store.

Graphviz draws them if it is installed; in text files, and in notebooks without it, they are written in Mermaid. Graphs
of more than 50 blocks are refused.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QueryError, RunError, counted
from ..store.cells import Cells
from .block import clean_sides, read_sides, score_sides
from .runs import plan
from .schedule import BlockTask, Graph, Key, block_graph

if TYPE_CHECKING:
    import xarray as xr

MOST_BLOCKS = 50  # most blocks of a drawing that can be read

_SUFFIXES = (".mmd", ".md", ".txt")


def steps_of(graph: Graph) -> dict[str, tuple[Any, ...]]:
    """A dask graph in which each block is its steps, which its task takes one after the other; the last one stores."""
    steps: dict[str, tuple[Any, ...]] = {}
    for (task,) in graph.values():
        name, place = task.work.evaluation, task.number
        read, clean, score, store = (f"{name}-{step}-{place}" for step in ("read", "clean", "score", "store"))
        # Bound, not passed: dask would search an argument for keys.
        steps |= {read: (partial(read_sides, task.work),), clean: (clean_sides, read), score: (score_sides, clean)}
        steps[store] = (store_cells, score)
    return steps


def store_cells(cells: Cells) -> Cells:
    """The last step of a block: a run appends its cells to the journal, of which the store is made."""
    return cells


def mermaid(graph: Graph) -> str:
    """The steps of all blocks in the language of Mermaid, which GitHub and notebooks draw."""
    lines, drawn = ["flowchart LR"], set[str]()
    for (task,) in graph.values():
        work, name = task.work, task.work.evaluation
        if name not in drawn:
            lines.append(f'  {name}[("{name}: {counted(len(work.measures), "metric")}")]')
            drawn.add(name)
        sources = [reference.source for track in work.tracks for reference in track.references]
        sources += [estimate for track in work.tracks for estimate in track.estimates if estimate is not None]
        files = len({path for source in sources for path in source.paths})
        labels = {
            "read": f"read {counted(files, 'file')}",
            "clean": "clean",
            "score": f"score {counted(len(work), 'cell')}",
            "store": "store",
        }
        nodes = [f'{name}_{step}_{task.number}["{label}"]' for step, label in labels.items()]
        lines.append(f"  {' --> '.join(nodes)} --> {name}")
    return "\n".join(lines) + "\n"


def draw(graph: Graph, path: str | Path | None = None) -> Any:
    """Draw a graph into a file, or, without one, for a notebook: by graphviz if it is there, else in Mermaid. Files
    that end with ``.mmd``, ``.md`` and ``.txt`` are written in Mermaid; other suffixes, such as ``.svg`` and ``.png``,
    name formats of graphviz. Returns the text, or what ``dask.visualize`` returns. Raises a RunError if there are too
    many blocks to look at, graphviz is missing, or the file cannot be written."""
    if len(graph) > MOST_BLOCKS:
        raise RunError(
            f"cannot draw {len(graph)} blocks: expected at most {MOST_BLOCKS}; draw fewer tracks, or give the pipeline "
            "larger ones (execution: {block: ...})"
        )
    by_graphviz = find_spec("graphviz") is not None and which("dot") is not None
    if path is not None and Path(path).suffix not in _SUFFIXES and not by_graphviz:
        raise RunError(
            f"cannot draw {path}: the format needs graphviz (pip install graphviz, and its program dot); a file that "
            "ends with .mmd needs nothing"
        )
    if by_graphviz and (path is None or Path(path).suffix not in _SUFFIXES):
        from dask.dot import dot_graph

        return dot_graph(steps_of(graph), filename=None if path is None else str(path), rankdir="LR")
    text = mermaid(graph)
    if path is not None:
        try:
            Path(path).write_text(f"```mermaid\n{text}```\n" if Path(path).suffix == ".md" else text, encoding="utf-8")
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror or error}") from None
    return text


def draw_pipeline(pipeline: str | Path, path: str | Path | None = None, *, root: str | Path | None = None) -> Any:
    """Draw the graph of all cells of a pipeline, computed or not; see :func:`draw`."""
    graph: dict[Key, tuple[BlockTask]] = {}
    for one in plan(pipeline, root=root).plans:
        graph |= block_graph(one, np.ones(one.shape, dtype=np.bool_), "")
    return draw(graph, path)


def draw_tree(scores: xr.DataTree | xr.Dataset, path: str | Path | None = None) -> Any:
    """Draw the graph of what is selected of lazy scores; see :func:`draw`. Stores, which have none, are refused."""
    from .lazy_scores import ScoreArray

    graph: dict[Key, tuple[BlockTask]] = {}
    for node in [scores] if not hasattr(scores, "subtree") else scores.subtree:
        if "score" in node.data_vars:
            array = node["score"].data
            if not isinstance(array, ScoreArray):
                raise QueryError("no graph to draw: expected scores of open_pipeline, from which cells may be selected")
            selected = np.zeros(array.cells.plan.shape, dtype=np.bool_)
            selected[np.ix_(*map(np.atleast_1d, array.picks[:2]))] = True
            graph |= block_graph(array.cells.plan, selected, "")
    return draw(graph, path)
