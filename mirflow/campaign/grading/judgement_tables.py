"""Tables of judgements as made by graders, logs of their actions, and the tables written when a round is closed.

A closed round has the last valid judgements, whose graders are numbered unless their names are kept, the systems'
lists, and a pipeline file that scores them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from ...errors import GradingError, InvalidAnnotationError, UnreadableError
from ...metrics.similarity import BROAD
from ...readers.content import decode, read_bytes
from ...readers.options import MAX_BYTES
from .assignment import Pair
from .pool import JUDGED_AS, Pool
from .query_draw import read_table, write_table

Known = Literal["keep", "leave out"]
Unjudged = Literal["refuse", "zero", "skip"]
# Columns of a table of raw judgements; only the first three and one of broad and fine are required.
COLUMNS = ("grader", "query", "candidate", "repeat", "broad", "fine", "cannot_hear", "known", "time", "heard")
_CLOSED = ("query", "candidate", "grader", "broad", "fine")
_SUMS = ("psum", "wcsum", "sdsum", "greater0", "greater1")  # metrics for broad judgements, of table 4
_PIPELINE = """\
name: {name}
evaluations:
  - task: similarity
    metrics: {metrics}
    reference: judgements.csv
    estimates: "lists/{{system}}.csv"
store: {store}  # in the folder where mirflow runs
"""
_TRUE = frozenset({"1", "true", "yes"})
_FALSE = frozenset({"", "0", "false", "no"})


@dataclass(frozen=True, slots=True)
class GraderJudgement:
    """Judgement of a candidate by a grader; later rows for the same assignment replace it."""

    grader: str
    query: str
    candidate: str
    broad: str = ""  # NS, SS or VS; empty if not judged (yet)
    fine: float | None = None  # None if not judged (yet)
    repeat: bool = False  # whether this is a hidden repeat of another assignment
    cannot_hear: bool = False  # whether the recording could not be played
    known: bool = False  # whether the grader recognised the piece
    time: datetime | None = None  # time of the judgement, with its zone
    heard: float | None = None  # share of the candidate's recording played by then, from 0 to 1; None if unknown

    @property
    def pair(self) -> Pair:
        """The query and the candidate."""
        return Pair(self.query, self.candidate)

    @property
    def counts(self) -> bool:
        """True if it contains a judgement of similarity."""
        return not self.cannot_hear and (self.broad != "" or self.fine is not None)

    @property
    def level(self) -> float:
        """0 for NS, 1 for SS, 2 for VS; NaN without a broad part."""
        return float(BROAD.index(self.broad)) if self.broad else math.nan


def latest(judgements: Iterable[GraderJudgement]) -> list[GraderJudgement]:
    """Return the last judgement of each assignment by time; for equal or missing times, the later row.

    Examples
    --------
    >>> [one.broad for one in latest([GraderJudgement("g", "q", "a", "NS"), GraderJudgement("g", "q", "a", "VS")])]
    ['VS']
    """
    last: dict[tuple[str, str, str, bool], GraderJudgement] = {}
    for judgement in judgements:
        key = (judgement.grader, judgement.query, judgement.candidate, judgement.repeat)
        before = last.get(key)
        if before is None or before.time is None or judgement.time is None or before.time <= judgement.time:
            last[key] = judgement
    return list(last.values())


def read_judgements(path: str | os.PathLike[str]) -> list[GraderJudgement]:
    """Read the judgements in a table with the columns `COLUMNS`, in the order of rows."""
    table = read_table(path)
    rows = []
    needed = [table.filled(name) for name in COLUMNS[:3]]
    others = [table.optional(name) for name in COLUMNS[3:]]
    if not {"broad", "fine"} & set(table.columns):
        raise InvalidAnnotationError("missing column: expected broad, fine, or both", path=table.name)
    for line, grader, query, candidate, *rest in zip(table.lines, *needed, *others, strict=True):
        repeat, broad, fine, cannot_hear, known, time, heard = rest
        try:
            if broad and broad.upper() not in BROAD:
                raise ValueError(f"invalid broad category {broad!r}: choose from {', '.join(BROAD)}")
            flags = []
            for name, text in (("repeat", repeat), ("cannot_hear", cannot_hear), ("known", known)):
                if text.lower() not in _TRUE | _FALSE:
                    raise ValueError(f"invalid {name} {text!r}: expected 0 or 1")
                flags.append(text.lower() in _TRUE)
            moment = to_time(time) if time else None
            try:
                value = float(heard) if heard else None
            except ValueError:
                value = math.nan
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"invalid heard {heard!r}: expected a share from 0 to 1")
            try:
                number = float(fine) if fine else None
            except ValueError:
                raise ValueError(f"the fine judgement is not a number: {fine!r}") from None
            if number is not None and not math.isfinite(number):
                raise ValueError(f"the fine judgement is not finite: {fine!r}")
            values = broad.upper(), number, *flags, moment, value
        except ValueError as error:
            message = f"{error} (grader {grader!r}, query {query!r}, candidate {candidate!r})"
            raise InvalidAnnotationError(message, path=table.name, line=line) from None
        rows.append(GraderJudgement(grader, query, candidate, *values))
    return rows


def to_time(text: str) -> datetime:
    """Parse a time in ISO 8601; UTC if it has no zone.

    Examples
    --------
    >>> to_time("2027-03-01T12:03:41Z").isoformat()
    '2027-03-01T12:03:41+00:00'
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"invalid time {text!r}: expected a form like 2027-03-01T12:03:41Z") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def write_judgements(judgements: Iterable[GraderJudgement], path: str | os.PathLike[str]) -> None:
    """Write raw judgements with all `COLUMNS`."""
    rows = []
    for row in judgements:
        time = row.time.isoformat() if row.time is not None else ""
        heard = None if row.heard is None else round(row.heard, 4)
        named = row.grader, row.query, row.candidate, int(row.repeat), row.broad, row.fine
        rows.append((*named, int(row.cannot_hear), int(row.known), time, heard))
    write_table(path, COLUMNS, rows)


