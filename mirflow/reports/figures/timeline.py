"""Timeline of one track, with reference and systems as lanes and right parts marked.

Scores of the track are on the right, and a legend explains marks and colours. Another evaluation's reference, or a file
of segments, may lie below the systems. The second at which a system is worst is found here, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...analysis.aggregation import origin_of, ranked
from ...analysis.lookup import find_labels, find_metrics, find_single
from ...analysis.query_options import Names, as_names
from ...analysis.scores import Scores, computed, names_of, numbers_of
from ...annotations.annotation import Annotation
from ...annotations.schema import kind_of
from ...errors import FigureError, MirflowError, QueryError, UnknownNameError
from ...metrics.base import Convention, get_task
from ...metrics.measures import Measure, parse
from ...pipeline.plan import EvaluationFiles
from ...ragged import Column
from ...readers.objects import to_annotation
from ..captions import metric_title, origin_in_words, title_in
from ..drawing import GREY, explained, form_of, matches, worst_second
from ..origins import AnnotationFolder, Shelf, find_plan, find_plans
from .canvas import Sheet, figure, label, sheet
from .lanes import BOTTOM, TOP, Lanes, draw, draw_octaves, draw_verdicts, fill_of, legend_entries, unwritten
from .track_scores import FigureOptions, Stored, board_of, frame_of, one_metric

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_LANE, _TALL, _DENSE, _LEVEL = 0.32, 0.62, 1.0, 0.14
"""Inches of a lane, of one in which pitches have to be told apart, of one with several pitches at a time, and of each
level of a hierarchy."""
_POLYPHONIC = ("notes", "frames", "drums")
"""Forms with several pitches or drums at a time."""
_MOST, _METRICS = 60, 8
"""Systems, and metrics beside them, that a page has room for."""
_NUMBER, _LETTER = 24, 0.04
"""Points that a score takes on the right, and inches in height of a letter of a name over it that is turned."""
_UPRIGHT = 5
"""Letters of a name that has room over its scores without being turned."""
_LEVELS, _PITCHES = 10, 14
"""Points between a lane and its name, where numbers of levels or names of notes lie there."""
_AXIS, _STROKE, _MARK = 50, 26, 14
"""Points that the title of the time axis takes beside a legend, and lines and marks without their text."""
_BESIDE, _LINE, _LINES = -15.6, 10.0, 3
"""Points by which a legend is below the axis, and of each of its lines, and how many lines there may be."""
_OVER = 40.0
"""Points by which lines of a legend may reach below the names of the lanes."""
_PAGE = 4.0
"""Inches up to which lanes of several pitches are so high."""


@dataclass(frozen=True)
class _Lane:
    """One row: a name, an annotation or why there is none, the score, and what explains it."""

    name: str
    annotation: Annotation | str
    scores: tuple[float, ...] = ()
    """By each of the shown metrics."""
    evidence: Mapping[str, Column] | None = None


@figure("the annotations of one track, with what is right", place=13)
def timeline(
    scores: Stored,
    track: str | None = None,
    metric: Names = None,
    *,
    start: float | None = None,
    end: float | None = None,
    below: str | None = None,
    expected: str | None = None,
    root: AnnotationFolder = None,
    **options: Unpack[FigureOptions],
) -> Axes:
    """Show the annotations of one track, the reference on top, with right and wrong parts by the metric.

    Parameters
    ----------
    scores : path, xr.DataTree or xr.Dataset
        Of a store that a pipeline made: it names the files.
    track : str or None
        None: the track on which the systems' scores lie farthest apart.
    metric : str, sequence of str or None
        Metrics whose scores are beside each system, at most eight; the first that judges single items colours the
        bands. None: the headline metric of the evaluation, and what judges is the first of all metrics that can.
    start, end : float or None, seconds
        What to show; None: from the beginning, to the end.
    below : str or None
        What lies below the systems: another evaluation of the store, by its reference, or the path of a file of
        segments, in which ``{track}`` stands for the track.
    expected : str or None
        A metric that expects one of the systems to be the best on the track; its name is bold.
    root : path or None
        Present folder of the annotations; None: the original one.
    **options
        ``group`` and ``system`` as in a query; ``ax``, ``width``, ``height``, ``caption`` of the figure.

    Raises
    ------
    FigureError
        If the annotations are gone, have nothing to draw, or are audio or lists of items.
    """
    group, ds = board_of(scores, metric, options)
    plan = _plan_of(scores, ds, group, root)
    systems = find_labels(ds, "system", options.get("system"))
    asked = as_names(metric)
    if asked is not None and len(asked) > _METRICS:
        raise FigureError(f"a timeline has room for {_METRICS} metrics, not {len(asked)}")
    named = [one_metric(ds, None)] if asked is None else [one_metric(ds, name) for name in asked]
    places = [find_metrics(ds, name, exact=True)[0] for name in named]
    scored = computed(ds.isel(system=systems))
    values = numbers_of(scored, places)[0]
    first = values[..., 0]
    if track is not None:
        column = find_labels(ds, "track", track)[0]
    else:  # that on which the scores of the systems lie farthest apart
        spread = np.fmax.reduce(first, axis=0) - np.fmin.reduce(first, axis=0)
        column = int(np.argmax(np.where(np.isfinite(spread), spread, -1)))
    track = names_of(ds, "track")[column]
    if track not in plan.tracks:
        raise UnknownNameError("track", track, plan.tracks)
    rule = _Rule.of(ds, plan, places, named=asked is not None)
    order = ranked(first[:, column], names_of(ds, "orientation")[places[0]])
    cut = [f"the best {_MOST} of {len(order)} systems"] if len(order) > _MOST else []
    shown = [(names_of(ds, "system")[systems[row]], tuple(values[row, column].tolist())) for row in order[:_MOST]]
    lanes = _read(plan, track, shown, rule)
    under = [] if below is None else [_below(scores, ds, below, track, root)]
    read = [lane.annotation for lane in lanes if isinstance(lane.annotation, Annotation)]
    times = np.concatenate([np.empty(0), *(one.columns[name] for one in read for name in one.schema.times[-1:])])
    begin = 0.0 if start is None else start
    stop = end if end is not None else float(times[np.isfinite(times)].max(initial=begin + 1))
    if not stop > begin:
        raise FigureError(f"nothing to show from {begin:g} to {stop:g} s")
    bold = None if expected is None else _expected(ds, scored, expected, column)
    titles = [title_in(ds, place) for place in places]
    about = f"{origin_in_words(origin_of(ds, group, ()))}; numbers on the right: {', '.join(titles)} of this track"
    levels = max((_levels(lane.annotation) for lane in lanes), default=1)
    numbered = [f"levels: 1, the coarsest, to {levels}"] if levels > 1 else []
    notes = [
        *cut,
        *numbered,
        *rule.legend(lanes),
        *([f"bold: expected to be the best by {label(expected)}"] if bold else []),
    ]
    kind, dense = kind_of(plan.task), min(_DENSE, max(_TALL, _PAGE / len(lanes)))
    lane = dense if kind.drawn_as in _POLYPHONIC else _TALL if kind.height else _LANE
    lane = max(lane, 0.1 + _LEVEL * levels)
    heads = rule.heads(names_of(ds, "metric", places)) if len(places) > 1 else []
    longest = max(map(len, heads), default=0)
    room = longest * _LETTER if longest > _UPRIGHT else 0.0
    with sheet(frame_of(options, "page"), 0.4 + room + lane * len(lanes) + _LANE * len(under)) as page:
        _draw(page, lanes, under, (begin, stop), chords=plan.task == "chord", heads=heads)
        for text, one in zip(page.ax.get_yticklabels(), lanes, strict=False):
            text.set_fontweight("bold" if bold and one.name == bold else "normal")
        page.head(label(track, 80), "; ".join([about, *notes]))
    return page.ax


def _below(scores: Stored, ds: xr.Dataset, below: str, track: str, root: AnnotationFolder) -> _Lane:
    """The lane of another evaluation's reference of the track, or of a file."""
    try:
        plans = find_plans(scores, ds, root)
    except QueryError:  # a file needs none
        plans = {}
    if below in plans:
        plan = plans[below]
        if track not in plan.tracks or not plan.references[plan.tracks.index(track)]:
            return _Lane(below, "no reference")
        return _Lane(below, Shelf().read(plan.references[plan.tracks.index(track)][0].source))
    path = Path(below.replace("{track}", track))
    if not path.is_file():
        raise FigureError(
            f"below {below!r}: neither a file nor an evaluation of this store, which has {', '.join(plans) or 'none'}"
        )
    try:
        return _Lane(path.stem if "{track}" not in below else "segments", to_annotation(path, "segment"))
    except MirflowError as error:
        raise FigureError(f"below {below!r}: {error}") from None


