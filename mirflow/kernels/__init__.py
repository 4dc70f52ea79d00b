"""Kernels: arrays in, arrays out.

The allocator is made to keep the memory of freed arrays of up to some megabytes: kernels free their arrays after every
batch, and glibc returns such memory to the system, so that page faults take half of the time of a small batch.
"""

import numpy as np

# glibc adapts to the largest mapping that a process has freed, up to 32 MiB (mallopt(3), M_MMAP_THRESHOLD), unless the
# environment sets the thresholds; other allocators do not mind.
np.empty((1 << 25) - (1 << 15), dtype=np.uint8)
