"""Path patterns with placeholders, such as ``estimates/{system}/{track}.lab``, and the files that match them.

They are on disk, on an HTTP server or in an object store, of which workers download those that they read. Messages name
the nearest folder that exists, and files that differ from a pattern in upper and lower case alone.
"""

from __future__ import annotations

import os
import re
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, product
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import AnnotationError, name_some
from ..remote import NEEDED, client_of, reason_of, status_of
from .content import is_hidden, version_of
from .downloads import AT_ONCE, RemoteFile, failures, new_stamp, parse_url, patiently, stamp_of

if TYPE_CHECKING:
    from obstore import ObjectMeta

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<path>:path)?")
_Found = tuple[Sequence[str], os.DirEntry[str] | Path]
"""Values of the placeholders of a file, and its entry."""


class Match(NamedTuple):
    """A file or pack that matches a pattern."""

    path: str
    """Absolute path."""
    name: str
    """Path relative to the root, with ``/``."""
    values: tuple[str, ...]
    """Values of the placeholders, in the order of :attr:`Pattern.names`."""
    size: int
    """Size in bytes; -1 for a broken link."""
    version: int
    """A number that changes with the file (`content.version_of`); 0 for a broken link."""


@dataclass
class MatchedFiles(Sequence[Match]):
    """Files that match a pattern, each of which becomes a `Match` on access: of a million files, few bytes are kept."""

    folder: str
    """What precedes the names in paths."""
    form: str
    """Names of files, with ``%s`` for values of placeholders."""
    order: Sequence[int]
    """Index of the placeholder of each of these values."""
    columns: tuple[list[str], ...]
    """Values of each placeholder of all files."""
    sizes: array[int] = field(default_factory=lambda: array("q"))
    versions: array[int] = field(default_factory=lambda: array("q"))
    otherwise: list[str] = field(default_factory=list)
    """Names of files that would match in other upper and lower case."""
    remote: Sequence[tuple[str, str]] = ()
    """Paths and names of files at URLs, whose paths depend on their contents."""

    def take(self, places: Iterable[int]) -> MatchedFiles:
        """Some of the files."""
        chosen = list(places)
        columns = tuple([column[place] for place in chosen] for column in self.columns)
        sizes, versions = (array("q", [every[place] for place in chosen]) for every in (self.sizes, self.versions))
        remote = [self.remote[place] for place in chosen] if self.remote else ()
        return MatchedFiles(self.folder, self.form, self.order, columns, sizes, versions, remote=remote)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return self.take(range(len(self))[place])
        values = tuple([column[place] for column in self.columns])
        if self.remote:
            return Match(*self.remote[place], values, self.sizes[place], self.versions[place])
        name = self.form % tuple([values[index] for index in self.order])
        return Match(self.folder + name, name, values, self.sizes[place], self.versions[place])


