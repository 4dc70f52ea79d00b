"""Changes from one state of a site to the next, and their feed in Atom (RFC 4287).

Lines about systems that are no longer public can be removed from them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import msgspec

from ...errors import counted
from ...reports.leaderboard import Leaderboard, RankedEvaluation, RankedSystem, leaderboard
from .pages import show_gain, show_number

if TYPE_CHECKING:
    import xarray as xr

LONGEST = 12  # most lines of a change; the rest is counted
ENTRIES = 50  # most entries of a feed; the newest are kept
CHANGES = "changes"  # attribute of a store with changes of removed generations, as far as they are still public
LONG_AGO = "1970-01-01T00:00:00+00:00"  # time of scores without a date
_ATOM = "http://www.w3.org/2005/Atom"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Change(msgspec.Struct, frozen=True):
    """A change in an evaluation. `id`: a tag URI (RFC 4151), which never changes. `time`: time of scoring, ISO 8601."""

    id: str
    time: str
    store: str
    evaluation: str
    title: str
    details: list[str]


def find_changes(
    before: Mapping[str, Leaderboard], after: Mapping[str, Leaderboard], authority: str = "localhost"
) -> list[Change]:
    """Compare the leaderboards of two states of a site. `authority`: host name at the start of the changes'
    identifiers. Returns: one for each new, removed or changed evaluation, newest first.
    """
    changes = []
    newest = max((evaluation.created for board in after.values() for evaluation in board.evaluations), default="")
    for store in dict.fromkeys([*after, *before]):
        old, new = (
            {evaluation.name: evaluation for evaluation in state[store].evaluations} if store in state else {}
            for state in (before, after)
        )
        for name in dict.fromkeys([*new, *old]):
            title, details = _differences(old.get(name), new.get(name))
            if not title:
                continue
            time = (new[name].created if name in new else newest) or LONG_AGO
            text = "\n".join([store, name, time, title, *details])
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            where = f"{quote(store, safe='')}/{quote(name, safe='')}/{digest}"
            heading = f"{name} ({store}): {title}"
            changes.append(Change(f"tag:{authority},{time[:10]}:{where}", time, store, name, heading, details))
    return sorted(changes, key=lambda change: change.time, reverse=True)


def state_of(store: str, boards: Mapping[str, xr.Dataset]) -> dict[str, Leaderboard]:
    """Return the leaderboard of a store by its name, for :func:`find_changes`; empty without systems."""
    shown = ranked(boards)
    return {store: leaderboard(shown, title=store, level=None)} if shown else {}


def ranked(boards: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Return the evaluations that have pages."""
    return {name: ds for name, ds in boards.items() if ds.sizes["metric"] and ds.sizes["system"]}


def authority_of(url: str) -> str:
    """Return the authority for identifiers of a feed: the host of a site's address."""
    return urlsplit(url).hostname or "localhost"


def retell(changes: Sequence[Change], systems: Collection[str], told: Collection[str]) -> list[Change]:
    """Remove lines about systems that are no longer public from changes.

    `changes`: newest first; at most `ENTRIES` are kept.
    `systems`, `told`: systems named in the lines, and those of them that may still be named.

    Examples
    --------
    >>> first = Change("tag:a,2027:b", "2027", "dev", "chord", "2 new systems", ["new: oak, 0.7", "new: oak-2, 0.8"])
    >>> [one.details for one in retell([first], ["oak", "oak-2"], ["oak-2"])], retell([first], ["oak", "oak-2"], [])
    ([['new: oak-2, 0.8']], [])
    """
    secret = [re.escape(name) for name in systems if name not in told]
    named = re.compile(rf"(?<![\w.+-])(?:{'|'.join(secret)})(?![\w.+-])") if secret else None
    shown = []
    for change in changes[:ENTRIES]:
        details = [line for line in change.details if named is None or not named.search(line)]
        if details or not change.details:
            shown.append(msgspec.structs.replace(change, details=details))
    return shown


