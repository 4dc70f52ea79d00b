"""The twelve comparison rules."""

from __future__ import annotations

from pathlib import Path

import mir_eval
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.errors import MirflowWarning, UnknownNameError
from mirflow.metrics import chord
from mirflow.metrics.chord.rules import RULES, compare
from mirflow.theory.chords import encode_vocabulary
from tests.chord_strategies import pairs_of_labels
from tests.real_labels import distinct_chords


@given(pairs=st.lists(pairs_of_labels(), min_size=1, max_size=20))
@pytest.mark.parametrize("rule", RULES)
def test_rules_give_mir_evals_verdicts(rule: str, pairs: list[tuple[str, str]]) -> None:
    reference, estimate = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    expected = getattr(mir_eval.chord, rule)(reference, estimate)
    np.testing.assert_array_equal(getattr(chord, rule)(reference, estimate), expected, strict=True)


def test_rules_give_mir_evals_verdicts_on_the_labels_of_the_real_data(shared_data: Path) -> None:
    found = distinct_chords(shared_data)
    table = encode_vocabulary(found)
    vocabulary = [label for row, label in enumerate(found) if row not in table.invalid]
    assert len(vocabulary) > 500
    # Neighbours in sorted order share roots; a shift by many gives unrelated chords.
    for shift in (0, 1, 5, 200):
        estimate = vocabulary[shift:] + vocabulary[:shift]
        for rule in RULES:
            expected = getattr(mir_eval.chord, rule)(vocabulary, estimate)
            np.testing.assert_array_equal(getattr(chord, rule)(vocabulary, estimate), expected)


def test_aug7_is_an_augmented_triad_and_outside_the_small_vocabularies() -> None:
    assert chord.triads(["C:aug7"], ["C:aug"]).tolist() == [1.0]
    assert chord.tetrads(["C:aug7"], ["C:aug"]).tolist() == [0.0]
    assert chord.majmin(["C:aug7"], ["C:aug7"]).tolist() == [-1.0]
    assert chord.sevenths(["C:aug7"], ["C:aug7"]).tolist() == [-1.0]


def test_an_unknown_rule_gets_a_suggestion() -> None:
    table = encode_vocabulary(["C"])
    with pytest.raises(UnknownNameError, match="unknown chord comparison rule 'majmim'; did you mean 'majmin'"):
        compare(table, table, "majmim")


@pytest.mark.parametrize("rule", RULES)
def test_lists_of_different_length_are_refused(rule: str) -> None:
    with pytest.raises(
        ValueError, match=r"^Chord comparison received different length lists: len\(reference\)=1\tlen\(estimates\)=2$"
    ):
        getattr(chord, rule)(["C"], ["C", "N"])


@pytest.mark.parametrize("pair", [("H", "C"), ("C", "H")])
def test_labels_outside_the_grammar_are_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(chord.InvalidChordException, match=r"^Invalid chord label: H$"):
        chord.root([pair[0]], [pair[1]])


def test_a_quality_without_a_meaning_is_refused() -> None:
    with pytest.raises(chord.InvalidChordException, match="'maj11'"):
        chord.root(["C"], ["C:maj11"])


def test_empty_lists_are_compared_with_a_warning_for_each() -> None:
    with pytest.warns(MirflowWarning, match="^(Reference|Estimated) labels are empty$") as seen:
        assert chord.mirex([], []).tolist() == []
    assert [str(warning.message).split()[0] for warning in seen] == ["Reference", "Estimated"]


@given(
    rows=st.lists(
        st.tuples(st.sampled_from((-1.0, 0.0, 0.5, 1.0)), st.floats(0.0, 100.0).map(lambda x: round(x, 3))), min_size=1
    )
)
@pytest.mark.filterwarnings("ignore:No ")
def test_weighted_accuracy_is_mir_evals(rows: list[tuple[float, float]]) -> None:
    comparisons, weights = np.array(rows).T
    if weights[comparisons >= 0].sum() > 0 or not (comparisons >= 0).any():
        assert chord.weighted_accuracy(comparisons, weights) == mir_eval.chord.weighted_accuracy(comparisons, weights)


def test_weights_must_fit_and_not_be_negative() -> None:
    with pytest.raises(ValueError, match=r"^weights and comparisons should be of the same length\. len\(weights\) = 1"):
        chord.weighted_accuracy(np.ones(2), np.ones(1))
    with pytest.raises(ValueError, match=r"^Weights should all be positive\.$"):
        chord.weighted_accuracy(np.ones(2), np.array([1.0, -1.0]))


def test_nothing_to_weigh_is_zero_with_a_warning() -> None:
    with pytest.warns(MirflowWarning, match="^No nonzero weights, returning 0$"):
        assert chord.weighted_accuracy(np.ones(2), np.zeros(2)) == 0.0
    with pytest.warns(
        MirflowWarning, match=r"^No reference chords were comparable to estimated chords, returning 0\.$"
    ):
        assert chord.weighted_accuracy(-np.ones(2), np.ones(2)) == 0.0
