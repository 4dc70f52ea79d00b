"""Signals that end a command: what they are called, that they end it once, and that they wait where they must.

Imported before everything else, so that a command that is stopped while it starts ends like any other.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
"""The signals, and how a command that they end says so."""

_PATIENCE = 2.0
"""Seconds that a command has for its end before another signal of the same is heeded."""


class Interrupted(BaseException):
    """A signal asks the command to end.

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


class _Answer:
    """Raises `Interrupted` for a signal, and lets those pass that come while the command ends because of it."""

    def __init__(self) -> None:
        self._last = -_PATIENCE

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        # An exception that is raised in a destructor is lost; who asks again later is heard.
        if now - self._last >= _PATIENCE:
            self._last = now
            raise Interrupted(number)


def answer_signals() -> None:
    """From now on the signals raise `Interrupted`, but for those that the parent has told us to ignore (nohup)."""
    answer = _Answer()
    for number in WORDS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, answer)


def stop_answering() -> bool:
    """From now on nothing changes how the command ends; whether signals had been answered at all."""
    answered = [number for number in WORDS if isinstance(signal.getsignal(number), _Answer)]
    for number in answered:
        signal.signal(number, signal.SIG_IGN)
    return bool(answered)


@contextmanager
def deferred() -> Iterator[None]:
    """Signals that come meanwhile are answered afterwards: for what must not be left half done.

    Elsewhere than in the main thread nothing has to be done, as no signal is answered there.
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
