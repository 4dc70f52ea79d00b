"""Commands that show scores and annotations: ``plot``, ``embed``, ``report`` and ``sonify``.

``report`` writes a page, or serves the pages of stores. ``sonify`` writes audio files.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Collection, Iterable, Mapping
from math import gcd
from pathlib import Path
from typing import Any

import click

from ..analysis.query_options import DEFAULT_LEVEL
from ..errors import counted
from .common_options import (
    LEVEL,
    Command,
    Declared,
    LocalPath,
    ReadingCommand,
    check_existing,
    label_option,
    label_stores,
    number_or_word,
    option,
    query_options,
    stores_argument,
)
from .output import check_figure, echo, given_options

VENUES = ("ieee", "ismir", "tismir")


def _kinds() -> dict[str, Any]:
    """The declared kinds of figures; looked up late, as importing them would delay ``mirflow --help``."""
    from ..reports.figures import kinds

    return {kind.name: kind for kind in kinds()}


_METRICS = {"bump": 24, "scatter": 2, "timeline": 8}
"""Kinds of figures that show several metrics, and how many."""


class _PlotCommand(Command):
    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help with a line for each kind."""
        listed = "\n".join(f"{name:<20} {kind.words}" for name, kind in _kinds().items())
        text, self.help = self.help, inspect.cleandoc(self.help or "").replace("KINDS", listed)
        super().format_help_text(ctx, formatter)
        self.help = text


@click.command("plot", cls=_PlotCommand, section="show", place=2, short_help="Draw a figure for a paper.")
@stores_argument
@click.argument("kind", type=Declared(_kinds), metavar="KIND", is_eager=True)
@click.option("--output", "-o", type=LocalPath(dir_okay=False), required=True, help=".pdf, .png or .svg.")
@query_options(
    "metric",
    "aggregate",
    "system",
    "tracks",
    "where",
    metric="The metric; for scatter one or two, for timeline and bump several. Default: the headline.",
    tracks="Tracks, by name or pattern (*). Repeat for several. Default: all. timeline: the track to draw.",
)
@option("group", "The evaluation. Default: the only one that has the metric.")
@query_options("missing", "undefined", "over", "by", by="groups: a coordinate of the tracks. Repeat for several.")
@click.option("--least", type=click.IntRange(1), help="groups: fewer tracks are put together as other. Default: 6.")
@click.option("--test", type=click.Choice(("auto", "friedman")), help="critical-difference. Default: auto, as compare.")
@click.option("--unit", help="critical-difference: unit of observation. Default: track.")
@click.option(
    "--level",
    type=LEVEL,
    help=f"critical-difference, ranks, groups, covariate: level of intervals and tests. Default: {DEFAULT_LEVEL}.",
)
@option("cluster", "ranks, groups, covariate: resample tracks together by this coordinate (artist, album).")
@click.option("--baseline", metavar="SYSTEM|LABEL", help="histogram: this system, or those of one STORE, as outlines.")
@click.option("--bins", type=click.IntRange(2, 200), help="histogram: number of bins. Default: 20.")
@click.option("--style", type=click.Choice(("violin", "box")), help="distributions. Default: violin.")
@click.option("--order", type=click.Choice(("difficulty", "stored")), help="heatmap. Default: difficulty.")
@click.option("--tie", type=click.FloatRange(0), help="scatter: differences up to this value are ties. Default: 0.")
@click.option(
    "--against",
    help="covariate: a numeric coordinate of the tracks, duration, or others (the mean score of the others).",
)
@click.option(
    "--of", type=click.Choice(("scores", "outputs")), help="agreement: of the scores of tracks, or of the estimates."
)
@click.option("--coefficient", type=click.Choice(("pearson", "kendall")), help="agreement of scores. Default: pearson.")
@click.option("--parameter", help="tolerance: the swept parameter. Default: the metric's primary parameter.")
@click.option("--most", type=click.IntRange(2), help="confusion: number of classes to show. Default: 26.")
@click.option("--from", "start", type=float, help="timeline: the first second to show.")
@click.option("--to", "end", type=float, help="timeline: the last second to show.")
@click.option("--below", metavar="EVALUATION|FILE", help="timeline: segments below: an evaluation of STORE, or a file.")
@click.option("--expected", metavar="METRIC", help="timeline: the system that this metric expects to be best is bold.")
@click.option(
    "--root",
    type=LocalPath(),
    help="timeline, agreement of outputs: folder of the annotations, if they were moved or the store was not written "
    "by your run.",
)
@click.option(
    "--width", callback=number_or_word, help="column (3.5 inches), page (7.16) or inches. Default: as the kind needs."
)
@click.option(
    "--for", "venue", type=click.Choice(VENUES), help="Venue of the columns and pages of --width. Default: ieee."
)
@click.option("--height", type=float, help="Inches, without the lines above. Default: as the content needs.")
@click.option(
    "--caption/--no-caption",
    default=None,
    help="Title and explanation above the figure. Default: with; for pdf, as LaTeX in a file next to it.",
)
@option("names", "Name metrics by titles, such as F-measure, or by identifiers, such as f_measure. Default: titles.")
@label_option
def plot_command(
    stores: tuple[Path, ...], labels: tuple[str, ...], kind: str, output: Path, metric: tuple[str, ...], **options: Any
) -> None:
    """Draw a figure of the scores in STORE; several stores are queried as one.

    \b
    KINDS

    Every figure names its aggregate, the number of tracks, and the treatment of missing scores.
    """
    from ..reports import figures

    check_figure(output)
    words = _given_to(kind, metric, options)
    beside = output.suffix.lower() == ".pdf" and options["caption"] is None
    if beside:
        words["caption"] = False
    ax = figures.plot(label_stores(stores, labels), kind, **words)
    caption = f", its caption in {figures.save_caption(ax, output)}" if beside else ""
    echo(f"{figures.save(ax, output)} written{caption}", err=True)


