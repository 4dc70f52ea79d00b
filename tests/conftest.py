"""Where tests find real data, and what every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real annotations and official tables; the test is skipped where it is absent."""
    folder = Path(os.environ.get("MIRFLOW_DATA", _BESIDE))
    if not folder.is_dir():
        pytest.skip(f"no real data: set MIRFLOW_DATA to the folder ({folder} is not there)")
    return folder
