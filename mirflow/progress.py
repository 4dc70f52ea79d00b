"""How far a run is: a bar where there is a terminal, plain lines where there is none."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

LINE_SECONDS = 10.0
SLOW_SECONDS = 0.5


class Progress:
    """Told how many tracks a run has and when some of them are done; this one says nothing."""

    def __init__(self) -> None:
        self.total = self.done = 0
        self.began = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def start(self, tracks: int) -> None:
        """There are so many tracks to do."""
        self.total = tracks
        self.began = time.monotonic()

    def advance(self, tracks: int) -> None:
        """So many more are done."""
        self.done += tracks
        self.show(time.monotonic() - self.began)

    def show(self, seconds: float) -> None:
        """Tell the state after so many seconds."""

    def stop(self) -> None:
        """Leave nothing behind."""


class Lines(Progress):
    """A line every ten seconds, for logs."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._said = 0.0

    def show(self, seconds: float) -> None:
        """Tell the state after so many seconds."""
        if seconds - self._said >= LINE_SECONDS:
            self._said = seconds
            rate = self.done / seconds
            left = (self.total - self.done) / rate
            print(f"{self.done}/{self.total} tracks, {rate:.0f}/s, {left:.0f} s left", file=self._stream, flush=True)


class Bar(Progress):
    """A bar with tracks done, rate and time left; it appears when the work turns out not to be over at once."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def show(self, seconds: float) -> None:
        """Tell the state after so many seconds."""
        if self._bar is None and seconds > SLOW_SECONDS:
            self._bar = _rich_bar(self._stream)
            self._task = self._bar.add_task("score", total=self.total, rate="")
            self._bar.start()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self.done, rate=f"{self.done / seconds:.0f}/s")

    def stop(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def _rich_bar(stream: TextIO) -> RichProgress:
    """The bar itself, from a library that takes a while to import."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("tracks, {task.fields[rate]},"), TimeRemainingColumn())
    return RichProgress(*columns, console=Console(file=stream), transient=True)


def progress_for(stream: TextIO | None = None, quiet: bool = False) -> Progress:
    """What suits the stream: a bar on a terminal, lines elsewhere, nothing if quiet."""
    stream = stream or sys.stderr
    if quiet:
        return Progress()
    return Bar(stream) if stream.isatty() else Lines(stream)
