"""The command ``mirflow``, and ``python -m mirflow``."""

from __future__ import annotations

import atexit
import gc
import sys

from .interruption import Interrupted, abandon_threads, answer_signals, stop_answering


def main() -> None:
    """The entry point of the command."""
    try:
        answer_signals()
        # What is imported stays; the collector would look through all of it again and again, and once more at the end.
        gc.set_threshold(100_000)
        atexit.register(gc.freeze)
        from .cli import main as run

        run()
    except SystemExit as end:
        abandon_threads(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise
    except Interrupted as stop:  # while the commands were imported; later on they answer themselves
        stop_answering()
        print(stop, file=sys.stderr)
        sys.exit(stop.code)


if __name__ == "__main__":
    main()
