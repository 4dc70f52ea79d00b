"""Rendering of pages: addresses on disk and on a server, templates, formats of values, and assets.

Names of assets have digests. Run times of systems are read and placed in a chart here.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.resources import files
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import numpy as np

from ...analysis.query_options import DEFAULT_LEVEL, say_level
from ...errors import MirflowError
from ...metrics.measures import SIGN_OF, to_bibtex
from ...reports.drawing import style_sheet
from ...reports.layout import show_value
from ...reports.leaderboard import RankedEvaluation
from ...reports.page.assembly import classic_script, report_link
from ...reports.standings import DECIMALS, ticks, to_html
from ...reports.tables import aggregate_in_words, plain_entry
from ...store.cells import is_device
from ..file import show_moment

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# Addresses of pages by name; a placeholder in braces is one segment of the path.
ADDRESSES: Mapping[str, str] = MappingProxyType(
    {
        "front": "/",
        "store": "/stores/{store}/",
        "store_json": "/stores/{store}.json",
        "evaluation": "/stores/{store}/{evaluation}/",
        "evaluation_json": "/stores/{store}/{evaluation}.json",
        "system": "/stores/{store}/{evaluation}/systems/{system}/",
        "tracks": "/stores/{store}/{evaluation}/tracks/",
        "track": "/stores/{store}/{evaluation}/tracks/{track}/",
        "all": "/all/",
        "search": "/search.js",
        "track_picture": "/stores/{store}/{evaluation}/tracks/{track}/lanes.png",
        "standings_picture": "/stores/{store}/{evaluation}/standings.png",
        "feed": "/feed.xml",
        "archive": "/archive/",
        "archive_json": "/archive.json",
        "asset": "/static/{name}",
        # Only on a server.
        "about": "/about",
        "submissions": "/submissions/",
        "new_submission": "/submissions/new",
        "submission_tracks": "/submissions/tracks/{split}/{evaluation}.txt",
        "submission": "/submissions/{submission}/",
        "submission_findings": "/submissions/{submission}/findings.csv",
        "submission_progress": "/submissions/{submission}/progress",
        "submission_visibility": "/submissions/{submission}/visibility",
        "submission_change": "/submissions/{submission}/changes/{split}/{evaluation}/{track}/{other}",
        "submission_withdraw": "/submissions/{submission}/withdraw",
        "submission_disqualify": "/submissions/{submission}/disqualify",
        "accounts": "/accounts/",
        "true_scores": "/true-scores/{split}/",
        "true_scores_csv": "/true-scores/{split}.csv",
        "grading": "/grading/",
        "new_round": "/grading/new",
        "round": "/grading/{round}/",
        "plan": "/grading/{round}/plan",
        "plan_step": "/grading/{round}/plan/{step}",
        "plan_file": "/grading/{round}/plan/files/{file}",
        "close_round": "/grading/{round}/close",
        "closed_tables": "/grading/{round}/closed.zip",
        "round_overview": "/grading/{round}/overview",
        "overview_json": "/grading/{round}/overview.json",
        "consent": "/grading/{round}/consent",
        "withdraw": "/grading/{round}/withdraw",
        "judgements": "/grading/{round}/judgements",
        "grading_events": "/grading/{round}/events",
        "query_audio": "/grading/{round}/audio/query/{page}",
        "candidate_audio": "/grading/{round}/audio/{assignment}",
        "audio": "/audio/{audio}",
        "peaks": "/audio/{audio}/peaks",
        "account": "/account",
        "set_mail": "/account/mail",
        "new_token": "/account/tokens",
        "revoke_token": "/account/revoke",
        "delete_account": "/account/delete",
        "logout": "/logout",
    }
)

_IMPORT = re.compile(rb'(\bfrom "\./)([\w.-]+\.js)(";)')
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_LONGEST = 120
_INDEX = "index.html"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@lru_cache(maxsize=2**16)
def slug(name: str, *, twin: bool = False) -> str:
    """Convert a name to a file name; different names have different results.

    Letters, digits, ``-``, ``_`` and most dots are kept; other characters become ``~`` and two hexadecimal digits for
    each byte of UTF-8. Reserved names are encoded from their first character on. Long names end in a digest, and so do
    names that differ from another one only in case (`twin`), as some file systems ignore case.

    Examples
    --------
    >>> slug("KO1"), slug("01 Ça/va.wav"), slug("..")
    ('KO1', '01~20~C3~87a~2Fva.wav', '~2E~2E')
    >>> slug("KO1", twin=True)
    'KO1~~4eb8f710a76c1f19c6362eb8a6e3ae6d'
    """
    data = name.encode("utf-8", "surrogatepass")
    ending = name.partition(".")[2].rpartition(".")[2]
    special = name.startswith(".") or is_device(name) or ending.lower() in ("json", "html")
    parts = [chr(byte) if chr(byte) in _PLAIN else f"~{byte:02X}" for byte in data]
    if special:
        parts[0] = f"~{data[0]:02X}"
    if len(parts) > 1 and parts[-1] == ".":
        parts[-1] = "~2E"
    text = "".join(parts)
    if len(text) <= _LONGEST and not twin:
        return text or "~"
    return f"{text[:_LONGEST]}~~{hashlib.sha256(data).hexdigest()[:32]}"


def twins(names: Iterable[str]) -> frozenset[str]:
    """Return names that differ from another one only in case."""
    distinct = set(names)
    counts = Counter(name.casefold() for name in distinct)
    return frozenset(name for name in distinct if counts[name.casefold()] > 1)


# Names that differ from another one only in case: by store, and under ``""`` those of stores.
Twins = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class LiveLinks:
    """Links on a server: paths from its root, names percent-encoded."""

    root: str = ""  # prefix of all paths, if a proxy serves the site below it: ``/results``

    def url(self, page: str, /, **parts: str) -> str:
        """Return the address of a page, relative to the host."""
        if page == "asset":
            parts = {"name": asset_name(parts["name"])}
        return self.root + ADDRESSES[page].format_map({key: quote(text, safe="") for key, text in parts.items()})


def file_of(page: str, /, twins: Twins = MappingProxyType({}), **parts: str) -> str:
    """Return the file of a page in a site's folder.

    `page`: name among :data:`ADDRESSES`.
    """
    stores, inner = twins.get("", frozenset()), twins.get(parts.get("store", ""), frozenset())
    slugs = {key: slug(text, twin=text in (stores if key == "store" else inner)) for key, text in parts.items()}
    path = ADDRESSES[page].format_map(slugs)[1:]
    return path + _INDEX if not path or path.endswith("/") else path


@dataclass(frozen=True)
class DiskLinks:
    """Relative links to files, so that a site works from disk and below any address."""

    here: str  # file of the page with the links
    twins: Twins = field(default_factory=dict)  # see :data:`Twins`
    root: str = ""  # path of the site on its host, for a page that is served at any address; empty: links are relative

    def url(self, page: str, /, **parts: str) -> str:
        """Return the address of a page, relative to the current one or to the host."""
        if page == "asset":
            parts = {"name": asset_name(parts["name"])}
        file = file_of(page, self.twins, **parts)
        if self.root:
            return self.root + file.removesuffix(_INDEX)
        target, here = file.split("/"), self.here.split("/")
        common = 0
        while common < min(len(target), len(here)) - 1 and target[common] == here[common]:
            common += 1
        # Slugs contain no characters that need quoting.
        return "../" * (len(here) - 1 - common) + "/".join(target[common:])


@cache
def read_asset(name: str) -> bytes:
    """Read a style sheet, script or picture."""
    folder = files(__package__).joinpath("assets")
    if name not in asset_names():
        raise KeyError(name)
    data = folder.joinpath(name).read_bytes()
    if name == "site.css":
        data = style_sheet(data.decode()).encode()
    if name == "tables.js":
        data = classic_script(data.decode()).encode()
    elif name.endswith(".js"):
        # Modules import each other by their names in addresses.
        data = _IMPORT.sub(lambda match: match[1] + asset_name(match[2].decode()).encode() + match[3], data)
    return data


@cache
def asset_names() -> tuple[str, ...]:
    """Names of the assets, without digests."""
    return tuple(sorted(path.name for path in files(__package__).joinpath("assets").iterdir() if path.is_file()))


@cache
def asset_name(name: str) -> str:
    """Return the name of an asset with the digest of its contents, so that it can be cached indefinitely."""
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}.{hashlib.sha256(read_asset(name)).hexdigest()[:12]}{dot}{suffix}"


Links = LiveLinks | DiskLinks  # addresses of pages as a page names them


@dataclass(frozen=True)
class Pages:
    """Templates with the links and the title of a site."""

    links: Links
    title: str
    live: bool = False  # whether the pages come from a server
    # Pages in the navigation, with the texts of their links.
    navigation: Sequence[tuple[str, str]] = (("front", "Results"),)
    note: str = ""  # footer of every page, such as the licence of the data
    home: str = ""  # full address of the site, for previews of links; empty: unknown

    def absolute(self, page: str, /, **parts: str) -> str:
        """Return the full address of a page; empty if that of the site is unknown."""
        links = self.links
        if isinstance(links, DiskLinks):
            path = file_of(page, links.twins, **parts)
        else:
            path = LiveLinks().url(page, **parts).removeprefix("/")
        return self.home and self.home + path

    def render(self, template: str, *, viewer: Mapping[str, str] | None = None, here: str = "", **context: Any) -> str:
        """Render a template. `viewer`: the viewer with ``name``, ``role`` and ``csrf``. `**context`: variables of the
        template; undefined ones are errors.
        """
        site = {
            "title": self.title,
            "live": self.live,
            "navigation": self.navigation,
            "note": self.note,
            "version": version("mirflow"),
            "citation": to_bibtex("mirflow", version=version("mirflow")),
        }
        words = {"site": site, "url": self.links.url, "viewer": viewer, "here": here, "notice": ""}
        address = self.home + self.links.here.removesuffix(_INDEX) if isinstance(self.links, DiskLinks) else ""
        words |= {"absolute": self.absolute, "address": address if self.home else ""}
        return environment().get_template(template).render({**words, **context})


@cache
def environment() -> Environment:
    """Return the environment of all templates: text is escaped, and undefined variables are errors."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        message = "pages of results need Jinja2: pip install 'mirflow[serve]', or '.[serve]' in a checkout"
        raise MirflowError(message) from error
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"report_link": report_link, "interval_level": say_level(DEFAULT_LEVEL)}
    environment.globals |= {"to_html": to_html, "runtimes_of": runtimes_of}
    environment.filters |= {
        "number": show_number,
        "exact": show_exact,
        "interval": show_ends,
        "day": show_day,
        "fact": show_fact,
        "aggregate": aggregate_in_words,
        "seconds": show_seconds,
        "gain": show_gain,
        "linked": link_text,
        "moment": show_moment,
    }
    return environment