def _expected(ds: xr.Dataset, scored: Scores, metric: str, column: int) -> str | None:
    """The system that a metric prefers on a track; None where it has no score of any."""
    place = find_single(ds, metric)
    way = names_of(ds, "orientation")[place]
    if way == "none":
        raise FigureError(f"expected {metric!r}: neither high nor low values of it are better")
    score = numbers_of(scored, [place])[0][:, column, 0]
    known = np.flatnonzero(np.isfinite(score))
    if not len(known):
        return None
    best = known[np.argmin(score[known]) if way == "lower" else np.argmax(score[known])]
    return names_of(scored, "system")[int(best)]


def _levels(annotation: Annotation | str) -> int:
    """The number of levels of a hierarchy; 0 of anything else."""
    if isinstance(annotation, str) or annotation.schema.drawn_as != "levels":
        return 0
    return len(annotation.inner_counts[0])


def has_time_axis(task: str) -> bool:
    """Whether annotations of a task can be drawn as lanes over time."""
    return kind_of(task).drawn_as not in ("", "list")


def _plan_of(scores: Stored, ds: xr.Dataset, group: str, root: AnnotationFolder) -> EvaluationFiles:
    try:
        plan = find_plan(scores, ds, group, root)
    except QueryError as error:
        raise FigureError(f"no timeline without annotations. {error}") from None
    if plan.task == "separation":
        raise FigureError("audio has no timeline")
    if not has_time_axis(plan.task):
        hint = "`mirflow report` writes a page that shows them item by item"
        raise FigureError(f"{group}: {plan.task} compares lists, which have no time and so no timeline; {hint}")
    return plan


