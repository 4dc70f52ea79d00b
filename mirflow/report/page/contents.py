"""What the page knows of an evaluation: names, scores and weights, what is missing and why, where it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...analysis.aggregate import STORES
from ...analysis.cautions import told_cautions
from ...analysis.policies import are_apart, find_gaps
from ...analysis.problems import find_problems
from ...analysis.query import headline_metrics
from ...analysis.references import REFERENCES_DIFFER
from ...analysis.scoreboard import Array, Scoreboard
from ...metrics.base import DESCRIBED
from ...ragged import Float
from ...status import EMPTY, SCORED, Status
from .blocks import Blocks
from .extras import describe_extras
from .origins import Origin
from .standing import Standing
from .vocabulary import shorten

_MAIN = 7
LONGEST_MESSAGE = 2_000
"""Characters of a message that the page shows."""
_SILENT = EMPTY | {Status.missing_estimate, Status.missing_reference, Status.not_computed}
"""What becomes of a cell for reasons that quote nothing."""
_UNTOLD = "not told here, as it may quote a reference"
_SCORED, _BARE = 1, 2
_ORIGIN = ("task", "convention", "grid", "combine")


def main_metrics(board: Scoreboard, asked: Sequence[str] = ()) -> list[int]:
    """Positions of the metrics that a table of systems shows: those that are asked for, the headline, and others."""
    shown = headline_metrics(board, _MAIN)
    return [board.metrics.index(name) for name in dict.fromkeys([*asked, *shown])][:_MAIN]


def describe_evaluation(
    name: str,
    board: Scoreboard,
    main: Sequence[int],
    standing: Mapping[int, Standing],
    blocks: Blocks,
    *,
    references: bool = True,
) -> dict[str, Any]:
    """One evaluation for the page, perhaps without what quotes its references; its numbers go to the blocks."""
    score, weight, status, duration = board.load(range(len(board.systems)))
    bare = find_gaps(score, weight, status, duration).without_reference
    cells = np.where(np.isin(status, [int(one) for one in SCORED]), _SCORED, 0) + np.where(bare, _BARE, 0)
    return {
        "name": name,
        **{key: str(board.attrs.get(key, "")) for key in _ORIGIN},
        "systems": board.systems,
        "systemCoords": _coords(board.coords["system"]),
        "tracks": board.tracks,
        "trackCoords": _coords(board.coords["track"]),
        "metrics": [_metric(board, place, score, weight, blocks) for place in range(len(board.metrics))],
        "main": list(main),
        "standing": [[place, one.as_json()] for place, one in standing.items()],
        "duration": blocks.add_floats(duration),
        "cells": blocks.add_bytes(cells.astype(np.uint8)),
        "statuses": _statuses(status),
        "problems": blocks.add_json(_problems(board, references)),
        "extras": describe_extras(board, blocks),
        "policies": _policies(board, status),
        "references": str(board.attrs.get(REFERENCES_DIFFER, "")),
        "warnings": told_cautions(board.attrs),
    }


def describe_stores(name: str, origins: Sequence[Origin]) -> list[dict[str, Any]]:
    """Of each store that has an evaluation: its number, what it holds, when and with what it was scored."""
    described = []
    for number, origin in enumerate(origins):
        board = origin.boards.get(name)
        if board is not None:
            told = {"versions": dict(board.attrs.get("versions", {})), "created": str(board.attrs.get("created", ""))}
            described.append({"store": number, "systems": len(board.systems), "tracks": len(board.tracks), **told})
    return described


def _policies(board: Scoreboard, status: Array) -> list[str]:
    """What can be done about missing scores, as in a query: what is done unless something is chosen comes first."""
    if STORES in board.attrs and (status == Status.not_computed).any():
        # Nobody knows what scores would weigh that no store has.
        return ["skip", "common"] if are_apart(board.attrs, status) else ["common", "skip"]
    return ["common", "skip", "zero"]


def _coords(coords: Mapping[str, Array]) -> list[list[Any]]:
    """Names and values of coordinates: numbers stay numbers, everything else becomes text."""
    found: list[list[Any]] = []
    for name, values in coords.items():
        numbers = values.dtype.kind in "if"
        found.append([name, [one if numbers else str(one) for one in values.tolist()]])
    return found


def _metric(board: Scoreboard, place: int, score: Float, weight: Float, blocks: Blocks) -> dict[str, Any]:
    coords = board.coords["metric"]
    record = {name: _plain(coords[name][place]) for name in DESCRIBED if name in coords}
    others = [(name, _plain(values[place])) for name, values in coords.items() if name not in DESCRIBED]
    parameters = [[name, value] for name, value in others if value != "" and value == value]
    return {
        **record,
        "name": board.metrics[place],
        "aggregates": str(record["aggregates"]).split(),
        "parameters": parameters,
        "score": blocks.add_floats(score[..., place]),
        "weight": blocks.add_floats(weight[..., place]),
    }


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _statuses(status: Array) -> list[list[Any]]:
    """For each status that occurs its name and how many cells of each system have it."""
    counts = [(one.name, (status == one).sum(axis=1).tolist()) for one in Status]
    return [[name, many] for name, many in counts if any(many)]


def _problems(board: Scoreboard, references: bool) -> dict[str, Any]:
    """Cells without a score, or of what is empty.

    Each has the positions of system and track, status, whether there is a score, and the number of a message.
    Where stores are joined, tracks that a system's store does not have are no problems. A message about the contents of
    a file may quote a reference.
    """
    joined = STORES in board.attrs
    systems = {name: place for place, name in enumerate(board.systems)}
    tracks = {name: place for place, name in enumerate(board.tracks)}
    messages: dict[str, int] = {}
    rows = [
        [
            *(systems[one.system], tracks[one.track], one.status.name, one.scored),
            messages.setdefault(one.message if references or one.status in _SILENT else _UNTOLD, len(messages)),
        ]
        for one in find_problems(board)
        if not (joined and one.status == Status.not_computed)
    ]
    return {"rows": rows, "messages": [shorten(message, LONGEST_MESSAGE) for message in messages]}
