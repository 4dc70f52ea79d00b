"""Writing of a store by a run: generation after generation, each put in place in one step.

The generation before the current one stays for its readers. `save` writes scores in memory or lazy ones, or adds them
to a store.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..remote import parse_address
from .cells import GroupContent
from .chunks import write_group
from .format import check
from .generations import (
    POINTER,
    WINDOWS,
    HeldStore,
    demand_path,
    generation_number,
    locked,
    move,
    remove,
    storing,
    sync_folder,
    target_of,
    write_synced,
)
from .journal import Journal
from .read import content_of, open_groups, read_store
from .repositories import RepositoryWriter
from .stored import CREATED, FORMAT, FORMAT_KEY

if TYPE_CHECKING:
    import xarray as xr


@cache  # parsing the metadata of a package takes a millisecond
def software_versions() -> Mapping[str, str]:
    """The versions of the software that computed and wrote a store."""
    import platform
    from importlib.metadata import version

    return {name: version(name) for name in ("mirflow", "numpy", "zarr")} | {"python": platform.python_version()}


class StoreWriter(HeldStore):
    """A store that this process, and no other, writes.

    Parameters
    ----------
    path : str or path
        Where the store is or will be.
    patience : float
        Seconds to wait for another process that is writing the store.

    Attributes
    ----------
    journal : Journal
        Finished blocks that are not published yet: those of a run that was interrupted, and what is appended now.
        It belongs to the generation it builds upon, so publishing empties it in the same step.

    Raises
    ------
    StoreError
        If something that is not ours lies at the path, or the folder cannot be written.
    StoreLockedError
        If another process is writing the store.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from mirflow.store.cells import Cells
    >>> none = np.zeros(1, dtype=np.int64)
    >>> cells = Cells(("KO1",), ("a",), ("root",), np.array([[0.8]]), np.array([[60.0]]), none.astype(np.int8) + 1,
    ...               none.astype(np.int32), ("",), ("1f:2e",), none, np.array([60.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(Path(folder) / "x.zarr") as writer:
    ...         _ = writer.publish([GroupContent("chord", ("KO1", "NG1"), ("a",), cells)], {"name": "demo"})
    ...         [(name, before.systems) for name, before in writer.contents().items()]
    [('chord', ('KO1', 'NG1'))]
    """

    shared = False
    """Whether other processes may write at the same time."""

    def __init__(self, path: str | Path, patience: float = 0.0) -> None:
        self._patience = patience
        # Not resolved: the last part of the path is the link itself.
        self.path = demand_path(path).parent.resolve() / Path(path).name
        self.folder = self.path.with_name(f".{self.path.name}.d")
        self._refuse_foreign()
        with storing(self.path):
            self.folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> StoreWriter:
        with ExitStack() as stack:
            stack.enter_context(locked(self.folder, self.path, self._patience))
            self._refuse_foreign()
            with storing(self.path):
                self._clean()
                self.journal = Journal(self.folder / f"journal-{self.current:06d}")
            self._stack = stack.pop_all()
        return self

    def attrs(self) -> Mapping[str, Any]:
        """Attributes of the current store; empty if it does not exist yet."""
        return read_store(self.path, lambda root: dict(root.attrs)) if target_of(self.path) else {}

    def contents(self) -> dict[str, GroupContent]:
        """Present contents of all evaluations, by name; empty if there is no store yet.

        Their results are `stored`: published again, they stay where they are and are not read.
        """
        return open_groups(self.path) if target_of(self.path) else {}

    def publish(
        self, contents: Iterable[GroupContent], attrs: Mapping[str, Any] | None = None, created: str | None = None
    ) -> Path:
        """Put a new generation in place, with these groups and no others, and empty the journal, in one step.

        Files of systems whose results are `stored` and stay as they are become hard links to these, or copies where the
        file system has no links.

        Parameters
        ----------
        contents : iterable of GroupContent
        attrs : mapping or None
            Attributes of the root, as JSON.
        created : str or None
            Time of creation for the attribute ``created``, ISO 8601; None: now. Everything else that is written
            depends on the content alone.

        Returns
        -------
        Path
            The folder of the new generation.
        """
        from .zarr_io import building

        contents = list(contents)
        names = [content.name for content in contents]
        if len({name.casefold() for name in names}) != len(names):
            raise StoreError(
                f"{self.path}: duplicate group among {', '.join(names)} (upper and lower case are the same)"
            )
        for content in contents:
            check(content)
        stamp = {CREATED: created or datetime.now(UTC).isoformat(timespec="seconds")}
        with storing(self.path):
            folder = self._start()
            with building(folder, {**(attrs or {}), FORMAT_KEY: FORMAT, **stamp}) as root:
                for content in contents:
                    write_group(root, content, stamp)
            target = self._put(folder)
            self.journal = Journal(self.folder / f"journal-{self.current:06d}")
        return target

    def earlier(self) -> list[Path]:
        """The folders of generations before the current one, which their readers may still have open."""
        numbered = ((generation_number(path), path) for path in self.folder.iterdir())
        return [path for number, path in numbered if number is not None and number != self.current]

    def forget(self) -> None:
        """Remove the earlier generations, whose contents must not be read any more."""
        with storing(self.path):
            self._clean(keep=self.current)

    def _refuse_foreign(self) -> None:
        """Raise where the path is taken by something that is not ours to replace."""
        target = target_of(self.path)
        if target is not None:
            if target.parent != Path(self.folder.name) or generation_number(target) is None:
                raise StoreError(
                    f"{self.path}: is a link to {target} that mirflow did not make; name the store itself, or remove it"
                )
        elif self.path.exists():
            what = "a folder" if self.path.is_dir() else "a file"
            raise StoreError(
                f"{self.path}: is {what} that mirflow's runs did not make (a copy of a store can be read but not "
                f"written); name another store, or move it away"
            )

    @property
    def current(self) -> int:
        """The number of the generation that the path leads to; 0 before the first."""
        target = target_of(self.path)
        return 0 if target is None else generation_number(target) or 0

    def _start(self) -> Path:
        """An empty folder to build the next generation in."""
        self._discard(self.folder / "building")
        (self.folder / "building").mkdir()
        return self.folder / "building"

    def _put(self, building: Path) -> Path:
        """Put a built generation in place in one step, remove those before the previous one, and return its folder."""
        numbers = [number for entry in self.folder.iterdir() if (number := generation_number(entry)) is not None]
        target = self.folder / f"generation-{max([self.current, *numbers]) + 1:06d}"
        for inner, _, _ in os.walk(building):
            sync_folder(Path(inner))
        building.rename(target)
        sync_folder(self.folder)
        previous = self.current
        self._link(target)
        self._clean(keep=previous)
        return target

    def _link(self, target: Path) -> None:
        """Let the path lead to a generation from one moment on. Windows replaces no links to folders, and makes none
        outside of its developer mode; some file systems make none."""
        temporary, relative = self.folder / "link", target.relative_to(self.path.parent)
        temporary.unlink(missing_ok=True)
        try:
            if WINDOWS:
                raise NotImplementedError
            temporary.symlink_to(relative)
        except (OSError, NotImplementedError):
            write_synced(temporary, f"{POINTER}{relative.as_posix()}\n".encode())
        self._refuse_foreign()  # checked again, as replacing could destroy data written by others meanwhile
        move(temporary, self.path)
        sync_folder(self.path.parent)

    def _clean(self, keep: int = 0) -> None:
        """Remove what no reader needs: half-built generations, unpublished ones, those before the previous one; and the
        journals on top of other generations than the current one."""
        current = self.current
        numbers = {entry: generation_number(entry) for entry in self.folder.iterdir()}
        older = [number for number in numbers.values() if number is not None and number < current]
        kept = {current, keep or max(older, default=0)}
        for entry, number in numbers.items():
            unfinished = entry.name in ("building", "link") or entry.name.startswith("discarded-")
            if unfinished or (number is not None and number not in kept):
                try:
                    self._discard(entry)
                except PermissionError:
                    # A reader has a file open, and Windows removes none of these: the next run tries again.
                    if not WINDOWS:
                        raise
        for journal in self.folder.glob("journal-*"):
            if journal.name != f"journal-{current:06d}":  # it is published, or has lost its ground
                remove(journal)

    def _discard(self, entry: Path) -> None:
        """Remove a folder so that its readers find all of it or, from one moment on, nothing."""
        if entry.is_symlink() or not entry.is_dir():
            remove(entry)
            return
        away = entry if entry.name.startswith("discarded-") else entry.with_name(f"discarded-{entry.name}")
        if away != entry:
            remove(away)
            entry.rename(away)
        remove(away)


Writer = StoreWriter | RepositoryWriter


def open_writer(path: str | Path) -> Writer:
    """The writer of a store in a folder, or of one at an address such as ``s3://bucket/stores/x``."""
    return StoreWriter(path) if parse_address(path) is None else RepositoryWriter(path)


def save(
    scores: xr.Dataset | xr.DataTree, path: str | Path, group: str | None = None, *, overwrite: bool = False
) -> Path | str:
    """Write scores, in memory or lazy, as a result store, which all commands read, or add them to one.

    Parameters
    ----------
    scores : xr.Dataset or xr.DataTree
        One evaluation, as :func:`mirflow.score` and groups of stores have it, perhaps only some of its systems, tracks
        and metrics; or a tree of them, each a group.
    path : str or path
        By custom ``*.zarr``; or an address such as ``s3://bucket/stores/x``. Other groups of a store that is there are
        kept.
    group : str or None
        Name of the group, an identifier; None: the task. A tree has its names.
    overwrite : bool
        Whether groups of these names are replaced.

    Returns
    -------
    Path or str
        That of the store; an address as text.

    Raises
    ------
    StoreError
        If the object does not hold scores, the group exists, the store cannot be written, or a pipeline writes it,
        whose next run would remove the scores.

    Examples
    --------
    >>> import tempfile
    >>> import mirflow
    >>> scores = mirflow.score({"a": [1.0, 2.0]}, {"a": [1.0]}, "onset")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(scores, Path(folder) / "x.zarr")
    ...     mirflow.open_store(path)["onset"].score.sel(metric="recall").item()
    0.5
    """
    import xarray as xr

    if isinstance(scores, xr.DataTree):
        nodes = [node for node in scores.subtree if "score" in node.data_vars]
        if not nodes:
            raise StoreError("the tree has no scores to save")
        if group is not None and len(nodes) > 1:
            raise StoreError(f"group {group!r}: the tree has {len(nodes)} groups; save them one by one")
        contents = [content_of(node.to_dataset(), group or node.name or None) for node in nodes]
    elif isinstance(scores, xr.Dataset):
        contents = [content_of(scores, group)]
    else:
        raise StoreError(f"not scores: {type(scores).__name__}; save takes the dataset of an evaluation, or a tree")
    with open_writer(path) as writer:
        attrs = writer.attrs()
        if "pipeline" in attrs:
            raise StoreError(
                f"{writer.path}: holds the scores of a pipeline, whose next run would remove what is saved; "
                "name another store"
            )
        names, before = [content.name for content in contents], writer.contents()
        twice = next((name for name in names if name in before), None)
        if twice is not None and not overwrite:
            raise StoreError(f"{writer.path}: holds group {twice!r} already; overwrite=True replaces it")
        kept = [content for name, content in before.items() if name not in names]
        about = {name: value for name, value in attrs.items() if name not in (FORMAT_KEY, CREATED)}
        about = {"name": Path(writer.path).name.removesuffix(".zarr"), **about, "versions": software_versions()}
        writer.publish([*kept, *contents], about)
        return writer.path
