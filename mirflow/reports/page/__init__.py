"""One self-contained HTML page about stores: tables, distributions, tracks, and timelines with audio."""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from ...analysis.evaluations import Scored
from ...analysis.scores import by_annotator, has_annotators, names_of
from ...analysis.selection import find_metrics, restrict
from ...annotations.schema import kind_of
from ...errors import MirflowError, QueryError, UnknownNameError
from ...metrics.base import has_task
from ...progress import Progress
from ...store.generations import write_atomically
from ..origins import Origin, Roots, Shelf, page_title, read_origins, store_names
from .data import describe_evaluation, describe_stores, describe_words, main_metrics
from .embed import CompressedParts, to_json
from .timelines import BYTES, CELLS, Timelines, add_evaluation, tracks_wanted

if TYPE_CHECKING:
    import xarray as xr

STDOUT = "-"


def check_output(output: Path) -> None:
    """Refuse an output that cannot be written, before the work begins.

    Raises
    ------
    QueryError
        For a folder, or a file in a folder that is not there.
    """
    if str(output) == STDOUT:
        return
    if output.is_dir():
        raise QueryError(f"{output}: is a folder; name a file, such as {output / 'report.html'}")
    if not output.parent.is_dir():
        raise QueryError(f"{output}: there is no folder {str(output.parent)!r}")


def write_output(output: Path, data: bytes) -> None:
    """Write a page; a device or a pipe is written to and not replaced, a link stays one."""
    if str(output) == STDOUT:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    elif output.exists() and not output.is_file():
        with output.open("wb") as file:
            file.write(data)
    else:
        write_atomically(Path(os.path.realpath(output)), data)


_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|async function|class) (\w+))", re.MULTILINE)
_ASSETS = "assets"
START = "main"


def read_asset(name: str) -> str:
    """The text of one of the page's own files."""
    return files(__package__).joinpath(_ASSETS, name).read_text(encoding="utf-8")


def order_modules(sources: Mapping[str, str], start: str = START) -> list[str]:
    """Order the modules that a module needs, each after those that it needs itself.

    Raises
    ------
    ValueError
        If modules import each other in a circle.

    Examples
    --------
    >>> order_modules({"main": 'import { a } from "./a.js";\\n', "a": ""})
    ['a', 'main']
    """
    ordered: list[str] = []
    pending: list[str] = []

    def visit(name: str) -> None:
        if name in ordered:
            return
        if name in pending:
            raise ValueError(f"modules import each other: {' -> '.join([*pending, name])}")
        pending.append(name)
        for _, needed in _IMPORT.findall(sources[name]):
            visit(needed)
        pending.pop()
        ordered.append(name)

    visit(start)
    return ordered


def join_modules(sources: Mapping[str, str], start: str = START) -> str:
    """Join modules to one script, each in a scope of its own.

    Examples
    --------
    >>> print(join_modules({"main": 'import { a } from "./b.js";\\na();', "b": "export function a() {}"}))
    const module_b = (() => {
    function a() {}
    return { a };
    })();
    const module_main = (() => {
    const { a } = module_b;
    a();
    return {  };
    })();
    """
    joined = []
    for name in order_modules(sources, start):  # each is a function that runs at once and gives what it exports
        exported = ", ".join(_EXPORT.findall(sources[name]))
        body = _EXPORT.sub("", _IMPORT.sub(r"const \1 = module_\2;", sources[name])).strip("\n")
        joined.append(f"const module_{name} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();")
    return "\n".join(joined)


def script() -> str:
    """The page's script."""
    folder = files(__package__).joinpath(_ASSETS)
    names = sorted(one.name.removesuffix(".js") for one in folder.iterdir() if one.name.endswith(".js"))
    return join_modules({name: read_asset(f"{name}.js") for name in names})


def assemble(title: str, contents: str, blocks: Sequence[str]) -> str:
    """Put the page together.

    Parameters
    ----------
    title : str
        Plain text that was escaped for HTML.
    contents : str
        JSON that was made fit to stand in a page.
    blocks : sequence of str
        Base64.
    """
    own_script, own_style = script(), read_asset("page.css")
    digests = (hashlib.sha256(text.encode()).digest() for text in (own_script, own_style))
    allowed = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    sources = "; ".join(f"{what}-src {own}" for what, own in zip(("script", "style"), allowed, strict=True))
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    data = "\n".join(
        f'<script type="text/plain" id="block-{number}">{text}</script>' for number, text in enumerate(blocks)
    )
    parts = {"title": title, "policy": policy, "style": own_style, "contents": contents, "blocks": data}
    return Template(read_asset("page.html")).substitute(parts, script=own_script)


TIMELINES = ("auto", "all", "worst", "none")


