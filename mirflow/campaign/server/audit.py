"""The audit log: who did what, and when. Lines are only appended; old personal data are masked in place."""

from __future__ import annotations

import datetime as dt
import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from threading import Lock

from ...errors import MirflowError, shorten

LONGEST = 300
"""Longest value in characters; longer ones are truncated."""


class AuditError(MirflowError):
    """The audit log cannot be written or read."""


class AuditLog:
    """A file of JSON lines with time, actor, action and object.

    Each line is a single write in append mode that reaches the disk before the action is confirmed, so several
    processes may share a log and a crash loses no line. A line truncated by a crash is skipped when reading.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = AuditLog(Path(folder, "audit.jsonl"), lambda: dt.datetime(2027, 1, 1, tzinfo=dt.UTC))
    ...     log.record("ada", "withdraw", submission="3f", split="dev")
    ...     next(log.read())
    {'time': '2027-01-01T00:00:00+00:00', 'actor': 'ada', 'action': 'withdraw', 'submission': '3f', 'split': 'dev'}
    """

    def __init__(self, path: Path, clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)) -> None:
        self.path, self._clock, self._lock = path, clock, Lock()

    def record(self, actor: str, action: str, **details: str | int | None) -> None:
        """Append a line; details must not contain secrets."""
        line: dict[str, str | int] = {"time": self._clock().isoformat(), "actor": actor, "action": action}
        for name, value in details.items():
            if value is not None:
                line[name] = value if isinstance(value, int) else shorten(value, LONGEST)
        text = (json.dumps(line) + "\n").encode()
        try:
            with self._lock:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
                try:
                    size = os.fstat(descriptor).st_size
                    cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                    whole = b"\n" + text if cut else text
                    if os.write(descriptor, whole) < len(whole):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise AuditError(f"{self.path}: cannot be written: {error.strerror}") from None

    def read(self) -> Iterator[Mapping[str, str | int]]:
        """Read the lines in order, skipping any that a crash truncated."""
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as lines:
            for text in lines:
                try:
                    line = json.loads(text)
                except ValueError:
                    continue
                if isinstance(line, dict):
                    yield line

    def mask(self, keys: Callable[[Mapping[str, str | int]], Iterable[str]]) -> None:
        """Overwrite values with asterisks; the length of the file is kept, so lines may be appended meanwhile.

        `keys`: returns the keys of a line whose (string) values are to be masked.
        """
        if not self.path.exists():
            return
        try:
            with self.path.open("rb") as lines, self.path.open("rb+") as masked:
                at = 0
                for text in lines:
                    for first, last in _spans(text, keys):
                        masked.seek(at + first)
                        masked.write(b"*" * (last - first))
                    at += len(text)
                masked.flush()
                os.fsync(masked.fileno())
        except OSError as error:
            raise AuditError(f"{self.path}: personal data cannot be masked: {error.strerror}") from None


def _spans(text: bytes, keys: Callable[[Mapping[str, str | int]], Iterable[str]]) -> Iterator[tuple[int, int]]:
    """Yield the first and last byte, without quotes, of the values in a line that are to be masked."""
    try:
        line = json.loads(text)
    except ValueError:
        return
    for key in keys(line) if isinstance(line, dict) else ():
        value = line.get(key)
        if isinstance(value, str) and value.strip("*"):
            name = f"{json.dumps(key)}: ".encode()
            first = text.index(name) + len(name) + 1
            yield first, first + len(json.dumps(value)) - 2
