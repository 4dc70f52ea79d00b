"""The command ``mirflow``, and ``python -m mirflow``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .interruption import Interrupted, answer_signals, stop_answering


def main() -> None:
    """The entry point of the command."""
    try:
        answer_signals()
        # No command computes with dask arrays, which xarray would import, for as long as itself, to look for some; so
        # does scipy where the module is there.
        nothing: Any = ModuleType("dask.array")
        nothing.Array = type("Array", (), {})
        sys.modules.setdefault("dask.array", nothing)
        from .cli import main as run

        run()
    except Interrupted as stop:  # while the commands were imported; later on they answer themselves
        stop_answering()
        print(stop, file=sys.stderr)
        sys.exit(stop.code)


if __name__ == "__main__":
    main()
