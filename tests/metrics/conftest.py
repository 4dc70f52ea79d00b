"""What other programs give for real data and edge cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def oracle(request: pytest.FixtureRequest, shared_data: Path) -> Path:
    """Folder of the scores of another program, which a module of tests names in `ORACLE`."""
    folder = shared_data / "oracles" / request.module.ORACLE
    if not folder.is_dir():
        pytest.skip(f"no known scores: {folder} is not there")
    return folder


@pytest.fixture(scope="module")
def expected(oracle: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((oracle / "expected.json").read_text(encoding="utf-8"))
    return document
