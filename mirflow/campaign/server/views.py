"""Views of the stores by viewer: public systems, and after login those of the viewer and of their lab.

On an open split, anonymous viewers see the public copy, and logged-in viewers a part of the full store. Of a hidden
split only the released scores are shown, which come from the database: its store is never opened here.
The history of a campaign is read here, too, as its viewer may see it.

Responses are cached by `cache.py`. `Views.state` covers all that a page depends on besides address and viewer:
generations of stores, the database, dates of the campaign file that have passed, and the progress of grading.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import UNSET
from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from ...analysis.query_options import DEFAULT_LEVEL
from ...errors import QueryError, StoreError, UnknownNameError, counted
from ...metrics.base import get_task, has_task
from ...metrics.measures import Metric
from ...pipeline.document import dump_document, values_without_folders
from ...pipeline.model import Evaluation
from ...reports.captions import metric_title
from ...reports.leaderboard import VERSION, AggregatedScore, Leaderboard, RankedEvaluation, RankedMetric, RankedSystem
from ...store.format import of_systems
from ..file import Campaign, Split, pipeline_of
from ..site import page_contents
from ..site.changes import Change, at_most, authority_of
from ..site.front_page import NewsItem
from ..site.page_contents import StoreContents
from ..site.pages import show_number
from .accounts import Viewer
from .cache import Snapshot, Stores
from .graders.rounds import Rounds
from .service import Service
from .submissions.entries import board, may_see, visible_systems
from .submissions.releases import BEST_OF_TEAM, NO_BETTER, best_of_teams, decimals_of, is_final, show_score
from .submissions.submission_tables import CLOSED, Released, RulesVersion, Submission

if TYPE_CHECKING:
    import xarray as xr

T = TypeVar("T")
Marks = Mapping[str, Mapping[str, str]]

MOST_VIEWS = 16  # most views that are cached for logged-in viewers
MOST_READERS = 1_000  # most viewers whose permissions are cached until the database changes
LOOKED_AT = 200  # most submissions to search for news; a viewer may see few of them
SEEN_BY = "seen_by"  # coordinate of systems that are not public: who can see them


@dataclass(frozen=True, eq=False)
class View(Snapshot):
    """Some systems of a store at one generation, with additional coordinates."""

    whole: Snapshot | None = None
    marks: Marks = field(default_factory=dict)  # additional coordinates by name of the system
    pipeline: str = ""  # text of the pipeline for these systems only

    @cached_property
    def boards(self) -> dict[str, xr.Dataset]:
        """The evaluations that contain any of the systems."""
        assert self.whole is not None
        parts: dict[str, xr.Dataset] = {}
        for evaluation, ds in self.whole.boards.items():
            names = [name for name in ds["system"].values.tolist() if name in self.marks]
            keys = dict.fromkeys(key for name in names for key in self.marks[name])
            coords = {key: ("system", [self.marks[name].get(key, "") for name in names]) for key in keys}
            if names:
                parts[evaluation] = ds.sel(system=names).assign_coords(coords)
                parts[evaluation].attrs = {**of_systems(ds.attrs, names), "pipeline": self.pipeline}
        return parts

    @cached_property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """Metadata of the store's root with the pipeline of these systems; arrays are not covered."""
        assert self.whole is not None
        root = self.whole.nodes[""]
        shown = {name: root.get("attributes", {}).get(name) for name in ("created", "versions")}
        attributes = {name: value for name, value in shown.items() if value is not None}
        return {"": {"attributes": {**attributes, "pipeline": self.pipeline}}}


