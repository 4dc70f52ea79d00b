"""Pools: the first candidates of all systems for each query, without duplicates and names of systems.

The key, a file apart, has the piece, the systems and the ranks behind each candidate. Lists of systems are read here.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...annotations.source import Source
from ...errors import AnnotationError, GradingError, InvalidAnnotationError, counted
from ...readers.names import call_alike, call_tracks
from ...readers.options import Reading
from ...readers.patterns import Pattern
from ...readers.sources import FileSource
from ...readers.tables.table import holds_tracks, open_table, spread_table
from .assignment import Pair
from .query_draw import FORMULA, CsvTable, PieceTable, read_table, write_table

SYSTEM = "system"
_POOL = ("query", "candidate")
_KEY = ("query", "candidate", "piece", "system", "rank")
JUDGED_AS = "judged_as"  # column of keys and closed judgements for queries that are judged as others
_LEFT_OUT = "left out, "
_LETTERS = 8  # length of an id: 40 bits

Rankings = Mapping[str, Mapping[str, Sequence[str]]]  # pieces in the order of rank, by system and query


@dataclass(frozen=True, slots=True)
class Returned:
    """A piece returned by a system for a query, with its id and its rank among valid candidates, from 1.

    For a mutated query, `judged_as` is the query that graders hear instead; it is empty for others.
    """

    query: str
    candidate: str
    piece: str
    system: str
    rank: int
    judged_as: str = ""

    @property
    def pair(self) -> Pair:
        """The query that graders hear, and the id."""
        return Pair(self.judged_as or self.query, self.candidate)


@dataclass(frozen=True)
class Pool:
    """Candidates to judge, and the key: piece, system and rank of each."""

    queries: tuple[str, ...]
    returned: tuple[Returned, ...]  # returned pieces by query, system and rank
    seed: str  # secret for the ids; together with the collection it reveals the pieces behind the ids
    left_out: Mapping[str, int] = field(default_factory=dict)  # number of returned pieces that were skipped, by reason

    @property
    def pairs(self) -> list[Pair]:
        """Queries with the ids of their candidates, without duplicates, sorted by query and (random) id."""
        pairs = {row.pair: None for row in self.returned}
        number = {query: index for index, query in enumerate(dict.fromkeys(pair.query for pair in pairs))}
        return sorted(pairs, key=lambda pair: (number[pair.query], pair))

    @property
    def judged_for(self) -> dict[str, list[str]]:
        """The queries judged by each query that graders hear."""
        queries: dict[str, dict[str, None]] = {}
        for row in self.returned:
            queries.setdefault(row.pair.query, {})[row.query] = None
        return {query: list(judged) for query, judged in queries.items()}

    @property
    def systems(self) -> list[str]:
        """Names of the systems."""
        return sorted({row.system for row in self.returned})

    @property
    def pieces(self) -> dict[str, str]:
        """The piece of each id."""
        return {row.candidate: row.piece for row in self.returned}

    def overlap(self) -> dict[int, int]:
        """Return the number of pairs returned by one system, by two, and so on."""
        systems: dict[Pair, set[str]] = {}
        for row in self.returned:
            systems.setdefault(row.pair, set()).add(row.system)
        return dict(sorted(Counter(map(len, systems.values())).items()))

    def short(self, top: int) -> list[tuple[str, str, int]]:
        """List systems and queries with fewer candidates than `top`, and their number of candidates."""
        counts = Counter((row.system, row.query) for row in self.returned)
        lists = ((system, query) for system in self.systems for query in self.queries)
        return [(*key, counts[key]) for key in lists if counts[key] < top]


def name_candidate(seed: str, query: str, piece: str, salt: int = 0) -> str:
    """Return the id of a candidate, which reveals nothing without the seed.

    Examples
    --------
    >>> name_candidate("secret", "q1", "yesterday")
    'tmkchk4k'
    """
    data = "\0".join((query, piece, str(salt))).encode()
    key = hashlib.blake2b(seed.encode()).digest()
    return base64.b32encode(hashlib.blake2b(data, digest_size=5, key=key).digest()).decode().lower()[:_LETTERS]


def pool(
    rankings: Rankings,
    queries: Sequence[str],
    top: int,
    seed: str,
    *,
    pieces: PieceTable | None = None,
    same: Sequence[str] = (),
    exclude: Collection[str] = (),
    judged_as: Mapping[str, str] = MappingProxyType({}),
) -> Pool:
    """Pool the first candidates of each system for each query; excluded pieces are replaced by the next in rank.

    `rankings`: by system and query; a system may lack lists for some queries.
    `seed`: secret for the ids, which depend only on it, the query and the piece: they stay the same when systems are
      reordered or added.
    `pieces`: table with the columns of `same`.
    `same`: columns: candidates that share the query's value in one of them are excluded, like ``artist`` in MIREX.
      Missing values are never shared.
    `exclude`: pieces that are not candidates, such as the collection of covers in AMS 2006.
    `judged_as`: query that graders hear, by mutated query. Candidates of all its mutations are judged once, together
      with its own, so graders cannot tell them apart.
    Raises `GradingError`: without queries or candidates, and for a piece that is not in the table, with its system and
      query.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    section 4.2: "the first 5 most highly ranked songs [...] (after filtering out the query itself, returned results
    from the same artist and members of the CoverSong collection)", then grouped and anonymised.

    Examples
    --------
    >>> found = pool({"A": {"q": ["q", "x", "y"]}, "B": {"q": ["y", "z"]}}, ["q"], 2, "secret")
    >>> sorted((one.system, one.rank, one.piece) for one in found.returned)
    [('A', 1, 'x'), ('A', 2, 'y'), ('B', 1, 'y'), ('B', 2, 'z')]
    >>> len(found.pairs), found.overlap(), found.left_out
    (3, {1: 2, 2: 1}, {'the query itself': 1})
    """
    if top < 1:
        raise GradingError(f"invalid top {top}: expected at least one candidate per system")
    if not queries:
        raise GradingError("no queries")
    if same and pieces is None:
        raise GradingError(f"leaving out pieces with the same {same[0]} needs the table of pieces")
    traits = {} if pieces is None else {column: pieces.values(column) for column in same}
    owners: dict[str, tuple[str, str]] = {}
    ids: dict[tuple[str, str], str] = {}
    left_out: Counter[str] = Counter()
    returned = []
    for query in queries:
        heard = judged_as.get(query) or query
        for system, lists in sorted(rankings.items()):
            rank = 0
            for piece in lists.get(query, ()):
                if rank == top:
                    break
                reason = "the query itself" if piece == query else _reason(heard, piece, traits, exclude, system)
                if reason:
                    left_out[reason] += 1
                    continue
                rank += 1
                pair, salt = (heard, piece), 0
                while pair not in ids:
                    name = name_candidate(seed, heard, piece, salt)
                    salt += 1
                    if owners.setdefault(name, pair) == pair:
                        ids[pair] = name
                returned.append(Returned(query, ids[pair], piece, system, rank, heard if heard != query else ""))
    if not returned:
        raise GradingError("no system returned candidates for any of the queries")
    return Pool(tuple(queries), tuple(returned), seed, dict(left_out))


def _reason(
    query: str, piece: str, traits: Mapping[str, Mapping[str, str]], exclude: Collection[str], system: str
) -> str:
    if piece == query:
        return "the query itself"
    if piece in exclude:
        return "named as no candidate"
    for column, values in traits.items():
        for name in (query, piece):
            if name not in values:
                message = f"{name!r} is not in the table of pieces, so its {column} is unknown"
                raise GradingError(f"system {system!r}, query {query!r}: {message}")
        if values[query] and values[query] == values[piece]:
            return f"same {column}"
    return ""


def read_rankings(
    paths: Iterable[str], queries: Sequence[str], pieces: Collection[str] = (), *, trusted: bool = True, **options: Any
) -> dict[str, dict[str, list[str]]]:
    """Read the lists of systems for some queries, in any format of the task ``retrieval``.

    `paths`: files or patterns with ``{system}``, and with ``{track}`` if each query has a separate file. A file without
      ``{system}`` belongs to the system that it is named after.
    `pieces`: names of all pieces. If none occurs in a system's lists, folders and suffixes are ignored in the
      comparison.
    `trusted` False: refuse names that a spreadsheet would interpret as formulas, unless `pieces` or `queries` has
      them.
    `**options`: reading options, such as ``format="matrix"``.
    Returns: pieces in the order of rank, by system and query.
    Raises `AnnotationError`: with the file and line of invalid contents, and for a pattern without matches.
    """
    rankings: dict[str, dict[str, list[str]]] = {}
    formulas: dict[str, list[tuple[str, str, int | None]]] = {}
    for path in paths:
        for system, query, source in _sources(Path(path).as_posix(), queries, Reading.of("retrieval", **options)):
            lists = rankings.setdefault(system, {})
            if query in lists:
                raise InvalidAnnotationError(f"duplicate list of system {system!r} for {query!r}", path=source.label)
            annotation, label = source.read()[0], source.label
            lists[query] = list(annotation.labels or ())
            first: dict[str, int] = {}
            for index, name in enumerate(lists[query]):
                if first.setdefault(name, index) != index:
                    message = f"{name!r} occurs twice, first on line {annotation.line(first[name])}"
                    raise InvalidAnnotationError(message, path=label, line=annotation.line(index))
            names = [(name, label, annotation.line(at)) for name, at in first.items() if name.startswith(FORMULA)]
            formulas.setdefault(system, []).extend([*names, (system, label, None)] if not trusted else ())
    spelled = {*pieces, *queries}
    for system, lists in rankings.items():
        called = call_alike((piece for ranking in lists.values() for piece in ranking), pieces or queries)
        rankings[system] = {query: [called[piece] for piece in ranking] for query, ranking in lists.items()}
        for name, label, line in formulas[system]:
            if name.startswith(FORMULA) and called.get(name) not in spelled:
                message = f"{name!r}: spreadsheets read names that begin with {name[0]!r} as formulas; rename it"
                raise InvalidAnnotationError(message, path=label, line=line)
    return rankings


def _sources(path: str, queries: Sequence[str], reading: Reading) -> list[tuple[str, str, Source]]:
    pattern, root = Pattern(path.lstrip("/")), "/" if path.startswith("/") else "."
    matches = pattern.find(root)
    if not matches:
        raise AnnotationError(f"the pattern {path!r} matches nothing; {pattern.hint(root)}")
    values = [dict(zip(pattern.names, match.values, strict=True)) for match in matches]
    # A file without a system in its name belongs to the one that it is named after.
    systems = [value.get(SYSTEM) or Path(match.path).stem for match, value in zip(matches, values, strict=True)]
    sources: list[tuple[str, str, Source]] = []
    if holds_tracks(path, reading):
        for match, system in zip(matches, systems, strict=True):
            keys = open_table(match.path, reading, match.name).of_key
            called = call_tracks((key.track for key in keys), queries, match.name)
            wanted = [key.track for key in keys if called[key.track] in queries]
            sources += [
                (source.key.system or system, called[source.key.track], source)
                for source in spread_table(match, reading, wanted)
                if source.key.track in wanted
            ]
        return sources
    if "track" not in pattern.names:
        raise AnnotationError(f"missing {{track}} in place of the query: {path!r}")
    called = call_tracks((value["track"] for value in values), queries)
    return [
        (system, called[value["track"]], FileSource(match.path, reading, None, match.name, (match.size, match.version)))
        for match, system, value in zip(matches, systems, values, strict=True)
        if called[value["track"]] in queries
    ]


def key_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of the key of a pool: ``pool.key.csv`` for ``pool.csv``.

    Examples
    --------
    >>> key_path("grading/pool.csv").as_posix()
    'grading/pool.key.csv'
    """
    return Path(path).with_suffix(".key.csv")


