"""Pages for organisers: the steps of a plan, and opening and closing a round."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, get_args

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from ....errors import MirflowError
from ....pipeline.model import identifier
from ....store.generations import remove, write_synced
from ...file import Limits
from ...grading.judgement_tables import Known, Unjudged
from ...grading.query_draw import read_each
from ...site.pages import ADDRESSES
from ..database import Database
from ..limits import shown_size
from ..security import GuardedRoute, check_forgery
from ..service import Service
from ..submissions.entries import SubmissionError
from ..submissions.uploads import NAMES, RECEIVED, Fields, Upload, UploadError, receive
from ..viewer_pages import PRIVATE, page
from .grading_tables import Round
from .overview import close_round
from .planning import (
    DOWNLOADS,
    LIST_SUFFIXES,
    MOST_GRADERS,
    ROUND,
    SHORTEST_SECRET,
    PlanError,
    RoundPlan,
    assign_graders,
    begin_plan,
    discard_plan,
    draw_queries,
    find_plan,
    look_over_plan,
    pool_candidates,
    read_round,
    take_lists,
    take_pieces,
    write_round,
)
from .rounds import CONSENT, OpenRound, Rounds, load_round

TABLE_BYTES = 10 * 10**6
"""Size limit of an uploaded table of pieces."""
CLOSED = "closed"
"""Subfolder of the campaign for the tables of rounds closed on the pages."""
MOST_TOP, MOST_NUMBER, MOST_SEED = 1000, 100_000, 2**63
_STEP = ADDRESSES["plan_step"]
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

    def step(name: str, endpoint: Callable[..., Any], **settings: Any) -> GuardedRoute:
        return guarded(_STEP.replace("{step}", name), endpoint, methods=["POST"], **settings)

    table = Limits(size=TABLE_BYTES, files=2, seconds=campaign.limits.seconds)
    upload: dict[str, Any] = {"form": False, "rate": "upload"}
    return [
        guarded("new_round", made.new),
        guarded("new_round", made.begin, methods=["POST"]),
        guarded("plan", made.show, rate="query"),
        guarded("plan_file", made.file),
        *(step(name, partial(made.perform, name)) for name in made.steps),
        step("upload-pieces", partial(made.upload, "pieces", table), body=table.size + _FORM_BYTES, **upload),
        step(
            "upload-lists",
            partial(made.upload, "lists", campaign.limits),
            body=campaign.limits.size + _FORM_BYTES,
            **upload,
        ),
        step("discard", made.discard),
        *closing,
    ]


class OrganiserPages:
    """Pages for organisers."""

    def __init__(self, service: Service, database: Database, rounds: Rounds) -> None:
        self.service, self.database, self.rounds = service, database, rounds
        self.steps: Mapping[str, Callable[[RoundPlan, Form], object]] = {
            "pieces": self._choose_pieces,
            "draw": self._draw,
            "pool": self._pool,
            "assign": self._assign,
            "open": self._open,
        }
        """Functions that perform the steps of a plan with the values of a form."""

    def new(self, request: Request, status: int = 200, name: str = "", trouble: str = "") -> Response:
        """Show the form for the name of a new round."""
        return page(request, "grade_new.html", status, here="grading", name=name, trouble=trouble)

    def begin(self, request: Request) -> Response:
        """Start the plan of a round."""
        name = _text(request.state.form, "name")
        try:
            with self.database.read() as session:
                if session.query(Round.id).where(Round.name == name).first() is not None:
                    raise PlanError(f"the name {name!r} belongs to an earlier round: choose another one")
            plan = begin_plan(self.service, name)
        except MirflowError as error:
            return self.new(request, 400, name, str(error))
        self._note(request, "plan round", plan.name)
        return self._see(plan)

    def show(
        self, request: Request, status: int = 200, *, step: str = "", trouble: str = "", given: Form | None = None
    ) -> Response:
        """Show the plan of a round with a form for each step; an error is shown next to its step."""
        plan = self._plan(request)
        summary = look_over_plan(plan)
        limits = self.service.campaign.limits if self.service.campaign is not None else Limits()
        return page(
            request,
            "grade_plan.html",
            status,
            here="grading",
            plan=plan,
            offers=plan.planning,
            found=summary,
            opened=read_round(plan) if plan.is_open else None,
            shares=summary["shares"][:_SHOWN_GRADERS],
            step=step,
            trouble=trouble,
            given=given or {},
            same=_same(given or {}) if step == "pool" else ["artist"],
            downloads=[name for name in DOWNLOADS if plan.has(name)],
            most={"graders": MOST_GRADERS, "top": MOST_TOP, "number": MOST_NUMBER, "seed": MOST_SEED},
            secret=SHORTEST_SECRET,
            sizes={"pieces": shown_size(TABLE_BYTES), "lists": shown_size(limits.size), "files": limits.files},
            suffixes=LIST_SUFFIXES,
            consent=CONSENT,
        )

    def _plan(self, request: Request) -> RoundPlan:
        plan = find_plan(self.service, request.path_params["round"])
        if plan is None:
            raise HTTPException(404)
        return plan

    def _note(self, request: Request, action: str, name: str, **details: str | int | None) -> None:
        self.service.audit.record(request.state.viewer.name, action, round=name, **details)

    def _see(self, plan: RoundPlan, step: str = "") -> Response:
        return RedirectResponse(self.service.links.url("plan", round=plan.name) + (f"#{step}" if step else ""), 303)

    def perform(self, step: str, request: Request) -> Response:
        """Perform a step of a plan."""
        plan, form = self._plan(request), request.state.form
        try:
            self.steps[step](plan, form)
        except MirflowError as error:
            return self.show(request, 400, step=step, trouble=plan.message_of(error), given=form)
        self._note(request, f"plan round: {step}", plan.name)
        return self._see(plan, step)

    def _choose_pieces(self, plan: RoundPlan, form: Form) -> None:
        number = _number(form, "table", "the table", 0, len(plan.planning.pieces) - 1)
        path = plan.root / plan.planning.pieces[number]
        if not path.is_file():
            raise PlanError(f"{plan.planning.pieces[number]} does not exist")
        take_pieces(plan, path, path.name, _text(form, "column"))

    def _draw(self, plan: RoundPlan, form: Form) -> None:
        text, by = _text(form, "number"), _text(form, "by")
        several = bool(by) and not text.isdecimal()
        number = read_each(text) if several else _number(form, "number", "the number of queries", 1, MOST_NUMBER)
        draw_queries(plan, number, by, _text(form, "where"), _seed(form))

    def _pool(self, plan: RoundPlan, form: Form) -> None:
        sent = _text(form, "lists") == "sent"
        source = None if sent else _number(form, "lists", "the lists", 0, len(plan.planning.lists) - 1)
        top = _number(form, "top", "the number of candidates", 1, MOST_TOP)
        same, secret, judged_as = _same(form), _text(form, "secret"), _text(form, "judged_as")
        pool_candidates(self.service, plan, source, top, same, secret, judged_as)

    def _assign(self, plan: RoundPlan, form: Form) -> None:
        assign_graders(
            plan,
            _number(form, "graders", "the number of graders", 1, MOST_GRADERS),
            _number(form, "per_pair", "the graders of a pair", 1, MOST_GRADERS),
            _decimal(form, "repeats", "the share of repeats", 0, 1),
            _decimal(form, "minutes", "the minutes of a judgement", 0.01, 1000),
            _seed(form),
        )

    def _open(self, plan: RoundPlan, form: Form) -> None:
        settings: dict[str, Any] = {
            "title": _text(form, "title"),
            "graders_per_pair": _number(form, "per_pair", "the graders of a pair", 1, MOST_GRADERS),
            "repeats": _decimal(form, "repeats", "the share of repeats", 0, 1),
            "listen": _decimal(form, "listen", "the seconds to listen", 0, 3600),
            "broad": [_text(form, name) for name in ("broad_0", "broad_1", "broad_2")],
            "help": _text(form, "help"),
        }
        if not all(settings["broad"]):
            raise PlanError("each of the three labels needs a text")
        settings |= {name: _text(form, name) for name in ("opens", "closes") if _text(form, name)}
        config = write_round(plan, settings, _text(form, "consent"))
        try:
            load_round(self.service, config)
        except BaseException:
            plan.forget(ROUND)
            raise

    async def upload(self, step: str, limits: Limits, request: Request) -> Response:
        """Use an uploaded table of pieces, or lists of systems."""
        folder = self.service.submissions_folder

        def admit(fields: Fields) -> None:
            check_forgery(request, (fields.get("csrf") or [""])[0])
            if self._plan(request).is_open:
                raise PlanError("the round is open, so its plan cannot be changed: plan another round")

        def make(upload: Upload) -> RoundPlan:
            plan, place = self._plan(request), folder / upload.id
            names = json.loads((place / NAMES).read_text())
            sent = [(name, place / RECEIVED / f"{index:06d}") for index, name in enumerate(names)]
            if step == "lists":
                take_lists(self.service, plan, sent)
            elif len(sent) > 1:
                raise PlanError("upload a single table of pieces")
            else:
                take_pieces(plan, sent[0][1], sent[0][0], (upload.fields.get("column") or [""])[0].strip())
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
            discard_plan(plan)
        except MirflowError as error:
            return self.show(request, 400, step="open", trouble=plan.message_of(error))
        self._note(request, "discard plan", plan.name)
        return RedirectResponse(self.service.links.url("grading"), 303)

    def file(self, request: Request) -> Response:
        """Return a table of a plan."""
        plan, name = self._plan(request), request.path_params["file"]
        if name not in DOWNLOADS or not plan.has(name):
            raise HTTPException(404)
        self._note(request, "download", plan.name, file=name)
        filename = f"{plan.name}-{name}"
        return FileResponse(plan.folder / name, media_type="text/csv", filename=filename, headers=PRIVATE)

    def show_closing(
        self, request: Request, status: int = 200, trouble: str = "", given: Form | None = None
    ) -> Response:
        """Ask to confirm closing a round, or show the result."""
        opened, folder = self._round(request)
        with self.database.read() as session:
            closed = session.get_one(Round, opened.id).closed
        counts: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            counts = json.loads(folder.with_suffix(".json").read_text(encoding="utf-8"))
        return page(
            request,
            "grade_close.html",
            status,
            here="grading",
            round=opened,
            title=opened.config.title or opened.name,
            closed="" if closed is None else f"{closed:%Y-%m-%d %H:%M} UTC",
            counts=counts if closed is not None else {},
            trouble=trouble,
            given=given or {},
        )

    def close(self, request: Request) -> Response:
        """Close a round, or write interim tables."""
        (opened, folder), form = self._round(request), request.state.form
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
        _, folder = self._round(request)
        if not folder.with_suffix(".json").is_file():
            raise HTTPException(404)
        return _zipped(folder)

    def _round(self, request: Request) -> tuple[OpenRound, Path]:
        """The round of an address, and the folder for its tables once it is closed."""
        opened = self.rounds.get(request.path_params["round"])
        if opened is None:
            raise HTTPException(404)
        return opened, self.service.state_folder / CLOSED / identifier(opened.name)


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


def _seed(form: Form) -> int | None:
    return _number(form, "seed", "the seed", 0, MOST_SEED) if _text(form, "seed") else None
