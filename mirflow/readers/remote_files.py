"""Files that match a pattern on an HTTP server or in an object store; workers download them when they read them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import AnnotationError
from ..remote import NEEDED, client_of, reason_of, status_of
from .content import is_hidden
from .downloads import AT_ONCE, RemoteFile, forget_failures, new_stamp, parse_url, patiently, stamp_of
from .patterns import Match, Pattern, fill

if TYPE_CHECKING:
    from obstore import ObjectMeta


class Candidates(NamedTuple):
    """Names with which a pattern is tried on a server that cannot list its files."""

    values: Mapping[str, Sequence[str]]
    """By placeholder."""
    remedies: Mapping[str, str]
    """How placeholders get names."""


def find_remote(pattern: Pattern, candidates: Candidates) -> list[Match]:
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
    forget_failures()
    try:
        client = client_of(url.kind, url.host)
    except ImportError:
        raise AnnotationError(f"{pattern.text!r} {NEEDED}") from None
    except Exception as error:  # obstore has no common class of errors for invalid settings
        raise AnnotationError(f"{pattern.text!r} cannot be read: {reason_of(error)}") from None
    if url.kind.startswith("http") or not pattern.names:
        found = _try(client, url, pattern, candidates)
    else:
        found = list(_list(client, url, pattern))
    return sorted(found, key=lambda match: match.name)


def _list(client: Any, url: RemoteFile, pattern: Pattern) -> Iterator[Match]:
    """Look for the files in a listing of the bucket, from the folder before the first placeholder on."""
    import obstore

    steps, matcher = url.key.split("/"), Pattern(url.key)
    fixed = next(place for place, step in enumerate(steps) if "{" in step)
    hidden = [is_hidden(step) for step in steps]
    try:
        for batch in obstore.list(client, prefix="/".join(steps[:fixed]) or None):
            for meta in batch:
                values = matcher.match(meta["path"])
                own = meta["path"].split("/")
                dots = hidden if len(own) == len(steps) else [False] * len(own)
                shown = all(dot or not is_hidden(step) for step, dot in zip(own, dots, strict=True))
                if values is not None and shown:
                    yield _match(url, meta["path"], tuple(values[name] for name in matcher.names), meta)
    except Exception as error:
        raise AnnotationError(f"{pattern.text!r} cannot be listed: {reason_of(error)}") from None


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
        return [one for one in (first, *pool.map(ask, range(1, len(keys)))) if one is not None]


def _match(url: RemoteFile, key: str, values: tuple[str, ...], meta: ObjectMeta) -> Match:
    stamp = stamp_of(meta)
    file = RemoteFile(url.kind, url.host, key, stamp)
    return Match(file.path, file.url, values, meta["size"], int(stamp, 16) >> 1)
