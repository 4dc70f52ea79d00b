"""The command ``mirflow``, and ``python -m mirflow``."""

from __future__ import annotations

import atexit
import gc
import sys

from .interruption import Interrupted, answer_signals, stop_answering
from .registration import defer_dask


def main() -> None:
    """The entry point of the command."""
    try:
        answer_signals()
        # What is imported stays; the collector would look through all of it again and again, and once more at the end.
        gc.set_threshold(100_000)
        atexit.register(gc.freeze)
        defer_dask()
        from .cli import main as run

        run()
    except Interrupted as stop:  # while the commands were imported; later on they answer themselves
        stop_answering()
        print(stop, file=sys.stderr)
        sys.exit(stop.code)


if __name__ == "__main__":
    main()