@dataclass(frozen=True)
class Pattern:
    """A path with placeholders.

    ``{name}`` matches one or more characters within one folder level; ``{name:path}`` may span several. A placeholder
    that occurs twice has the same value in both places. All other characters match themselves.

    Examples
    --------
    >>> Pattern("estimates/{system}/{track:path}.lab").names
    ('system', 'track')
    """

    text: str
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Names of the placeholders, each once, in order."""
    is_pack: bool = field(init=False, repr=False, compare=False)
    """Whether it is of packs of many tracks."""
    is_readings: bool = field(init=False, repr=False, compare=False)
    """Whether it is of files of readings; see :mod:`mirflow.readers.readings`."""

    def __post_init__(self) -> None:
        if os.sep != "/":
            object.__setattr__(self, "text", self.text.replace(os.sep, "/"))
        rest, placeholders = self.text, _PLACEHOLDER.findall(self.text)
        for inner in placeholders:
            if not _NAME.fullmatch(inner):
                message = f"invalid placeholder {{{inner}}} in {self.text!r}: write {{name}} or {{name:path}}"
                raise AnnotationError(message)
            rest = rest.replace(f"{{{inner}}}", "", 1)
        if "{" in rest or "}" in rest:
            raise AnnotationError(f"unbalanced braces in {self.text!r}")
        object.__setattr__(self, "names", tuple(dict.fromkeys(inner.partition(":")[0] for inner in placeholders)))
        object.__setattr__(self, "is_pack", self.text.endswith(".zarr"))
        object.__setattr__(self, "is_readings", self.text.endswith(".readings"))

    _whole = cached_property(lambda self: _regex(self.text, {}))

    def match(self, text: str) -> dict[str, str] | None:
        """Values of the placeholders in a text that matches as a whole; None for other texts.

        Examples
        --------
        >>> Pattern("{track}_tutti.mid").match("SQ01_tutti.mid"), Pattern("Algorithm {system}").match("nf1")
        ({'track': 'SQ01'}, None)
        """
        found = self._whole.fullmatch(text)
        return None if found is None else found.groupdict()

    def find(self, root: str | Path, *, whole_names: bool = False) -> MatchedFiles:
        """The matching files under `root`, sorted by name; each folder is listed once.

        Hidden files match only if the pattern itself begins with a dot. With `whole_names`, names are paths.
        """
        base = os.path.abspath(root)  # noqa: PTH100 - Path.resolve would follow links, and show other names
        parts = _PLACEHOLDER.split(re.sub("/+", "/", self.text))
        form = "%s".join(part.replace("%", "%%") for part in parts[::2])
        order = [self.names.index(inner.partition(":")[0]) for inner in parts[1::2]]
        absolute = self.text.startswith("/") or bool(os.path.splitdrive(self.text)[0])
        folder = "" if absolute else f"{base.rstrip('/')}/"
        if whole_names:
            folder, form = "", folder.replace("%", "%%") + form
        found = MatchedFiles(folder, form, order, tuple([] for _ in self.names))
        shared: dict[str, str] = {}
        for values, entry in self._descend(base, "", self.text.split("/"), {}, found.otherwise):
            for column, value in zip(found.columns, values, strict=True):
                column.append(shared.setdefault(value, value))
            try:
                status = entry.stat()
                size, version = status.st_size, version_of(status)
            except OSError:  # as of a broken link
                size, version = -1, 0
            found.sizes.append(size)
            found.versions.append(version)
        return found

    def _descend(
        self, base: str, above: str, steps: Sequence[str], bound: Mapping[str, str], otherwise: list[str]
    ) -> Iterator[_Found]:
        """The files in a folder, or below it, that match the remaining steps of the pattern, sorted by name.

        `above` precedes the names in the folder: its path below `base`, or its whole one, and a slash. The names of
        those that match in another case are added to `otherwise`.
        """
        step, others = steps[0], list[str]()
        last, hidden = len(steps) == 1, step.startswith(".")
        if ":path}" in step:  # all files below, for placeholders that span folder levels
            step = "/".join(steps)
            regex, folders, matching = _regex(step, bound), [""], list[tuple[str, _Found]]()
            while folders:
                folder = folders.pop()
                for entry in _entries(base, f"{above}{folder}"):
                    inner = f"{folder}{entry.name}"
                    found = None if is_hidden(entry.name) else regex.fullmatch(inner)
                    if found and is_folder(entry) == self.is_pack:
                        whole = {**bound, **found.groupdict()}
                        matching.append((inner, ([whole[placeholder] for placeholder in self.names], entry)))
                    elif entry.is_dir(follow_symlinks=False) and not is_hidden(entry.name):
                        folders.append(f"{inner}/")
                    elif found is None and not is_hidden(entry.name):
                        others.append(inner)
            yield from (found for _, found in sorted(matching, key=itemgetter(0)))
        elif not _PLACEHOLDER.search(step):  # its folder need not be listed
            inner = f"{above}{step}/" if step else above or "/"
            path = Path(base, inner)
            if not last and is_folder(path):
                yield from self._descend(base, inner, steps[1:], bound, otherwise)
            elif last and is_folder(path) == self.is_pack and os.path.lexists(path):
                yield [bound[placeholder] for placeholder in self.names], path
            elif above and not os.path.lexists(path):
                others = [entry.name for entry in _entries(base, above)]
        else:
            regex, values = _regex(step, bound), [bound.get(placeholder, "") for placeholder in self.names]
            places = [self.names.index(placeholder) for placeholder in regex.groupindex]
            entries = [entry for entry in _entries(base, above) if hidden or not is_hidden(entry.name)]
            # Sorted by their names and what follows them in a path.
            for entry in sorted(entries, key=lambda entry: entry.name if last else f"{entry.name}/"):
                found = regex.fullmatch(entry.name)
                if found is None:
                    others += [entry.name] if last else []
                elif not last and is_folder(entry):
                    below = {**bound, **found.groupdict()}
                    yield from self._descend(base, f"{above}{entry.name}/", steps[1:], below, otherwise)
                elif last and is_folder(entry) == self.is_pack:
                    for place, value in zip(places, found.groups(), strict=True):
                        values[place] = value
                    yield values, entry
        if others:  # compiling a pattern that ignores the case takes a hundred times as long
            regex = _regex(step.lower(), {placeholder.lower(): value.lower() for placeholder, value in bound.items()})
            otherwise += [f"{above}{other}" for other in others if regex.fullmatch(other.lower())]

    def hint(self, root: str | Path) -> str:
        """Hint for a pattern without matches: the deepest existing folder and its contents."""
        folder = Path(root)
        if not is_folder(folder):
            return f"the folder {str(folder)!r} does not exist"
        for step in self.text.split("/")[:-1]:
            if _PLACEHOLDER.search(step) or not is_folder(folder / step):
                break
            folder = folder / step
        try:
            names = sorted(entry.name + "/" * is_folder(entry) for entry in os.scandir(folder))
        except OSError as error:
            return f"the nearest folder that exists is {str(folder)!r}, which cannot be listed: {error.strerror}"
        held = f"it holds {name_some(names, most=4)}" if names else "it is empty"
        return f"the nearest folder that exists is {str(folder)!r}; {held}"


def describe_otherwise(matches: MatchedFiles, pattern: str) -> str:
    """Warning about files that differ from a pattern in upper and lower case alone; empty without any."""
    names = matches.otherwise
    if not names:
        return ""
    single = len(names) == 1
    count = "1 file differs" if single else f"{len(names)} files differ"
    stem, dot, suffix = pattern.rpartition(".")
    cased = names[0].lower().endswith(f".{suffix.lower()}") and not names[0].endswith(suffix)
    way = f", or write {stem}.{{format}}" if dot and cased and stem.endswith("}") else ""
    return (
        f"{count} from {pattern!r} in upper and lower case alone and {'is' if single else 'are'} not read, such as "
        f"{names[0]!r}: rename {'it' if single else 'them'}{way}"
    )


def group_by(matches: Sequence[Match], names: Sequence[str], key: str) -> list[tuple[dict[str, str], dict[str, Match]]]:
    """Group matches that differ only in the value of the placeholder `key`.

    Each group is the values of the other placeholders, and the matches by the value of `key`. `names` are the pattern's
    placeholders, in order.
    """
    place = list(names).index(key)
    kept = [name for name in names if name != key]
    groups: dict[tuple[str, ...], dict[str, Match]] = {}
    for match in matches:
        others = (*match.values[:place], *match.values[place + 1 :])
        groups.setdefault(others, {})[match.values[place]] = match
    return [(dict(zip(kept, values, strict=True)), group) for values, group in groups.items()]


def fill(pattern: str, values: Mapping[str, str]) -> str:
    """Replace some of the placeholders of a pattern with values."""
    for name, value in values.items():
        pattern = pattern.replace(f"{{{name}}}", value).replace(f"{{{name}:path}}", value)
    return pattern


def _entries(base: str, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(Path(base, folder)) as entries:
            return list(entries)
    except OSError as error:
        name = folder.rstrip("/") or folder or base
        raise AnnotationError(f"cannot list the folder: {error.strerror}", path=name) from None


def is_folder(entry: os.DirEntry[str] | Path) -> bool:
    """True for a folder; circular links and inaccessible entries count as files that cannot be read."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _regex(text: str, bound: Mapping[str, str]) -> re.Pattern[str]:
    parts: list[str] = []
    seen: set[str] = set()
    position = 0
    for found in _PLACEHOLDER.finditer(text):
        parts.append(re.escape(text[position : found.start()]))
        name, _, spanning = found[1].partition(":")
        if name in bound:
            parts.append(re.escape(bound[name]))
        elif name in seen:
            parts.append(f"(?P={name})")
        else:
            # Greedy: if a name can be split in several ways, the first placeholder takes the longest part.
            parts.append(f"(?P<{name}>.+)" if spanning else f"(?P<{name}>[^/]+)")
            seen.add(name)
        position = found.end()
    parts.append(re.escape(text[position:]))
    return re.compile("".join(parts), re.DOTALL)


