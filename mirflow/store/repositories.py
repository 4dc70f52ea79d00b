"""Stores in object stores: repositories of Icechunk, to which several processes commit results.

Versions can be opened, listed and tagged; a commit is joined with those that others made meanwhile. Errors of services
name the address, the reason and a remedy. Icechunk is imported only where an address is opened.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import StoreError, StoreLockedError
from ..remote import Address, as_given, client_of, parse_address, reason_of, silence_of, store_flaw
from .cells import Entry, GroupContent, concatenate_cells
from .chunks import extend_group, write_group
from .format import FINGERPRINTS, SIGNATURES, TYPES, WARNINGS, check, dense_cells
from .generations import HeldStore, locked, storing
from .journal import Journal
from .stored import CREATED, FORMAT, FORMAT_KEY, StoredGroup

if TYPE_CHECKING:
    import icechunk
    import zarr

T = TypeVar("T")

_BRANCH = "main"
_ATTEMPTS = 100
_PATIENCE = 10.0  # seconds to wait for another process that makes the repository
_LOOK_AFTER = 4.0
"""Seconds after which a request without an answer leads to a look at whether the service is there."""
_TURN = 600.0  # seconds to wait for another process that commits to the same folder
_ABSENT = "the repository doesn't exist"
_OCCUPIED = "repositories can only be created in clean prefixes"
_MADE_AT_ONCE = (_OCCUPIED, "branch update conflict")
"""What errors of Icechunk contain if two processes make a repository at the same time."""
_REF = f"refs/branch.{_BRANCH}/ref.json"
_MARK = "ICE\U0001f9caCHUNK".encode()
_FORM_AT = 36
"""Place of the byte that says which form of repository a file belongs to, after the mark and the name of a program."""
_NO_COMMIT = "no such commit; `mirflow history` lists them"
_REFUSALS = {
    "169.254.169.254": "there are no credentials; set those of the service, or log in",
    "NoSuchBucket": "there is no such bucket; make it, or name another one",
    "ContainerNotFound": "there is no such container; make it, or name another one",
    "InvalidAccessKeyId": "the access key is unknown; check the credentials in the environment",
    "SignatureDoesNotMatch": "the secret key is wrong; check the credentials in the environment",
    "ExpiredToken": "the credentials have expired; log in again",
    "RequestTimeTooSkewed": "the clock of this machine is off; set it",
    "AccessDenied": "access is denied; use credentials that may read and write it",
    "Forbidden": "access is denied; use credentials that may read and write it",
    "no providers in chain": "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in",
    _ABSENT: "no such store; `mirflow run` makes one",
    _OCCUPIED: "holds something else than a store, or one whose making was stopped; remove it, or name another address",
    "ref not found": "no such tag; `mirflow history` lists commits and tags",
    "snapshot id not found": _NO_COMMIT,
    "snapshot not found": _NO_COMMIT,
    "invalid snapshot id": "no such tag, commit or date (YYYY-MM-DD); `mirflow history` lists them",
    "does not have a snapshot": "no commit is that old; `mirflow history` lists them",
    "tag already exists": "the tag exists already; tags stay with their commits, so choose another name",
    "dispatch failure": "cannot be reached; check the network, and AWS_ENDPOINT_URL if it is set",
    "client error (Connect)": "cannot be reached; check the network",
}
"""What errors of Icechunk and of the services contain, with a reason and a remedy; the first that fits counts."""


def _ask(address: Address, request: Callable[[], T]) -> T:
    """The result of a request, whose errors have the form of `_asking`. Icechunk repeats requests for minutes, as
    services that throttle need it, and waits without end for one that does not answer any more. So the caller checks
    from time to time whether the service responds at all."""
    if address.kind == "icechunk":
        with _asking(address):
            return request()
    outcome: Future[T] = Future()

    def work() -> None:
        try:
            outcome.set_result(request())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=work, daemon=True).start()
    while not wait([outcome], _LOOK_AFTER).done:
        _demand_answer(address)
    with _asking(address):
        return outcome.result()


def _demand_answer(address: Address) -> None:
    if reason := silence_of(address.kind, address.bucket):
        raise StoreError(f"{address}: {reason}")


@contextmanager
def _asking(address: Address) -> Iterator[None]:
    """Turn errors of Icechunk into one StoreError with the address, the reason and a remedy."""
    import icechunk

    try:
        yield
    except icechunk.IcechunkError as error:
        text, refusal = str(error), ""
        try:  # a request whose answer has a text, unlike those of Icechunk
            if address.kind != "icechunk":
                import obstore

                obstore.get(client_of(address.kind, address.bucket), f"{address.prefix}/{_REF}")
        except Exception as answer:  # of settings, too, for which obstore has no class of errors
            refusal = str(answer)
        # Icechunk says that there is no repository, too, where there is no bucket.
        texts = (refusal, text) if _ABSENT in text else (text, refusal)
        known = (reason for message in texts for sign, reason in _REFUSALS.items() if sign in message)
        reason = next(known, "")
        # Of a repository that a later Icechunk made, earlier ones say that it is none.
        with suppress(Exception):  # of settings, too, for which obstore has no class of errors
            import obstore

            store: Any
            if address.kind == "icechunk":
                store, file = obstore.store.LocalStore(_folder(address)), "repo"
            else:
                store, file = client_of(address.kind, address.bucket), f"{address.prefix}/repo"
            header = bytes(obstore.get_range(store, file, start=0, length=_FORM_AT + 1))
            form, newest = header[_FORM_AT], int(icechunk.spec_version())
            if header.startswith(_MARK) and form > newest:
                reason = (
                    f"has the form of Icechunk {form}, and Icechunk {version('icechunk')} here reads forms up to "
                    f"{newest}: install Icechunk {form}, which may need a later Python"
                )
        if not reason:
            causes = re.findall(r"[|`]-> *(.*)", text) or [text.strip().removeprefix("x ").partition("\n")[0]]
            reason = f"cannot be used: {'; '.join(dict.fromkeys(cause.strip() for cause in causes))}"[:400]
        raise StoreError(f"{address}: {reason}") from error


def demand_address(path: str | Path) -> Address:
    """The address that a path is; raises a StoreError for one that is incomplete."""
    address = parse_address(path)
    flaw = store_flaw(path)
    if address is None or flaw:
        raise StoreError(f"{as_given(path)}: {flaw or 'is not the address of a repository'}")
    return address


def _folder(address: Address) -> Path:
    return Path(address.prefix).expanduser().resolve()


def _storage(address: Address) -> icechunk.Storage:
    """Where a repository is. Credentials and endpoints are found as the services' own tools find them."""
    import icechunk

    icechunk.set_logs_filter("off")  # what it logs is in its errors, too
    if address.kind == "icechunk":
        return icechunk.local_filesystem_storage(str(_folder(address)))
    if address.kind in ("gs", "az"):
        try:  # Icechunk ends without an error for settings of which no client can be made
            client_of(address.kind, address.bucket)
        except ImportError:
            pass
        except Exception as error:  # obstore has no common class of errors for invalid settings
            raise StoreError(f"{address}: {reason_of(error)}") from error
    if address.kind == "gs":
        return icechunk.gcs_storage(bucket=address.bucket, prefix=address.prefix, from_env=True)
    if address.kind == "az":
        account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME") or os.environ.get("AZURE_STORAGE_ACCOUNT", "")
        if not account:
            raise StoreError(f"{address}: no account is named; set AZURE_STORAGE_ACCOUNT_NAME")
        # HTTP is used only if the endpoint in the environment says so.
        return icechunk.azure_storage(
            account=account,
            container=address.bucket,
            prefix=address.prefix,
            from_env=True,
            config={"allow_http": "true"},
        )
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    anonymous = os.environ.get("AWS_NO_SIGN_REQUEST", "").lower() in ("1", "true", "yes")
    return icechunk.s3_storage(
        bucket=address.bucket,
        prefix=address.prefix,
        region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
        endpoint_url=endpoint,
        allow_http=bool(endpoint) and str(endpoint).startswith("http:"),
        force_path_style=bool(endpoint),
        anonymous=anonymous or None,
        from_env=None if anonymous else True,
    )


