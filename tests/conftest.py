"""Where tests find real data, and what every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

import mirflow

from .browser import browser as browser
from .browser import visit as visit

# A change must not be refused because of an input that it has nothing to do with: there the examples are always the
# same. Everywhere else they differ from run to run, and find what is still unknown.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("searching", deadline=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "searching")

# Tables are as wide as the terminal, which is another one in every worker.
os.environ["COLUMNS"] = "120"

PIPELINES = Path(__file__).parents[1] / "pipelines"
_BESIDE = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real annotations and official tables; the test is skipped where it is absent."""
    folder = Path(os.environ.get("MIRFLOW_DATA", _BESIDE))
    if not folder.is_dir():
        pytest.skip(f"no real data: set MIRFLOW_DATA to the folder ({folder} is not there)")
    return folder


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the shipped demonstration, which no test may change."""
    path = tmp_path_factory.mktemp("demonstration") / "demo.zarr"
    mirflow.run(PIPELINES / "demo.yaml", store=path, scheduler="serial")
    return path


@pytest.fixture(scope="session")
def mirex2013_store(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of MIREX 2013's chord results, which no test may change."""
    path = tmp_path_factory.mktemp("mirex2013") / "mirex2013-ace.zarr"
    mirflow.run(PIPELINES / "mirex2013-ace.yaml", root=shared_data / "mirex2013-ace", store=path)
    return path
