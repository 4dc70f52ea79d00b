"""Files that a campaign expects: their pattern, the names of the tracks, and an example.

References are available to workers, which may run on another host. A worker therefore writes the names of the tracks
to the campaign's folder, if submitters may know them, and the server reads them there.
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
    """The expected files for an evaluation on a split."""

    split: str
    evaluation: str
    task: str
    pattern: str
    """Pattern of their paths within a submission."""
    example: str
    """A matching path if one is known, otherwise the pattern."""
    one_file: bool
    """Whether a single file contains all tracks; `names` are then the tracks in it."""
    names: Sequence[str]
    """Paths of all files; empty if they are unknown or secret."""
    told: bool
    """Whether the names of the tracks may be revealed."""


def may_tell(campaign: Campaign, split: str, evaluation: Evaluation) -> bool:
    """True if names of tracks may be revealed; for a hidden split only if a table of tracks lists them."""
    return evaluation.tracks is not None or not campaign.splits[split].hidden


def keep_places(folder: Path, campaign: Campaign, places: Mapping[str, Mapping[str, Places]]) -> None:
    """Write the names of the tracks for the server, if they may be revealed and have changed.

    `places`: placeholders of the references by split and evaluation.
    """
    revealed = {
        split: {
            evaluation.name: evaluations.get(evaluation.name, ())
            for evaluation in campaign.evaluations
            if may_tell(campaign, split, evaluation)
        }
        for split, evaluations in places.items()
    }
    data, file = msgspec.json.encode(revealed), folder / _FILE
    if not file.is_file() or file.read_bytes() != data:
        write_atomically(file, data)


def asked_files(folder: Path, campaign: Campaign) -> list[AskedFiles]:
    """List the expected files by split and evaluation."""
    try:
        places = msgspec.json.decode((folder / _FILE).read_bytes(), type=dict[str, dict[str, list[dict[str, str]]]])
    except (OSError, msgspec.DecodeError):
        places = {}  # no worker has started yet
    return [
        _asked(
            split,
            evaluation,
            places.get(split, {}).get(evaluation.name, ()),
            told=may_tell(campaign, split, evaluation),
        )
        for split in campaign.splits
        for evaluation in campaign.evaluations
    ]


def _asked(split: str, evaluation: Evaluation, places: Places, *, told: bool) -> AskedFiles:
    pattern = evaluation.estimates.path
    # Estimates may share the suffix of the references, if these are files.
    suffix = Path(evaluation.reference.path or "").suffix
    format = "" if "{" in suffix else suffix[1:]
    rows: list[dict[str, Any]] = [{"format": format, **place} for place in places] if told else []
    one_file = "track" not in Pattern(pattern).names
    names = [place.get("track", "") if one_file else _fill(pattern, place) for place in rows]
    example = _fill(pattern, rows[0]) if rows else pattern
    return AskedFiles(
        split, evaluation.name, evaluation.task, pattern, example, one_file, tuple(sorted({*names})), told
    )


def _fill(pattern: str, place: Mapping[str, str]) -> str:
    return fill(pattern, {name: place[name] for name in Pattern(pattern).names if place.get(name)})
