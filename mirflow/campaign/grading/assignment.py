"""Assignment of graders to candidates of queries, least judged first: one by one, or all in a plan (a table).

Plans are written and read as CSV, and summarised: queries, pairs and hours of graders.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Literal, NamedTuple

import numpy as np

from ...analysis.judgements import LIMIT
from ...errors import GradingError, InvalidAnnotationError, counted
from ...ragged import Bool, Int
from .query_draw import read_table, write_table

By = Literal["query", "pair"]
APART = 10  # least number of judgements between a judgement and its repeat, if the grader has as many
_COLUMNS = ("grader", "place", "query", "candidate", "repeat")


class Pair(NamedTuple):
    """A query and a candidate to judge."""

    query: str
    candidate: str


class Assignment(NamedTuple):
    """A pair assigned to a grader; a repeat was judged by the same grader before."""

    query: str
    candidate: str
    repeat: bool = False

    @property
    def pair(self) -> Pair:
        """The query and the candidate."""
        return Pair(*self[:2])


def grader_seed(seed: int, grader: str) -> int:
    """Derive a grader's seed, from 0 to 2^63 - 1, from that of the round and the grader's name.

    Examples
    --------
    >>> grader_seed(7, "ada"), grader_seed(7, "ada") == grader_seed(8, "ada")
    (2044148718326671197, False)
    """
    return int.from_bytes(hashlib.blake2b(f"{seed}\0{grader}".encode(), digest_size=8).digest(), "big") >> 1


def next_assignments(
    counts: Mapping[Pair, int],
    history: Sequence[Assignment],
    graders_per_pair: int = 1,
    *,
    by: By = "query",
    repeats: float = 0.0,
    seed: int = 0,
    spread: int = 1,
) -> tuple[Assignment, ...]:
    """Assign to a grader the least judged pairs that the grader has not had.

    In whatever order graders arrive, the counts of any two pairs differ by at most `spread` at any time, and by 0 when
    all pairs have the required number of judgements.

    `counts`: for every pair of the round (0 without any) the number of valid judgements, plus those assigned and not
      returned yet. Assignments that were abandoned are not counted.
    `history`: all assignments of this grader so far in order, judged or not.
    `by` ("query", "pair"): ``query``: all candidates of a query at once, as in MIREX (or the unjudged ones of a query
      left unfinished). ``pair``: a single one, preferably of the last query.
    `repeats`: share of judgements that a grader repeats, from 0 to 1, to measure self-agreement. Repeats do not count
      for the pair. If possible they are `APART` judgements apart, and no query is shown twice in a row.
    `seed`: seed of the grader's own order: `grader_seed`.
    `spread`: largest difference between the counts of two pairs. With 1, a grader who has judged all of the least
      judged pairs waits for the others, and so does everyone if a recording cannot be played; with 2 or more, graders
      may go ahead.
    Returns: assignments in the order of display; empty if there are none (for now).

    Examples
    --------
    >>> counts = {Pair("q1", "a"): 1, Pair("q1", "b"): 1, Pair("q2", "c"): 0}
    >>> next_assignments(counts, [])
    (Assignment(query='q2', candidate='c', repeat=False),)
    >>> next_assignments(counts, [Assignment("q2", "c")], graders_per_pair=2)
    ()
    """
    _check(graders_per_pair, repeats, spread)
    pairs = _Pairs(counts)
    count = np.array([counts[pair] for pair in pairs.pairs], dtype=np.int64)
    return _Grader(pairs, history, seed).next(count, graders_per_pair, by, repeats, spread)


def _check(graders_per_pair: int, repeats: float, spread: int) -> None:
    for name, value in (("graders_per_pair", graders_per_pair), ("spread", spread)):
        if value < 1:
            raise GradingError(f"{name} must be at least 1, not {value}")
    if not 0 <= repeats <= 1:
        raise GradingError(f"repeats must be a share from 0 to 1, not {repeats!r}")


class _Pairs:
    """The pairs of a round in an order independent of the table, with the numbers of their queries."""

    def __init__(self, pairs: Collection[Pair]) -> None:
        self.pairs = sorted(Pair(*pair) for pair in pairs)
        self.place = {pair: index for index, pair in enumerate(self.pairs)}
        self.queries = sorted({pair.query for pair in self.pairs})
        number = {query: index for index, query in enumerate(self.queries)}
        self.query: Int = np.array([number[pair.query] for pair in self.pairs], dtype=np.int64)
        self.size: Int = np.bincount(self.query, minlength=len(self.queries))


class _Grader:
    """A grader's history and order of queries and pairs; `largest_first`: queries with more pairs come first."""

    def __init__(self, pairs: _Pairs, history: Sequence[Assignment], seed: int, *, largest_first: bool = False) -> None:
        self.pairs = pairs
        self.history: list[Assignment] = []
        self.had: Bool = np.zeros(len(pairs.pairs), dtype=np.bool_)
        rng = np.random.default_rng(seed)
        self.query_rank: Int = rng.permutation(len(pairs.queries))
        if largest_first:
            self.query_rank = np.argsort(np.lexsort((self.query_rank, -pairs.size)))
        self.rank: Int = rng.permutation(len(pairs.pairs))
        for assignment in history:
            self.note(Assignment(*assignment))

    def note(self, assignment: Assignment) -> None:
        """Add an assignment to the history."""
        self.history.append(assignment)
        if assignment.pair in self.pairs.place:  # a pair may have been removed from the pool since
            self.had[self.pairs.place[assignment.pair]] = True

    def next(self, count: Int, graders_per_pair: int, by: By, repeats: float, spread: int) -> tuple[Assignment, ...]:
        """See `next_assignments`."""
        pairs, fresh = self.pairs, tuple[Assignment, ...]()
        free = (count < graders_per_pair) & ~self.had
        if free.any():
            free &= count < count.min() + spread
        if free.any():
            index = np.flatnonzero(free & (count == count[free].min()))
            before = self.history[-1].query if self.history else None
            last = pairs.queries.index(before) if before in pairs.queries else -1
            query = pairs.query[index]
            order = np.lexsort((self.rank[index], self.query_rank[query], query != last))
            index, query = index[order], query[order]
            index = index[:1] if by == "pair" else index[query == query[0]]
            fresh = tuple(Assignment(*pairs.pairs[number]) for number in index.tolist())
        # Repeats that are due come first, all of one query.
        again = sum(row.repeat for row in self.history)
        owed = math.floor(repeats * (len(self.history) - again) + 1e-9) - again
        if owed < 1:
            return fresh
        repeated = {row.pair for row in self.history if row.repeat}
        judged = [row.pair for row in self.history if not row.repeat and row.pair in self.pairs.place]
        recent = {row.pair for row in self.history[-APART:]}
        choice = [pair for pair in judged if pair not in repeated | recent]
        elsewhere = [pair for pair in choice if pair.query != self.history[-1].query]
        # If a grader has a single query, its repeats come last; among other pairs of the query they are not noticed.
        choice = elsewhere or ([] if fresh and by == "query" else choice)
        if not choice:
            return fresh
        choice.sort(key=lambda pair: self.rank[self.pairs.place[pair]])
        due = [pair for pair in choice if pair.query == choice[0].query][: 1 if by == "pair" else owed]
        return tuple(Assignment(*pair, repeat=True) for pair in due)


