"""The command ``mirflow``, and ``python -m mirflow``."""

from __future__ import annotations

import atexit
import gc
import sys

from .interruption import Interrupted, abandon_threads, answer_signals, leave, stop_answering


def main() -> None:
    """The entry point of the command."""
    codes: list[int] = []
    atexit.register(leave, codes)  # as the first one, so that it is called after all others
    try:
        answer_signals()
        # Imported objects stay alive; without this, the garbage collector would traverse them repeatedly.
        gc.set_threshold(100_000)
        atexit.register(gc.freeze)
        from .cli import main as run

        run()
    except SystemExit as end:
        codes.append(end.code if isinstance(end.code, int) else int(end.code is not None))
        abandon_threads(codes[0])
        raise
    except Interrupted as stop:  # while the commands were being imported; later they handle it themselves
        stop_answering()
        print(stop, file=sys.stderr)
        sys.exit(stop.code)


if __name__ == "__main__":
    main()
