"""Pages of submissions: the list, the form, and a submission with its progress, findings, scores and comparisons.

Uploads are received here; submissions are withdrawn, disqualified, or made visible to others. Progress is streamed
as events.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, get_args

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute

from ...analysis.inference.resampling import least_units
from ...analysis.query_options import DEFAULT_LEVEL
from ...errors import MirflowError, QueryError, StoreError, UnknownNameError, counted
from ...reports.page.assembly import report_link
from ...store.generations import remove
from ...store.read import read_scores
from ..file import Visibility, show_moment
from .accounts import Role, Viewer, has_lab, is_current
from .cache import weights_of
from .limits import shown_size
from .result_pages import report_of
from .security import GuardedRoute, check_forgery, who_asks
from .service import Service
from .submissions import entries
from .submissions.checking import asked_files
from .submissions.entries import SplitResult, SubmissionError
from .submissions.notifications import announce, undelivered
from .submissions.releases import NO_BETTER, decimals_of, first_difference, is_final, show_score, track_changes
from .submissions.submission_tables import OPEN, Submission, SubmissionProgress, Trouble
from .submissions.uploads import Fields, Upload, UploadError, receive, to_its_end
from .viewer_pages import PRIVATE, error_answer, page, served, wants_json
from .views import Views, title_of

MOST_LISTED = 500  # most submissions in the list, and most findings on a page
WATCHED = 6  # most progress streams of an account or address at a time
LOOK_SECONDS = 1.0
WATCH_SECONDS = 600.0  # seconds after which a progress stream ends and the browser reconnects
_FORM_BYTES = 2**20
VISIBILITIES: Mapping[str, str] = {
    "private": "only you and the organisers",
    "lab": "only your lab and the organisers",
    "public": "everybody",
}
_WORDS = {
    "received": "waiting to be checked",
    "checking": "being checked",
    "refused": "refused",
    "accepted": "checked, waiting to be scored",
    "scoring": "being scored",
    "computed": "waiting for the release of earlier ones",
    "releasing": "being compared and released",
    "scored": "scored",
    "failed": "could not be scored",
    "withdrawn": "withdrawn",
}
_STEPS: Mapping[str, tuple[str, ...]] = {
    "Sent": (),
    "Checked": ("received", "checking"),
    "Scored": ("accepted", "scoring"),
    "Compared": ("computed", "releasing"),
}
_OUTCOMES = {"better": "better than", "worse": "worse than", "not told apart": "not told apart from"}
_REACHED = {
    **dict.fromkeys(("received", "checking", "refused", "withdrawn"), 1),
    **dict.fromkeys(("accepted", "scoring", "failed"), 2),
    **dict.fromkeys(("computed", "releasing"), 3),
    "scored": 4,
}

# Changes of a submission, and who may ask for them.
_CHANGES: Mapping[str, Role] = {"visibility": "submitter", "withdraw": "submitter", "disqualify": "organiser"}
_ABOUT = ("description", "paper", "code", "runtime")
_FINDING = ("path", "line", "severity", "rule", "message")  # columns of findings

_watched: Counter[str] = Counter()


def routes(service: Service, views: Views) -> list[BaseRoute]:
    """Return the routes, if the campaign takes submissions."""
    if service.database is None or service.campaign is None or not service.campaign.splits:
        return []
    return [
        GuardedRoute("submissions", listing, role=None),
        GuardedRoute("new_submission", form, role="submitter"),
        GuardedRoute(
            "new_submission",
            send,
            role="submitter",
            methods=("POST",),
            form=False,
            body=service.campaign.limits.size + _FORM_BYTES,
            rate="upload",
        ),
        GuardedRoute("submission_tracks", tracks_table, role="submitter"),
        GuardedRoute("submission", show, role=None, rate="query"),
        GuardedRoute("submission_findings", findings_table, role="submitter"),
        GuardedRoute("submission_progress", progress, role=None),
        GuardedRoute("submission_change", partial(show_change, views), role=None, rate="query"),
        *(
            GuardedRoute(f"submission_{name}", partial(change, name), role=role, methods=("POST",))
            for name, role in _CHANGES.items()
        ),
    ]


def listing(request: Request) -> Response:
    """List the submissions that the viewer may see, latest first."""
    service, campaign, database, viewer = served(request)
    with database.read() as session:
        latest = session.scalars(select(Submission).order_by(Submission.number.desc()))
        visible = (row for row in latest if entries.may_see(row, viewer))
        listed = [_summary(row, viewer) for row in islice(visible, MOST_LISTED)]
        # It may name hidden files.
        organises = viewer is not None and viewer.may("organiser")
        trouble = session.get(Trouble, 1) if organises else None
        unsent = undelivered(session, service.clock()) if organises else []
    if wants_json(request):
        return JSONResponse({"submissions": listed}, headers=PRIVATE)
    may_send = viewer is not None and viewer.may("submitter")
    hidden = [name for name, split in campaign.splits.items() if split.hidden] if organises else []
    context: dict[str, Any] = {"submissions": listed, "may_send": may_send, "trouble": trouble, "hidden": hidden}
    context |= {"organises": organises, "unsent": unsent}
    return page(request, "submissions.html", here="submissions", **context)


def form(request: Request, status: int = 200, trouble: str = "", given: Mapping[str, Any] | None = None) -> Response:
    """Show the form with the remaining quotas."""
    service, campaign, database, viewer = served(request)
    with database.read() as session:
        left, now = entries.quotas(session, campaign, viewer.user, service.clock()), service.clock()
    limits, files = campaign.limits, asked_files(service.state_folder, campaign)
    splits = []
    for quota in left.values():
        split, (opens, closes) = campaign.splits[quota.split], campaign.window(quota.split)
        embargo = None if split.embargo is None or split.embargo <= now else split.embargo
        moments = {"opens": opens, "closes": closes, "embargo": embargo}
        moments["published"] = None if split.final is None else split.final.published
        is_closed = closes is not None and now >= closes
        row: dict[str, Any] = {"name": quota.split, "hidden": split.hidden, **_columns(quota, ("most", "left", "per"))}
        row |= {"renewed": "" if quota.renewed is None else quota.renewed.date().isoformat()}
        row |= {name: None if moment is None else show_moment(moment) for name, moment in moments.items()}
        is_open = (opens is None or now >= opens) and not is_closed
        splits.append({**row, "is_open": is_open, "is_closed": is_closed})
    terms = {
        "campaign": campaign.campaign,
        "rules": campaign.rules,
        "visibility": entries.visibility_of(campaign, viewer.team),
        "limits": {"size": limits.size, "files": limits.files, "seconds": limits.seconds},
        "splits": splits,
        "files": files,
        "longest_name": entries.LONGEST_NAME,
        "longest_description": entries.LONGEST_DESCRIPTION,
        "longest_link": entries.LONGEST_LINK,
    }
    if wants_json(request):
        return JSONResponse(terms, status, PRIVATE)
    context: dict[str, Any] = {**terms, "has_about": service.has_about, "trouble": trouble, "given": given or {}}
    context |= {
        "visibilities": VISIBILITIES,
        "has_lab": has_lab(viewer.team),
        "size": shown_size(limits.size),
        "most": MOST_LISTED,
    }
    return page(request, "submission_new.html", status, here="submissions", **context)


def tracks_table(request: Request) -> Response:
    """Return the names of all files (or of all tracks in a file) for an evaluation on a split, one per line."""
    service, campaign, _, _ = served(request)
    key = request.path_params["split"], request.path_params["evaluation"]
    files = [row for row in asked_files(service.state_folder, campaign) if (row["split"], row["evaluation"]) == key]
    if not files or not files[0]["names"]:
        raise HTTPException(404)
    return PlainTextResponse("".join(f"{name}\n" for name in files[0]["names"]), headers=PRIVATE)


async def send(request: Request) -> Response:
    """Receive an upload; once answered, it is on disk and in the queue."""
    service, campaign, database, viewer = served(request)
    folder, given, entered = service.folder_of("submissions"), dict[str, Any](), list[str]()
    query = {name: request.query_params.getlist(name) for name in request.query_params}
    kind, filename = request.headers.get("content-type", ""), query.pop("filename", ["upload"])[0][-200:]

    def admit(fields: Fields) -> None:
        given.update(_entry(fields))
        check_forgery(request, _first(fields, "csrf"))
        entries.demand_about(**{name: given[name] for name in _ABOUT})
        with database.read() as session:
            entries.demand_entry(session, campaign, viewer.user, given["name"], given["splits"], service.clock())

    def take(upload: Upload) -> None:
        given.update(_entry(upload.fields))
        about = {"id": upload.id, "user": viewer.user, "size": upload.size, "sent_digest": upload.digest}
        with database.write() as session:
            now = service.clock()
            if not is_current(session, viewer, now):  # an upload may take hours
                raise HTTPException(401)
            made = entries.enter(session, campaign, **about, **given, now=now)
            service.audit.record(viewer.name, "submit", submission=made.id, name=made.name, splits=made.splits)
        entered.append(made.id)

    try:
        upload = await receive(
            request.stream(), kind, folder, campaign.limits, fields=query, filename=filename, admit=admit
        )
        try:
            await to_its_end(take, upload)
        except BaseException:
            if not entered:
                remove(folder / upload.id)
            raise
    except SubmissionError as error:
        status = error.status if isinstance(error, UploadError) else 400
        if wants_json(request) or status == 413:
            return error_answer(request, status, str(error), {"Connection": "close"})
        answer = await run_in_threadpool(form, request, status, str(error), given)
        answer.headers["Connection"] = "close"  # do not wait for the rest of the upload
        return answer
    address = service.links.url("submission", submission=upload.id)
    if wants_json(request):
        received = {"id": upload.id, "address": address, "state": "received"}
        return JSONResponse(received, 201, {"Location": address, **PRIVATE})
    return RedirectResponse(address, 303)


def _first(fields: Fields, name: str) -> str:
    return (fields.get(name) or [""])[0]


def _entry(fields: Fields) -> dict[str, Any]:
    splits = [split for split in fields.get("split", []) if split]
    about = {name: _first(fields, name).strip() for name in _ABOUT}
    return {"name": _first(fields, "name"), "splits": splits, "visibility": _first(fields, "visibility"), **about}


def show(request: Request) -> Response:
    """Show a submission: its progress, then its findings, scores and comparisons."""
    service, campaign, database, viewer = served(request)
    with database.read() as session:
        submission = _find(session, request)
        kept_back = submission.withdrawn is not None and not entries.may_change(submission, viewer)
        results = [row for row in entries.results_of(session, campaign, submission) if not (row.hidden and kept_back)]
        twin = entries.twin_of(session, submission, viewer)
        shown = _describe(service, session, submission, results, viewer, twin)
        if wants_json(request):
            return JSONResponse(shown, headers=PRIVATE)
        size = shown_size(submission.size)
        context: dict[str, Any] = {
            "has_lab": has_lab(submission.team),
            "same_as": None if twin is None else twin.id,
            "finals": [row.split for row in results if is_final(campaign.splits.get(row.split), service.clock())],
            "changes": {result.split: _changes(service, submission, result, viewer) for result in results},
        }
    context |= {"submission": shown, "size": size, "steps": _steps(shown, size), "title": partial(title_of, campaign)}
    context |= {"most": MOST_LISTED, "no_better": NO_BETTER, "longest_reason": entries.LONGEST_REASON}
    return page(request, "submission.html", here="submissions", visibilities=VISIBILITIES, **context)


def show_change(views: Views, request: Request) -> Response:
    """Redirect to the timeline of a track, at the time where a submission first differs from an earlier one."""
    service, campaign, database, viewer = served(request)
    split, evaluation, track, name = (request.path_params[key] for key in ("split", "evaluation", "track", "other"))
    with database.read() as session:
        submission = _find(session, request)
        results = {row.split: row for row in entries.results_of(session, campaign, submission)}
        verdicts = results[split].verdicts if split in results and not results[split].hidden else ()
        compared = [row for row in verdicts if (row.evaluation, row.other.name) == (evaluation, name)]
        if not any(row.relation == "own" and entries.may_see(row.other, viewer) for row in compared):
            raise HTTPException(404)
        system, metric = submission.name, compared[0].metric
    try:
        report = views.ask(split, viewer, partial(report_of, service))
        estimates = [read for read in report.estimates(evaluation, track, [system, name]) if read is not None]
    except (QueryError, StoreError, UnknownNameError):
        raise HTTPException(404) from None
    if not estimates:  # no timelines are available
        address = service.links.url("track", store=split, evaluation=evaluation, track=track)
        return RedirectResponse(address, 303)
    second = first_difference(*estimates) if len(estimates) == 2 else None
    fragment = report_link(evaluation, track, second, metric=metric, ear=system)
    return RedirectResponse(service.links.url("store", store=split) + fragment, 303)


def findings_table(request: Request) -> Response:
    """Return the findings of a submission as a table for spreadsheets."""
    _, _, database, _ = served(request)
    with database.read() as session:
        submission = _find(session, request, to_change=True)
        findings, name = entries.findings_of(session, submission), submission.name
    text = entries.spreadsheet(_FINDING, ([getattr(row, column) or "" for column in _FINDING] for row in findings))
    disposition = f'attachment; filename="{name}-findings.csv"'  # names cannot contain quotes
    return Response(text, headers={"Content-Disposition": disposition, **PRIVATE}, media_type="text/csv")


def change(what: str, request: Request) -> Response:
    """Change a submission: its visibility; withdraw it, which keeps it in lists; or disqualify it, with a reason."""
    service, campaign, database, viewer = served(request)
    sent, now = {name: str(value) for name, value in request.state.form.items()}, service.clock()
    with database.write() as session:
        submission = _find(session, request, to_change=True)
        action, details = what, dict[str, str]()
        if what == "visibility":
            action, chosen = "change visibility", sent.get("visibility", "")
            if chosen not in get_args(Visibility):
                raise HTTPException(400, "Choose private, lab or public.")
            entries.set_visibility(campaign, submission, viewer, chosen, now)
            details["visibility"] = chosen
        elif what == "withdraw":
            if submission.withdrawn is None:
                announce(session, campaign, submission, "withdrawn", now, mail=viewer.user != submission.user_id)
            entries.withdraw(submission, viewer, now)
        else:
            entries.disqualify(submission, viewer, sent.get("reason", ""), now)
            announce(session, campaign, submission, "disqualified", now)
            details["reason"] = submission.disqualified
        service.audit.record(viewer.name, action, submission=submission.id, **details)
    return RedirectResponse(service.links.url("submission", submission=submission.id), 303)


async def progress(request: Request) -> Response:
    """Stream the progress of a submission as events, or return it once as JSON."""
    service, _, database, viewer = served(request)

    def look() -> Mapping[str, Any]:
        with database.read() as session:
            if viewer is not None and not is_current(session, viewer, service.clock()):
                raise HTTPException(401)  # access ended meanwhile
            return _status(session, _find(session, request))

    first = await run_in_threadpool(look)
    if not weights_of(request.headers.get("accept", "")).get("text/event-stream"):
        return JSONResponse(first, headers=PRIVATE)
    who = who_asks(request)
    if _watched[who] >= WATCHED:
        raise HTTPException(429, "You are following too many submissions at a time.", {"Retry-After": "10"})
    server = getattr(request.app.state, "server", None)
    events = _events(first, look, request.headers.get("last-event-id", ""), who, server)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, headers=headers, media_type="text/event-stream")


async def _events(status: Mapping[str, Any], look: Any, last: str, who: str, server: Any) -> AsyncIterator[str]:
    """Yield events for changes; their ids let a reconnecting browser skip what it has seen."""
    if _watched[who] >= WATCHED:
        return  # other streams have started meanwhile
    _watched[who] += 1
    try:
        loop = asyncio.get_running_loop()
        end, sent = loop.time() + WATCH_SECONDS, loop.time()
        yield "retry: 2000\n\n"
        while True:
            id = f"{status['state']}-{status['stage']}-{status['done']}-{status['before']}".replace(" ", "_")
            if id != last:
                last, sent = id, loop.time()
                yield f"id: {id}\nevent: progress\ndata: {json.dumps(status)}\n\n"
            if not status["open"]:
                yield f"id: {id}\nevent: end\ndata: {json.dumps(status)}\n\n"
                return
            if loop.time() > end or (server is not None and server.should_exit):
                return
            if loop.time() - sent > 15:
                sent = loop.time()
                yield ": still there\n\n"  # lets proxies and the server notice dead connections
            await asyncio.sleep(LOOK_SECONDS)
            status = await run_in_threadpool(look)
    except (HTTPException, MirflowError, SQLAlchemyError):
        return  # the browser reconnects and gets the error
    finally:
        _watched[who] -= 1
        if not _watched[who]:
            del _watched[who]


def _find(session: Session, request: Request, to_change: bool = False) -> Submission:
    viewer: Viewer | None = request.state.viewer
    submission = session.scalar(select(Submission).where(Submission.id == request.path_params["submission"]))
    if submission is None or not entries.may_see(submission, viewer):
        raise HTTPException(404)
    if to_change and not entries.may_change(submission, viewer):
        raise HTTPException(403, "This submission belongs to another account.")
    return submission


def _summary(submission: Submission, viewer: Viewer | None) -> dict[str, Any]:
    lab = f" ({submission.user.lab})" if submission.user.lab else ""
    row: dict[str, Any] = {**_columns(submission, ("id", "name")), "sender": f"{submission.user.name}{lab}"}
    row |= {"splits": submission.split_names, "state": submission.state, "words": _WORDS[submission.state]}
    times = {"received": submission.received, "withdrawn": submission.withdrawn}
    texts = {name: "" if time is None else time.isoformat(timespec="seconds") for name, time in times.items()}
    row |= {"visibility": submission.visibility, **texts, **_columns(submission, ("disqualified", "held"))}
    return {**row, "mine": viewer is not None and viewer.user == submission.user_id}


def _status(session: Session, submission: Submission) -> dict[str, Any]:
    row = session.get(SubmissionProgress, submission.number)
    is_open = submission.state in OPEN
    # The worker processes these submissions first.
    earlier = Submission.state.in_(OPEN), Submission.withdrawn.is_(None), Submission.number < submission.number
    before = session.scalar(select(func.count()).where(*earlier)) if is_open else 0
    return {
        "state": submission.state,
        "words": _WORDS[submission.state],
        "open": is_open,
        **(_columns(row, ("stage", "done", "total")) if row and is_open else {"stage": "", "done": 0, "total": 0}),
        "before": before,
    }


def _describe(
    service: Service,
    session: Session,
    submission: Submission,
    results: list[SplitResult],
    viewer: Viewer | None,
    twin: Submission | None,
) -> dict[str, Any]:
    campaign, _ = service.demand_campaign()
    until = campaign.embargo(submission.split_names, service.clock())
    mine = entries.may_change(submission, viewer)
    findings = entries.findings_of(session, submission)[:MOST_LISTED] if mine else ()
    described: list[dict[str, Any]] = []
    for result in results:
        split, now = campaign.splits.get(result.split), service.clock()
        scores = []
        for row in result.scores:
            score, named = show_score(row, split, now), _columns(row, ("evaluation", "metric"))
            values = {**_columns(score, ("value", "low", "high")), **_columns(row, ("tracks", "headline"))}
            scores.append({**named, **values, "kept_back": score.kept_back, "rules": row.rules})
        comparisons, least = [], least_units(DEFAULT_LEVEL)
        for verdict in result.verdicts:
            # The outcome reveals something about the other submission's score.
            may_know = entries.may_change if result.hidden and verdict.other.withdrawn is not None else entries.may_see
            if may_know(verdict.other, viewer):
                words = verdict.outcome
                # So few tracks that no test can tell two systems apart are no tie.
                if not result.hidden and words == "not told apart" and verdict.tracks < least:
                    words = f"too few tracks ({verdict.tracks}; {least} are needed)"
                named = {**_columns(verdict, ("evaluation", "metric", "relation")), "other": verdict.other.name}
                values = _columns(verdict, ("outcome", "difference", "low", "high", "p", "tracks"))
                comparisons.append({**named, **values, "words": words})
        decimals = {"decimals": decimals_of(split, now), "comparison_decimals": decimals_of(split, submission.received)}
        of_split = {"split": result.split, "hidden": result.hidden, **decimals}
        described.append({**of_split, "scores": scores, "comparisons": comparisons})
    counts = {"error": submission.errors, "warning": submission.warnings, "note": submission.notes}
    answer = {**_summary(submission, viewer), "reason": submission.reason if mine else ""}
    answer |= {**_columns(submission, _ABOUT), "digest": submission.digest or submission.sent_digest}
    answer |= {**_columns(submission, ("files", "rules", "mirflow"))}
    answer |= {"embargo": "" if until is None else show_moment(until), "may_change": mine}
    answer |= {"same_as": "" if twin is None else twin.name, "progress": _status(session, submission), "counts": counts}
    listed = [_columns(row, _FINDING) for row in findings]
    return {**answer, "findings": listed, "results": described}


def _columns(row: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _steps(shown: Mapping[str, Any], size: str) -> list[dict[str, Any]]:
    state, is_open = shown["state"], shown["progress"]["open"]
    marks = ", ".join(counted(count, kind) for kind, count in shown["counts"].items() if count)
    whose = {"own": "your", "leader": "the leader,"}
    outcomes = [
        f"{_OUTCOMES[pair['outcome']]} {whose[pair['relation']]} {pair['other']} ({result['split']})"
        for result in shown["results"]
        for pair in result["comparisons"]
    ]
    files = f"{counted(shown['files'], 'file')}, {size}" if shown["files"] else size
    findings = marks or "nothing found" if shown["may_change"] else ""
    notes = (files, findings, ", ".join(shown["splits"]), "; ".join(outcomes) or "with nothing yet")
    reached = _REACHED["accepted" if state == "withdrawn" and shown["files"] else state]
    steps = []
    for index, (title, states) in enumerate(_STEPS.items()):
        failed, is_now = index == reached and state in ("refused", "failed", "withdrawn"), index == reached and is_open
        words = "now" if is_now else state if failed else "done" if index < reached else "to come"
        if index > reached and not is_open:
            words = "not reached"
        note = notes[index] if index < reached or (index == 1 and state == "refused") else ""
        steps.append({"title": title, "words": words, "note": note, "states": states, "is_now": is_now})
    return steps


def _changes(
    service: Service, submission: Submission, result: SplitResult, viewer: Viewer | None
) -> list[tuple[str, dict[str, Any]]]:
    """List changes by track against the account's earlier submission, for splits with public references."""
    earlier = [row for row in result.verdicts if row.relation == "own" and entries.may_see(row.other, viewer)]
    if result.hidden or not earlier or not service.disclosure(result.split).by_track:
        return []
    try:
        groups = read_scores(service.folder_of("stores") / f"{result.split}.zarr")
        made = []
        for verdict in earlier:
            ds, other = groups.get(verdict.evaluation), verdict.other.name
            if ds is not None and {submission.name, other} <= set(ds["system"].values.tolist()):
                made.append((verdict.evaluation, track_changes(ds, submission.name, other, verdict.metric)))
        return made
    except (MirflowError, KeyError):
        return []  # the store is being created, or has lost a metric: omit the section
