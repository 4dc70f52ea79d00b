"""Wherever a comparison is shown, its intervals, letters, ranks and words are those of one test."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from mirflow.analysis.scores import as_scores
from mirflow.reports.figures.canvas import KINDS
from mirflow.reports.leaderboard import leaderboard, standings_of
from mirflow.reports.page.data import describe_inference
from mirflow.reports.standings import ALIKE, LEADER

from ..commands import printed, rows
from ..groups import make_group, write_store

SYSTEMS, TRACKS = 6, 24
RNG = np.random.default_rng(11)
HARD, NOISE = RNG.normal(0, 0.1, TRACKS), RNG.normal(0, 0.05, (SYSTEMS, TRACKS))
SCORE = np.clip(0.5 + 0.025 * np.arange(SYSTEMS)[:, np.newaxis] + HARD + NOISE, 0, 1)[..., np.newaxis]
WEIGHT = RNG.lognormal(3, 0.7, (SYSTEMS, TRACKS, 1))
META = {"genre": ["Rock", "Pop"] * (TRACKS // 2), "artist": [f"a{track // 2}" for track in range(TRACKS)]}
NAMES = [f"S{place}" for place in range(SYSTEMS)]
Apart = Callable[[str, str], bool]


@pytest.fixture(scope="module", params=["mean", "median", "pooled", "lower", "few"])
def board(request: pytest.FixtureRequest) -> xr.Dataset:
    """Systems of which some are told apart and some are not; of few tracks none are."""
    kind = request.param
    if kind == "few":
        return make_group(SCORE[:, :4], standard=["mean"])
    way = {"orientation": ["lower"], "standard": ["mean"]} if kind == "lower" else {"standard": [kind]}
    return make_group(SCORE, WEIGHT if kind == "pooled" else WEIGHT[:1], track_meta=META, **way)


@pytest.fixture(scope="module")
def apart(board: xr.Dataset) -> Apart:
    """Whether the test tells two systems apart."""
    found = board.mirflow.compare("majmin", all_pairs=True).isel(metric=0)
    p = found["p_corrected"]
    told = (p <= 0.05).values
    assert 0 < told.sum() < SYSTEMS * (SYSTEMS - 1) or board.sizes["track"] < 6
    return lambda one, other: bool(p.sel(system=one, other=other) <= 0.05)


@pytest.fixture(scope="module")
def store(board: xr.Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("verdicts") / "s.zarr", {"chord": board})


def excludes(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and (low > 0 or high < 0)


@pytest.mark.parametrize("correction", ["max-t", "holm", "none"])
@pytest.mark.parametrize("options", [{}, {"all_pairs": True}, {"cluster": "artist"}])
def test_in_a_comparison(board: xr.Dataset, correction: str, options: dict[str, Any]) -> None:
    if board.sizes["track"] < 6 and options.get("cluster"):
        return
    found = board.mirflow.compare("majmin", correction=correction, replicates=999, **options).isel(metric=0)
    shown = np.isfinite(found["p_corrected"].values)
    outside = ((found["low"] > 0) | (found["high"] < 0)).values
    np.testing.assert_array_equal(outside[shown], (found["p_corrected"].values <= 0.05)[shown])
    np.testing.assert_array_equal(found["significant"].values[shown], outside[shown])


def test_in_tables_of_the_terminal_and_of_papers(board: xr.Dataset, store: Path, apart: Apart) -> None:
    for form in ("table", "latex", "markdown"):
        text = printed("compare", store, "-m", "majmin", "--all-pairs", "--format", form)
        numbers = r"(?m)^[| ]*(S\d)[\s&|]+(S\d)[\s&|]+\S+ \{?\[\}?([-\d.e]+), ([-\d.e]+)\{?\]"
        listed = [(one, other, float(low), float(high)) for one, other, low, high in re.findall(numbers, text)]
        assert len(listed) == (0 if board.sizes["track"] < 6 else SYSTEMS * (SYSTEMS - 1) // 2)
        assert all(excludes(low, high) == apart(one, other) for one, other, low, high in listed), form


def test_in_rows_for_programs(store: Path, apart: Apart) -> None:
    for row in rows("compare", store, "-m", "majmin", "--all-pairs"):
        assert excludes(row["low"], row["high"]) == apart(row["system"], row["other"]) == row["significant"]
    for row in rows("compare", store, "-m", "majmin", "--friedman"):
        assert excludes(row["rank_low"], row["rank_high"]) == row["significant"] == (row["p_pair"] < 0.05)


def test_in_marks_of_a_query(board: xr.Dataset, store: Path, apart: Apart) -> None:
    lower = board["orientation"].item() == "lower"
    listed = rows("query", store, "-m", "majmin", "--significance")
    (best,) = (
        row["system"] for row in listed if row["value"] == (min if lower else max)(one["value"] for one in listed)
    )
    marked = {row["system"] for row in listed if row["like_best"]}
    assert marked in (set(), {best, *(name for name in NAMES if name != best and not apart(best, name))})
    assert bool(marked) == any(apart(*pair) for pair in permutations(NAMES, 2))


def same_letter(letters: dict[str, str], one: str, other: str) -> bool:
    return bool({*letters[one]} & {*letters[other]})


def test_in_letters_and_ranks(board: xr.Dataset, apart: Apart) -> None:
    found = board.mirflow.compare("majmin").isel(metric=0)
    letters = dict(zip(found["system"].values.tolist(), found["letters"].values.tolist(), strict=True))
    if any(letters.values()):
        assert all(same_letter(letters, *pair) != apart(*pair) for pair in permutations(NAMES, 2))
    ranks = board.mirflow.ranks("majmin").isel(metric=0)
    value = dict(zip(ranks["system"].values.tolist(), ranks["value"].values.tolist(), strict=True))
    sign = -1 if board["orientation"].item() == "lower" else 1
    for place, name in enumerate(ranks["system"].values.tolist()):
        ahead = sum(apart(name, other) and sign * value[other] > sign * value[name] for other in value if other != name)
        behind = sum(
            apart(name, other) and sign * value[other] < sign * value[name] for other in value if other != name
        )
        assert (ranks["rank_low"].values[place], ranks["rank_high"].values[place]) == (1 + ahead, SYSTEMS - behind)


def test_on_pages_and_boards(board: xr.Dataset, apart: Apart) -> None:
    (ranked,) = leaderboard({"chord": as_scores(board)}, level=0.95).evaluations
    on_board = standings_of(ranked)
    ((_, page),) = describe_inference(as_scores(board), [0], [0], "chord")
    for row, (one, other) in zip(page["pairs"], combinations(NAMES, 2), strict=True):
        _, low, high, p = row
        assert low is None or excludes(low, high) == apart(one, other) == (p <= 0.05)
    for shown in (on_board, page["standings"]):
        leader, *others = shown.rows
        letters = {row.system: row.letters for row in shown.rows}
        for row in others:
            if row.relation:
                assert leader.relation == LEADER
                assert (row.relation == ALIKE) == (not apart(leader.system, row.system))
                assert excludes(row.gap_low, row.gap_high) == apart(leader.system, row.system)
        if any(letters.values()):
            assert all(same_letter(letters, *pair) != apart(*pair) for pair in permutations(NAMES, 2))


def check_bars(board: xr.Dataset, apart: Apart) -> None:
    """Two systems are joined by a bar, or by its dots where it passes by others, just where they are not told apart."""
    value = board.mirflow.query("majmin")["value"].values[:, 0]
    lines = KINDS["critical-difference"].draw(board, metric="majmin").lines
    dots = {line.get_ydata()[0]: line.get_xdata() for line in lines if line.get_marker() == "o"}
    joined = []
    for bar in (line for line in lines if line.get_linewidth() > 2):
        (left, right), place = bar.get_xdata(), dots.get(bar.get_ydata()[0], value)
        joined.append({name for name, at in zip(NAMES, value, strict=True) if left <= at <= right and at in place})
    told = any(apart(*pair) for pair in permutations(NAMES, 2))
    for one, other in combinations(NAMES, 2) if told else ():
        assert any({one, other} <= members for members in joined) != apart(one, other)
    assert told or not joined


def check_ranks(board: xr.Dataset, apart: Apart) -> None:
    """A bar of ranks is as long as there are systems from which its own is not told apart."""
    ax = KINDS["ranks"].draw(board, metric="majmin")
    lengths = {
        label.get_text(): round(np.ptp(line[:, 0]) - 0.3)
        for label, line in zip(ax.get_yticklabels(), ax.collections[0].get_segments(), strict=True)
    }
    assert lengths == {one: sum(not apart(one, other) for other in NAMES if other != one) for one in NAMES}


CHECKS = {"critical-difference": check_bars, "ranks": check_ranks}


def source_with_helpers(function: Callable[..., Any]) -> str:
    """The source of a function and of all private ones of its module that it calls, themselves or by others."""
    module, sources, names = sys.modules[function.__module__], [inspect.getsource(function)], set[str]()
    for source in sources:
        for name in {*re.findall(r"\b_[a-z]\w*", source)} - names:
            names.add(name)
            if inspect.isfunction(helper := getattr(module, name, None)):
                sources.append(inspect.getsource(helper))
    return "\n".join(sources)


def test_in_figures(board: xr.Dataset, apart: Apart) -> None:
    """Every kind of figure that asks a test is checked."""
    asking = re.compile(r"\b(compare|friedman|ranks_of|letters_note|ranks_note|like_best)\(")
    assert {name for name, kind in KINDS.items() if asking.search(source_with_helpers(kind.draw))} == {*CHECKS}
    for check in CHECKS.values():
        check(board, apart)