class Candidates(NamedTuple):
    """Names with which a pattern is tried on a server that cannot list its files."""

    values: Mapping[str, Sequence[str]]
    """By placeholder."""
    remedies: Mapping[str, str]
    """How placeholders get names."""


def find_remote(pattern: Pattern, candidates: Candidates) -> MatchedFiles:
    """The files that match a pattern that is a URL, sorted by name; none of them is read.

    Raises `AnnotationError` if the URL is invalid, files are on a server and a placeholder has no candidates, or it
    cannot be reached.
    """
    url = parse_url(pattern.text)
    assert url is not None
    flaw = ""
    if "@" in url.host:
        flaw = "has a user name or a password, which stores would keep; leave it out"
    elif not url.host or not url.key or "{" in url.host:
        flaw = f"names no file; a URL has the form {url.kind}://{'HOST' if url.kind[0] == 'h' else 'BUCKET'}/PATH"
    elif url.kind.startswith("http") and ("?" in pattern.text or "#" in pattern.text):
        flaw = "has a query or a fragment, which files of a pattern do not have; leave it out"
    elif pattern.is_pack or pattern.is_readings:
        flaw = f"is a URL, and {'packs' if pattern.is_pack else 'files of readings'} are read from disk; download it"
    if flaw:
        raise AnnotationError(f"{flaw}: {re.sub('//[^/]*@', '//...@', pattern.text)!r}")
    failures.clear()  # files and hosts that have just failed are asked again, as a new run does
    try:
        client = client_of(url.kind, url.host)
    except ImportError:
        raise AnnotationError(f"{pattern.text!r} {NEEDED}") from None
    except Exception as error:  # obstore has no common class of errors for invalid settings
        raise AnnotationError(f"{pattern.text!r} cannot be read: {reason_of(error)}") from None
    is_listed = not url.kind.startswith("http") and bool(pattern.names)
    matches = _listed(client, url, pattern) if is_listed else _try(client, url, pattern, candidates)
    matches.sort(key=attrgetter("name"))
    columns = tuple([match.values[place] for match in matches] for place in range(len(pattern.names)))
    sizes, versions = array("q", [match.size for match in matches]), array("q", [match.version for match in matches])
    return MatchedFiles("", "", (), columns, sizes, versions, remote=[(match.path, match.name) for match in matches])


