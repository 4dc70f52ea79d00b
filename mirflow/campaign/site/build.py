"""Sites in a folder: pages of all stores, tables as JSON, and the feed, written next to the folder and then moved."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from ...analysis.evaluations import name_stores
from ...analysis.scores import names_of
from ...errors import MirflowError, QueryError
from ...progress import Progress
from ...reports.figures.page_pictures import draw_standings, draw_track
from ...reports.figures.timeline import find_worst
from ...reports.leaderboard import Leaderboard, to_json
from ...reports.origins import Roots, StoredPipeline
from ...reports.page import write_page
from ...reports.page.timelines import check_timelines, tracks_wanted
from ...store.generations import remove, remove_left
from ...store.read import read_scores
from . import page_contents
from .archive import Archive, has_years, join_years, read_archive, years_of
from .changes import LONG_AGO, Change, authority_of, find_changes, to_atom
from .front_page import WorthListening, front, news_of, worth_listening
from .page_contents import StoreContents, TrackPage
from .pages import (
    DiskLinks,
    Pages,
    asset_name,
    asset_names,
    environment,
    file_of,
    is_web_address,
    read_asset,
    twins,
)
from .search import SearchIndex, entries_of

RECORD = "site.json"
"""File that identifies a folder as a site and records its changes."""
MISSING = "404.html"
"""Page that hosts serve for addresses without a file."""
OWN = frozenset(
    {"index.html", RECORD, "feed.xml", "archive", "archive.json", "stores", "static", "all", "search.js", MISSING}
)
"""Names used by a site in its folder; all other files belong to the user and are kept."""
KEPT = 500
"""Number of changes that a site records."""
PICTURES = 100
"""Most pictures of tracks of a store, unless more are asked for."""
Drawn = tuple[bytes | None, float | None]
"""The picture of a track, and a second to listen to; None where there is none."""
NEWS = 12
"""Number of changes on the front page."""


class SiteRecord(msgspec.Struct, frozen=True):
    """Record of a site in its folder.

    Parameters
    ----------
    version : int
        Version of the schema.
    mirflow : str
        Version of mirflow that wrote the site.
    id : str
        Id of the feed, a tag URI.
    updated : str
        Time when the newest store was scored, ISO 8601.
    stores : list of str
        Names of the stores on their pages.
    changes : list of Change
        Changes, newest first.
    """

    schema: Literal["mirflow-site"]
    version: int
    mirflow: str
    title: str
    id: str
    updated: str
    stores: list[str]
    changes: list[Change]


@dataclass(frozen=True)
class SiteReport:
    """Result of writing a site; it may be used as the folder's path."""

    path: Path
    pages: int
    """Number of HTML files."""
    size: int
    """Bytes of all files."""
    changes: list[Change]
    """Changes since the previous site; empty for the first one."""
    notes: tuple[str, ...]
    """Parts that were left out."""

    def __fspath__(self) -> str:
        return str(self.path)


