"""One self-contained HTML page about stores: tables, distributions, tracks, and timelines with audio.

Causes of low scores, doubted references and, if asked for, losses by kind of errors are added here. By default,
timelines that would make the page too large are left out, which a note says.
"""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...analysis.queries import ScoresLike
from ...analysis.query_options import Names, as_names
from ...analysis.scores import names_of
from ...errors import MirflowError, QueryError
from ...plugins import import_module
from ...progress import Progress, progress_of
from ...store.generations import write_atomically
from ..origins import Roots, Shelf
from .assembly import assemble
from .contents import (
    Subject,
    add_causes,
    add_doubts,
    add_errors,
    cause_boards,
    describe_page,
    draw_first_screens,
    find_doubts,
    infer,
    read_subject,
)
from .data import Shown
from .embed import CompressedParts, compress, pack_json
from .first_screen import first_html
from .timelines import (
    BYTES,
    CELLS,
    COUNTED,
    EvaluationOrigin,
    Timelines,
    add_evaluation,
    check_timelines,
    find_evaluation_files,
    tracks_wanted,
)

STDOUT = "-"


@dataclass(frozen=True)
class PageReport:
    """Result of writing a page; it may be used as the page's path."""

    path: Path
    size: int
    """Bytes."""
    timelines: frozenset[str]
    """Tracks with a timeline."""
    notes: tuple[str, ...]
    """Reason why there are not more."""

    @property
    def tracks(self) -> int:
        """Number of tracks with a timeline."""
        return len(self.timelines)

    def __fspath__(self) -> str:
        return str(self.path)


def write_page(
    store: ScoresLike,
    output: str | Path,
    *,
    timelines: str | int = "auto",
    metrics: Sequence[str] = (),
    root: Roots = None,
    title: str | None = None,
    references: bool = True,
    only_aggregates: bool = False,
    where: str | None = None,
    budget: bool = False,
    links: Sequence[tuple[str, str]] = (),
    progress: Progress | None = None,
    guarded: bool = False,
) -> PageReport:
    """Write a page about a result store, or about several as one.

    `store`: several stores are joined as :func:`mirflow.open_store` does it. `output`: the HTML file; one that is there
    is replaced. ``-``: standard output. `timelines` ({"auto", "all", "worst", "none"} or int): which tracks can be
    looked at and listened to: all, the 20 of each evaluation that are worst or most disputed, none, or so many.
    ``auto``: as many as 5,000 cells and 4 MB hold, the worst and most disputed ones first. `metrics`: what the page
    shows first, and what timelines are judged by; default: one of each evaluation. `root`: the folder of the
    annotations, where they are no longer where they were; of several stores one for all of them or one for each.
    `title`: None: the task and the numbers of systems and tracks. `references`: whether the annotations that the page
    holds include the references. Without them timelines show the estimates alone, nothing is judged item by item, and
    messages that may quote a reference are left out; scores stay. `only_aggregates`: whether the page holds aggregates
    over all tracks alone: no track by name, no score by track, no timeline, no message about a single file, no pipeline
    file. Of missing scores it has the usual policy only, as the difference between two would be scores of single
    tracks. `where`: only tracks for which an expression holds, as in a query; the page names it. An evaluation that has
    none, or not what the expression names, is left out. `budget`: whether the losses of the main metric by kinds of
    errors are computed and shown: see :func:`mirflow.budget`. `links` (sequence of (str, str)): words and addresses of
    pages to which this one belongs; above its title. `progress`: told of the stages, and of each track whose timeline
    is drawn. `guarded`: whether a worker process may be started, as by :func:`mirflow.run`. Raises `StoreError` if
    there is no such store. Raises `QueryError` without scores, if stores cannot be joined, `timelines` is none of the
    choices, or the output cannot be written, `where` is not an expression, or no track is so. Raises
    `UnknownNameError` for a metric, or a name in `where`, that no evaluation has.
    """
    wanted, path = check_timelines(timelines), Path(output)
    if str(path) != STDOUT:  # refused before the work begins
        if path.is_dir():
            raise QueryError(f"{path}: is a folder; name a file, such as {path / 'report.html'}")
        if not path.parent.is_dir():
            raise QueryError(f"{path}: cannot find the folder {str(path.parent)!r}")
    with progress or Progress() as reported:
        reported.stage("reading the scores")
        subject = read_subject(store, metrics, root, title, where)
        if budget:
            reported.stage("scoring mended estimates")
            subject = _with_budgets(subject, store, root)
        shown = Shown(references, by_track=not only_aggregates, aggregates=only_aggregates)
        contents, blocks, notes = _describe(subject, wanted, shown, guarded, reported)
        about = f"{contents['called']}, where {where}" if where else contents["called"]
        tab, first = html.escape(title or f"{subject.title} ({about})"), first_html(contents)
        data = assemble(tab, pack_json(contents).decode(), list(blocks.texts), links, *first).encode("utf-8")
        if str(path) == STDOUT:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
        elif path.exists() and not path.is_file():  # a device or a pipe is written to and not replaced
            with path.open("wb") as file:
                file.write(data)
        else:
            write_atomically(Path(os.path.realpath(path)), data)  # a link stays one
    return PageReport(path, len(data), frozenset(name for name, _ in contents["timelines"]), notes)


