"""Search over the pages of a site: the names of evaluations, systems and tracks, as a script that pages load."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...analysis.scores import coords_of, names_of
from ...reports.captions import task_title
from ...reports.tables import plain_entry
from .page_contents import StoreContents, show_key
from .pages import Links

MOST: Mapping[str, int] = {"evaluation": 2_000, "system": 5_000, "track": 20_000}
"""Most names of a kind; an index of so many takes about 1 MB."""
TITLES = ("title", "name", "artist", "composer", "album")
"""Coordinates of tracks by which they are found, beside their names."""


@dataclass(frozen=True)
class Entry:
    """A page that a search finds."""

    kind: str
    """{"evaluation", "system", "track"}."""
    name: str
    where: str
    """The store, and what else tells pages of one name apart."""
    url: str
    words: str = ""
    """Further words by which it is found, such as title and artist."""


def entries_of(contents: StoreContents, links: Links) -> Iterator[Entry]:
    """Yield the pages of a store: evaluations, and systems and tracks in the first evaluation that has them.

    `links`: addresses as seen from the index.
    """
    store, shown = contents.name, contents.title or contents.name
    seen: set[tuple[str, str]] = set()
    for name, ranked in contents.ranked.items():
        parts = {"store": store, "evaluation": name}
        yield Entry("evaluation", name, shown, links.url("evaluation", **parts), task_title(ranked.task))
        for system in ranked.systems:
            if ("system", system.name) not in seen:
                seen.add(("system", system.name))
                yield Entry("system", system.name, shown, links.url("system", **parts, system=system.name))
        if name not in contents.datasets:
            continue
        ds = contents.datasets[name]
        titles = [values for key, values in coords_of(ds, "track").items() if show_key(key).casefold() in TITLES]
        for at, track in enumerate(names_of(ds, "track")):
            if ("track", track) not in seen:
                seen.add(("track", track))
                words = ", ".join(filter(None, (str(plain_entry(values[at]) or "") for values in titles)))
                yield Entry("track", track, shown, links.url("track", **parts, track=track), words)


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

    groups: dict[tuple[str, str, str, str], list[str | Sequence[str]]] = field(default_factory=dict)
    """Names by kind, place, and the parts of their addresses before and after them. A name is alone if its address has
    the same form, else with that form, and perhaps with further words."""
    counts: dict[str, int] = field(default_factory=dict)
    """Pages of each kind, with those that are left out."""

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
