"""The files of one evaluation, as the pipeline of one store names them, and what that store says of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ...analysis.scoreboard import Array, Scoreboard
from ...plan import EvaluationPlan, Reference
from ...readers.sources import Source
from .sources import Shelf

REFERENCE = ""
"""Stands for the references among the names of systems whose files have changed."""


class Files:
    """The files of an evaluation in one store.

    Parameters
    ----------
    board : Scoreboard
        What was scored, as this store holds it: its systems, and the digests of the files.
    plan : EvaluationPlan
        The files that there are now.
    store : str
        What the store is called; empty where there is no other.
    prefix : str
        What stands before its systems' names where several stores are one.
    """

    def __init__(self, board: Scoreboard, plan: EvaluationPlan, store: str = "", prefix: str = "") -> None:
        self.board, self.plan, self.store = board, plan, store
        self._planned = {track: place for place, track in enumerate(plan.tracks)}
        self._scored = {track: place for place, track in enumerate(board.tracks)}
        own = {name: place for place, name in enumerate(plan.systems)}
        self._rows = {f"{prefix}{name}": plan.estimates[place] for name, place in own.items()}
        self._systems = {f"{prefix}{name}": place for place, name in enumerate(board.systems)}
        self._digests: Array = board.digests()

    def has(self, track: str) -> bool:
        """Whether there are files of a track."""
        return track in self._planned

    def plans(self, system: str) -> bool:
        """Whether the pipeline has a system."""
        return system in self._rows

    def references(self, track: str) -> tuple[Reference, ...]:
        """The references of a track."""
        return self.plan.references[self._planned[track]]

    def estimate(self, system: str, track: str) -> Source | None:
        """The estimate of a system for a track; None if there is none."""
        return self._rows[system][self._planned[track]]

    def changed(self, track: str, shelf: Shelf) -> list[str]:
        """Systems whose estimates are not what was scored, and `REFERENCE`; nothing where that is not known."""
        if self._digests.ndim != 2 or track not in self._scored:
            return []
        column = self._digests[:, self._scored[track]].tolist()
        scored = {name: str(column[place]).partition(":") for name, place in self._systems.items()}
        now = _merge([shelf.digest(one.source) for one in self.references(track)])
        changed = [REFERENCE] if any(old and old != now for old, _, _ in scored.values()) else []
        for name, (_, _, old) in scored.items():
            source = self.estimate(name, track) if self.plans(name) else None
            if old and old != ("" if source is None else shelf.digest(source)):
                changed.append(name)
        return changed


def _merge(digests: Sequence[str]) -> str:
    """The digest of all references of a track together."""
    if len(digests) < 2:
        return "".join(digests)
    return hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()
