"""Stores as one whose tracks were scored against references of different files or durations: which tracks these are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import counted

if TYPE_CHECKING:
    import xarray as xr

REFERENCES_DIFFER = "references_differ"
"""The attribute of an evaluation of several stores that says on which tracks their references differ or may do so."""
DURATION, DIGEST = "duration", "digest"
TOLERANCE = 1e-6
"""Seconds by which the same duration may differ in two stores."""


def differing_references(given: Mapping[str, xr.Dataset]) -> str:
    """What there is to say of tracks that several stores hold, but perhaps not with the same reference; empty: nothing.

    References differ if their durations do. If only the digests of their files do, they may: the same annotation may
    have been read from a pack, or from a file of another format. A store that knows neither of a track, as one of
    imported scores, agrees with every other.

    Parameters
    ----------
    given : mapping of str to xr.Dataset
        One evaluation of each store: perhaps ``digest`` over (system, track), ``reference:estimate``, of which only
        what is needed is read, and ``duration`` over (track) in seconds.

    Examples
    --------
    >>> import xarray as xr
    >>> def scored(digest):
    ...     return xr.Dataset({"digest": (("system", "track"), [[digest, "7:1"]])}, {"track": ["x", "y"]})
    >>> differing_references({"2012": scored("4:2"), "2013": scored("5:3")}).partition(",")[0]
    "the reference of 1 of 2 shared tracks comes from different files in 2012 and 2013 (track 'x') and may differ"
    """
    holders = Counter(track for ds in given.values() for track in _tracks(ds))
    shared = {track for track, stores in holders.items() if stores > 1}
    if not shared:
        return ""
    others, involved = _other_files(given, shared)
    longer, by_length = _other_durations(given, shared)
    differing = [track for track in holders if track in others or track in longer]
    if not differing:
        return ""
    stores = [store for store in given if store in involved | by_length]
    where = f"in {', '.join(stores[:-1])} and {stores[-1]}"
    return _said(differing, len(shared), where, longer)


def _said(differing: Sequence[str], shared: int, where: str, longer: Collection[str]) -> str:
    """A sentence that claims no more than is known."""
    one = len(differing) == 1
    which = "track" if one else "the first: track"
    of = f"the reference{'' if one else 's'} of {len(differing)} of {counted(shared, 'shared track')}"
    first, truths = f"({which} {differing[0]!r})", "systems of different stores are held against different truths there"
    if len(longer) == len(differing):
        return f"{of} {'is' if one else 'are'} of different durations {where} {first}, so that {truths}"
    come = f"{of} {'comes' if one else 'come'} from different files {where} {first}"
    if not longer:
        may = truths.replace("are held", "may be held")
        return f"{come} and may differ, so that {may}"
    return f"{come}, {len(longer)} of them of another duration, and the others may differ, so that {truths}"


def _tracks(ds: xr.Dataset) -> list[str]:
    return [str(name) for name in ds["track"].values.tolist()]


def _other_files(given: Mapping[str, xr.Dataset], shared: set[str]) -> tuple[set[str], set[str]]:
    """Tracks whose references have several digests, and the stores that these are in."""
    known = {store: _reference_digests(ds, shared) for store, ds in given.items()}
    tracks: set[str] = set()
    stores: set[str] = set()
    for track in shared:
        found = {store: own[track] for store, own in known.items() if track in own}
        if len(set(found.values())) > 1:
            tracks.add(track)
            stores |= set(found)
    return tracks, stores


def _reference_digests(ds: xr.Dataset, shared: set[str]) -> dict[str, str]:
    """The digests of the references of some tracks, as far as they are known."""
    found: dict[str, str] = {}
    if DIGEST not in ds.data_vars:
        return found
    wanted = {place: track for place, track in enumerate(_tracks(ds)) if track in shared}
    for system in range(ds.sizes["system"]):
        # Most often one system tells all of them.
        if len(found) == len(wanted):
            break
        digests = ds[DIGEST].isel(system=system).values.tolist()
        for place, track in wanted.items():
            reference = str(digests[place]).partition(":")[0]
            if reference and track not in found:
                found[track] = reference
    return found


def _other_durations(given: Mapping[str, xr.Dataset], shared: set[str]) -> tuple[set[str], set[str]]:
    """Tracks whose references last differently long, and the stores that these are in."""
    found: dict[str, dict[str, float]] = {}
    for store, ds in given.items():
        if DURATION not in ds.data_vars:
            continue
        for track, seconds in zip(_tracks(ds), ds[DURATION].values.tolist(), strict=True):
            # 0 stands where no reference was usable.
            if track in shared and seconds > 0:
                found.setdefault(track, {})[store] = seconds
    differing = {track: own for track, own in found.items() if np.ptp(list(own.values())) > TOLERANCE}
    return set(differing), {store for own in differing.values() for store in own}
