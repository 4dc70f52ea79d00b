"""State shared by all pages of a server: stores, campaign, database and clock; and backups of it.

A service is opened from stores or from a campaign file. It says which parts of a store are public. The address
of a running server is noted for commands.

A backup of a running campaign has accounts, submissions, judgements and stores, consistent with each other: SQLite
copies the database first, and the files it refers to are copied afterwards. Files of submissions are only ever added,
and a store holds at least what the database says. If a file has been removed in between, for example because a
submission was refused, the backup starts over.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import re
import secrets
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ...errors import MirflowError, QueryError, StoreError, UnknownNameError
from ...store.generations import resolve, sync_folder, target_of, write_atomically
from ..file import Campaign, Split, is_campaign, load_campaign
from ..site.archive import Archive, has_years, read_archive
from ..site.pages import ADDRESSES, LiveLinks
from .accounts import AuditLog
from .cache import CORS, Answers, Pictures, Stores
from .database import Database, revisions
from .limits import Network, RateLimits
from .recordings import Recordings

_FIRST_SEGMENTS = {path.split("/")[1].partition(".")[0] for path in ADDRESSES.values() if path != "/"}
# First path segments used by the server itself.
OWN_PATHS = frozenset({"api", "health", "login", "metrics", *_FIRST_SEGMENTS})
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")
PORT = 8765
HOST = "127.0.0.1"
_ADDRESS = "server.address"
NAMES = "names.json"  # file in the folder of an upload with the names of its files
# Files of a campaign, and of a backup of it.
DATABASE, AUDIT, MANIFEST, CAMPAIGN = "campaign.db", "audit.jsonl", "backup.json", "campaign.yaml"


class Disclosure(NamedTuple):
    """The public parts of a store; if all are, its files may be read."""

    references: bool  # references, and messages that may quote them
    by_track: bool  # scores and names of single tracks


@dataclass
class Service:
    """State of a server; without a campaign it has no database and is read-only."""

    title: str
    stores: dict[str, Path]  # stores to browse, by name
    campaign: Campaign | None = None
    path: Path | None = None  # the campaign file
    folder: Path | None = None  # state folder with accounts, submissions and stores
    database: Database | None = None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)  # key for signatures
    base_url: str = ""  # public address of the server; empty: the address that it listens on
    clock: Callable[[], dt.datetime] = field(default=lambda: dt.datetime.now(dt.UTC))  # returns the time in UTC
    proxies: Sequence[Network] = ()  # addresses of proxies that are trusted to report the client's address
    user_header: str = ""  # header in which a proxy names the authenticated user; empty: disabled
    rates: RateLimits = field(default_factory=RateLimits)
    without_references: bool = False
    only_aggregates: bool = False  # restrictions for all stores, in addition to those of the campaign
    archive: Path | None = None  # a table of past years
    cors: bool = False  # whether scripts on other sites may read public data
    # Folders with the annotations for timelines, by store, where they differ from the folder used by its run.
    roots: Mapping[str, Path] = field(default_factory=dict)
    _years: dict[str, bool] = field(default_factory=dict, repr=False)
    _table: tuple[str, Archive] | None = field(default=None, repr=False)

    def demand_campaign(self) -> tuple[Campaign, Database]:
        """Return the campaign and its database; an error without a campaign."""
        if self.campaign is None or self.database is None:
            raise MirflowError("no campaign is served, so there are no accounts, submissions and judgements")
        return self.campaign, self.database

    @cached_property
    def audit(self) -> AuditLog:
        """The audit log."""
        return AuditLog(self.state_folder / AUDIT, self.clock)

    @property
    def secure(self) -> bool:
        """True if the public address uses https, so cookies may be restricted to it."""
        return self.base_url.startswith("https:")

    @property
    def prefix(self) -> str:
        """Path prefix of the address, such as ``/mirflow``; empty without one."""
        return urlsplit(self.base_url).path.rstrip("/")

    @property
    def origin(self) -> str:
        """The address without its path."""
        return self.base_url.rstrip("/").removesuffix(self.prefix)

    @property
    def links(self) -> LiveLinks:
        """Addresses of pages."""
        return LiveLinks(self.prefix)

    @property
    def has_about(self) -> bool:
        """True if there is a page about the campaign."""
        return self.campaign is not None and any(self.campaign.about.model_dump().values())

    def disclosure(self, store: str) -> Disclosure:
        """Return the public parts of a store or split."""
        terms: Campaign | Split | None = self.campaign
        if self.campaign is not None and store in self.campaign.splits:
            terms = self.campaign.splits[store]
        without_references = self.without_references or (terms is not None and terms.without_references)
        only_aggregates = self.only_aggregates or (terms is not None and terms.only_aggregates)
        return Disclosure(not without_references, not only_aggregates)

    @cached_property
    def shelf(self) -> Stores:
        """The stores that anyone may browse: those listed by the campaign, and the public copies of open splits."""
        splits = self.campaign.splits if self.campaign is not None else {}
        copies = {name: self.folder_of("public") / f"{name}.zarr" for name, split in splits.items() if not split.hidden}
        paths = {**copies, **self.stores}
        return Stores(paths, quoteless=[name for name in paths if not self.disclosure(name).references])

    def has_archive(self) -> bool:
        """True if there is a page of past years: from a table, or from the years of systems."""
        if self.archive is not None:
            return True
        for store in list(self.shelf):
            with suppress(StoreError, UnknownNameError):
                snapshot = self.shelf.current(store)
                if snapshot.token not in self._years:
                    self._years[snapshot.token] = has_years(snapshot.folder)
                if self._years[snapshot.token]:
                    return True
        return False

    def read_years(self) -> Archive:
        """Read the table of years, again if it or a store has changed."""
        if self.archive is None:
            raise QueryError("no table of years is served")
        key = self.years_token()
        if self._table is None or self._table[0] != key:
            names = {os.path.realpath(path): name for name, path in self.shelf.paths.items()}
            self._table = key, read_archive(self.archive, names)
        return self._table[1]

    def years_token(self) -> str:
        """Return a token that changes with the table of years and the served stores."""
        tokens = [(name, self.shelf.current(name).token) for name in self.shelf] if self.archive is not None else ""
        try:
            stat = self.archive.stat() if self.archive is not None else None
        except OSError as error:
            raise MirflowError(f"cannot read {self.archive}: {error.strerror}") from error
        return f"{stat and (stat.st_ino, stat.st_mtime_ns, stat.st_size)} {tokens}"

    @cached_property
    def answers(self) -> Answers:
        """Cache of responses."""
        return Answers(self.shelf, f"{version('mirflow')} {self.title} {self.base_url}", CORS if self.cors else {})

    @cached_property
    def pictures(self) -> Pictures:
        """Pictures of pages."""
        return Pictures()

    @cached_property
    def recordings(self) -> Recordings:
        """Recordings that viewers may listen to."""
        splits = self.campaign.splits if self.campaign is not None else {}
        withheld = [name for name in splits if not self.disclosure(name).by_track]
        return Recordings(self.campaign, self.root, self.secret, self.folder, withheld=withheld)

    @property
    def root(self) -> Path:
        """Folder that the paths of the campaign are relative to."""
        beside = self.path.resolve().parent if self.path is not None else Path()
        return beside / self.campaign.root if self.campaign is not None else beside

    @property
    def state_folder(self) -> Path:
        """Folder with accounts, submissions and stores."""
        if self.folder is None:
            raise MirflowError("no campaign is served, so there is no folder for submissions")
        return self.folder

    def folder_of(self, name: str) -> Path:
        """Subfolder of the state folder: one of `FOLDERS`."""
        return self.state_folder / name


# Subfolders of the state folder of a campaign.
FOLDERS = (
    "submissions",  # unchecked uploads, by id
    "systems",  # the files of accepted submissions: SYSTEM/file
    "readings",  # annotations read from submitted files in a confined process: SYSTEM/SPLIT/EVALUATION
    "stores",  # the full stores of the splits, which are never served
    "public",  # the public copies of the splits' stores
)


def open_service(paths: Sequence[str | Path], base_url: str = "", *, any_revision: bool = False) -> Service:
    """Open stores to browse, or one campaign. `paths`: stores, or a single campaign file. `any_revision`: accept any
    revision of the database without upgrading it.
    """
    check_address(base_url)
    if any(is_campaign(path) for path in paths):
        if len(paths) > 1:
            message = "cannot serve a campaign file together with other files: list further stores in the campaign file"
            raise MirflowError(message)
        path = Path(paths[0])
        campaign, beside = load_campaign(path), path.resolve().parent
        folder = beside / campaign.folder
        for part in (folder, *(folder / name for name in FOLDERS)):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        database = Database(campaign.database or f"sqlite:///{folder / DATABASE}")
        if not any_revision:
            database.create()
        stores = _named([beside / campaign.root / store for store in campaign.stores])
        for name in sorted(stores.keys() & campaign.splits.keys()):
            raise MirflowError(f"{path}: the name {name!r} is used for a store and a split; rename one")
        check_address(campaign.url)
        address = base_url or campaign.url
        # Return the key of a campaign, created on first use and readable only by its owner.
        file = folder / "secret.key"
        if not file.exists():
            made = folder / f".secret.{secrets.token_hex(8)}"
            handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as written:
                written.write(secrets.token_bytes(32))
            # If several processes start at once, one creates the key and all use it.
            with suppress(FileExistsError):
                os.link(made, file)
            made.unlink()
        opened = Service(campaign.campaign, stores, campaign, path, folder, database, file.read_bytes(), address)
        opened.cors = campaign.cors
        opened.archive = beside / campaign.root / campaign.archive if campaign.archive else None
        return opened
    stores = _named([Path(path) for path in paths])
    return Service(" and ".join(stores), stores, base_url=base_url)


def check_address(url: str) -> None:
    """Check the public address of a server."""
    if not url:
        return
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
    except ValueError:
        whole = False
    if not whole:
        raise MirflowError(f"invalid base URL {url!r}: expected a full URL such as https://lab.org/mirflow/")
    first = parts.path.strip("/").partition("/")[0]
    if first in OWN_PATHS:
        message = f"invalid base URL {url!r}: /{first}/ is a path of the server's own pages; choose another path"
        raise MirflowError(message)
    if not _PATH.fullmatch(parts.path):
        raise MirflowError(
            f"invalid base URL {url!r}: its path may contain only letters, digits and - . _ ~ between single slashes"
        )


@contextmanager
def noting_address(service: Service) -> Iterator[None]:
    """Record the address of a running server beside its campaign, for links printed by commands."""
    if service.folder is None:
        yield
        return
    file = service.folder / _ADDRESS
    write_atomically(file, service.base_url.encode())
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def address_of(service: Service) -> str:
    """Return the address of a campaign's server: from its file, or else as recorded by a running server."""
    if service.base_url or service.folder is None:
        return service.base_url
    try:
        return (service.folder / _ADDRESS).read_text()
    except FileNotFoundError:
        return f"http://{HOST}:{PORT}/"


def _named(paths: Sequence[Path]) -> dict[str, Path]:
    stores: dict[str, Path] = {}
    for path in paths:
        name = path.resolve().name if path.name in ("", ".", "..") else path.name
        name = name.removesuffix(".zarr")
        if name in stores:
            raise MirflowError(f"duplicate store name {name!r}: {stores[name]} and {path}; rename one")
        stores[name] = path
    return stores


FORMAT = 1  # version of the layout of backups
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
        # Submissions that wait for their check go first, as their files are removed afterwards. Those of one that was
        # withdrawn before it was scored are gone, or about to be removed, as are those of one without a result.
        rows = target.execute(
            "SELECT id, name, state IN ('received', 'checking') AS waits FROM submission WHERE state = 'scored' "
            "OR (state NOT IN ('refused', 'failed') AND withdrawn IS NULL) ORDER BY waits DESC, number"
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
        for id, name, waits in rows:
            # As uploaded before its check, and as checked afterwards.
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