def _listed(client: Any, url: RemoteFile, pattern: Pattern) -> list[Match]:
    """The files in the listing of a bucket, from the folder before the first placeholder on."""
    import obstore

    steps, matcher, matches = url.key.split("/"), Pattern(url.key), list[Match]()
    fixed = next(place for place, step in enumerate(steps) if "{" in step)
    hidden = [is_hidden(step) for step in steps]
    try:
        for meta in chain.from_iterable(obstore.list(client, prefix="/".join(steps[:fixed]) or None)):
            values, own = matcher.match(meta["path"]), meta["path"].split("/")
            dots = hidden if len(own) == len(steps) else [False] * len(own)
            if values is not None and all(dot or not is_hidden(step) for step, dot in zip(own, dots, strict=True)):
                matches.append(_match(url, meta["path"], tuple(values[name] for name in matcher.names), meta))
    except Exception as error:
        raise AnnotationError(f"{pattern.text!r} cannot be listed: {reason_of(error)}") from None
    return matches


def _try(client: Any, url: RemoteFile, pattern: Pattern, candidates: Candidates) -> list[Match]:
    """Ask for each file that the pattern may name."""
    lacking = next((name for name in pattern.names if not candidates.values.get(name)), None)
    if lacking is not None:
        remedy = candidates.remedies.get(lacking, "use an object store, or download the files")
        raise AnnotationError(f"servers cannot be listed, so nothing says which {{{lacking}}} there are: {remedy}")
    values = list(product(*(dict.fromkeys(candidates.values[name]) for name in pattern.names)))
    keys = [fill(url.key, dict(zip(pattern.names, own, strict=True))) for own in values]

    def ask(number: int) -> Match | None:
        import obstore

        try:
            return _match(url, keys[number], values[number], patiently(lambda: obstore.head(client, keys[number])))
        except FileNotFoundError:
            return None
        except Exception as error:
            if number == 0 and not status_of(error):
                raise AnnotationError(f"{url.kind}://{url.host} cannot be read: {reason_of(error)}") from None
            # As a broken link: it fails where it is read, which the next run tries again.
            broken = RemoteFile(url.kind, url.host, keys[number], new_stamp())
            return Match(broken.path, broken.url, values[number], -1, -time.time_ns())

    from concurrent.futures import ThreadPoolExecutor

    first = ask(0)  # alone, so that a server that is down is waited for once
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [match for match in (first, *pool.map(ask, range(1, len(keys)))) if match is not None]


def _match(url: RemoteFile, key: str, values: tuple[str, ...], meta: ObjectMeta) -> Match:
    stamp = stamp_of(meta)
    file = RemoteFile(url.kind, url.host, key, stamp)
    return Match(file.path, file.url, values, meta["size"], int(stamp, 16) >> 1)
