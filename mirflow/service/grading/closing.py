"""Closing a round: its judgements as tables that are scored."""

from __future__ import annotations

import json
from pathlib import Path

from sqlalchemy import select

from ...errors import GradingError, suggest
from ...grading.judgement_tables import Closed, Known, Unjudged, close, write_closed, write_judgements
from ...grading.pool import read_key
from ..service import Service
from .judging import LARGEST
from .overview import events_of, judgements_of
from .rounds import find_key, open_rounds
from .tables import Round


def close_round(
    service: Service,
    name: str,
    folder: Path,
    *,
    known: Known = "keep",
    unjudged: Unjudged = "refuse",
    interim: bool = False,
) -> tuple[Closed, Path]:
    """Write the judgements of a round as they were made and as they are scored, and let nobody judge any more.

    Parameters
    ----------
    service : Service
        Of a campaign.
    name : str
        Of the round.
    folder : Path
        What is written: ``made.csv``, ``events.jsonl``, and the files of
        `mirflow.grading.judgement_tables.write_closed`.
    known, unjudged
        See there.
    interim : bool
        Write the tables of now, and go on.

    Returns
    -------
    closed : Closed
    pipeline : Path

    Raises
    ------
    GradingError
        If the campaign has no such round, or nobody has judged.
    """
    rounds = open_rounds(service)
    if name not in rounds or service.database is None:
        told = suggest(name, rounds) if rounds else "it has none"
        raise GradingError(f"{service.path}: no round of grading is called {name!r}; {told}")
    opened = rounds[name]
    key = read_key(find_key(opened.config, opened.root))
    # Files first: if they cannot be written, the round is as open as before.
    with service.database.write() as session:
        judged = judgements_of(session, opened)
        closed = close(judged, key, known=known, names=True)
        folder.mkdir(parents=True, exist_ok=True)
        write_judgements(judged, folder / "made.csv")
        log = folder / "events.jsonl"
        log.write_text("".join(json.dumps(one) + "\n" for one in events_of(session, opened)), encoding="utf-8")
        pipeline = write_closed(closed, key, folder, events=log, unjudged=unjudged, scale=LARGEST)
        row = session.scalars(select(Round).where(Round.id == opened.id)).one()
        if not interim and row.closed is None:
            row.closed = service.clock()
    return closed, pipeline
