"""Cells without a score, and the kinds of reasons for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..status import FAILED, SCORED, Status
from .scoreboard import Scoreboard

# A word with a slash or a suffix, perhaps with a line's number; what is quoted is a value, and values count.
_FILE = re.compile(r"""(?<!\S)(?!['"(])(?:\S*[/\\]\S*|\S*\.[A-Za-z]\w{1,4})(?::\d+)?(?=[\s:;,)\]]|$)""")
_LINE = re.compile(r"\bline \d+")


@dataclass(frozen=True)
class CellProblem:
    """Why a cell has no score; of one with a status that is scored, why some of its metrics have none."""

    system: str
    track: str
    status: Status
    message: str

    @property
    def kind(self) -> str:
        """The reason without the names of systems, tracks and files, which are equal for the same kind of problem."""
        named = self.message
        for name in {self.system, self.track}:
            bare = re.escape(name)
            # Not wherever it stands: a track may be called as a word of the message is.
            named = re.sub(rf"(?<=[/\\\[]){bare}(?!\w)|(?<!\w){bare}(?=\.\w)|{re.escape(repr(name))}", "", named)
        named = _LINE.sub("line", _FILE.sub("", named))
        return f"{self.status.name}: {named}"


def find_problems(board: Scoreboard) -> list[CellProblem]:
    """The cells without a score, and those of which some metrics have none, system by system."""
    _, _, status, _ = board.load(range(len(board.systems)))
    messages = np.broadcast_to(board.messages(), status.shape)
    partly = np.isin(status, [int(one) for one in SCORED]) & (messages != "")
    failed = np.argwhere(np.isin(status, [int(one) for one in FAILED]) | partly)
    return [
        CellProblem(board.systems[s], board.tracks[t], Status(int(status[s, t])), str(messages[s, t]))
        for s, t in failed.tolist()
    ]


def group_problems(problems: Sequence[CellProblem]) -> list[list[CellProblem]]:
    """Problems of the same kind together, the most frequent kind first."""
    kinds: dict[str, list[CellProblem]] = {}
    for problem in problems:
        kinds.setdefault(problem.kind, []).append(problem)
    return sorted(kinds.values(), key=len, reverse=True)
