"""Rounds of grading: from the campaign file or a plan into the database; pages to judge, and progress.

A page has the pairs that a grader judges next, some of them hidden repeats.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session, selectinload

from ....errors import GradingError, InvalidAnnotationError, counted
from ....metrics.similarity import BROAD
from ...file import GradingRound
from ...grading import assignment as plan
from ...grading.assignment import Pair
from ...grading.pool import key_path, read_key, read_pairs
from ...grading.query_draw import read_queries, read_table
from ..accounts import Viewer
from ..recordings import find_recording
from ..service import Service
from .grading_tables import ConsentText, Participation, Round, StoredAssignment, StoredPair
from .judging import is_done, read_values
from .planning import planned_rounds

# Default text that graders agree to.
CONSENT = """\
You will listen to short pieces of music and judge how similar they are to each other.

What is kept: your judgements, and when you played, paused or moved within a recording. It is kept under a random \
number. The list of accounts says who has which personal link; reports and files that are handed on do not.

You may stop, pause and come back whenever you like, without giving a reason. You may withdraw at any time, and \
choose whether what you judged so far is kept or deleted.
"""

_LOG = logging.getLogger("mirflow.server")


@dataclass(frozen=True)
class OpenRound:
    """A round of grading offered by a server."""

    name: str  # part of its address
    config: GradingRound  # settings from the campaign file
    root: Path  # folder that its paths are relative to
    id: int  # id in the database
    labels: Mapping[str, str]  # labels of the broad categories on the pages
    consent: str  # the text that graders agree to
    version: str  # version of that text
    missing: tuple[str, ...] = ()  # pieces without a recording

    def recording(self, piece: str) -> Path:
        """Return the recording of a piece."""
        return find_recording(self.root, self.config.audio, piece)


def open_rounds(service: Service) -> dict[str, OpenRound]:
    """Load the rounds of a campaign into its database; repeated calls update them.

    Pairs added to the tables are added; pairs removed from the tables are removed, unless they were assigned to a
    grader.

    Returns: rounds by name; empty without a campaign.
    """
    if service.campaign is None or service.database is None:
        return {}
    configs = (*service.campaign.grading, *planned_rounds(service))
    return {config.name: load_round(service, config) for config in configs}


def load_round(service: Service, config: GradingRound) -> OpenRound:
    """Load a round into the database."""
    text, listed, missing, warning = read_round_files(config, service.root)
    with service.demand_campaign()[1].write() as session:
        now = service.clock()
        row = session.scalar(select(Round).where(Round.name == config.name))
        if row is None:
            row = Round(name=config.name, opened=now)
            session.add(row)
            session.flush()
        version = hashlib.sha256(text.encode()).hexdigest()[:12]
        stored = select(ConsentText).where(ConsentText.round_id == row.id, ConsentText.version == version)
        if session.scalar(stored) is None:
            session.add(ConsentText(round_id=row.id, version=version, text=text, since=now))
        pairs = {(pair.query, pair.candidate): pair for pair in listed}
        rows = session.scalars(select(StoredPair).where(StoredPair.round_id == row.id))
        before = {(pair.query, pair.candidate): pair for pair in rows}
        ids = select(StoredAssignment.pair_id).join(StoredPair).where(StoredPair.round_id == row.id)
        assigned = set(session.scalars(ids))
        for name, pair in before.items():
            played = None if name not in pairs else (pairs[name].query_piece, pairs[name].piece)
            if played is None and pair.id not in assigned:
                session.delete(pair)
            elif played is not None and played != (pair.query_piece, pair.piece):
                if pair.id in assigned:
                    heard = f"candidate {name[1]!r} of query {name[0]!r} was played as {pair.piece!r}"
                    other = "choose a new name for a round with another pool"
                    raise GradingError(f"{heard} but is now {played[1]!r}; {other}")
                pair.query_piece, pair.piece = played
        for name, pair in pairs.items():
            if name not in before:
                pair.round_id = row.id
                session.add(pair)
        if missing:
            _LOG.warning("round %s: %s", config.name, warning)
        return OpenRound(
            name=config.name,
            config=config,
            root=service.root,
            id=row.id,
            labels=dict(zip(BROAD, config.broad, strict=True)),
            consent=text,
            version=version,
            missing=missing,
        )


@dataclass(eq=False)
class Rounds:
    """The rounds offered by a server, including opened rounds that were planned on its pages."""

    service: Service
    opened: dict[str, OpenRound]  # by name, see `open_rounds`
    _counted: tuple[str, dt.datetime, dt.datetime, list[dict[str, Any]]] | None = None

    def all(self) -> list[OpenRound]:
        """Return all rounds."""
        for config in planned_rounds(self.service):
            if config.name not in self.opened:
                self.opened[config.name] = load_round(self.service, config)
        return list(self.opened.values())

    def seen_by(self, viewer: Viewer | None) -> list[dict[str, Any]]:
        """Return the progress of open public rounds, and of all open ones for viewers who may grade.

        It is shown on busy pages, and counted again every few seconds.
        """
        _, database = self.service.demand_campaign()
        now, state, counted = self.service.clock(), database.page_state(), self._counted
        if counted is None or counted[0] != state or not counted[1] <= now < counted[2]:
            rounds = self.all()
            with database.read() as session:
                listed = [progress_of(session, opened) for opened in rounds if not is_closed(session, opened, now)]
            times = [time for opened in rounds for time in (opened.config.opens, opened.config.closes) if time]
            until = min([now + COUNTED_FOR, *(time for time in times if time > now)])
            counted = self._counted = state, now, until, listed
        may_grade = viewer is not None and viewer.may("grader")
        return [summary for summary in counted[3] if summary["public"] or may_grade]


def read_round_files(config: GradingRound, root: Path) -> tuple[str, list[StoredPair], tuple[str, ...], str]:
    """Read the files of a round, without opening a database.

    Returns: the text that graders agree to, the pairs, the pieces without a recording, and a warning about these (empty
      without any).
    """
    try:
        text = (root / config.consent).read_text(encoding="utf-8") if config.consent else CONSENT
    except (OSError, UnicodeDecodeError) as error:
        raise GradingError(f"round {config.name}: cannot read consent {config.consent}: {error}") from None
    pairs = list(_pairs(config, root))
    pieces = sorted({piece for pair in pairs for piece in (pair.query_piece, pair.piece)})
    missing = tuple(piece for piece in pieces if not find_recording(root, config.audio, piece).is_file())
    named = f"{counted(len(missing), 'piece')} without a recording, such as {', '.join(missing[:3])}"
    return text, pairs, missing, named if missing else ""


def _pairs(config: GradingRound, root: Path) -> Iterator[StoredPair]:
    if config.training:
        table = read_table(root / config.training)
        columns = (table.filled("query"), table.filled("candidate"), table.optional("broad"), table.optional("fine"))
        for line, query, piece, broad, fine in zip(table.lines, *columns, strict=True):
            try:
                anchor = read_values({"broad": broad, "fine": fine})
            except GradingError as error:
                raise InvalidAnnotationError(str(error), path=table.name, line=line) from None
            anchors = {f"anchor_{name}": judgement for name, judgement in anchor.items()}
            names = {"query": query, "candidate": f"training {piece}", "query_piece": query, "piece": piece}
            yield StoredPair(**names, **anchors, training=True)
    candidates, queries = root / config.candidates, set(read_queries(root / config.queries))
    key = find_key(config, root)
    returned = read_key(key).returned
    pieces = {row.pair: row.piece for row in returned}
    queries |= {row.judged_as for row in returned if row.judged_as}  # possibly only mutations of it were drawn
    for query, candidate in read_pairs(candidates):
        if query not in queries:
            raise GradingError(f"{candidates}: query {query!r} is not in {config.queries}")
        if Pair(query, candidate) not in pieces:
            raise GradingError(f"{key}: no piece for candidate {candidate!r} of query {query!r}")
        piece = pieces[Pair(query, candidate)]
        yield StoredPair(query=query, candidate=candidate, query_piece=query, piece=piece)


def find_key(config: GradingRound, root: Path) -> Path:
    """Return the file with the system behind each candidate."""
    return root / config.key if config.key else key_path(root / config.candidates)


HELD = dt.timedelta(hours=24)  # how long a pair is reserved for a grader who has not judged it
# How long counts on the front page are reused, unless a round is opened or closed.
COUNTED_FOR = dt.timedelta(seconds=10)


def find_participation(session: Session, opened: OpenRound, user: int) -> Participation | None:
    """Find a grader's participation in a round with all assignments; None before the consent."""
    query = select(Participation).where(Participation.round_id == opened.id, Participation.user_id == user)
    return session.scalar(query.options(selectinload(Participation.assignments).joinedload(StoredAssignment.pair)))