def write_pool(pooled: Pool, path: str | os.PathLike[str], key: str | os.PathLike[str] | None = None) -> Path:
    """Write the pairs to judge, and the key into another file readable only by its owner; returns the path of the key.

    The pool's file contains neither names of systems and candidates nor the seed.
    """
    key_file = Path(key) if key is not None else key_path(path)
    write_table(path, _POOL, pooled.pairs)
    columns = (*_KEY, JUDGED_AS) if any(row.judged_as for row in pooled.returned) else _KEY
    rows = [tuple(getattr(row, column) for column in columns) for row in pooled.returned]
    notes = {"seed": pooled.seed, **{f"{_LEFT_OUT}{why}": count for why, count in pooled.left_out.items()}}
    write_table(key_file, columns, rows, notes, private=True)
    return key_file


def read_pairs(path: str | os.PathLike[str]) -> list[Pair]:
    """Read the pairs of a pool without its key.

    Raises `InvalidAnnotationError`: for a duplicate pair, with its line.
    """
    table = read_table(path)
    pairs = [Pair(*row) for row in zip(*map(table.filled, _POOL), strict=True)]
    _demand_distinct(table, pairs)
    return pairs


def _demand_distinct(table: CsvTable, rows: Sequence[tuple[Any, ...]]) -> None:
    first: dict[tuple[Any, ...], int] = {}
    for line, row in zip(table.lines, rows, strict=True):
        if row in first:
            message = f"occurs twice, first on line {first[row]}: {', '.join(map(str, row))}"
            raise InvalidAnnotationError(message, path=table.name, line=line)
        first[row] = line


