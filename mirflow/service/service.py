"""State that all pages of a server share: stores, campaign, database and clock."""

from __future__ import annotations

import datetime as dt
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..errors import MirflowError
from ..pipeline.campaign import Campaign, is_campaign, load_campaign
from .answers import Answers
from .audit import AuditLog
from .database import Database
from .limits import Network, RateLimits
from .recordings import Recordings
from .snapshots import Stores

PORT = 8765
HOST = "127.0.0.1"


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@dataclass
class Service:
    """A server's state; without a campaign it has no database, and nothing can be changed.

    Parameters
    ----------
    title : str
    stores : mapping of str to Path
        Stores to browse, by the name in their addresses.
    campaign : Campaign or None
    path : Path or None
        The campaign file.
    folder : Path or None
        Folder of accounts, submissions and stores.
    database : Database or None
    secret : bytes
        Key of signatures.
    base_url : str
        Address by which people reach the server; empty: the address that it listens on.
    clock : callable
        Gives the time in UTC.
    proxies : sequence of network
        Addresses of proxies, whose word on the client's address is taken.
    user_header : str
        Header by which a proxy says whom it has let in; empty: none is believed.
    rates : RateLimits
    """

    title: str
    stores: dict[str, Path]
    campaign: Campaign | None = None
    path: Path | None = None
    folder: Path | None = None
    database: Database | None = None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    base_url: str = ""
    clock: Callable[[], dt.datetime] = _now
    proxies: Sequence[Network] = ()
    user_header: str = ""
    rates: RateLimits = field(default_factory=RateLimits)

    @cached_property
    def audit(self) -> AuditLog:
        """The log of who did what."""
        return AuditLog(self._folder / "audit.jsonl", self.clock)

    @property
    def secure(self) -> bool:
        """True if browsers come by https, so that cookies may be kept from all else."""
        return self.base_url.startswith("https:")

    @cached_property
    def shelf(self) -> Stores:
        """Stores that anybody may browse: those beside the campaign, and the public copies of open splits."""
        splits = self.campaign.splits if self.campaign is not None else {}
        copies = {name: self.public_folder / f"{name}.zarr" for name, split in splits.items() if not split.hidden}
        return Stores({**copies, **self.stores})

    @cached_property
    def answers(self) -> Answers:
        """Answers to readers, kept for as long as their stores are not published anew."""
        return Answers(self.shelf, f"{self.title} {self.base_url}")

    @cached_property
    def recordings(self) -> Recordings:
        """Recordings that people may listen to."""
        return Recordings(self.campaign, self.root, self.secret, self.folder)

    @property
    def root(self) -> Path:
        """Folder that the campaign's paths are relative to."""
        beside = self.path.resolve().parent if self.path is not None else Path()
        return beside / self.campaign.root if self.campaign is not None else beside

    @property
    def public_folder(self) -> Path:
        """Folder of the public copies of the splits' stores."""
        return self._folder / "public"

    @property
    def stores_folder(self) -> Path:
        """Folder of the full stores of the splits, which are never served."""
        return self._folder / "stores"

    @property
    def submissions_folder(self) -> Path:
        """Folder of uploads that are not checked yet, by their ids."""
        return self._folder / "submissions"

    @property
    def systems_folder(self) -> Path:
        """Folder of what was submitted and is scored: SYSTEM/file."""
        return self._folder / "systems"

    @property
    def _folder(self) -> Path:
        if self.folder is None:
            raise MirflowError("stores are served without a campaign: there is no folder for submissions")
        return self.folder


def open_service(paths: Sequence[str | Path], base_url: str = "") -> Service:
    """Open stores to browse, or one campaign.

    Parameters
    ----------
    paths : sequence of path
        Stores, or one campaign file.
    base_url : str

    Raises
    ------
    MirflowError
        For two stores of one name, and a campaign beside anything else.
    """
    if any(is_campaign(path) for path in paths):
        if len(paths) > 1:
            raise MirflowError("serve one campaign file, or stores; stores of a campaign are listed in its file")
        return _open_campaign(Path(paths[0]), base_url)
    stores = _named([Path(path) for path in paths])
    return Service(" and ".join(stores), stores, base_url=base_url)


def _open_campaign(path: Path, base_url: str) -> Service:
    campaign = load_campaign(path)
    beside = path.resolve().parent
    folder = beside / campaign.folder
    for made in (folder, folder / "stores", folder / "public", folder / "submissions", folder / "systems"):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = Database(campaign.database or f"sqlite:///{folder / 'campaign.db'}")
    database.create()
    stores = _named([beside / campaign.root / store for store in campaign.stores])
    for name in sorted(stores.keys() & campaign.splits.keys()):
        raise MirflowError(f"{path}: a store and a split have the name {name!r}; rename one")
    return Service(campaign.campaign, stores, campaign, path, folder, database, _secret(folder), base_url)


def _named(paths: Sequence[Path]) -> dict[str, Path]:
    stores: dict[str, Path] = {}
    for path in paths:
        name = path.resolve().name if path.name in ("", ".", "..") else path.name
        name = name.removesuffix(".zarr")
        if name in stores:
            raise MirflowError(f"two stores have the name {name!r}: {stores[name]} and {path}; rename one")
        stores[name] = path
    return stores


def _secret(folder: Path) -> bytes:
    """The key of a campaign, made at first; only its owner can read it."""
    file = folder / "secret.key"
    if not file.exists():
        made = folder / f".secret.{secrets.token_hex(8)}"
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as written:
            written.write(secrets.token_bytes(32))
        # Of several processes that begin at once one has made the key, and all have the same.
        with suppress(FileExistsError):
            os.link(made, file)
        made.unlink()
    return file.read_bytes()
