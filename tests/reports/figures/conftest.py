from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _files_only() -> Iterator[None]:
    """No window opens, and no figure is left behind."""
    import matplotlib

    matplotlib.use("agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")