def read_key(path: str | os.PathLike[str]) -> Pool:
    """Read a pool from its key.

    Raises `InvalidAnnotationError`: for invalid ranks, duplicate rows, and ids with several pieces, with the line.
    """
    table = read_table(path)
    returned = []
    pieces: dict[Pair, str] = {}
    for line, other, *fields in zip(table.lines, table.optional(JUDGED_AS), *map(table.filled, _KEY), strict=True):
        query, candidate, piece, system, rank = fields
        if not rank.isdecimal() or int(rank) < 1:
            raise InvalidAnnotationError(f"invalid rank: {rank!r}", path=table.name, line=line)
        row = Returned(query, candidate, piece, system, int(rank), other)
        if pieces.setdefault(row.pair, piece) != piece:
            message = f"{candidate!r} is {pieces[row.pair]!r} elsewhere, and here {piece!r}"
            raise InvalidAnnotationError(message, path=table.name, line=line)
        returned.append(row)
    _demand_distinct(table, [(row.query, row.candidate, row.system) for row in returned])
    queries = tuple(dict.fromkeys(row.query for row in returned))
    left_out = {
        name.removeprefix(_LEFT_OUT): int(value)
        for name, value in table.notes.items()
        if name.startswith(_LEFT_OUT) and value.isdecimal()
    }
    return Pool(queries, tuple(returned), table.notes.get("seed", ""), left_out)


def summarise_pool(pooled: Pool, top: int) -> list[tuple[str, int]]:
    """Summarise a pool as in table 5 of the MIREX chapter, with the excluded pieces."""
    return [
        ("systems", len(pooled.systems)),
        ("queries", len(pooled.queries)),
        ("candidates returned", len(pooled.returned)),
        ("unique pairs", len(pooled.pairs)),
        *((f"returned by {counted(times, 'system')}", pairs) for times, pairs in pooled.overlap().items()),
        *((f"left out: {why}", number) for why, number in sorted(pooled.left_out.items())),
        (f"lists with fewer than {top}", len(pooled.short(top))),
    ]