@dataclass(frozen=True, slots=True)
class Plan:
    """Assignments of a whole round, made in advance."""

    # Graders and their pairs in the order of turns; counts differ by at most one after each turn.
    given: tuple[tuple[str, Assignment], ...]
    graders: tuple[str, ...]
    graders_per_pair: int
    seed: int

    def of(self, grader: str) -> tuple[Assignment, ...]:
        """Return the assignments of a grader in the order of display."""
        return tuple(row for who, row in self.given if who == grader)


def assign(
    pairs: Collection[Pair],
    graders: Sequence[str],
    graders_per_pair: int = 1,
    *,
    by: By = "query",
    repeats: float = 0.0,
    seed: int = 0,
) -> Plan:
    """Assign graders to all pairs: in each turn the grader with the least work gets the least judged pairs.

    By query, the largest queries are assigned first, so that small ones balance the work at the end.

    `graders_per_pair`, `by`, `repeats`: see `next_assignments`.
    `seed`: seed of the round; graders have derived seeds, see `grader_seed`.

    Examples
    --------
    >>> plan = assign([Pair("q1", "a"), Pair("q2", "b"), Pair("q2", "c")], ["ada", "bob"], graders_per_pair=2)
    >>> [(grader, one.candidate) for grader, one in plan.given]
    [('ada', 'b'), ('ada', 'c'), ('bob', 'a'), ('bob', 'b'), ('bob', 'c'), ('ada', 'a')]
    """
    _check(graders_per_pair, repeats, 1)
    if not pairs:
        raise GradingError("no pairs to judge")
    if len(set(graders)) < len(graders):
        raise GradingError(f"duplicate grader: {next(grader for grader in graders if graders.count(grader) > 1)!r}")
    if len(graders) < graders_per_pair:
        raise GradingError(f"each pair needs {counted(graders_per_pair, 'grader')}, but there are only {len(graders)}")
    ordered = _Pairs(pairs)
    count: Int = np.zeros(len(ordered.pairs), dtype=np.int64)
    first = by == "query"
    state = {name: _Grader(ordered, (), grader_seed(seed, name), largest_first=first) for name in graders}
    turns: list[tuple[str, Assignment]] = []
    while True:
        for name in sorted(graders, key=lambda row: len(state[row].history)):
            turn = state[name].next(count, graders_per_pair, by, repeats, 1)
            if turn:
                break
        else:
            return Plan(tuple(turns), tuple(graders), graders_per_pair, seed)
        for row in turn:
            state[name].note(row)
            turns.append((name, row))
            if not row.repeat:
                count[ordered.place[row.pair]] += 1


