from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _files_only() -> None:
    """No window opens."""
    import matplotlib

    matplotlib.use("agg")