def show_number(value: float | str | None, decimals: int | None = None) -> str:
    """Format a value for people; missing values become a dash.

    `decimals`: decimals of a rounded value; None: three.

    Examples
    --------
    >>> show_number(0.81234), show_number(None), show_number("inf"), show_number(0.8, decimals=2)
    ('0.812', '-', 'inf', '0.80')
    """
    number = np.nan if value is None else float(value)
    if not np.isfinite(number):
        return show_value(number, percent=False)
    return f"{number:z.{DECIMALS if decimals is None else decimals}f}"


def show_exact(value: float | str | None, decimals: int | None = None) -> Markup:
    """Format a value as `show_number`, with all its digits for tables that are copied, unless it is a rounded one.

    Examples
    --------
    >>> show_exact(0.81234), show_exact(0.8, decimals=2)
    (Markup('<data data-value="0.81234" title="0.81234">0.812</data>'), Markup('0.80'))
    """
    from markupsafe import Markup

    text = show_number(value, decimals)
    if decimals is not None or value is None or not np.isfinite(float(value)):
        return Markup.escape(text)
    return Markup('<data data-value="{0:.10g}" title="{0:.10g}">{1}</data>').format(float(value), text)


def show_ends(low: float | None, high: float | None) -> str:
    """Format an interval; empty if it is missing.

    Examples
    --------
    >>> show_ends(0.25, 0.5), show_ends(None, None)
    ('[0.250, 0.500]', '')
    """
    return "" if low is None or high is None else f"[{show_number(low)}, {show_number(high)}]"


