"""Pages of graders: consent, withdrawal, queries with candidates to hear and judge; the overview for organisers.

Judgements and events are received here. Recordings are measured, and louder ones are attenuated.
"""

from __future__ import annotations

import datetime as dt
import math
import secrets
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response

from ....errors import AnnotationError
from ....readers.audio_files import FileSignal
from ...grading.pool import read_key
from ..database import Database
from ..recordings import TYPES, find_duration
from ..security import GuardedRoute
from ..service import Service
from ..viewer_pages import PRIVATE, error_answer, page, whole_number
from . import judging, organiser_pages
from . import rounds as grading
from .grading_tables import Loudness, Participation, Round, StoredAssignment, StoredEvent, StoredJudgement
from .judging import JudgementChange, JudgementError, is_done, read_values
from .organiser_pages import RoundPages, look_over
from .planning import find_plan, find_plans
from .rounds import OpenRound, Rounds, find_participation, is_closed, next_pairs, pages_of, progress_of

_SEEDS = 2**63
FORM = "form"  # name of the window for forms sent without scripts


def letter(place: int) -> str:
    """Return the label of a candidate on a page: A, B, ..., Z, AA, AB, ..."""
    text = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def routes(service: Service, rounds: Rounds | None) -> list[GuardedRoute]:
    """Return the routes of a campaign's grading rounds; empty without rounds."""
    if rounds is None or service.database is None:
        return []
    made = GraderPages(service, service.database, rounds)
    return [
        *organiser_pages.routes(service, service.database, rounds),
        GuardedRoute("grading", made.index, role="grader"),
        GuardedRoute("round", made.show, role="grader"),
        GuardedRoute("consent", made.agree, role="grader", methods=["POST"]),
        GuardedRoute("judgements", made.judge, role="grader", methods=["POST"]),
        GuardedRoute("grading_events", made.events, role="grader", methods=["POST"]),
        GuardedRoute("withdraw", made.withdraw, role="grader", methods=["GET", "POST"]),
        GuardedRoute("round_overview", made.overview, role="organiser", rate="query"),
        GuardedRoute("overview_json", made.overview, role="organiser", rate="query"),
        *(GuardedRoute(name, made.audio, role="grader") for name in ("query_audio", "candidate_audio")),
    ]


