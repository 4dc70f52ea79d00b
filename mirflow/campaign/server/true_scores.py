"""The true scores of a hidden split, for organisers: page, JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from .security import GuardedRoute
from .service import Service
from .submissions.entries import plain_text
from .submissions.submission_tables import Released, Submission
from .viewer_pages import PRIVATE, page, wants_json

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
    rows = session.scalars(chosen.order_by(*order))
    groups = groupby(rows, lambda row: (row.evaluation, row.metric))
    return [score for _, group in groups for score in _ranked([*group])]


def _ranked(rows: list[Released]) -> Iterator[dict[str, Any]]:
    gains = {
        row.id: -row.true_value if row.lower_is_better else row.true_value
        for row in rows
        if row.true_value is not None and row.submission.withdrawn is None
    }
    for row in sorted(rows, key=lambda row: -gains.get(row.id, -float("inf"))):
        sent, gain = row.submission, gains.get(row.id)
        yield {
            "evaluation": row.evaluation,
            "metric": row.metric,
            "rank": None if gain is None else 1 + sum(other > gain for other in gains.values()),
            "system": sent.name,
            "submission": sent.id,
            "sender": sent.user.name,
            "lab": sent.user.lab,
            "visibility": sent.visibility,
            "withdrawn": "" if sent.withdrawn is None else sent.withdrawn.isoformat(timespec="seconds"),
            "disqualified": sent.disqualified,
            "value": row.true_value,
            "low": row.true_low,
            "high": row.true_high,
            "released": row.value,
            "tracks": row.tracks,
            "received": sent.received.isoformat(timespec="seconds"),
            "rules": row.rules,
        }


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes, if a split is hidden."""
    if service.database is None or service.campaign is None:
        return []
    if not any(split.hidden for split in service.campaign.splits.values()):
        return []
    return [
        GuardedRoute("true_scores", true_scores, role="organiser"),
        GuardedRoute("true_scores_csv", true_scores_table, role="organiser"),
    ]


def true_scores(request: Request) -> Response:
    """Show the true scores of all systems, including private ones."""
    split, scores = _asked(request)
    if wants_json(request):
        return JSONResponse({"split": split, "scores": scores}, headers=PRIVATE)
    tables = [(name, [*group]) for name, group in groupby(scores, itemgetter("evaluation", "metric"))]
    return page(request, "true_scores.html", here="submissions", split=split, tables=tables)


def true_scores_table(request: Request) -> Response:
    """Return the true scores as a table for spreadsheets."""
    split, scores = _asked(request)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for score in scores:
        rows.writerow([plain_text(value) if isinstance(value, str) else value for value in score.values()])
    disposition = f'attachment; filename="{split}-true-scores.csv"'  # names of splits are identifiers
    return Response(text.getvalue(), headers={"Content-Disposition": disposition, **PRIVATE}, media_type="text/csv")


def _asked(request: Request) -> tuple[str, list[dict[str, Any]]]:
    service: Service = request.app.state.service
    assert service.campaign is not None
    assert service.database is not None
    name = request.path_params["split"]
    split = service.campaign.splits.get(name)
    if split is None or not split.hidden:
        raise HTTPException(404)
    with service.database.read() as session:
        return name, read_true_scores(session, name)
