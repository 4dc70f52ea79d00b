"""What arrays leave behind is used again, in a process of its own."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
{first}

def batch():
    arrays = [np.ones(1 << 17) for _ in range(10)]

for _ in range(3):
    batch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    batch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(first: str) -> int:
    # Thresholds that are set, as dask's nannies do for their workers, are not adapted.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", FAULTS.format(first=first)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, env=plain).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is not glibc's")
def test_batches_do_not_ask_for_the_same_pages_again() -> None:
    if faults("") < 20 * 100:
        pytest.skip("the allocator keeps memory without being asked")
    assert faults("import mirflow.kernels") < 100
