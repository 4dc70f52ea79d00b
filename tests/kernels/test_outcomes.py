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