@dataclass(frozen=True, slots=True)
class GradingEvent:
    """An action of a grader."""

    time: datetime
    grader: str
    event: str  # kind of the event, such as came, went, played, paused, judged
    query: str = ""
    candidate: str = ""  # empty if the event concerns no candidate


def read_events(path: str | os.PathLike[str]) -> list[GradingEvent]:
    """Read events from a file of JSON lines, which are objects with at least ``time``, ``grader`` and ``event``."""
    return [event_of(row) for row in _objects(path)]


def event_of(row: Mapping[str, Any]) -> GradingEvent:
    """Make an event from a row of a log with at least ``time``, ``grader`` and ``event``."""
    texts = (str(row.get(key) or "") for key in ("grader", "event", "query", "candidate"))
    return GradingEvent(to_time(str(row["time"])), *texts)


def _objects(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects in a file of JSON lines; each has a time and a grader."""
    name = os.fspath(path)
    for number, line in enumerate(decode(read_bytes(name, MAX_BYTES), name).split("\n"), 1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except ValueError:
            raise UnreadableError(f"invalid JSON: {line[:80]!r}", path=name, line=number) from None
        if not isinstance(event, dict) or not {"time", "grader"} <= event.keys():
            message = f"invalid event {line[:80]!r}: expected an object with a time and a grader"
            raise InvalidAnnotationError(message, path=name, line=number)
        try:
            to_time(str(event["time"]))
        except ValueError as error:
            raise InvalidAnnotationError(str(error), path=name, line=number) from None
        yield event


@dataclass(frozen=True, slots=True)
class Closed:
    """The judgements of a closed round."""

    # One judgement per grader and pair, with names of pieces instead of ids; copied for queries judged as others.
    judgements: tuple[GraderJudgement, ...]
    counts: Mapping[str, int]  # numbers of judgements, graders and pairs, and of excluded judgements by reason
    unjudged: tuple[Pair, ...]  # pairs of the pool without a judgement, with names of pieces instead of ids
    called: Mapping[str, str]  # names of graders in the tables; empty for those who withdrew


def close(
    judgements: Iterable[GraderJudgement],
    key: Pool,
    *,
    withdrawn: Collection[str] = (),
    known: Known = "keep",
    names: bool = False,
) -> Closed:
    """Close a round: select the last valid judgement of each assignment.

    Excluded are judgements of graders who withdrew, of recordings that could not be heard, assignments without a
    judgement, and hidden repeats (the first judgement counts). Judgements of pieces known to the grader are counted,
    but only excluded on request.

    `key`: key with the pieces behind the ids.
    `known` ("keep", "leave out"): treatment of judgements of pieces that the grader knew.
    `names`: keep the names of graders; otherwise they are grader 1, 2, ... in an order independent of their names.
    """
    rows = latest(judgements)
    pieces = {returned.pair: returned.piece for returned in key.returned}
    counts: Counter[str] = Counter()
    valid: list[GraderJudgement] = []
    for row in rows:
        reasons = {
            "of graders who withdrew": row.grader in withdrawn,
            "hidden repeats": row.repeat,
            "could not be heard": row.cannot_hear,
            "assigned and not judged": not row.counts,
            "left out, as the grader knew the piece": row.known and known == "leave out",
        }
        reason = next((words for words, applies in reasons.items() if applies), "")
        counts[reason or "judgements"] += 1
        counts["of pieces that the grader knew"] += reason != "of graders who withdrew" and row.known
        if reason:
            continue
        if row.pair not in pieces:
            message = f"candidate {row.candidate!r} of query {row.query!r} is not in the key"
            raise GradingError(f"grader {row.grader!r}: {message}; is it the key of another pool?")
        valid.append(replace(row, candidate=pieces[row.pair]))
    if not valid:
        raise GradingError("no judgements are left: none were made, or all were excluded")
    numbered = number_graders((row.grader for row in valid), key.seed)
    graders = list(numbered)
    called = {name: name for name in graders} if names else numbered
    judged_for = key.judged_for
    place = {query: number for number, query in enumerate(dict.fromkeys((*judged_for, *key.queries)))}
    number_of = {name: number for number, name in enumerate(graders)}
    missing = sorted(
        {Pair(row.pair.query, row.piece) for row in key.returned} - {row.pair for row in valid},
        key=lambda pair: (place[pair.query], pair),
    )
    valid = [replace(row, query=query) for row in valid for query in judged_for[row.query]]
    valid.sort(key=lambda row: (place[row.query], row.candidate, number_of[row.grader]))
    quantities = {
        "graders": len(graders),
        "pairs": len(pieces),
        "pairs without a judgement": len(missing),
        "judgements": counts.pop("judgements"),
        **{words: count for words, count in sorted(counts.items()) if count},
    }
    renamed = tuple(replace(row, grader=called[row.grader]) for row in valid)
    return Closed(renamed, quantities, tuple(missing), called | dict.fromkeys(withdrawn, ""))


def number_graders(names: Iterable[str], seed: str) -> dict[str, str]:
    """Name graders ``grader 1``, ``grader 2``, ... in an order determined by a secret.

    Examples
    --------
    >>> number_graders(["ada", "bob", "cy"], "secret")
    {'bob': 'grader 1', 'ada': 'grader 2', 'cy': 'grader 3'}
    """
    key = hashlib.blake2b(seed.encode()).digest()
    order = sorted(set(names), key=lambda name: hashlib.blake2b(name.encode(), key=key).digest())
    return {name: f"grader {number}" for number, name in enumerate(order, 1)}


def write_closed(
    closed: Closed,
    key: Pool,
    folder: str | os.PathLike[str],
    events: str | os.PathLike[str] | None = None,
    unjudged: Unjudged = "refuse",
    scale: float = 10.0,
) -> Path:
    """Write the tables to score into a folder, and return the pipeline file that scores them.

    ``judgements.csv`` has the columns query, candidate, grader, broad and fine, and judged_as if some queries are
    judged as others (with copies of their judgements). ``lists`` contains the judged candidates of each system in the
    order of rank. ``similarity.yaml`` scores them with FINE and the sums of table 4, into a store named after the
    folder, in the working directory of mirflow. ``events.jsonl`` is a copy of the log of events.

    `unjudged` ("refuse", "zero", "skip"): treatment of candidates without a judgement: see the task ``similarity``.
    """
    place = Path(folder)
    fine = [row.fine for row in closed.judgements if row.fine is not None]
    odd = next((value for value in fine if not 0 <= value <= scale), None)
    if odd is not None:
        raise GradingError(f"fine judgement out of range: {odd:g} is not from 0 to {scale:g}; give the scale")
    for system in key.systems:
        if "/" in system or system.startswith("."):
            raise GradingError(f"invalid file name for system {system!r}; rename it in the key")
    other = next((path for path in sorted(place.glob("lists/*.csv")) if path.stem not in key.systems), None)
    if other is not None:
        message = f"{other} belongs to another system and would be scored; choose another folder, or remove it"
        raise GradingError(message)
    log: list[dict[str, Any]] = []
    guests: dict[str, str] = {}
    for event in () if events is None else _objects(events):
        name = str(event.get("grader") or "")
        if closed.called.get(name) != "":  # withdrew
            # Graders without judgements only need to be distinct.
            number = closed.called.get(name) or guests.setdefault(name, f"guest {len(guests) + 1}")
            log.append({**event, "grader": number})
    heard = {row.query: row.judged_as for row in key.returned if row.judged_as}
    columns = (*_CLOSED, JUDGED_AS) if heard else _CLOSED
    rows = [
        (row.query, row.candidate, row.grader, row.broad, row.fine, *([heard.get(row.query)] if heard else []))
        for row in closed.judgements
    ]
    write_table(place / "judgements.csv", columns, rows)
    for system in key.systems:
        listed = [(row.query, row.piece, row.rank) for row in key.returned if row.system == system]
        write_table(place / "lists" / f"{system}.csv", ("query", "candidate", "rank"), listed)
    top = max(row.rank for row in key.returned)
    broad = any(row.broad for row in closed.judgements)
    measures = [f"fine{_settings(top, unjudged, scale)}"] if fine else []
    measures += [f"{name}{_settings(top, unjudged)}" for name in _SUMS] if broad else []
    title = place.resolve().name
    pipeline = place / "similarity.yaml"
    named = {"name": json.dumps(title), "store": json.dumps(f"../{title}.zarr")}
    pipeline.write_text(_PIPELINE.format(metrics=json.dumps(measures), **named), encoding="utf-8")
    if events is not None:
        lines = (json.dumps(event, ensure_ascii=False) + "\n" for event in log)
        (place / "events.jsonl").write_text("".join(lines), encoding="utf-8")
    return pipeline


def _settings(top: int, unjudged: Unjudged, scale: float = 10.0) -> str:
    settings = {"scale": f"{scale:g}" if scale != 10 else "", "unjudged": unjudged if unjudged != "refuse" else ""}
    text = ",".join(f"{name}={value}" for name, value in settings.items() if value)
    return f"@{top}" + (f"({text})" if text else "")
