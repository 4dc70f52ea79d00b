"""Cells without a score, and the kinds of reasons for it; and cells with one that are empty or should be looked at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..cells import WARNING
from ..status import EMPTY, FAILED, Status
from .scoreboard import Scoreboard

# A word with a slash or a suffix, perhaps with a line's number; what is quoted is a value, and values count.
_FILE = re.compile(r"""(?<!\S)(?!['"(])(?:\S*[/\\]\S*|\S*\.[A-Za-z]\w{1,4})(?::\d+)?(?=[\s:;,)\]]|$)""")
_LINE = re.compile(r"\bline \d+")
_NUMBER = re.compile(r"-?\b\d[\w.+-]*")


@dataclass(frozen=True)
class CellProblem:
    """Why a cell has no score, or not by all metrics; or what is empty, or to be looked at, of a cell that has one."""

    system: str
    track: str
    status: Status
    message: str

    @property
    def scored(self) -> str:
        """Whether the cell has a score: ``no``, ``partly`` (not by all metrics), or ``yes`` (and counts)."""
        if self.status in EMPTY or self.warned:
            return "yes"
        return "partly" if self.status.scored else "no"

    @property
    def warned(self) -> bool:
        """Whether the cell has all its scores, but its two sides hardly belong together."""
        return self.status == Status.ok and self.message.startswith(WARNING)

    @property
    def kind(self) -> str:
        """The reason without the names of systems, tracks and files, which are equal for the same kind of problem."""
        named = self.message
        for name in {self.system, self.track}:
            bare = re.escape(name)
            # Not wherever it stands: a track may be called as a word of the message is.
            named = re.sub(rf"(?<=[/\\\[]){bare}(?!\w)|(?<!\w){bare}(?=\.\w)|{re.escape(repr(name))}", "", named)
        named = _LINE.sub("line", _FILE.sub("", named))
        if self.warned:  # of times, which are different in every cell
            named = _NUMBER.sub("", named)
        return f"{self.status.name}: {named}"


def find_problems(board: Scoreboard) -> list[CellProblem]:
    """The cells without a score or that of some metrics, of what is empty, or with a warning, system by system."""
    _, _, status, _ = board.load(range(len(board.systems)))
    messages = np.broadcast_to(board.messages(), status.shape)
    partly = (status == Status.ok) & (messages != "")
    told = np.argwhere(np.isin(status, [int(one) for one in FAILED | EMPTY]) | partly)
    problems = []
    for system, track in told.tolist():
        names, state = (board.systems[system], board.tracks[track]), Status(int(status[system, track]))
        problems.append(CellProblem(*names, state, str(messages[system, track]) or _said(*names, state)))
    return problems


def _said(system: str, track: str, status: Status) -> str:
    """What is empty, where the store is of a time when it did not say that."""
    told = {
        Status.empty_estimate: f"system {system!r} has an empty estimate of track {track!r}",
        Status.empty_reference: f"track {track!r} has an empty reference",
    }
    return told.get(status, "")


def count_scored(problems: Iterable[CellProblem]) -> str:
    """How many cells have the score of an empty estimate or reference, or a warning, in words; nothing where none has.

    Examples
    --------
    >>> count_scored([CellProblem("A", "x", Status.empty_estimate, ""), CellProblem("A", "y", Status.failed, "")])
    '1 of an empty estimate'
    """
    problems = list(problems)
    number = Counter(one.status for one in problems)
    warned = sum(one.warned for one in problems)
    sides = ((Status.empty_estimate, "an empty estimate"), (Status.empty_reference, "an empty reference"))
    told = [f"{number[status]} of {side}" for status, side in sides if number[status]]
    return ", ".join([*told, *([f"{warned} with a warning"] if warned else [])])


def group_problems(problems: Sequence[CellProblem]) -> list[list[CellProblem]]:
    """Problems of the same kind together, the most frequent kind first."""
    kinds: dict[str, list[CellProblem]] = {}
    for problem in problems:
        kinds.setdefault(problem.kind, []).append(problem)
    return sorted(kinds.values(), key=len, reverse=True)