class Views:
    """Views of the stores of a server, by viewer."""

    def __init__(self, service: Service, rounds: Rounds | None = None) -> None:
        self._service = service
        self.rounds = rounds
        campaign = service.campaign
        self.splits = dict(campaign.splits) if campaign is not None and service.database is not None else {}
        self.hidden = [name for name, split in self.splits.items() if split.hidden]
        opened = [name for name in self.splits if name not in self.hidden]
        # Stores whose public pages depend on more than public generations; None: so do pages about all stores.
        self.changing = {*self.hidden, *([None] if self.splits or rounds is not None else [])}
        full = {name: service.folder_of("stores") / f"{name}.zarr" for name in opened}
        self._full = Stores(full, quoteless=[name for name in full if not service.disclosure(name).references])
        # The times at which the pages of a campaign change by themselves.
        times = [] if campaign is None or not self.splits else [campaign.opens, campaign.closes]
        for split in self.splits.values():
            times += [split.opens, split.closes, split.embargo]
            times += [] if split.final is None else [split.final.frozen, split.final.published]
        self._moments = [time for time in times if time is not None]
        self._views: OrderedDict[str, View] = OrderedDict()
        self._seen: OrderedDict[tuple[str, ...], str] = OrderedDict()
        self._lock = Lock()

    def tokens(self, viewer: Viewer, names: Sequence[str]) -> dict[str, str]:
        """Return tokens for the viewer's current views of some stores and their generations; without names, of all
        stores of which the viewer sees a part, except for hidden splits.
        """
        tokens = {}
        for name in names or dict.fromkeys([*self._service.shelf, *self._full]):
            try:
                if name in self._full.paths:
                    tokens[name] = self._view(self._full.current(name), viewer).token
                else:
                    tokens[name] = self._service.shelf.current(name).token
            except StoreError:
                if names:
                    raise
        return tokens

    def ask(self, name: str, viewer: Viewer | None, question: Callable[[Snapshot], T]) -> T:
        """Apply a function to the viewer's current view of a store."""
        if viewer is None or name not in self._full.paths:
            return self._service.shelf.ask(name, question)
        return self._full.ask(name, lambda whole: question(self._view(whole, viewer)))

    def contents(self, name: str, viewer: Viewer | None) -> StoreContents:
        """Return the contents of the pages of a store."""
        if name in self.hidden:
            released = self._released(name, viewer)
            if released is None:
                raise StoreError(f"no scores of {name} are released yet")
            return released
        shown = self._service.disclosure(name)
        terms: dict[str, Any] = {"references": shown.references, "only_aggregates": not shown.by_track}
        try:
            make = page_contents.store
            return self.ask(name, viewer, lambda part: part.once("contents", lambda: make(name, part.boards, **terms)))
        except QueryError as error:
            raise StoreError(str(error)) from error

    def all_contents(self, viewer: Viewer | None) -> list[StoreContents]:
        """Return the contents of all stores of which the viewer sees a part."""
        visible = []
        for name in dict.fromkeys([*self.splits, *self._service.shelf]):
            with suppress(StoreError, UnknownNameError):
                visible.append(self.contents(name, viewer))
        return visible

    def state(self, store: str | None, viewer: Viewer | None) -> str:
        """Return a token that changes whenever the viewer's view of a store (None: of any store) changes.

        It is read before the page is made, so a page may be newer than its token, but never older.
        """
        service = self._service
        database = "" if service.database is None else service.database.page_state()
        now = service.clock()
        passed = sum(moment <= now for moment in self._moments)
        names = [store] if store is not None else [*self.splits, *service.shelf]
        generations: list[tuple[str, list[str]]] = []
        for name in dict.fromkeys(names):
            shelves = [service.shelf] if viewer is None or name not in self._full.paths else [self._full, service.shelf]
            tokens = []
            # Pages of a hidden split only use the database.
            for index, stores in enumerate(() if name in self.hidden else shelves):
                try:
                    tokens.append(stores.current(name).token)
                except StoreError:
                    # A store that was never public has no public copy; the copy is used for news only.
                    if store is not None and index == 0:
                        raise
                    tokens.append("")
            generations.append((name, tokens))
        grading = self.rounds.seen_by(viewer) if store is None and self.rounds is not None else []
        return msgspec.json.encode((database, passed, generations, grading, service.has_archive())).decode()

    def own(self, viewer: Viewer | None) -> dict[str, frozenset[str]]:
        """Return the viewer's own systems, by split."""
        if viewer is None or not self.splits:
            return {}
        with self._service.demand_campaign()[1].read() as session:
            sent = session.scalars(select(Submission.name).where(Submission.user_id == viewer.user))
            return dict.fromkeys(self.splits, frozenset(sent))

    def _view(self, whole: Snapshot, viewer: Viewer) -> View:
        """Return the part of a full store that a viewer sees, computed once for each state of the database."""
        # The state is read first: a view computed after it may be newer, which is harmless.
        campaign, database = self._service.demand_campaign()
        state = database.page_state(), whole.name, whole.token, seen_as(viewer)
        with self._lock:
            key = self._seen.get(state, "")
            if key in self._views:
                self._views.move_to_end(key)
                return self._views[key]
        with database.read() as session:
            seen = visible_systems(session, whole.name, viewer)
            marks = {name: marks_of(submission, viewer) for name, submission in seen.items()}
        if not marks:
            raise StoreError(f"no systems of {whole.name} are visible")
        key = f"{whole.token}-{hashlib.sha256(json.dumps(marks).encode()).hexdigest()[:16]}"
        with self._lock:
            if key not in self._views:
                text, path, readings = "", self._service.path, self._service.folder_of("readings")
                if path is not None:
                    pipeline = pipeline_of(path, campaign, whole.name, readings, [*marks])
                    text = dump_document(values_without_folders(pipeline))
                place = whole.name, whole.folder, whole.number, key
                self._views[key] = View(*place, whole=whole, marks=marks, pipeline=text)
            self._views.move_to_end(key)
            while len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)
            self._seen[state] = key
            while len(self._seen) > MOST_READERS:
                self._seen.popitem(last=False)
            return self._views[key]

    def _released(self, name: str, viewer: Viewer | None) -> StoreContents | None:
        campaign, database = self._service.demand_campaign()
        now = self._service.clock()
        evaluations, split = {row.name: row for row in campaign.evaluations}, campaign.splits[name]
        with database.read() as session:
            released = board(session, name, viewer).items()
            ranked = [_ranked(key, rows, evaluations.get(key), viewer, split, now) for key, rows in released if rows]
        if not ranked:
            return None
        whole = Leaderboard("mirflow-leaderboard", VERSION, version("mirflow"), name, ranked)
        final = max((row.final for row in ranked if isinstance(row.final, str)), default="")
        shown: dict[str, Any] = {"decimals": decimals_of(split, now), "final": final}
        return StoreContents(name, whole, {}, references=False, has_report=False, **shown)

    def final_rankings(self) -> list[Change]:
        """List the published final rankings as changes for the feed."""
        changes = []
        for name in self.hidden:
            contents = self._released(name, None)
            for ranked in contents.board.evaluations if contents is not None else ():
                if not ranked.final:
                    continue
                key, time, authority = ranked.name, ranked.final, authority_of(self._service.base_url)
                id = f"tag:{authority},{time[:10]}:{quote(name, safe='')}/{quote(key, safe='')}/final"
                placed = [(row.rank, row.name, row.scores[ranked.headline].value) for row in ranked.systems if row.rank]
                lines = [f"{rank} {system}, {show_number(value)}" for rank, system, value in placed]
                title = f"{key} ({name}): final ranking of {counted(len(placed), 'system')}"
                changes.append(Change(id, time, name, key, title, at_most(lines)))
        return changes


