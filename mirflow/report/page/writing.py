"""From a result store to a page in one file."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...analysis.annotators import by_annotator, has_annotators
from ...analysis.scoreboard import Scoreboard, read_store
from ...analysis.selection import find_metrics
from ...annotations.schema import TASK_KINDS
from ...errors import QueryError, UnknownNameError
from .blocks import Blocks, to_json
from .bundle import assemble
from .contents import describe_evaluation, main_metrics
from .output import check_output, write_output
from .sources import Found, Shelf, find_plans
from .standing import standings
from .timelines import BYTES, CELLS, Drawn, Timelines, add_evaluation, tracks_wanted

TIMELINES = ("auto", "all", "worst", "none")


@dataclass(frozen=True)
class PageReport:
    """What became of a page.

    Parameters
    ----------
    path : Path
    size : int
        Bytes.
    tracks : int
        Tracks with a timeline.
    notes : tuple of str
        Why there are not more.
    """

    path: Path
    size: int
    tracks: int
    notes: tuple[str, ...]


def write_page(
    store: str | Path,
    output: str | Path,
    *,
    timelines: str | int = "auto",
    metrics: Sequence[str] = (),
    root: str | Path | None = None,
    title: str | None = None,
) -> PageReport:
    """Write a page about a result store.

    Parameters
    ----------
    store : path
    output : path
        The HTML file; one that is there is replaced. ``-``: standard output.
    timelines : {"auto", "all", "worst", "none"} or int
        Which tracks can be looked at and listened to: all, the 20 of each evaluation that are worst or most disputed,
        none, or so many. ``auto``: as many as 5,000 cells and 8 MB hold, the worst and most disputed ones first.
    metrics : sequence of str
        What the page shows first, and what timelines are judged by; default: one of each evaluation.
    root : path or None
        The folder of the annotations, where they are no longer where they were.
    title : str or None
        None: the store's name, without its suffix.

    Returns
    -------
    PageReport

    Raises
    ------
    StoreError
        If there is no such store.
    QueryError
        If there are no scores in it, `timelines` is none of the choices, or the output cannot be written.
    UnknownNameError
        For a metric that no evaluation has.
    """
    wanted = _wanted(timelines)
    check_output(Path(output))
    boards = read_store(store)
    if not boards:
        raise QueryError(f"{store}: there are no scores in this store")
    found = find_plans(next(iter(boards.values())).attrs, root)
    # As in the pipeline file, where it is known; what it no longer names comes last.
    boards = {name: boards[name] for name in dict.fromkeys([*found.plans, *boards]) if name in boards}
    asked = _asked(boards, metrics)
    first = {name: main_metrics(board, asked[name]) for name, board in boards.items()}
    drawn = _draw(boards, asked, first, wanted, found)
    blocks = Blocks()
    evaluations = _evaluations(boards, first, drawn, blocks)
    places, dropped = _pack(drawn, blocks, BYTES if wanted == "auto" else None)
    name = title or Path(store).absolute().name.removesuffix(".zarr")
    # The name of a folder may hold bytes that are no text.
    name = name.encode("utf-8", "replace").decode("utf-8")
    contents = {
        "title": name,
        "mirflow": version("mirflow"),
        "pipeline": str(next(iter(boards.values())).attrs.get("pipeline", "")),
        "evaluations": evaluations,
        "vocabulary": blocks.add_json(drawn.vocabulary.entries()),
        "verdicts": list(drawn.verdicts),
        "timelines": places,
    }
    data = assemble(html.escape(name), to_json(contents), blocks.texts).encode("utf-8")
    write_output(Path(output), data)
    notes = tuple(dict.fromkeys(one.note for one in drawn.evaluations if one.note))
    if dropped:
        some = "timeline of 1 more track" if dropped == 1 else f"timelines of {dropped} more tracks"
        notes += (f"The {some} would make the page larger than it should be.",)
    return PageReport(Path(output), len(data), len(places), notes)


def _evaluations(
    boards: Mapping[str, Scoreboard], first: Mapping[str, list[int]], drawn: Timelines, blocks: Blocks
) -> list[dict[str, Any]]:
    """All evaluations for the page, with what there is to say of their timelines."""
    evaluations = []
    for (name, board), one in zip(boards.items(), drawn.evaluations, strict=True):
        made = describe_evaluation(name, board, first[name], standings(board, first[name]), blocks)
        made["timeline"] = {"rules": one.rules, "note": one.note, "kind": TASK_KINDS.get(made["task"], "")}
        evaluations.append(made)
    # Timelines are found by the numbers of the evaluations, so that these stand behind all of them.
    for number, (name, board) in enumerate(boards.items()):
        if has_annotators(board):
            own = by_annotator(board, list(range(len(board.tracks))))
            made = describe_evaluation(f"{name} by annotator", own, first[name], {}, blocks)
            evaluations.append({**made, "timeline": {**evaluations[number]["timeline"], "of": number}})
    return evaluations


def _wanted(timelines: str | int) -> str:
    text = str(timelines)
    if text not in TIMELINES and not text.isdecimal():
        raise QueryError(f"timelines {text!r}: choose one of {', '.join(TIMELINES)}, or a number of tracks")
    return text


def _asked(boards: Mapping[str, Scoreboard], metrics: Sequence[str]) -> dict[str, list[str]]:
    """The metrics that were named, as each evaluation that has them names them."""
    asked: dict[str, list[str]] = {name: [] for name in boards}
    for metric in metrics:
        known = False
        for name, board in boards.items():
            try:
                asked[name] += [board.metrics[place] for place in find_metrics(board, metric)]
                known = True
            except UnknownNameError:
                continue
            except QueryError as error:
                hint = "the page shows it below the tables; name one that is one number a track"
                raise QueryError(f"{str(error).partition(';')[0]}; {hint}") from None
        if not known:
            raise UnknownNameError("metric", metric, {label for board in boards.values() for label in board.metrics})
    return asked


def _draw(
    boards: Mapping[str, Scoreboard],
    asked: Mapping[str, Sequence[str]],
    first: Mapping[str, Sequence[int]],
    wanted: str,
    found: Found,
) -> Timelines:
    """Timelines of all evaluations whose annotations are still there."""
    timelines, shelf = Timelines(), Shelf()
    cells = sum(len(board.systems) * len(board.tracks) for board in boards.values())
    for name, board in boards.items():
        plan = found.plans.get(name)
        if plan is None or wanted == "none":
            reason = found.reason or "The pipeline no longer has this evaluation."
            note = "Timelines were not asked for." if wanted == "none" else reason
            timelines.evaluations.append(Drawn(note=note))
            continue
        if TASK_KINDS.get(plan.task) == "audio":
            timelines.evaluations.append(Drawn(note="Recordings are not drawn."))
            continue
        shown = first[name]
        tracks = tracks_wanted(board, shown[0] if shown else 0, wanted, CELLS / max(CELLS, cells))
        others = [board.metrics[place] for place in dict.fromkeys([*shown, *range(len(board.metrics))])]
        drawn = add_evaluation(timelines, board, plan, tracks, asked[name], others, shelf)
        if len(tracks) < len(board.tracks):
            drawn.note = f"Timelines of {len(tracks)} of {len(board.tracks)} tracks: the worst and the most disputed."
    return timelines


def _pack(timelines: Timelines, blocks: Blocks, most: int | None) -> tuple[list[tuple[str, int]], int]:
    """The block of each track, and how many were left out because the page would become too large."""
    places: list[tuple[str, int]] = []
    size = 0
    for name, track in timelines.tracks.items():
        number, more = blocks.add_new_json(track.as_json())
        if most is not None and size + more > most:
            blocks.drop_newest()
            continue
        size += more
        places.append((name, number))
    return places, len(timelines.tracks) - len(places)
