"""A kind of figure that is declared outside of the package is one of all others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

import mirflow
from mirflow.cli import cli
from mirflow.reports.figures import Plots, figure
from mirflow.reports.figures.canvas import KINDS, sheet
from mirflow.reports.figures.track_scores import board_of, frame_of, one_metric

from ...groups import random_group, write_store


@pytest.fixture
def declared() -> Iterator[None]:
    @figure("how many tracks each system has")
    def track_counts(scores: Any, metric: str | None = None, **options: Any) -> Any:
        """Count the tracks."""
        _, board = board_of(scores, metric, options)
        with sheet(frame_of(options), 1.5) as page:
            page.ax.barh(board["system"].values, board.sizes["track"])
            page.head(f"tracks of {one_metric(board, metric)}", "all of them")
        return page.ax

    yield
    del KINDS["track-counts"]
    del Plots.track_counts  # type: ignore[attr-defined]


@pytest.mark.usefixtures("declared")
class TestADeclaredKindOfFigure:
    def test_is_drawn_through_the_accessor(self, tmp_path):
        tree = mirflow.open_store(write_store(tmp_path / "s.zarr", {"chord": random_group(3, 9, 1)}))
        ax = tree["chord"].mirflow.plot.track_counts(caption=False)
        assert [bar.get_width() for bar in ax.patches] == [9, 9, 9]
        assert "track_counts" in dir(tree.mirflow.plot)
        assert Plots.track_counts.__doc__ == "Count the tracks."

    def test_is_drawn_by_the_command(self, tmp_path):
        store, output = write_store(tmp_path / "s.zarr", {"chord": random_group(2, 5, 1)}), tmp_path / "a.svg"
        done = CliRunner().invoke(cli, ["plot", str(store), "track-counts", "-o", str(output)])
        assert done.exit_code == 0, done.output
        assert output.read_text().startswith("<?xml")
        refused = CliRunner().invoke(cli, ["plot", str(store), "track-counts", "-o", str(output), "--style", "box"])
        assert "track-counts has no option --style" in refused.output

    def test_is_listed_behind_those_of_the_package(self):
        message = CliRunner().invoke(cli, ["plot", "--help"], env={"COLUMNS": "120"}).output
        assert message.index("timeline      ") < message.index("track-counts         how many tracks each system has")


def test_a_kind_that_nobody_declared_is_refused_with_those_that_there_are(tmp_path):
    done = CliRunner().invoke(cli, ["plot", str(tmp_path), "track-counts", "-o", "a.svg"])
    assert done.exit_code == 2
    assert "unknown kind 'track-counts'; known: agreement, budget" in done.output
    assert not hasattr(Plots, "track_counts")
