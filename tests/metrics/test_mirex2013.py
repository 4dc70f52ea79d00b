"""Convention mirex2013, rule by rule, on sequences small enough to be worked out by hand."""

from __future__ import annotations

import re
from pathlib import Path

import mir_eval
import numpy as np
import pytest

from mirflow.errors import InvalidAnnotationError, MetricError, UnknownNameError
from mirflow.metrics.base import Pairs
from mirflow.metrics.chord.mirex2013 import CONVENTION
from mirflow.ragged import Ragged
from tests.metrics.chord_rows import Segment, as_annotation, rows, span

RULES = ("root", "majmin", "majmin_inv", "sevenths", "sevenths_inv")


def evaluate(reference: list[Segment], estimate: list[Segment], *names: str) -> dict[str, tuple[float, float]]:
    """Score and weight of one pair by the names of the measures."""
    measures = CONVENTION.select(names or None)
    one = np.zeros(1, dtype=np.int64)
    result = CONVENTION.score(Pairs(rows(reference), rows(estimate), one, one), measures, "union")
    return {str(m): (float(result.score[0, i]), float(result.weight[0, i])) for i, m in enumerate(measures)}


def single(reference: str, estimate: str, rule: str) -> tuple[float, float]:
    """Score and weight of one second of a label against another."""
    return evaluate(span(reference), span(estimate), rule)[rule]


def test_reference_time_outside_the_vocabulary_is_left_out() -> None:
    found = evaluate([(0, 1, "C:sus4"), (1, 4, "C")], [(0, 4, "C")], *RULES)
    assert found["majmin"] == found["sevenths"] == (1, 3)
    assert found["root"] == (1, 4)
    assert evaluate(span("C"), span("C:(1,5)"), "root_correct")["root_correct"] == (1, 1)


@pytest.mark.parametrize(
    ("references", "estimate", "verdicts"),
    [
        # Without a triad only the root is evaluated, and estimates are wrong but for it.
        ("C:sus4 C:(1) C:(1,5) C:sus4(2) C:maj(*3) C:9(*3) C:(7) C:aug C:dim C:sus4/4", "C", "R----"),
        ("C", "C:(1,5)", "RWWWW"),
        # What is undefined is left out in the reference, and wrong in the estimate; no chord is a class of its own.
        ("X U", "C", "-----"),
        ("U", "X", "-----"),
        ("C N", "X", "WWWWW"),
        ("N", "S", "RRRRR"),
        ("N", "C", "WWWWW"),
        ("C", "N", "WWWWW"),
        # Sevenths evaluates five types of chords, majmin two, and estimates are not confined to them.
        ("C:7 C:maj7 C/7 C:9", "C", "RRRWW"),
        ("C:min7 C:min/b7 C:min7(4)/b7", "C", "RWWWW"),
        ("C:min6 C:minmaj7", "C", "RWW--"),
        ("C/6", "C", "RRR--"),
        ("C:min", "C:min7", "RRRWW"),
        ("C", "C:maj6", "RRRWW"),
        # The reference keeps its spelling, and the estimate does not; roots are compared by pitch.
        ("C:(3,#4)", "C", "RRRRR"),
        ("C C:(3,#4)", "C:(3,#4)", "RWWWW"),
        ("C#:min", "Db:min", "RRRRR"),
        # The bass counts where it belongs to the reduced chord and is dropped otherwise; it can make the chord.
        ("C/3", "C/3", "RRRRR"),
        ("C/3 C/1 C:min/3", "C", "RRWRW"),
        ("C/1", "C/1", "RRRRR"),
        ("C/b7", "C:7", "RRRRW"),
        ("C/b7", "C", "RRRWW"),
        ("C/2", "C", "RRRRR"),
        ("C:min7/2", "C:min7", "RRRRR"),
    ],
)
def test_labels_are_right_wrong_or_left_out_by_each_rule(references: str, estimate: str, verdicts: str) -> None:
    expected = [{"R": (1, 1), "W": (0, 1), "-": (0, 0)}[verdict] for verdict in verdicts]
    for reference in references.split():
        assert [single(reference, estimate, rule) for rule in RULES] == expected, reference


class TestConvention:
    def test_by_default_every_rule_with_all_its_columns_and_segmentation_is_computed(self) -> None:
        names = [str(measure) for measure in CONVENTION.select()]
        assert len(names) == len(set(names)) == 5 + 5 * 9 + 3
        assert set(RULES) < set(names)
        assert {"all_correct", "all_correct@sevenths_inv", "n_estimate_chords@root", "hamming_measure"} < set(names)

    def test_the_official_names_of_the_rules_are_known(self) -> None:
        official = ["MirexRoot", "MirexMajMin", "MirexMajMinBass", "MirexSevenths", "MirexSeventhsBass"]
        assert [str(measure) for measure in CONVENTION.select(official)] == list(RULES)

    def test_an_unknown_rule_is_refused(self) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'majmin'"):
            CONVENTION.select(["all_correct@majmim"])

    def test_only_the_five_rules_are_chord_symbol_recalls(self) -> None:
        assert [metric.name for metric in CONVENTION.metrics if metric.recall] == list(RULES)
        assert {m.standard_aggregate for m in CONVENTION.metrics if m.recall} == {"wcsr"}

    def test_counts_cannot_be_pooled(self) -> None:
        assert [metric.name for metric in CONVENTION.metrics if metric.pooling == "none"] == [
            "n_reference_chords",
            "n_estimate_chords",
        ]