@dataclass
class _Rule:
    """The metric with evidence: the named one, or the first that has any."""

    convention: Convention
    candidates: Sequence[str]
    chosen: Measure | None = None

    @classmethod
    def of(cls, ds: xr.Dataset, plan: EvaluationFiles, places: Sequence[int], *, named: bool) -> _Rule:
        convention = get_task(plan.task).convention(plan.convention, plan.classes)
        first = names_of(ds, "metric", places)
        others = [] if named else [*names_of(ds, "metric"), *(metric.name for metric in convention.metrics)]
        return cls(convention, list(dict.fromkeys([*first, *others])))

    def heads(self, metrics: Sequence[str]) -> list[str]:
        """Short names of metrics: those of the literature, such as CSR, where they are no longer than identities."""
        found = []
        for name in metrics:
            try:
                metric = parse(name, self.convention.metrics).metric
            except MirflowError:  # of a metric that is not of the convention, as one that was imported
                found.append(name)
                continue
            aliases = metric.aliases if name == metric.name else ()
            names = (*aliases, metric_title(name, metric.title))
            found.append(next((one for one in names if len(one) <= len(name)), name))
        return found

    def explain(self, reference: Annotation, estimate: Annotation) -> Mapping[str, Column] | None:
        """The evidence, where there is any."""
        if self.convention.explain is None:
            return None
        for one in [self.chosen] if self.chosen else self.candidates:
            try:
                measure = parse(one, self.convention.metrics) if isinstance(one, str) else one
                found = self.convention.explain(reference, estimate, measure)
            except MirflowError:  # this one judges no items, or the pair cannot be scored
                continue
            self.chosen = measure
            return found
        return None

    def legend(self, lanes: Sequence[_Lane]) -> list[str]:
        """Legend of the marks."""
        for lane in lanes:
            if self.chosen and lane.evidence is not None and isinstance(lane.annotation, Annotation):
                meaning = explained(lane.annotation.kind, lane.evidence)
                return [f"{metric_title(str(self.chosen), self.chosen.metric.title)}: {meaning}"] if meaning else []
        return []


def _read(
    plan: EvaluationFiles, track: str, systems: Sequence[tuple[str, tuple[float, ...]]], rule: _Rule
) -> list[_Lane]:
    """The annotations of a track, read and explained; the reference first."""
    shelf, place = Shelf(), plan.tracks.index(track)
    lanes = []
    shown = [(one, shelf.read(one.source)) for one in plan.references[place]]
    for number, (one, annotation) in enumerate(shown):
        name = one.annotator or (f"reference {number + 1}" if len(shown) > 1 else "reference")
        lanes.append(_Lane(name, annotation))
    where = {name: row for row, name in enumerate(plan.systems)}
    for name, scores in systems:
        source = plan.estimates[where[name]][place] if name in where else None
        estimate = "no estimate" if source is None else shelf.read(source)
        reference = next((a for one, a in shown if isinstance(a, Annotation) and one.source != source), None)
        evidence = None
        if isinstance(estimate, Annotation) and reference is not None:
            evidence = rule.explain(reference, estimate)
        lanes.append(_Lane(name, estimate, scores, evidence))
    if not any(isinstance(lane.annotation, Annotation) for lane in lanes):
        raise FigureError(f"track {track!r}: none of its annotations can be read: {lanes[0].annotation}")
    return lanes