def _given_to(kind: str, metric: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    from ..reports.figures.track_scores import FigureOptions

    most = _METRICS.get(kind, 1)
    if len(metric) > most:
        shown = f"{most} metrics at most" if most > 1 else "one metric"
        raise click.UsageError(f"{kind} shows {shown}, not {len(metric)} ({', '.join(metric)})")
    options["metric"] = metric if len(metric) > 1 else next(iter(metric), None)
    words = {name: value for name, value in options.items() if value not in (None, (), {})}
    common = FigureOptions.__annotations__.keys()
    _refuse_unknown(kind, words, {*inspect.signature(_kinds()[kind].draw).parameters, *common}, common)
    if kind == "timeline" and "where" in words:
        raise click.UsageError("a timeline shows one track: give it with --track instead of --where")
    if kind == "timeline" and "tracks" in words:
        tracks = words.pop("tracks")
        if len(tracks) > 1:
            raise click.UsageError(f"a timeline shows one track, not {len(tracks)}")
        words["track"] = tracks[0]
    return words


_STANDINGS = "standings"
_OF_STANDINGS = ("metric", "system", "tracks", "where", "missing", "undefined", "group", "level")
"""Options of this kind."""


@click.command(
    "embed",
    cls=_PlotCommand,
    section="show",
    place=3,
    short_help="Write one chart as a small page for an iframe of another page.",
)
@stores_argument
@click.argument("kind", type=Declared(lambda: [_STANDINGS, *_kinds()]), metavar="KIND", is_eager=True)
@click.option("--output", "-o", type=LocalPath(dir_okay=False, allow_dash=True), required=True, help=".html, or -.")
def embed_command(
    stores: tuple[Path, ...], labels: tuple[str, ...], kind: str, output: Path, metric: tuple[str, ...], **options: Any
) -> None:
    """Write a chart of the scores in STORE as a page without scripts, to be shown inside of another one.

    \b
    standings            who leads, values and intervals of all systems, as text
    KINDS

    The figures are those of `mirflow plot`.
    """
    from ..analysis.queries import choose, evaluations_of
    from ..analysis.query_options import Query
    from ..reports.figures import plot
    from ..reports.figures.canvas import off_screen
    from ..reports.figures.page_pictures import embed
    from ..reports.leaderboard import leaderboard, to_embed

    if str(output) != "-" and output.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"{output}: the suffix must be .html; or use - to print")
    if kind == _STANDINGS:
        words = given_options({"metric": metric, **{name: value for name, value in options.items() if name != "names"}})
        _refuse_unknown(_STANDINGS, words, _OF_STANDINGS)
        level, group = words.pop("level", DEFAULT_LEVEL), words.pop("group", None)
        query = Query(**words)
        evaluations = choose(evaluations_of(label_stores(stores, labels)), query.metric, group)
        title = " + ".join(store.name.removesuffix(".zarr") for store in stores)
        text = to_embed(leaderboard(evaluations, query, title=title, level=level))
    else:
        chosen = _given_to(kind, metric, options)
        with off_screen():
            text = embed(plot(label_stores(stores, labels), kind, **chosen, caption=False))
    if str(output) == "-":
        echo(text, nl=False)
        return
    output.write_text(text, encoding="utf-8")
    echo(f"{output} written: {len(text.encode()) / 1e3:.0f} kB", err=True)


