"""Local keys: points and classes as shares of the time, second by second, and how rows are read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError
from mirflow.metrics import key, local_key

from .batches import score_pairs

CLASSES = ("same", "fifth", "relative", "parallel", "relative_of_fifth", "other")
KEYS = ("C major", "G:maj", "F major", "A minor", "C minor", "E minor", "D:min", "X", "D dorian", "Eb major")

Stretch = tuple[int, str | None]
"""Quarters of a second, and the key; None: none."""
tracks = st.lists(st.tuples(st.integers(1, 8), st.sampled_from((*KEYS, None))), max_size=7)


def annotation(stretches: list[Stretch]) -> Annotation:
    ends = np.cumsum([length for length, _ in stretches]) / 4
    starts = ends - np.array([length for length, _ in stretches]) / 4
    named = [place for place, (_, label) in enumerate(stretches) if label is not None]
    columns = {"start": starts[named], "end": ends[named]}
    return Annotation("intervals", columns, [str(stretches[place][1]) for place in named])


def ticks(stretches: list[Stretch]) -> list[str | None]:
    """The key in each quarter of a second."""
    return [label for length, label in stretches for _ in range(length)]


def by_definition(reference: list[Stretch], estimate: list[Stretch], descending: bool) -> list[float]:
    """The scores of single keys, quarter of a second by quarter of a second."""
    own, others = ticks(reference), ticks(estimate)
    others += [None] * (len(own) - len(others))
    rules = key.TASK.convention("mirex2017" if descending else "mirex2005")
    rows = []
    for one, other in zip(own, others, strict=False):
        if one is not None:
            pair = Annotation("key", {}, [one]), Annotation("key", {}, [] if other is None else [other])
            rows.append(score_pairs(rules, [pair], rules.select(["weighted_score", *CLASSES])).score[0])
    if not rows:
        return [np.nan] * 7
    means = np.mean(rows, axis=0)
    means[6] -= means[5]  # of single keys other has the relatives of fifths, too
    return means.tolist()


@given(tracks, tracks, st.booleans())
def test_scores_are_means_over_the_time_of_those_of_single_keys(
    reference: list[Stretch], estimate: list[Stretch], descending: bool
) -> None:
    rules = local_key.TASK.convention("mirex2017" if descending else "mirex2005")
    found = score_pairs(
        rules, [(annotation(reference), annotation(estimate))], rules.select(["weighted_score", *CLASSES])
    )
    expected = by_definition(reference, estimate, descending)
    assert found.score[0].tolist() == pytest.approx(expected, abs=1e-12, nan_ok=True)
    seconds = sum(label is not None for label in ticks(reference)) / 4
    assert found.weight[0].tolist() == [seconds] * 7
    if seconds:
        assert found.score[0, 1:].sum() == pytest.approx(1.0)


def test_one_key_throughout_scores_like_the_key_of_a_track() -> None:
    pair = annotation([(40, "C major")]), annotation([(80, "F major")])
    for name, points in (("mirex2017", 0.5), ("mirex2005", 0.0)):
        rules = local_key.TASK.convention(name)
        assert score_pairs(rules, [pair], rules.select(["weighted_score"])).score[0].tolist() == [points]
        assert key.weighted_score("C major", "F major", allow_descending_fifths=points > 0) == points


def test_arrays_of_one_pair() -> None:
    reference = [[0.0, 6.0], [6.0, 8.0]], ["C major", "G major"]
    estimate = [[0.0, 8.0]], ["C major"]
    assert local_key.same(reference, estimate) == 0.75
    assert local_key.weighted_score(reference, estimate) == 0.875
    assert local_key.weighted_score(reference, estimate, allow_descending_fifths=False) == 0.75
    with pytest.raises(AnnotationError, match="estimate: not a key: 'H major'"):
        local_key.same(reference, ([[0.0, 8.0]], ["H major"]))


def test_evidence_has_the_relation_of_each_stretch() -> None:
    reference = annotation([(16, "C major"), (16, "A minor")])
    found = mirflow.explain(reference, annotation([(24, "C major")]), "same", task="local_key")
    assert found["start"].values.tolist() == [0.0, 4.0, 6.0]
    assert found["estimate"].values.tolist() == ["C major", "C major", ""]
    assert found["relation"].values.tolist() == ["same", "relative", "other"]
    assert found["verdict"].values.tolist() == ["right", "wrong", "wrong"]
    with pytest.raises(AnnotationError, match="the reference is empty"):
        mirflow.explain(annotation([]), reference, "same", task="local_key")
