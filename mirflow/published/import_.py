"""Import of published scores into a store, for queries, tests, figures and reports."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from ..cells import GroupContent, Status
from ..errors import StoreError
from ..store.format import IMPORTED
from ..store.write import StoreWriter
from .scores import read_published


@dataclass(frozen=True)
class ImportReport:
    """Result of an import.

    Parameters
    ----------
    store : Path
    shapes : mapping of str to (int, int, int)
        For each group the number of systems, tracks and metrics.
    missing : mapping of str to int
        For each group the number of (system, track) cells without a score.
    """

    store: Path
    shapes: Mapping[str, tuple[int, int, int]]
    missing: Mapping[str, int]


def import_scores(
    mapping: str | Path,
    store: str | Path,
    *,
    root: str | Path | None = None,
    table: str | Path | None = None,
    overwrite: bool = False,
) -> ImportReport:
    """Bring the scores of published tables into a store.

    Parameters
    ----------
    mapping : path
        A mapping file: which metric is in which column of which table.
    store : path
        A new store, or one of imported scores; groups of the same name are replaced, others stay.
    root : path or None
        Instead of that of the mapping.
    table : path or None
        A table instead of the one that the mapping names.
    overwrite : bool
        Whether a group that another mapping brought may be replaced.

    Returns
    -------
    ImportReport

    Raises
    ------
    PipelineError
        With all problems of the mapping.
    AnnotationError
        For the first thing in a table that is not as the mapping says, with file and line.
    StoreError
        If a pipeline writes the store, whose next run would remove what is imported, or it cannot be written.

    Notes
    -----
    A score without a weight in its table weighs 1, and its metric can be averaged but not pooled.
    """
    published = read_published(mapping, root=root, table=table)
    brought = {one.name: one for one in published.groups}
    with StoreWriter(store) as writer:
        if writer.groups() and IMPORTED not in writer.attrs():
            raise StoreError(
                f"{writer.path}: holds the scores of a pipeline, whose next run would remove what is imported; "
                "name another store"
            )
        before = [content for name in writer.groups() if (content := writer.previous(name)) is not None]
        _refuse(before, brought, published.name, writer.path, overwrite)
        kept = [content for content in before if content.name not in brought]
        versions = {one: version(one) for one in ("mirflow", "numpy", "zarr")} | {"python": platform.python_version()}
        mappings = sorted({str(content.attrs[IMPORTED]) for content in (*kept, *brought.values())})
        attrs = {"name": ", ".join(mappings), IMPORTED: mappings, "versions": versions}
        writer.publish([*kept, *brought.values()], attrs)
        path = writer.path
    shapes = {one.name: (len(one.systems), len(one.tracks), len(one.measures)) for one in published.groups}
    missing = {one.name: int((one.cells.status != Status.ok).sum()) for one in published.groups}
    return ImportReport(path, shapes, missing)


def _refuse(
    before: Iterable[GroupContent], brought: Mapping[str, GroupContent], name: str, path: Path, overwrite: bool
) -> None:
    """Raise where scores would be lost that nobody asked to replace."""
    for content in before:
        origin = content.attrs.get(IMPORTED)
        if content.name in brought and origin != name and not overwrite:
            raise StoreError(f"{path}: group {content.name!r} was imported from {origin!r}; --overwrite replaces it")