def _open(address: Address, *, create: bool = False) -> icechunk.Repository:
    try:
        import icechunk
    except ImportError:
        raise StoreError(f"{address}: needs the package icechunk: pip install 'mirflow[cloud]'") from None
    with _asking(address):
        storage = _storage(address)
    end = time.monotonic() + _PATIENCE
    # The form that every Icechunk reads; Icechunk 2, which Python 3.11 lacks, would make another one.
    form: dict[str, Any] = {"create_version": 1} if hasattr(icechunk, "SpecVersion") else {}

    def request() -> icechunk.Repository:
        while create:
            try:
                return icechunk.Repository.open_or_create(storage, **form)
            except icechunk.IcechunkError as error:
                # Another process may be making it.
                if time.monotonic() > end or not any(sign in str(error) for sign in _MADE_AT_ONCE):
                    raise
                time.sleep(0.1)
        return icechunk.Repository.open(storage)

    return _ask(address, request)


def _session(repository: icechunk.Repository, address: Address) -> icechunk.Session:
    """The version that an address names: a tag, a date in ISO 8601, or a commit; the latest one if it names none."""
    import icechunk

    version = address.version
    if not version:
        return repository.readonly_session(_BRANCH)
    if version in repository.list_tags():
        return repository.readonly_session(tag=version)
    try:
        date = datetime.fromisoformat(version)
    except ValueError:
        try:
            return repository.readonly_session(snapshot_id=version)
        except icechunk.IcechunkError as error:
            if "object not found" in str(error):  # what Icechunk 2 says of a commit in a repository of form 1
                raise StoreError(f"{address}: {_NO_COMMIT}") from error
            raise
    if len(version) == len("2026-01-31"):
        date = date.replace(hour=23, minute=59, second=59)
    return repository.readonly_session(_BRANCH, as_of=date if date.tzinfo else date.replace(tzinfo=UTC))


