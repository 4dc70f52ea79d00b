"""The page of a report that a server sends: scores, timelines and recordings are fetched when they are looked at.

A server also gets pictures of tracks, the second at which a system is worst, and estimates as their files are now.
Parts that were asked for last are cached; several threads may ask for them at once.
"""

from __future__ import annotations

import base64
import html
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.util import find_spec
from threading import BoundedSemaphore, Lock
from typing import Any

from ...analysis.queries import ScoresLike
from ...analysis.scores import names_of
from ...annotations.annotation import Annotation
from ..drawing import style_sheet
from ..figures.page_pictures import draw_track
from ..figures.timeline import find_worst, has_time_axis
from ..origins import Roots, Shelf
from .assembly import fill_page, read_asset, script
from .contents import add_causes, add_doubts, cause_boards, describe_page, draw_first_screens, find_doubts, read_subject
from .data import Shown
from .embed import LEVEL, pack_json
from .timelines import CELLS, EvaluationOrigin, Timelines, add_evaluation, find_evaluation_files

ASSETS = {"report.js": "text/javascript", "report.css": "text/css"}
"""The files of the page and their media types; see `asset`."""
CACHE = 64_000_000
"""Bytes of parts and timelines that are kept, those that were asked for last."""
_DIAGNOSED = 100
"""Low cells of an evaluation whose causes are looked for when a page is first asked for: half a second."""
_ENTRY = 500
"""Bytes that an entry is counted as having beside its data."""


def asset(name: str) -> bytes:
    """One of `ASSETS`, the same for all pages of this version: a server may let it be kept under a digest's name."""
    makers: dict[str, Callable[[], str]] = {
        "report.js": script,
        "report.css": lambda: style_sheet(read_asset("page.css")),
    }
    return makers[name]().encode("utf-8")