def seen_as(viewer: Viewer | None) -> str:
    """Return a token for all that pages of results use of their viewer: account, name, role, team; empty if anonymous.

    It is the same for all sessions of an account.
    """
    if viewer is None:
        return ""
    return msgspec.json.encode((viewer.user, viewer.name, viewer.role, viewer.team)).decode()


def read_history(
    session: Session, campaign: Campaign, viewer: Viewer | None, most: int, now: dt.datetime
) -> list[NewsItem]:
    """Read the history of a campaign as the viewer may see it; returns newest first."""
    newest = func.coalesce(Submission.withdrawn, Submission.finished, Submission.received).desc()
    ended = select(Submission).where(or_(Submission.state == "scored", Submission.state.in_((*CLOSED, "withdrawn"))))
    seen = [row for row in session.scalars(ended.order_by(newest).limit(LOOKED_AT)) if may_see(row, viewer)]
    scores: dict[int, list[Released]] = defaultdict(list)
    numbers = [submission.number for submission in seen]
    for row in session.scalars(select(Released).where(Released.submission_id.in_(numbers), Released.headline)):
        scores[row.submission_id].append(row)
    items = []
    for sent in seen:
        whose = f"{sent.name} of {sent.user.name}"
        if viewer is not None and viewer.user == sent.user_id:
            whose = f"Your {sent.name}"
        happened: list[tuple[dt.datetime, str]] = []
        end = sent.finished or sent.received
        if sent.withdrawn is not None:
            happened.append((sent.withdrawn, f"was {'disqualified' if sent.disqualified else 'withdrawn'}"))
        if sent.state == "scored":
            words = []
            for row in sorted(scores[sent.number], key=lambda row: row.id):
                terms = campaign.splits.get(row.split)
                # A withdrawn system has no scores on a hidden split.
                if sent.withdrawn is None or (terms is not None and not terms.hidden):
                    shown = show_score(row, terms, now)
                    value = NO_BETTER if shown.kept_back else show_number(shown.value, decimals_of(terms, now))
                    words.append(f"{row.split}, {row.evaluation} {value}")
            happened.append((end, ": ".join(filter(None, ("was scored", "; ".join(words))))))
        elif sent.state == "refused":
            happened.append((end, f"was refused: {counted(sent.errors, 'error')}"))
        elif sent.state == "failed":
            happened.append((end, "could not be scored"))
        for moment, what in happened:
            time, parts = moment.isoformat(timespec="seconds"), {"submission": sent.id}
            items.append(NewsItem(time, f"{whose} {what}", page="submission", parts=parts))
    for name, split in campaign.splits.items():
        if split.final is not None and is_final(split, now):
            time = split.final.published.astimezone(dt.UTC).isoformat(timespec="seconds")
            items.append(NewsItem(time, f"Final ranking of {name}", page="store", parts={"store": name}))
    for rules in session.scalars(select(RulesVersion).order_by(RulesVersion.date.desc()).limit(most)):
        items.append(NewsItem(rules.date.isoformat(timespec="seconds"), f"Rules: version {rules.version}"))
    return sorted(items, key=lambda item: item.time, reverse=True)[:most]