class Folder:
    """A folder to be filled with files, each written once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pages = 0
        self.size = 0
        self._made: set[str] = set()
        self.twins: dict[str, frozenset[str]] = {}

    def file_of(self, page: str, /, **parts: str) -> str:
        """Return the file of a page; names differ by more than case."""
        return file_of(page, self.twins, **parts)

    def place(self, name: str) -> Path:
        """Return the path of a file, creating its folder."""
        folder = name.rpartition("/")[0]
        if folder not in self._made:
            (self.path / folder).mkdir(parents=True, exist_ok=True)
            self._made.add(folder)
        return self.path / name

    def write(self, name: str, text: str | bytes) -> None:
        """Write a file."""
        data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        try:
            with self.place(name).open("xb") as file:
                file.write(data)
        except FileExistsError:
            where = f"{self.path.parent}: the file system does not distinguish names that differ in case"
            raise QueryError(f"{where}: {name}; write the site to another disk, or rename one") from None
        self.count(name, len(data))

    def count(self, name: str, size: int) -> None:
        """Count a written file."""
        self.pages += name.endswith(".html")
        self.size += size


def write_site(
    stores: Sequence[str | Path] | Mapping[str, str | Path],
    output: str | Path = "site",
    *,
    title: str = "Evaluation results",
    url: str = "",
    note: str = "",
    timelines: str | int = "auto",
    level: float | None = 0.95,
    references: bool = True,
    only_aggregates: bool = False,
    root: Roots = None,
    archive: str | Path | None = None,
    progress: Progress | None = None,
) -> SiteReport:
    """Write a site about stores to a folder, replacing an existing site.

    Parameters
    ----------
    stores : sequence of paths, or mapping of names to paths
        Result stores; names are used on pages and default to those of the folders.
    output : path
        Output folder. An existing site is replaced entirely; files that are not mirflow's are kept.
    url : str
        Future address of the site, for the feed and previews of links; empty: the feed has relative links.
    note : str
        Footer of every page, such as the licence of the data.
    timelines : {"auto", "all", "worst", "none"} or int
        Timelines of the reports, see :func:`mirflow.report`, and pictures on pages of tracks.
    level : float or None
        Level of confidence intervals and comparisons; None: neither.
    references : bool
        Whether to include references in reports, and messages that may quote one.
    only_aggregates : bool
        Whether to leave out scores of single tracks, and pages, names and timelines of tracks.
    root : path, sequence of paths, or None
        Folder of the annotations, if they were moved: one for all stores, or one for each.
    archive : path or None
        Table of years, see :func:`.archive.read_archive`; None: the years of the systems, if they have a coordinate
        ``year``.

    Returns
    -------
    SiteReport
    """
    check_timelines(timelines)
    named = _named(stores)
    folder = Path(os.path.realpath(output))
    _check_url(url)
    environment()
    recover(folder)
    remove_left(folder, "new")
    record = read_record(folder)
    new = Folder(folder.with_name(f".{folder.name}.{os.getpid()}.new"))
    roots = _roots(root, len(named))
    own_names = {os.path.realpath(path): name for name, path in named.items()}
    years = None if archive is None else read_archive(archive, own_names)
    try:
        new.path.mkdir(parents=True)
        has_archive = years is not None or any(has_years(path) for path in named.values())
        navigation = [("front", "Results"), *([("archive", "Archive")] if has_archive else [])]
        new.twins[""] = twins(named)
        home = url if not url or url.endswith("/") else f"{url}/"
        pages = Pages(DiskLinks("index.html", new.twins), title, navigation=navigation, note=note, home=home)
        settings = _StorePages(level, timelines, references, only_aggregates)
        made: list[StoreContents] = []
        listening: list[WorthListening] = []
        index = SearchIndex()
        notes: list[str] = []
        with progress or Progress() as shown:
            for number, ((name, path), own) in enumerate(zip(named.items(), roots, strict=True), start=1):
                shown.about = f"{name} ({number} of {len(named)}): " if len(named) > 1 else ""
                found, left_out = settings.write(new, pages, name, path, own, shown)
                listening += worth_listening(found)
                index.add(entries_of(found, DiskLinks(new.file_of("search"), new.twins)))
                # Written stores need not stay in memory.
                made.append(replace(found, datasets={}))
                notes += left_out
            shown.about = ""
            shown.stage("writing the front page")
            changes, new_record = _next_record(folder, record, made, title, url)
            write_front(new, pages, made, new_record, listening)
            write_search(new, pages, made, index)
            if has_archive:
                years = years or join_years([one for own in made for one in years_of(own.name, own.board)])
                write_archive(new, pages, years, made)
        put_in_place(new.path, folder)
    except OSError as error:
        raise MirflowError(f"{error.filename or folder}: cannot write: {error.strerror}") from error
    finally:
        remove(new.path)
    return SiteReport(Path(output), new.pages, new.size, changes if record else [], tuple(notes))


def _named(stores: Sequence[str | Path] | Mapping[str, str | Path]) -> dict[str, str | Path]:
    """Return the stores by the names of their pages."""
    given = stores if isinstance(stores, Mapping) else name_stores(stores)
    # Names of folders may contain bytes that are not valid text.
    return {name.encode("utf-8", "replace").decode("utf-8"): path for name, path in given.items()}


def _check_url(url: str) -> None:
    if url and not is_web_address(url):
        raise QueryError(f"invalid url {url!r}: expected a full URL such as https://example.org/results/")


def _roots(root: Roots, count: int) -> list[str | Path | None]:
    """Return the root of each store."""
    own: list[str | Path | None] = [root] if root is None or isinstance(root, str | Path) else [*root]
    if len(own) not in (0, 1, count):
        raise QueryError(f"{len(own)} roots for {count} stores; give one for all of them, or one for each")
    return own if len(own) == count else (own or [None]) * count


@dataclass(frozen=True)
class _StorePages:
    """The pages of every store of a site; see `write_site`."""

    level: float | None
    timelines: str | int
    references: bool
    only_aggregates: bool

    def write(
        self, folder: Folder, pages: Pages, name: str, path: str | Path, root: str | Path | None, progress: Progress
    ) -> tuple[StoreContents, list[str]]:
        """Write the tables and the report of a store; returns its contents and notes."""
        progress.stage("reading the scores")
        scores = read_scores(path)
        found = page_contents.store(
            name, scores, level=self.level, references=self.references, only_aggregates=self.only_aggregates
        )
        progress.stage("writing the tables")
        pictured = self._pictured(found)
        first = next(iter(found.datasets.values()), None)
        pipeline = None if first is None else StoredPipeline.of(first, root)

        def draw(evaluation: str, track: TrackPage) -> Drawn:
            ds, worst = found.datasets[evaluation], track.worst
            if (evaluation, track.track) not in pictured:
                return None, None
            seconds = None if worst is None else find_worst(ds, evaluation, track.track, worst, pipeline)
            return draw_track(ds, evaluation, track.track, root=pipeline), seconds

        write_store_pages(folder, pages, found, draw, progress)
        notes = self._write_report(folder, found, path, root, progress)
        left = sorted(scores.keys() - found.ranked.keys())
        notes += [f"{name}: {one}: only in the report, without a metric with one number per track" for one in left]
        return found, notes

    def _pictured(self, found: StoreContents) -> set[tuple[str, str]]:
        """Choose the tracks of each evaluation with a picture: those that are most worth looking at."""
        if not self.references:
            return set()
        share = max(1, PICTURES // len(found.ranked))
        wanted = str(share) if self.timelines == "auto" else str(self.timelines)
        return {
            (name, track)
            for name, ds in found.datasets.items()
            for track in tracks_wanted(ds, found.scores(name).headline, wanted, 1.0)
        }

    def _write_report(
        self, folder: Folder, found: StoreContents, path: str | Path, root: str | Path | None, progress: Progress
    ) -> list[str]:
        """Write the report of a store with links to its other pages; returns its notes."""
        file = folder.file_of("store", store=found.name)
        url = DiskLinks(file, folder.twins).url
        links = [("Results", url("front"))]
        if len(found.ranked) <= page_contents.MANY:
            links += [(one, url("evaluation", store=found.name, evaluation=one)) for one in found.ranked]
        made = write_page(
            path,
            folder.place(file),
            timelines=self.timelines,
            root=root,
            references=self.references,
            only_aggregates=self.only_aggregates,
            links=links,
            progress=progress,
        )
        folder.count(file, made.size)
        return [] if self.timelines == "none" else [f"{found.name}: {note}" for note in made.notes]


def write_store_pages(
    folder: Folder,
    pages: Pages,
    found: StoreContents,
    draw: Callable[[str, TrackPage], Drawn],
    progress: Progress,
) -> None:
    """Write the tables of a store: evaluations, systems and tracks, as pages and as JSON.

    Parameters
    ----------
    draw : callable
        Returns the picture of a track, and the second at which the worst system is worst.
    """
    name = found.name
    folder.twins[name] = _twins_of(found)
    folder.write(folder.file_of("store_json", store=name), to_json(found.board))

    def write(template: str, file: str, page: object, **context: Any) -> None:
        folder.write(file, pages.at(file).render(template, page=page, **context))

    def write_picture(page: str, data: bytes | None, **parts: str) -> bool:
        if data is not None:
            folder.write(folder.file_of(page, **parts), data)
        return data is not None

    progress.start(sum(ranked.tracks for ranked in found.board.evaluations) if found.by_track else 0)
    for ranked in found.board.evaluations:
        parts = {"store": name, "evaluation": ranked.name}
        folder.write(folder.file_of("evaluation_json", **parts), to_json(found.board_of(ranked.name)))
        page = page_contents.evaluation(found, ranked.name)
        # A picture that only previews of links show needs the full address of the site.
        preview = draw_standings(page.standings, page.heading) if pages.home else None
        shown = write_picture("standings_picture", preview, **parts)
        write("evaluation.html", folder.file_of("evaluation", **parts), page, has_picture=shown)
        for system in ranked.systems:
            own = page_contents.system(found, ranked.name, system.name)
            write("system.html", folder.file_of("system", **parts, system=system.name), own)
        if page.has_tracks:
            write("tracks.html", folder.file_of("tracks", **parts), page_contents.tracks(found, ranked.name))
            for track in page_contents.each_track(found, page):
                own_parts = {**parts, "track": track.track}
                picture, seconds = draw(ranked.name, track)
                drawn = write_picture("track_picture", picture, **own_parts)
                write("track.html", folder.file_of("track", **own_parts), track, has_picture=drawn, seconds=seconds)
                progress.advance(1)


def _twins_of(found: StoreContents) -> frozenset[str]:
    """Return evaluations, systems and tracks whose names differ from another one only in case."""
    known = set(twins(found.ranked))
    for name, ranked in found.ranked.items():
        known |= twins(system.name for system in ranked.systems)
        if name in found.datasets:
            known |= twins(names_of(found.datasets[name], "track"))
    return frozenset(known)


def write_front(
    folder: Folder,
    pages: Pages,
    stores: Sequence[StoreContents],
    record: SiteRecord,
    listening: Sequence[WorthListening] = (),
) -> None:
    """Write the pages about the whole site: front page, assets, feed and record."""
    page = front(stores, news_of(record.changes, stores)[:NEWS], listening=listening)
    text = pages.at("index.html").render("front.html", page=page, here="front", grading=())
    folder.write(folder.file_of("front"), text)
    # All pages share its head; the other assets belong to pages of a server.
    for name in asset_names():
        if asset_name(name) in text:
            folder.write(f"static/{asset_name(name)}", read_asset(name))
    base = pages.home
    present = {(store.name, evaluation) for store in stores for evaluation in store.ranked}

    def address(change: Change) -> str:
        parts = {"store": change.store, "evaluation": change.evaluation}
        return base + (
            folder.file_of("evaluation", **parts) if (*parts.values(),) in present else folder.file_of("front")
        )

    ends = {"home": base or folder.file_of("front"), "own": base + folder.file_of("feed")}
    folder.write("feed.xml", to_atom(record.changes, address, title=record.title, identifier=record.id, **ends))
    folder.write(RECORD, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def write_search(folder: Folder, pages: Pages, stores: Sequence[StoreContents], index: SearchIndex) -> None:
    """Write the index of the search, the page of all names, and the page for addresses without a file."""
    folder.write(folder.file_of("search"), index.script())
    file = folder.file_of("all")
    folder.write(file, pages.at(file).render("all.html", stores=stores))
    rooted = DiskLinks(MISSING, folder.twins, root=urlsplit(pages.home).path or "/")
    text = "This site has no page at this address."
    lost = replace(pages, links=rooted, home="").render(
        "error.html", heading="Page not found", text=text, guess=None, missing=True
    )
    folder.write(MISSING, lost)


def write_archive(folder: Folder, pages: Pages, years: Archive, stores: Sequence[StoreContents]) -> None:
    """Write the page of years, and its rows as JSON."""
    present = {(store.name, evaluation) for store in stores for evaluation in store.ranked}
    file = folder.file_of("archive")
    text = pages.at(file).render("archive.html", page=years, present=present, here="archive")
    folder.write(file, text)
    folder.write(folder.file_of("archive_json"), years.tabulation().to_json())


def _next_record(
    folder: Path, record: SiteRecord | None, stores: Sequence[StoreContents], title: str, url: str
) -> tuple[list[Change], SiteRecord]:
    """Return the changes since the previous site, and the record of the new one."""
    authority = authority_of(url)
    changes = find_changes(_read_boards(folder, record), {store.name: store.board for store in stores}, authority)
    history = [*changes, *(record.changes if record else ())][:KEPT]
    updated = max((one.created for one in stores), default="") or LONG_AGO
    identifier = record.id if record else f"tag:{authority},{updated[:10]}:mirflow-site"
    names = [one.name for one in stores]
    return changes, SiteRecord("mirflow-site", 1, version("mirflow"), title, identifier, updated, names, history)


def read_record(folder: Path) -> SiteRecord | None:
    """Read the record of the site in a folder; None if the folder is missing or empty."""
    if not folder.exists():
        if not folder.parent.is_dir():
            raise QueryError(f"{folder}: folder {str(folder.parent)!r} does not exist")
        return None
    if not folder.is_dir():
        raise QueryError(f"{folder}: is a file; choose a folder for the site")
    # Hidden files, such as the .git of a published branch, are ignored.
    foreign = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    if not foreign:
        return None
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=SiteRecord)
    except FileNotFoundError:
        named = ", ".join(foreign[:3]) + (", ..." if len(foreign) > 3 else "")
        hint = "choose a new folder, or empty this one"
        raise QueryError(f"{folder}: contains files that are not a mirflow site ({named}); {hint}") from None
    except msgspec.DecodeError as error:
        raise QueryError(f"{folder / RECORD}: is not the record of a site ({error}); choose another folder") from None


def _read_boards(folder: Path, record: SiteRecord | None) -> dict[str, Leaderboard]:
    """Read the leaderboards of the previous site, skipping those that cannot be read."""
    found = {}
    own = {"": twins(record.stores if record else ())}
    for name in record.stores if record else ():
        with suppress(OSError, msgspec.DecodeError):
            text = (folder / file_of("store_json", own, store=name)).read_bytes()
            found[name] = msgspec.json.decode(text, type=Leaderboard)
    return found


def _previous(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.previous")


def put_in_place(new: Path, folder: Path) -> None:
    """Replace a folder by a new one, moving along files that are not mirflow's."""
    previous = _previous(folder)
    if folder.exists():
        folder.rename(previous)
    try:
        new.rename(folder)
    except OSError:
        if previous.exists():
            previous.rename(folder)
        raise
    recover(folder)


def recover(folder: Path) -> None:
    """Complete an interrupted replacement: the old folder still exists next to the new one, with files to move."""
    previous = _previous(folder)
    if not previous.exists():
        return
    if not folder.exists():
        previous.rename(folder)
        return
    for path in previous.iterdir():
        if path.name not in OWN and not (folder / path.name).exists():
            path.rename(folder / path.name)
    shutil.rmtree(previous)