class LivePage:
    """The page about a store, or about several as one, in parts that a server sends.

    A server makes one for each generation of a store and mounts it below the store's address::

        stores/NAME/                            shell()
        stores/NAME/report/contents.json        contents()         application/json
        stores/NAME/report/blocks/ADDRESS       block(ADDRESS)     application/octet-stream
        stores/NAME/report/tracks/TRACK.json    timeline(TRACK, metric=...)    application/json

    Shell and contents may be cached by the generation (`ETag`). Addresses of blocks begin with the generation, so that
    blocks never change and may be cached without limit; None means 404, as for a generation that was removed, and the
    page then asks its reader to reload it. Blocks are compressed (zlib) and no server needs to compress them again;
    contents and timelines are JSON that it should. Scripts and styles are `asset`; the page works under the policy
    ``default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self'``
    and needs ``img-src`` for nothing. All methods may be called by several threads at once; what several of them ask
    for is computed once, and one computation of intervals or of a timeline runs at a time.

    `store`, `metrics`, `root`, `title`, `where`: as for :func:`mirflow.reports.page.write_page`. A dataset that was cut
    before shows what it holds. `generation`: names what the store holds now: letters, digits, ``-`` and ``_``. `name`:
    what the store is called; None: as its folder. `references`: without them the page has neither timelines nor
    messages that may quote a reference. `only_aggregates`: whether no scores by track are sent, as for
    :func:`mirflow.reports.page.write_page`. `trusted`: whether the caller itself wrote the pipeline of the store, as a
    campaign does: its text is then followed as in a run of the user. `cache`: bytes of blocks and timelines that are
    kept. Raises `StoreError, QueryError, UnknownNameError`: as for :func:`mirflow.reports.page.write_page`.
    """

    def __init__(
        self,
        store: ScoresLike,
        generation: str,
        *,
        metrics: Sequence[str] = (),
        root: Roots = None,
        title: str | None = None,
        name: str | None = None,
        where: str | None = None,
        references: bool = True,
        only_aggregates: bool = False,
        trusted: bool = False,
        cache: int = CACHE,
    ) -> None:
        self._subject = read_subject(store, metrics, root, title, where, name, trusted)
        self._shown = Shown(references, by_track=not only_aggregates, aggregates=True, folders=False)
        self._parts = _Addresses(f"blocks/{generation}/")
        self.generation = generation
        self._recent = _Recent(cache)
        self._computing = BoundedSemaphore()
        self._able: dict[str, Sequence[str]] = {}
        self._tracks = frozenset(name for ds in self._subject.boards.values() for name in names_of(ds, "track"))

    def shell(
        self, assets: Mapping[str, str], contents: str = "report/contents.json", links: Sequence[tuple[str, str]] = ()
    ) -> str:
        """The page as HTML without data, scripts and styles.

        `assets`: address of each of `ASSETS`, from the page. `links` (sequence of (str, str)): words and addresses of
        other pages, in a bar on top.
        """
        title = html.escape(f"{self._subject.title} ({self._subject.name})")
        head = [
            f'<link rel="stylesheet" href="{html.escape(assets["report.css"])}">',
            f'<link rel="alternate" type="application/json" id="contents" href="{html.escape(contents)}">',
        ]
        tail = [f'<script type="module" src="{html.escape(assets["report.js"])}"></script>']
        return fill_page(title, head, tail, links, '<p aria-busy="true">Reading the results …</p>')

    def contents(self) -> bytes:
        """The contents that the page has at once, as JSON: names, meanings, and the values of its first tables."""
        return self._recent.get("contents", self._make_contents, keep=True)

    def block(self, address: str) -> bytes | None:
        """Scores, aggregates, intervals and messages, compressed; None: there is no such block.

        Parameters
        ----------
        address : str
            What follows ``blocks/``: the generation, then for instance ``0/3/score``: scores of the evaluation 0 by
            its metric 3.
        """
        generation, _, name = address.partition("/")
        self.contents()
        make = self._parts.makers.get(name)
        if make is None or generation != self.generation:
            return None

        def compress() -> bytes:
            with self._computing:
                return zlib.compress(make(), LEVEL)

        return self._recent.get(f"block {name}", compress)

    def timeline(self, track: str, metric: str = "", audio: str = "", peaks: str = "") -> bytes | None:
        """One track: its annotations, read now, and the evidence for its scores, of all evaluations, as JSON.

        Parameters
        ----------
        track : str
        metric : str
            The metric that judges items, in the evaluations that have it and where it can; else the first one that
            can.
        audio : str
            Address of the recording; empty: there is none, or none for this reader.
        peaks : str
            Address of its waveform: JSON with the seconds of a ``step``, and ``peaks``, Base64 of the lowest samples of
            all steps and then of the highest ones (int8); empty: it is drawn once the recording was decoded.

        Returns
        -------
        bytes or None
            None: there is no such track, or scores by track are not sent. Where annotations may not be shown or are
            gone, the track has none.
        """
        if not self._shown.by_track or track not in self._tracks:
            return None
        asked = metric if any(metric in names_of(ds, "metric") for ds in self._subject.boards.values()) else ""
        made = self._recent.get(f"track {asked} {track}", lambda: self._make_timeline(track, asked))
        return made[:-1] + b',"audio":' + pack_json(audio) + b',"peaks":' + pack_json(peaks) + b"}"

    def has_picture(self, evaluation: str, track: str) -> bool:
        """Whether a track has a picture: its annotations may be shown, are here, and have a time axis."""
        if not (self._shown.references and self._shown.by_track and evaluation in self._origins):
            return False
        files = [one for one in self._origins[evaluation].files if track in one.references]
        return any(has_time_axis(one.plan.task) for one in files) and find_spec("matplotlib") is not None

    def picture(self, evaluation: str, track: str) -> bytes | None:
        """Draw the reference and the systems of a track as PNG, with what is right and wrong by the headline metric.

        Returns
        -------
        bytes or None
            None: there is no such track, or it has no picture.
        """
        if not self.has_picture(evaluation, track):
            return None
        pipeline = self._subject.origins[0].pipeline
        return draw_track(self._subject.boards[evaluation], evaluation, track, root=pipeline)

    def worst_second(self, evaluation: str, track: str, system: str) -> float | None:
        """The second at which a system is worst on a track; None where annotations are not shown, or not judged."""
        if not self.has_picture(evaluation, track):
            return None
        pipeline = self._subject.origins[0].pipeline
        return find_worst(self._subject.boards[evaluation], evaluation, track, system, pipeline)

    def estimates(self, evaluation: str, track: str, systems: Sequence[str]) -> list[Annotation | None]:
        """Estimates of a track as their files have them now; None for those that are gone or not shown.

        Parameters
        ----------
        evaluation, track : str
        systems : sequence of str
        """
        shows = self._shown.references and self._shown.by_track and evaluation in self._origins
        files = self._origins[evaluation].files if shows else []
        shelf, found = Shelf(), []
        for system in systems:
            sources = (file.estimates.get(system, {}).get(track) for file in files)
            source = next((one for one in sources if one is not None), None)
            read = None if source is None else shelf.read(source)
            found.append(read if isinstance(read, Annotation) else None)
        return found

    @cached_property
    def _origins(self) -> dict[str, EvaluationOrigin]:
        return {name: find_evaluation_files(name, self._subject.origins) for name in self._subject.boards}

    def _make_contents(self) -> bytes:
        from ..causes import diagnose_boards  # which imports all that scores

        subject, shown = self._subject, self._shown
        # For readers, who cannot change it and need no paths.
        secret, gone = (
            "The references of these tracks are not public.",
            "The annotations of these tracks are not on this server.",
        )
        notes = (
            ["" if self._origins[name].files else gone for name in subject.boards]
            if shown.references
            else [secret] * len(subject.boards)
        )
        timelines = [{"rules": [], "able": [], "note": note} for note in notes]
        contents = describe_page(subject, timelines, self._parts, shown)
        if shown.references and shown.by_track:
            add_doubts(contents, find_doubts(subject, self._origins, most=CELLS), self._parts)
            boards = cause_boards(subject, self._origins, self._tracks)
            add_causes(contents, diagnose_boards(boards, Shelf().read, _DIAGNOSED))
            for number, (name, ds) in enumerate(subject.boards.items()):
                if self._origins[name].files and ds.sizes["system"] * ds.sizes["track"] <= CELLS:
                    part = self._parts.put(f"{number}/errors", partial(self._pack_errors, name))
                    contents["evaluations"][number]["errors"] = [["", part, True]]
        draw_first_screens(contents, subject, shown)
        first = {
            f"{number}/{metric}/values" for number, one in enumerate(contents["evaluations"]) for metric in one["main"]
        }
        ahead = {
            self._parts.prefix + name: base64.b64encode(zlib.compress(self._parts.makers[name](), LEVEL)).decode()
            for name in sorted(first)
        }
        return pack_json({**contents, "ahead": ahead, "tracks": "tracks/"})

    def _pack_errors(self, name: str) -> bytes:
        """The errors of an evaluation by the first metric that judges, from all of its annotations."""
        timelines, shelf = Timelines(), Shelf()
        ds = self._subject.boards[name]
        for track in names_of(ds, "track"):
            self._add(timelines, name, self._origins[name], track, "", shelf)
        for rule, lists in timelines.errors[0].items():
            if told := lists.describe(rule):
                return pack_json(told)
        return pack_json(None)

    def _make_timeline(self, track: str, metric: str) -> bytes:
        with self._computing:
            timelines, shelf = Timelines(), Shelf()
            for name, ds in self._subject.boards.items() if self._shown.references else ():
                origin = self._origins[name]
                drawn = bool(origin.files) and track in names_of(ds, "track")
                made = self._add(timelines, name, origin, track, metric, shelf) if drawn else {"rules": [], "able": []}
                timelines.evaluations.append({**made, "note": ""})
        found, rules = timelines.tracks.get(track), timelines.evaluations
        described: dict[str, Any] = found.described() if found else {"annotations": [], "evaluations": []}
        described["evaluations"] = [
            [number, {**one, "rules": rules[number]["rules"], "able": rules[number]["able"]}]
            for number, one in described["evaluations"]
        ]
        words = {"vocabulary": timelines.vocabulary.entries(), "verdicts": list(timelines.verdicts)}
        return pack_json({**described, **words})

    def _add(
        self, timelines: Timelines, name: str, origin: EvaluationOrigin, track: str, metric: str, shelf: Shelf
    ) -> dict[str, Any]:
        """Add an evaluation, judged by a metric where it can; which ones can is known from the first track on."""
        ds = self._subject.boards[name]
        systems, metrics = names_of(ds, "system"), names_of(ds, "metric")
        asked = [metric] if metric in metrics else []
        first = names_of(ds, "metric", self._subject.first[name])
        others, able = [*dict.fromkeys([*first, *metrics])], self._able.get(name, ())
        made = add_evaluation(timelines, systems, origin, [track], asked, others, shelf, able=able)
        if made["able"]:
            self._able.setdefault(name, made["able"])
        return made


