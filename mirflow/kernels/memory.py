"""Memory of arrays that are made and dropped again and again."""

from __future__ import annotations

import numpy as np

_LARGEST = (1 << 25) - (1 << 15)
"""Bytes: just below the largest size (32 MiB) that glibc's allocator adapts to."""


def keep_freed_memory() -> None:
    """Let the allocator keep what arrays of up to some megabytes leave behind, instead of giving it back each time.

    A kernel drops its arrays at every batch. glibc returns such memory to the system, and every page of the next batch
    costs a fault: half of the time of a small one. It adapts to the largest mapping that a process has freed, so one
    that is made and dropped without being touched is enough, unless the environment sets the thresholds. Other
    allocators take no notice.

    References
    ----------
    mallopt(3), M_MMAP_THRESHOLD.

    Examples
    --------
    >>> keep_freed_memory()
    """
    np.empty(_LARGEST, dtype=np.uint8)
