"""Rounds of grading: from the campaign file into the database."""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from ....errors import GradingError, InvalidAnnotationError, counted
from ....metrics.similarity import BROAD
from ...file import GradingRound
from ...grading.assignment import Pair
from ...grading.csv_tables import read_table
from ...grading.pool import key_path, read_key, read_pairs
from ...grading.query_draw import read_queries
from ..recordings import find_recording
from ..service import Service
from .grading_tables import ConsentText, Round, StoredAssignment, StoredPair
from .judging import read_values
from .planning import planned_rounds

CONSENT = """\
You will listen to short pieces of music and judge how similar they are to each other.

What is kept: your judgements, and when you played, paused or moved within a recording. It is kept under a random \
number. The list of accounts says who has which personal link; reports and files that are handed on do not.

You may stop, pause and come back whenever you like, without giving a reason. You may withdraw at any time, and \
choose whether what you judged so far is kept or deleted.
"""
"""Default text that graders agree to."""

_LOG = logging.getLogger("mirflow.server")


@dataclass(frozen=True)
class OpenRound:
    """A round of grading offered by a server."""

    config: GradingRound
    """Settings from the campaign file."""
    root: Path
    """Folder that its paths are relative to."""
    id: int
    """Id in the database."""
    consent: str
    """The text that graders agree to."""
    version: str
    """Version of that text."""
    missing: tuple[str, ...] = ()
    """Pieces without a recording."""

    @property
    def name(self) -> str:
        """Name of the round, part of its address."""
        return self.config.name

    def recording(self, piece: str) -> Path:
        """Return the recording of a piece."""
        return find_recording(self.root, self.config.audio, piece)

    def is_open(self, now: dt.datetime) -> bool:
        """True if a time is between opening and closing."""
        opens, closes = self.config.opens, self.config.closes
        return (opens is None or now >= opens) and (closes is None or now < closes)


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
    assert service.database is not None
    with service.database.write() as session:
        now = service.clock()
        row = session.scalar(select(Round).where(Round.name == config.name))
        if row is None:
            row = Round(name=config.name, opened=now)
            session.add(row)
            session.flush()
        text = _read_consent(config, service.root)
        version = hashlib.sha256(text.encode()).hexdigest()[:12]
        stored = select(ConsentText).where(ConsentText.round_id == row.id, ConsentText.version == version)
        if session.scalar(stored) is None:
            session.add(ConsentText(round_id=row.id, version=version, text=text, since=now))
        pairs = {(pair.query, pair.candidate): pair for pair in _pairs(config, service.root)}
        _update(session, row.id, pairs)
        missing = _without_recording(config, service.root, pairs.values())
        if missing:
            _LOG.warning("round %s: %s", config.name, _shown(missing))
        return OpenRound(config, service.root, row.id, text, version, missing)


def rounds_of(service: Service) -> Rounds | None:
    """Return the rounds of a campaign; None if it cannot have any."""
    campaign = service.campaign
    if campaign is None or service.database is None or not (campaign.grading or campaign.planning):
        return None
    return Rounds(service)


class Rounds:
    """The rounds offered by a server, including opened rounds that were planned on its pages."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._open = open_rounds(service)

    def get(self, name: str) -> OpenRound | None:
        """Return a round by name; None if there is none."""
        if name not in self._open:
            self._look()
        return self._open.get(name)

    def all(self) -> list[OpenRound]:
        """Return all rounds."""
        self._look()
        return list(self._open.values())

    def _look(self) -> None:
        for config in planned_rounds(self._service):
            if config.name not in self._open:
                self._open[config.name] = load_round(self._service, config)


def check_round(config: GradingRound, root: Path) -> tuple[int, str]:
    """Return the number of pairs of a round and a warning about missing recordings, without opening a database."""
    _read_consent(config, root)
    pairs = list(_pairs(config, root))
    missing = _without_recording(config, root, pairs)
    return sum(not pair.training for pair in pairs), _shown(missing) if missing else ""


def _without_recording(config: GradingRound, root: Path, pairs: Iterable[StoredPair]) -> tuple[str, ...]:
    pieces = sorted({piece for pair in pairs for piece in (pair.query_piece, pair.piece)})
    return tuple(piece for piece in pieces if not find_recording(root, config.audio, piece).is_file())


def _shown(missing: Sequence[str]) -> str:
    return f"{counted(len(missing), 'piece')} without a recording, such as {', '.join(missing[:3])}"


def _read_consent(config: GradingRound, root: Path) -> str:
    if not config.consent:
        return CONSENT
    try:
        return (root / config.consent).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GradingError(f"round {config.name}: cannot read consent {config.consent}: {error}") from None


def _pairs(config: GradingRound, root: Path) -> Iterator[StoredPair]:
    if config.training:
        table = read_table(root / config.training)
        columns = (table.filled("query"), table.filled("candidate"), table.optional("broad"), table.optional("fine"))
        for line, query, piece, broad, fine in zip(table.lines, *columns, strict=True):
            try:
                anchor = read_values({"broad": broad, "fine": fine})
            except GradingError as error:
                raise InvalidAnnotationError(str(error), path=table.name, line=line) from None
            yield StoredPair(
                query=query,
                candidate=f"training {piece}",
                query_piece=query,
                piece=piece,
                training=True,
                anchor_broad=anchor["broad"],
                anchor_fine=anchor["fine"],
            )
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


def _update(session: Session, round_id: int, pairs: dict[tuple[str, str], StoredPair]) -> None:
    rows = session.scalars(select(StoredPair).where(StoredPair.round_id == round_id))
    stored = {(row.query, row.candidate): row for row in rows}
    ids = select(StoredAssignment.pair_id).join(StoredPair).where(StoredPair.round_id == round_id)
    assigned = set(session.scalars(ids))
    for name, row in stored.items():
        if name not in pairs and row.id not in assigned:
            session.delete(row)
        elif name in pairs and (row.query_piece, row.piece) != (pairs[name].query_piece, pairs[name].piece):
            if row.id in assigned:
                heard = f"candidate {name[1]!r} of query {name[0]!r} was played as {row.piece!r}"
                raise GradingError(
                    f"{heard} but is now {pairs[name].piece!r}; choose a new name for a round with another pool"
                )
            row.query_piece, row.piece = pairs[name].query_piece, pairs[name].piece
    for name, pair in pairs.items():
        if name not in stored:
            pair.round_id = round_id
            session.add(pair)


def labels(config: GradingRound) -> dict[str, str]:
    """Return the labels of the broad categories on the pages."""
    return dict(zip(BROAD, config.broad, strict=True))
