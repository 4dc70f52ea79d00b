"""Overview of a round for organisers: progress, agreement and time, with numbered graders; and closing a round."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload, selectinload

from ....analysis.judgements import fine_within_broad, grader_agreement
from ....errors import AnnotationError, GradingError, suggest
from ...grading import rater_agreement
from ...grading.assignment import Pair
from ...grading.judgement_tables import (
    Closed,
    GraderJudgement,
    GradingEvent,
    Known,
    Unjudged,
    close,
    to_time,
    write_closed,
    write_judgements,
)
from ...grading.pool import Pool, read_key
from ..recordings import find_duration
from ..service import Service
from .grading_tables import Participation, Round, StoredAssignment, StoredEvent, StoredPair
from .judging import LARGEST, is_heard
from .rounds import OpenRound, find_key, open_rounds

if TYPE_CHECKING:
    import xarray as xr

Row = dict[str, Any]
"""Maps names to texts, numbers or None."""


def numbered(session: Session, opened: OpenRound) -> dict[int, str]:
    """Number graders from 1 in random order, by id of their participation."""
    ids = select(Participation.id).where(Participation.round_id == opened.id).order_by(Participation.code)
    return {identity: f"grader {number}" for number, identity in enumerate(session.scalars(ids), 1)}


def judgements_of(session: Session, opened: OpenRound) -> list[GraderJudgement]:
    """Return the judgements of a round without training; those made without listening count as missing."""
    names = numbered(session, opened)
    query = (
        select(StoredAssignment)
        .join(StoredPair, StoredAssignment.pair_id == StoredPair.id)
        .where(StoredAssignment.participation_id.in_(names), ~StoredPair.training)
        .order_by(StoredAssignment.saved, StoredAssignment.id)
        .options(joinedload(StoredAssignment.pair))
    )
    judgements = []
    for row in session.scalars(query):
        pair, heard, share = row.pair, is_heard(row, opened.config.listen), None
        seconds = None if row.heard is None or row.saved is None else find_duration(opened.recording(pair.piece))
        if seconds and row.heard is not None:
            share = min(row.heard / seconds, 1.0)
        broad, fine = ((row.broad or ""), row.fine) if heard else ("", None)
        flags = row.repeat, row.unplayable, row.known
        judgements.append(
            GraderJudgement(
                names[row.participation_id], pair.query, pair.candidate, broad, fine, *flags, row.saved, share
            )
        )
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


WINDOW = dt.timedelta(days=7)
"""Time whose judgements give the rate of a forecast."""
_SHORTEST, _FEWEST = dt.timedelta(hours=1), 5
"""Least time and number of judgements that give a rate."""


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
    late = f", after it closes on {_day(closes)}" if closes is not None and end > closes else ""
    words = f"At {rate:.3g} judgements a day, as {lately}, it will be complete about {_day(end)}{late}."
    return {"per_day": rate, "complete": end.isoformat(timespec="seconds"), "words": words}


def _day(time: dt.datetime) -> str:
    return f"{time.day} {time:%B %Y}"


def look_over(session: Session, opened: OpenRound, key: Pool | None, now: dt.datetime) -> Row:
    """Compute the overview of a round for organisers.

    `key`: the system behind each candidate; None: systems are not ranked.
    Returns: ``quantities`` (pairs, graders, judgements and others), ``forecast``, and rows: ``counts`` (pairs with 0,
      1, ... judgements), ``agreement`` (Fleiss's kappa with three categories and with SS and VS merged, and other
      measures), ``boxes`` (fine judgements within each broad category), ``graders`` (judgements, seconds and
      self-agreement of each), ``schemes`` (ranking of the systems with all categories, and without the middle one).
    """
    judged = judgements_of(session, opened)
    pairs = session.execute(
        select(StoredPair.query, StoredPair.candidate).where(StoredPair.round_id == opened.id, ~StoredPair.training)
    )
    made = rater_agreement.progress(judged, [Pair(*pair) for pair in pairs], opened.config.graders_per_pair)
    counting = [row.time for row in judged if row.counts and row.time is not None and not row.repeat]
    boxes, schemes = list[Row](), list[Row]()
    with suppress(AnnotationError):
        fine = fine_within_broad(rater_agreement.collection_of(judged))
        names = ("n", "mean", "whisker_low", "q1", "median", "q3", "whisker_high", "outliers")
        for broad in fine["broad"].values.tolist():
            boxes.append({"broad": broad, **{name: _number(fine[name].sel(broad=broad)) for name in names}})
    if key is not None:
        with suppress(GradingError):
            ranking = rater_agreement.without_middle(judged, key)
            for scheme in ranking["scheme"].values.tolist():
                ranked = ranking.sel(scheme=scheme)
                systems = {
                    system: {name: _number(ranked[name].sel(system=system)) for name in ("score", "rank")}
                    for system in ranking["system"].values.tolist()
                }
                schemes.append({"scheme": scheme, "tau": _number(ranked["tau"]), "systems": systems})
    return {
        "quantities": _quantities(session, opened, judged, made),
        "forecast": forecast(counting, made.wanted - made.judged, now, opened.config.closes),
        "counts": [{"judgements": number, "pairs": pairs} for number, pairs in made.by_count.items()],
        "agreement": _agreement(judged),
        "boxes": boxes,
        "graders": _graders(session, opened, judged),
        "schemes": schemes,
    }


def _quantities(
    session: Session, opened: OpenRound, judged: Sequence[GraderJudgement], made: rater_agreement.RoundProgress
) -> Row:
    row = session.get_one(Round, opened.id)
    everybody = session.scalars(select(Participation).where(Participation.round_id == opened.id)).all()
    return {
        "pairs": made.pairs,
        "graders of a pair": opened.config.graders_per_pair,
        "judgements that are needed": made.wanted,
        "judgements that are made": made.judged,
        "hidden repeats": made.repeats,
        "could not be heard": made.cannot_hear,
        "of known pieces": made.known,
        "asked and not judged yet": sum(not row.counts and not row.cannot_hear for row in judged),
        "graders who agreed": len(everybody),
        "graders who withdrew": sum(grader.withdrawn is not None for grader in everybody),
        "graders who had all deleted": row.deleted,
        "pieces without a recording": len(opened.missing),
        "closed": None if row.closed is None else row.closed.isoformat(timespec="seconds"),
    }


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
            rows.append((f"kappa, {scheme}", "broad", _number(cell["kappa"]), int(cell["compared"]), about))
    others = rater_agreement.reliability(collection)
    for name in others["measure"].values.tolist():
        cell = others.sel(measure=name)
        words = str(cell["of"].item()), str(cell["about"].item())
        rows.append((name, words[0], _number(cell["value"]), int(cell["compared"]), words[1]))
    return [dict(zip(("measure", "of", "value", "pairs", "about"), row, strict=True)) for row in rows]


def _graders(session: Session, opened: OpenRound, judged: Sequence[GraderJudgement]) -> list[Row]:
    log = [
        GradingEvent(to_time(row["time"]), row["grader"], row["event"], row.get("query", ""), row.get("candidate", ""))
        for row in events_of(session, opened)
    ]
    names = sorted(numbered(session, opened).values(), key=lambda text: int(text.split()[1]))
    works = rater_agreement.grader_work(judged, log, names)
    rows = []
    for name in names:
        work, again = works[name], works[name].agreement
        rows.append(
            {
                "grader": name,
                "judgements": work.judged,
                "median seconds": None if math.isnan(work.median_seconds) else round(work.median_seconds, 1),
                "minutes": round(work.total_seconds / 60, 1),
                "share heard": _float(work.median_heard),
                "repeats": again.repeats,
                "same word": _float(again.same),
                "difference of numbers": _float(again.difference),
            }
        )
    return rows


def _number(value: xr.DataArray) -> float | None:
    return _float(float(value))


def _float(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)


def close_round(
    service: Service,
    name: str,
    folder: Path,
    *,
    known: Known = "keep",
    unjudged: Unjudged = "refuse",
    interim: bool = False,
) -> tuple[Closed, Path]:
    """Write the judgements of a round, both raw and as scored, and end the grading.

    `name`: name of the round.
    `folder`: output folder for ``made.csv``, ``events.jsonl``, and the files of
      `mirflow.campaign.grading.judgement_tables.write_closed`.
    `interim`: write the current tables without closing the round.
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
        closed = close(judged, key, known=known, names=True)
        folder.mkdir(parents=True, exist_ok=True)
        write_judgements(judged, folder / "made.csv")
        log = folder / "events.jsonl"
        log.write_text("".join(json.dumps(row) + "\n" for row in events_of(session, opened)), encoding="utf-8")
        pipeline = write_closed(closed, key, folder, events=log, unjudged=unjudged, scale=LARGEST)
        row = session.scalars(select(Round).where(Round.id == opened.id)).one()
        if not interim and row.closed is None:
            row.closed = service.clock()
    return closed, pipeline
