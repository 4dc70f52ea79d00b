"""Progress of a run or a report: a bar on a terminal or in a notebook, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from html import escape
from threading import Lock, Timer
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from .notebook import in_notebook

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID
    from rich.status import Status

LINE_SECONDS = 10.0
SLOW_SECONDS = 0.5


class Progress(AbstractContextManager["Progress"]):
    """Counts the tracks that are done; this one shows nothing. Messages and the state are shown on a stream."""

    stage_seconds = 0.0  # delay after which a stage is shown; 0: never
    about = ""  # words before all that is shown, such as the name of one of several stores

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._timer: Timer | None = None
        self.total: int | None = 0
        self.done = 0
        self.began = time.monotonic()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.stage("")

    def stage(self, name: str) -> None:
        """Begin a stage without counts, such as looking for files; empty: end it."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = Timer(self.stage_seconds, self.show_stage, [name]) if name and self.stage_seconds else None
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def show_stage(self, name: str) -> None:
        """Show a stage that takes time."""
        self.message(f"{self.about}{name} ...")

    def message(self, text: str) -> None:
        """Print a message for the user."""
        if self._stream is not None:
            print(text, file=self._stream, flush=True)

    def start(self, tracks: int | None) -> None:
        """Begin to count so many tracks; None: the number is unknown."""
        self.stage("")
        self.total, self.done = tracks, 0
        self.began = time.monotonic()

    def advance(self, tracks: int) -> None:
        """Count so many more as done."""
        self.done += tracks
        self.show(time.monotonic() - self.began)

    def show(self, seconds: float) -> None:
        """Show the state after so many seconds."""


class Lines(Progress):
    """A line every ten seconds, for logs."""

    stage_seconds = LINE_SECONDS / 2
    _shown = 0.0

    def show(self, seconds: float) -> None:
        """Show the state after so many seconds."""
        if seconds - self._shown >= LINE_SECONDS:
            self._shown = seconds
            rate = self.done / seconds
            if self.total is None:
                self.message(f"{self.about}{self.done} tracks, {rate:.0f}/s")
                return
            left = (self.total - self.done) / rate
            self.message(f"{self.about}{self.done}/{self.total} tracks, {rate:.0f}/s, {left:.0f} s left")


class Bar(Progress):
    """A bar with tracks done, rate and time left, or a spinner for a stage; both appear only where work takes time."""

    stage_seconds = SLOW_SECONDS
    _lock = Lock()  # of the terminal
    _bar: RichProgress | None = None
    _task: TaskID | None = None
    _current = ""
    _status: Status | None = None

    def stage(self, name: str) -> None:
        """Begin a stage without counts, such as looking for files; empty: end it."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        with self._lock:  # the timer of the stage before may be about to show it
            self._current = name
            if self._status is not None:
                self._status.stop()
                self._status = None
        super().stage(name)

    def show_stage(self, name: str) -> None:
        """Show a stage that takes time."""
        from rich.console import Console

        with self._lock:
            if name == self._current:
                self._status = Console(file=self._stream, force_jupyter=False).status(f"{self.about}{name} ...")
                self._status.start()

    def show(self, seconds: float) -> None:
        """Show the state after so many seconds."""
        if self._bar is None and seconds > SLOW_SECONDS:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as RichProgress

            rate = TextColumn("tracks, {task.fields[rate]},")
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
            self._bar = RichProgress(*columns, console=Console(file=self._stream, force_jupyter=False), transient=True)
            self._task = self._bar.add_task(self.about, total=self.total, rate="")
            self._bar.start()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self.done, rate=f"{self.done / seconds:.0f}/s")


_REFRESH_SECONDS = 0.1


class NotebookBar(Progress):
    """A bar below a cell of a notebook, updated in place; the number of tracks stays there. Tracks are shown after a
    delay in seconds; 0: at once, and stages too."""

    _handle: Any = None  # of the output below the cell, once there is one

    def __init__(self, delay: float = SLOW_SECONDS) -> None:
        super().__init__(sys.stderr)
        self._delay = delay
        self._seconds = self._shown = 0.0

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        super().__exit__(kind, value, tb)
        if self._handle is not None:
            self._show_tracks()

    def stage(self, name: str) -> None:
        """Begin a stage without counts, such as looking for files; empty: end it."""
        name = f"{self.about}{name}" if name else ""
        if name and not self._delay:
            self._display(f"{name} ...", f"<div><progress></progress> {escape(name)} ...</div>")

    def start(self, tracks: int | None) -> None:
        """Begin to count so many tracks; None: the number is unknown."""
        super().start(tracks)
        self._seconds = self._shown = 0.0
        if not self._delay:
            self._show_tracks()

    def show(self, seconds: float) -> None:
        """Show the state after so many seconds."""
        self._seconds = seconds
        if seconds >= self._delay and seconds - self._shown >= _REFRESH_SECONDS:
            self._shown = seconds
            self._show_tracks()

    def _show_tracks(self) -> None:
        rate = f", {self.done / self._seconds:.0f}/s" if self._seconds else ""
        count = str(self.done) if self.total is None else f"{self.done}/{self.total}"
        ends = "" if self.total is None else f' value="{self.done}" max="{self.total or 1}"'
        text = f"{self.about}{count} tracks{rate}, {self._seconds:.1f} s"
        self._display(text, f"<div><progress{ends}></progress> {escape(text)}</div>")

    def _display(self, text: str, html: str) -> None:
        """Show text, or HTML where the frontend can, in place of what was shown before."""
        from IPython.display import display

        content = {"text/plain": text, "text/html": html}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def progress_for(quiet: bool = False) -> Progress:
    """Progress on standard error: a bar on a terminal, lines elsewhere, nothing if quiet."""
    if quiet:
        return Progress()
    return Bar(sys.stderr) if sys.stderr.isatty() else Lines(sys.stderr)


def progress_of(wanted: bool | Progress | None) -> Progress:
    """Return the progress that a function of Python shows. True: wherever it runs. None: on a terminal or in a
    notebook, as soon as the work takes time."""
    if isinstance(wanted, Progress):
        return wanted
    if wanted is not False and in_notebook():
        return NotebookBar(0.0 if wanted else SLOW_SECONDS)
    return progress_for(quiet=not (sys.stderr.isatty() if wanted is None else wanted))
