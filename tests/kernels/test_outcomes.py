"""Outcomes of decisions and what they sum up to, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as sklearn

from mirflow.kernels.outcomes import RATIOS, Outcomes, margins, matthews_correlation


def test_ratios_of_decisions_are_those_of_scikit_learn() -> None:
    reference, estimate = np.random.default_rng(0).integers(0, 2, (2, 100))
    confusions = sklearn.confusion_matrix(reference, estimate).astype(float)
    outcomes = Outcomes.of_confusion(confusions)
    expected = {
        "precision": sklearn.precision_score(reference, estimate),
        "recall": sklearn.recall_score(reference, estimate),
        "f_measure": sklearn.f1_score(reference, estimate),
        "iou": sklearn.jaccard_score(reference, estimate),
        "accuracy": sklearn.accuracy_score(reference, estimate),
        "negative_accuracy": sklearn.recall_score(reference, estimate, pos_label=0),
    }
    assert {name: outcomes.ratio(name)[1] for name in RATIOS} == pytest.approx(expected, abs=1e-12)
    found = matthews_correlation(margins(confusions))
    assert found == pytest.approx(sklearn.matthews_corrcoef(reference, estimate), abs=1e-12)


def test_a_ratio_of_no_decision_has_no_value() -> None:
    nothing = Outcomes(*np.zeros((4, 1)))
    assert all(np.isnan(nothing.ratio(name)).all() for name in RATIOS)


def test_counts_of_outcomes_are_read_along_any_axis() -> None:
    both = Outcomes.of_confusion(np.array([[3.0, 1.0], [2.0, 4.0]]))
    counts = np.array([both.hit, both.false_alarm, both.miss, both.rejection])
    for axis in (0, 1):
        found = Outcomes.of_counts(counts if axis == 0 else counts.T, axis)
        assert found.ratio("precision").tolist() == [0.6, 0.8]
        assert found.ratio("negative_accuracy").tolist() == both.ratio("negative_accuracy").tolist()