def pages_of(participation: Participation) -> dict[int, list[StoredAssignment]]:
    """Group a grader's assignments by page."""
    pages: dict[int, list[StoredAssignment]] = {}
    for assignment in participation.assignments:
        pages.setdefault(assignment.page, []).append(assignment)
    return pages


def open_page(session: Session, opened: OpenRound, participation: Participation, now: dt.datetime) -> int | None:
    """Return the grader's current page: the first unfinished one, else a new one. `session`: a write transaction, so
    that no two graders get the same assignment. Returns: number of the page; None if there is nothing left to judge.
    """
    pages = pages_of(participation)
    listen = opened.config.listen
    for number, assigned in pages.items():
        if not all(is_done(row, listen) for row in assigned):
            return number
    new = next_pairs(session, opened, participation, now)
    if not new:
        return None
    number = max(pages, default=0) + 1
    order = np.random.default_rng([participation.seed, number]).permutation(len(new))
    for place, index in enumerate(order.tolist()):
        pair, repeat = new[index]
        participation.assignments.append(StoredAssignment(pair=pair, repeat=repeat, page=number, place=place, made=now))
    session.flush()
    return number


def next_pairs(
    session: Session, opened: OpenRound, participation: Participation, now: dt.datetime
) -> list[tuple[StoredPair, bool]]:
    """Return what a grader who has finished all pages judges next, and whether it is a hidden repeat.

    First the queries of the training, then the least judged pairs of a query that the grader has not seen, or repeats.
    """
    had = {row.pair_id for row in participation.assignments}
    training = select(StoredPair).where(StoredPair.round_id == opened.id, StoredPair.training).order_by(StoredPair.id)
    left = [pair for pair in session.scalars(training) if pair.id not in had]
    # Graders who have started are not sent back to the training.
    if left and all(assignment.pair.training for assignment in participation.assignments):
        return [(pair, False) for pair in left if pair.query == left[0].query]
    rows = session.scalars(select(StoredPair).where(StoredPair.round_id == opened.id, ~StoredPair.training)).all()
    pairs = {plan.Pair(row.query, row.candidate): row for row in rows}
    counted, config = counts(session, opened, now), opened.config
    history = [
        plan.Assignment(assignment.pair.query, assignment.pair.candidate, assignment.repeat)
        for assignment in participation.assignments
        if not assignment.pair.training
    ]
    number = {pair: counted[row.id] for pair, row in pairs.items()}
    # Graders who are ahead of the others continue rather than wait.
    for spread in (1, config.graders_per_pair):
        order: dict[str, Any] = {"repeats": config.repeats, "seed": participation.seed, "spread": spread}
        assigned = plan.next_assignments(number, history, config.graders_per_pair, **order)
        if assigned:
            break
    return [(pairs[row.pair], row.repeat) for row in assigned]


