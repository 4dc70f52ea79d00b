"""Hierarchies in continuous time: plain counts around moments, frames that become short, and published numbers."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from mirflow.errors import MetricError
from mirflow.metrics import hierarchy
from mirflow.metrics.base import Pairs, get_task

from .hierarchies import Hierarchy, hierarchies, to_rows

RULES = get_task("hierarchy").convention()
FRAMELESS = get_task("hierarchy").convention("frameless")
KINDS = ("t_{}_reduced", "t_{}_full", "l_{}")


def scores(reference: Hierarchy, estimate: Hierarchy, window: float, size: object = "exact") -> dict[str, float]:
    """Precision and recall of each kind."""
    names = {kind.format(which): kind[0] for kind in KINDS for which in ("precision", "recall")}
    texts = [f"{name}(frame_size={size}{f',window={window}' if one == 't' else ''})" for name, one in names.items()]
    pair = Pairs.in_order(to_rows([reference]), to_rows([estimate]))
    return dict(zip(names, RULES.score(pair, RULES.select(texts), "union").score[0].tolist(), strict=True))


def rank(side: Hierarchy, q: float, i: float, labelled: bool) -> int:
    """The deepest level on which two moments share a segment or a label."""
    found = 0
    for depth, (times, labels) in enumerate(zip(*side, strict=True), 1):
        held = [{place for place, (a, b) in enumerate(times.tolist()) if a <= moment < b} for moment in (q, i)]
        named = [{labels[place].lower() for place in one} for one in held]
        found = depth if (named[0] & named[1] if labelled else held[0] & held[1]) else found
    return found


def plain_score(
    left: Hierarchy, right: Hierarchy, end: float, window: float, labelled: bool, transitive: bool
) -> float:
    """Mean over moments q of the share of what is ordered around q on the left that is ordered alike on the right."""
    edges = sorted({0.0, end, *(t for levels, _ in (left, right) for times in levels for t in times.ravel().tolist())})
    blocks = list(pairwise(edges))
    cuts = {t + shift for t in edges for shift in (-window, 0.0, window) if 0 <= t + shift <= end}
    total = weight = 0.0
    for first, last in pairwise(sorted(cuts)):
        if last - first < 1e-9:
            continue
        middle = (first + last) / 2
        ranks = [[rank(side, middle, sum(one) / 2, labelled) for one in blocks] for side in (left, right)]

        def agreement(q: float, ranks: list[list[int]] = ranks) -> float:
            length = [max(min(b, q + window) - max(a, q - window), 0.0) for a, b in blocks]
            pairs = wrong = 0.0
            for i, one in enumerate(length):
                for j, other in enumerate(length):
                    apart = ranks[0][j] - ranks[0][i]
                    if apart == 1 or (transitive and apart > 1):
                        pairs += one * other
                        wrong += one * other * (ranks[1][i] >= ranks[1][j])
            return 1 - wrong / pairs if pairs > 1e-15 else np.nan

        if not np.isnan(agreement(middle)):
            total += quad(agreement, first, last, epsabs=1e-12, epsrel=1e-12)[0]
            weight += last - first
    return total / weight if weight else 0.0


@settings(max_examples=12)
@given(hierarchies(end=6.0, max_levels=3), hierarchies(end=6.0, max_levels=2), st.sampled_from([0.7, 2.0, 6.0, 50.0]))
def test_scores_are_means_of_plain_counts_around_moments(
    reference: Hierarchy, estimate: Hierarchy, window: float
) -> None:
    found = scores(reference, estimate, window)
    for which, sides in (("precision", (estimate, reference)), ("recall", (reference, estimate))):
        for kind, labelled, transitive in zip(KINDS, (False, False, True), (False, True, True), strict=True):
            reach = 6.0 if labelled else min(window, 6.0)
            expected = plain_score(*sides, 6.0, reach, labelled, transitive)
            assert found[kind.format(which)] == pytest.approx(expected, abs=1e-9), (kind, which)


@settings(max_examples=15)
@given(hierarchies(), hierarchies(), st.sampled_from([2.5, 4.0, 30.0]))
def test_frames_come_near_as_they_become_short(reference: Hierarchy, estimate: Hierarchy, window: float) -> None:
    exact = scores(reference, estimate, window)
    coarse, fine = (scores(reference, estimate, window, size) for size in (0.05, 0.002))
    assert max(abs(fine[name] - exact[name]) for name in exact) < 0.02
    assert (
        sum(abs(fine[name] - exact[name]) for name in exact)
        <= sum(abs(coarse[name] - exact[name]) for name in exact) + 0.01
    )


@settings(max_examples=20)
@given(hierarchies(free=True), hierarchies(free=True))
def test_any_hierarchy_has_scores_from_0_to_1(reference: Hierarchy, estimate: Hierarchy) -> None:
    for value in scores(reference, estimate, 3.0).values():
        assert np.isnan(value) or -1e-12 <= value <= 1 + 1e-12  # levels that end apart are refused


def test_pair_functions_take_durations() -> None:
    levels = [np.array([[0.0, 4.0]]), np.array([[0.0, 2.0], [2.0, 4.0]])]
    deeper = [*levels, np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0]])]
    labels = [["a"], ["b", "c"]]
    found = hierarchy.lmeasure(levels, labels, deeper, [*labels, ["d", "e", "d", "e"]], frame_size="exact")
    assert found == pytest.approx((0.4, 0.5, 4 / 9), abs=1e-12)
    assert hierarchy.tmeasure(levels, levels, frame_size="exact") == (1.0, 1.0, 1.0)
    # Around q before 2 s the reference orders q's half before the other; the estimate does so for 1 s of its own.
    assert hierarchy.tmeasure(levels, deeper, transitive=True, window=None, frame_size="exact")[1] == 1.0


def test_a_precision_that_is_known_by_hand() -> None:
    """One boundary within the window: around q there are 1 + q s before it and 1 - q after it, all ordered alike."""
    one, none = [np.array([[0.0, 10.0]]), np.array([[0.0, 5.0], [5.0, 10.0]])], [np.array([[0.0, 10.0]])]
    found = scores((one, [["a"], ["b", "c"]]), (none, [["a"]]), 1.0)
    assert found["t_recall_full"] == 0.0
    assert found["t_precision_full"] == 0.0
    seconds = RULES.score(
        Pairs.in_order(to_rows([(one, [["a"], ["b", "c"]])]), to_rows([(one, [["a"], ["b", "c"]])])),
        RULES.select(["t_recall_full(window=1.0,frame_size=exact)"]),
        "union",
    )
    assert seconds.score.item() == pytest.approx(1.0, abs=1e-12)
    assert seconds.weight.item() == pytest.approx(2.0, abs=1e-12)


def test_other_words_are_no_frame_sizes() -> None:
    levels = [np.array([[0.0, 4.0]])]
    with pytest.raises(ValueError, match=r"frame_size \('exct'\) must be a positive number or 'exact'"):
        hierarchy.tmeasure(levels, levels, frame_size="exct")
    with pytest.raises(MetricError, match="needs a float or 'exact', not 'exct'"):
        RULES.select(["l_measure@exct"])


# Published numbers ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(shared_data: Path) -> dict:
    return json.loads((shared_data / "oracles" / "06_frameless" / "expected.json").read_text())


def l_measures(reference: Hierarchy, estimate: Hierarchy) -> list[float]:
    return (
        FRAMELESS.score(Pairs.in_order(to_rows([reference]), to_rows([estimate])), FRAMELESS.select(), "union")
        .score[0]
        .tolist()
    )


def test_salami_agrees_with_frameless_eval(shared_data: Path, published: dict) -> None:
    folder = shared_data / "oracles" / "06_frameless"

    def read(files: list[str]) -> Hierarchy:
        rows = [[line.split("\t") for line in (folder / file).read_text().splitlines()] for file in files]
        return [np.array([row[:2] for row in one], dtype=float) for one in rows], [[r[2] for r in one] for one in rows]

    for song, one in published["hierarchy"].items():
        expected = list(one["frameless_lmeasure"].values())
        assert l_measures(read(one["ref"]), read(one["est"])) == pytest.approx(expected, abs=1e-9), song


def test_odd_hierarchies_agree_with_frameless_eval(published: dict) -> None:
    for name, one in published["edge_hierarchy"].items():
        sides = [
            ([np.array(times, dtype=float) for times in one[f"{side}_intervals"]], one[f"{side}_labels"])
            for side in ("ref", "est")
        ]
        assert l_measures(*sides) == pytest.approx(list(one["frameless_lmeasure"].values()), abs=1e-9), name


def test_moments_around_which_nothing_is_ordered_count_in_convention_frameless_alone() -> None:
    song = [np.array([[0.0, 4.0]])], [["a"]]
    pair = Pairs.in_order(to_rows([song]), to_rows([song]))
    assert RULES.score(pair, RULES.select(["l_measure@exact"]), "union").score.item() == 0.0
    assert FRAMELESS.score(pair, FRAMELESS.select(["l_measure"]), "union").score.item() == 1.0
