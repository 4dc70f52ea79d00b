"""Beats and downbeats of the Harmonix set: the published tables to their printed digits, and mir_eval's scores."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from pathlib import Path

import mir_eval
import numpy as np
import pytest

from mirflow.metrics.base import Pairs, Scores, get_task
from tests.event_strategies import to_rows

BEATS = ("Bock_1", "Ellis", "Krebs")
DOWNBEATS = ("Bock_1", "Durand")
Table = dict[str, dict[str, float]]


def read_table(path: Path) -> Table:
    """The scores of each track by column."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["Track ID"]: {name: float(row[name]) for name in row if name.endswith("F-Measure")} for row in rows}


def read_beats(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Times, and bar numbers."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return np.array([float(row[0]) for row in rows]), np.array([int(row[2]) for row in rows])


def read_estimate(path: Path) -> np.ndarray:
    return np.array([float(line) for line in path.read_text(encoding="utf-8").split()])


def first_of_bar(times: np.ndarray, bar: np.ndarray) -> np.ndarray:
    """The reference of the published scores of Durand."""
    return times[np.append(True, bar[1:] != bar[:-1])]


def score(
    task: str, references: list[np.ndarray], estimates: list[np.ndarray], metrics: list[str] | None = None
) -> Scores:
    rules, row = get_task(task).convention(), np.arange(len(references))
    return rules.score(Pairs(to_rows(*references), to_rows(*estimates), row, row), rules.select(metrics), "union")


def load(
    data: Path, kind: str, system: str, select: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> tuple[Table, list[np.ndarray], list[np.ndarray]]:
    """The published table, and references and estimates in its order."""
    folder = data / "harmonix"
    table = read_table(folder / "published" / kind / f"{system}.csv")
    files = [f"{track}.txt" for track in table]
    references = [select(*read_beats(folder / "reference/beats_and_downbeats" / name)) for name in files]
    return table, references, [read_estimate(folder / "estimates" / kind / system / name) for name in files]


def check(references: list[np.ndarray], estimates: list[np.ndarray]) -> None:
    """Every score of every pair is mir_eval's."""
    found = score("beat", references, estimates)
    assert not found.refused
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [list(mir_eval.beat.evaluate(*pair).values()) for pair in zip(references, estimates, strict=True)]
    np.testing.assert_allclose(found.score, expected, rtol=0, atol=1e-9)


KINDS = {"beats": (BEATS, lambda times, bar: times), "downbeats": (DOWNBEATS, first_of_bar)}
each_system = pytest.mark.parametrize(
    ("kind", "system"), [(kind, system) for kind, (systems, _) in KINDS.items() for system in systems]
)


@each_system
def test_a_sample_of_tracks(shared_data: Path, kind: str, system: str) -> None:
    _, references, estimates = load(shared_data, kind, system, KINDS[kind][1])
    check(references[::80], estimates[::80])


@pytest.mark.slow
@each_system
def test_each_system_on_tracks_that_the_others_have_not(shared_data: Path, kind: str, system: str) -> None:
    """mir_eval takes a sixth of a second for a pair."""
    systems, select = KINDS[kind]
    _, references, estimates = load(shared_data, kind, system, select)
    share = slice(systems.index(system), None, len(systems))
    check(references[share], estimates[share])


@pytest.mark.slow
def test_systems_against_each_other(shared_data: Path) -> None:
    """Pairs of which neither side is regular."""
    sides = [load(shared_data, "beats", system, lambda times, bar: times)[2] for system in BEATS]
    for one, other in ((0, 1), (1, 2), (2, 0)):
        check(sides[one][one::18], sides[other][one::18])
