"""The front page: news, tracks to listen to, systems by evaluation, leaders; and the search over all pages.

A track is worth listening to if its reference is suspect, as even the best system scores low, or if the scores of the
systems spread most.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

import numpy as np

from ...analysis.scores import coords_of, names_of
from ...reports.captions import task_title
from ...reports.leaderboard import scored_evaluation
from ...reports.scorecard import scorecard
from ...reports.standings import to_html
from ...reports.tables import plain_entry
from .changes import Change
from .page_contents import EvaluationPage, StoreContents, evaluation, list_track, show_key
from .pages import Links

LISTED = 3  # tracks to list for each reason and evaluation
WIDE = 10  # most columns of a scorecard; of more, each task has its own
TOGETHER = 3  # most changes of a store by one run that are an item of news each
ENOUGH = 8  # least number of tracks to look for outliers


@dataclass(frozen=True)
class NewsItem:
    """An event of the campaign."""

    time: str  # ISO 8601
    title: str  # title in one line
    details: Sequence[str] = ()  # details, one line each
    page: str = ""  # name of the page to link, among the addresses; empty: none
    parts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # parts of its address


def news_of(changes: Sequence[Change], stores: Sequence[StoreContents]) -> list[NewsItem]:
    """Convert changes of stores to news, with the pages of existing evaluations; many of one run are one item."""
    present = {(store.name, name) for store in stores for name in store.ranked}
    runs: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        runs.setdefault((change.store, change.time), []).append(change)
    items = []
    for (store, time), run in runs.items():
        if len(run) > TOGETHER:
            are_new = all(change.title.startswith(f"{change.evaluation} ({store}): new, ") for change in run)
            lines = [change.title.replace(f" ({store})", "", 1) for change in run]
            title = f"{store}: {len(run)} evaluations {'are new' if are_new else 'changed'}"
            page = "store" if any(contents.name == store for contents in stores) else ""
            items.append(NewsItem(time, title, lines, page, {"store": store}))
            continue
        for change in run:
            parts = {"store": store, "evaluation": change.evaluation}
            page = "evaluation" if (*parts.values(),) in present else ""
            items.append(NewsItem(time, change.title, change.details, page, parts))
    return items


@dataclass(frozen=True)
class WorthListening:
    """Tracks of an evaluation that are worth listening to."""

    store: str
    evaluation: str
    suspects: list[SimpleNamespace]  # possibly wrong references, with the score of the best system, lowest first
    disputed: list[SimpleNamespace]  # tracks on which systems disagree most, largest spread first
    same: Sequence[str] = ()  # further evaluations of the store with the same tracks


def worth_listening(contents: StoreContents) -> list[WorthListening]:
    """Find tracks of a store that are worth listening to; empty if only aggregates are shown.

    A reference is suspect if the score of the best system on the track is an outlier among the tracks (below the first
    quartile by more than 1.5 times the interquartile range: Tukey, Exploratory Data Analysis, 1977, section 2C) and
    worse than the mean over all systems and tracks.
    """
    listed = []
    for name in contents.datasets:
        scores = contents.scores(name)
        if len(scores.systems) < 2:
            continue
        sign = -1.0 if scores.lower else 1.0
        best = sign * scores.best
        finite = np.isfinite(best)
        suspects: list[int] = []
        if finite.sum() >= ENOUGH:
            first, third = np.quantile(best[finite], [0.25, 0.75])
            fence = min(first - 1.5 * (third - first), float((sign * scores.mean[finite]).mean()))
            suspects = [row for row in np.argsort(best, kind="stable").tolist() if finite[row] and best[row] < fence]
        spread = np.where(np.isfinite(scores.spread), scores.spread, 0.0)
        disputed = [row for row in np.argsort(-spread, kind="stable").tolist() if spread[row] > 0]
        doubted, spread_out = (
            [list_track(scores, row, scores.best) for row in rows[:LISTED]] for rows in (suspects, disputed)
        )
        if doubted or spread_out:
            listed.append(WorthListening(contents.name, name, doubted, spread_out))
    return listed


@dataclass(frozen=True)
class FrontPage:
    """The front page."""

    stores: list[StoreContents]  # stores, in the order of their declaration
    evaluations: list[EvaluationPage]  # all evaluations, grouped by store
    evaluations_of: Mapping[str, list[EvaluationPage]]  # by store
    news: Sequence[NewsItem]  # news, newest first
    listening: list[WorthListening]
    systems: int  # number of systems, counted separately for each store, but once for all splits of a campaign
    namesakes: list[str]  # names of systems in several stores that may be different systems

    def below_the_first(self, store: StoreContents, url: Callable[..., str]) -> tuple[list[str], list[EvaluationPage]]:
        """Return tables of the systems of a store by its evaluations, and the evaluations after the first in none.

        The tables are HTML, and their cells lead to the evaluations. Evaluations that share systems are in one, and by
        task where that would be too wide.
        """
        groups: list[tuple[set[str], list[EvaluationPage]]] = []
        for page in self.evaluations_of[store.name]:
            names, pages = {row.system.name for row in page.rows}, [page]
            apart: list[tuple[set[str], list[EvaluationPage]]] = []
            for others, some in groups:
                if others & names:
                    names, pages = names | others, some + pages
                else:
                    apart.append((others, some))
            groups = [*apart, (names, pages)]
        cards: list[list[EvaluationPage]] = []
        for names, pages in groups:
            tasks: dict[str, list[EvaluationPage]] = {}
            for page in pages:
                tasks.setdefault(page.evaluation.task, []).append(page)
            cards += [pages] if min(len(names), len(pages)) <= WIDE else tasks.values()
        texts, alone = [], []
        for card in cards:
            ranked = [page.evaluation for page in card]
            addresses = [url("evaluation", store=store.name, evaluation=evaluation.name) for evaluation in ranked]
            columns = [scored_evaluation(*pair, store.decimals) for pair in zip(ranked, addresses, strict=True)]
            table = to_html(scorecard(columns)) if len(card) > 1 else ""
            texts += [table] if table else []
            alone += [] if table else card
        return texts, [page for page in self.evaluations_of[store.name][1:] if page in alone]


def front(
    stores: Sequence[StoreContents],
    news: Sequence[NewsItem] = (),
    *,
    own: Mapping[str, Collection[str]] = MappingProxyType({}),
    listening: Sequence[WorthListening] | None = None,
    splits: Collection[str] = (),
) -> FrontPage:
    """Collect every evaluation with its leaders, and all systems by the headline metrics. `news`: news, newest first.
    `own`: the viewer's own systems by store. `listening`: tracks worth listening to; None: find them in the stores.
    `splits`: stores that are splits of one campaign.
    """
    pages = [evaluation(store, name, own.get(store.name, ())) for store in stores for name in store.ranked]
    if listening is None:
        listening = [worth for store in stores for worth in worth_listening(store)]
    # Evaluations that name the same tracks, such as those of one task by several rules, are joined.
    joined: dict[tuple[str, ...], WorthListening] = {}
    for worth in listening:
        key = (worth.store, *(track.name for track in worth.suspects), "", *(track.name for track in worth.disputed))
        first = joined.get(key)
        joined[key] = worth if first is None else replace(first, same=[*first.same, worth.evaluation])
    # A name in several splits of a campaign is one submission.
    named = {
        (row.system.name, "" if page.store.name in splits else page.store.name) for page in pages for row in page.rows
    }
    namesakes = sorted(name for name, many in Counter(name for name, _ in named).items() if many > 1)
    return FrontPage(
        stores=[*stores],
        evaluations=pages,
        evaluations_of={store.name: [page for page in pages if page.store.name == store.name] for store in stores},
        news=news,
        listening=[*joined.values()],
        systems=len(named),
        namesakes=namesakes,
    )


# Most names of a kind; an index of so many takes about 1 MB.
MOST: Mapping[str, int] = {"evaluation": 2_000, "system": 5_000, "track": 20_000}
# Coordinates of tracks by which they are found, beside their names.
TITLES = ("title", "name", "artist", "composer", "album")


class Entry(NamedTuple):
    """A page that a search finds: its kind ("evaluation", "system" or "track"), name and address.

    ``where`` is the store, and ``words`` are further ones by which it is found, such as title and artist.
    """

    kind: str
    name: str
    where: str
    url: str
    words: str = ""


def entries_of(contents: StoreContents, links: Links) -> Iterator[Entry]:
    """Yield the pages of a store: evaluations, and systems and tracks in the first evaluation that has them.

    `links`: addresses as seen from the index.
    """
    store = contents.name
    seen: set[tuple[str, str]] = set()
    for name, ranked in contents.ranked.items():
        parts = {"store": store, "evaluation": name}
        yield Entry("evaluation", name, store, links.url("evaluation", **parts), task_title(ranked.task))
        for system in ranked.systems:
            if ("system", system.name) not in seen:
                seen.add(("system", system.name))
                yield Entry("system", system.name, store, links.url("system", **parts, system=system.name))
        if name not in contents.datasets:
            continue
        ds = contents.datasets[name]
        titles = [values for key, values in coords_of(ds, "track").items() if show_key(key).casefold() in TITLES]
        for at, track in enumerate(names_of(ds, "track")):
            if ("track", track) not in seen:
                seen.add(("track", track))
                words = ", ".join(filter(None, (str(plain_entry(values[at]) or "") for values in titles)))
                yield Entry("track", track, store, links.url("track", **parts, track=track), words)


@dataclass
class SearchIndex:
    """Names and addresses of pages, up to the most of each kind.

    Examples
    --------
    >>> index = SearchIndex()
    >>> index.add([Entry("system", "oak", "tunes", "stores/tunes/chord/systems/oak/")])
    >>> print(index.script(), end="")
    globalThis.searchIndex = {"groups":[["system","tunes","stores/tunes/chord/systems/","/",["oak"]]],"left":{}};
    """

    # Names by kind, place, and the parts of their addresses before and after them. A name is alone if its address has
    # the same form, else with that form, and perhaps with further words.
    groups: dict[tuple[str, str, str, str], list[str | Sequence[str]]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)  # pages of each kind, with those that are left out

    def add(self, entries: Iterable[Entry]) -> None:
        """Add pages; what exceeds the most of its kind is only counted."""
        for entry in entries:
            self.counts[entry.kind] = self.counts.get(entry.kind, 0) + 1
            if self.counts[entry.kind] > MOST[entry.kind]:
                continue
            folder, _, last = entry.url.removesuffix("index.html").removesuffix("/").rpartition("/")
            end = entry.url[len(folder) + 1 + len(last) :]
            names = self.groups.setdefault((entry.kind, entry.where, f"{folder}/", end), [])
            plain = last == entry.name and not entry.words
            names.append(entry.name if plain else (entry.name, last, *filter(None, [entry.words])))

    def script(self) -> str:
        """Write the index as a script, since pages opened from disk may not read other files."""
        left = {kind: count - MOST[kind] for kind, count in self.counts.items() if count > MOST[kind]}
        index = {"groups": [[*key, names] for key, names in self.groups.items()], "left": left}
        return f"globalThis.searchIndex = {json.dumps(index, separators=(',', ':'))};\n"
