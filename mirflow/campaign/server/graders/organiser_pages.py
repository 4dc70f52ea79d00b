"""Pages for organisers: the steps of a plan, the overview of a round, and opening and closing it.

An overview has the agreement of the graders and a forecast of the end. Closing writes the judgements, raw and as
scored.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, get_args

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload, selectinload
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from ....analysis.judgements import fine_within_broad, grader_agreement
from ....errors import AnnotationError, GradingError, MirflowError, suggest
from ....pipeline.model import identifier
from ....store.generations import remove, write_synced
from ...file import Limits
from ...grading import judgement_tables, rater_agreement
from ...grading.assignment import Pair
from ...grading.judgement_tables import Closed, GraderJudgement, Known, Unjudged
from ...grading.pool import Pool, read_key
from ...grading.query_draw import read_each
from ...site.pages import ADDRESSES
from ..database import Database
from ..limits import shown_size
from ..recordings import find_duration
from ..security import GuardedRoute, check_forgery
from ..service import Service
from ..submissions.entries import SubmissionError
from ..submissions.uploads import Fields, Upload, UploadError, receive, sent_files
from ..viewer_pages import PRIVATE, page
from . import planning
from .grading_tables import Participation, Round, StoredAssignment, StoredEvent, StoredPair
from .judging import LARGEST, is_heard
from .planning import PlanError, RoundPlan
from .rounds import CONSENT, OpenRound, Rounds, find_key, load_round, open_rounds

TABLE_BYTES = 10 * 10**6  # size limit of an uploaded table of pieces
CLOSED = "closed"  # subfolder of the campaign for the tables of rounds closed on the pages
MOST_TOP, MOST_NUMBER, MOST_SEED = 1000, 100_000, 2**63
STEPS = ("pieces", "draw", "pool", "assign", "open")  # of a plan, by forms
_FORM_BYTES = 2**20
_SHOWN_GRADERS = 200
_closing = Lock()

Form = Mapping[str, Any]


def routes(service: Service, database: Database, rounds: Rounds) -> list[GuardedRoute]:
    """Return the routes for closing rounds, and for planning them if the campaign configures it."""
    made = OrganiserPages(service, database, rounds)
    guarded = partial(GuardedRoute, role="organiser")
    closing: list[GuardedRoute] = [
        guarded("close_round", made.show_closing, rate="query"),
        guarded("close_round", made.close, methods=["POST"]),
        guarded("closed_tables", made.closed_tables, rate="query"),
    ]
    campaign = service.campaign
    if campaign is None or campaign.planning is None:
        return closing

    table = Limits(size=TABLE_BYTES, files=2, seconds=campaign.limits.seconds)
    address, step = partial(ADDRESSES["plan_step"].replace, "{step}"), partial(guarded, methods=["POST"])
    upload = partial(step, form=False, rate="upload")
    return [
        guarded("new_round", made.begin, methods=["GET", "POST"]),
        guarded("plan", made.show, rate="query"),
        guarded("plan_file", made.file),
        *(step(address(name), partial(made.perform, name)) for name in STEPS),
        *(
            upload(address(f"upload-{name}"), partial(made.upload, name, limits), body=limits.size + _FORM_BYTES)
            for name, limits in (("pieces", table), ("lists", campaign.limits))
        ),
        step(address("discard"), made.discard),
        *closing,
    ]


@dataclass(frozen=True)
class RoundPages:
    """What the pages of rounds need."""

    service: Service
    database: Database
    rounds: Rounds

    def find_round(self, request: Request) -> OpenRound:
        """Return the round of an address."""
        name = request.path_params["round"]
        if name not in self.rounds.opened:
            self.rounds.all()  # those opened on other pages
        if name not in self.rounds.opened:
            raise HTTPException(404)
        return self.rounds.opened[name]


class OrganiserPages(RoundPages):
    """Pages for organisers."""

    def begin(self, request: Request) -> Response:
        """Show the form for the name of a new round, and start its plan."""
        if request.method != "POST":
            return page(request, "grade_new.html", here="grading", name="", trouble="")
        name = _text(request.state.form, "name")
        try:
            with self.database.read() as session:
                if session.query(Round.id).where(Round.name == name).first() is not None:
                    raise PlanError(f"the name {name!r} belongs to an earlier round: choose another one")
            plan = planning.begin_plan(self.service, name)
        except MirflowError as error:
            return page(request, "grade_new.html", 400, here="grading", name=name, trouble=str(error))
        self._note(request, "plan round", plan.name)
        return self._see(plan)

    def show(
        self, request: Request, status: int = 200, *, step: str = "", trouble: str = "", given: Form | None = None
    ) -> Response:
        """Show the plan of a round with a form for each step; an error is shown next to its step."""
        plan = self._plan(request)
        summary = planning.look_over_plan(plan)
        limits = self.service.campaign.limits if self.service.campaign is not None else Limits()
        of_plan: dict[str, Any] = {"plan": plan, "offers": plan.planning, "found": summary, "consent": CONSENT}
        of_plan["opened"] = planning.read_round(plan) if plan.is_open else None
        of_plan["shares"] = summary["shares"][:_SHOWN_GRADERS]
        of_plan["downloads"] = [name for name in planning.DOWNLOADS if plan.has(name)]
        form: dict[str, Any] = {"step": step, "trouble": trouble, "given": given or {}}
        form["same"] = _same(given or {}) if step == "pool" else ["artist"]
        bounds: dict[str, Any] = {"secret": planning.SHORTEST_SECRET, "suffixes": planning.LIST_SUFFIXES}
        bounds["most"] = {"graders": planning.MOST_GRADERS, "top": MOST_TOP, "number": MOST_NUMBER, "seed": MOST_SEED}
        sizes = {"pieces": shown_size(TABLE_BYTES), "lists": shown_size(limits.size), "files": limits.files}
        return page(request, "grade_plan.html", status, here="grading", **of_plan, **form, **bounds, sizes=sizes)

    def _plan(self, request: Request) -> RoundPlan:
        plan = planning.find_plan(self.service, request.path_params["round"])
        if plan is None:
            raise HTTPException(404)
        return plan

    def _note(self, request: Request, action: str, name: str, **details: str | int | None) -> None:
        self.service.audit.record(request.state.viewer.name, action, round=name, **details)

    def _see(self, plan: RoundPlan, step: str = "") -> Response:
        return RedirectResponse(self.service.links.url("plan", round=plan.name) + (f"#{step}" if step else ""), 303)

    def perform(self, step: str, request: Request) -> Response:
        """Perform a step of a plan, one of `STEPS`, with the values of a form."""
        plan, form = self._plan(request), request.state.form
        settings, text = plan.planning, partial(_text, form)
        whole = partial(_number, form)
        try:
            if step == "pieces":
                name = settings.pieces[whole("table", "the table", 0, len(settings.pieces) - 1)]
                if not (plan.root / name).is_file():
                    raise PlanError(f"{name} does not exist")
                planning.take_pieces(plan, plan.root / name, Path(name).name, text("column"))
            elif step == "draw":
                several = bool(text("by")) and not text("number").isdecimal()
                wanted = whole("number", "the number of queries", 1, MOST_NUMBER) if not several else None
                number = read_each(text("number")) if wanted is None else wanted
                seed = whole("seed", "the seed", 0, MOST_SEED) if text("seed") else None
                planning.draw_queries(plan, number, text("by"), text("where"), seed)
            elif step == "pool":
                sent = text("lists") == "sent"
                source = None if sent else whole("lists", "the lists", 0, len(settings.lists) - 1)
                top = whole("top", "the number of candidates", 1, MOST_TOP)
                secret, judged_as = text("secret"), text("judged_as")
                planning.pool_candidates(self.service, plan, source, top, _same(form), secret, judged_as)
            elif step == "assign":
                graders = whole("graders", "the number of graders", 1, planning.MOST_GRADERS)
                per_pair = whole("per_pair", "the graders of a pair", 1, planning.MOST_GRADERS)
                repeats = _decimal(form, "repeats", "the share of repeats", 0, 1)
                minutes = _decimal(form, "minutes", "the minutes of a judgement", 0.01, 1000)
                seed = whole("seed", "the seed", 0, MOST_SEED) if text("seed") else None
                planning.assign_graders(plan, graders, per_pair, repeats, minutes, seed)
            else:
                terms: dict[str, Any] = {
                    "title": text("title"),
                    "graders_per_pair": whole("per_pair", "the graders of a pair", 1, planning.MOST_GRADERS),
                    "repeats": _decimal(form, "repeats", "the share of repeats", 0, 1),
                    "listen": _decimal(form, "listen", "the seconds to listen", 0, 3600),
                    "broad": [text(name) for name in ("broad_0", "broad_1", "broad_2")],
                    "help": text("help"),
                }
                if not all(terms["broad"]):
                    raise PlanError("each of the three labels needs a text")
                terms |= {name: text(name) for name in ("opens", "closes") if text(name)}
                config = planning.write_round(plan, terms, text("consent"))
                try:
                    load_round(self.service, config)
                except BaseException:
                    plan.forget(planning.ROUND)
                    raise
        except MirflowError as error:
            return self.show(request, 400, step=step, trouble=plan.message_of(error), given=form)
        self._note(request, f"plan round: {step}", plan.name)
        return self._see(plan, step)

    async def upload(self, step: str, limits: Limits, request: Request) -> Response:
        """Use an uploaded table of pieces, or lists of systems."""
        folder = self.service.folder_of("submissions")

        def admit(fields: Fields) -> None:
            check_forgery(request, (fields.get("csrf") or [""])[0])
            if self._plan(request).is_open:
                raise PlanError("the round is open, so its plan cannot be changed: plan another round")

        def make(upload: Upload) -> RoundPlan:
            plan, sent = self._plan(request), sent_files(folder / upload.id)
            if step == "lists":
                planning.take_lists(self.service, plan, sent)
            elif len(sent) > 1:
                raise PlanError("upload a single table of pieces")
            else:
                planning.take_pieces(plan, sent[0][1], sent[0][0], (upload.fields.get("column") or [""])[0].strip())
            self._note(request, f"plan round: {step}", plan.name, digest=upload.digest)
            return plan

        kind = request.headers.get("content-type", "")
        try:
            upload = await receive(request.stream(), kind, folder, limits, admit=admit)
            try:
                plan = await run_in_threadpool(make, upload)
            finally:
                remove(folder / upload.id)
        except MirflowError as error:
            status = error.status if isinstance(error, UploadError) else 400
            if isinstance(error, UploadError) and status != 400:
                raise HTTPException(status, str(error), {"Connection": "close"}) from None
            text = str(error) if isinstance(error, SubmissionError) else self._plan(request).message_of(error)
            answer = await run_in_threadpool(lambda: self.show(request, status, step=step, trouble=text))
            answer.headers["Connection"] = "close"  # do not wait for the rest of the upload
            return answer
        return self._see(plan, step)

    def discard(self, request: Request) -> Response:
        """Remove a plan that was not opened."""
        plan = self._plan(request)
        try:
            planning.discard_plan(plan)
        except MirflowError as error:
            return self.show(request, 400, step="open", trouble=plan.message_of(error))
        self._note(request, "discard plan", plan.name)
        return RedirectResponse(self.service.links.url("grading"), 303)

    def file(self, request: Request) -> Response:
        """Return a table of a plan."""
        plan, name = self._plan(request), request.path_params["file"]
        if name not in planning.DOWNLOADS or not plan.has(name):
            raise HTTPException(404)
        self._note(request, "download", plan.name, file=name)
        filename = f"{plan.name}-{name}"
        return FileResponse(plan.folder / name, media_type="text/csv", filename=filename, headers=PRIVATE)

    def show_closing(
        self, request: Request, status: int = 200, trouble: str = "", given: Form | None = None
    ) -> Response:
        """Ask to confirm closing a round, or show the result."""
        opened = self.find_round(request)
        with self.database.read() as session:
            closed = session.get_one(Round, opened.id).closed
        counts: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            counts = json.loads(self._folder(opened).with_suffix(".json").read_text(encoding="utf-8"))
        context: dict[str, Any] = {"round": opened, "title": opened.config.title or opened.name, "trouble": trouble}
        context |= {"closed": "" if closed is None else f"{closed:%Y-%m-%d %H:%M} UTC", "given": given or {}}
        return page(request, "grade_close.html", status, here="grading", counts=counts if closed else {}, **context)

    def close(self, request: Request) -> Response:
        """Close a round, or write interim tables."""
        opened, form = self.find_round(request), request.state.form
        folder = self._folder(opened)
        known, unjudged = _text(form, "known") or "keep", _text(form, "unjudged") or "refuse"
        if known not in get_args(Known) or unjudged not in get_args(Unjudged):
            raise HTTPException(400, "Choose how to treat known pieces and candidates without judgements.")
        choices: dict[str, Any] = {"known": known, "unjudged": unjudged}
        try:
            if _text(form, "what") == "interim":
                with tempfile.TemporaryDirectory(prefix="mirflow-") as place:
                    interim = Path(place, opened.name)
                    close_round(self.service, opened.name, interim, **choices, interim=True)
                    self._note(request, "tables of now", opened.name)
                    return _zipped(interim)
            if _text(form, "sure") != "yes":
                raise PlanError("confirm that grading ends by ticking the box above the button")
            with _closing:
                with self.database.read() as session:
                    if session.get_one(Round, opened.id).closed is not None:
                        raise PlanError("the round is closed already")
                closed, _ = close_round(self.service, opened.name, folder, **choices)
                unscored = len(closed.unjudged) if unjudged == "refuse" else 0
                summary = {"counts": dict(closed.counts), "unscored": unscored}
                write_synced(folder.with_suffix(".json"), json.dumps(summary).encode())
        except MirflowError as error:
            return self.show_closing(request, 400, str(error).replace(f"{self.service.root.as_posix()}/", ""), form)
        self._note(request, "close round", opened.name)
        return RedirectResponse(request.url.path, 303)

    def closed_tables(self, request: Request) -> Response:
        """Return the tables of a round closed on the pages."""
        folder = self._folder(self.find_round(request))
        if not folder.with_suffix(".json").is_file():
            raise HTTPException(404)
        return _zipped(folder)

    def _folder(self, opened: OpenRound) -> Path:
        """The folder for the tables of a round once it is closed."""
        return self.service.state_folder / CLOSED / identifier(opened.name)


def _zipped(folder: Path) -> Response:
    with tempfile.NamedTemporaryFile(prefix="mirflow-", suffix=".zip", delete=False) as file:
        made = Path(file.name)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(inner for inner in folder.rglob("*") if inner.is_file()):
                archive.write(path, f"{folder.name}/{path.relative_to(folder).as_posix()}")
    return FileResponse(
        made,
        media_type="application/zip",
        filename=f"{folder.name}.zip",
        headers=PRIVATE,
        background=BackgroundTask(made.unlink, missing_ok=True),
    )


def _text(form: Form, name: str) -> str:
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def _same(form: Form) -> list[str]:
    return [str(value) for value in form.getlist("same")] if isinstance(form, FormData) else []


def _number(form: Form, name: str, what: str, least: int, most: int) -> int:
    text = _text(form, name)
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= most):
        raise PlanError(f"{what} must be a whole number from {least} to {most}, not {text[:40]!r}")
    return int(text)


def _decimal(form: Form, name: str, what: str, least: float, most: float) -> float:
    text = _text(form, name)
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not least <= number <= most:
        raise PlanError(f"{what} must be a number from {least:g} to {most:g}, not {text[:40]!r}")
    return number


Row = dict[str, Any]  # maps names to texts, numbers or None


def numbered(session: Session, opened: OpenRound) -> dict[int, str]:
    """Number graders from 1 in random order, by id of their participation."""
    ids = select(Participation.id).where(Participation.round_id == opened.id).order_by(Participation.code)
    return {identity: f"grader {number}" for number, identity in enumerate(session.scalars(ids), 1)}


def judgements_of(session: Session, opened: OpenRound) -> list[GraderJudgement]:
    """Return the judgements of a round without training; those made without listening count as missing."""
    names = numbered(session, opened)
    query = select(StoredAssignment).join(StoredPair, StoredAssignment.pair_id == StoredPair.id)
    query = query.where(StoredAssignment.participation_id.in_(names), ~StoredPair.training)
    query = query.order_by(StoredAssignment.saved, StoredAssignment.id).options(joinedload(StoredAssignment.pair))
    judgements = []
    for row in session.scalars(query):
        pair, heard, share = row.pair, is_heard(row, opened.config.listen), None
        seconds = None if row.heard is None or row.saved is None else find_duration(opened.recording(pair.piece))
        if seconds and row.heard is not None:
            share = min(row.heard / seconds, 1.0)
        judgement = GraderJudgement(
            grader=names[row.participation_id],
            query=pair.query,
            candidate=pair.candidate,
            broad=(row.broad or "") if heard else "",
            fine=row.fine if heard else None,
            repeat=row.repeat,
            cannot_hear=row.unplayable,
            known=row.known,
            time=row.saved,
            heard=share,
        )
        judgements.append(judgement)
    return judgements


def events_of(session: Session, opened: OpenRound) -> list[Row]:
    """Return the events of a round and all changes of judgements in chronological order."""
    names = numbered(session, opened)
    rows: list[tuple[Any, Row]] = []
    query = select(StoredAssignment).where(StoredAssignment.participation_id.in_(names))
    query = query.options(joinedload(StoredAssignment.pair), selectinload(StoredAssignment.judgements))
    assigned = {assignment.id: assignment for assignment in session.scalars(query)}
    for assignment in assigned.values():
        pair, grader = assignment.pair, names[assignment.participation_id]
        about = {"query": pair.query, "candidate": pair.candidate, "page": assignment.page}
        for change in assignment.judgements:
            rows.append((change.received, {"grader": grader, "event": "judged", **about, **change.values}))
    for event in session.scalars(select(StoredEvent).where(StoredEvent.participation_id.in_(names))):
        row: Row = {"grader": names[event.participation_id], "event": event.kind, "page": event.page}
        if event.assignment_id is not None:
            pair = assigned[event.assignment_id].pair
            row |= {"query": pair.query, "candidate": pair.candidate}
        if event.position is not None:
            row["position"] = event.position
        rows.append((event.received, row))
    rows.sort(key=lambda timed: timed[0])
    return [{"time": time.isoformat(timespec="milliseconds"), **row} for time, row in rows]


WINDOW = dt.timedelta(days=7)  # time whose judgements give the rate of a forecast
_SHORTEST, _FEWEST = dt.timedelta(hours=1), 5  # least time and number of judgements that give a rate


def forecast(saved: Sequence[dt.datetime], left: int, now: dt.datetime, closes: dt.datetime | None = None) -> Row:
    """Estimate when a round will be complete, from the rate of the last 7 days.

    `saved`: times of the judgements that count.
    Returns: ``per_day`` and ``complete`` (ISO 8601), None where they cannot be estimated, and ``words``.

    Examples
    --------
    >>> day = dt.timedelta(days=1)
    >>> now = dt.datetime(2026, 3, 8, 12, tzinfo=dt.timezone.utc)
    >>> forecast([now - day * (at % 4 + 1) for at in range(20)], 10, now)["words"]
    'At 5 judgements a day, as in the last 4 days, it will be complete about 10 March 2026.'
    >>> forecast([], 10, now)["words"]
    'When it will be complete cannot be estimated: there were no judgements in the last 7 days.'
    """
    nothing: Row = {"per_day": None, "complete": None}
    if not left:
        return {**nothing, "words": "All judgements are made: the round can be closed."}
    recent = [time for time in saved if now - time <= WINDOW]
    span = WINDOW if len(recent) < len(saved) else now - min(recent, default=now)
    if len(recent) < _FEWEST or span < _SHORTEST:
        few = f"there were {f'only {len(recent)}' if recent else 'no'} judgements in the last {WINDOW.days} days"
        why = few if len(recent) < _FEWEST else "the first judgement is less than an hour old"
        return {**nothing, "words": f"When it will be complete cannot be estimated: {why}."}
    rate = len(recent) / (span / dt.timedelta(days=1))
    days = left / rate
    if days > 3650:
        return {**nothing, "per_day": rate, "words": "At the present rate it will not be complete within ten years."}
    end = now + dt.timedelta(days=days)
    whole = max(1, round(span / dt.timedelta(days=1)))
    lately = "today" if span < dt.timedelta(days=1) else f"in the last {whole} day{'s' if whole != 1 else ''}"
    late = f", after it closes on {closes.day} {closes:%B %Y}" if closes is not None and end > closes else ""
    about = f"{end.day} {end:%B %Y}{late}"
    words = f"At {rate:.3g} judgements a day, as {lately}, it will be complete about {about}."
    return {"per_day": rate, "complete": end.isoformat(timespec="seconds"), "words": words}


def look_over(session: Session, opened: OpenRound, key: Pool | None, now: dt.datetime) -> Row:
    """Compute the overview of a round for organisers.

    `key`: the system behind each candidate; None: systems are not ranked.
    Returns: ``quantities`` (pairs, graders, judgements and others), ``forecast``, and rows: ``counts`` (pairs with 0,
      1, ... judgements), ``agreement`` (Fleiss's kappa with three categories and with SS and VS merged, and other
      measures), ``boxes`` (fine judgements within each broad category), ``graders`` (judgements, seconds and
      self-agreement of each), ``schemes`` (ranking of the systems with all categories, and without the middle one).
    """
    judged = judgements_of(session, opened)
    judged_pairs = StoredPair.round_id == opened.id, ~StoredPair.training
    pairs = session.execute(select(StoredPair.query, StoredPair.candidate).where(*judged_pairs))
    made = rater_agreement.progress(judged, [Pair(*pair) for pair in pairs], opened.config.graders_per_pair)
    counting = [row.time for row in judged if row.counts and row.time is not None and not row.repeat]
    boxes, schemes = list[Row](), list[Row]()
    with suppress(AnnotationError):
        fine = fine_within_broad(rater_agreement.collection_of(judged))
        columns = ("n", "mean", "whisker_low", "q1", "median", "q3", "whisker_high", "outliers")
        for broad in fine["broad"].values.tolist():
            boxes.append({"broad": broad, **{name: _value(fine[name].sel(broad=broad)) for name in columns}})
    if key is not None:
        with suppress(GradingError):
            ranking = rater_agreement.without_middle(judged, key)
            for scheme in ranking["scheme"].values.tolist():
                ranked = ranking.sel(scheme=scheme)
                systems = {
                    system: {name: _value(ranked[name].sel(system=system)) for name in ("score", "rank")}
                    for system in ranking["system"].values.tolist()
                }
                schemes.append({"scheme": scheme, "tau": _value(ranked["tau"]), "systems": systems})
    log = [judgement_tables.event_of(event) for event in events_of(session, opened)]
    names = [*numbered(session, opened).values()]
    graders = list[Row]()
    for name, work in rater_agreement.grader_work(judged, log, names).items():
        if name in names:
            seconds = None if math.isnan(work.median_seconds) else round(work.median_seconds, 1)
            of_grader: Row = {"grader": name, "judgements": work.judged, "median seconds": seconds}
            of_grader |= {"minutes": round(work.total_seconds / 60, 1), "share heard": _value(work.median_heard)}
            of_grader |= {"repeats": work.agreement.repeats, "same word": _value(work.agreement.same)}
            graders.append({**of_grader, "difference of numbers": _value(work.agreement.difference)})
    row = session.get_one(Round, opened.id)
    everybody = session.scalars(select(Participation).where(Participation.round_id == opened.id)).all()
    unjudged = sum(not row.counts and not row.cannot_hear for row in judged)
    withdrawn = sum(grader.withdrawn is not None for grader in everybody)
    numbers = {"pairs": made.pairs, "graders of a pair": opened.config.graders_per_pair}
    numbers |= {"judgements that are needed": made.wanted, "judgements that are made": made.judged}
    numbers |= {"hidden repeats": made.repeats, "could not be heard": made.cannot_hear, "of known pieces": made.known}
    numbers |= {"asked and not judged yet": unjudged, "graders who agreed": len(everybody)}
    numbers |= {"graders who withdrew": withdrawn, "graders who had all deleted": row.deleted}
    numbers |= {"pieces without a recording": len(opened.missing)}
    quantities = {**numbers, "closed": None if row.closed is None else row.closed.isoformat(timespec="seconds")}
    end = forecast(counting, made.wanted - made.judged, now, opened.config.closes)
    counts = [{"judgements": number, "pairs": pairs} for number, pairs in made.by_count.items()]
    overview = {"quantities": quantities, "forecast": end, "counts": counts, "agreement": _agreement(judged)}
    return {**overview, "boxes": boxes, "graders": graders, "schemes": schemes}


def _agreement(judged: Sequence[GraderJudgement]) -> list[Row]:
    try:
        collection = rater_agreement.collection_of(judged)
    except AnnotationError:
        return []
    rows = []
    with suppress(AnnotationError):  # so far only fine judgements were made
        fleiss = grader_agreement(collection)
        abouts = ("Fleiss's kappa of NS, SS and VS", "Fleiss's kappa of NS and the others")
        for scheme, about in zip(fleiss["scheme"].values.tolist(), abouts, strict=True):
            cell = fleiss.sel(scheme=scheme)
            rows.append((f"kappa, {scheme}", "broad", _value(cell["kappa"]), int(cell["compared"]), about))
    others = rater_agreement.reliability(collection)
    for name in others["measure"].values.tolist():
        cell = others.sel(measure=name)
        words = str(cell["of"].item()), str(cell["about"].item())
        rows.append((name, words[0], _value(cell["value"]), int(cell["compared"]), words[1]))
    return [dict(zip(("measure", "of", "value", "pairs", "about"), row, strict=True)) for row in rows]


def _value(value: Any) -> float | None:
    return None if math.isnan(value) else round(float(value), 6)


def close_round(
    service: Service,
    name: str,
    folder: Path,
    *,
    known: Known = "keep",
    unjudged: Unjudged = "refuse",
    interim: bool = False,
) -> tuple[Closed, Path]:
    """Write the judgements of a round, both raw and as scored, and end the grading. `name`: name of the round.
    `folder`: output folder for ``made.csv``, ``events.jsonl``, and the files of
    `mirflow.campaign.grading.judgement_tables.write_closed`. `interim`: write the current tables without closing the
    round.
    """
    rounds = open_rounds(service)
    if name not in rounds or service.database is None:
        hint = suggest(name, rounds) if rounds else "it has none"
        raise GradingError(f"{service.path}: unknown round of grading {name!r}; {hint}")
    opened = rounds[name]
    key = read_key(find_key(opened.config, opened.root))
    # Write files first: if that fails, the round stays open.
    with service.database.write() as session:
        judged = judgements_of(session, opened)
        closed = judgement_tables.close(judged, key, known=known, names=True)
        folder.mkdir(parents=True, exist_ok=True)
        judgement_tables.write_judgements(judged, folder / "made.csv")
        log = folder / "events.jsonl"
        log.write_text("".join(json.dumps(row) + "\n" for row in events_of(session, opened)), encoding="utf-8")
        pipeline = judgement_tables.write_closed(closed, key, folder, events=log, unjudged=unjudged, scale=LARGEST)
        row = session.scalars(select(Round).where(Round.id == opened.id)).one()
        if not interim and row.closed is None:
            row.closed = service.clock()
    return closed, pipeline
