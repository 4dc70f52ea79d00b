"""What two evaluations say differently of themselves: rules, parameters, versions, and the files they scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..scoreboard import Scoreboard
from .sides import IMPORTED, PRINTED_STEP, Side

# Times, texts that say the same as other attributes, and what differs from machine to machine without meaning anything.
_SKIPPED = frozenset({"created", "coordinates", "signatures", "parameters", "root", "mapping", IMPORTED, PRINTED_STEP})


Pairing = Sequence[tuple[str, str]]
"""Metrics of a, each with that of b that it is compared with."""


@dataclass(frozen=True)
class Setting:
    """One thing that differs; a side that does not have it says nothing.

    Examples
    --------
    >>> Setting("convention", "mir_eval", "mirex2013").name
    'convention'
    """

    name: str
    a: str
    b: str


@dataclass(frozen=True)
class Inputs:
    """In how many of the cells that both sides scored the files differ.

    Parameters
    ----------
    reference, estimate : int
        Cells whose reference (estimate) had other bytes.
    cells : int
        Cells of which both sides say what they scored.
    """

    reference: int
    estimate: int
    cells: int


def differing_settings(a: Side, b: Side, pairs: Pairing) -> list[Setting]:
    """What differs in the attributes of two evaluations, and in the versions and parameters of the metrics compared.

    A table says little of itself: beside one, only what both sides say can differ.
    """
    return [*_differing(a, b, *(dict(_attributes(one.board)) for one in (a, b))), *of_metrics(a, b, pairs)]


def of_metrics(a: Side, b: Side, pairs: Pairing) -> list[Setting]:
    """What differs in the versions, units and parameters of metrics of a and those of b."""
    return _differing(a, b, *(dict(_of_metrics(side.board, pairs, place)) for place, side in enumerate((a, b))))


def label_of(pair: tuple[str, str]) -> str:
    """What a metric of a and the one of b that it is compared with are called together.

    Examples
    --------
    >>> label_of(("f_measure", "f_measure")), label_of(("f_measure", "f_measure@0.05"))
    ('f_measure', 'f_measure=f_measure@0.05')
    """
    return pair[0] if pair[0] == pair[1] else "=".join(pair)


def _differing(a: Side, b: Side, left: Mapping[str, str], right: Mapping[str, str]) -> list[Setting]:
    tables = a.is_table or b.is_table
    names = [name for name in dict.fromkeys([*left, *right]) if not tables or (name in left and name in right)]
    pairs = ((name, left.get(name, ""), right.get(name, "")) for name in names)
    return [Setting(*_shown(*pair)) for pair in pairs if pair[1] != pair[2]]


def _attributes(board: Scoreboard) -> Iterator[tuple[str, str]]:
    for name, value in board.attrs.items():
        if name in _SKIPPED:
            continue
        if isinstance(value, Mapping):
            yield from ((f"{name}.{key}", _text(one)) for key, one in value.items())
        else:
            yield name, _text(value)


def _of_metrics(board: Scoreboard, pairs: Pairing, side: int) -> Iterator[tuple[str, str]]:
    """Versions and parameters of the metrics of one side, under the names of the pairs; the units of pairs by hand."""
    place = {name: at for at, name in enumerate(board.metrics)}
    version = board.coords["metric"].get("version")
    parameters = board.attrs.get("parameters", {})
    for pair in pairs:
        metric, label = pair[side], label_of(pair)
        if version is not None:
            yield f"version of {label}", _text(version[place[metric]])
        if pair[0] != pair[1]:
            yield f"unit of {label}", board.texts("unit")[place[metric]] or "none"
        for name, value in (parameters.get(metric, {}) if isinstance(parameters, Mapping) else {}).items():
            yield f"{name} of {label}", _text(value)


def _text(value: Any) -> str:
    """A value as text; a list by lines, of which the first that differs is shown."""
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)


def _shown(name: str, a: str, b: str) -> tuple[str, str, str]:
    """Long texts, such as pipelines, by their first line that differs."""
    if "\n" not in a + b:
        return name, a, b
    mine, others = a.splitlines(), b.splitlines()
    first = next((at for at, (one, two) in enumerate(zip(mine, others, strict=False)) if one != two), None)
    at = min(len(mine), len(others)) if first is None else first
    return f"{name}, line {at + 1}", "".join(mine[at : at + 1]).strip(), "".join(others[at : at + 1]).strip()


def differing_inputs(a: Side, b: Side, systems: Sequence[str], tracks: Sequence[str]) -> Inputs | None:
    """How many cells were scored from other files; None where a side does not say from which."""
    if a.is_table or b.is_table:
        return None
    left, right = (_digests(one.board, systems, tracks) for one in (a, b))
    cells = reference = estimate = 0
    for mine, others in zip(left, right, strict=True):
        if mine and others:
            cells += 1
            (ref_a, _, est_a), (ref_b, _, est_b) = mine.partition(":"), others.partition(":")
            reference += ref_a != ref_b
            estimate += est_a != est_b
    return Inputs(reference, estimate, cells) if cells else None


def _digests(board: Scoreboard, systems: Sequence[str], tracks: Sequence[str]) -> list[str]:
    """Digests of what was scored, cell by cell."""
    whole = np.broadcast_to(board.digests(), (len(board.systems), len(board.tracks)))
    rows = [board.systems.index(name) for name in systems]
    place = {name: at for at, name in enumerate(board.tracks)}
    columns = [place[name] for name in tracks]
    return [str(one) for one in whole[np.ix_(rows, columns)].ravel().tolist()]
