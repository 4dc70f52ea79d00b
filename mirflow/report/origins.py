"""The stores that a page is about, and the annotation files behind them as far as they are still there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..accessor import Stores, name_stores, open_store
from ..analysis.queries import boards_of
from ..analysis.scores import Array, cell_texts, names_of, read_store
from ..annotations.annotation import Annotation, to_ragged
from ..annotations.schema import TASK_KINDS
from ..annotations.source import Source
from ..errors import AnnotationError, MirflowError, PipelineError, QueryError
from ..metrics.base import get_task
from ..pipeline import plan_text
from ..pipeline.plan import EvaluationPlan, Reference
from ..store.packs import open_pack, row_digests

if TYPE_CHECKING:
    import xarray as xr

LONGEST = 300
"""Characters of a label or a message that the page shows."""


def shorten(text: str, longest: int) -> str:
    """A text, cut where it is too long to be looked at.

    Examples
    --------
    >>> shorten("verse", 5), shorten("chorus", 5)
    ('verse', 'chor\N{HORIZONTAL ELLIPSIS}')
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True)
class FoundPlans:
    """The plans of a store's evaluations, or why there are none."""

    plans: Mapping[str, EvaluationPlan] = field(default_factory=dict)
    reason: str = ""


def find_plans(attrs: Mapping[str, Any], root: str | Path | None = None) -> FoundPlans:
    """What the pipeline that made a store names, with the files that there are now.

    Parameters
    ----------
    attrs : mapping
        Of one evaluation of the store: ``pipeline``, the text, and ``root``.
    root : path or None
        Where the annotations are now; None: where they were.
    """
    text, folder = attrs.get("pipeline"), root if root is not None else attrs.get("root")
    if not text:
        return FoundPlans(reason="The store does not say which pipeline made it.")
    if not folder:
        return FoundPlans(reason="The store does not say where its annotations were; name their folder with --root.")
    if not os.path.isdir(folder):  # noqa: PTH112 - a folder as text, as everywhere in pipelines
        return FoundPlans(reason="The folder of the annotations is gone; name the one where they are now with --root.")
    try:
        planned = plan_text(str(text), folder, open_pack=open_pack)
    except PipelineError as error:
        return FoundPlans(reason=f"The annotations cannot be found: {error.problems[0]}")
    except MirflowError as error:
        return FoundPlans(reason=f"The annotations cannot be found: {error}")
    return FoundPlans({plan.name: plan for plan in planned.plans})


class Shelf:
    """Annotations by source, each read once, and what is wrong with those that cannot be read."""

    def __init__(self) -> None:
        self._read: dict[Source, tuple[Annotation | str, str]] = {}
        self._contents: dict[Source, str] = {}

    def read(self, source: Source) -> Annotation | str:
        """The annotation, or why there is none."""
        return self._find(source)[0]

    def digest(self, source: Source) -> str:
        """The digest of the annotation; empty where there is none."""
        return self._find(source)[1]

    def contents(self, source: Source) -> str:
        """A digest of what the annotation says, whatever it was read from; empty where there is none."""
        if source not in self._contents:
            found = self.read(source)
            self._contents[source] = "" if isinstance(found, str) else _digest_contents(found)
        return self._contents[source]

    def _find(self, source: Source) -> tuple[Annotation | str, str]:
        if source not in self._read:
            try:
                self._read[source] = source.read()
            except (AnnotationError, OSError) as error:
                self._read[source] = shorten(str(error), LONGEST), ""
        return self._read[source]


def _digest_contents(annotation: Annotation) -> str:
    (digest,) = row_digests(annotation.kind, to_ragged([annotation]))
    return digest


REFERENCE = ""
"""Stands for the references among the names of systems whose files have changed."""


class Files:
    """The files of an evaluation in one store.

    Parameters
    ----------
    ds : xr.Dataset
        What was scored, as this store holds it: its systems, and the digests of the files.
    plan : EvaluationPlan
        The files that there are now.
    store : str
        What the store is called; empty where there is no other.
    prefix : str
        What stands before its systems' names where several stores are one.
    """

    def __init__(self, ds: xr.Dataset, plan: EvaluationPlan, store: str = "", prefix: str = "") -> None:
        self.ds, self.plan, self.store = ds, plan, store
        self._planned = {track: place for place, track in enumerate(plan.tracks)}
        self._scored = {track: place for place, track in enumerate(names_of(ds, "track"))}
        own = {name: place for place, name in enumerate(plan.systems)}
        self._rows = {f"{prefix}{name}": plan.estimates[place] for name, place in own.items()}
        self._systems = {f"{prefix}{name}": place for place, name in enumerate(names_of(ds, "system"))}
        self._digests: Array = cell_texts(ds, "digest")

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
    boards : mapping of str to xr.Dataset
        Its evaluations, as it holds them.
    found : FoundPlans
        Its files.
    """

    name: str
    prefix: str
    boards: Mapping[str, xr.Dataset]
    found: FoundPlans

    def files(self, evaluation: str) -> Files | None:
        """The files of an evaluation, as far as they are there."""
        plan = self.found.plans.get(evaluation)
        if plan is None or evaluation not in self.boards:
            return None
        return Files(self.boards[evaluation], plan, self.name, self.prefix)

    def systems(self, evaluation: str) -> list[str]:
        """The systems of an evaluation as the page calls them."""
        return [f"{self.prefix}{name}" for name in names_of(self.boards[evaluation], "system")]

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


def read_origins(store: Stores, roots: Roots = None) -> tuple[dict[str, xr.Dataset], list[Origin]]:
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


def page_title(boards: Mapping[str, xr.Dataset]) -> str:
    """What a page is called: what was evaluated, and how much of it.

    Parameters
    ----------
    boards : mapping of str to xr.Dataset
    """
    tasks = [
        get_task(name).title
        for name in dict.fromkeys(str(one.attrs.get("task", "")) for one in boards.values())
        if name in TASK_KINDS
    ]
    systems = len({name for one in boards.values() for name in names_of(one, "system")})
    tracks = len({name for one in boards.values() for name in names_of(one, "track")})
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