def marks_of(submission: Submission, viewer: Viewer | None) -> dict[str, str]:
    """Return the coordinates of a submission's system in tables, including who can see it."""
    marks = submission.marks
    if submission.visibility == "lab":
        is_own = viewer is not None and viewer.team == submission.team
        marks[SEEN_BY] = "your lab and organisers" if is_own else "its sender's lab and organisers"
    elif submission.visibility == "private":
        is_own = viewer is not None and viewer.user == submission.user_id
        marks[SEEN_BY] = "you and organisers" if is_own else "its sender and organisers"
    return marks


def _ranked(
    name: str,
    rows: Sequence[Released],
    evaluation: Evaluation | None,
    viewer: Viewer | None,
    split: Split,
    now: dt.datetime,
) -> RankedEvaluation:
    """Return the scores of an evaluation on a hidden split that may be shown now.

    A system whose headline score is withheld has no rank, and a withdrawn system has no scores.
    """
    task = evaluation.task if evaluation is not None else ""
    convention = (evaluation.convention if evaluation is not None else "") or ""
    metrics = {}
    for row in sorted(rows, key=lambda row: (not row.headline, row.id)):
        record = _record_of(task, convention, row.metric)
        words = ("", "", "") if record is None else (record.title, record.standard_aggregate, record.unit)
        orientation = "lower" if row.lower_is_better else "higher"
        metrics[row.metric] = RankedMetric(row.metric, *words[:2], orientation, words[2])
    headline = next(iter(metrics))
    final, none = is_final(split, now), AggregatedScore(None, None, None, 0, 0, 0)
    scores: dict[str, dict[str, AggregatedScore]] = {}
    about: dict[str, dict[str, str]] = {}
    kept_back: dict[str, set[str]] = {}
    for row in rows:
        system = row.submission.name
        of_system = scores.setdefault(system, dict.fromkeys(metrics, none))
        about.setdefault(system, marks_of(row.submission, viewer))
        if row.submission.withdrawn is not None:
            continue
        shown = show_score(row, split, now)
        of_system[row.metric] = AggregatedScore(shown.value, shown.low, shown.high, row.tracks, 0, 0)
        if shown.kept_back:
            kept_back.setdefault(system, set()).add(row.metric)
    for system, held in kept_back.items():
        listed = "" if held == set(metrics) else f" by {', '.join(metric for metric in metrics if metric in held)}"
        about[system]["note"] = NO_BETTER + listed
    if final:
        for system in best_of_teams(row for row in rows if row.metric == headline):
            about[system]["note"] = BEST_OF_TEAM
    sign = -1.0 if metrics[headline].orientation == "lower" else 1.0
    values = {system: row[headline].value for system, row in scores.items()}
    gains = {system: sign * float(value) for system, value in values.items() if value is not None}
    ranks = page_contents.ranks_of(gains)
    published = None if not final or split.final is None else split.final.published.astimezone(dt.UTC)
    tests: dict[str, Any] = dict.fromkeys(("rank_low", "rank_high", "gap_low", "gap_high", "first", "like_best"))
    tests["letters"] = ""
    systems = [
        RankedSystem(system, ranks.get(system), metadata={**about[system]}, scores=scores[system], **tests)
        for system in sorted(scores, key=lambda name: ranks.get(name, len(scores) + 1))
    ]
    rules: dict[str, Any] = {"task": task, "convention": convention or "mir_eval", "headline": headline, "grid": ""}
    rules |= {"missing": "zero", "undefined": "keep", "comparison": "", "level": DEFAULT_LEVEL if final else None}
    rules |= {"final": UNSET if published is None else published.isoformat(timespec="seconds")}
    created, tracks = max(row.date for row in rows).isoformat(timespec="seconds"), max(row.tracks for row in rows)
    rules["metrics"] = [*metrics.values()]
    return RankedEvaluation(name=name, created=created, tracks=tracks, systems=systems, **rules)


def _record_of(task: str, convention: str, metric: str) -> Metric | None:
    rules = get_task(task).conventions if has_task(task) else {"": None}
    chosen = rules.get(convention, next(iter(rules.values())))
    return next((row for row in chosen.metrics if row.name == metric.partition("@")[0]), None) if chosen else None


def title_of(campaign: Campaign, evaluation: str, metric: str) -> str:
    """Return the title of a metric of an evaluation; its name if it has none."""
    terms = next((row for row in campaign.evaluations if row.name == evaluation), None)
    record = None if terms is None else _record_of(terms.task, terms.convention or "", metric)
    return metric if record is None else metric_title(metric, record.title)
