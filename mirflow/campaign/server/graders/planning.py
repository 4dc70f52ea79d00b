"""Plans of rounds: a folder for each round with its tables of draw, pool and assign, until the round is opened.

Lists of systems are unpacked and pooled in confined processes. The settings of an opened round are kept in its folder.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, TypeVar

from ....errors import GradingError, MirflowError, PipelineError, counted
from ....pipeline.document import Document, validate
from ....pipeline.model import identifier
from ....store.generations import remove, write_synced
from ...file import GradingRound, Planning
from ...grading import query_draw
from ...grading.assignment import assign, read_plan, summarise, tabulate_work, write_plan
from ...grading.pool import key_path, read_key, read_pairs, summarise_pool
from ..recordings import find_recording
from ..service import Service
from ..submissions.archives import name_trouble
from ..submissions.confinement import Confinement, Confines, JobError

FOLDER = "grading"  # folder of plans within that of the campaign
# Files of a plan in the order of steps; each depends on the previous ones.
PIECES, QUERIES, LISTS, POOL, PLAN, ROUND = (
    "pieces.csv", "queries.csv", "lists", "pool.csv", "assignments.csv", "round.json",
)  # fmt: skip
CONSENT = "consent.txt"  # the text that graders agree to, if it differs from the default
DOWNLOADS = (QUERIES, POOL, str(key_path(POOL)), PLAN)  # files of a plan that organisers may download
TABLES = (".csv", ".tsv", ".txt")  # suffixes of tables of pieces
LIST_SUFFIXES = (*TABLES, ".lists", ".run", ".matrix")  # suffixes of lists that may be uploaded: text alone
LONGEST_NAME = 64  # longest name of a planned round, in characters
MOST_GRADERS, MOST_JUDGEMENTS = 1000, 200_000
SHORTEST_SECRET = 12  # shortest secret chosen by a user; guessing it would reveal the pieces behind the ids
_RESERVED = frozenset({"new"})  # names used in addresses
_SHOWN = 5
_EACH = re.compile(r".*\d by (.+)")
_BUSY = Lock()
_T = TypeVar("_T")


class PlanError(GradingError):
    """A step of a plan is impossible with the given input."""


@dataclass(frozen=True)
class RoundPlan:
    """A planned round."""

    name: str
    folder: Path  # folder of its files
    planning: Planning  # settings from the campaign file
    root: Path  # folder that the paths of the campaign are relative to

    @property
    def is_open(self) -> bool:
        """True if the round has been opened, so that its plan is final."""
        return (self.folder / ROUND).exists()

    def has(self, name: str) -> bool:
        """True if a step has been completed."""
        return (self.folder / name).exists()

    def message_of(self, error: MirflowError) -> str:
        """Remove folders of this host from an error message."""
        text = "; ".join(map(str, error.problems)) if isinstance(error, PipelineError) else str(error)
        for folder in (self.folder, self.folder.resolve(), self.root, self.root.resolve()):
            # Files found by a pattern have absolute paths.
            text = text.replace(f"{folder.as_posix()}/", "").replace(f"{folder.as_posix()[1:]}/", "")
        return text

    def forget(self, *names: str) -> None:
        """Remove the tables of steps that depend on a changed one."""
        for name in names:
            remove(self.folder / name)
            remove(key_path(self.folder / name))


def find_plan(service: Service, name: str) -> RoundPlan | None:
    """Find a plan by name; None if there is none."""
    campaign = service.campaign
    if campaign is None or campaign.planning is None or not (name.isidentifier() and name.isascii()):
        return None
    folder = service.folder_of(FOLDER) / name
    if len(name) > LONGEST_NAME or not folder.is_dir():
        return None
    return RoundPlan(name, folder, campaign.planning, service.root)


def find_plans(service: Service) -> list[RoundPlan]:
    """List all plans of a campaign by name."""
    folder = service.folder_of(FOLDER)
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [plan for plan in (find_plan(service, name) for name in names) if plan is not None]


def begin_plan(service: Service, name: str) -> RoundPlan:
    """Start the plan of a round."""
    try:
        identifier(name)
    except ValueError as error:
        raise PlanError(f"the name {error}") from None
    campaign, _ = service.demand_campaign()
    names = [*(judged.name for judged in campaign.grading), *(plan.name for plan in find_plans(service))]
    taken = {other.casefold() for other in names} | _RESERVED
    refused = PlanError(f"the name {name!r} is taken, or too long: choose another one")
    if name.casefold() in taken or len(name) > LONGEST_NAME:
        raise refused
    try:
        (service.folder_of(FOLDER) / name).mkdir(mode=0o700, parents=True)
    except FileExistsError:  # started by someone else at the same time
        raise refused from None
    plan = find_plan(service, name)
    if plan is None:  # discarded at the same time
        raise refused
    return plan


def discard_plan(plan: RoundPlan) -> None:
    """Remove a plan that was not opened."""
    with _changing(plan):
        shutil.rmtree(plan.folder)


@contextmanager
def _changing(plan: RoundPlan) -> Iterator[None]:
    """Exclude other steps."""
    if not _BUSY.acquire(timeout=20):
        raise PlanError("another step is in progress: try again in a moment")
    try:
        if plan.is_open:
            raise PlanError("the round is open, so its plan cannot be changed: plan another round")
        if not plan.folder.is_dir():
            raise PlanError("the plan was discarded meanwhile: start another one")
        yield
    finally:
        _BUSY.release()


# A temporary folder in that of a plan, for files that are moved when complete.
_beside = partial(tempfile.TemporaryDirectory, prefix=".new-", ignore_cleanup_errors=True)


def take_pieces(plan: RoundPlan, path: Path, name: str, column: str = "") -> None:
    """Store a table of pieces in the plan, and remove queries drawn before.

    `name` is that of the file as sent, and `column` has the names of the pieces (empty: piece, track, ...).
    """
    base = re.split(r"[/\\]", name)[-1]
    trouble = name_trouble(base, 0) or (
        "" if base.lower().endswith(TABLES) else f"has an unsupported suffix: choose from {', '.join(TABLES)}"
    )
    if trouble:
        raise PlanError(f"the table of pieces {base!r} {trouble}")
    with _changing(plan), _beside(dir=plan.folder) as new:
        place = Path(new)
        shutil.copyfile(path, place / base)
        try:
            pieces = query_draw.read_pieces(place / base, column or None)
        except MirflowError as error:
            raise PlanError(str(error).replace(f"{place.as_posix()}/", "")) from None
        plan.forget(QUERIES, POOL, PLAN)
        notes = {"file": base, "names": pieces.key}
        query_draw.write_table(plan.folder / PIECES, pieces.table.columns, pieces.table.rows, notes)


def read_collection(plan: RoundPlan) -> query_draw.PieceTable:
    """The table of pieces of a plan."""
    path = plan.folder / PIECES
    if not path.exists():
        raise PlanError("choose a table of pieces first")
    return query_draw.read_pieces(path, query_draw.read_table(path).notes.get("names"))


def draw_queries(
    plan: RoundPlan, number: int | Mapping[str, int], by: str = "", where: str = "", seed: int | None = None
) -> None:
    """Draw the queries of a plan, and remove candidates pooled before.

    `number` is that of all queries, or of those for each value of the column `by`; a mapping has it for each value.
    """
    with _changing(plan):
        collection = read_collection(plan)
        seed = secrets.randbits(31) if seed is None else seed
        each = number if by or isinstance(number, Mapping) else None
        total = number if each is None and not isinstance(number, Mapping) else None
        queries = query_draw.draw(collection, total, each=each, by=by or None, seed=seed, where=where or None)
        drawn: dict[str, Any] = {"drawn_from": collection.table.notes.get("file", PIECES), "seed": seed}
        query_draw.write_queries(collection, queries, plan.folder / QUERIES, **drawn, each=each, by=by, where=where)
        plan.forget(POOL, PLAN)


def take_lists(service: Service, plan: RoundPlan, sent: Sequence[tuple[str, Path]]) -> None:
    """Unpack lists of systems, replacing earlier ones.

    `sent` has names and paths: of a single archive, or of files.
    """
    with _changing(plan), _beside(dir=plan.folder) as new:
        place = Path(new)
        files = [(name, str(path)) for name, path in sent]
        limits = service.demand_campaign()[0].limits.model_dump()
        task = {"sent": files, "out": str(place), "limits": limits, "suffixes": LIST_SUFFIXES}
        folders = sorted({str(path.parent) for _, path in sent})
        refused = [f"{name}: {why}" for name, why in _run(service, "lists", task, place, folders)["refused"]]
        if refused:
            more = f"; and {counted(len(refused) - _SHOWN, 'other file')}" if len(refused) > _SHOWN else ""
            raise PlanError("; ".join(refused[:_SHOWN]) + more)
        plan.forget(LISTS)
        place.rename(plan.folder / LISTS)
        (plan.folder / LISTS).chmod(0o700)


def _run(service: Service, job: str, task: Mapping[str, Any], place: Path, readable: Sequence[str]) -> dict[str, Any]:
    limits = service.demand_campaign()[0].limits
    size, folders = 10 * limits.size, tuple(readable)
    confines = Confines(limits.seconds, memory=limits.memory, file_size=size, writable=(str(place),), readable=folders)
    try:
        with Confinement(modules=[".archives"]) as confinement:
            return confinement.run(job, task, confines)
    except JobError as error:
        raise PlanError(str(error).replace(f"{place.as_posix()}/", "")) from None


def list_patterns(files: Sequence[str], queries: Sequence[str]) -> list[str]:
    """Return the patterns of uploaded lists: SYSTEM.csv for all queries, or SYSTEM/QUERY.txt.

    `files`: paths relative to the folder of the lists.
    """
    paths = [PurePosixPath(file) for file in files]
    below = [path for path in paths if len(path.parts) > 1]
    # A common folder of all lists is not a system: its files are not named after queries.
    around = len({path.parts[0] for path in paths}) == 1 and not {path.stem for path in below} & set(queries)
    patterns = set()
    for path in paths:
        if len(path.parts) == 1:
            patterns.add(f"{{system}}{path.suffix}")
        elif around:
            patterns.add(f"{path.parts[0]}/{{system}}{path.suffix}")
        else:
            patterns.add(f"{{system}}/{{track}}{path.suffix}")
    return sorted(patterns)


def pool_candidates(
    service: Service,
    plan: RoundPlan,
    source: int | None,
    top: int,
    same: Sequence[str] = (),
    secret: str = "",
    judged_as: str = "",
) -> None:
    """Pool the candidates of a plan, and remove assignments made before.

    `source` is the index of lists in the campaign file (None: uploaded lists), and `same` has columns of the table of
    pieces: candidates that share the query's value are left out. `judged_as` is a column of the queries that names the
    query to play instead. Without a secret for the ids, a new one is made.
    """
    if secret and len(secret) < SHORTEST_SECRET:
        raise PlanError(f"the secret is too short: graders could guess it; use at least {SHORTEST_SECRET} characters")
    with _changing(plan), _beside(dir=plan.folder) as new:
        place = Path(new)
        if not plan.has(QUERIES):
            raise PlanError("draw queries first")
        if source is None:
            queries = query_draw.read_table(plan.folder / QUERIES).column("query")
            paths = [str(plan.folder / LISTS / pattern) for pattern in list_patterns(sent_lists(plan), queries)]
        else:
            paths = [str(plan.root / plan.planning.lists[source])]
        if not paths:
            raise PlanError("upload lists of systems first")
        task: dict[str, Any] = {"lists": paths, "trusted": source is not None, "queries": str(plan.folder / QUERIES)}
        task |= {"pieces": None, "column": None, "out": str(place / POOL)}
        if plan.has(PIECES):
            task |= {"pieces": str(plan.folder / PIECES), "column": read_collection(plan).key}
        task |= {"top": top, "same": list(same), "judged_as": judged_as, "secret": secret or secrets.token_hex(16)}
        _run(service, "pool", task, place, [str(plan.folder), *([] if source is None else [str(plan.root)])])
        plan.forget(PLAN, POOL)
        for name in (key_path(POOL), Path(POOL)):
            (place / name).replace(plan.folder / name)


def sent_lists(plan: RoundPlan) -> list[str]:
    """List the paths of uploaded lists."""
    folder = plan.folder / LISTS
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def assign_graders(
    plan: RoundPlan, graders: int, per_pair: int, repeats: float, minutes: float, seed: int | None = None
) -> None:
    """Assign graders to the pairs of a plan; see `mirflow.campaign.grading.assignment.assign`."""
    if graders > MOST_GRADERS:
        raise PlanError(f"too many graders: {graders}, at most {MOST_GRADERS} are allowed")
    with _changing(plan):
        if not plan.has(POOL):
            raise PlanError("pool candidates first")
        pairs = read_pairs(plan.folder / POOL)
        if len(pairs) * per_pair > MOST_JUDGEMENTS:
            raise PlanError(f"too many judgements: {len(pairs) * per_pair}, at most {MOST_JUDGEMENTS} are allowed")
        width = len(str(graders))
        names = [f"grader{number:0{width}}" for number in range(1, graders + 1)]
        seed = secrets.randbits(31) if seed is None else seed
        assigned = assign(pairs, names, per_pair, repeats=repeats, seed=seed)
        write_plan(assigned, plan.folder / PLAN, minutes)


def write_round(plan: RoundPlan, settings: Mapping[str, Any], consent: str = "") -> GradingRound:
    """Open a round with these settings, which are those of a campaign file without paths.

    `consent`: the text that graders agree to; empty: the default.
    """
    with _changing(plan):
        if not plan.has(QUERIES) or not plan.has(POOL) or not plan.has(str(key_path(POOL))):
            raise PlanError("cannot open the round: queries, candidates or the key of the candidates are missing")
        text = consent.strip()
        if text:
            write_synced(plan.folder / CONSENT, f"{text}\n".encode())
        else:
            plan.forget(CONSENT)
        opened = _round(plan, settings)
        write_synced(plan.folder / ROUND, json.dumps(settings, indent=2).encode())
    return opened


def _round(plan: RoundPlan, settings: Mapping[str, Any]) -> GradingRound:
    paths = {
        name: Path(os.path.relpath(plan.folder / file, plan.root)).as_posix()
        for name, file in (("queries", QUERIES), ("candidates", POOL), ("consent", CONSENT))
        if name != "consent" or plan.has(CONSENT)
    }
    values = {**settings, **paths, "name": plan.name, "audio": plan.planning.audio}
    opened, problems = validate(Document(data=values), GradingRound, "the keys of a round")
    if opened is None or problems:
        raise PipelineError(problems)
    return opened


def read_round(plan: RoundPlan) -> GradingRound:
    """Read the settings of an opened round."""
    path = plan.folder / ROUND
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GradingError(f"cannot read {path}: {error}") from None
    if not isinstance(settings, dict):
        raise GradingError(f"{path}: no settings of a round found")
    return _round(plan, settings)


def planned_rounds(service: Service) -> list[GradingRound]:
    """Return the open rounds of a campaign that were planned on the pages."""
    if service.campaign is None or service.campaign.planning is None or service.folder is None:
        return []
    listed = {judged.name for judged in service.campaign.grading}
    plans = [plan for plan in find_plans(service) if plan.is_open]
    for plan in plans:
        if plan.name in listed:
            message = f"{plan.name!r} is also the name of a round planned on the pages; rename"
            raise GradingError(f"{service.path}: {message}")
    return [read_round(plan) for plan in plans]


def _summarise_queries(path: Path) -> list[tuple[str, int | str]]:
    table = query_draw.read_table(path)
    of_each = _EACH.fullmatch(table.notes.get("of each", ""))
    rows: list[tuple[str, int | str]] = [("queries", len(table.rows))]
    if of_each is not None and of_each[1] in table.columns:
        counts = Counter(table.column(of_each[1]))
        rows += [(f"queries of {of_each[1]} {value}", count) for value, count in sorted(counts.items())]
    return rows + [(name, table.notes[name]) for name in ("where", "seed", "drawn from") if name in table.notes]


def look_over_plan(plan: RoundPlan) -> dict[str, Any]:
    """Summarise the progress of a plan from its files.

    Returns: number of ``pieces``, the other ``columns`` of their table and its ``file``; counts of ``queries`` (None:
      not drawn yet), their names (``drawn``) and the other columns of their table (``traits``); ``systems`` with
      uploaded lists; counts of the ``pool``, and systems and queries with ``short`` lists; pieces without a recording
      (``missing``); the ``work`` as in table 5 of the MIREX chapter, the ``shares`` of the graders, and graders
      ``per_pair``; files that cannot be read, with the reason (``troubles``).
    """
    troubles: dict[str, str] = {}

    def read(name: str, function: Callable[[Path], _T], otherwise: _T) -> _T:
        try:
            return function(plan.folder / name) if plan.has(name) else otherwise
        except MirflowError as error:
            troubles[name] = plan.message_of(error)
            return otherwise

    collection = read(PIECES, lambda path: read_collection(plan), None)
    none: list[str] = []
    drawn = read(QUERIES, query_draw.read_queries, none)
    key = read(str(key_path(POOL)), read_key, None)
    assigned = read(PLAN, read_plan, None)
    work = None if assigned is None else tabulate_work(summarise(*assigned))
    top = max((row.rank for row in key.returned), default=0) if key is not None else 0
    shares, missing = [], list[str]()
    if assigned is not None:
        assignments, minutes = assigned
        for grader in assignments.graders:
            rows = assignments.of(grader)
            queries, repeats = tuple(dict.fromkeys(row.query for row in rows)), sum(row.repeat for row in rows)
            share = {"grader": grader, "queries": queries, "pairs": len(rows) - repeats, "repeats": repeats}
            shares.append({**share, "hours": len(rows) * minutes / 60})
    pieces = set(drawn) if key is None else {*key.judged_for, *key.pieces.values()}
    try:
        audio = plan.planning.audio
        missing = sorted(piece for piece in pieces if not find_recording(plan.root, audio, piece).is_file())
    except MirflowError as error:
        troubles["audio"] = plan.message_of(error)
    summary: dict[str, Any] = {"pieces": 0, "columns": [], "file": "", "pool": None, "short": [], "missing": missing}
    if collection is not None:
        columns = [name for name in collection.table.columns if name != collection.key]
        file = collection.table.notes.get("file", PIECES)
        summary |= {"pieces": len(collection.names), "columns": columns, "file": file}
    if key is not None:
        summary |= {"pool": summarise_pool(key, top), "short": key.short(top)}
    summary |= {"queries": read(QUERIES, _summarise_queries, None), "drawn": drawn}
    summary["traits"] = read(QUERIES, lambda path: [*query_draw.read_table(path).columns[1:]], none)
    summary["systems"] = sorted({path.partition("/")[0].partition(".")[0] for path in sent_lists(plan)})
    per_pair = 1 if assigned is None else assigned[0].graders_per_pair
    return {**summary, "work": work, "shares": shares, "per_pair": per_pair, "troubles": troubles}