@dataclass(frozen=True)
class PageReport:
    """Result of writing a page; it may be used as the page's path.

    Parameters
    ----------
    path : Path
    size : int
        Bytes.
    tracks : int
        Tracks with a timeline.
    notes : tuple of str
        Reason why there are not more.
    """

    path: Path
    size: int
    tracks: int
    notes: tuple[str, ...]

    def __fspath__(self) -> str:
        return str(self.path)


def write_page(
    store: Scored,
    output: str | Path,
    *,
    timelines: str | int = "auto",
    metrics: Sequence[str] = (),
    root: Roots = None,
    title: str | None = None,
    references: bool = True,
    where: str | None = None,
    progress: Progress | None = None,
) -> PageReport:
    """Write a page about a result store, or about several as one.

    Parameters
    ----------
    store : path, sequence of paths, mapping of labels to paths, xr.DataTree or xr.Dataset
        Several stores are joined as :func:`mirflow.open_store` does it.
    output : path
        The HTML file; one that is there is replaced. ``-``: standard output.
    timelines : {"auto", "all", "worst", "none"} or int
        Which tracks can be looked at and listened to: all, the 20 of each evaluation that are worst or most disputed,
        none, or so many. ``auto``: as many as 5,000 cells and 8 MB hold, the worst and most disputed ones first.
    metrics : sequence of str
        What the page shows first, and what timelines are judged by; default: one of each evaluation.
    root : path, sequence of paths, or None
        The folder of the annotations, where they are no longer where they were; of several stores one for all of them
        or one for each.
    title : str or None
        None: what was evaluated, and how many systems and tracks there are.
    references : bool
        Whether the annotations that the page holds include the references. Without them timelines show the estimates
        alone, nothing is judged item by item, and messages that may quote a reference are left out; scores stay.
    where : str or None
        Only tracks for which an expression holds, as in a query; the page names it. An evaluation that has none, or
        not what the expression names, is left out.
    progress : Progress or None
        Told of the stages, and of each track whose timeline is drawn.

    Returns
    -------
    PageReport

    Raises
    ------
    StoreError
        If there is no such store.
    QueryError
        If there are no scores in it, stores cannot be joined, `timelines` is none of the choices, or the output cannot
        be written, `where` is not an expression, or no track is so.
    UnknownNameError
        For a metric, or a name in `where`, that no evaluation has.
    """
    wanted = str(timelines)
    if wanted not in TIMELINES and not wanted.isdecimal():
        raise QueryError(f"timelines {wanted!r}: choose one of {', '.join(TIMELINES)}, or a number of tracks")
    check_output(Path(output))
    with progress or Progress() as shown:
        shown.stage("reading the scores")
        boards, origins = read_origins(store, root)
        # As in the pipeline files, where they are known; what these no longer name comes last.
        planned = [name for one in origins for name in one.plans]
        boards = {name: boards[name] for name in dict.fromkeys([*planned, *boards]) if name in boards}
        boards, left_out = (boards, ()) if where is None else _restrict(boards, where)
        asked = _asked(boards, metrics)
        first = {name: main_metrics(ds, asked[name]) for name, ds in boards.items()}
        drawn = _draw(boards, asked, first, wanted, origins, references, shown)
        shown.stage("writing the page")
        blocks = CompressedParts()
        evaluations = _describe(boards, first, drawn, blocks, origins, references)
        places, dropped = _pack(drawn, blocks, BYTES if wanted == "auto" else None)
        name = store_names(store)
        heading = title or page_title(boards)
        contents = {
            "title": heading,
            "name": name,
            "where": where or "",
            "mirflow": version("mirflow"),
            "stores": [
                {"name": one.name, "pipeline": str(next(iter(one.boards.values())).attrs.get("pipeline", ""))}
                for one in origins
            ],
            "evaluations": evaluations,
            "vocabulary": blocks.add_json(drawn.vocabulary.entries()),
            "verdicts": list(drawn.verdicts),
            **describe_words(),
            "timelines": places,
        }
        about = f"{name}, where {where}" if where else name
        tab = title or f"{heading} ({about})"
        data = assemble(html.escape(tab), to_json(contents), blocks.texts).encode("utf-8")
        write_output(Path(output), data)
    notes = (*left_out, *dict.fromkeys(one["note"] for one in drawn.evaluations if one["note"]))
    if dropped:
        some = "timeline of 1 more track" if dropped == 1 else f"timelines of {dropped} more tracks"
        notes += (f"The {some} would make the page larger than it should be.",)
    return PageReport(Path(output), len(data), len(places), notes)


