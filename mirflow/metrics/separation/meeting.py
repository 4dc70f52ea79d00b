"""Which estimated source is meant for which reference source, and whether the two sides can be compared at all."""

from __future__ import annotations

from dataclasses import dataclass

from ...ragged import Ragged
from .cleaning import name_of
from .recording import Recording, from_row

_HINT = "the option sources says which to compare"


class CannotMeet(Exception):
    """The sides of a pair cannot be compared; the message says why."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of a pair, source by source.

    Parameters
    ----------
    reference, estimate : Recording
    names : tuple of str
        Of the reference sources.
    rate : float, Hz
    refitted : int
        Estimated sources that were cut or padded to the length of the references.
    """

    reference: Recording
    estimate: Recording
    names: tuple[str, ...]
    rate: float
    refitted: int


def meet(references: Ragged, estimates: Ragged, rows: tuple[int, int], refit: bool) -> Sides:
    """The sources of a pair of rows, matched by their names, or by their order where a side has no names.

    Parameters
    ----------
    references, estimates : Ragged
    rows : (int, int)
        Row of each; neither is empty.
    refit : bool
        Whether an estimate of another length is cut or padded with silence, as museval does.

    Returns
    -------
    Sides

    Raises
    ------
    CannotMeet
        If sources are missing or more than there should be, or sampling rates, channels or lengths differ.
    """
    names = _names(references, rows[0]), _names(estimates, rows[1])
    order = _order(names, (int(references.counts[0][rows[0]]), int(estimates.counts[0][rows[1]])))
    reference = from_row(references, rows[0])
    rate = reference.signals[0].rate
    refitted = 0
    for side, table, row in (("reference", references, rows[0]), ("estimated", estimates, rows[1])):
        first, last = table.offsets[row : row + 2].tolist()
        for item in range(first, last):
            signal = table.columns["signal"][item]
            name = f"{side} {name_of(table, item, first)}"
            _same(name, "is sampled at", signal.rate, "Hz", rate)
            _same(name, "has", signal.channels, "channels", reference.channels)
            if refit and side == "estimated":
                refitted += signal.frames != reference.frames
            else:
                _same(name, "has", signal.frames, "samples", reference.frames)
    estimate = from_row(estimates, rows[1], reference.frames).take(order)
    plain = tuple(f"{number:02d}" for number in range(len(reference)))
    return Sides(reference, estimate, plain if names[0] is None else names[0], rate, refitted)


def _same(name: str, has: str, value: float, unit: str, expected: float) -> None:
    if value != expected:
        raise CannotMeet(f"{name} {has} {value:g} {unit}, the first reference source {expected:g}")


def _names(rows: Ragged, row: int) -> tuple[str, ...] | None:
    """The names of a row's sources; None if one has none."""
    if "label" not in rows.columns:
        return None
    first, last = rows.offsets[row : row + 2]
    codes = rows.columns["label"][first:last].tolist()
    return None if min(codes, default=-1) < 0 else tuple(rows.labels[code] for code in codes)


def _order(names: tuple[tuple[str, ...] | None, tuple[str, ...] | None], counts: tuple[int, int]) -> list[int]:
    """The estimated source for each reference source."""
    wanted, given = names
    for side, own in (("reference", wanted), ("estimated", given)):
        for name in own or ():
            if own is not None and own.count(name) > 1:
                raise CannotMeet(f"two {side} sources are called {name!r}")
    if wanted is None or given is None:
        if counts[0] != counts[1]:
            raise CannotMeet(f"{counts[1]} estimated sources stand against {counts[0]} reference sources")
        return list(range(counts[0]))
    missing = [name for name in wanted if name not in given]
    more = [name for name in given if name not in wanted]
    if missing:
        raise CannotMeet(
            f"no estimate of source {', '.join(map(repr, missing))}; there are {', '.join(given)}; {_HINT}"
        )
    if more:
        raise CannotMeet(
            f"no reference of estimated source {', '.join(map(repr, more))}; there are {', '.join(wanted)}; {_HINT}"
        )
    return [given.index(name) for name in wanted]
