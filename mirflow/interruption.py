"""Signals that end a command: once, and not in the middle of what must be finished.

Imported before everything else, so that a command that is stopped while it starts ends like any other.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
"""The signals with the words for their effect."""

_PATIENCE = 2.0
"""Seconds that a command has for its end before another signal is answered."""

THREAD_SECONDS = 5.0
"""Seconds after a command's end that threads which it has left running may keep the process."""


class Interrupted(BaseException):
    """A signal that ends the command.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        self.number = number
        super().__init__(WORDS[signal.Signals(number)])

    @property
    def code(self) -> int:
        """The exit code that shells know."""
        return 128 + self.number


class CtrlC(KeyboardInterrupt):
    """Ctrl-C in a program that answers to it with Python's own handler; code may raise KeyboardInterrupt too."""


def _raise_ctrl_c(number: int, frame: FrameType | None) -> None:
    raise CtrlC


@contextmanager
def recognized_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise `CtrlC` where it would raise KeyboardInterrupt, so that `is_stop` recognizes it."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _raise_ctrl_c)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_stop(error: BaseException) -> bool:
    """True for an exception that a signal has raised, which must end the command, and not the code that was running.

    A KeyboardInterrupt is one only where it can be: in the main thread, if the handler of Ctrl-C is not known to raise
    something else.
    """
    if isinstance(error, Interrupted | CtrlC):
        return True
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGINT)
    return not (handler in (signal.SIG_IGN, _raise_ctrl_c) or isinstance(handler, _Answer))


class _Answer:
    """Handler that raises `Interrupted` for a signal, and ignores those that follow while the command ends."""

    def __init__(self) -> None:
        self._last = -_PATIENCE

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        # An exception that is raised in a destructor is lost; a later signal is answered again.
        if now - self._last >= _PATIENCE:
            self._last = now
            raise Interrupted(number)


def answer_signals() -> None:
    """Let the signals raise `Interrupted` from now on, except those that the parent ignores (nohup)."""
    answer = _Answer()
    for number in WORDS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, answer)


def stop_answering() -> bool:
    """Ignore the signals from now on; return whether they had been answered."""
    answered = [number for number in WORDS if isinstance(signal.getsignal(number), _Answer)]
    for number in answered:
        signal.signal(number, signal.SIG_IGN)
    return bool(answered)


@contextmanager
def deferred() -> Iterator[None]:
    """Answer signals that come meanwhile afterwards, around steps that must be finished.

    In other threads than the main one, where no signal is answered, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    usual = {number: signal.getsignal(number) for number in WORDS}
    handled = {number: handler for number, handler in usual.items() if callable(handler)}
    for number in handled:
        signal.signal(number, lambda which, frame: came.append(which))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for one in dict.fromkeys(came):
            signal.raise_signal(one)


def abandon_threads(code: int) -> None:
    """Make this process, whose command has ended with an exit code, end although threads are still running.

    The interpreter waits for threads, such as one that a metric of the user has started, without end.
    """

    def others() -> list[str]:
        return [one.name for one in threading.enumerate() if not one.daemon and one is not threading.main_thread()]

    def end() -> None:
        time.sleep(THREAD_SECONDS)
        names = ", ".join(map(repr, others()))
        print(f"warning: the command has ended, but not the threads {names}; they are abandoned", file=sys.stderr)
        os._exit(code)

    if others():
        threading.Thread(target=end, daemon=True).start()