class TestClean:
    def test_irregular_rows_are_kept_and_counted(self) -> None:
        given = rows([(0, 0, "N"), (0, 2, "C"), (3, 4, "G"), (3.5, 5, "A"), (1, 6, "D")], span("C"))
        cleaned = CONVENTION.clean(given)
        assert cleaned.rows is given
        assert cleaned.repairs.tolist() == [4, 0]
        assert cleaned.flaws == {}

    def test_a_segment_without_a_label_is_named(self) -> None:
        one = np.array([1], dtype=np.int64)
        unlabelled = Ragged({"start": np.array([0.0]), "end": np.array([1.0]), "label": np.array([-1])}, (one,))
        assert CONVENTION.clean(unlabelled).flaws[0].message == "has no label; use N for no chord"

    def test_an_estimate_that_ends_early_is_counted_with_its_pair(self) -> None:
        references, estimates = rows(span("C")), rows(span("C"), [(0, 0.5, "C")], [])
        pairs = np.zeros(3, dtype=np.int64), np.arange(3)
        assert CONVENTION.score(
            Pairs(references, estimates, *pairs), CONVENTION.select(), "union"
        ).repairs.tolist() == [0, 1, 0]


class TestEvidence:
    def test_each_stretch_has_both_labels_a_verdict_and_the_column_that_it_counts_in(self) -> None:
        reference, estimate = [(0, 2, "C"), (2, 3, "G:sus4"), (3, 4, "A:min")], [(0, 1, "C:7"), (1, 3, "G")]
        measure = CONVENTION.select(["majmin"])[0]
        found = CONVENTION.explain(as_annotation(reference), as_annotation(estimate), measure)
        columns = [found[name].tolist() for name in ("start", "end", "reference", "estimate", "verdict", "outcome")]
        assert list(zip(*columns, strict=True)) == [
            (0, 1, "C", "C:7", "right", "all_correct"),
            (1, 2, "C", "G", "wrong", "type_correct"),
            (2, 3, "G:sus4", "G", "not comparable", "left_out"),
            (3, 4, "A:min", "N", "wrong", "deleted"),
        ]

    def test_a_segmentation_measure_has_none(self) -> None:
        measure = CONVENTION.select(["hamming_measure"])[0]
        with pytest.raises(MetricError, match="hamming_measure does not judge stretches of time"):
            CONVENTION.explain(as_annotation(span("C")), as_annotation(span("C")), measure)

    def test_a_side_that_cannot_be_scored_is_named(self) -> None:
        measure = CONVENTION.select(["majmin"])[0]
        with pytest.raises(InvalidAnnotationError, match="line 1: estimate: not a chord: 'oops'"):
            CONVENTION.explain(as_annotation(span("C")), as_annotation(span("oops")), measure)
        with pytest.raises(InvalidAnnotationError, match="the reference is empty"):
            CONVENTION.explain(as_annotation([]), as_annotation(span("C")), measure)


COMPARED = ("majmin", "majmin_inv", "sevenths", "sevenths_inv")
DOCUMENT = Path(__file__).parents[2] / "docs" / "mirex.md"
_VERDICTS = r"([RW-](?: [RW-]){3})"
ROWS = re.findall(rf"^\| `(\S+)` +\| `(\S+)` +\| {_VERDICTS} +\| {_VERDICTS} +\|$", DOCUMENT.read_text(), re.M)


def test_the_table_is_there() -> None:
    assert len(ROWS) == 14


@pytest.mark.parametrize(("reference", "estimate", "ours", "theirs"), ROWS)
def test_a_row_of_the_table(reference: str, estimate: str, ours: str, theirs: str) -> None:
    found = CONVENTION.score(
        Pairs.in_order(rows(span(reference)), rows(span(estimate))), CONVENTION.select(COMPARED), "union"
    )
    pairs = zip(found.score[0], found.weight[0], strict=True)
    verdicts = ["WR"[int(score)] if weight else "-" for score, weight in pairs]
    assert " ".join(verdicts) == ours
    compared = (float(getattr(mir_eval.chord, rule)([reference], [estimate])[0]) for rule in COMPARED)
    assert " ".join({1.0: "R", 0.0: "W", -1.0: "-"}[score] for score in compared) == theirs