def show_gain(value: float | None, decimals: int | None = None) -> str:
    """Format a difference with its sign; missing values become a dash.

    Examples
    --------
    >>> show_gain(0.01234), show_gain(-0.5), show_gain(0.01, decimals=2)
    ('+0.012', '-0.500', '+0.01')
    """
    return "-" if value is None else f"{value:+z.{DECIMALS if decimals is None else decimals}f}"


def show_fact(value: object, name: str = "") -> str:
    """Format the value of a coordinate; empty if missing.

    Examples
    --------
    >>> show_fact(2013.0), show_fact(None), show_fact("412", "runtime")
    ('2013', '', '412 s (6:52)')
    """
    seconds = seconds_of(value) if name.casefold() == RUNTIME else None
    if seconds is not None:
        return show_seconds(seconds)
    return "" if value is None else str(plain_entry(value))


def is_web_address(text: str) -> bool:
    """True if a text is the address of a web page, and can be a link.

    Examples
    --------
    >>> is_web_address("https://lab.org/a?b"), is_web_address("javascript:alert(1)"), is_web_address("https://a b")
    (True, False, False)
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not any(map(str.isspace, text))


def link_text(text: str) -> Markup:
    """Escape an untrusted text, and link it if it is a web address."""
    from markupsafe import Markup

    linked = '<a href="{0}" rel="nofollow noopener">{0}</a>' if is_web_address(text) else "{0}"
    return Markup(linked).format(text)


def show_day(time: str) -> str:
    """Format the date of a time in ISO 8601.

    Examples
    --------
    >>> show_day("2026-11-02T19:27:08+00:00")
    '2 Nov 2026'
    """
    day = dt.date.fromisoformat(time[:10])
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


RUNTIME = "runtime"  # coordinate of systems: seconds that each took for all tracks
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 548.0, 26.0, 218.0  # edges of the room for points in a chart of 560 by 250 pixels
_LETTER, _LINE, _DOT = 8.0, 12.0, 5.0  # width of a letter, height of a line and radius of a point, in pixels
_MOST_TICKS = 7
# Seconds that are ticks of a logarithmic axis, and their texts.
_ROUND_TIMES = (
    *((scale * step, f"{scale * step:g} s") for scale in (1e-3, 1e-2, 0.1, 1.0) for step in (1, 2, 5)),
    *((step, f"{step} s") for step in (10, 20)),
    *((60 * step, f"{step} min") for step in (1, 2, 5, 10, 20)),
    *((3600 * step, f"{step} h") for step in (1, 2, 5, 10)),
    *((86400 * scale * step, f"{scale * step} d") for scale in (1, 10, 100) for step in (1, 2, 5)),
)


def seconds_of(value: Any) -> float | None:
    """Read a run time in seconds; None for other texts.

    Examples
    --------
    >>> seconds_of("412"), seconds_of(0.5), seconds_of("3 h on a GPU"), seconds_of(-1)
    (412.0, 0.5, None, None)
    """
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    return seconds if 0 < seconds < math.inf else None


def show_seconds(seconds: float) -> str:
    """Format a run time with three digits, and as a clock from two minutes on.

    Examples
    --------
    >>> show_seconds(0.0512), show_seconds(41.27), show_seconds(4120)
    ('0.0512 s', '41.3 s', '4120 s (1:08:40)')
    """
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
    return f"{seconds:.0f} s ({clock})"


def runtimes_of(ranked: RankedEvaluation) -> SimpleNamespace | None:
    """Return the systems of an evaluation by run time and headline metric; None if fewer than two have both.

    Returns: ``points`` from the fastest system to the slowest, in pixels from the left and the top: each is ``best`` if
      no other is both better and faster, and has the middle and base line of its name as ``label``, None without room;
      ticks of the axes, ``times`` and ``values``; the names of the ``best``; and how many were ``left_out``.
    """
    headline = next(metric for metric in ranked.metrics if metric.name == ranked.headline)
    sign = SIGN_OF.get(headline.orientation, 0)
    timed = []
    for system in ranked.systems:
        seconds, value = seconds_of(system.metadata.get(RUNTIME)), system.scores[ranked.headline].value
        if seconds is not None and isinstance(value, float) and math.isfinite(value):
            timed.append((seconds, value, system.name))
    if len(timed) < 2 or not sign:
        return None
    timed.sort(key=lambda row: (row[0], -sign * row[1], row[2]))
    first, last = math.log(timed[0][0] / 1.3), math.log(timed[-1][0] * 1.3)
    within = [(seconds, text) for seconds, text in _ROUND_TIMES if first <= math.log(seconds) <= last]
    marked = within[:: 1 + len(within) // _MOST_TICKS]
    # Pixels from the left, by seconds; and below from the top, by value.
    along = {
        seconds: round(_LEFT + (_RIGHT - _LEFT) * (math.log(seconds) - first) / (last - first), 1)
        for seconds in (*(seconds for seconds, _ in marked), *(seconds for seconds, _, _ in timed))
    }
    times = [(along[seconds], text) for seconds, text in marked]
    least, most = min(value for _, value, _ in timed), max(value for _, value, _ in timed)
    room = 0.08 * (most - least) or 0.5 * abs(most) or 1.0
    low, high = least - room, most + room
    marks = ticks(low, high)
    upwards = {
        value: round(_BOTTOM - (_BOTTOM - _TOP) * (value - low) / (high - low), 1)
        for value in (*marks, *(value for _, value, _ in timed))
    }
    decimals = max(len(f"{value:.6g}".partition(".")[2]) for value in marks)
    places = {name: (along[seconds], upwards[value]) for seconds, value, name in timed}
    best: dict[str, float] = {}
    for _, value, name in timed:
        if sign * value > max(best.values(), default=-math.inf):
            best[name] = sign * value
    labels = _labels({name: places[name] for name in [*best, *places]})
    points = [
        SimpleNamespace(system=name, seconds=seconds, value=value, x=x, y=y, best=name in best, label=labels.get(name))
        for (seconds, value, name), (x, y) in zip(timed, places.values(), strict=True)
    ]
    values = [(upwards[value], f"{value:.{decimals}f}") for value in marks]
    left_out = len(ranked.systems) - len(timed)
    return SimpleNamespace(points=points, times=times, values=values, best=[*best], left_out=left_out)


def _labels(places: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Places of names above, below or beside their points, where they cover neither points nor names before."""
    boxes = [(x, y, _DOT, _DOT) for x, y in places.values()]
    labels = {}
    for name, (x, y) in places.items():
        wide, high = len(name) * _LETTER / 2, _LINE / 2
        over = min(max(x, wide), _RIGHT + 10 - wide)
        for middle, base in ((over, y - 10), (over, y + 19), (x + 9 + wide, y + 4), (x - 9 - wide, y + 4)):
            centre = base - 4
            inside = wide <= middle <= _RIGHT + 10 - wide
            if inside and all(abs(centre - b) >= high + h or abs(middle - a) >= wide + w for a, b, w, h in boxes):
                boxes.append((middle, centre, wide, high))
                labels[name] = round(middle, 1), round(base, 1)
                break
    return labels
