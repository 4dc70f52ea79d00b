"""Scores of batches of chord sequences, their cleaning and evidence, and mir_eval's scores of real data."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError
from mirflow.metrics.base import Convention, Pairs, Scores, get_task
from mirflow.metrics.chord.metrics import clean

from .chord_pairs import Sequence_, chord_sequences, mir_eval_scores, read_lab, to_rows

CONVENTION = get_task("chord").convention("mir_eval")
DEFAULT = CONVENTION.select()
ALL = CONVENTION.select(
    [
        *map(str, DEFAULT),
        *("csr@tetrads", "csr_framewise@majmin(hop=0.1)", "overlap_2008"),
        *("class_recall@sevenths", "confusion@majmin", "confusion@tetrads"),
    ]
)


def score_pairs(pairs: list[tuple[Sequence_, Sequence_]], measures=DEFAULT, grid="union") -> Scores:
    references, estimates = to_rows([one for one, _ in pairs]), to_rows([one for _, one in pairs])
    return CONVENTION.score(Pairs.in_order(references, estimates), measures, grid)


def chords(*rows: tuple[float, float, str]) -> Sequence_:
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


# Among few labels most neighbours are merged.
@given(
    chord_sequences(min_size=1) | chord_sequences(min_size=1, labels=("N", "C", "C:7")),
    chord_sequences() | chord_sequences(labels=("N", "C", "C:7", "C:9")),
)
@settings(max_examples=200, deadline=None)
def test_equals_mir_eval(reference: Sequence_, estimate: Sequence_) -> None:
    found = score_pairs([(reference, estimate)])
    assert not found.refused
    np.testing.assert_allclose(found.score[0], mir_eval_scores(reference, estimate), rtol=0, atol=1e-12)


def test_batches_larger_than_the_cache_equal_single_pairs() -> None:
    rng = np.random.default_rng(4)
    labels = np.array(["N", "C", "G:7", "A:min", "X", "D:min7/b3"])

    def sequence(size: int) -> Sequence_:
        bounds = np.cumsum(rng.random(size + 1))
        return bounds[:-1].tolist(), bounds[1:].tolist(), rng.choice(labels, size).tolist()

    pairs = [(sequence(rng.integers(1, 900)), sequence(rng.integers(1, 900))) for _ in range(60)]
    together = score_pairs(pairs, ALL)
    for place in range(0, 60, 7):
        alone = score_pairs([pairs[place]], ALL)
        assert alone.score[0].tobytes() == together.score[place].tobytes()


def test_weight_is_the_seconds_that_were_comparable() -> None:
    reference = chords((0.0, 1.0, "X"), (1.0, 3.0, "C:sus4"), (3.0, 7.0, "C"))
    found = score_pairs([(reference, chords((0.0, 7.0, "C")))], CONVENTION.select(["root", "majmin", "seg"]))
    assert found.weight.tolist() == [[6.0, 4.0, 7.0]]
    assert found.score[0, :2].tolist() == [1.0, 1.0]


def test_nothing_comparable_scores_0_with_weight_0() -> None:
    found = score_pairs([(chords((0.0, 2.0, "C:sus4")),) * 2], CONVENTION.select(["majmin", "thirds"]))
    assert (found.score.tolist(), found.weight.tolist()) == ([[0.0, 1.0]], [[0.0, 2.0]])


def test_empty_reference_scores_0_with_weight_0() -> None:
    found = score_pairs([(chords(), chords((0.0, 1.0, "C"))), (chords(), chords())], ALL)
    assert not found.score.any()
    assert not found.weight.any()
    assert not found.refused


def test_an_overlap_within_one_side_is_refused_and_spoils_nothing_else() -> None:
    good = chords((0.0, 4.0, "C"))
    overlapping = chords((0.0, 2.0, "C"), (1.0, 4.0, "G"))
    found = score_pairs([(good, good), (good, overlapping), (overlapping, good), (good, chords())], ALL)
    assert sorted(found.refused) == [1, 2]
    assert "estimate: chord intervals must not overlap, but 0.0 to 2.0 s is followed by 1.0 to 4.0" in found.refused[1]
    assert found.refused[2].startswith("reference: ")
    assert np.isnan(found.score[1]).all()
    assert np.array_equal(found.weight[1], found.weight[3])  # what an empty estimate would have
    assert not found.weight[2].any()
    assert np.isfinite(found.score[[0, 3]]).all()
    assert set(found.extras["confusion_majmin"].index[:, 0]) == {0, 3}


def test_an_overlap_outside_the_references_span_does_no_harm() -> None:
    estimate = chords((0.0, 4.0, "C"), (4.0, 6.0, "G"), (5.0, 7.0, "A"))
    assert not score_pairs([(chords((0.0, 3.0, "C")), estimate)]).refused


def test_neighbours_of_one_chord_may_overlap_as_in_mir_eval() -> None:
    reference = chords((0.0, 2.0, "C:9"), (1.5, 4.0, "C:7(9)"), (4.0, 6.0, "G"))
    estimate = chords((0.0, 3.0, "C"), (2.5, 5.0, "C"), (5.0, 6.0, "G"))
    found = score_pairs([(reference, estimate)])
    np.testing.assert_allclose(found.score[0], mir_eval_scores(reference, estimate), rtol=0, atol=1e-12)


def test_ragged_ends_are_counted_as_repairs() -> None:
    reference = chords((1.0, 4.0, "C"))
    estimates = [chords((1.0, 4.0, "C")), chords((2.0, 9.0, "C")), chords((2.0, 3.0, "C")), chords()]
    assert score_pairs([(reference, one) for one in estimates]).repairs.tolist() == [0, 1, 2, 0]


@given(st.lists(st.tuples(chord_sequences(), chord_sequences()), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_a_vocabulary_too_large_for_a_table_of_pairs_changes_nothing(pairs) -> None:
    expected = score_pairs(pairs, ALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mirflow.metrics.chord.kernel._LARGEST_TABLE", 0)
        found = score_pairs(pairs, ALL)
    assert found.score.tobytes() == expected.score.tobytes()


def test_gaps_are_kept_and_counted() -> None:
    cleaned = clean(to_rows([chords((0.0, 1.0, "C"), (1.5, 2.0, "G"), (3.0, 4.0, "C"))]))
    assert cleaned.rows.counts[0].tolist() == [3]
    assert cleaned.repairs.tolist() == [2]


def test_an_overlap_is_named_by_the_item_as_read_after_sorting() -> None:
    cleaned = clean(to_rows([chords((2.0, 4.0, "G"), (0.0, 3.0, "C"))]))
    assert (cleaned.flaws[0].item, cleaned.flaws[0].message) == (0, "overlaps the row before it: 2.0 s is before 3.0 s")


def test_neighbours_of_one_chord_may_overlap_unless_one_lies_within_the_other() -> None:
    beside, within = chords((0.0, 2.0, "C"), (1.0, 3.0, "C")), chords((0.0, 4.0, "C"), (1.0, 3.0, "C"))
    assert list(clean(to_rows([beside, within])).flaws) == [1]
    assert list(clean(to_rows([beside, within]), merging=False).flaws) == [0, 1]


SOME_LABELS = ["C", "A:min", "G:7", "N", "X", "F:maj7", "D:min/b3", "E:sus4"]
JUDGING = {"mir_eval": ["majmin", "sevenths_inv", "csr@root"], "mirex2013": ["root", "majmin", "sevenths_inv"]}


def random_chords(rng: np.random.Generator, size: int) -> Annotation:
    bounds = np.round(np.cumsum(rng.uniform(0, 2, size + 1)), 2)
    return Annotation("intervals", {"start": bounds[:-1], "end": bounds[1:]}, rng.choice(SOME_LABELS, size).tolist())


def functions(name: str) -> tuple[Convention, Any, Any]:
    convention = get_task("chord").convention(name)
    assert convention.explain is not None
    assert convention.explain_many is not None
    return convention, convention.explain, convention.explain_many


@pytest.mark.parametrize(("name", "rule"), [(name, rule) for name, rules in JUDGING.items() for rule in rules])
def test_many_are_as_one_and_one(name, rule):
    convention, evidence, evidences = functions(name)
    rng = np.random.default_rng(3)
    (measure,) = convention.select([rule])
    each = [random_chords(rng, 12) for _ in range(20)]
    references = [each[place] for place in rng.integers(0, len(each), 100).tolist()]
    estimates = [random_chords(rng, size) for size in rng.integers(0, 30, len(references)).tolist()]
    for reference, estimate, found in zip(
        references, estimates, evidences(references, estimates, measure), strict=True
    ):
        alone = evidence(reference, estimate, measure)
        assert not isinstance(found, AnnotationError)
        assert alone.keys() == found.keys()
        assert all(np.array_equal(alone[name], found[name]) for name in alone)


@pytest.mark.parametrize(
    ("name", "rule"),
    [("mir_eval", "majmin"), ("mir_eval", "seg"), ("decibel", "segmentation"), ("mirex2013", "majmin")],
)
def test_a_side_that_cannot_be_scored_leaves_the_others_alone(name, rule):
    convention, evidence, evidences = functions(name)
    rng = np.random.default_rng(4)
    (measure,) = convention.select([rule])
    reference, good, empty = random_chords(rng, 6), random_chords(rng, 6), random_chords(rng, 0)
    wrong = Annotation("intervals", {"start": np.zeros(1), "end": np.ones(1)}, ["H:moll"], attrs={"source": "a.lab"})
    pairs = [(reference, good), (reference, wrong), (empty, good), (wrong, good), (reference, good)]
    first, flawed, nothing, side, last = evidences(*map(list, zip(*pairs, strict=True)), measure)
    alone = evidence(reference, good, measure)
    for found in (first, last):
        assert not isinstance(found, AnnotationError)
        assert all(np.array_equal(alone[name], found[name]) for name in alone)
    messages = ("a.lab:1: estimate: ", "the reference is empty", "a.lab:1: reference: ")
    for found, message, pair in zip((flawed, nothing, side), messages, pairs[1:4], strict=True):
        assert str(found).startswith(message)
        with pytest.raises(AnnotationError, match=message):
            evidence(*pair, measure)


GivenPairs = list[tuple[Sequence_, Sequence_]]


def check_real(pairs: GivenPairs) -> None:
    found = score_pairs(pairs)
    assert not found.refused
    expected = np.array([mir_eval_scores(reference, estimate) for reference, estimate in pairs])
    np.testing.assert_allclose(found.score, expected, rtol=0, atol=1e-12)
    assert np.isfinite(found.weight).all()


def mirex2013(folder: Path) -> GivenPairs:
    """All tracks of all systems."""
    references = {path.name: read_lab(path) for path in sorted((folder / "mirex2013-ace/reference").glob("*.lab"))}
    estimates = sorted((folder / "mirex2013-ace/estimates").glob("*/*.lab"))
    return [(references[path.name], read_lab(path)) for path in estimates]


def casd(folder: Path) -> GivenPairs:
    """Every annotator of a song against every other."""
    pairs: GivenPairs = []
    for path in sorted((folder / "casd").glob("*.jams")):
        annotators = []
        for annotation in json.loads(path.read_text())["annotations"]:
            rows = annotation["data"]
            starts = [float(row["time"]) for row in rows]
            ends = [start + float(row["duration"]) for start, row in zip(starts, rows, strict=True)]
            annotators.append((starts, ends, [row["value"] for row in rows]))
        pairs += itertools.permutations(annotators, 2)
    return pairs


@pytest.mark.slow
def test_a_third_of_mirex_2013(shared_data: Path) -> None:
    """Each track with three of the nine systems."""
    pairs = mirex2013(shared_data)
    assert len(pairs) == 217 * 9
    check_real(pairs[::3])


@pytest.mark.slow
def test_all_annotator_pairs(shared_data: Path) -> None:
    pairs = casd(shared_data)
    assert len(pairs) == 25 * 12
    check_real(pairs)
