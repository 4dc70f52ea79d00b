"""Sites in a folder: pages and reports of all stores, years of a campaign, tables as JSON, search and feed.

A site is written next to the folder and then moved; an interrupted move is completed the next time. A record in the
folder keeps the changes for the feed, and files that are not mirflow's stay.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from ...analysis.queries import name_stores
from ...analysis.query_options import DEFAULT_LEVEL
from ...analysis.scores import names_of
from ...errors import MirflowError, QueryError
from ...progress import Progress
from ...reports.figures.page_pictures import draw_standings, draw_track
from ...reports.figures.timeline import find_worst
from ...reports.leaderboard import Leaderboard, to_json
from ...reports.origins import Roots, StoredPipeline, root_of_each
from ...reports.page import write_page
from ...reports.page.timelines import check_timelines, tracks_wanted
from ...store.generations import remove, remove_left
from ...store.read import read_scores
from . import page_contents
from .archive import Archive, has_years, read_archive, years_of
from .changes import LONG_AGO, Change, authority_of, find_changes, to_atom
from .front_page import SearchIndex, WorthListening, entries_of, front, news_of, worth_listening
from .page_contents import StoreContents
from .pages import DiskLinks, Pages, asset_name, asset_names, environment, file_of, is_web_address, read_asset, twins

RECORD = "site.json"  # file that identifies a folder as a site and records its changes
MISSING = "404.html"  # page that hosts serve for addresses without a file
# Names used by a site in its folder; all other files belong to the user and are kept.
OWN = frozenset(
    {"index.html", RECORD, "feed.xml", "archive", "archive.json", "stores", "static", "all", "search.js", MISSING}
)
KEPT = 500  # number of changes that a site records
LINKED = 4  # most evaluations of a store that its report links
NEWS = 12  # number of changes on the front page


class SiteRecord(msgspec.Struct, frozen=True):
    """Record of a site in its folder. `updated`: time when the newest store was scored, ISO 8601."""

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
    pages: int  # number of HTML files
    size: int  # bytes of all files
    changes: list[Change]  # changes since the previous site; empty for the first one
    notes: tuple[str, ...]  # parts that were left out

    def __fspath__(self) -> str:
        return str(self.path)


@dataclass
class Folder:
    """The folder of a site, to be filled with files, each written once."""

    path: Path
    templates: Pages
    twins: dict[str, frozenset[str]]  # names that differ from another one only in case, see `pages.Twins`
    pages: int = 0  # number of HTML files so far
    size: int = 0  # bytes of all files so far
    _made: set[str] = field(default_factory=set)

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
        self.pages, self.size = self.pages + name.endswith(".html"), self.size + len(data)

    def render(self, template: str, file: str, **context: Any) -> str:
        """Write a page from a template, with links relative to it; returns its text."""
        text = replace(self.templates, links=DiskLinks(file, self.twins)).render(template, **context)
        self.write(file, text)
        return text


def write_site(
    stores: Sequence[str | Path] | Mapping[str, str | Path],
    output: str | Path = "site",
    *,
    title: str = "Evaluation results",
    url: str = "",
    note: str = "",
    timelines: str | int = "auto",
    level: float | None = DEFAULT_LEVEL,
    references: bool = True,
    only_aggregates: bool = False,
    root: Roots = None,
    archive: str | Path | None = None,
    progress: Progress | None = None,
) -> SiteReport:
    """Write a site about stores to a folder, replacing an existing site.

    `stores`: result stores; names are used on pages and default to those of the folders.
    `output`: output folder. An existing site is replaced entirely; files that are not mirflow's are kept.
    `url`: future address of the site, for the feed and previews of links; empty: the feed has relative links.
    `note`: footer of every page, such as the licence of the data.
    `timelines` ("auto", "all", "worst", "none" or a number): timelines of the reports, see :func:`mirflow.report`, and
      pictures on pages of tracks.
    `level`: level of confidence intervals and comparisons; None: neither.
    `references`: whether to include references in reports, and messages that may quote one.
    `only_aggregates`: whether to leave out scores of single tracks, and pages, names and timelines of tracks.
    `root`: folder of the annotations, if they were moved: one for all stores, or one for each.
    `archive`: table of years, see :func:`.archive.read_archive`; None: the years of the systems, if they have a
      coordinate ``year``.
    """
    check_timelines(timelines)
    paths = stores if isinstance(stores, Mapping) else name_stores(stores)
    # Names of folders may contain bytes that are not valid text.
    named = {name.encode("utf-8", "replace").decode("utf-8"): path for name, path in paths.items()}
    folder = Path(os.path.realpath(output))
    if url and not is_web_address(url):
        raise QueryError(f"invalid url {url!r}: expected a full URL such as https://example.org/results/")
    environment()
    recover(folder)
    remove_left(folder, "new")
    record = read_record(folder)
    new = folder.with_name(f".{folder.name}.{os.getpid()}.new")
    annotations = root_of_each(root, len(named))
    own_names = {os.path.realpath(path): name for name, path in named.items()}
    years = None if archive is None else read_archive(archive, own_names)
    try:
        new.mkdir(parents=True)
        has_archive = years is not None or any(has_years(path) for path in named.values())
        navigation = [("front", "Results"), *([("archive", "Archive")] if has_archive else [])]
        alike, home = {"": twins(named)}, url if not url or url.endswith("/") else f"{url}/"
        pages = Pages(DiskLinks("index.html", alike), title, navigation=navigation, note=note, home=home)
        site = Folder(new, pages, alike)
        terms = {"level": level, "timelines": timelines, "references": references, "only_aggregates": only_aggregates}
        with progress or Progress() as shown:
            changes, notes = _write_pages(site, folder, record, named, annotations, years, shown, **terms)
        put_in_place(new, folder)
    except OSError as error:
        raise MirflowError(f"{error.filename or folder}: cannot write: {error.strerror}") from error
    finally:
        remove(new)
    return SiteReport(Path(output), site.pages, site.size, changes if record else [], tuple(notes))


def _write_pages(
    site: Folder,
    before: Path,
    record: SiteRecord | None,
    named: Mapping[str, str | Path],
    annotations: Sequence[str | Path | None],
    years: Archive | None,
    progress: Progress,
    **terms: Any,
) -> tuple[list[Change], list[str]]:
    """Write all files of a site; returns the changes since the one in the folder `before`, and notes."""
    stores, listening, notes = list[StoreContents](), list[WorthListening](), list[str]()
    index = SearchIndex()
    for number, ((name, path), root) in enumerate(zip(named.items(), annotations, strict=True), start=1):
        progress.about = f"{name} ({number} of {len(named)}): " if len(named) > 1 else ""
        contents, left_out = _write_store(site, name, path, root, progress, **terms)
        listening += worth_listening(contents)
        index.add(entries_of(contents, DiskLinks(site.file_of("search"), site.twins)))
        # Written stores need not stay in memory.
        stores.append(replace(contents, datasets={}))
        notes += left_out
    progress.about = ""
    progress.stage("writing the front page")
    changes, record = _next_record(site.templates, before, record, stores)
    write_front(site, stores, record, listening)
    site.write(site.file_of("search"), index.script())
    site.render("all.html", site.file_of("all"), stores=stores)
    links = DiskLinks(MISSING, site.twins, root=urlsplit(site.templates.home).path or "/")
    words: dict[str, Any] = {"heading": "Page not found", "text": "This site has no page at this address."}
    rooted = replace(site.templates, links=links, home="")
    site.write(MISSING, rooted.render("error.html", **words, guess=None, missing=True))
    if any(page == "archive" for page, _ in site.templates.navigation):
        years = years or years_of({store.name: store.board for store in stores})
        present = {(store.name, evaluation) for store in stores for evaluation in store.ranked}
        site.render("archive.html", site.file_of("archive"), page=years, present=present, here="archive")
        site.write(site.file_of("archive_json"), years.tabulation().to_json())
    return changes, notes


def _write_store(
    site: Folder,
    name: str,
    path: str | Path,
    root: str | Path | None,
    progress: Progress,
    *,
    level: float | None,
    timelines: str | int,
    **shown: Any,
) -> tuple[StoreContents, list[str]]:
    """Write the tables and the report of a store; returns its contents and notes."""
    progress.stage("reading the scores")
    scores = read_scores(path)
    contents = page_contents.store(name, scores, level=level, **shown)
    file = site.file_of("store", store=name)
    url = DiskLinks(file, site.twins).url
    links = [("Results", url("front"))]
    if len(contents.ranked) <= LINKED:
        links += [(key, url("evaluation", store=name, evaluation=key)) for key in contents.ranked]
    settings: dict[str, Any] = {"timelines": timelines, "root": root, "links": links, "progress": progress}
    report = write_page(path, site.place(file), **settings, **shown)
    site.pages, site.size = site.pages + 1, site.size + report.size
    notes = [] if timelines == "none" else [f"{name}: {note}" for note in report.notes]
    contents = replace(contents, timelines=report.timelines)
    progress.stage("writing the tables")
    # Unless others are asked for, the tracks that the front page names have pictures.
    pictured: set[tuple[str, str]] = set()
    if shown["references"] and timelines == "auto":
        for worth in worth_listening(contents):
            pictured |= {(worth.evaluation, track.name) for track in (*worth.suspects, *worth.disputed)}
    elif shown["references"]:
        for key, ds in contents.datasets.items():
            tracks = tracks_wanted(ds, contents.scores(key).headline, str(timelines), 1.0)
            pictured |= {(key, track) for track in tracks}
    first = next(iter(contents.datasets.values()), None)
    pipeline = None if first is None else StoredPipeline.of(first, root)
    write_store_pages(site, contents, pictured, pipeline, progress)
    left = sorted(scores.keys() - contents.ranked.keys())
    notes += [f"{name}: {key}: only in the report, without a metric with one number per track" for key in left]
    return contents, notes


def write_store_pages(
    site: Folder,
    contents: StoreContents,
    pictured: Collection[tuple[str, str]],
    pipeline: StoredPipeline | None,
    progress: Progress,
) -> None:
    """Write the tables of a store: evaluations, systems and tracks, as pages and as JSON.

    `pictured`: evaluations and tracks whose pages have a picture, and lead to the second at which the worst system is
      worst.
    `pipeline`: that of the annotations.
    """
    name = contents.name
    # Evaluations, systems and tracks whose names differ from another one only in case.
    alike = set(twins(contents.ranked))
    for key, ranked in contents.ranked.items():
        alike |= twins(system.name for system in ranked.systems)
        if key in contents.datasets:
            alike |= twins(names_of(contents.datasets[key], "track"))
    site.twins[name] = frozenset(alike)
    site.write(site.file_of("store_json", store=name), to_json(contents.board))

    progress.start(sum(ranked.tracks for ranked in contents.board.evaluations) if contents.by_track else 0)
    for ranked in contents.board.evaluations:
        parts = {"store": name, "evaluation": ranked.name}
        site.write(site.file_of("evaluation_json", **parts), to_json(contents.board_of(ranked.name)))
        page = page_contents.evaluation(contents, ranked.name)
        # A picture that only previews of links show needs the full address of the site.
        preview = draw_standings(page.standings, page.heading) if site.templates.home else None
        if preview is not None:
            site.write(site.file_of("standings_picture", **parts), preview)
        file = site.file_of("evaluation", **parts)
        site.render("evaluation.html", file, page=page, has_picture=preview is not None)
        for system in ranked.systems:
            profile = page_contents.system(contents, ranked.name, system.name)
            site.render("system.html", site.file_of("system", **parts, system=system.name), page=profile)
        if page.has_tracks:
            listed = page_contents.tracks(contents, ranked.name)
            site.render("tracks.html", site.file_of("tracks", **parts), page=listed)
            for track in page_contents.each_track(contents, page):
                of_track = {**parts, "track": track.track}
                picture = seconds = None
                if (ranked.name, track.track) in pictured:
                    place = contents.datasets[ranked.name], ranked.name, track.track
                    seconds = None if track.worst is None else find_worst(*place, track.worst, pipeline)
                    picture = draw_track(*place, root=pipeline)
                if picture is not None:
                    site.write(site.file_of("track_picture", **of_track), picture)
                shown: dict[str, Any] = {"has_picture": picture is not None, "seconds": seconds}
                site.render("track.html", site.file_of("track", **of_track), page=track, **shown)
                progress.advance(1)


def write_front(
    site: Folder, stores: Sequence[StoreContents], record: SiteRecord, listening: Sequence[WorthListening] = ()
) -> None:
    """Write the pages about the whole site: front page, assets, feed and record."""
    page = front(stores, news_of(record.changes, stores)[:NEWS], listening=listening)
    text = site.render("front.html", site.file_of("front"), page=page, here="front", grading=())
    # All pages share its head; the other assets belong to pages of a server.
    for name in asset_names():
        if asset_name(name) in text:
            site.write(f"static/{asset_name(name)}", read_asset(name))
    base = site.templates.home
    present = {(store.name, evaluation) for store in stores for evaluation in store.ranked}
    addresses = []
    for change in record.changes:
        parts = {"store": change.store, "evaluation": change.evaluation}
        exists = (change.store, change.evaluation) in present
        addresses.append(base + (site.file_of("evaluation", **parts) if exists else site.file_of("front")))
    ends = {"home": base or site.file_of("front"), "own": base + site.file_of("feed")}
    site.write("feed.xml", to_atom(record.changes, addresses, title=record.title, identifier=record.id, **ends))
    site.write(RECORD, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def _next_record(
    site: Pages, folder: Path, record: SiteRecord | None, stores: Sequence[StoreContents]
) -> tuple[list[Change], SiteRecord]:
    authority = authority_of(site.home)
    before, names = dict[str, Leaderboard](), record.stores if record else ()
    for name in names:
        with suppress(OSError, msgspec.DecodeError):  # what cannot be read is as if it were new
            text = (folder / file_of("store_json", {"": twins(names)}, store=name)).read_bytes()
            before[name] = msgspec.json.decode(text, type=Leaderboard)
    changes = find_changes(before, {store.name: store.board for store in stores}, authority)
    history = [*changes, *(record.changes if record else ())][:KEPT]
    times = [evaluation.created for store in stores for evaluation in store.board.evaluations]
    updated = max(times, default="") or LONG_AGO
    identifier = record.id if record else f"tag:{authority},{updated[:10]}:mirflow-site"
    stored = [store.name for store in stores]
    return changes, SiteRecord("mirflow-site", 1, version("mirflow"), site.title, identifier, updated, stored, history)


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


def put_in_place(new: Path, folder: Path) -> None:
    """Replace a folder by a new one, moving along files that are not mirflow's."""
    previous = folder.with_name(f".{folder.name}.previous")
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
    previous = folder.with_name(f".{folder.name}.previous")
    if not previous.exists():
        return
    if not folder.exists():
        previous.rename(folder)
        return
    for path in previous.iterdir():
        if path.name not in OWN and not (folder / path.name).exists():
            path.rename(folder / path.name)
    shutil.rmtree(previous)