def open_version(path: str | Path) -> zarr.Group:
    """The root group of the version of a repository that an address names, to be read."""
    address = demand_address(path)
    repository = _open(address)
    root = _ask(address, lambda: _root(_session(repository, address), address))
    if root is None:
        raise StoreError(f"{address}: has no results yet; `mirflow run` writes them")
    return root


def _root(session: icechunk.Session, address: Address) -> zarr.Group | None:
    """The root group of a version; None if nothing was committed yet."""
    import zarr

    from .zarr_io import SessionStore

    demand = None if address.kind == "icechunk" else partial(_demand_answer, address)
    store = SessionStore(session.store, str(address), partial(_asking, address), demand, _LOOK_AFTER)
    try:
        return zarr.open_group(store, mode="r")
    except FileNotFoundError:
        return None


@dataclass(frozen=True)
class Commit:
    """A version of a repository."""

    id: str
    time: datetime
    message: str
    tags: tuple[str, ...]
    versions: Mapping[str, str]
    """Versions of the software that wrote it."""
    pipeline: str
    """Name of the pipeline."""


def history(path: str | Path) -> list[Commit]:
    """Versions of a store at an address, the latest first; of those before a version if the address names one.

    Raises
    ------
    StoreError
        If the path is not an address, or the repository cannot be read.
    """
    address = _demand_history(path)
    repository = _open(address)

    def commits() -> list[Commit]:
        tags: dict[str, list[str]] = {}
        for tag in sorted(repository.list_tags()):
            tags.setdefault(repository.lookup_tag(tag), []).append(tag)
        found = []
        for snapshot in repository.ancestry(snapshot_id=_session(repository, address).snapshot_id):
            about = snapshot.metadata.get("mirflow")
            if isinstance(about, dict):
                versions = {str(name): str(version) for name, version in about.get("versions", {}).items()}
                head = snapshot.id, snapshot.written_at, snapshot.message, tuple(tags.get(snapshot.id, ()))
                found.append(Commit(*head, versions, str(about.get("name", ""))))
        return found

    return _ask(address, commits)


