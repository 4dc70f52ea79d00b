"""What madmom gives for real data and edge cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def oracle(shared_data: Path) -> Path:
    folder = shared_data / "oracles/01_madmom"
    if not folder.is_dir():
        pytest.skip(f"no scores of madmom: {folder} is not there")
    return folder


@pytest.fixture(scope="module")
def expected(oracle: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((oracle / "expected.json").read_text())
    return document
