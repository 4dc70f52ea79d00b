"""Backups of a running campaign: accounts, submissions, judgements and stores, consistent with each other.

SQLite's own backup copies the database first, and the files it refers to are copied afterwards: files of submissions
are only ever added, and a store holds at least what the database says. If a file has been removed in between, for
example because a submission was refused, the backup starts over.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Mapping
from contextlib import closing, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...errors import MirflowError
from ...store.generations import resolve, sync_folder, target_of
from .database import revisions
from .service import FOLDERS, Service
from .submissions.submission_tables import CLOSED
from .submissions.uploads import NAMES

FORMAT = 1  # version of the layout of backups
DATABASE, AUDIT, MANIFEST, CAMPAIGN = "campaign.db", "audit.jsonl", "backup.json", "campaign.yaml"
_TRIES = 5
_GRADING = ("grading", "closed")  # folders of rounds that were planned and of rounds that were closed on the pages


class BackupError(MirflowError):
    """A backup cannot be made or restored."""


class _GoneError(Exception):
    """A file was removed while it was copied."""


def make_backup(service: Service, out: Path) -> dict[str, int]:
    """Back up a campaign, whether or not its server and worker are running; returns numbers of what it contains.

    `out`: a file (``.tar.gz``) readable only by its owner; it is put in place once complete.
    """
    if service.database is None:
        raise BackupError("cannot back up stores, which have no accounts or submissions: copy them with cp -rL")
    url, folder = service.database.engine.url, service.folder
    if not service.database.is_sqlite or not url.database:
        raise BackupError(
            f"{url}: end the worker, keep the database by pg_dump --format custom, then {folder} by tar, and start the "
            "worker again (docs/safety.md)"
        )
    if folder is None:
        raise BackupError("nothing to back up: no campaign is served")
    with tempfile.TemporaryDirectory(dir=out.resolve().parent, prefix=".backup-") as place:
        part = Path(place, "backup.tar.gz")
        for left in reversed(range(_TRIES)):
            try:
                made = _write(service, Path(url.database), folder, Path(place), part)
                break
            except _GoneError as gone:
                if not left:
                    raise BackupError(f"{folder}: {gone} although the database refers to it ({_TRIES} tries)") from None
            except OSError as error:
                raise BackupError(f"{out}: cannot be written: {error.strerror or error}") from None
        descriptor = os.open(part, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        part.chmod(0o600)
        part.replace(out)
        sync_folder(out.resolve().parent)
    return made


def _write(service: Service, database: Path, folder: Path, place: Path, part: Path) -> dict[str, int]:
    revision = service.demand_campaign()[1].revision()
    copy = place / DATABASE
    copy.unlink(missing_ok=True)
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        tables = {"account": "user", "submission": "submission"}
        counts = {kind: target.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for kind, name in tables.items()}
        # Submissions that wait for their check go first, as their files are removed afterwards.
        rows = target.execute(
            "SELECT id, name, state, withdrawn IS NOT NULL FROM submission "
            "ORDER BY state IN ('received', 'checking') DESC, number"
        ).fetchall()
    stores = (path for name in ("stores", "public") for path in sorted((folder / name).glob("*.zarr")))
    generations = {str(store.relative_to(folder)): resolve(store).name for store in stores if target_of(store)}
    manifest: dict[str, object] = {"format": FORMAT, "schema": revision, "mirflow": version("mirflow")}
    manifest |= {"date": service.clock().isoformat(timespec="seconds"), "stores": generations}
    with tarfile.open(part, "w:gz", compresslevel=3) as archive:
        _add_bytes(archive, MANIFEST, json.dumps(manifest, indent=2).encode(), service.clock())
        if service.path is not None:
            _add_bytes(archive, CAMPAIGN, service.path.read_bytes(), service.clock())
        archive.add(copy, DATABASE)
        audit = folder / AUDIT
        if audit.exists():
            lines = audit.read_bytes()
            _add_bytes(archive, AUDIT, lines[: lines.rfind(b"\n") + 1], service.clock())
        for id, name, state, withdrawn in rows:
            # Files of a submission that was withdrawn before it was scored are gone, or about to be removed.
            if state in CLOSED or (withdrawn and state != "scored"):
                continue
            # As uploaded before its check, and as checked afterwards.
            waits = state in ("received", "checking")
            needed = folder / "submissions" / id if waits else folder / "systems" / name
            if waits and not (needed / NAMES).exists():
                raise _GoneError(f"the files of submission {name} are gone")
            _add_tree(archive, folder, needed)
            if (folder / "readings" / name).is_dir():  # they do not exist before scoring
                _add_tree(archive, folder, folder / "readings" / name)
        for name in _GRADING:
            if (folder / name).is_dir():
                _add_tree(archive, folder, folder / name)
        for link, generation in generations.items():
            path = folder / link
            stored = path.with_name(f".{path.name}.d") / generation
            _add_tree(archive, folder, stored)
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"{stored.parent.name}/{generation}"
            archive.addfile(entry)
    return {**counts, "store": len(generations)}


def _add_tree(archive: tarfile.TarFile, folder: Path, tree: Path) -> None:
    try:
        if not tree.is_dir():
            raise _GoneError(f"{tree} is gone")
        archive.add(tree, str(tree.relative_to(folder)))
    except FileNotFoundError as error:
        raise _GoneError(f"{error.filename} is gone") from None


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes, now: dt.datetime) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(data), int(now.timestamp()), 0o600
    archive.addfile(info, io.BytesIO(data))


def restore_backup(file: Path, folder: Path) -> Mapping[str, Any]:
    """Restore a backup to a folder that does not exist or is empty.

    `folder`: folder for the campaign's accounts, submissions and stores.
    """
    if folder.exists() and any(folder.iterdir()):
        raise BackupError(f"{folder}: is not empty; move its contents away before restoring a backup")
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".restore-"))
    try:
        try:
            with tarfile.open(file, "r:gz") as archive:
                first = archive.next()
                content = archive.extractfile(first) if first is not None and first.name == MANIFEST else None
                if content is None:
                    raise BackupError(f"{file}: not a backup of a campaign: it does not begin with {MANIFEST}")
                manifest: dict[str, Any] = json.load(content)
                if manifest["format"] != FORMAT or manifest["schema"] not in revisions():
                    raise BackupError(
                        f"{file}: was made by mirflow {manifest['mirflow']}, which is newer than this one; restore it "
                        "with that version"
                    )
                for member in archive:
                    if member.name != CAMPAIGN and member.name != MANIFEST:
                        archive.extract(member, place, filter="data")
        except (tarfile.TarError, EOFError, OSError, ValueError) as error:
            raise BackupError(f"{file}: not a backup of a campaign, or damaged: {error}") from None
        if not (place / DATABASE).is_file():
            raise BackupError(f"{file}: damaged backup: the database is missing")
        try:
            with closing(sqlite3.connect(place / DATABASE)) as database:
                (verdict,) = database.execute("PRAGMA integrity_check").fetchone()
        except sqlite3.DatabaseError as error:
            verdict = str(error)
        if verdict != "ok":
            raise BackupError(f"{file}: damaged backup: the database is corrupt: {verdict}")
        for name in FOLDERS:
            (place / name).mkdir(mode=0o700, exist_ok=True)
        place.chmod(0o700)
        with suppress(FileNotFoundError):
            folder.rmdir()
        place.rename(folder)
        sync_folder(folder.parent)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return manifest
