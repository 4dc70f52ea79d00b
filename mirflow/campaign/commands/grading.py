"""Commands of ``mirflow grading``: draw queries, pool candidates, assign graders, and close a round for scoring.

Others cut clips of recordings, show the progress of a round and the agreement and workload of graders, plan how many
queries and graders are needed, and make groups of candidates for average dynamic recall.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...analysis.query_options import DEFAULT_LEVEL, say_level
from ...cli.common_options import LEVEL, Command, CommandFamily, Decorated, LocalPath, ReadingCommand
from ...cli.output import FOR_PEOPLE, check_figure, choose_format, echo, emit, output_options
from ...errors import GradingError, counted
from . import default_option, demand_packages, operator

if TYPE_CHECKING:
    import xarray as xr

    from ...annotations.collection import Collection
    from ...reports.tables import Entry, Table
    from ..grading.judgement_tables import GraderJudgement, GradingEvent, Known, Unjudged

_FILE = LocalPath(exists=True, dir_okay=False)
_OUT = LocalPath(dir_okay=False)
_SEED = 2**63
_NAMED = 5  # number of short lists to report by name


@click.group(
    "grading",
    cls=CommandFamily,
    section="campaign",
    place=5,
    short_help="Draw queries, pool candidates, assign graders, close.",
)
def grading_command() -> None:
    """Grade the similarity of candidates: draw, pool, assign, overview, close, groups.

    Each step reads and writes tables, which the pages for graders (mirflow serve) use as well.
    """


def _print(rows: Iterable[tuple[str, Entry]], title: str) -> None:
    from ...reports.tables import Table, to_text

    echo(to_text(Table(("what", "value"), tuple(rows), title)), nl=False, err=True)


def _refuse_existing(*paths: Path, force: bool) -> None:
    for path in paths:
        if path.exists() and not force:
            message = f"{path} exists, and graders may already use it: choose another file, or add --force"
            raise click.UsageError(message)


_force = click.option("--force", is_flag=True, help="Overwrite existing files.")
_level = click.option(
    "--level",
    type=LEVEL,
    help=f"Level of intervals for weighted kappa, alpha and ICC, such as {DEFAULT_LEVEL}. Default: none.",
)


def _choice(name: str, choices: tuple[str, ...], help: str) -> Callable[[Decorated], Decorated]:
    """An option with a fixed set of values, of which the first is the default."""
    return default_option(name, default=choices[0], type=click.Choice(choices), help=help)


@grading_command.command("draw", cls=Command, short_help="Draw queries from a collection.")
@click.argument("pieces", type=_FILE)
@click.option("--output", "-o", type=_OUT, required=True, help="Table of the queries to write.")
@click.option("--number", "-n", type=click.IntRange(1), help="Number of queries to draw at random.")
@click.option(
    "--each",
    metavar="NUMBER|VALUE=NUMBER,...",
    help="Number of queries per value of --by, instead of --number: 10, or Essen=6,RISM=5.",
)
@click.option("--by", metavar="COLUMN", help="Column for --each, such as genre.")
@click.option("--where", "-w", help="Condition on the pieces: \"genre == 'Rock' and year < 1980\".")
@click.option("--leave-out", multiple=True, type=_FILE, metavar="FILE", help="Pieces not to draw: a table or a list.")
@click.option("--piece", metavar="COLUMN", help="Column with the names of the pieces. Default: piece, track, ...")
@click.option("--seed", type=click.IntRange(0, _SEED), help="Seed. Default: a new one, which is printed.")
@_force
def draw_command(pieces: Path, output: Path, by: str | None, where: str | None, force: bool, **options: Any) -> None:
    """Draw queries from PIECES, a table with one row per piece of the collection, and write their rows."""
    import secrets

    from ..grading.query_draw import draw, read_each, read_names, read_pieces, write_queries

    number, each = options["number"], options["each"]
    if each is not None:
        try:
            each = read_each(each)
        except GradingError as error:
            raise click.BadParameter(str(error), param_hint="'--each'") from None
    _refuse_existing(output, force=force)
    if (number is None) == (each is None) or (each is None) != (by is None):
        raise click.UsageError("give --number, or --each with --by")
    seed = secrets.randbits(31) if options["seed"] is None else options["seed"]
    collection = read_pieces(pieces, options["piece"])
    left_out = {name for path in options["leave_out"] for name in read_names(path)} & set(collection.names)
    drawn = draw(collection, number, each=each, by=by, seed=seed, where=where, exclude=left_out)
    write_queries(collection, drawn, output, drawn_from=pieces.name, seed=seed, each=each, by=by, where=where)
    rows: list[tuple[str, Entry]] = [("pieces", len(collection.names)), ("left out", len(left_out))]
    values = collection.values(by) if by else {}
    counts = Counter(values[name] for name in drawn) if by else {}
    rows += [(f"queries of {by} {value}", count) for value, count in sorted(counts.items())]
    _print([*rows, ("queries", len(drawn)), ("seed", seed)], f"{output}: queries drawn")


@grading_command.command("pool", cls=ReadingCommand, short_help="Pool the first candidates of all systems.")
@click.argument("lists", nargs=-1, required=True, metavar="LISTS...")
@click.option("--queries", "-q", type=_FILE, required=True, help="Table of queries written by draw.")
@click.option("--output", "-o", type=_OUT, required=True, help="Table of pairs to write.")
@click.option(
    "--key", type=_OUT, help="Key to write: which system returned which candidate. Default: OUTPUT with .key.csv."
)
@default_option("--top", "-n", default=5, type=click.IntRange(1), help="Candidates per system.")
@click.option("--pieces", type=_FILE, help="Table of pieces, for --same and for their names.")
@click.option("--piece", metavar="COLUMN", help="Column with the names of the pieces. Default: piece, track, ...")
@click.option("--same", multiple=True, metavar="COLUMN", help="Leave out candidates with the query's value: artist.")
@click.option("--leave-out", multiple=True, type=_FILE, metavar="FILE", help="Pieces to exclude as candidates.")
@click.option("--judged-as", metavar="COLUMN", help="Column of --queries with the query that graders hear instead.")
@click.option("--seed", help="Secret for the ids. Default: a new one, kept in the key.")
@_force
def pool_command(
    lists: tuple[str, ...], output: Path, force: bool, options: Mapping[str, Any], **settings: Any
) -> None:
    """Pool the first candidates of all systems for each query under ids that do not reveal the systems.

    LISTS are files for the task retrieval: "runs/{system}.csv", "{system}/{track}.txt", distance matrices. The query
    itself and candidates excluded by --same or --leave-out are skipped, and the next ones move up.
    """
    import secrets

    from ..grading.pool import key_path, pool, read_rankings, summarise_pool, write_pool
    from ..grading.query_draw import read_names, read_pieces, read_queries

    pieces, same, key, queries, top = (settings[name] for name in ("pieces", "same", "key", "queries", "top"))
    if same and pieces is None:
        raise click.UsageError(f"--same {same[0]} needs --pieces, a table with this column")
    _refuse_existing(output, key or key_path(output), force=force)
    heard = {} if settings["judged_as"] is None else read_pieces(queries, "query").values(settings["judged_as"])
    collection = None if pieces is None else read_pieces(pieces, settings["piece"])
    left_out = {name for path in settings["leave_out"] for name in read_names(path)}
    wanted = read_queries(queries)
    rankings = read_rankings(lists, wanted, () if collection is None else collection.names, **options)
    secret = settings["seed"] or secrets.token_hex(16)
    pooled = pool(rankings, wanted, top, secret, pieces=collection, same=same, exclude=left_out, judged_as=heard)
    key_written = write_pool(pooled, output, key)
    _print(summarise_pool(pooled, top), f"{output}: candidates pooled")
    short = pooled.short(top)
    for system, query, count in short[:_NAMED]:
        echo(f"warning: system {system!r} has only {count} of {top} candidates for {query!r}", err=True)
    if len(short) > _NAMED:
        echo(f"warning: {counted(len(short) - _NAMED, 'other list')} with fewer candidates than {top}", err=True)
    echo(f"{key_written} reveals the systems: do not give it to graders", err=True)


@grading_command.command("clip", cls=Command, short_help="Cut clips from the middle of recordings.")
@click.argument("recordings", nargs=-1, required=True, type=_FILE, metavar="RECORDINGS...")
@click.option("--output", "-o", type=LocalPath(file_okay=False), required=True, help="Folder for the clips.")
@default_option("--seconds", default=30.0, type=click.FloatRange(0, min_open=True), help="Length of the clips.")
@click.option("--to", type=click.Choice(("wav", "flac", "ogg", "mp3")), help="Format. Default: as the recording.")
@_force
def clip_command(recordings: tuple[Path, ...], output: Path, seconds: float, to: str | None, force: bool) -> None:
    """Cut the middle of each recording into a folder, under the same name; shorter recordings are copied."""
    from ..grading.query_draw import clip

    clips = [output / (f"{path.stem}.{to}" if to else path.name) for path in recordings]
    twice = next((path for path, many in Counter(clips).items() if many > 1), None)
    if twice is not None:
        raise click.UsageError(f"two recordings would both be written to {twice}; use different folders")
    _refuse_existing(*clips, force=force)
    for recording, path in zip(recordings, clips, strict=True):
        clip(recording, path, seconds)
    echo(f"{output}: {counted(len(clips), 'clip')} of at most {seconds:g} s", err=True)


@grading_command.command("assign", cls=Command, short_help="Assign graders to pairs.")
@click.argument("pool", type=_FILE)
@click.option("--output", "-o", type=_OUT, required=True, help="Table of assignments to write.")
@click.option(
    "--graders", "-g", required=True, metavar="NUMBER|FILE", help="Number of graders, or a list of their names."
)
@default_option("--per-pair", "-k", default=1, type=click.IntRange(1), help="Graders per pair.")
@_choice("--by", ("query", "pair"), "Unit of assignment.")
@default_option("--repeats", default=0.05, type=click.FloatRange(0, 1), help="Share of judgements to repeat.")
@default_option("--minutes", default=1.0, type=click.FloatRange(0, min_open=True), help="Minutes per judgement.")
@click.option(
    "--seed", type=click.IntRange(0, _SEED), help="Seed for the orders. Default: a new one, stored in the table."
)
@_force
def assign_command(pool: Path, output: Path, graders: str, seed: int | None, force: bool, **options: Any) -> None:
    """Assign graders to the pairs of POOL, least judged first, and print the workload.

    Whenever grading stops, the numbers of judgements of two pairs differ by at most one if graders keep pace. The pages
    for graders assign by the same rule on arrival and need no table.
    """
    import secrets

    from ..grading.assignment import assign, summarise, tabulate_work, write_plan
    from ..grading.pool import key_path, read_key, read_pairs
    from ..grading.query_draw import read_names

    _refuse_existing(output, force=force)
    if graders.isdecimal():
        names = [f"grader{number:0{len(graders)}}" for number in range(1, int(graders) + 1)]
    else:
        names = read_names(graders)
    seed = secrets.randbits(31) if seed is None else seed
    by, repeats, minutes = options["by"], options["repeats"], options["minutes"]
    plan = assign(read_pairs(pool), names, options["per_pair"], by=by, repeats=repeats, seed=seed)
    write_plan(plan, output, minutes)
    work = summarise(plan, minutes)
    rows: list[tuple[str, Entry]] = []
    if key_path(pool).exists():
        key = read_key(key_path(pool))
        rows = [("systems", len(key.systems)), ("candidates returned", len(key.returned))]
    rows += [*tabulate_work(work), ("seed", seed)]
    _print(rows, f"{output}: graders assigned")


@grading_command.command("overview", cls=Command, short_help="Show progress and agreement.")
@click.argument("judgements", type=_FILE)
@click.option("--key", type=_FILE, required=True, help="Key written by pool.")
@default_option("--per-pair", "-k", default=1, type=click.IntRange(1), help="Graders per pair.")
@click.option("--events", type=_FILE, help="Log of events (JSON lines), for the time on task.")
@_level
@output_options
def overview_command(
    judgements: Path, key: Path, per_pair: int, style: str | None, output: Path | None, **options: Any
) -> None:
    """Show the progress of a round, the agreement of its graders, and the effect of the middle category, without names.

    JUDGEMENTS is a table as for close; the round may be in progress.
    """
    from ...reports.tables import Table
    from ..grading.judgement_tables import read_events, read_judgements
    from ..grading.pool import read_key
    from ..grading.rater_agreement import collection_of, progress, without_middle

    style = choose_format(style, output)
    people = style in FOR_PEOPLE
    pool = read_key(key)
    rows = read_judgements(judgements)
    events = [] if options["events"] is None else read_events(options["events"])
    state = progress(rows, pool.pairs, per_pair)
    counts: list[tuple[str, Entry]] = [
        ("pairs", state.pairs),
        ("graders", state.graders),
        ("judgements wanted", state.wanted),
        ("judgements made", state.judged),
        ("share", f"{state.share:.1%}"),
        *((f"pairs with {counted(number, 'judgement')}", count) for number, count in state.by_count.items()),
        ("hidden repeats", state.repeats),
        ("could not be heard", state.cannot_hear),
        ("of pieces that the grader knew", state.known),
    ]
    tables = [Table(("what", "number"), tuple(counts), "progress"), _grader_table(rows, events, pool.seed, people)]
    tables += agreement_tables(collection_of(rows), people, options["level"])
    if any(row.broad for row in rows):
        ranking = without_middle(rows, pool)
        schemes, systems = (ranking[name].values.tolist() for name in ("scheme", "system"))
        lines: list[tuple[Entry, ...]] = []
        for column in ranking["rank"].values[0].argsort(kind="stable").tolist():
            entries: list[Entry] = []
            for scheme in range(len(schemes)):
                score = show_number(ranking["score"].values[scheme, column].item(), people)
                rank = ranking["rank"].values[scheme, column].item()
                entries += [f"{score} ({rank:g})" if score is not None else None] if people else [score, rank]
            lines.append((systems[column], *entries))
        columns = ("system", *(name for scheme in schemes for name in (f"score, {scheme}", f"rank, {scheme}")))
        title, notes = "systems", tuple[str, ...]()
        if people:
            lines.append(("tau", *(show_number(value, people) for value in ranking["tau"].values.tolist())))
            columns, title = ("system", *schemes), "systems, by the weight of the middle category"
            notes = ("scores with ranks in brackets; tau: Kendall's tau-b with the ranking by all three categories",)
        tables.append(Table(columns, tuple(lines), title, notes))
    emit(tables, style, output)


def _grader_table(rows: Sequence[GraderJudgement], log: Sequence[GradingEvent], seed: str, people: bool) -> Table:
    from ...reports.tables import Table
    from ..grading.judgement_tables import number_graders
    from ..grading.rater_agreement import grader_work

    works = grader_work(rows, log)
    called = number_graders((row.grader for row in rows), seed)
    listened = any(row.heard is not None for row in rows)
    lines = []
    for name, shown in {**called, "": "all"}.items():
        work, again = works[name], works[name].agreement
        spent = (work.median_seconds, work.total_seconds / 3600) if log else ()
        heard = (work.median_heard,) if listened else ()
        values = (again.same, again.weighted_kappa, again.difference, *spent, *heard)
        lines.append((shown, work.judged, again.repeats, *(show_number(value, people) for value in values)))
    notes = (
        "same: share of the hidden repeats with the same broad category; weighted_kappa: of both, linear weights",
        "difference: mean absolute difference of the fine judgements of both times",
        *(("seconds: median of a pair; hours: in all",) if log else ()),
        *(("heard: median share of a recording played before its judgement",) if listened else ()),
    )
    timed = (*(("seconds", "hours") if log else ()), *(("heard",) if listened else ()))
    columns = ("grader", "judged", "repeats", "same", "weighted_kappa", "difference", *timed)
    return Table(columns, tuple(lines), "graders and their agreement with themselves", notes if people else ())


@grading_command.command("close", cls=Command, short_help="Write the tables that are scored.")
@click.argument("judgements", type=_FILE)
@click.argument("round_name", metavar="[ROUND]", default="")
@click.option("--key", type=_FILE, help="Key written by pool; not needed for a campaign.")
@click.option("--output", "-o", type=LocalPath(file_okay=False), required=True, help="Folder to write.")
@click.option("--events", type=_FILE, help="Log of events (JSON lines), to copy without names.")
@click.option(
    "--withdrawn", multiple=True, metavar="GRADER", help="Forget this grader's judgements. Repeat for several."
)
@_choice("--known", ("keep", "leave out"), "Treatment of pieces that the grader knew.")
@_choice("--unjudged", ("refuse", "zero", "skip"), "How the pipeline scores candidates without a judgement.")
@default_option(
    "--scale", default=10.0, type=click.FloatRange(0, min_open=True), help="Largest possible fine judgement."
)
@click.option("--names", is_flag=True, help="Keep the graders' names instead of numbers.")
@click.option("--interim", is_flag=True, help="Write the current tables of a campaign's round without closing it.")
@_force
def close_command(
    judgements: Path, round_name: str, output: Path, known: Known, unjudged: Unjudged, force: bool, **options: Any
) -> None:
    """Close a round: write the valid judgements, the systems' lists and a pipeline that scores them.

    JUDGEMENTS has the columns grader, query, candidate, broad and fine, and optionally repeat, cannot_hear, known,
    time. Alternatively it is a campaign file and ROUND one of its rounds, whose pages are then closed.
    """
    interim = options["interim"]
    if judgements.suffix.lower() in (".yaml", ".yml"):
        _refuse_existing(output / "judgements.csv", force=force)
        wrong = next((name for name in ("key", "events", "withdrawn", "names") if options[name]), None)
        if wrong:
            raise click.UsageError(f"--{wrong} is for a table of judgements; a campaign takes it from its database")
        if not round_name:
            raise click.UsageError(f"name the round of {judgements.name} to close")
        demand_packages()
        from ..server.graders.organiser_pages import close_round
        from ..server.service import open_service

        service = open_service([judgements])
        try:
            terms: dict[str, Any] = {"known": known, "unjudged": unjudged, "interim": interim}
            closed, pipeline = close_round(service, round_name, output, **terms)
            if not interim:
                service.audit.record(operator(), "close round", round=round_name)
        finally:
            if service.database is not None:
                service.database.close()
    elif round_name or interim or options["key"] is None:
        message = f"a round and --interim need a campaign file; {judgements.name} is a table and needs --key"
        raise click.UsageError(message)
    else:
        from ..grading.judgement_tables import close, read_judgements, write_closed
        from ..grading.pool import read_key

        _refuse_existing(output / "judgements.csv", force=force)
        rows, withdrawn, pool = read_judgements(judgements), options["withdrawn"], read_key(options["key"])
        for name in withdrawn:
            if not any(row.grader == name for row in rows):
                raise GradingError(f"{judgements}: no judgements of grader {name!r}, given by --withdrawn")
        closed = close(rows, pool, withdrawn=withdrawn, known=known, names=options["names"])
        pipeline = write_closed(closed, pool, output, options["events"], unjudged, options["scale"])
    title = "current tables, grading continues" if interim else "round closed"
    _print(closed.counts.items(), f"{output}: {title}")
    if closed.unjudged and unjudged == "refuse":
        query, piece = closed.unjudged[0]
        more = f"{len(closed.unjudged)} pairs, such as {piece!r} of {query!r}"
        echo(f"warning: no judgements of {more}: lists with them are not scored; see --unjudged", err=True)
    echo(f"mirflow run {pipeline}", err=True)


@grading_command.command("groups", cls=Command, short_help="Make the groups for average dynamic recall.")
@click.argument("judgements", type=_FILE)
@click.option("--output", "-o", type=_OUT, required=True, help="Table of groups to write.")
@default_option("--level", default=0.05, type=LEVEL, help="Significance level of the tests.")
@_choice("--by", ("fine", "rank", "broad"), "Values to compare.")
@_choice(
    "--test",
    ("rank-sum", "signed-rank"),
    "Wilcoxon's test for independent samples, or for the paired differences of graders.",
)
@_choice(
    "--differs-from",
    ("all", "any", "previous"),
    "Predecessors in the group from which a candidate must differ to start the next group.",
)
@default_option(
    "--above", default=0.0, type=float, help="Median level (NS 0, SS 1, VS 2) above which candidates are similar."
)
@_force
def groups_command(
    judgements: Path, output: Path, level: float, by: str, test: str, differs_from: str, above: float, force: bool
) -> None:
    """Make the reference of average dynamic recall: groups of candidates that graders did not distinguish.

    JUDGEMENTS is a table written by close, with several graders per pair. A pipeline reads OUTPUT as the
    reference of average_dynamic_recall@0(by=fine).
    """
    from ..grading.rater_agreement import group_candidates, write_ground_truth

    _refuse_existing(output, force=force)
    options: dict[str, Any] = {"by": by, "test": test, "differs_from": differs_from, "above": above}
    groups = group_candidates(judgements, level, **options)
    write_ground_truth(groups, output, {"level": level, **options})
    sizes = Counter((candidate.query, candidate.group) for candidate in groups.candidates if candidate.group)
    queries = Counter(query for query, _ in sizes)
    rows: list[tuple[str, Entry]] = [
        ("queries", len({candidate.query for candidate in groups.candidates})),
        ("similar candidates", sizes.total()),
        ("not similar", sum(not candidate.group for candidate in groups.candidates)),
        ("groups", len(sizes)),
    ]
    by_size = sorted(Counter(queries.values()).items())
    rows += [(f"queries with {counted(number, 'group')}", count) for number, count in by_size]
    _print(rows, f"{output}: groups of equally similar candidates")
    if groups.undecided:
        few = f"{len(groups.undecided)} of {len(queries)} queries, such as {groups.undecided[0]!r}"
        echo(
            f"warning: too few graders for differences at level {level:g}: {few}, which become one group each", err=True
        )


_PLAIN = frozenset({"n", "mean", "median", "lowest", "highest", "q1", "q3"})  # columns that need no explanation
_POSITIVE = click.FloatRange(min=0, min_open=True)


@grading_command.command("agreement", cls=Command, short_help="Measure the agreement of graders.")
@click.argument("paths", type=_FILE, nargs=-1, required=True, metavar="JUDGEMENTS...")
@click.option("--figure", type=_OUT, help="Box plots of the fine judgements within each category: .pdf, .png or .svg.")
@_level
@output_options
def agreement_command(
    paths: tuple[Path, ...], figure: Path | None, level: float | None, style: str | None, output: Path | None
) -> None:
    """Compute the agreement of graders, and the distribution of fine judgements within each broad category.

    Agreement is Fleiss's kappa; for pairs with several graders also Cohen's kappa with weights, Krippendorff's alpha
    and intraclass correlation. Each FILE has the columns query, candidate, grader, broad (NS, SS or VS) and fine.
    Several files, for example from several campaigns, get separate tables and a common figure.
    """
    from ...analysis.judgements import read_judgements

    style = choose_format(style, output)
    if figure is not None:
        check_figure(figure)
    # Files are named by their stems, or by as much of their paths as distinguishes them; a single file has no name.
    whole = [path.absolute() for path in paths]
    if len(set(whole)) < len(whole):
        raise click.UsageError(f"duplicate file: {next(path for path in paths if paths.count(path) > 1)}")
    names, parts = [path.stem for path in paths] if len(paths) > 1 else [""], 1
    while len(set(names)) < len(names):
        names = ["/".join(path.parts[-parts:]) for path in whole]
        parts += 1
    judgements = {name: read_judgements(path) for name, path in zip(names, paths, strict=True)}
    tables = [
        table
        for name, collection in judgements.items()
        for table in agreement_tables(collection, style in FOR_PEOPLE, level, name)
    ]
    emit(tables, style, output)
    if figure is not None:
        from ...reports import figures

        echo(f"{figures.save(figures.graders(judgements), figure)} written", err=True)


def agreement_tables(judgements: Collection, people: bool, level: float | None = None, name: str = "") -> list[Table]:
    """Tabulate the agreement of the graders in a file, and the distribution of fine judgements if there are any.

    For people numbers are formatted, and there are notes. `name` is that of the file, if there are several.
    """
    from ...analysis.judgements import fine_within_broad, grader_agreement
    from ...reports.tables import Table
    from ..grading.rater_agreement import reliability

    described: list[tuple[xr.Dataset, str, list[str]]] = []  # with titles and notes
    columns = judgements.rows.columns
    broad = "broad" in columns and bool((columns["broad"] != "").any())
    others = reliability(judgements, level)
    if broad or not others["compared"].any():  # also reports that there is nothing to compare
        agreement = grader_agreement(judgements)
        least, most = agreement.attrs["least_graders"], agreement.attrs["most_graders"]
        weighted = "pairs have equal weight whatever their number of graders (Gwet); those with one only affect chance"
        many = f"graders per pair of query and candidate: {most if least == most else f'{least}-{most}'}"
        described.append((agreement, "agreement of graders", [many, *([weighted] if least != most else [])]))
    others = others.isel(measure=others["compared"].values > 0)
    if others.sizes["measure"]:
        abouts = zip(others["measure"].values, others["about"].values, strict=True)
        notes = [f"{key}: {about}" for key, about in abouts]
        notes.append("compared: pairs of a query and a candidate with at least two judgements")
        if "low" in others:
            drawn = f"percentiles of {others.attrs['replicates']} bootstraps over the queries"
            notes.append(f"low, high: {say_level(others.attrs['level'])} interval, {drawn}")
        listed = ["of", *(key for key in ("value", "low", "high", "compared") if key in others)]
        described.append((others[listed], "other measures of agreement", notes))
    if broad and "value" in columns:
        described.append((fine_within_broad(judgements), "fine judgements within broad categories", []))
    tables: list[Table] = []
    file = {"judgements": name} if name and not people else {}
    for values, title, notes in described:
        attrs = {key: column.attrs for key, column in values.items() if key not in _PLAIN}
        notes += [f"{key}: {about['long_name']}" for key, about in attrs.items() if "long_name" in about]
        entries = {str(key): values[key].values.tolist() for key in (*values.dims, *values.data_vars)}
        rows = zip(*entries.values(), strict=True)
        shown = tuple((*file.values(), *(show_number(value, people) for value in row)) for row in rows)
        title = f"{name}: {title}" if name else title
        tables.append(Table((*file, *entries), shown, title, tuple(notes) if people else ()))
    return tables


def show_number(value: Any, people: bool) -> Entry:
    """Format a number with four digits for people; NaN becomes empty, other entries are unchanged."""
    if isinstance(value, float) and people:
        return None if value != value else f"{value:z.4f}"
    return value  # type: ignore[no-any-return]  # text or a number, as datasets hold them


@grading_command.command("workload", cls=Command, short_help="Compute the workload of graders.")
@click.option("--algorithms", "-A", type=_POSITIVE, required=True, help="Systems that return candidates.")
@click.option("--queries", "-Q", type=_POSITIVE, required=True, help="Queries.")
@click.option(
    "--candidates", "-C", type=_POSITIVE, required=True, help="Candidates that each system returns for a query."
)
@click.option("--graders", "-G", type=_POSITIVE, required=True, help="People who judge.")
@default_option("--minutes", "-M", default=1.0, type=_POSITIVE, help="Minutes per judgement.")
@default_option("--graders-per-pair", "-P", default=1.0, type=_POSITIVE, help="Graders per pair.")
@default_option("--limit", default=240.0, type=_POSITIVE, help="Most minutes per grader.")
@click.option("--events", type=_FILE, help="Log of events (JSON lines), whose mean minutes per judgement are taken.")
@output_options
def workload_command(style: str | None, output: Path | None, events: Path | None, **factors: float) -> None:
    """Compute the minutes of work for each grader, (A * Q * C * M * P) / G, and the feasible limits.

    Candidates returned by several systems are judged once, so this is an upper bound.
    """
    from ...analysis.judgements import Workload
    from ...reports.tables import Table

    if events is not None:
        from ..grading.judgement_tables import read_events
        from ..grading.rater_agreement import time_on_task

        seconds = [each for pairs in time_on_task(read_events(events)).values() for each in pairs.values()]
        if not seconds:
            raise click.UsageError(f"{events}: no time on a candidate; leave out --events and give --minutes")
        factors["minutes"] = sum(seconds) / len(seconds) / 60
    work = Workload(**factors)
    style = choose_format(style, output)
    values = {name: getattr(work, name) for name in ("minutes", "minutes_per_grader", "limit", "judgements")}
    numbers = {name: int(value) if value == int(value) else value for name, value in values.items()}
    if style in FOR_PEOPLE:
        numbers = {name: f"{value:.10g}" for name, value in values.items()}
    judgements = numbers.pop("judgements")
    rows: list[tuple[Entry, ...]] = [
        *numbers.items(),
        ("feasible", "yes" if work.feasible else "no"),
        ("judgements", judgements),
        ("fewest graders", work.least_graders),
        *((f"most {name}", work.most(name)) for name in ("algorithms", "queries", "candidates", "graders_per_pair")),
    ]
    emit([Table(("what", "value"), tuple(rows), "workload of graders")], style, output)


@grading_command.command("effort", cls=Command, short_help="Plan queries and graders for a difference of systems.")
@click.argument("judgements", type=_FILE)
@click.option("--difference", type=_POSITIVE, required=True, help="Difference of mean fine judgements to be shown.")
@default_option(
    "--graders-per-pair",
    "-P",
    default=3,
    type=click.IntRange(1, 100),
    help="Most graders per pair: a row for each number.",
)
@default_option("--algorithms", "-A", default=2, type=click.IntRange(2), help="Systems to compare.")
@default_option("--candidates", "-C", default=5, type=click.IntRange(1), help="Candidates per system.")
@default_option(
    "--power",
    default=0.8,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Probability with which the difference is to be shown.",
)
@default_option("--level", default=DEFAULT_LEVEL, type=LEVEL, help="Tests use 1 - level.")
@click.option("--minutes", "-M", type=_POSITIVE, default=1.0, help="Minutes per judgement. Default: 1.")
@click.option("--limit", type=_POSITIVE, default=240.0, help="Most minutes per grader. Default: 240.")
@output_options
def effort_command(judgements: Path, style: str | None, output: Path | None, difference: float, **options: Any) -> None:
    """Plan the queries and graders that show a difference of systems, from the JUDGEMENTS of a campaign like it.

    Variances between candidates, graders and both together say whether more graders per pair are worth their time.
    """
    from ...analysis.judgements import grading_effort
    from ...reports.tables import Table

    style = choose_format(style, output)
    effort = grading_effort(judgements, difference, **options)
    columns = ("graders_per_pair", "queries", "judgements", "graders")
    rows = tuple(zip(*(effort[name].values.tolist() for name in columns), strict=True))
    spread = ", ".join(f"{name} {math.sqrt(effort.attrs[name]):.3f}" for name in effort.attrs)
    notes = (
        f"standard deviations of judgements of a query: {spread}",
        f"queries: so many show a difference of {difference:g} with a probability of {options['power']:g}",
        "judgements, graders: if no two systems return the same candidate",
    )
    emit([Table(columns, rows, "effort of grading", notes if style in FOR_PEOPLE else ())], style, output)
