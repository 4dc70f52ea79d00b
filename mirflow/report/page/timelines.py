"""The timelines of a page: annotations of tracks and what explains their scores."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ...analysis.scoreboard import Scoreboard
from ...annotations.schema import kind_of
from ...metrics.base import Convention, get_task
from ...plan import EvaluationPlan
from ...progress import Progress
from .comparing import Comparer, Track
from .files import Files
from .judging import Judge
from .ordering import order_tracks
from .sources import Shelf
from .vocabulary import Vocabulary

CELLS = 5_000
"""Cells (systems times tracks, of all evaluations) whose timelines a page has unless more are asked for."""
BYTES = 8_000_000
"""Compressed size that the timelines of a page stay below unless more are asked for."""
WORST = 20
"""Tracks of each evaluation under ``worst``."""


@dataclass
class Drawn:
    """The timelines of one evaluation: which rules judge, which could, and why there are not more timelines."""

    rules: list[str] = field(default_factory=list)
    able: list[str] = field(default_factory=list)
    note: str = ""
    tracks: int = 0


@dataclass
class Timelines:
    """The timelines of a page, by track; evaluations of the same files share their annotations."""

    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    verdicts: dict[str, int] = field(default_factory=dict)
    tracks: dict[str, Track] = field(default_factory=dict)
    evaluations: list[Drawn] = field(default_factory=list)


def tracks_wanted(board: Scoreboard, first: int, wanted: str, share: float) -> list[str]:
    """Tracks in the order of how much they are worth looking at, as many as are wanted.

    Parameters
    ----------
    board : Scoreboard
    first : int
        Position of the metric that decides.
    wanted : str
        ``all``, ``worst``, ``none``, ``auto`` or a number.
    share : float
        Of the tracks under ``auto``.
    """
    most = {"all": len(board.tracks), "worst": WORST, "none": 0, "auto": math.ceil(share * len(board.tracks))}
    number = most[wanted] if wanted in most else int(wanted)
    return [board.tracks[place] for place in order_tracks(board, first)[:number]]


def add_evaluation(
    timelines: Timelines,
    board: Scoreboard,
    files: Sequence[Files],
    tracks: Sequence[str],
    asked: Sequence[str],
    others: Sequence[str],
    shelf: Shelf,
    lost: Collection[str] = (),
    *,
    references: bool = True,
    progress: Progress | None = None,
) -> Drawn:
    """Read and explain some tracks of an evaluation.

    Parameters
    ----------
    timelines : Timelines
        It grows.
    board : Scoreboard
        What was scored.
    files : sequence of Files
        The files that there are now, of each store.
    tracks : sequence of str
    asked : sequence of str
        Metrics that shall judge: all of them do that can judge single items.
    others : sequence of str
        Metrics that are tried where none of those can; the first that can judges.
    shelf : Shelf
    lost : collection of str
        Systems of stores whose files cannot be found.
    references : bool
        Whether references are shown, and what follows from them.
    progress : Progress or None
        Told of each track.
    """
    number = len(timelines.evaluations)
    drawn = Drawn()
    timelines.evaluations.append(drawn)
    conventions, rules = _conventions([one.plan for one in files])
    judge = Judge(conventions, kind_of(files[0].plan.task).name, asked, others, timelines.verdicts)
    comparer = Comparer(board.systems, files, judge, rules, shelf, timelines.vocabulary, lost, references)
    for name in tracks:
        if comparer.has(name):
            track = timelines.tracks.setdefault(name, Track())
            track.evaluations[number] = comparer.compare(name, track)
            drawn.tracks += 1
        if progress is not None:
            progress.advance(1)
    drawn.rules, drawn.able = judge.rules, judge.able
    return drawn


def _conventions(plans: Sequence[EvaluationPlan]) -> tuple[list[Convention], list[int]]:
    """The conventions, each once, with the classes that they are for, and the one of each plan."""
    keys = [(plan.convention, plan.classes) for plan in plans]
    each = list(dict.fromkeys(keys))
    task = get_task(plans[0].task)
    return [task.convention(*key) for key in each], [each.index(key) for key in keys]
