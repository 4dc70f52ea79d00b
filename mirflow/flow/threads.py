"""Linear algebra in one thread: its last bits depend on how many share it, and blocks are what is shared out here."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_inside = 0
_limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it the linear algebra of this process runs in one thread.

    Scores that come out of large systems of equations are then the same to the bit under every scheduler. It also
    saves time: where cores are busy, threads of one product wait for each other longer than they work. Several threads
    may be within at a time; the last one to leave restores what was.
    """
    global _inside, _limit
    # Loaded first, as only libraries that are there already can be limited, and scipy has one of its own.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with _lock:
        if not _inside:
            _limit = threadpool_limits(1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limit.restore_original_limits()
