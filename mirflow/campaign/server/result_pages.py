"""Pages of results from the current generation of the stores: tables, reports, pictures, years, search and feed.

Recordings and their waveforms are sent here, too. Organisers also see the true scores on hidden splits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from ...errors import QueryError, StoreError, UnknownNameError
from ...reports.figures.page_pictures import draw_standings, has_chart
from ...reports.leaderboard import to_json
from ...reports.page import live
from ..site import page_contents
from ..site.archive import years_of
from ..site.build import NEWS
from ..site.changes import CHANGES, Change, authority_of, find_changes, ranked, state_of, to_atom
from ..site.front_page import SearchIndex, entries_of, front, news_of
from ..site.page_contents import StoreContents
from .accounts import Viewer
from .cache import Content, Snapshot, digest, is_known
from .recordings import TYPES as RECORDING_TYPES
from .recordings import find_peaks
from .security import GuardedRoute
from .service import Service
from .submissions.entries import spreadsheet
from .submissions.submission_tables import Released, Submission
from .viewer_pages import PRIVATE, page, pages_of, served, wants_json
from .views import Views, read_history, seen_as

_HTML, _JSON = "text/html; charset=utf-8", "application/json"
_FOR_GOOD = {"Cache-Control": "public, max-age=31536000, immutable"}
_FOR_A_DAY = {"Cache-Control": "public, max-age=86400"}
_REPORT_BYTES = 32_000_000  # size of the cached numbers and timelines of reports


def routes(service: Service, views: Views) -> list[BaseRoute]:
    """Return the routes of the pages of results."""
    pages: dict[str, Callable[..., Content]] = {
        "front": Visit.front,
        "all": lambda visit: visit.render("all.html", stores=visit.views.all_contents(visit.viewer)),
        "search": Visit.search,
        "feed": Visit.feed,
        "archive": lambda visit: visit.render("archive.html", **visit.years(), here="archive"),
        "archive_json": lambda visit: Content(visit.years()["page"].tabulation().to_json().encode(), _JSON),
        "store": Visit.report_page,
        "/stores/{store}/report/contents.json": lambda visit, store: Content(visit.report(store).contents(), _JSON),
        "/stores/{store}/report/tracks/{track}.json": Visit.report_track,
        "store_json": lambda visit, store: Content(to_json(visit.of(store).board).encode(), _JSON),
        "evaluation_json": lambda visit, store, evaluation: Content(
            to_json(visit.of(store).board_of(evaluation)).encode(), _JSON
        ),
        "evaluation": Visit.evaluation,
        "system": lambda visit, store, evaluation, system: visit.render(
            "system.html", page=page_contents.system(visit.of(store), evaluation, system)
        ),
        "tracks": lambda visit, store, evaluation: visit.render(
            "tracks.html", page=page_contents.tracks(visit.of(store), evaluation)
        ),
        "track": Visit.track,
    }
    pictures: dict[str, Callable[..., Picture]] = {
        "track_picture": Visit.track_picture,
        "standings_picture": Visit.standings_picture,
    }

    block = "/stores/{store}/report/blocks/{address:path}"
    return [
        *(GuardedRoute(path, partial(_respond, views, path, make), role=None) for path, make in pages.items()),
        GuardedRoute(block, partial(_send_block, views), role=None),
        *(
            GuardedRoute(page, partial(_send_picture, views, page, find), role=None, rate="query")
            for page, find in pictures.items()
        ),
        GuardedRoute("/static/{digest}/{name}", report_asset, role=None),
        *(GuardedRoute(page, listen, role=None) for page in ("audio", "peaks")),
        # An empty icon, for browsers that request one by default.
        GuardedRoute("/favicon.ico", lambda _: Response(None, 204, _FOR_A_DAY), role=None),
        *(
            GuardedRoute(page, true_scores, role="organiser")
            for page in ("true_scores", "true_scores_csv")
            if views.hidden
        ),
    ]


def _send_block(views: Views, request: Request) -> Response:
    """Return compressed scores and other numbers of a report, which never change."""
    visit = Visit(views, request.app.state.service, request, request.state.viewer)
    try:
        block = visit.report(request.path_params["store"]).block(request.path_params["address"])
    except (UnknownNameError, StoreError, QueryError):
        block = None
    if block is None:
        raise HTTPException(404)
    keep = _FOR_GOOD if visit.viewer is None else PRIVATE
    return Response(block, media_type="application/octet-stream", headers=keep)


async def _respond(views: Views, path: str, make: Callable[..., Content], request: Request) -> ASGIApp:
    service: Service = request.app.state.service
    parts, viewer = request.path_params, request.state.viewer
    store: str | None = parts.get("store")
    content = partial(make, Visit(views, service, request, viewer), **parts)
    query = None if make is Visit.report_track else ""  # the others ignore the query
    try:
        variant = service.years_token() if path in ("archive", "archive_json") else ""
        if viewer is None and store not in views.changing:
            names = None if store is None else [store]
            return await service.answers.answer(request, names, content, variant=variant, query=query)
        audio = None
        if store in views.splits and "track" in parts:
            # Recordings are the organiser's files and may be added at any time.
            audio = await run_in_threadpool(service.recordings.of_track, store, parts["track"], viewer)
        state = f"{await run_in_threadpool(views.state, store, viewer)} {audio or ''}"
        return await service.answers.answer(
            request, (), content, variant=variant, query=query, view=seen_as(viewer), state=state
        )
    except (UnknownNameError, StoreError, QueryError) as error:
        raise HTTPException(404) from error


@dataclass(frozen=True)
class Visit:
    """A request for a page of results."""

    views: Views
    service: Service
    request: Request
    viewer: Viewer | None

    def of(self, store: str) -> StoreContents:
        """Return the part of a store that the viewer sees."""
        return self.views.contents(store, self.viewer)

    def report(self, store: str) -> live.LivePage:
        """Return the report of the part of a store that the viewer sees."""
        if store in self.views.hidden:
            raise StoreError(f"{store} has no report")
        return self.views.ask(store, self.viewer, partial(report_of, self.service))

    def render(self, template: str, **context: Any) -> Content:
        """Render a template. The page is cached for all sessions of its viewer: it must contain neither a token of one
        session nor forms that need it.
        """
        viewer = self.viewer
        reader = None if viewer is None else {"name": viewer.name, "role": viewer.role, "csrf": ""}
        text = pages_of(self.service, viewer).render(template, viewer=reader, **context)
        return Content(text.encode(), _HTML)

    def front(self) -> Content:
        """Show the front page."""
        views, viewer = self.views, self.viewer
        stores = views.all_contents(viewer)
        # The history of submissions covers the changes of splits.
        changes = [change for change in changes_of(self.service) if change.store not in views.splits]
        news = news_of(changes, stores)
        if views.splits:
            campaign, database = self.service.demand_campaign()
            with database.read() as session:
                news = [*read_history(session, campaign, viewer, NEWS, self.service.clock()), *news]
        news.sort(key=lambda item: item.time, reverse=True)
        page = front(stores, news[:NEWS], own=views.own(viewer), splits=views.splits)
        grading = [] if views.rounds is None else views.rounds.seen_by(viewer)
        return self.render("front.html", page=page, here="front", grading=grading)

    def search(self) -> Content:
        """Return the index of the search."""
        index = SearchIndex()
        for contents in self.views.all_contents(self.viewer):
            index.add(entries_of(contents, self.service.links))
        return Content(index.script().encode(), "text/javascript; charset=utf-8")

    def feed(self) -> Content:
        """Return the feed of changes."""
        service = self.service
        links, base = service.links, service.origin
        changes = [*changes_of(service), *self.views.final_rankings()]
        changes.sort(key=lambda change: change.time, reverse=True)
        identifier = f"tag:{authority_of(base)},2026:mirflow-server{service.prefix}"

        addresses = [base + links.url("evaluation", store=row.store, evaluation=row.evaluation) for row in changes]
        ends = {"home": base + links.url("front"), "own": base + links.url("feed")}
        text = to_atom(changes, addresses, title=service.title, identifier=identifier, **ends)
        return Content(text.encode(), "application/atom+xml")

    def years(self) -> dict[str, Any]:
        """Return the years of a table, or of the systems that the viewer sees (`page`), and what is `present`: pages of
        evaluations.
        """
        stores = self.views.all_contents(self.viewer)
        present = {(store.name, evaluation) for store in stores for evaluation in store.ranked}
        if self.service.archive is not None:
            return {"page": self.service.read_years(), "present": present}
        years = years_of({store.name: store.board for store in stores})
        if not years.entries:
            raise QueryError("no system has a year")
        return {"page": years, "present": present}

    def report_page(self, store: str) -> Content:
        """Return the report of a store, which loads its data on demand; for a hidden split the released part."""
        if store in self.views.hidden:
            return self.render("front.html", page=front([self.of(store)], own=self.views.own(self.viewer)), grading=())
        address = self.service.links.url
        assets = {name: f"{self.service.prefix}/static/{asset_digest(name)}/{name}" for name in live.ASSETS}
        links = [(self.service.title, address("front"))]
        named = self.views.ask(store, self.viewer, lambda snapshot: [*ranked(snapshot.boards)])
        links += [(name, address("evaluation", store=store, evaluation=name)) for name in named]
        return Content(self.report(store).shell(assets, links=links).encode(), _HTML)

    def report_track(self, store: str, track: str) -> Content:
        """Return a track over time for the report of a store."""
        id = self.service.recordings.of_track(store, track, self.viewer) if store in self.views.splits else None
        audio, peaks = (
            ("", "") if id is None else (self.service.links.url(page, audio=id) for page in ("audio", "peaks"))
        )
        metric = self.request.query_params.get("metric", "")
        timeline = self.report(store).timeline(track, metric=metric, audio=audio, peaks=peaks)
        if timeline is None:
            raise UnknownNameError("track", track, ())
        return Content(timeline, _JSON)

    def track_picture(self, store: str, evaluation: str, track: str) -> Picture:
        """Find the picture of a track."""
        report = self.report(store)
        if not report.has_picture(evaluation, track):
            raise UnknownNameError("track", track, ())
        root, _ = _annotations_of(self.service, store)
        return f"{(store, report.generation, root, evaluation, track)}", partial(report.picture, evaluation, track)

    def standings_picture(self, store: str, evaluation: str) -> Picture:
        """Find the picture of the standings of an evaluation."""
        page = page_contents.evaluation(self.of(store), evaluation)
        return f"{page.heading} {page.standings}", partial(draw_standings, page.standings, page.heading)

    def evaluation(self, store: str, evaluation: str) -> Content:
        """Show the table of an evaluation."""
        page = page_contents.evaluation(self.of(store), evaluation, self.views.own(self.viewer).get(store, ()))
        return self.render("evaluation.html", page=page, has_picture=has_chart(page.standings))

    def track(self, store: str, evaluation: str, track: str) -> Content:
        """Show the scores of all systems on a track."""
        contents = self.of(store)
        page = next(page_contents.each_track(contents, page_contents.evaluation(contents, evaluation), track))
        report = self.report(store)
        pictured = report.has_picture(evaluation, track)
        seconds = None if page.worst is None else report.worst_second(evaluation, track, page.worst)
        return self.render("track.html", page=page, has_picture=pictured, seconds=seconds)


def changes_of(service: Service) -> list[Change]:
    """List public changes by the generations of each store, newest first."""
    changes: list[Change] = []
    for name in service.shelf:
        try:
            changes += service.shelf.ask(
                name, lambda snapshot: snapshot.once("changes", partial(_changes, service, snapshot))
            )
        except (QueryError, StoreError):
            continue  # no systems yet, or just removed
    return sorted(changes, key=lambda change: change.time, reverse=True)


def _changes(service: Service, snapshot: Snapshot) -> list[Change]:
    """List the changes of a store: from the previous generation to the current one, and those the current one lists.

    If the previous generation was removed, its changes are unknown.
    """

    name, earlier = snapshot.name, service.shelf.generation(snapshot, snapshot.number - 1)
    states = [state_of(name, snapshot.boards)]
    if not states[0]:
        return []
    if earlier is not None:
        try:
            states.append(state_of(name, earlier.boards))
        except StoreError:
            earlier = None  # just removed by a later run
    if (earlier or snapshot).number <= 1:
        states.append({})
    changes = [change for after, before in pairwise(states) for change in find_changes(before, after)]
    changes += msgspec.convert(snapshot.nodes[""].get("attributes", {}).get(CHANGES, []), list[Change])
    # Identifiers begin with the host name of this server.
    tag, by_id = f"tag:{authority_of(service.base_url)},", {change.id: change for change in changes}
    return [msgspec.structs.replace(row, id=tag + row.id.partition(",")[2]) for row in by_id.values()]


def report_of(service: Service, snapshot: Snapshot) -> live.LivePage:
    """Return the report of a snapshot; timelines are drawn if the server can read the annotations."""
    name = snapshot.name
    root, trusted = _annotations_of(service, name)

    def make() -> live.LivePage:
        import xarray as xr

        # References may be readable only by the worker.
        shown, seen = service.disclosure(name), not trusted or (root is not None and root.is_dir())
        terms: dict[str, Any] = {"references": shown.references and seen, "only_aggregates": not shown.by_track}
        terms |= {"root": root, "trusted": trusted, "cache": _REPORT_BYTES}
        tree = xr.DataTree.from_dict(dict(snapshot.boards))
        return live.LivePage(tree, snapshot.token, name=name, **terms)

    report: live.LivePage = snapshot.once("report", make)
    return report


def _annotations_of(service: Service, store: str) -> tuple[Path | None, bool]:
    """Return the present folder of a store's annotations, and whether the server itself wrote the store's pipeline."""
    campaign = service.campaign
    if campaign is not None and store in campaign.splits:
        return service.root / campaign.splits[store].root, True
    return service.roots.get(store), False


Picture = tuple[str, Callable[[], bytes | None]]  # what a picture depends on, and a function that draws it


async def _send_picture(views: Views, page: str, find: Callable[..., Picture], request: Request) -> Response:
    """Return a picture, which is drawn for the first who asks for it."""
    service: Service = request.app.state.service
    visit = Visit(views, service, request, request.state.viewer)
    try:
        depends, draw = await run_in_threadpool(partial(find, visit, **request.path_params))
    except (UnknownNameError, StoreError, QueryError) as error:
        raise HTTPException(404) from error
    key = digest(f"{version('mirflow')} {page} {depends}", size=16)
    headers = {"ETag": f'"{key}"', "Cache-Control": "no-cache"} if visit.viewer is None else PRIVATE
    if visit.viewer is None and is_known(request.headers.get("if-none-match", ""), key):
        return Response(status_code=304, headers=headers)
    picture = await run_in_threadpool(service.pictures.find, key)
    if picture is None:
        picture = await service.pictures.draw(key, draw)
    if picture is None:
        raise HTTPException(404)
    return Response(picture, media_type="image/png", headers=headers)


@cache
def asset_digest(name: str) -> str:
    """Return the digest in the address of a script or style sheet of the report."""
    return digest(live.asset(name).decode())


def report_asset(request: Request) -> Response:
    """Return the script or style sheet of reports."""
    name = request.path_params["name"]
    if name not in live.ASSETS or request.path_params["digest"] != asset_digest(name):
        raise HTTPException(404)
    return Response(live.asset(name), media_type=f"{live.ASSETS[name]}; charset=utf-8", headers=_FOR_GOOD)


def listen(request: Request) -> Response:
    """Return a recording, or a byte range of it, or its peaks."""
    service: Service = request.app.state.service
    recording = service.recordings.find(request.path_params["audio"])
    if recording is None:
        raise HTTPException(404)
    if not recording.may_hear(request.state.viewer):
        raise HTTPException(403 if request.state.viewer else 401, "You may not listen to this recording.")
    try:
        status = recording.path.stat()
    except OSError:
        raise HTTPException(404) from None
    keep = {"Cache-Control": f"{'public' if recording.role is None else 'private'}, max-age=3600"}
    if request.url.path.endswith("/peaks"):
        peaks = find_peaks(str(recording.path), status.st_size, status.st_mtime_ns)
        return Response(peaks, media_type=_JSON, headers=keep)
    kind = RECORDING_TYPES[recording.path.suffix.lower()]
    answer = FileResponse(recording.path, headers=keep, media_type=kind, stat_result=status)
    if is_known(request.headers.get("if-none-match", ""), answer.headers["etag"].strip('"')):
        return Response(status_code=304, headers={"ETag": answer.headers["etag"], **keep})
    return answer


_COLUMNS = (
    *("evaluation", "metric", "rank", "system", "submission", "sender", "lab", "visibility", "withdrawn"),
    *("disqualified", "value", "low", "high", "released", "tracks", "received", "rules"),
)


def read_true_scores(session: Session, split: str) -> list[dict[str, Any]]:
    """Read the true scores of all systems on a hidden split by evaluation and metric, best first.

    Withdrawn systems and undefined scores have no rank; ``released`` is the rounded score, None if the ladder withholds
    it, and ``withdrawn`` the time of withdrawal or disqualification.
    """
    chosen = select(Released).join(Submission).where(Released.split == split)
    order = (Released.evaluation, Released.headline.desc(), Released.metric, Submission.number)
    listed: list[dict[str, Any]] = []
    rows = session.scalars(chosen.order_by(*order))
    for (evaluation, metric), group in groupby(rows, lambda row: (row.evaluation, row.metric)):
        scores = [*group]
        gains = {
            row.id: -row.true_value if row.lower_is_better else row.true_value
            for row in scores
            if row.true_value is not None and row.submission.withdrawn is None
        }
        ranks = page_contents.ranks_of(gains)
        for row in sorted(scores, key=lambda row: -gains.get(row.id, -float("inf"))):
            sent, user, rank = row.submission, row.submission.user, ranks.get(row.id)
            withdrawn = "" if sent.withdrawn is None else sent.withdrawn.isoformat(timespec="seconds")
            cells = (
                *(evaluation, metric, rank, sent.name, sent.id, user.name, user.lab, sent.visibility, withdrawn),
                *(sent.disqualified, row.true_value, row.true_low, row.true_high, row.value, row.tracks),
                *(sent.received.isoformat(timespec="seconds"), row.rules),
            )
            listed.append(dict(zip(_COLUMNS, cells, strict=True)))
    return listed


def true_scores(request: Request) -> Response:
    """Show the true scores of all systems, including private ones, or return them as a table for spreadsheets."""
    _, campaign, database, _ = served(request)
    split = request.path_params["split"]
    if split not in campaign.splits or not campaign.splits[split].hidden:
        raise HTTPException(404)
    with database.read() as session:
        scores = read_true_scores(session, split)
    if request.url.path.endswith(".csv"):
        text = spreadsheet(_COLUMNS, (score.values() for score in scores))
        disposition = f'attachment; filename="{split}-true-scores.csv"'  # names of splits are identifiers
        return Response(text, headers={"Content-Disposition": disposition, **PRIVATE}, media_type="text/csv")
    if wants_json(request):
        return JSONResponse({"split": split, "scores": scores}, headers=PRIVATE)
    tables = [(name, [*group]) for name, group in groupby(scores, itemgetter("evaluation", "metric"))]
    return page(request, "true_scores.html", here="submissions", split=split, tables=tables)
