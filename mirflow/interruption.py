"""Signals that end a command, once and not during critical sections.

This module is imported first, so that a command that is stopped during start-up ends like any other. After a
command, the process does not wait for threads indefinitely. In programs that call mirflow, Ctrl-C can raise `CtrlC`,
which other code does not raise.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

_ALL = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
WORDS = {signal.Signals[name]: words for name, words in _ALL.items() if hasattr(signal, name)}
"""The signals that the system has, with the words for their effect."""

_PATIENCE = 2.0  # seconds that a command has to end before another signal is handled

THREAD_SECONDS = 5.0  # seconds that running threads may keep the process alive after a command's end


class Interrupted(BaseException):
    """A signal that ends the command."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        self.number, self.code = number, 128 + number  # the exit code that shells know
        super().__init__(WORDS[signal.Signals(number)])


class CtrlC(KeyboardInterrupt):
    """Ctrl-C in a program with Python's default handler; other code may raise KeyboardInterrupt itself."""


def _raise_ctrl_c(number: int, frame: FrameType | None) -> None:
    raise CtrlC


@contextmanager
def recognized_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise `CtrlC` instead of KeyboardInterrupt, so that `is_stop` recognizes it."""
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
    """True for an exception raised by a signal, which must end the whole command. A KeyboardInterrupt counts only in
    the main thread, and only if the handler of Ctrl-C may have raised it."""
    if isinstance(error, Interrupted | CtrlC):
        return True
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGINT)
    return not (handler in (signal.SIG_IGN, _raise_ctrl_c) or isinstance(handler, _Answer))


class _Answer:
    """Handler that raises `Interrupted` for a signal and ignores further signals while the command ends."""

    _last = -_PATIENCE

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        # An exception raised in a destructor is lost, so a later signal is handled again.
        if now - self._last >= _PATIENCE:
            self._last = now
            raise Interrupted(number)


def answer_signals() -> None:
    """Let the signals raise `Interrupted`, except those that the parent ignores (nohup)."""
    answer = _Answer()
    for number in WORDS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, answer)


def stop_answering() -> bool:
    """Ignore the signals; return whether they had been handled."""
    answered = [number for number in WORDS if isinstance(signal.getsignal(number), _Answer)]
    for number in answered:
        signal.signal(number, signal.SIG_IGN)
    return bool(answered)


@contextmanager
def deferred() -> Iterator[None]:
    """Defer signals until the end of a critical section. In threads other than the main one, which do not handle
    signals, this does nothing."""
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
    """End this process, whose command has ended with an exit code, even if threads are still running. Otherwise, the
    interpreter would wait for them indefinitely, such as for a thread started by a user's metric."""
    main = threading.main_thread()
    if all(one.daemon or one is main for one in threading.enumerate()):
        return

    def end() -> None:
        time.sleep(THREAD_SECONDS)
        names = ", ".join(repr(one.name) for one in threading.enumerate() if not one.daemon and one is not main)
        print(f"warning: the command has ended, but not the threads {names}; they are abandoned", file=sys.stderr)
        os._exit(code)

    threading.Thread(target=end, daemon=True).start()


_ANSWERING = ("obstore", "icechunk")  # libraries with threads of their own, which answer requests


def leave(codes: Sequence[int]) -> None:
    """End this process with the exit code of its command, if there is one by now, and libraries that do requests were
    used; to be called last of all. A thread of theirs that answers a request while the interpreter is being taken down
    aborts the process."""
    if codes and not sys.modules.keys().isdisjoint(_ANSWERING):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(codes[0])
