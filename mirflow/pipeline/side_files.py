"""The files that the pattern of one side of an evaluation finds, on disk and on servers."""

from __future__ import annotations

import difflib
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType

from ..annotations.schema import KINDS
from ..errors import AnnotationError
from ..readers.downloads import parse_url
from ..readers.patterns import Match, Pattern, describe_otherwise, is_folder
from ..readers.remote_files import Candidates, find_remote
from .model import Estimates, Trouble

OUTSIDE = "leads out of the root, where files are not read for a store from elsewhere"
_PLACEHOLDER = re.compile(r"(\{[^{}]*\})")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MEANT = MappingProxyType({"reference": ("track", "annotator"), "estimates": ("track", "system", "annotator")})
"""Placeholders with a meaning on each side, whatever the kind of annotation."""
_ALIKE = 0.86
"""Minimum similarity of a typo: `sytem`, `systems` and `trak` are typos, `system_run` and `subsystem` are names."""


def find_slip(pattern: Pattern, side: str, kind: str) -> str:
    """Message about a free placeholder with nearly the name of one that the pattern lacks; empty if there is none."""
    meant = (*_MEANT[side], *filter(None, [KINDS[kind].part]))
    lacking = [name for name in meant if name not in pattern.names]
    for name in pattern.names:
        near = difflib.get_close_matches(name.lower(), lacking, n=1, cutoff=_ALIKE) if name not in meant else []
        if near:
            return f"unknown placeholder {{{name}}} in {pattern.text!r}: did you mean {{{near[0]}}}? If not, rename it"
    return ""


def find_matches(
    side: Estimates,
    key: str,
    root: str,
    trackless: bool,
    troubles: list[Trouble],
    confined: bool = False,
    candidates: Candidates | None = None,
) -> Sequence[Match]:
    """Find the files of one side's pattern, or add the reason to `troubles` if there are none. A pattern without
    ``{track}`` is one that finds nothing, unless it may be `trackless`. What leads out of the root is refused where
    files are `confined` to it. Files of servers, which cannot be listed, are looked for by the names of the
    `candidates`; without any, URLs are not looked at."""
    pattern = Pattern(side.path)
    if confined and leads_out(side.path, root):
        troubles.append(((key, "path"), f"{OUTSIDE}: {side.path!r}"))
        return []
    if not (trackless or pattern.is_pack or pattern.is_readings or "track" in pattern.names):
        troubles.append(((key, "path"), f"has no {{track}}: {side.path!r}"))
        return []
    if parse_url(side.path) is not None:
        return [] if candidates is None else _find_remote(pattern, key, candidates, troubles)
    try:
        matches = pattern.find(root)
    except AnnotationError as error:
        troubles.append(((key, "path"), str(error)))
        return []
    if not matches:
        hint = describe_otherwise(matches, side.path) or pattern.hint(root)
        troubles.append(((key, "path"), f"matches nothing: {side.path!r}; {hint}"))
    linked = next((link for link in _links_out(matches, root)), None) if confined else None
    if linked is not None:
        troubles.append(((key, "path"), f"{OUTSIDE}: {linked!r} is a link"))
        return []
    # What could not be decoded is in a name as surrogates.
    odd = {value for column in matches.columns for value in {*column} if _SURROGATE.search(value)}
    if odd:
        name = next(match.name for match in matches if not odd.isdisjoint(match.values))
        troubles.append(((key, "path"), f"finds a file name that is not UTF-8: {name!r}; rename the file"))
        return []
    return matches


def _find_remote(pattern: Pattern, key: str, candidates: Candidates, troubles: list[Trouble]) -> list[Match]:
    try:
        matches = find_remote(pattern, candidates)
    except AnnotationError as error:
        troubles.append(((key, "path"), str(error)))
        return []
    if not matches:
        names = [(name, own[0]) for name, own in candidates.values.items() if own and name in pattern.names]
        tried = " and ".join(f"{name} {first!r}" for name, first in names)
        on_server = pattern.text.lower().startswith("http") and tried
        hint = f"among others for {tried}" if on_server else "check the address and the names before the placeholders"
        troubles.append(((key, "path"), f"matches nothing: {pattern.text!r}; {hint}"))
    return matches


def leads_out(path: str, root: str) -> bool:
    """True if a path is a URL or leads out of a folder: as written, or by a link in the part without placeholders."""
    steps = path.replace("\\", "/").split("/")
    if parse_url(path) is not None or ".." in steps or Path(path).is_absolute() or path.startswith("~"):
        return True
    fixed = itertools.takewhile(lambda step: not _PLACEHOLDER.search(step), steps)
    return not _is_inside(Path(root, *fixed), root)


def _links_out(matches: Sequence[Match], root: str) -> Iterator[str]:
    """Links that lead out of a folder, among files that were found and those beside them, which may hold names."""
    for folder in dict.fromkeys(Path(match.path).parent for match in matches):
        if not _is_inside(folder, root):
            yield str(folder)
        with os.scandir(folder) as entries:
            links = [entry for entry in entries if entry.is_symlink() and not is_folder(entry)]
        yield from (entry.path for entry in links if not _is_inside(entry.path, root))
    yield from (match.path for match in matches if is_folder(Path(match.path)) and not _is_inside(match.path, root))


def _is_inside(path: str | Path, root: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