def _differences(before: RankedEvaluation | None, after: RankedEvaluation | None) -> tuple[str, list[str]]:
    if after is None:
        return "removed", []
    if before is None:
        on = f"{counted(len(after.systems), 'system')} on {counted(after.tracks, 'track')}"
        first = [f"leads: {_scored(after, system)}" for system in after.systems if system.rank == 1]
        return f"new, {on}", at_most([f"ranked by {after.headline}", *first])
    old, new = ({system.name: system for system in ranked.systems} for ranked in (before, after))
    added, gone = [name for name in new if name not in old], [name for name in old if name not in new]
    words, details = [], []
    if added:
        words.append(counted(len(added), "new system"))
        details += [f"new: {_scored(after, new[name])}" for name in added]
    if gone:
        words.append(f"{counted(len(gone), 'system')} gone")
        details += [f"gone: {name}" for name in gone]
    led, leads = ([system.name for system in side.systems if system.rank == 1] for side in (before, after))
    if led != leads:
        words.append("another leader")
        details.append(f"leads: {', '.join(leads) or 'none'}; before: {', '.join(led) or 'none'}")
    if before.headline != after.headline:
        words.append("another metric ranks")
        details.append(f"ranked by {after.headline}; before: {before.headline}")
    if before.tracks != after.tracks:
        words.append(counted(after.tracks, "track"))
        details.append(f"{counted(after.tracks, 'track')}; before: {before.tracks}")
    # The changed value of the headline, or else the number of other changed metrics.
    moved = []
    for name, system in new.items():
        scores = old[name].scores if name in old else {}
        others = [key for key, score in system.scores.items() if key in scores and scores[key].value != score.value]
        if after.headline in others:
            values = scores[after.headline].value, system.scores[after.headline].value
            by = [value for value in values if isinstance(value, float)]
            gain = f" ({show_gain(by[1] - by[0])})" if len(by) == 2 else ""
            moved.append(f"{name}: {after.headline} {show_number(values[1])}, before {show_number(values[0])}{gain}")
        elif others:
            moved.append(f"{name}: {counted(len(others), 'metric')} changed: {others[0]}, ...")
    if moved:
        words.append(f"other scores of {counted(len(moved), 'system')}")
        details += moved
    return ", ".join(words), at_most(details)


def at_most(lines: list[str]) -> list[str]:
    """Return the first lines, and the number of further ones."""
    return lines if len(lines) <= LONGEST else [*lines[:LONGEST], f"and {len(lines) - LONGEST} more"]


def _scored(evaluation: RankedEvaluation, system: RankedSystem) -> str:
    place = f", rank {system.rank} of {len(evaluation.systems)}" if system.rank else ""
    return f"{system.name}, {show_number(system.scores[evaluation.headline].value)}{place}"


def to_atom(
    changes: Sequence[Change], addresses: Sequence[str], *, title: str, identifier: str, home: str, own: str
) -> str:
    """Format changes as an Atom feed. `changes`: changes, newest first. `addresses`: those of the pages about them,
    absolute or relative to the feed. `identifier`: id of the feed, a URI that never changes.
    """
    feed = ElementTree.Element("feed", xmlns=_ATOM)
    _add(feed, "title", title)
    _add(feed, "id", identifier)
    _add(feed, "updated", max((change.time for change in changes), default=LONG_AGO))
    _add(ElementTree.SubElement(feed, "author"), "name", title)
    ElementTree.SubElement(feed, "link", rel="alternate", type="text/html", href=home)
    ElementTree.SubElement(feed, "link", rel="self", type="application/atom+xml", href=own)
    _add(feed, "generator", "mirflow", version=version("mirflow"))
    for change, address in list(zip(changes, addresses, strict=True))[:ENTRIES]:
        entry = ElementTree.SubElement(feed, "entry")
        _add(entry, "title", change.title)
        _add(entry, "id", change.id)
        _add(entry, "updated", change.time)
        ElementTree.SubElement(entry, "link", rel="alternate", type="text/html", href=address)
        _add(entry, "content", "\n".join(change.details) or change.title, type="text")
    ElementTree.indent(feed, " ")
    return ElementTree.tostring(feed, encoding="unicode", xml_declaration=False).join(
        ("<?xml version='1.0' encoding='utf-8'?>\n", "\n")
    )


def _add(parent: ElementTree.Element, tag: str, text: str, **attributes: str) -> None:
    """Add an element, replacing characters that XML does not allow, since names come from files."""
    ElementTree.SubElement(parent, tag, attributes).text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