@dataclass(frozen=True)
class _Addresses:
    """The parts of a page by their addresses, made when they are asked for."""

    prefix: str
    makers: dict[str, Callable[[], bytes]] = field(default_factory=dict)

    def put(self, name: str, make: Callable[[], bytes]) -> str:
        self.makers[name] = make
        return self.prefix + name


class _Recent:
    """Data that were asked for last, up to a size; what several threads ask for at once is made once."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._made: OrderedDict[str, Future[bytes]] = OrderedDict()
        self._kept: set[str] = set()
        self._lock = Lock()

    def get(self, key: str, make: Callable[[], bytes], *, keep: bool = False) -> bytes:
        """Return a cached value or make it; with `keep` it stays cached whatever its size."""
        with self._lock:
            future = self._made.get(key)
            own = future is None
            if future is None:
                future = self._made[key] = Future()
                self._kept |= {key} if keep else set()
            self._made.move_to_end(key)
        if not own:
            return future.result()
        try:
            made = make()
        except BaseException as error:
            with self._lock:
                del self._made[key]
            future.set_exception(error)
            raise
        future.set_result(made)
        with self._lock:
            self._size += len(made) + _ENTRY
            droppable = [one for one, other in self._made.items() if other.done() and one not in self._kept]
            for one in droppable:
                if self._size <= self._most:
                    break
                self._size -= len(self._made.pop(one).result()) + _ENTRY
        return made