_NOT_EMBEDDED = {*(one.name for one in embed_command.params), "caption", "venue"}
embed_command.params += [one for one in plot_command.params if one.name not in _NOT_EMBEDDED]


def _refuse_unknown(kind: str, names: Iterable[str], known: Collection[str], common: Collection[str] = ()) -> None:
    flags = {param.name: param.opts[0] for param in click.get_current_context().command.params}
    for name in names:
        if name not in known:
            allowed = ", ".join(flag for other, flag in flags.items() if other in known and other not in common)
            beside = "; besides the common ones it has" if common else "; it has"
            raise click.UsageError(f"{kind} has no option {flags[name]}{beside}: {allowed}")


@click.command(
    "report", cls=Command, section="first", place=8, short_help="Write one HTML page about a store, or several."
)
@stores_argument
@click.option(
    "--output",
    "-o",
    type=LocalPath(dir_okay=False, allow_dash=True),
    default=Path("report.html"),
    show_default=True,
    help="The file to write; - for standard output.",
)
@query_options("metric", metric="Metrics to show first and to judge timelines by. Repeat for several.")
@click.option(
    "--timelines",
    default="auto",
    show_default=True,
    help="Tracks with timelines and audio: all, worst, none, a number; auto keeps the page reasonably small.",
)
@click.option(
    "--root",
    "roots",
    type=LocalPath(),
    multiple=True,
    help="Folder of the annotations, if they were moved or the store was not written by your run. For several stores "
    "one for all, or one for each.",
)
@click.option("--title", help="Title of the page. Default: the evaluations, and the numbers of systems and tracks.")
@query_options("where")
@click.option("--budget", is_flag=True, help="Show what each kind of errors costs, as the command budget does.")
@click.option(
    "--without-references",
    is_flag=True,
    help="Omit the references and judgements of single items, for test sets that are not public.",
)
@click.option(
    "--only-aggregates",
    is_flag=True,
    help="Omit everything about single tracks: names, scores, timelines, messages, pipeline.",
)
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="FILE|MODULE",
    help="Run this Python module, which declares tasks or readers of the pipeline. Repeat for several.",
)
@label_option
@click.option(
    "--serve",
    is_flag=True,
    help="Serve the pages until interrupted instead of writing one, as `mirflow serve` does: every track has its "
    "timeline, and links need no file.",
)
@click.pass_context
def report_command(
    context: click.Context,
    /,
    stores: tuple[Path, ...],
    output: Path,
    roots: tuple[Path, ...],
    without_references: bool,
    only_aggregates: bool,
    labels: tuple[str, ...],
    serve: bool,
    **how: Any,
) -> None:
    """Write a self-contained page about STORE, or about several stores.

    It shows tables with intervals, distributions, the tracks to look at, failures with their reasons, and timelines of
    the annotations with audio.
    """
    if serve:
        import socket
        from urllib.parse import quote

        from ..analysis.queries import name_stores
        from ..store.generations import resolve

        shared = {"stores", "serve", "roots", "without_references", "only_aggregates"}
        sources = {name: context.get_parameter_source(name) for name in context.params.keys() - shared}
        refused = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
        if refused:
            names = [param.opts[0] for param in context.command.params if param.name in refused]
            raise click.UsageError(f"--serve shows all of each store and takes no {', '.join(names)}")
        families: Any = context.find_root().command
        start = families.get_command(context, "serve").commands["start"]
        host, port = (next(param.default for param in start.params if param.name == name) for name in ("host", "port"))
        try:
            socket.create_server((host, port)).close()
        except OSError:  # another program has it
            with socket.create_server((host, 0)) as free:
                port = free.getsockname()[1]
        for path in stores:
            resolve(path)
        for name in name_stores(stores):
            echo(f"http://{host}:{port}/stores/{quote(name)}/", err=True)
        options = {"without_references": without_references, "only_aggregates": only_aggregates}
        context.invoke(start, paths=stores, port=port, roots=roots, **options)
        return
    # A report works in two threads already; those of linear algebra would wait for them, and wait by calculating.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    from ..progress import progress_for
    from ..reports.page import report

    begun = time.perf_counter()
    shown: dict[str, Any] = {
        "references": not without_references,
        "only_aggregates": only_aggregates,
        "root": roots or None,
    }
    page = report(label_stores(stores, labels), output, progress=progress_for(), guarded=True, **shown, **how)
    for note in page.notes:
        echo(note, err=True)
    seconds = time.perf_counter() - begun
    tracks = f"{counted(len(page.timelines), 'track')} with a timeline"
    echo(f"{page.path} written: {page.size / 1e6:.1f} MB, {tracks} ({seconds:.1f} s)", err=True)


