"""Which systems take part: not those that the file does not list, and not the reference that a pattern finds too."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import suggest
from ..plan import Caution
from ..readers.patterns import Match, Pattern, fill
from .model import Evaluation
from .resolve import Trouble

SYSTEM = "system"
_PLACEHOLDER = re.compile(r"(\{[^{}]*\})")


@dataclass
class Entrants:
    """What patterns find, and what of it takes part.

    Parameters
    ----------
    evaluation : Evaluation
    root : str
    references : dict of str to str
        Names of the reference's files, by path.
    known : set of str
        Systems that the pattern of the estimates finds files of.
    reference_systems : dict of str to str
        A file of the reference for each name that stood for a system in its path.
    """

    evaluation: Evaluation
    root: str
    references: dict[str, str] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    reference_systems: dict[str, str] = field(default_factory=dict)

    def choose(self, key: str, pattern: Pattern, matches: Sequence[Match]) -> Sequence[Match]:
        """The matches of one side that count: of the reference all, of the estimates those of systems that take part.

        What is a file of the reference is no estimate, unless the evaluation means the same files on both sides.
        """
        if key == "reference":
            self.references = {_plain(match.path): match.name for match in matches}
            return matches
        if SYSTEM not in pattern.names:
            return matches
        place = pattern.names.index(SYSTEM)
        own = matches if self._means_the_same(pattern) else self._without_references(matches, place)
        self.known = {match.values[place] for match in own}
        listed = self.evaluation.systems
        # A listed name with a slash has values of other placeholders in it, which are told where systems are named.
        if listed is None or any("/" in name for name in listed):
            return own
        return [match for match in own if match.values[place] in listed]

    def _means_the_same(self, pattern: Pattern) -> bool:
        """Whether both sides find the same files on purpose: annotators are told apart, in the path or in the file."""
        reference = self.evaluation.reference.path.replace("{annotator", f"{{{SYSTEM}")
        return self.evaluation.estimates.annotator is not None or _plain(reference) == _plain(pattern.text)

    def _without_references(self, matches: Sequence[Match], place: int) -> list[Match]:
        own = []
        for match in matches:
            if _plain(match.path) in self.references:
                self.reference_systems.setdefault(match.values[place], match.name)
            else:
                own.append(match)
        return own

    def cautions(self) -> Iterable[Caution]:
        """Which systems are left out because they are the reference; who lists the systems knows."""
        if self.evaluation.systems is not None:
            return
        for system, name in self.reference_systems.items():
            message = (
                f"{system!r} is not scored as a system: {name!r} is the reference; "
                "list the systems that take part to say so"
            )
            yield Caution(message, system)

    def troubles(self, found: Sequence[str]) -> Iterable[Trouble]:
        """What is wrong with the listed systems, where there are estimates of those that were `found`.

        One without files counts as missing if its place is there, an empty folder; else its name is taken for a slip.
        """
        known = {*found, *self.known}
        for name in self.evaluation.systems or ():
            if name in self.reference_systems and name not in known:
                where = self.reference_systems[name]
                yield ("systems", name), f"is the reference of the evaluation, not a system: {where!r}; leave it out"
                continue
            several = name in self.known and any(one.startswith(f"{name}/") for one in found)
            if several or (known and name not in known and not self._stands(name)):
                yield ("systems", name), f"no estimates of this system; {suggest(name, known - {name})}"

    def _stands(self, system: str) -> bool:
        """Whether the folder or file is there that has the system's name in the pattern of the estimates."""
        return next(self._places(system), None) is not None

    def empty_folders(self, found: Sequence[str]) -> list[str]:
        """Names in the place of a system of which nothing was `found`: the folders are empty, or hold other files.

        Where that place is the root itself, anything may be beside the systems: there only what is empty is meant.
        """
        steps = self.evaluation.estimates.path.split("/")
        last = _place_of_system(steps)
        if last is None or last == len(steps) - 1 or ":path}" in "/".join(steps[: last + 1]):
            return []
        pattern = Pattern("/".join(steps[: last + 1]))
        taken = {*found, *(name.partition("/")[0] for name in found), *self.known, *self.reference_systems}
        references = {parent for path in self.references for parent in Path(path).parents}
        names: dict[str, None] = {}
        for path in sorted(self._places("*")):
            hidden = path.name.startswith(".") and not steps[last].startswith(".")
            if hidden or not path.is_dir() or path in references or (last == 0 and any(path.iterdir())):
                continue
            base = Path("/") if pattern.text.startswith("/") else Path(self.root)
            values = pattern.match(path.relative_to(base).as_posix())
            if values is not None and values[SYSTEM] not in taken:
                names[values[SYSTEM]] = None
        return list(names)

    def _places(self, system: str) -> Iterator[Path]:
        """What stands in the place of a system in the pattern of the estimates; ``*``: of any."""
        steps = self.evaluation.estimates.path.split("/")
        last = _place_of_system(steps)
        if last is None:
            return iter(())
        parts = _PLACEHOLDER.split("/".join(steps[: last + 1]))
        text = "".join(_wild(part, system) for part in parts)
        # A path under the root, or an absolute one.
        base = Path("/") if text.startswith("/") else Path(self.root)
        return base.glob(text.lstrip("/"))


def _place_of_system(steps: Sequence[str]) -> int | None:
    """The first step of a path with the placeholder of the system."""
    return next((place for place, step in enumerate(steps) if f"{{{SYSTEM}" in step), None)


def _wild(part: str, system: str) -> str:
    """A piece of a pattern for globbing: the system's name, anything for another placeholder, or the text itself."""
    if not part.startswith("{"):
        return glob.escape(part)
    filled = fill(part, {SYSTEM: system})
    return "*" if filled == part or system == "*" else glob.escape(filled)


def _plain(path: str) -> str:
    """A path without detours, so that two ways to one file compare equal."""
    return os.path.normpath(path) if "/." in path or "//" in path else path
