"""Where a page goes: a file that is there whole or not at all, or whatever else takes bytes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ...errors import QueryError
from ...store.files import write_atomically

STDOUT = "-"


def check_output(output: Path) -> None:
    """Refuse an output that cannot be written, before the work begins.

    Raises
    ------
    QueryError
        For a folder, or a file in a folder that is not there.
    """
    if str(output) == STDOUT:
        return
    if output.is_dir():
        raise QueryError(f"{output}: is a folder; name a file, such as {output / 'report.html'}")
    if not output.parent.is_dir():
        raise QueryError(f"{output}: there is no folder {str(output.parent)!r}")


def write_output(output: Path, data: bytes) -> None:
    """Write a page; a device or a pipe is written to and not replaced, a link stays one."""
    if str(output) == STDOUT:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    elif output.exists() and not output.is_file():
        with output.open("wb") as file:
            file.write(data)
    else:
        write_atomically(Path(os.path.realpath(output)), data)