def write_plan(plan: Plan, path: str | os.PathLike[str], minutes: float = 1.0) -> None:
    """Write a plan as CSV: one row per grader and pair, in the order of judging.

    `minutes`: duration of a judgement, written as a note like the seed.
    """
    places: Counter[str] = Counter()
    rows = []
    for grader, row in plan.given:
        places[grader] += 1
        rows.append((grader, places[grader], row.query, row.candidate, int(row.repeat)))
    rows.sort(key=lambda row: (plan.graders.index(row[0]), row[1]))
    notes = {"seed": plan.seed, "graders per pair": plan.graders_per_pair, "minutes": f"{minutes:g}"}
    write_table(path, _COLUMNS, rows, notes)


def read_plan(path: str | os.PathLike[str]) -> tuple[Plan, float]:
    """Read a plan by grader from a table, and the minutes per judgement."""
    table = read_table(path)
    notes = {"seed": "0", "graders per pair": "1", "minutes": "1", **table.notes}
    try:
        seed, each, minutes = int(notes["seed"]), int(notes["graders per pair"]), float(notes["minutes"])
    except ValueError as error:
        raise InvalidAnnotationError(f"invalid number in the notes: {error}", path=table.name) from None
    turns = []
    columns = [table.filled(name) for name in ("grader", "query", "candidate", "repeat")]
    for line, grader, query, candidate, repeat in zip(table.lines, *columns, strict=True):
        if repeat not in ("0", "1"):
            raise InvalidAnnotationError(f"invalid repeat {repeat!r}: expected 0 or 1", path=table.name, line=line)
        turns.append((grader, Assignment(query, candidate, repeat == "1")))
    if not turns:
        raise InvalidAnnotationError("contains no assignments", path=table.name)
    return Plan(tuple(turns), tuple(dict.fromkeys(grader for grader, _ in turns)), each, seed), minutes


def summarise(plan: Plan, minutes: float = 1.0, limit: float = LIMIT) -> SimpleNamespace:
    """Summarise the work of a plan by the quantities of table 5 of the MIREX chapter.

    `limit`: most minutes that a grader can be asked for.
    Returns: numbers of ``queries``, (unique) ``pairs``, ``graders``, ``graders_per_pair``, ``judgements`` and
      ``repeats``; ``queries_per_grader`` and ``pairs_per_grader``, the least, mean and most, without repeats; ``hours``
      of all graders and ``most_hours`` of the busiest, with repeats; and whether that is ``feasible`` by the ``limit``.

    Examples
    --------
    >>> found = summarise(assign([Pair("q1", "a"), Pair("q1", "b"), Pair("q2", "c")], ["ada", "bob"]))
    >>> found.pairs, found.pairs_per_grader, round(found.hours, 3)
    (3, (1, 1.5, 2), 0.05)
    """
    turns = {name: plan.of(name) for name in plan.graders}
    pairs = {name: [row.pair for row in listed if not row.repeat] for name, listed in turns.items()}
    unique = {pair for listed in pairs.values() for pair in listed}
    most = max(map(len, turns.values())) * minutes
    queries = [len({pair.query for pair in listed}) for listed in pairs.values()]
    counts = queries, [*map(len, pairs.values())]
    extents = [(min(numbers), sum(numbers) / len(numbers), max(numbers)) for numbers in counts]
    made = {"judgements": sum(map(len, pairs.values())), "repeats": sum(row.repeat for _, row in plan.given)}
    sizes = {"queries": len({pair.query for pair in unique}), "pairs": len(unique), "graders": len(plan.graders)}
    each = {"graders_per_pair": plan.graders_per_pair, "queries_per_grader": extents[0], "pairs_per_grader": extents[1]}
    hours = {"hours": len(plan.given) * minutes / 60, "most_hours": most / 60, "feasible": most <= limit}
    return SimpleNamespace(**sizes, **made, **each, **hours, limit=limit)


def tabulate_work(work: SimpleNamespace) -> list[tuple[str, int | str]]:
    """Tabulate the quantities of a plan, see `summarise`, for people.

    Examples
    --------
    >>> tabulate_work(summarise(assign([Pair("q1", "a"), Pair("q1", "b"), Pair("q2", "c")], ["ada", "bob"])))[4:6]
    [('queries of a grader', '1'), ('pairs of a grader', '1.5 (1 to 2)')]
    """
    extents = [
        f"{mean:g}" if least == most else f"{mean:.1f} ({least} to {most})"
        for least, mean, most in (work.queries_per_grader, work.pairs_per_grader)
    ]
    return [
        ("queries", work.queries),
        ("unique pairs", work.pairs),
        ("graders", work.graders),
        ("graders of a pair", work.graders_per_pair),
        ("queries of a grader", extents[0]),
        ("pairs of a grader", extents[1]),
        ("judgements", work.judgements),
        ("hidden repeats", work.repeats),
        ("hours of all graders", f"{work.hours:.1f}"),
        ("hours of the busiest", f"{work.most_hours:.1f}"),
        (f"at most {work.limit:g} minutes (a forecast)", "yes" if work.feasible else "no"),
    ]
