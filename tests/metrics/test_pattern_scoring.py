"""The batched pattern metrics, against mir_eval, official tables and themselves in other batches; their cleaning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.annotations.annotation import from_ragged
from mirflow.errors import AnnotationError, MetricError
from mirflow.metrics.base import Pairs, Scores, get_task
from mirflow.metrics.pattern import clean

from .patterns import Patterns, jku, mir_eval_scores, to_rows

CONVENTION = get_task("pattern").convention("mir_eval")
DEFAULT = CONVENTION.select()

RISING, FALLING = [(0.0, 60.0), (1.0, 62.0), (2.0, 64.0)], [(0.0, 64.0), (1.0, 62.0), (2.0, 60.0)]


def score_pairs(given_: list[tuple[Patterns, Patterns]], measures=DEFAULT) -> Scores:
    references, estimates = to_rows([one for one, _ in given_]), to_rows([one for _, one in given_])
    return CONVENTION.score(Pairs.in_order(references, estimates), measures, "union")


def test_defaults_are_mir_evals_scores_in_its_order() -> None:
    one = [[RISING]]
    assert len(DEFAULT) == len(mir_eval_scores(one, one))
    keys = [measure.metric.key for measure in DEFAULT]
    expected = [key.replace("occ.5", "occ.75") for key in mir_eval_scores(one, one)]
    assert keys == expected
    assert score_pairs([(one, one)]).score.tolist() == [[1.0] * len(DEFAULT)]


def test_weights_are_the_scores_own_denominators() -> None:
    reference, estimate = [[RISING], [FALLING], [RISING[:2]]], [[RISING], [FALLING]] * 4
    found = dict(zip(map(str, DEFAULT), score_pairs([(reference, estimate)]).weight[0].tolist(), strict=True))
    assert (found["precision"], found["recall"], found["f_measure"]) == (8.0, 3.0, 5.5)
    assert found["three_layer_precision"] == found["establishment_precision"] == 8.0
    assert found["first_n_three_layer_precision"] == 5.0
    assert found["first_n_target_proportion_recall"] == 3.0
    # At .75 the two long patterns are alike to four estimated ones each, at .5 the short one to the rising ones too.
    assert (found["occurrence_precision"], found["occurrence_recall@0.5"]) == (8.0, 12.0)


def test_empty_sides_score_0_with_the_weight_of_the_other() -> None:
    found = score_pairs([([[RISING]], []), ([], [[RISING]] * 7), ([], [])])
    assert not found.score.any()
    by_name = dict(zip(map(str, DEFAULT), found.weight.T.tolist(), strict=True))
    assert by_name["recall"] == by_name["first_n_target_proportion_recall"] == [1.0, 0.0, 0.0]
    assert by_name["precision"] == [0.0, 7.0, 0.0]
    assert by_name["first_n_three_layer_precision"] == [0.0, 5.0, 0.0]
    assert by_name["f_measure"] == [0.5, 3.5, 0.0]
    assert by_name["occurrence_recall"] == [0.0, 0.0, 0.0]


def test_occurrences_without_notes_are_like_nothing() -> None:
    hollow = [[RISING, []], [[]]]
    found = score_pairs([(hollow, hollow), (hollow, [[RISING]]), ([[[]]], [[[]]])])
    assert np.isfinite(found.score).all()
    names = list(map(str, DEFAULT))
    assert found.score[0, names.index("establishment_recall")] == 0.5
    assert not found.score[2].any()


def explained(reference: Patterns, estimate: Patterns, metric: str) -> list[tuple[object, ...]]:
    """The rows of `explain`: reference pattern, estimated pattern, likeness, verdict."""
    sides = (from_ragged("patterns", to_rows([side]), 0) for side in (reference, estimate))
    found = mirflow.explain(*sides, metric, "pattern").to_dataframe()
    return list(found.astype(object).where(found.notna(), None).itertuples(index=False, name=None))


def test_patterns_match_from_the_threshold_of_the_measure_on() -> None:
    reference, estimate = [[FALLING], [RISING], [[(9.0, 60.0)]]], [[RISING[:2]], [[(20.0, 60.0)]], [FALLING]]
    common = 2 / 3  # of the first estimated pattern and the second of the reference
    assert explained(reference, estimate, "occurrence_f_measure@0.5") == [
        (2.0, 1.0, common, "hit"),
        (None, 2.0, 0.0, "extra"),
        (1.0, 3.0, 1.0, "hit"),
        (3.0, None, 0.0, "missed"),
    ]
    assert explained(reference, estimate, "occurrence_recall@0.75") == [
        (None, 1.0, common, "extra"),
        (None, 2.0, 0.0, "extra"),
        (1.0, 3.0, 1.0, "hit"),
        (2.0, None, common, "missed"),
        (3.0, None, 0.0, "missed"),
    ]


def test_what_does_not_match_patterns_has_no_evidence() -> None:
    with pytest.raises(MetricError, match="metric three_layer_f_measure does not match patterns"):
        explained([[RISING]], [[RISING]], "three_layer_f_measure")
    with pytest.raises(AnnotationError, match="the estimate has no patterns, so there is nothing to explain"):
        explained([[RISING]], [], "occurrence_recall")


A, B = [(0.0, 60.0), (1.0, 62.0)], [(4.0, 65.0)]
GOOD: Patterns = [[A, B], [B]]


def counts(rows) -> list[list[int]]:
    return [level.tolist() for level in rows.counts]


def test_occurrences_without_notes_are_dropped_and_counted() -> None:
    cleaned = clean(to_rows([GOOD, [[[], A, []], [B]], [[B]]]))
    assert counts(cleaned.rows) == [[2, 2, 1], [2, 1, 1, 1, 1], [2, 1, 1, 2, 1, 1]]
    assert cleaned.repairs.tolist() == [0, 2, 0]


def test_rows_without_any_note_are_empty() -> None:
    cleaned = clean(to_rows([[[[]], []], GOOD]))
    assert counts(cleaned.rows) == [[0, 2], [2, 1], [2, 1, 1]]
    assert (cleaned.repairs.tolist(), cleaned.flaws) == ([1, 0], {})


@pytest.mark.parametrize(
    ("bad", "item", "message"),
    [
        ([[A], [[(0.0, np.nan)]]], 2, "onset and pitch of a note must be finite, and not beyond 1e+09: 0.0, nan"),
        ([[A], [[(np.inf, 60.0)], B]], 2, "onset and pitch of a note must be finite, and not beyond 1e+09: inf, 60.0"),
        ([[A], [], [B]], 2, "pattern 2 has no notes"),
        ([[A], [[]]], 1, "pattern 2 has no notes"),  # the last note stands for what comes after it
        ([[], [A], []], 0, "pattern 1 has no notes"),
    ],
)
def test_flaws_name_a_note_within_the_row(bad: Patterns, item: int, message: str) -> None:
    cleaned = clean(to_rows([GOOD, bad, [[B]]]))
    assert {row: (flaw.item, flaw.message) for row, flaw in cleaned.flaws.items()} == {1: (item, message)}
    assert counts(cleaned.rows) == [[2, 0, 1], [2, 1, 1], [2, 1, 1, 1]]
    assert cleaned.repairs.tolist() == [0, 0, 0]


# In the order of the table's columns.
COLUMNS = (
    *("establishment_precision", "establishment_recall", "establishment_f_measure"),
    *("occurrence_precision@0.75", "occurrence_recall@0.75", "occurrence_f_measure@0.75"),
    *("three_layer_precision", "three_layer_recall", "three_layer_f_measure"),
    *("first_n_target_proportion_recall@5", "first_n_three_layer_precision@5"),
    *("occurrence_precision@0.5", "occurrence_recall@0.5", "occurrence_f_measure@0.5"),
    *("precision", "recall", "f_measure"),
)


def official(folder: Path) -> dict[tuple[str, str], list[float]]:
    """The 17 numbers by algorithm and piece."""
    rows = {}
    algorithm = piece = ""
    for line in (folder / "jku-patterns/official/resultsMATLAB.txt").read_text().splitlines():
        if line.startswith("Algorithm"):
            algorithm = line.split()[-1]
        elif line[:1].isalpha() and not line.startswith("P_est"):
            piece = line.strip()
        elif line[:1].isdigit():
            rows[algorithm, piece] = [float(number) for number in line.split(",")]
    return rows


def test_every_official_score_is_reproduced_to_its_five_decimals(shared_data: Path) -> None:
    table, pieces = official(shared_data), jku(shared_data)
    assert len(table) == 20
    assert set(table) == set(pieces)
    found = score_pairs([pieces[row] for row in table], CONVENTION.select(COLUMNS))
    np.testing.assert_allclose(found.score, list(table.values()), rtol=0, atol=5.001e-6)


@pytest.mark.parametrize("algorithm", ["nf1", "nf2", "nf3", "nf4"])
def test_equals_mir_eval(algorithm: str, shared_data: Path) -> None:
    pieces = [pair for (name, _), pair in jku(shared_data).items() if name == algorithm]
    expected = [list(mir_eval_scores(*pair).values()) for pair in pieces]
    assert len(expected[0]) == len(DEFAULT)
    np.testing.assert_allclose(score_pairs(pieces).score, expected, rtol=0, atol=1e-12)