def _describe(
    subject: Subject, wanted: str, shown: Shown, guarded: bool, progress: Progress
) -> tuple[dict[str, Any], CompressedParts, tuple[str, ...]]:
    """The contents of a page, its parts, and why it has not more."""
    from ..causes import find_beside  # which imports all that scores

    shelf, chosen = Shelf(), _choose(subject, wanted, shown)
    files = {name: origin for name, (origin, _) in chosen.items()}
    tracks = {
        track
        for origin, names in chosen.values()
        for track in names
        if any(track in one.references for one in origin.files)
    }
    judged = cause_boards(subject, files, tracks) if shown.references and tracks else []
    doubts = find_doubts(subject, files, tracks) if judged else []
    makers = list(dict.fromkeys(filter(None, doubts)))
    # Beside this thread, one for what is mostly done by numpy and zlib, which let others work.
    with find_beside(judged, makers, shelf, guarded) as causes_and_doubts, ThreadPoolExecutor(1) as beside:
        inference = beside.submit(infer, subject)
        drawn = _draw(subject, chosen, shown, shelf, progress)
        texts = beside.map(compress, (pack_json(track.described()) for track in drawn.tracks.values()))
        progress.stage("writing the page")
        blocks = CompressedParts()
        contents = describe_page(subject, drawn.evaluations, blocks, shown, inference.result())
        errors = add_errors(contents, drawn.errors if judged else {}, blocks)
        progress.stage("looking for the causes of low scores")
        causes, described = causes_and_doubts()
        add_causes(contents, causes)
        add_doubts(contents, doubts, blocks, dict(zip(makers, described, strict=True)))
        # Of few timelines those that fit beside all else, so that the page does not become too large.
        size = min(sum(map(len, blocks.texts)), 2 * BYTES // 3)
        timelines: list[tuple[str, int]] = []
        for name, text in zip(drawn.tracks, texts, strict=True):
            more = 0 if text in blocks.texts else len(text)
            if wanted != "auto" or size + more <= BYTES:
                size += more
                timelines.append((name, blocks.take(text)))
    vocabulary = blocks.put("vocabulary", partial(pack_json, drawn.vocabulary.entries()))
    draw_first_screens(contents, subject, shown, errors, [name for name, _ in timelines])
    contents |= {"timelines": timelines, "vocabulary": vocabulary, "verdicts": list(drawn.verdicts)}
    notes = *subject.notes, *dict.fromkeys(filter(None, (one["note"] for one in drawn.evaluations)))
    if dropped := len(drawn.tracks) - len(timelines):
        some = "timeline of 1 more track" if dropped == 1 else f"timelines of {dropped} more tracks"
        notes += (f"The {some} would make the page larger than it should be.",)
    return contents, blocks, notes


def report(
    scores: ScoresLike,
    path: str | Path = "report.html",
    metric: Names = None,
    *,
    timelines: str | int = "auto",
    root: Roots = None,
    title: str | None = None,
    references: bool = True,
    only_aggregates: bool = False,
    where: str | None = None,
    budget: bool = False,
    plugins: Names = None,
    progress: bool | Progress | None = None,
    guarded: bool = False,
) -> PageReport:
    """Write one HTML page about scores, as the command ``mirflow report`` does.

    Parameters
    ----------
    scores : path, sequence or mapping of paths, xr.DataTree or xr.Dataset
        As for :func:`mirflow.query`. Scores that no pipeline computed have no timelines.
    path : path
        The file to write.
    metric : str, sequence of str or None
        What the page shows first.
    timelines, root, title, references, only_aggregates, where, budget
        See :func:`write_page`.
    progress : bool, Progress or None
        Whether the stages and the number of timelines are shown; None: on a terminal or in a notebook.
    plugins : str, sequence of str or None
        Python files and modules that declare the tasks and readers of the pipeline, for timelines: they are run, and a
        store's own are not unless they are named here.
    guarded : bool
        Whether a worker process may be started; scripts that pass True need an ``if __name__ == "__main__"``.

    Returns
    -------
    PageReport
        A path: ``open(mirflow.report(...))`` reads the page. Its ``notes`` say what was left out.

    Raises
    ------
    QueryError
        Without scores, or if the file cannot be written.
    UnknownNameError
        For a metric that no evaluation has.
    StoreError
        If a path is not a result store.
    PluginError
        If a plugin cannot be imported.
    """
    for plugin in as_names(plugins) or ():
        import_module(os.path.realpath(plugin) if plugin.endswith(".py") else plugin)
    return write_page(
        scores,
        path,
        timelines=timelines,
        metrics=as_names(metric) or (),
        root=root,
        title=title,
        references=references,
        only_aggregates=only_aggregates,
        where=where,
        budget=budget,
        progress=progress_of(progress),
        guarded=guarded,
    )


def _with_budgets(subject: Subject, store: ScoresLike, root: Roots) -> Subject:
    """Add the losses of the main metric to each evaluation that can be split, and say which cannot."""
    from ..error_budgets import budgets, with_losses  # which imports all that scores

    boards, notes = dict(subject.boards), []
    for name, ds in subject.boards.items():
        metric = names_of(ds, "metric", subject.first[name][:1])
        try:
            found = budgets(store, next(iter(metric), None), group=name, tracks=names_of(ds, "track"), root=root)
        except MirflowError as error:
            notes.append(f"{name}: no losses by kind of errors: {error}")
            continue
        boards[name] = with_losses(ds, found[name])
    return replace(subject, boards=boards, notes=(*subject.notes, *notes))


Chosen = Mapping[str, tuple[EvaluationOrigin, list[str]]]
"""Of evaluations the files, and the tracks that have timelines, the ones to look at first."""


def _choose(subject: Subject, wanted: str, shown: Shown) -> Chosen:
    chosen, cells = {}, sum(ds.sizes["system"] * ds.sizes["track"] for ds in subject.boards.values())
    without = "Timelines were not asked for." if shown.by_track else ""
    for name, ds in subject.boards.items():
        if wanted == "none" or not shown.by_track:
            chosen[name] = EvaluationOrigin([], [], without), list[str]()
            continue
        origin, first = find_evaluation_files(name, subject.origins), next(iter(subject.first[name]), 0)
        share = CELLS / max(CELLS, cells)
        chosen[name] = origin, tracks_wanted(ds, first, wanted, share) if origin.files else []
    return chosen


def _draw(subject: Subject, chosen: Chosen, shown: Shown, shelf: Shelf, progress: Progress) -> Timelines:
    """Timelines of all evaluations whose annotations are still there."""
    timelines, boards = Timelines(), subject.boards
    cells = sum(ds.sizes["system"] * ds.sizes["track"] for ds in boards.values())
    for name, (origin, tracks) in chosen.items():
        ds, note = boards[name], origin.note
        made: dict[str, Any] = {"rules": [], "able": []}
        if origin.files:
            others = names_of(ds, "metric", dict.fromkeys([*subject.first[name], *range(ds.sizes["metric"])]))
            few, drawn = cells <= COUNTED and tracks and shown.references, frozenset(tracks)
            more = [track for track in names_of(ds, "track") if track not in drawn] if few else []
            progress.start(len(tracks) + len(more))
            which = names_of(ds, "system"), origin, tracks, subject.asked[name], others, shelf
            how: dict[str, Any] = {"references": shown.references, "counted": more, "advance": progress.advance}
            made |= add_evaluation(timelines, *which, **how)
            made["hardest"] = len(tracks) < ds.sizes["track"]
            made["sampled"] = len(tracks) + len(more) < ds.sizes["track"]
            if made["hardest"]:
                some = f"Timelines of {len(tracks)} of {ds.sizes['track']} tracks: the worst and the most disputed"
                note = f"{some} ('--timelines all' has all of them). {note}".strip()
        timelines.evaluations.append({**made, "note": note})
    return timelines
