from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from mirflow.report.figures.canvas import BLUE, CYCLE, GREY, MOST_LOOKS, ORANGE, RED, SKY, looks

# Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision deficiency", IEEE TVCG
# 15(6), 2009: matrices of severity 1.0 on linear RGB.
VISION = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def seen(colour: str, vision: str) -> np.ndarray:
    """A colour as it is seen, in CIE L*a*b* (D65)."""
    rgb = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.asarray(VISION[vision]) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    ratio = xyz / np.array([0.95047, 1.0, 1.08883])
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: str, other: str, vision: str) -> float:
    return float(np.linalg.norm(seen(one, vision) - seen(other, vision)))


@pytest.mark.parametrize("vision", VISION)
def test_colours_stay_apart_for_every_eye(vision: str) -> None:
    assert min(distance(one, other, vision) for one, other in combinations(CYCLE, 2)) > 15
    # What means right and wrong is farther apart still.
    assert all(distance(BLUE, bad, vision) > 40 for bad in (ORANGE, RED))
    assert distance(SKY, RED, vision) > 40
    assert distance(BLUE, GREY, vision) > 20


def test_no_two_looks_share_colour_and_line_or_colour_and_marker() -> None:
    every = looks(MOST_LOOKS)
    for one, other in combinations(every, 2):
        assert (one.color, one.line) != (other.color, other.line)
        assert (one.color, one.marker) != (other.color, other.marker)
    with pytest.raises(ValueError, match="there are 21 looks, not 22"):
        looks(22)
