"""The model of Dawid and Skene, against crowd-kit's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mirflow.kernels.agreement import fit_latent_classes

ORACLE = json.loads(Path(__file__).with_name("dawid_skene.json").read_text())
CODES = np.array(ORACLE["codes"])


@pytest.mark.parametrize("iterations", ["1", "5"])
def test_posteriors_are_those_of_crowd_kit(iterations: str) -> None:
    fitted = fit_latent_classes(CODES, np.ones(CODES.shape[1]), 3, int(iterations), tolerance=-np.inf)
    assert np.abs(fitted.posterior - ORACLE["posterior"][iterations]).max() < 1e-9
    assert fitted.confusion.shape == (5, 3, 3)
    assert fitted.prior.sum() == pytest.approx(1)


def test_a_weight_is_a_number_of_items() -> None:
    weight = np.arange(CODES.shape[1]) % 3 + 1
    weighted = fit_latent_classes(CODES, weight.astype(float), 3)
    repeated = fit_latent_classes(np.repeat(CODES, weight, axis=1), np.ones(weight.sum()), 3)
    assert np.allclose(np.repeat(weighted.posterior, weight, axis=0), repeated.posterior, atol=1e-12)
