"""Drawings of graphs say what a run does, and the documentation shows one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import dask
import numpy as np
import pytest

import mirflow
from mirflow.engine import drawing
from mirflow.engine.drawing import draw_pipeline, steps_of
from mirflow.engine.runs import plan, same_cells
from mirflow.engine.schedule import block_graph
from mirflow.errors import QueryError, RunError
from tests.commands import invoke
from tests.datasets import write_dataset

HERE = Path(__file__).parents[2]
DEMO = HERE / "pipelines/tunes.yaml"


def test_the_documentation_shows_what_the_command_draws(tmp_path: Path) -> None:
    invoke("run", DEMO, "--graph", tmp_path / "tunes.md", code=0)
    drawn = (tmp_path / "tunes.md").read_text()
    assert drawn in (HERE / "docs/concepts.md").read_text()
    assert drawn.count("-->") == 8


def test_the_drawn_steps_of_a_block_are_its_task(tmp_path: Path) -> None:
    (one,) = plan(write_dataset(tmp_path)).plans
    graph = block_graph(one, np.ones(one.shape, dtype=np.bool_), "")
    steps = steps_of(graph)
    assert [*steps][:4] == ["chord-read-0", "chord-clean-0", "chord-score-0", "chord-store-0"]
    stored = dask.get(steps, [key for key in steps if "-store-" in key])
    assert len(stored) == len(graph) == 3
    assert all(same_cells(cells, task()) for cells, (task,) in zip(stored, graph.values(), strict=True))


def test_a_lazy_tree_draws_what_is_selected(tmp_path: Path) -> None:
    tree = mirflow.open_pipeline(write_dataset(tmp_path))
    assert tree.mirflow.graph(tmp_path / "all.mmd") == draw_pipeline(tmp_path / "pipeline.yaml")
    one = tree["chord"].to_dataset().isel(system=[0], track=[3])
    assert one.mirflow.graph().splitlines()[-1] == (
        '  chord_read_0["read 2 files"] --> chord_clean_0["clean"] --> chord_score_0["score 1 cell"] --> '
        'chord_store_0["store"] --> chord'
    )
    with pytest.raises(QueryError, match="no graph to draw: expected scores of open_pipeline"):
        one.compute().mirflow.graph()


def test_what_cannot_be_drawn_is_an_error_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = write_dataset(tmp_path)
    monkeypatch.setattr(drawing, "which", lambda _: None)
    with pytest.raises(RunError, match=r"needs graphviz .*; a file that ends with \.mmd needs nothing"):
        draw_pipeline(pipeline, tmp_path / "x.svg")
    with pytest.raises(RunError, match=r"cannot write .*x\.mmd: No such file"):
        draw_pipeline(pipeline, tmp_path / "absent/x.mmd")
    monkeypatch.setattr(drawing, "MOST_BLOCKS", 2)
    with pytest.raises(RunError, match="cannot draw 3 blocks: expected at most 2; draw fewer tracks"):
        draw_pipeline(pipeline)


def test_graphviz_draws_the_same_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, Any] = {}
    dot = ModuleType("dask.dot")
    dot.dot_graph = lambda steps, **how: drawn.update(steps=[*steps], **how)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dask.dot", dot)
    monkeypatch.setattr(drawing, "which", lambda _: "dot")
    monkeypatch.setattr(drawing, "find_spec", lambda _: object())
    draw_pipeline(write_dataset(tmp_path), "x.svg")
    assert drawn["steps"][3] == "chord-store-0"
    assert drawn["filename"] == "x.svg"