def tag_version(path: str | Path, tag: str) -> Address:
    """Give a version of a store at an address a name, which stays with it; returns the address of the version."""
    if not re.fullmatch(r"[\w.+-]+", tag):
        raise StoreError(f"invalid tag {tag!r}: expected letters, digits and . _ + -")
    address = _demand_history(path)
    repository = _open(address)
    _ask(address, lambda: repository.create_tag(tag, _session(repository, address).snapshot_id))
    return address._replace(version=tag)


def _demand_history(path: str | Path) -> Address:
    address = parse_address(path)
    if address is None or address.is_plain:
        raise StoreError(
            f"{as_given(path)}: is {'a folder' if address is None else 'plain Zarr'}, which has no history; stores at "
            f"s3://, gs://, az:// and icechunk:PATH have one"
        )
    return demand_address(path)


class RepositoryWriter(HeldStore):
    """A store at an address, to which other processes may write at the same time. `path`: the address, without a
    version. `patience`: seconds to wait for another process that commits to the same folder; object stores do without.
    `journal` has finished blocks that are not published yet, in a folder of this account; see
    :class:`mirflow.store.write.StoreWriter`."""

    shared = True

    def __init__(self, path: str | Path, patience: float = 0.0) -> None:
        from .generations import state_folder

        address = demand_address(path)
        if address.version:
            raise StoreError(f"{address}: names a version, which cannot be written; leave out '@{address.version}'")
        self.path = str(address)
        self._address = address
        self._patience = patience
        place = self.path if address.kind != "icechunk" else str(_folder(address))
        digest = hashlib.blake2b(os.fsencode(place), digest_size=8).hexdigest()
        try:
            self._places = state_folder() / "writers" / digest
        except RuntimeError:
            raise StoreError(f"{address}: there is no home folder for the journal; set XDG_STATE_HOME") from None

    def __enter__(self) -> RepositoryWriter:
        with ExitStack() as stack:
            # A folder for the journal that no other process uses, of an interrupted run if there is one.
            with storing(self.path):
                self._places.mkdir(parents=True, exist_ok=True)
                names = [f"{number:02d}" for number in range(_ATTEMPTS)]
                left = [name for name in names if any((self._places / name / "journal").glob("*.cells"))]
            for name in dict.fromkeys([*left, *names]):
                self.folder = self._places / name
                with storing(self.path):
                    self.folder.mkdir(exist_ok=True)
                with suppress(StoreLockedError):
                    stack.enter_context(locked(self.folder, Path(self.path)))
                    break
            else:
                raise StoreLockedError(
                    f"{self.path}: {_ATTEMPTS} processes of this account are writing it; wait for one of them"
                )
            self.journal = Journal(self.folder / "journal")
            with self._alone():
                self._repository = _open(self._address, create=True)
            _ask(self._address, self._read_tip)
            self._stack = stack.pop_all()
        return self

    def _read_tip(self) -> None:
        session = self._repository.readonly_session(_BRANCH)
        self._tip = session.snapshot_id
        root = _root(session, self._address)
        self._attrs = {} if root is None else dict(root.attrs)
        names = () if root is None else sorted(root.group_keys())
        self._groups = {name: StoredGroup(root, name, self.path).content for name in names if root is not None}

    def attrs(self) -> Mapping[str, Any]:
        """Attributes of the current store; empty if nothing was published yet."""
        return self._attrs

    def contents(self) -> dict[str, GroupContent]:
        """Present contents of all evaluations, by name, whose results are read when they are needed."""
        return self._groups

    def publish(
        self, contents: Iterable[GroupContent], attrs: Mapping[str, Any] | None = None, created: str | None = None
    ) -> str:
        """Commit the store with these groups and no others, and empty the journal; returns the identifier of the
        commit. Rows of systems whose results are `stored` are not written. If others committed meanwhile, their systems
        and groups stay. Raises a StoreError if others committed other results of the same cells meanwhile, or the
        repository cannot be written; blocks of the journal stay."""
        contents = list(contents)
        for content in contents:
            check(content)
        stamp = {CREATED: created or datetime.now(UTC).isoformat(timespec="seconds")}
        about = {**(attrs or {}), FORMAT_KEY: FORMAT, **stamp}
        for _ in range(_ATTEMPTS):
            with self._alone():
                commit = _ask(self._address, partial(self._commit, contents, about, stamp))
            before = self._groups
            _ask(self._address, self._read_tip)
            if commit:
                self.journal.clear()
                return commit
            contents = self._rebased(contents, before)
        raise StoreError(f"{self.path}: others commit all the time; run again: finished blocks are kept")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Make and change a folder in one process at a time: unlike object stores, file systems do not notice two."""
        if self._address.kind != "icechunk":
            yield
            return
        folder = _folder(self._address)
        beside = folder.with_name(f".{folder.name}.lock")
        with storing(self.path):
            beside.mkdir(parents=True, exist_ok=True)
        with locked(beside, Path(self.path), max(self._patience, _TURN)):
            yield

    def _commit(self, contents: list[GroupContent], attrs: Mapping[str, Any], stamp: Mapping[str, str]) -> str:
        """Commit contents on top of the tip that was read; empty if there is a later one."""
        import icechunk
        import zarr

        session = self._repository.writable_session(_BRANCH)
        if session.snapshot_id != self._tip:
            return ""
        root: Any = zarr.open_group(session.store, mode="a")
        root.attrs.put(dict(attrs))
        for name in set(root.group_keys()) - {content.name for content in contents}:
            del root[name]
        for content in contents:
            before = self._groups.get(content.name)
            if before is not None and content.systems[: len(before.systems)] == before.systems:
                extend_group(root[content.name], content, stamp)
                continue
            if before is not None:
                del root[content.name]
            write_group(root, content, stamp)
        about = {name: attrs[name] for name in ("name", "versions") if name in attrs}
        parts = [
            f"{one.name}: {len(one.cells)} cells of {len(set(one.cells.system))} of {len(one.systems)} systems"
            for one in contents
        ]
        try:
            return str(session.commit("; ".join(parts) or "nothing", {"mirflow": about}))
        except icechunk.ConflictError:
            return ""

    def _rebased(self, contents: list[GroupContent], before: Mapping[str, GroupContent]) -> list[GroupContent]:
        """The contents on top of what others committed since they were made from `before`."""
        rebased = []
        for content in contents:
            tip, earlier = self._groups.get(content.name), before.get(content.name)
            if content is earlier:  # nothing of it was computed here
                rebased += [] if tip is None else [tip]
                continue
            if tip is None:
                rebased.append(content)
                continue
            base = content if earlier is None else earlier
            if (tip.tracks, tip.measures) != (base.tracks, base.measures):
                raise StoreError(
                    f"{self.path}: another run committed other tracks or metrics of {content.name!r} meanwhile "
                    f"({self._tip}); run again: finished blocks are kept"
                )
            kept = {system: tip.stored[system] for system in content.stored if system in tip.stored}
            gone = [system for system in content.systems if system in content.stored and system not in kept]
            content = _without(replace(content, stored=kept), set(gone) - set(content.cells.system))
            removed = set() if earlier is None else set(earlier.systems) - set(content.systems) - set(gone)
            rebased.append(join_systems(content, _without(tip, removed), self.path))
            for system in sorted(set(content.cells.system) & set(tip.systems)):
                known = earlier is not None and system in earlier.systems and _equal(earlier, tip, system)
                if not known and not _equal(content, tip, system):
                    raise StoreError(
                        f"{self.path}: another run committed other results of system {system!r} of {content.name!r} "
                        f"meanwhile ({self._tip}); run again: finished blocks are kept"
                    )
        named = {content.name for content in contents}
        rebased += [one for name, one in self._groups.items() if name not in named and name not in before]
        return rebased


def _equal(one: GroupContent, other: GroupContent, system: str) -> bool:
    """True if two evaluations have the same results of a system, whatever files they are of."""
    if (one.tracks, one.measures) != (other.tracks, other.measures):
        return False
    names = [name for name in TYPES if name != FINGERPRINTS]
    values, others = (dense_cells(content.part([system]), names) for content in (one, other))
    return all(np.array_equal(values[n], others[n], equal_nan=values[n].dtype.kind == "f") for n in names)


def _without(content: GroupContent, gone: set[str]) -> GroupContent:
    """The evaluation without some systems."""
    if not gone:
        return content
    kept = [row for row, system in enumerate(content.systems) if system not in gone]
    coords = {name: [values[row] for row in kept] for name, values in content.system_coords.items()}
    stored = {system: one for system, one in content.stored.items() if system not in gone}
    return replace(content, systems=tuple(content.systems[row] for row in kept), system_coords=coords, stored=stored)


def join_systems(own: GroupContent, other: GroupContent, path: str | Path) -> GroupContent:
    """An evaluation with the systems of another one that it lacks; the systems of the other one come first, in order.
    Raises `StoreError` if such systems have other tracks, metrics or ways in which these are computed."""
    added = set(other.systems) - set(own.systems)
    if not added:
        return own
    theirs_only = sorted(added)
    some = ", ".join(map(repr, theirs_only[:3])) + (", ..." if len(theirs_only) > 3 else "")
    theirs = f"{path}: {own.name!r} has systems there that the pipeline does not name ({some})"
    remedy = "name these systems, too, or another store; --prune (in Python prune=True) removes them"
    for what, asked, there in (("track", own.tracks, other.tracks), ("metric", own.measures, other.measures)):
        lacking, more = (sorted({*one} - {*two}) for one, two in ((asked, there), (there, asked)))
        if asked != there:
            differ = f"without the {what} {lacking[0]!r}" if lacking else f"with their {what}s in another order"
            differ = f"with the {what} {more[0]!r}, which the pipeline lacks" if more and not lacking else differ
            raise StoreError(f"{theirs}, {differ}; {remedy}")
    signatures = other.attrs.get(SIGNATURES, {})
    for measure, signature in own.attrs.get(SIGNATURES, {}).items():
        if signatures.get(measure, signature) != signature:
            raise StoreError(f"{theirs}, with {measure!r} by other settings or another version; {remedy}")
    systems = (*other.systems, *(system for system in own.systems if system not in set(other.systems)))
    places = [(side, {name: row for row, name in enumerate(side.systems)}) for side in (own, other)]
    coords: dict[str, list[Entry]] = {name: [] for name in {**other.system_coords, **own.system_coords}}
    for name, values in coords.items():
        for system in systems:
            side, row = places[system in added]
            values.append(side.system_coords[name][row[system]] if name in side.system_coords else None)
    stored = {**{one: other.stored[one] for one in added if one in other.stored}, **own.stored}
    attrs = dict(own.attrs)
    cautions = [one for one in other.attrs.get(WARNINGS, ()) if one["system"] in added]
    if cautions:
        attrs[WARNINGS] = [*attrs.get(WARNINGS, ()), *cautions]
    # Of results with extra dims the names and labels are among the cells, even where the entries are stored.
    kept = other.cells.take(np.flatnonzero([system in added for system in other.cells.system]))
    return replace(
        own,
        systems=systems,
        cells=concatenate_cells([kept, own.cells]),
        system_coords=coords,
        attrs=attrs,
        stored=stored,
    )