def find_worst(ds: xr.Dataset, evaluation: str, track: str, system: str, root: AnnotationFolder = None) -> float | None:
    """When a system is worst on a track, in seconds; None if that is not known."""
    try:
        plan = _plan_of(ds, ds, evaluation, root)
        rule = _Rule.of(ds, plan, find_metrics(ds, one_metric(ds, None), exact=True), named=False)
        lane = _read(plan, track, [(system, ())], rule)[-1]
    except (MirflowError, ValueError):  # no files are known, or none of the track
        return None
    if isinstance(lane.annotation, str) or lane.evidence is None:
        return None
    return worst_second(lane.annotation.kind, lane.evidence)


def _draw(
    page: Sheet,
    rows: Sequence[_Lane],
    under: Sequence[_Lane],
    span: tuple[float, float],
    *,
    chords: bool,
    heads: Sequence[str],
) -> None:
    ax, read = page.ax, [lane.annotation for lane in rows if isinstance(lane.annotation, Annotation)]
    judge = next(lane for lane in rows if isinstance(lane.annotation, Annotation))
    first, last = span
    # Verdicts of notes lie over the pitches; those of stretches of time need a band below.
    judged = [(lane.annotation, lane.evidence) for lane in rows]
    forms = [form_of(one.kind, two) for one, two in judged if isinstance(one, Annotation) and two is not None]
    room = TOP if read[0].schema.drawn_as in _POLYPHONIC and "band" not in forms else BOTTOM
    pitches = _pitches(read, first, last)
    has_octaves = bool(read[0].schema.height) and read[0].schema.variable(read[0].schema.height).units == "Hz"
    numbers = max((len(row.scores) for row in rows), default=0)
    width = (page.inches - 1.2) * 72 - _NUMBER * max(numbers, 1)
    lanes = Lanes(ax, first, last, width, pitches, _names(read), chords, room)
    every = [*rows, *under]
    for at, lane in enumerate(every):
        if isinstance(lane.annotation, str):
            ax.text(first, at - 0.1, f" {label(lane.annotation, 110)}", va="center", fontsize=6, color=GREY)
            continue
        if at >= len(rows):
            draw(replace(lanes, names=_names([lane.annotation]), chords=False, bottom=BOTTOM), lane.annotation, at)
            continue
        if has_octaves:
            draw_octaves(lanes, at)
        # All notes of an estimate that is judged have a verdict, and would be seen between its dashes.
        if lane.evidence is None or form_of(lane.annotation.kind, lane.evidence) != "notes":
            colours = None  # of patterns: those of the reference that judges, else by `matches`
            if lane.annotation.kind == "patterns" and lane is not judge:
                lone = np.full(len(lane.annotation.inner_counts[0]), -1)
                colours = lone if lane.evidence is None else matches(lane.evidence)
            draw(lanes, lane.annotation, at, colours)
        if lane.evidence is not None:
            draw_verdicts(lanes, lane.annotation.kind, lane.evidence, at)
    ax.set_yticks(range(len(every)), [label(lane.name) for lane in every], fontsize=6.5)
    _write_numbers(ax, rows, heads)
    is_below = _add_legend(page, lanes, rows)
    pad = _PITCHES if has_octaves else _LEVELS if any(_levels(row.annotation) for row in rows) else 3.5
    ax.tick_params(axis="y", length=0, pad=pad)
    ax.spines["left"].set_visible(False)
    ax.set_xlim(first, last)
    ax.set_ylim(len(every) - 0.5, -0.55)
    if read[0].schema.drawn_as == "text":
        ax.set_xticks([])
        ax.spines["bottom"].set_visible(False)
    else:
        title = "onset [quarter notes]" if "onset" in read[0].columns else "time [s]"
        ax.set_xlabel(title, loc="left" if ax.get_legend() and not is_below else "center")


