"""Where tests find real data, and what every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

from .browser import browser as browser
from .browser import visit as visit

# A change must not be refused because of an input that it has nothing to do with: there the examples are always the
# same. Everywhere else they differ from run to run, and find what is still unknown.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("searching", deadline=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "searching")

# Tables are as wide as the terminal, which is another one in every worker.
os.environ["COLUMNS"] = "120"

_BESIDE = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real annotations and official tables; the test is skipped where it is absent."""
    folder = Path(os.environ.get("MIRFLOW_DATA", _BESIDE))
    if not folder.is_dir():
        pytest.skip(f"no real data: set MIRFLOW_DATA to the folder ({folder} is not there)")
    return folder
