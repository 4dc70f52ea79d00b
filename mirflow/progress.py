"""Progress of a run or a report: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from threading import Lock, Timer
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID
    from rich.status import Status

LINE_SECONDS = 10.0
SLOW_SECONDS = 0.5


class Progress:
    """Told how many tracks there are to do and when some of them are done; this one says nothing."""

    stage_seconds = 0.0
    """After how long a stage is told; 0: never."""

    def __init__(self) -> None:
        self._timer: Timer | None = None
        self.total = self.done = 0
        self.began = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def stage(self, what: str) -> None:
        """What goes on now, of which nothing is counted, such as looking for files; empty: nothing that takes time."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = Timer(self.stage_seconds, self.tell, [what]) if what and self.stage_seconds else None
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def tell(self, what: str) -> None:
        """A stage turns out not to be over at once."""

    def say(self, text: str) -> None:
        """Tell something that the user should know."""

    def start(self, tracks: int) -> None:
        """There are so many tracks to do."""
        self.stage("")
        self.total, self.done = tracks, 0
        self.began = time.monotonic()

    def advance(self, tracks: int) -> None:
        """So many more are done."""
        self.done += tracks
        self.show(time.monotonic() - self.began)

    def show(self, seconds: float) -> None:
        """Tell the state after so many seconds."""

    def stop(self) -> None:
        """Leave nothing behind."""
        self.stage("")


class Lines(Progress):
    """A line every ten seconds, for logs."""

    stage_seconds = LINE_SECONDS / 2

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._said = 0.0

    def tell(self, what: str) -> None:
        """A stage turns out not to be over at once."""
        self.say(f"{what} ...")

    def say(self, text: str) -> None:
        """Tell something that the user should know."""
        print(text, file=self._stream, flush=True)

    def show(self, seconds: float) -> None:
        """Tell the state after so many seconds."""
        if seconds - self._said >= LINE_SECONDS:
            self._said = seconds
            rate = self.done / seconds
            left = (self.total - self.done) / rate
            self.say(f"{self.done}/{self.total} tracks, {rate:.0f}/s, {left:.0f} s left")


class Bar(Progress):
    """A bar with tracks done, rate and time left; it appears when the work turns out not to be over at once.

    A stage that takes time stands there with a mark that moves.
    """

    stage_seconds = SLOW_SECONDS

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._lock = Lock()
        self._current = ""
        self._status: Status | None = None

    def stage(self, what: str) -> None:
        """What goes on now, of which nothing is counted, such as looking for files; empty: nothing that takes time."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        with self._lock:  # the timer of the stage before may be about to tell it
            self._current = what
            if self._status is not None:
                self._status.stop()
                self._status = None
        super().stage(what)

    def tell(self, what: str) -> None:
        """A stage turns out not to be over at once."""
        from rich.console import Console

        with self._lock:
            if what == self._current:
                self._status = Console(file=self._stream).status(f"{what} ...")
                self._status.start()

    def say(self, text: str) -> None:
        """Tell something that the user should know."""
        print(text, file=self._stream, flush=True)

    def show(self, seconds: float) -> None:
        """Tell the state after so many seconds."""
        if self._bar is None and seconds > SLOW_SECONDS:
            self._bar = _rich_bar(self._stream)
            self._task = self._bar.add_task("score", total=self.total, rate="")
            self._bar.start()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self.done, rate=f"{self.done / seconds:.0f}/s")


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