def _write_numbers(ax: Axes, rows: Sequence[_Lane], heads: Sequence[str]) -> None:
    """Write the scores of each system on the right, under the names of the metrics where there are several."""
    common: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points", "fontsize": 6.5}
    for at, lane in enumerate(rows):
        for column, score in enumerate(lane.scores):
            if np.isfinite(score):
                ax.annotate(f"{score:.3f}", (1, at), xytext=(3 + _NUMBER * column, 0), va="center", **common)
    turned = any(len(head) > _UPRIGHT for head in heads)
    look: dict[str, Any] = {"rotation": 45, "rotation_mode": "anchor"} if turned else {}
    for column, head in enumerate(heads):
        place = 3 + _NUMBER * column, 0 if turned else 2
        ax.annotate(label(head, 18), (1, -0.4), xytext=place, va="bottom", color="#444444", **look, **common)


Entry = tuple[str, dict[str, Any]]
"""Words of a legend, and the style of what they explain."""


def _add_legend(page: Sheet, lanes: Lanes, rows: Sequence[_Lane]) -> bool:
    """Add what lines, marks and colours mean: beside the title of the time axis, or below it, which is returned."""
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.transforms import offset_copy

    judged = ((row.annotation, row.evidence) for row in rows)
    verdicts = next((legend_entries(one.kind, two) for one, two in judged if isinstance(one, Annotation) and two), [])
    entries: list[Entry] = [*verdicts]
    read = [row.annotation for row in rows if isinstance(row.annotation, Annotation)]
    # Labels of segments that are nowhere wide enough to be written in; chords have the colours of their roots.
    for name in [] if lanes.chords else sorted(unwritten(lanes, read), key=lambda name: lanes.names[name]):
        colour, hatch = fill_of(lanes, name)
        entries.append((label(name), {"facecolor": colour, "hatch": hatch, "edgecolor": "white"}))
    lines, top = [entries] if entries else [], _BESIDE
    widths = [(_MARK if "marker" in style else _STROKE) + 0.62 * 6 * len(text) for text, style in entries]
    if sum(widths) > lanes.points - _AXIS:
        lines, used = [[]], 0.0
        for entry, width in zip(entries, widths, strict=True):
            if lines[-1] and used + width > lanes.points + _OVER:
                lines.append([])
                used = 0.0
            lines[-1].append(entry)
            used += width
        lines, top = lines[:_LINES], _BESIDE - _LINE
        page.grow(_LINE * len(lines) / 72)
    # The lowest line comes first and is the legend of the axes, for which a layout keeps room.
    for number, line in reversed([*enumerate(lines)]):
        handles = [Patch(**style) if "facecolor" in style else Line2D([], [], **style) for _, style in line]
        # Markers need less room than lines.
        room = (0.8, 0.3, 0.8) if all("marker" in style for _, style in line) else (2.0, 0.8, 1.2)
        look: dict[str, Any] = dict(zip(("handlelength", "handletextpad", "columnspacing"), room, strict=True))
        look |= {"ncols": len(line), "fontsize": 6, "frameon": False, "loc": "upper right"}
        drawn = Legend(lanes.ax, handles, [text for text, _ in line], **look)
        below = offset_copy(lanes.ax.transAxes, page.figure, y=top - _LINE * number, units="points")
        drawn.set_bbox_to_anchor((1, 0), below)
        drawn.borderaxespad = 0
        if lanes.ax.get_legend() is None:
            lanes.ax.legend_ = drawn
        else:
            lanes.ax.add_artist(drawn)
    return top < _BESIDE


def _pitches(read: Sequence[Annotation], first: float, last: float) -> tuple[float, float]:
    """Range that holds nearly all pitches of every annotation, so that a few slips do not compress the rest."""
    found = []
    for one in read:
        if one.schema.height:
            begin, end = (one.columns[one.schema.times[place]] for place in (0, -1))
            inside = (end >= first) & (begin <= last)
            inside = np.repeat(inside, one.inner_counts[0]) if one.schema.drawn_as == "frames" else inside
            pitch = np.abs(one.columns[one.schema.height][inside])
            linear = one.schema.variable(one.schema.height).units != "Hz"
            pitch = pitch[np.isfinite(pitch)] if linear else np.log2(pitch[np.isfinite(pitch) & (pitch > 0)])
            found.append(np.quantile(pitch, (0.01, 0.99)) if len(pitch) else pitch)
    values = np.concatenate(found) if found else np.empty(0)
    room = 0.0 if not len(values) else 0.03 * float(values.max() - values.min())
    return (float(values.min()) - room, float(values.max()) + room) if len(values) else (0.0, 1.0)


def _names(read: Sequence[Annotation]) -> dict[str, int]:
    """Labels by order of appearance, those of the reference first."""
    names = dict.fromkeys(name for one in read for name in one.labels or () if name)
    return {name: index for index, name in enumerate(names)}
