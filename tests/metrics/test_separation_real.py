"""The separation scores of mir_eval's example recordings, against the published outputs of the MATLAB toolbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pytest

from mirflow.metrics import separation

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
NUMBERS = ("01", "02", "03", "05", "06", "07", "08", "09")
_ILL_CONDITIONED = {"02": 5e-6, "05": 5e-4, "08": 2e-4}
"""Images with equal channels, of which mir_eval itself comes no nearer to the published figures: it lies up to
1.4e-4 dB away, and moves by 1e-5 dB when samples change by one unit in the last place."""


def load(shared_data: Path, number: str) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    folder = shared_data / "mir_eval-fixtures" / "separation"
    sides = [
        np.vstack([mir_eval.io.load_wav(path)[0] for path in sorted((folder / f"{side}{number}").glob("*.wav"))])
        for side in ("ref", "est")
    ]
    return sides[0], sides[1], json.loads((folder / f"output{number}.json").read_text(encoding="utf-8"))


def to_images(sources: np.ndarray, channels: int, gain: float = 1.0) -> np.ndarray:
    """The sources in the first channel, and louder or softer in the others."""
    return np.stack([sources, *[gain * sources] * (channels - 1)], axis=-1)


def check(found: dict[str, list[Any]], expected: dict[str, Any], group: str, tolerance: float) -> None:
    own = {key.removeprefix(f"{group} - "): value for key, value in found.items() if key.startswith(f"{group} - ")}
    titles = own.keys() & expected.keys()
    assert len(titles) >= 4
    for title in titles:
        np.testing.assert_allclose(own[title], expected[title], rtol=0, atol=tolerance, err_msg=title)


@pytest.mark.parametrize("number", NUMBERS)
def test_sources(shared_data: Path, number: str) -> None:
    reference, estimate, output = load(shared_data, number)
    spans = {name: output["Framewise"][short] for name, short in (("window", "win"), ("hop", "hop"))}
    found = separation.evaluate(reference, estimate, **spans)
    check(found, output["Sources"], "Sources", 1e-6)
    check(found, output["Framewise"], "Sources Frames", 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("key", "group"), [("Images", "Images"), ("Images Framewise", "Images Frames")])
def test_images(shared_data: Path, number: str, key: str, group: str) -> None:
    reference, estimate, output = load(shared_data, number)
    expected = output[key]
    spans = {name: expected[short] for name, short in (("window", "win"), ("hop", "hop")) if short in expected}
    images = to_images(reference, expected["nchan"]), to_images(estimate, expected["nchan"], expected["gain"])
    found = separation.evaluate(*images, **spans)
    check(found, expected, group, _ILL_CONDITIONED.get(number, 1e-6))
