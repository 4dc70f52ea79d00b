"""Convention mirex2013 against a plain walk through the segments, one pair at a time, on generated sequences."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.metrics.base import Pairs
from mirflow.metrics.chord.mirex2013 import CONVENTION, OUTSIDE, RULES, encode
from mirflow.ragged import Float
from tests import chord_strategies
from tests.metrics.chord_rows import Segment, rows

COLUMNS = ("all_correct", "root_correct", "type_correct", "all_wrong", "deleted", "inserted", "correct_no_chord")
SILENCES = {(True, True): "correct_no_chord", (True, False): "inserted", (False, True): "deleted"}
FEW = st.sampled_from(["N", "X", "C", "C:maj", "C:min", "C:min7", "G/3", "G", "A:(1,5)", "C:7", "C:dim", "C:(3,#4)"])
TIMES = st.one_of(st.integers(0, 8).map(float), st.floats(0, 10, allow_nan=False).map(abs))


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    """Any segment that is not reversed."""
    start, end = sorted((draw(TIMES), draw(TIMES)))
    label = draw(st.one_of(FEW, chord_strategies.labels.filter(lambda text: not encode_fails(text))))
    return start, end, label


def encode_fails(label: str) -> bool:
    return bool(CONVENTION.clean(rows([(0.0, 1.0, label)])).flaws)


@st.composite
def orderly(draw: st.DrawFn) -> list[Segment]:
    """Segments one after the other."""
    bounds = sorted(set(draw(st.lists(TIMES, min_size=2, max_size=12))))
    return [(a, b, draw(FEW)) for a, b in pairwise(bounds)]


sequences = st.one_of(orderly(), st.lists(segments(), max_size=8))


def walked(reference: list[Segment], estimate: list[Segment]) -> list[tuple[float, str, str]]:
    """Seconds and both labels between consecutive cut points, by walking an index along each sequence."""
    if not reference:
        return []
    end = reference[-1][1]
    bounds = {time for start, stop, _ in reference + estimate for time in (start, stop) if 0 <= time < end}
    here = {"reference": 0, "estimate": 0}
    sides = {"reference": reference, "estimate": estimate}
    found = []
    for previous, cut in pairwise(sorted({0.0, end} | bounds)):
        labels = {}
        for name, side in sides.items():
            while here[name] < len(side) - 1 and side[here[name]][1] < cut:
                here[name] += 1
            applies = side and side[here[name]][0] < cut <= side[-1][1]
            labels[name] = side[here[name]][2] if applies else "N"
        found.append((cut - previous, labels["reference"], labels["estimate"]))
    return found


def mapped(label: str, rule: str, *, reference: bool) -> tuple[int, int]:
    vocabulary = encode([label], [rule], reference=reference)
    return int(vocabulary.root[0]), int(vocabulary.rules[rule].quality[0])


def expected_rule(pieces: list[tuple[float, str, str]], rule: str) -> dict[str, float]:
    """Seconds of each column, and how many different chords there are."""
    seconds: dict[str, float] = defaultdict(float)
    chords: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for duration, left, right in pieces:
        ours, theirs = mapped(left, rule, reference=True), mapped(right, rule, reference=False)
        if ours[1] == OUTSIDE:
            continue
        silent = ours[0] == -1, theirs[0] == -1
        if any(silent):
            seconds[SILENCES[silent]] += duration
            continue
        chords["n_reference_chords"].add(ours)
        chords["n_estimate_chords"].add(theirs)
        same = ours[0] == theirs[0], ours[1] == theirs[1]
        names = {(True, True): "all_correct", (True, False): "root_correct", (False, True): "type_correct"}
        seconds[names.get(same, "all_wrong")] += duration
    return dict(seconds) | {name: len(different) for name, different in chords.items()}


def merged(side: list[Segment]) -> list[tuple[float, float]]:
    lasting = (segment for segment in side if segment[1] > segment[0])
    groups = (list(group) for _, group in groupby(lasting, key=lambda segment: segment[2]))
    return [(group[0][0], max(end for _, end, _ in group)) for group in groups]


def outside_best(side: list[tuple[float, float]], other: list[tuple[float, float]], last: float) -> float:
    """Time up to `last` that the segments share with the other side's, but for the largest share of each."""
    total = 0.0
    for start, end in side:
        shares = [max(0.0, min(end, stop, last) - max(start, begin)) for begin, stop in other]
        total += sum(shares) - max(shares, default=0.0)
    return total


def score(pairs: list[tuple[list[Segment], list[Segment]]]) -> tuple[Float, Float]:
    """Scores and weights of all measures for pairs of sequences, in one batch."""
    references, estimates = rows(*(left for left, _ in pairs)), rows(*(right for _, right in pairs))
    result = CONVENTION.score(Pairs.in_order(references, estimates), CONVENTION.select(), "union")
    return result.score, result.weight


@pytest.mark.slow
@given(st.lists(st.tuples(sequences, sequences), min_size=1, max_size=3))
@settings(max_examples=75, deadline=None)
def test_every_rule_and_column_equals_the_walk(pairs: list[tuple[list[Segment], list[Segment]]]) -> None:
    scores, weights = score(pairs)
    names = [str(measure) for measure in CONVENTION.select()]
    for pair, (reference, estimate) in enumerate(pairs):
        pieces = walked(reference, estimate)
        for rule in RULES:
            expected = expected_rule(pieces, rule)
            evaluated = sum(expected.get(column, 0.0) for column in COLUMNS)
            right = expected.get("all_correct", 0.0) + expected.get("correct_no_chord", 0.0)
            at = names.index(rule)
            assert weights[pair, at] == pytest.approx(evaluated, abs=1e-12)
            assert scores[pair, at] * weights[pair, at] == pytest.approx(right, abs=1e-12)
            for measure in CONVENTION.select([f"{column}@{rule}" for column in COLUMNS]):
                at = names.index(str(measure))
                assert scores[pair, at] * weights[pair, at] == pytest.approx(
                    expected.get(measure.metric.name, 0.0), abs=1e-12
                )
            for name in ("n_reference_chords", "n_estimate_chords"):
                at = names.index(str(CONVENTION.select([f"{name}@{rule}"])[0]))
                assert scores[pair, at] == expected.get(name, 0)


@given(sequences, sequences)
@settings(max_examples=75, deadline=None)
def test_segmentation_equals_comparing_every_segment_with_every_other(
    reference: list[Segment], estimate: list[Segment]
) -> None:
    scores, weights = score([(reference, estimate)])
    end = reference[-1][1] if reference else 0.0
    sides = [merged(side) or [(0.0, end)] for side in (reference, estimate)]
    expected = np.array([outside_best(sides[1], sides[0], end), outside_best(sides[0], sides[1], end)])
    assert weights[0, -3:].tolist() == [end, end, end]
    if end > 0:
        np.testing.assert_allclose(scores[0, -3:-1], expected / end, rtol=1e-12, atol=1e-12)
        assert scores[0, -1] == 1 - scores[0, -3:-1].max()
    else:
        assert scores[0, -3:].tolist() == [0, 0, 0]