class GraderPages(RoundPages):
    """Pages for graders."""

    def index(self, request: Request) -> Response:
        """List the rounds."""
        rows, now = [], self.service.clock()
        with self.database.read() as session:
            for opened in self.rounds.all():
                participation = find_participation(session, opened, request.state.viewer.user)
                takes_part = participation is not None and participation.withdrawn is None
                made, closed = progress_of(session, opened, participation), is_closed(session, opened, now)
                mine = made if takes_part else None
                rows.append({"round": opened, "mine": mine, "closed": closed, "share": made["share"]})
        organises = request.state.viewer.role == "organiser"
        planned = [plan.name for plan in find_plans(self.service) if not plan.is_open] if organises else []
        may_plan = organises and self.service.campaign is not None and self.service.campaign.planning is not None
        return page(request, "grading.html", here="grading", rows=rows, planned=planned, may_plan=may_plan)

    def show(self, request: Request) -> Response:
        """Show a grader's page: the consent, a query with its candidates, or a summary at the end."""
        opened = self.find_round(request)
        with self.database.read() as session:
            participation = find_participation(session, opened, request.state.viewer.user)
            if is_closed(session, opened, self.service.clock()):
                return self._render(request, opened, "grade_closed.html")
            if participation is None or participation.withdrawn is not None or participation.consent != opened.version:
                gone = request.query_params.get("withdrawn", "")
                return self._render(request, opened, "grade_consent.html", again=participation is not None, gone=gone)
            pages, listen = pages_of(participation), opened.config.listen
            # The page in the address, else the first unfinished one.
            unfinished = (index for index, rows in pages.items() if not all(is_done(row, listen) for row in rows))
            wanted = request.query_params.get("page")
            number = next(unfinished, None) if wanted is None else whole_number(wanted)
            if wanted is not None and number not in pages:
                raise HTTPException(404)
            mine = progress_of(session, opened, participation)
            if number is None:
                more, last = next_pairs(session, opened, participation, self.service.clock()), max(pages, default=0)
                return self._render(request, opened, "grade_rest.html", mine=mine, more=bool(more), last=last)
            assigned = pages[number]
        query = opened.recording(assigned[0].pair.query_piece)
        gains = find_gains(self.database, [query, *(opened.recording(row.pair.piece) for row in assigned)])
        shown: list[dict[str, Any]] = []
        for row in assigned:
            pair, recording = row.pair, opened.recording(row.pair.piece)
            anchor = ""
            if pair.anchor_broad is not None or pair.anchor_fine is not None:
                fine = "" if pair.anchor_fine is None else f"{pair.anchor_fine:g}"
                anchor = ", ".join(filter(None, (opened.labels.get(pair.anchor_broad or "", ""), fine)))
            hint = "judged" if is_done(row, listen) else ""
            if row.unplayable:
                hint = "cannot be heard"
            elif (row.broad is not None or row.fine is not None) and not judging.is_heard(row, listen):
                hint = f"counts when you have listened for {math.ceil(listen - (row.heard or 0))} s more"
            columns = {name: getattr(row, name) for name in ("id", "broad", "fine", "unplayable", "known", "heard")}
            words = {"letter": letter(row.place), "hint": hint, "ask": question(row, opened, participation)}
            numbers = {"gain": gains[recording], "seconds": find_duration(recording)}
            shown.append({**columns, **words, "anchor": anchor, "done": is_done(row, listen), **numbers})
        of_query: dict[str, Any] = {"training": assigned[0].pair.training, "gain": gains[query]}
        of_query["seconds"] = find_duration(query)
        saved = max((row.saved for row in assigned if row.saved is not None), default=None)
        done: dict[str, Any] = {"done": sum(candidate["done"] for candidate in shown), "mine": mine, "saved": saved}
        of_page: dict[str, Any] = {"number": number, "last": max(pages), "grader": f"{participation.code:x}"}
        return self._render(request, opened, "grade.html", candidates=shown, **of_page, **of_query, **done)

    def agree(self, request: Request) -> Response:
        """Record the consent to the current text, which also undoes a withdrawal, and assign the first judgements."""
        opened = self.find_round(request)
        if request.state.form.get("version") != opened.version:
            raise HTTPException(409, "The text has changed meanwhile. Please read it again.")
        with self.database.write() as session:
            self._demand_open(session, opened)
            now, user = self.service.clock(), request.state.viewer.user
            participation = find_participation(session, opened, user)
            if participation is None:
                chance = {"seed": secrets.randbelow(_SEEDS), "code": secrets.randbelow(_SEEDS)}
                agreed = {"consent": opened.version, "consented": now}
                participation = Participation(round_id=opened.id, user_id=user, **chance, **agreed)
                session.add(participation)
            elif participation.consent != opened.version or participation.withdrawn is not None:
                participation.consent, participation.consented, participation.withdrawn = opened.version, now, None
            session.flush()
            grading.open_page(session, opened, participation, now)
        return self._see(opened)

    def judge(self, request: Request) -> Response:
        """Store a changed judgement, or all judgements of a form, before answering."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            return self._judge_change(request)
        opened, now, form = self.find_round(request), self.service.clock(), request.state.form
        number = whole_number(form.get("page"))
        try:
            with self.database.write() as session:
                self._demand_open(session, opened)
                participation = self._demand_participation(session, opened, request)
                pages = pages_of(participation)
                assigned = pages.get(number, [])
                for row in assigned if form.get("plain") else ():
                    sent: dict[str, Any] = {"fine": form.get(f"fine-{row.id}", "")}
                    if f"broad-{row.id}" in form:
                        sent["broad"] = form[f"broad-{row.id}"]
                    sent |= {name: f"{name}-{row.id}" in form for name in ("unplayable", "known")}
                    changed = {name: value for name, value in read_values(sent).items() if value != getattr(row, name)}
                    if changed:
                        numbers = (before.number for before in row.judgements if before.client == FORM)
                        change = JudgementChange(FORM, max(numbers, default=0) + 1, changed)
                        judging.record(session, row, change, now)
                if form.get("go") == "next" and all(is_done(row, opened.config.listen) for row in assigned):
                    following = number + 1 if number + 1 in pages else None
                    return self._see(opened, following or grading.open_page(session, opened, participation, now))
        except JudgementError as error:
            return error_answer(request, 400, str(error))
        return self._see(opened, number)

    def _judge_change(self, request: Request) -> Response:
        opened, now = self.find_round(request), self.service.clock()
        try:
            identity, change = judging.read_change(request.state.body)
            with self.database.write() as session:
                self._demand_open(session, opened)
                participation = self._demand_participation(session, opened, request)
                assigned = next((row for row in participation.assignments if row.id == identity), None)
                if assigned is None:
                    raise HTTPException(404, "This judgement is not assigned to you.")
                judging.record(session, assigned, change, now)
                page_of = [row for row in participation.assignments if row.page == assigned.page]
                done = sum(is_done(row, opened.config.listen) for row in page_of)
                state = {name: getattr(assigned, name) for name in judging.FIELDS}
                ask, at = question(assigned, opened, participation), now.isoformat(timespec="seconds")
                answer = {"saved": at, "text": f"saved {now:%H:%M}", "state": state, "ask": ask}
                answer["progress"] = {"done": done, "total": len(page_of)}
        except JudgementError as error:
            return error_answer(request, 400, str(error))
        return JSONResponse(answer, headers={"Cache-Control": "no-store"})

    def events(self, request: Request) -> Response:
        """Store new events of a page, up to `MOST_EVENTS` per grader."""
        opened, now = self.find_round(request), self.service.clock()
        try:
            client, number, events = judging.read_events(request.state.body)
        except JudgementError as error:
            return error_answer(request, 400, str(error))
        with self.database.write() as session:
            participation = self._demand_participation(session, opened, request)
            if is_closed(session, opened, now):
                return Response(status_code=204)
            is_own = StoredEvent.participation_id == participation.id
            known = set(session.scalars(select(StoredEvent.number).where(is_own, StoredEvent.client == client)))
            left = judging.MOST_EVENTS - int(session.scalar(select(func.count()).where(is_own)) or 0)
            assigned = {assignment.id for assignment in participation.assignments}
            fresh = {event["number"]: event for event in events if event["number"] not in known}
            for event in list(fresh.values())[: max(left, 0)]:
                columns = {name: event[name] for name in ("number", "kind", "position")}
                columns["assignment_id"] = event["assignment"] if event["assignment"] in assigned else None
                columns["received"] = now - dt.timedelta(seconds=event["ago"])
                session.add(StoredEvent(participation_id=participation.id, page=number, client=client, **columns))
        return Response(status_code=204)

    def withdraw(self, request: Request) -> Response:
        """Ask whether to keep or delete judgements, and withdraw the consent.

        Either the judgements are kept, or all data on the grader in this round are deleted.
        """
        opened, what = self.find_round(request), request.state.form.get("what")
        if request.method != "POST":
            with self.database.read() as session:
                self._demand_participation(session, opened, request)
            return self._render(request, opened, "grade_withdraw.html")
        if what not in ("keep", "delete"):
            raise HTTPException(400, "Choose whether your judgements are kept or deleted.")
        with self.database.write() as session:
            participation = find_participation(session, opened, request.state.viewer.user)
            if participation is None:
                raise HTTPException(409, "You are not taking part in this round.")
            # Tables of a closed round are final; the database is not.
            if what == "keep":
                participation.withdrawn = self.service.clock()
            else:
                mine = StoredAssignment.participation_id == participation.id
                judged = StoredJudgement.assignment_id.in_(select(StoredAssignment.id).where(mine))
                session.execute(delete(StoredEvent).where(StoredEvent.participation_id == participation.id))
                session.execute(delete(StoredJudgement).where(judged))
                session.execute(delete(StoredAssignment).where(mine))
                session.execute(delete(Participation).where(Participation.id == participation.id))
                session.get_one(Round, opened.id).deleted += 1
            action = "withdraw and delete" if what == "delete" else "withdraw"
            self.service.audit.record(request.state.viewer.name, action, round=opened.name)
        return RedirectResponse(f"{self.service.links.url('round', round=opened.name)}?withdrawn={what}", 303)

    def audio(self, request: Request) -> Response:
        """Return the recording of a page's query, or of a candidate; the address reveals nothing about it."""
        opened, piece = self.find_round(request), None
        with self.database.read() as session:
            if "page" in request.path_params:
                pages = pages_of(self._demand_participation(session, opened, request))
                assigned = pages.get(request.path_params["page"])
                piece = assigned[0].pair.query_piece if assigned else None
            else:
                row = session.get(StoredAssignment, request.path_params["assignment"])
                mine = row is not None and row.participation.user_id == request.state.viewer.user
                if row is not None and mine and row.participation.round_id == opened.id:
                    piece = row.pair.piece
        if piece is None:
            raise HTTPException(404)
        path = opened.recording(piece)
        if not path.is_file():
            raise HTTPException(404, "Recording not found.")
        headers = {"Cache-Control": "private, max-age=3600"}
        return FileResponse(path, media_type=TYPES.get(path.suffix.lower()), headers=headers)

    def overview(self, request: Request) -> Response:
        """Show the overview of a round for organisers, or return it as JSON."""
        opened = self.find_round(request)
        try:
            key = read_key(grading.find_key(opened.config, opened.root))
        except AnnotationError:  # it may have been removed from the server meanwhile
            key = None
        with self.database.read() as session:
            overview = look_over(session, opened, key, self.service.clock())
        if request.url.path.endswith(".json"):
            return JSONResponse({"round": opened.name, **overview}, headers=PRIVATE)
        planned = find_plan(self.service, opened.name) is not None
        return self._render(request, opened, "grade_overview.html", overview=overview, planned=planned)

    def _demand_open(self, session: Session, opened: OpenRound) -> None:
        if is_closed(session, opened, self.service.clock()):
            raise HTTPException(409, "This round of grading is closed.")

    def _demand_participation(self, session: Session, opened: OpenRound, request: Request) -> Participation:
        participation = find_participation(session, opened, request.state.viewer.user)
        if participation is None or participation.withdrawn is not None:
            raise HTTPException(409, "You are not taking part in this round: open its page and agree first.")
        return participation

    def _see(self, opened: OpenRound, number: int | None = None) -> Response:
        query = "" if number is None else f"?page={number}"
        return RedirectResponse(self.service.links.url("round", round=opened.name) + query, 303)

    def _render(self, request: Request, opened: OpenRound, template: str, **context: Any) -> Response:
        return page(
            request,
            template,
            here="grading",
            round=opened,
            title=opened.config.title or opened.name,
            labels=opened.labels,
            **context,
        )