_FIFTH = 1.5
_SUFFIXES = (".wav", ".flac", ".ogg")


@click.command(
    "sonify",
    cls=ReadingCommand,
    sides=("reference", "estimate"),
    section="show",
    place=5,
    short_help="Write annotations as audio, to listen to.",
)
@click.argument(
    "annotations", nargs=-1, required=True, type=LocalPath(), metavar="ANNOTATION...", callback=check_existing
)
@click.option("--output", "-o", required=True, type=LocalPath(dir_okay=False), help="A wav, flac or ogg file.")
@option("task", required=True)
@option("annotator")
@click.option("--mix", type=LocalPath(exists=True, dir_okay=False), help="Audio to mix with the annotations.")
@click.option("--stereo", is_flag=True, help="Two annotations: the first one left, the second one right.")
@click.option(
    "--rate", type=click.IntRange(1000, 384000), help="Sampling rate in Hz. Default: that of --mix, otherwise 44100."
)
def sonify_command(
    annotations: tuple[Path, ...],
    output: Path,
    task: str,
    annotator: str | int | None,
    mix: Path | None,
    stereo: bool,
    rate: int | None,
    options: Mapping[str, Any],
) -> None:
    """Write annotations as audio: clicks, chords, tones.

    Several annotations are mixed, and clicks of every second one are a fifth higher. With --stereo, the reference is on
    the left channel and the estimate on the right one.

    Options of reading (--columns, --time-unit, ...) apply to all annotations; with the prefix --reference-, as in
    --reference-time-unit ms, to the first one, with --estimate- to the others.
    """
    import numpy as np
    import soundfile

    from ..metrics.sonify import annotation as sonify
    from ..readers import read
    from ..readers.audio_files import FileSignal
    from ..readers.options import split_sides

    if stereo and len(annotations) != 2:
        raise click.UsageError(f"--stereo needs two annotations, one per channel, not {len(annotations)}")
    if output.suffix.lower() not in _SUFFIXES:
        raise click.BadParameter(f"{output}: the suffix must be {', '.join(_SUFFIXES)}", param_hint="'--output'")
    signal = None if mix is None else FileSignal(str(mix))
    own_rate = 44100 if signal is None else round(signal.rate)
    fs = rate or own_rate
    sides = split_sides(options)
    signals = [
        sonify(
            read(path, task=task, annotator=annotator, **sides[min(index, 1)]),
            fs,
            task,
            click_frequency=1000.0 * (_FIFTH if index % 2 else 1.0),
        )
        for index, path in enumerate(annotations)
    ]
    ears = [[one] for one in signals] if stereo else [signals]
    if signal is not None:
        audio = signal.read(0, signal.frames).mean(axis=0)
        if own_rate != fs:
            from scipy.signal import resample_poly

            common = gcd(own_rate, fs)
            audio = np.asarray(resample_poly(audio, fs // common, own_rate // common))
        ears = [[*ear, audio] for ear in ears]
    size = max(len(one) for ear in ears for one in ear)
    samples = np.zeros((size, len(ears)))
    for column, ear in enumerate(ears):
        for one in ear:
            samples[: len(one), column] += one
    scale = max(float(np.abs(samples).max(initial=0.0)), 1.0)
    try:
        with soundfile.SoundFile(output, "w", fs, channels=samples.shape[1]) as file:
            # In blocks: libsndfile copies each call's samples to the stack, which minutes of Ogg Vorbis would overflow.
            for start in range(0, size, 65536):
                file.write(samples[start : start + 65536] / scale)
    except soundfile.SoundFileError as error:
        raise click.UsageError(f"cannot write {output}: {error}") from error
    echo(f"{output} written ({size / fs:.1f} s)", err=True)