def _describe(
    boards: Mapping[str, xr.Dataset],
    first: Mapping[str, list[int]],
    timelines: Timelines,
    blocks: CompressedParts,
    origins: Sequence[Origin],
    references: bool,
) -> list[dict[str, Any]]:
    """All evaluations for the page, with what there is to say of their timelines."""
    evaluations = []
    for (name, ds), timeline in zip(boards.items(), timelines.evaluations, strict=True):
        made = describe_evaluation(name, ds, first[name], blocks, references=references)
        kind = kind_of(made["task"]).name if has_task(made["task"]) else ""
        stores = describe_stores(name, origins)
        evaluations.append({**made, "stores": stores, "timeline": {**timeline, "kind": kind}})
    # Timelines are found by the numbers of the evaluations, so that these stand behind all of them.
    for number, (name, ds) in enumerate(boards.items()):
        if has_annotators(ds):
            named = f"{name} by annotator", by_annotator(ds), first[name], blocks
            made = describe_evaluation(*named, inference=False, references=references)
            known = evaluations[number]
            evaluations.append({**made, "stores": known["stores"], "timeline": {**known["timeline"], "of": number}})
    return evaluations


def _restrict(boards: Mapping[str, xr.Dataset], where: str) -> tuple[dict[str, xr.Dataset], tuple[str, ...]]:
    """The evaluations of the tracks for which an expression holds, and why others are left out."""
    found: dict[str, xr.Dataset] = {}
    lacking: dict[str, MirflowError] = {}
    for name, ds in boards.items():
        try:
            part = restrict(ds, where)
        except (UnknownNameError, QueryError) as error:
            lacking[name] = error
            continue
        if part.sizes["track"]:
            found[name] = part
        else:
            lacking[name] = QueryError(f"where {where!r}: no track is so")
    if not found:
        # What is nearest to an answer says most: a coordinate without this value, then a name that is near another.
        errors = sorted(
            lacking.values(), key=lambda error: (not str(error).endswith("is so"), type(error) is QueryError)
        )
        raise errors[0]
    return found, tuple(f"{name}: left out: {error}" for name, error in lacking.items())


def _asked(boards: Mapping[str, xr.Dataset], metrics: Sequence[str]) -> dict[str, list[str]]:
    """The metrics that were named, as each evaluation that has them names them."""
    asked: dict[str, list[str]] = {name: [] for name in boards}
    for metric in metrics:
        known = False
        for name, ds in boards.items():
            try:
                asked[name] += names_of(ds, "metric", find_metrics(ds, metric))
                known = True
            except UnknownNameError:
                continue
            except QueryError as error:
                hint = "the page shows it below the tables; name one that is one number a track"
                raise QueryError(f"{str(error).partition(';')[0]}; {hint}") from None
        if not known:
            raise UnknownNameError(
                "metric", metric, {label for ds in boards.values() for label in names_of(ds, "metric")}
            )
    return asked


def _draw(
    boards: Mapping[str, xr.Dataset],
    asked: Mapping[str, Sequence[str]],
    first: Mapping[str, Sequence[int]],
    wanted: str,
    origins: Sequence[Origin],
    references: bool,
    progress: Progress,
) -> Timelines:
    """Timelines of all evaluations whose annotations are still there."""
    timelines, shelf = Timelines(), Shelf()
    cells = sum(ds.sizes["system"] * ds.sizes["track"] for ds in boards.values())
    for name, ds in boards.items():
        files = [made for made in (one.files(name) for one in origins) if made is not None]
        note = " ".join(filter(None, (one.reason(name) for one in origins)))
        if wanted == "none":
            note = "Timelines were not asked for."
        elif files and kind_of(files[0].plan.task).name == "audio":
            note = "Recordings are not drawn."
        elif files:
            systems, shown = names_of(ds, "system"), first[name]
            tracks = tracks_wanted(ds, shown[0] if shown else 0, wanted, CELLS / max(CELLS, cells))
            others = names_of(ds, "metric", dict.fromkeys([*shown, *range(ds.sizes["metric"])]))
            lost = [
                f"{one.prefix}{own}"
                for one in origins
                if one.reason(name)
                for own in names_of(one.boards[name], "system")
            ]
            progress.start(len(tracks))
            metrics = asked[name], others
            add_evaluation(
                *(timelines, systems, files, tracks, metrics, shelf, lost), references=references, progress=progress
            )
            if len(tracks) < ds.sizes["track"]:
                some = f"Timelines of {len(tracks)} of {ds.sizes['track']} tracks: the worst and the most disputed."
                note = f"{some} {note}".strip()
            timelines.evaluations[-1]["note"] = note
            continue
        timelines.evaluations.append({"rules": [], "able": [], "note": note})
    return timelines


def _pack(timelines: Timelines, blocks: CompressedParts, most: int | None) -> tuple[list[tuple[str, int]], int]:
    """The block of each track, and how many were left out because the page would become too large."""
    places: list[tuple[str, int]] = []
    size = 0
    for name, track in timelines.tracks.items():
        number, more = blocks.add_new_json(
            {"annotations": track.annotations, "evaluations": list(track.evaluations.items())}
        )
        if most is not None and size + more > most:
            blocks.drop_newest()
            continue
        size += more
        places.append((name, number))
    return places, len(timelines.tracks) - len(places)