def question(row: StoredAssignment, opened: OpenRound, participation: Participation) -> str:
    """Return a question to a grader whose judgements contradict each other; empty otherwise."""
    if row.pair.training or row.broad is None:
        return ""
    judged = [other for other in participation.assignments if other is not row and not other.pair.training]
    category = judging.contradicted(row.broad, row.fine, [(other.broad, other.fine) for other in judged])
    if category is None:
        return ""
    words = opened.labels
    used = f"a value you have used for {words[category]}"
    return f"You say {words[row.broad]} and {row.fine:g}, {used}. Is this intended?"


TARGET = -23.0  # target in LUFS, as in EBU R 128
_SHORTEST = 0.4  # length of a block in seconds, the minimum for a measurement
_MOST_BYTES = 500 * 2**20


def measure_loudness(path: Path) -> float | None:
    """Measure the integrated loudness of a recording in LUFS (ITU-R BS.1770-4, as in EBU R 128).

    `path`: a file in a format that libsndfile reads.
    Returns: None for silence, for less than 0.4 s, for more than five channels, and if the file cannot be decoded.
    """
    from pyloudnorm import Meter

    try:
        signal = FileSignal(str(path), max_bytes=_MOST_BYTES)
        samples = signal.read(0, signal.frames).T
        rate = signal.rate
        signal.close()
    except AnnotationError:
        return None
    if len(samples) < math.ceil(_SHORTEST * rate) or samples.shape[1] > 5:
        return None
    lufs = float(Meter(int(rate)).integrated_loudness(samples))
    return lufs if math.isfinite(lufs) else None


def gain_of(lufs: float | None) -> float:
    """Return the factor from 0 to 1 that attenuates a recording to `TARGET`; softer recordings keep their level."""
    return 1.0 if lufs is None else float(min(1.0, np.power(10.0, (TARGET - lufs) / 20)))


def find_gains(database: Database, paths: list[Path]) -> dict[Path, float]:
    """Return the gains of recordings, measuring and storing those that are new or have changed.

    `paths`: missing files have gain 1.
    """
    with database.read() as session:
        rows = session.scalars(select(Loudness).where(Loudness.path.in_([str(path) for path in paths])))
        stored = {row.path: row for row in rows}
    gains, fresh = {}, []
    for path in dict.fromkeys(paths):
        try:
            stat = path.stat()
        except OSError:
            gains[path] = 1.0
            continue
        row = stored.get(str(path))
        if row is None or (row.size, row.modified) != (stat.st_size, stat.st_mtime_ns):
            row = Loudness(path=str(path), size=stat.st_size, modified=stat.st_mtime_ns, lufs=measure_loudness(path))
            fresh.append(row)
        gains[path] = gain_of(row.lufs)
    if fresh:
        with database.write() as session:
            for row in fresh:
                session.merge(row)
    return gains
