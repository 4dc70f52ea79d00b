"""Waiting for what other threads, processes and pages do, for as long as a machine that does much else may take."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds after which what is waited for will not come any more."""
MILLISECONDS = 1000 * PATIENCE
"""The same for pages in a browser."""


def until(true: Callable[[], object], told: Callable[[], str] = str, seconds: float = PATIENCE) -> None:
    """Wait until something is true; fail with what is `told` where it does not become so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, told()
        time.sleep(0.02)