def counts(session: Session, opened: OpenRound, now: dt.datetime | None = None) -> Counter[int]:
    """Count the judgements of each pair that are valid, by id, without repeats, training and what cannot be played.

    `now`: count those that were recently assigned as well.
    """
    # The condition of `is_done` for assignments that could be played.
    heard = StoredAssignment.heard.is_(None) | (StoredAssignment.heard >= opened.config.listen)
    which = and_(StoredAssignment.broad.is_not(None), StoredAssignment.fine.is_not(None), heard)
    if now is not None:
        which = or_(which, and_(Participation.withdrawn.is_(None), StoredAssignment.made > now - HELD))
    query = select(StoredAssignment.pair_id, func.count()).join(Participation)
    query = query.join(StoredPair, StoredAssignment.pair_id == StoredPair.id).group_by(StoredAssignment.pair_id)
    counted = ~StoredAssignment.repeat, ~StoredAssignment.unplayable, ~StoredPair.training, which
    rows = session.execute(query.where(Participation.round_id == opened.id, *counted))
    return Counter({pair: number for pair, number in rows})  # noqa: C416 - mypy does not see rows as pairs


def progress_of(session: Session, opened: OpenRound, participation: Participation | None = None) -> dict[str, Any]:
    """Progress of a round, without names, and of a grader.

    Returns: numbers of ``pairs`` and of those that have the required number of judgements (``judged``), that number
      (``graders``), the ``share`` of the required judgements from 0 to 1, and what the front page says of the round;
      and numbers of candidates (``done``) and ``pages`` that the grader has finished.
    """
    config, most = opened.config, opened.config.graders_per_pair
    every = select(func.count()).select_from(StoredPair).where(StoredPair.round_id == opened.id, ~StoredPair.training)
    pairs = int(session.scalar(every) or 0)
    counted = counts(session, opened).values()
    judged, made = sum(number >= most for number in counted), sum(min(number, most) for number in counted)
    share = made / (pairs * most) if pairs else 1.0
    numbers = {"pairs": pairs, "judged": judged, "graders": most, "share": share}
    about = {"name": config.name, "title": config.title or config.name, "closes": config.closes}
    assigned = {} if participation is None else pages_of(participation)
    pages = [[is_done(row, config.listen) for row in rows] for rows in assigned.values()]
    mine = {"done": sum(map(sum, pages)), "pages": sum(map(all, pages))} if participation is not None else {}
    return {**about, **numbers, "public": config.public, **mine}


def is_closed(session: Session, opened: OpenRound, now: dt.datetime) -> bool:
    """True if a round was closed, or is not open at the given time."""
    opens, closes = opened.config.opens, opened.config.closes
    is_open = (opens is None or now >= opens) and (closes is None or now < closes)
    return session.get_one(Round, opened.id).closed is not None or not is_open
