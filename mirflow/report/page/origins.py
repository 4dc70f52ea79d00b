"""The stores that a page is about: what each has scored, and where its files are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...analysis.accessor import Stores, name_stores, open_store
from ...analysis.query import boards_of
from ...analysis.scoreboard import Scoreboard, read_store
from ...annotations.schema import TASK_KINDS
from ...errors import QueryError
from ...metrics.base import get_task
from .files import Files
from .sources import Found, find_plans

_NAMED = 3
"""Tasks that a title names; of more it says how many."""
Roots = str | Path | Sequence[str | Path] | None


@dataclass(frozen=True)
class Origin:
    """One of the stores that a page is about.

    Parameters
    ----------
    name : str
        Empty where there is no other.
    prefix : str
        What stands before its systems' names.
    boards : mapping of str to Scoreboard
        Its evaluations, as it holds them.
    found : Found
        Its files.
    """

    name: str
    prefix: str
    boards: Mapping[str, Scoreboard]
    found: Found

    def files(self, evaluation: str) -> Files | None:
        """The files of an evaluation, as far as they are there."""
        plan = self.found.plans.get(evaluation)
        if plan is None or evaluation not in self.boards:
            return None
        return Files(self.boards[evaluation], plan, self.name, self.prefix)

    def systems(self, evaluation: str) -> list[str]:
        """The systems of an evaluation as the page calls them."""
        return [f"{self.prefix}{name}" for name in self.boards[evaluation].systems]

    def reason(self, evaluation: str) -> str:
        """Why there are no files of an evaluation that it has; empty: there are."""
        if evaluation not in self.boards or evaluation in self.found.plans:
            return ""
        reason = self.found.reason or "The pipeline no longer has this evaluation."
        return f"{self.name}: {reason}" if self.name else reason

    def as_json(self) -> dict[str, Any]:
        """What the page says of where its numbers come from."""
        one = next(iter(self.boards.values()))
        return {"name": self.name, "pipeline": str(one.attrs.get("pipeline", ""))}


def read_origins(store: Stores, roots: Roots = None) -> tuple[dict[str, Scoreboard], list[Origin]]:
    """The evaluations of a store, or of several as one, and the stores that they come from.

    Parameters
    ----------
    store : path, sequence of paths, or mapping of labels to paths
        As for :func:`mirflow.open_store`.
    roots : path, sequence of paths, or None
        Where the annotations are now: one for all stores, or one for each.

    Raises
    ------
    StoreError
        If there is no such store.
    QueryError
        If there are no scores in it, stores cannot be joined, or there are not as many roots as stores.
    """
    paths = _paths(store)
    own = _roots(roots, len(paths))
    single = len(paths) == 1 and not isinstance(store, Mapping)
    origins = []
    for (name, path), root in zip(paths.items(), own, strict=True):
        boards = read_store(path)
        if not boards:
            raise QueryError(f"{path}: there are no scores in this store")
        found = find_plans(next(iter(boards.values())).attrs, root)
        prefix = f"{name}/" if isinstance(store, Mapping) else ""
        origins.append(Origin("" if single else name, prefix, boards, found))
    if single:
        return dict(origins[0].boards), origins
    return boards_of(open_store(store)), origins


def _paths(store: Stores) -> dict[str, str | Path]:
    if isinstance(store, Mapping):
        return dict(store)
    return name_stores([store] if isinstance(store, str | Path) else store)


def _roots(roots: Roots, stores: int) -> list[str | Path | None]:
    if roots is None or isinstance(roots, str | Path):
        return [roots] * stores
    if len(roots) not in (0, 1, stores):
        raise QueryError(f"{len(roots)} roots for {stores} stores; give one for all of them, or one for each")
    own: list[str | Path | None] = [*roots]
    return own if len(own) == stores else (own or [None]) * stores


def page_title(boards: Mapping[str, Scoreboard]) -> str:
    """What a page is called: what was evaluated, and how much of it.

    Parameters
    ----------
    boards : mapping of str to Scoreboard
    """
    tasks = [
        get_task(name).title
        for name in dict.fromkeys(str(one.attrs.get("task", "")) for one in boards.values())
        if name in TASK_KINDS
    ]
    systems = len({name for one in boards.values() for name in one.systems})
    tracks = len({name for one in boards.values() for name in one.tracks})
    what = (
        f"{len(tasks)} tasks"
        if len(tasks) > _NAMED
        else ", ".join([*tasks[:1], *(one[0].lower() + one[1:] for one in tasks[1:])])
    )
    size = f"{systems} system{'s' * (systems != 1)}, {tracks} track{'s' * (tracks != 1)}"
    return f"{what or 'Evaluation'}: {size}"


def store_names(store: Stores) -> str:
    """The labels or the names of stores, as one."""
    names = [Path(one).absolute().name.removesuffix(".zarr") for one in _paths(store).values()]
    name = " + ".join(store if isinstance(store, Mapping) else names)
    # The name of a folder may hold bytes that are no text.
    return name.encode("utf-8", "replace").decode("utf-8")
