"""Patches of the references of an evaluation: files are read, matched with tracks, and checked before a run begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..annotations.schema import kind_of
from ..errors import AnnotationError, suggest
from ..readers.content import digest_of, read_bytes
from ..readers.patches import MAX_PATCH, PatchedSource, PatchedTrack, ReferencePatch, parse_patch
from .discovery import Discovery
from .plan import Reference


def apply_patches(found: Discovery) -> None:
    """Apply the patches of an evaluation to the references that were found; problems are added to its troubles.

    References with a patch are read once, unless they were scored before: their digests and rows must be those that the
    patch names.
    """
    edits: dict[tuple[str, int], list[tuple[str, PatchedTrack]]] = {}
    place = "reference", "patch"
    for path in found.evaluation.reference.patch:
        try:
            data = read_bytes(Path(found.root, path), MAX_PATCH, path)
            patch = parse_patch(data, path)
            if kind_of(patch.task).name != kind_of(found.evaluation.task).name:
                raise AnnotationError(f"is for references of task {patch.task}, not {found.evaluation.task}", path=path)
            for one in patch.tracks:
                edits.setdefault((one.track, _place_of(one, found.references)), []).append((path, one))
        except AnnotationError as error:
            found.trouble(place, str(error))
            continue
        found.patches.append(_provenance(path, data, patch))
    for (track, index), own in edits.items():
        references = found.references[track]
        source = PatchedSource(references[index].source, tuple(own))
        if not found.scored:
            try:
                source.read()
            except AnnotationError as error:
                found.trouble(place, str(error))
        references[index] = replace(references[index], source=source)


def _place_of(one: PatchedTrack, references: Mapping[str, Sequence[Reference]]) -> int:
    """Position of the reference that is meant among those of its track."""
    if one.track not in references:
        raise AnnotationError(
            f"the patch is for track {one.track!r}, which has no reference; {suggest(one.track, references)}"
        )
    own = references[one.track]
    places = [place for place, reference in enumerate(own) if one.annotator in ("", reference.annotator)]
    if len(places) == 1:
        return places[0]
    names = ", ".join(repr(reference.annotator) for reference in own)
    who = f"annotator {one.annotator!r}" if one.annotator else "no annotator"
    raise AnnotationError(f"the patch of track {one.track!r} names {who}: choose from {names}")


def _provenance(path: str, data: bytes, patch: ReferencePatch) -> Mapping[str, Any]:
    """What a store keeps about a patch."""
    changes = [
        {
            "track": one.track,
            "annotator": one.annotator,
            "author": one.author,
            "reason": one.reason,
            "date": one.date,
            "edits": len(one.rows),
        }
        for one in patch.tracks
    ]
    return {"file": path, "digest": digest_of(data), "changes": changes}
