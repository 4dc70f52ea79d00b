"""The one door through which a run writes a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import StoreError
from .format import GroupContent, check, write_group
from .generations import Generations, WriterLock, remove, storing
from .journal import Journal
from .read import CREATED, FORMAT, FORMAT_KEY, open_checked, read_group, reading


class StoreWriter:
    """A store that this process, and no other, writes.

    Parameters
    ----------
    path : str or path
        Where the store is or will be.

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
    >>> from mirflow.cells import Cells
    >>> none = np.zeros(1, dtype=np.int64)
    >>> cells = Cells(("KO1",), ("a",), ("root",), np.array([[0.8]]), np.array([[60.0]]), none.astype(np.int8) + 1,
    ...               none.astype(np.int32), ("",), ("1f:2e",), none, np.array([60.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(Path(folder) / "x.zarr") as writer:
    ...         _ = writer.publish([GroupContent("chord", ("KO1", "NG1"), ("a",), cells)], {"name": "demo"})
    ...         writer.previous("chord").systems, len(writer.previous("chord").cells)
    (('KO1', 'NG1'), 1)
    """

    def __init__(self, path: str | Path) -> None:
        self._generations = Generations(path)
        self.path = self._generations.path
        with storing(self.path):
            self._generations.create()
        self._lock = WriterLock(self._generations.folder, self.path)

    def __enter__(self) -> StoreWriter:
        self._lock.__enter__()
        try:
            self._generations.refuse_foreign()
            with storing(self.path):
                self._generations.clean()
                self.journal = self._open_journal()
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._lock.__exit__(kind, value, tb)

    def _open_journal(self) -> Journal:
        """The journal on top of the current generation; those of others are published or have lost their ground."""
        mine = self._generations.folder / f"journal-{self._generations.current_number:06d}"
        for other in self._generations.folder.glob("journal-*"):
            if other != mine:
                remove(other)
        return Journal(mine)

    def groups(self) -> tuple[str, ...]:
        """Names of the groups that the store has now."""
        current = self._generations.current
        if current is None:
            return ()
        with reading(self.path):
            return tuple(sorted(open_checked(current, self.path).group_keys()))

    def attrs(self) -> Mapping[str, Any]:
        """Attributes of the store as it is now; none where there is no store yet."""
        current = self._generations.current
        if current is None:
            return {}
        with reading(self.path):
            return dict(open_checked(current, self.path).attrs)

    def previous(self, name: str) -> GroupContent | None:
        """What the store has of an evaluation now; None where there is no such group or no store yet."""
        return read_group(self.path, name) if name in self.groups() else None

    def publish(
        self, contents: Iterable[GroupContent], attrs: Mapping[str, Any] | None = None, created: str | None = None
    ) -> Path:
        """Put a new generation in place, with these groups and no others, and empty the journal, in one step.

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

        Raises
        ------
        StoreError
            If a content contradicts itself, or the disk refuses; the store stays as it was.
        """
        from .zarr_io import consolidate, new_root

        contents = list(contents)
        names = [content.name for content in contents]
        if len(set(names)) != len(names):
            raise StoreError(f"{self.path}: a group is given twice among {', '.join(names)}")
        for content in contents:
            check(content)
        stamp = {CREATED: created or datetime.now(UTC).isoformat(timespec="seconds")}
        with storing(self.path):
            building = self._generations.start()
            root = new_root(building, {**(attrs or {}), FORMAT_KEY: FORMAT, **stamp})
            for content in contents:
                write_group(root, content, stamp)
            consolidate(root)
            target = self._generations.publish(building)
            self.journal = self._open_journal()
        return target
