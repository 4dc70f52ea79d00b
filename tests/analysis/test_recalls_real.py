"""The three figures that the literature calls weighted chord symbol recall, on official scores of MIREX 2013."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from mirflow.analysis.queries import aggregate

from ..groups import make_group


def official_group(folder: Path, system: str):
    """The official scores of one system by the rule MirexMajMin, and the durations of the references."""
    with (folder / "official" / "resultsMirexMajMin" / f"{system}.csv").open() as lines:
        next(lines)
        rows = list(csv.DictReader(lines, skipinitialspace=True))
    tracks = [row["File"] for row in rows]
    score = np.array([float(row["Pairwise score (%)"]) / 100 for row in rows])
    weight = np.array([float(row["Duration (s)"]) for row in rows])
    ends = [(folder / "reference" / f"{track}.lab").read_text().split("\n") for track in tracks]
    duration = [float([line for line in lines if line.strip()][-1].split()[1]) for lines in ends]
    return make_group(score[None, :, None], weight[None, :, None], duration=duration, systems=[system], tracks=tracks)


@pytest.mark.parametrize(("kind", "percent"), [("wcsr", 79.26), ("wcsr_tn", 79.09), ("wcsr_total", 76.53)])
def test_three_figures_for_one_system(shared_data, kind, percent):
    ds = official_group(shared_data / "mirex2013-ace", "KO2")
    answer = aggregate(ds, "majmin", kind)
    assert answer["n"].item() == 217
    assert f"{100 * answer['value'].item():.2f}" == f"{percent:.2f}"
