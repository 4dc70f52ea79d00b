"""Files that a campaign asks for: their pattern, the names of the tracks, and an example.

References lie where workers are, perhaps on another host. So a worker keeps the names of the tracks in the campaign's
folder, as far as submitters may know them, and the server reads them there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ....pipeline.model import Evaluation
from ....readers.patterns import Pattern, fill
from ....store.generations import write_atomically
from ...file import Campaign
from .checking import Places

_FILE = "tracks.json"


@dataclass(frozen=True, slots=True)
class AskedFiles:
    """The files of an evaluation on a split."""

    split: str
    evaluation: str
    task: str
    pattern: str
    """Of their paths within a submission."""
    example: str
    """A path that fits, as far as one can be known; otherwise the pattern."""
    one_file: bool
    """Whether one file has all tracks; `names` are then those of the tracks within it."""
    names: Sequence[str]
    """Paths of all files; empty where they are not known, or may not be told."""
    told: bool
    """Whether the names of the tracks may be told."""


def may_tell(campaign: Campaign, split: str, evaluation: Evaluation) -> bool:
    """True if names of tracks may be told: of a hidden split only those that are in a table of tracks."""
    return evaluation.tracks is not None or not campaign.splits[split].hidden


def keep_places(folder: Path, campaign: Campaign, places: Mapping[str, Mapping[str, Places]]) -> None:
    """Keep the places of the references for the server, as far as they may be told; nothing is written twice.

    Parameters
    ----------
    folder : Path
        Of the campaign.
    places : mapping
        By split and evaluation.
    """
    told = {
        split: {one.name: own.get(one.name, ()) for one in campaign.evaluations if may_tell(campaign, split, one)}
        for split, own in places.items()
    }
    data, file = msgspec.json.encode(told), folder / _FILE
    if not file.is_file() or file.read_bytes() != data:
        write_atomically(file, data)


def asked_files(folder: Path, campaign: Campaign) -> list[AskedFiles]:
    """List the files that are asked for, by split and evaluation."""
    try:
        kept = msgspec.json.decode((folder / _FILE).read_bytes(), type=dict[str, dict[str, list[dict[str, str]]]])
    except (OSError, msgspec.DecodeError):
        kept = {}  # no worker has begun yet
    return [
        _asked(split, one, kept.get(split, {}).get(one.name, ()), told=may_tell(campaign, split, one))
        for split in campaign.splits
        for one in campaign.evaluations
    ]


def _asked(split: str, evaluation: Evaluation, places: Places, *, told: bool) -> AskedFiles:
    pattern = evaluation.estimates.path
    known: list[dict[str, Any]] = [{"format": _suffix(evaluation), **place} for place in places] if told else []
    one_file = "track" not in Pattern(pattern).names
    names = [place.get("track", "") if one_file else _fill(pattern, place) for place in known]
    example = _fill(pattern, known[0]) if known else pattern
    return AskedFiles(
        split, evaluation.name, evaluation.task, pattern, example, one_file, tuple(sorted({*names})), told
    )


def _fill(pattern: str, place: Mapping[str, str]) -> str:
    return fill(pattern, {name: place[name] for name in Pattern(pattern).names if place.get(name)})


def _suffix(evaluation: Evaluation) -> str:
    """The suffix of the references, as estimates may have the same; empty where they are no files."""
    suffix = Path(evaluation.reference.path or "").suffix
    return "" if "{" in suffix else suffix[1:]
