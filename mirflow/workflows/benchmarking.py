"""Benchmarks by name: what they are, and a system's scores among the published ones.

The data are checked before a run. In its table, systems that the headline metric does not tell apart share letters,
where scores by track are known; notes name missing tracks, and files that belong to no track.
"""

from __future__ import annotations

import difflib
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..analysis.combine import join_group
from ..analysis.inference.comparisons import compare_blocks, compared_blocks
from ..analysis.inference.resampling import Resampling
from ..analysis.queries import evaluate_query, evaluations_of
from ..analysis.query_options import Query, make_query
from ..analysis.scores import as_scores, coords_of, names_of
from ..analysis.selection import find_problems
from ..analysis.signatures import Signature, sign
from ..engine.runs import run
from ..errors import BenchmarkError, MirflowError, MirflowWarning, PruneError, QueryError, counted, name_some, suggest
from ..metrics.base import get_task
from ..metrics.measures import SIGN_OF, spell_out
from ..pipeline.discovery import absolute, find_estimates
from ..pipeline.model import Pipeline, Resolved, Trouble, resolve
from ..published.benchmark_file import (
    DATA,
    Baseline,
    BenchmarkFile,
    benchmark_files,
    data_folder,
    demand_data,
    find_benchmark,
    tracks_of,
)
from ..published.mapping import ScoreGroup, TableMapping
from ..published.score_tables import read_tables
from ..readers.patterns import Pattern
from ..reports.captions import letters_note
from ..reports.layout import readable_tables, show_value
from ..reports.tables import ShownValue, Table, Tabulation
from ..store.cells import Status
from ..store.read import dataset_of, read_scores

if TYPE_CHECKING:
    import xarray as xr

    from ..progress import Progress

OWN = " (this run)"  # added to the name of the system that is run
NOWHERE = "not here"  # place of data that are not found
_SHOWN = 5


@dataclass(frozen=True)
class BenchmarkRow:
    """A system in the table of a benchmark."""

    system: str
    own: bool  # whether it is the system that was run
    values: Mapping[str, float]  # aggregates by metric, in the unit of the metric
    n: int | None = None
    missing: int | None = None
    """Tracks that count, and tracks without a score; None where only aggregates are published."""
    letters: str = ""
    """Systems that share one are not told apart by the headline; empty where that was not tested."""
    source: str = ""  # where the scores were published
    signature: str = ""  # how the values were computed; empty where that is not known


def benchmarks() -> Tabulation[BenchmarkFile]:
    """List the benchmarks of mirflow and of installed packages, as ``mirflow bench list`` does.

    Returns
    -------
    Tabulation of BenchmarkFile
        By name. Its tables have the task, the number of tracks, the headline metric, the number of baselines, and
        whether the data are here.

    Examples
    --------
    >>> "demo-chords" in [one.name for one in benchmarks()]
    True
    """
    found = []
    for name in sorted(benchmark_files()):
        try:
            found.append(find_benchmark(name))
        except MirflowError as error:  # of another package
            warnings.warn(str(error), MirflowWarning, stacklevel=2)
    facts = list(map(_facts, found))
    columns = ("name", "task", "tracks", "headline", "baselines", "data")
    data = [str(fact["data"]) for fact in facts]
    places = [text if text.startswith("mirdata") or text == NOWHERE else "here" for text in data]
    short = tuple((*(one[name] for name in columns[:-1]), place) for one, place in zip(facts, places, strict=True))
    away = []
    for file in found:
        if file.benchmark.evaluation.reference.mirdata is None and data_folder(file) is None:
            folder = file.benchmark.data.folder or file.name
            how = file.benchmark.data.url or f"see mirflow bench show {file.name}"
            away.append(f"{file.name}: data from {how}, as the folder {folder} in ${DATA}, or named by --data")
    return Tabulation(
        found,
        lambda width: [Table(columns, short, notes=tuple(away))],
        lambda: [Table(tuple(facts[0]), tuple(tuple(fact.values()) for fact in facts))],
    )


def benchmark(name: str | Path) -> Tabulation[BenchmarkFile]:
    """Describe a benchmark, as ``mirflow bench show`` does: its rules, baselines, citation, and how to get the data.

    Parameters
    ----------
    name : str or path
        Its name, or the path of its file.

    Raises
    ------
    UnknownNameError
        For another name, with a suggestion.
    PipelineError
        If its file is invalid; lists all problems.
    """
    file = find_benchmark(name)
    facts = _facts(file)
    described = tuple((key, value) for key, value in facts.items() if key != "name" and value not in ("", None))
    rows = [row for baseline in file.benchmark.baselines for row in _of_values(file, baseline)]

    own = Table(("name", file.name), described, folds=(file.name,))
    return Tabulation(
        [file],
        lambda width: [own, *([_standings(file, rows, "published baselines", [])] if rows else [])],
        lambda: [Table(tuple(facts), (tuple(facts.values()),))],
    )


def run_benchmark(
    name: str | Path,
    estimates: str | Path,
    *,
    data: str | Path | None = None,
    system: str | None = None,
    store: str | Path | None = None,
    missing: Literal["zero", "skip", "raise"] | None = None,
    progress: bool | Progress | None = None,
    guarded: bool = False,
) -> Tabulation[BenchmarkRow]:
    """Score a system on a benchmark, and show it among the published baselines, as ``mirflow bench run`` does.

    The data are compared with the digests of the benchmark first. The scores are those of :func:`mirflow.run`, whose
    store is brought up to date.

    Parameters
    ----------
    name : str or path
        Name of the benchmark, or the path of its file.
    estimates : path
        Folder with the system's files.
    data : path or None
        Folder of the data; None: that of the benchmark's name in the folder MIRFLOW_DATA, or mirdata's.
    system : str or None
        Name of the system; None: that of the folder of its files.
    store : path or None
        Store of the scores; None: ``stores/BENCHMARK/SYSTEM.zarr``.
    missing : {"zero", "skip", "raise"} or None
        Treatment of tracks without an estimate, as in queries; None: that of the benchmark.
    progress : bool, Progress or None
        As for :func:`mirflow.run`.
    guarded : bool
        As for :func:`mirflow.run`.

    Returns
    -------
    Tabulation of BenchmarkRow
        The systems, the best first. Its notes say which tracks are missing, and which files are none of the benchmark.

    Raises
    ------
    UnknownNameError
        For another benchmark, with a suggestion.
    BenchmarkError
        If data are missing or have other digests, or if no file of the estimates is one of a track.
    PipelineError, StoreError, QueryError
        As for :func:`mirflow.run` and :func:`mirflow.query`.
    """
    file = find_benchmark(name)
    root = demand_data(file, data)
    folder = Path(absolute(str(estimates)))
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "no such folder"
        raise BenchmarkError(f"{estimates}: {found}: expected a folder with the files of one system")
    if set("{}") & set(str(folder)):
        raise BenchmarkError(f"{estimates}: the path of the estimates has braces; move or rename the folder")
    system = folder.name if system is None else system
    if not system.strip() or system in (".", "..") or "/" in system:
        raise BenchmarkError(f"invalid name of a system {system!r}: expected text without /, such as ours")
    called = re.sub(r'[<>:"/\\|?*]', "-", system)  # what Windows has in no name of a file
    place = Path("stores", file.name, f"{called}.zarr") if store is None else store
    tracks = tracks_of(file, root, homed=data is not None)
    rules = file.benchmark.evaluation
    values = rules.model_dump(exclude_unset=True)
    values["estimates"] = {**values.pop("estimates", {}), "path": str(folder / rules.estimates.path)}
    if tracks is not None:
        values["reference"] = {**values["reference"], "tracks": list(tracks)}
    if data is not None and rules.reference.mirdata is not None:
        values["reference"] = {**values["reference"], "data_home": str(root)}
    named = {"name": file.name, "root": str(root), "store": f"{file.name}.zarr"}
    evaluations = [{**values, "systems": [system], "on_error": "ignore"}]
    pipeline = Pipeline.model_validate({**named, "evaluations": evaluations})
    notes = [*_misnamed(file, pipeline, tracks, estimates)]
    try:
        report = run(pipeline, store=place, code=file.path.parent, progress=progress, guarded=guarded)
    except PruneError:
        why = f"{place}: holds other scores than those of {system} on {file.name}; name another store (--store)"
        raise BenchmarkError(why) from None
    scores = read_scores(report.store)[rules.name]
    lost = [problem for problem in find_problems(scores) if problem.scored == "no" and problem.kind == "reason"]
    absent = sorted(problem.track for problem in lost if problem.status == Status.missing_estimate)
    others = [problem.message for problem in lost if problem.status != Status.missing_estimate]
    more = f"{len(others) - _SHOWN} more tracks have no score: mirflow problems {report.store}"
    names = f"{counted(len(absent), 'track')} without an estimate: {name_some([*map(repr, absent)])}"
    sentences = [*([names] if absent else []), *others[:_SHOWN], *([more] if len(others) > _SHOWN else [])]
    notes += [sentence.replace(f"{folder}/", f"{estimates}/") for sentence in sentences]
    return _compare(file, root, scores, system, missing or file.benchmark.missing, notes)


def _misnamed(
    file: BenchmarkFile, pipeline: Pipeline, tracks: Sequence[str] | None, estimates: str | Path
) -> Iterator[str]:
    """Sentences about estimates of no track of the benchmark; raises an error if all of them are."""
    (evaluation,) = pipeline.evaluations
    resolved = resolve(evaluation, pipeline.root, str(file.path.parent))
    if tracks is None or not isinstance(resolved, Resolved):  # problems are reported by the run
        return
    troubles: list[Trouble] = []
    places = [{"track": track} for track in tracks]
    found = find_estimates(evaluation, resolved, pipeline.root, places, troubles)
    labels: dict[str, str] = {}
    for source, values in found:
        first = labels.setdefault(values.get("track", ""), source.label)
        if first != source.label:
            why = f"two estimates of {values.get('track')!r}: {first} and {source.label}; remove one of them"
            raise BenchmarkError(f"{estimates}: {why}")
    names = sorted(labels)
    others = [name for name in names if name not in tracks]
    pattern = file.benchmark.evaluation.estimates.path
    if len(others) == len(names):
        example = pattern.replace("{track}", tracks[0]).replace("{format}", "*")
        what = f"{others[0]!r} is none of its tracks" if others else "no file"
        why = f"no estimate of a track of {file.name}: {what}; expected files of one system such as {example}"
        raise BenchmarkError(f"{estimates}: {why}")
    absent = sorted(set(tracks) - set(names))
    for name in others[:_SHOWN]:
        near = difflib.get_close_matches(name, absent, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        yield f"{name!r} is not a track of {file.name} and is not scored{hint}"
    if len(others) > _SHOWN:
        yield f"{len(others) - _SHOWN} more files are not of tracks of {file.name} and are not scored"


def _compare(
    file: BenchmarkFile, root: Path, scores: xr.Dataset, system: str, missing: str, notes: Sequence[str]
) -> Tabulation[BenchmarkRow]:
    asked = _query(file, scores, missing)
    (result,) = evaluate_query(scores, asked, file.benchmark.evaluation.name)
    signed = sign(scores, asked, result)
    named = scores.assign_coords(system=[f"{name}{OWN}" for name in names_of(scores, "system")])
    rows, compared = [_row(result, system, signed, own=True)], {"": named}
    missing = "zero" if missing == "raise" else missing  # in baselines, which may lack tracks
    for position, baseline in enumerate(file.benchmark.baselines):
        theirs = _scores_of(file, root, baseline)
        if theirs is not None:
            compared[f"baseline {position + 1}"] = theirs
            (found,) = evaluate_query(theirs, _query(file, theirs, missing), file.benchmark.evaluation.name)
            source, signature = spell_out(baseline.source), baseline.signature
            rows += [
                replace(_row(found, name), source=source, signature=signature) for name in names_of(found, "system")
            ]
        known = {row.system for row in rows if not row.own}
        rows += [row for row in _of_values(file, baseline) if row.system not in known]
    letters, note, headline = dict[str, str](), "", file.metrics[0]
    each = {name: ds.sel(metric=[headline]) for name, ds in compared.items() if headline in names_of(ds, "metric")}
    if len(each) > 1:
        # Tables know less of a metric than a store does: who differs from whom depends on what all of them know.
        like = list(each.values())[-1]
        known_of = {key: like[key] for key in coords_of(like, "metric")}
        each = {name: ds.drop_vars(coords_of(ds, "metric")).assign_coords(known_of) for name, ds in each.items()}
        try:
            joined = join_group(file.benchmark.evaluation.name, each)
            blocks, value = compared_blocks(joined, _query(file, joined, missing))
            tested = compare_blocks(blocks, value, Resampling.of(), sizes=False)
            letters = dict(zip(names_of(joined, "system"), tested["letters"].values[:, 0].tolist(), strict=True))
            note = letters_note(tested, 0)
        except QueryError as error:
            note = f"no letters: {error}"
    rows = [replace(row, letters=letters.get(f"{row.system}{OWN}" if row.own else row.system, "")) for row in rows]
    below = [*readable_tables(result)[0].notes, *([note] if note else []), *(f"signature: {text}" for text in signed)]
    title = f"{file.name}: {file.benchmark.title}"
    sign_of = SIGN_OF[_records(file)[headline].orientation] or 1
    ranked = [row for row in rows if not math.isnan(row.values.get(headline, math.nan))]
    ranked.sort(key=lambda row: -sign_of * row.values[headline])
    ranked += [row for row in rows if math.isnan(row.values.get(headline, math.nan))]
    columns = ("benchmark", "system", "this_run", "metric", "value", "n", "n_missing", "letters", "source", "signature")
    long = tuple(
        (file.name, row.system, int(row.own), metric, value, row.n, row.missing, row.letters, row.source, row.signature)
        for row in ranked
        for metric, value in row.values.items()
    )
    return Tabulation(
        ranked, lambda width: [_standings(file, ranked, title, [*below, *notes])], lambda: [Table(columns, long)], notes
    )


def _query(file: BenchmarkFile, scores: xr.Dataset, missing: str) -> Query:
    known = names_of(scores, "metric")
    metrics = [name for name in file.metrics if name in known]
    return replace(make_query("query", metrics, file.benchmark.headline.aggregate, missing=missing), exact=True)


def _row(result: xr.Dataset, system: str, signed: Sequence[Signature] = (), *, own: bool = False) -> BenchmarkRow:
    values = result.sel(system=system)
    metrics = names_of(result, "metric")
    n, missing = (int(values[name].values.flat[0]) for name in ("n", "n_missing"))
    numbers = dict(zip(metrics, map(float, values["value"].values.tolist()), strict=True))
    return BenchmarkRow(system, own, numbers, n, missing, signature=" ".join(map(str, signed)))


def _of_values(file: BenchmarkFile, baseline: Baseline) -> Iterator[BenchmarkRow]:
    source = spell_out(baseline.source)
    for system, values in baseline.values.items():
        named = {file.identities[name]: value for name, value in values.items()}
        yield BenchmarkRow(system, False, named, source=source, signature=baseline.signature)


def _scores_of(file: BenchmarkFile, root: Path, baseline: Baseline) -> xr.Dataset | None:
    """The scores by track of a baseline; None if only aggregates are here."""
    evaluation = file.benchmark.evaluation
    if baseline.store is not None:
        boards = evaluations_of(file.path.parent / baseline.store)
        if evaluation.name not in boards:
            known = suggest(evaluation.name, boards)
            raise BenchmarkError(
                f"{file.path}: the store {baseline.store} has no evaluation {evaluation.name!r}; {known}"
            )
        return boards[evaluation.name]
    folders, tables = (root, file.path.parent), baseline.tables
    places = [folder for folder in folders if tables and all(Pattern(table.path).find(folder) for table in tables)]
    if not places:
        return None
    named = {"task": evaluation.task, "name": evaluation.name, "convention": evaluation.convention}
    group = ScoreGroup.model_validate({**named, "tables": baseline.tables})
    (content,) = read_tables(TableMapping(name=baseline.source, groups=[group]), places[0]).groups
    return as_scores(dataset_of(content))


def _standings(file: BenchmarkFile, rows: Sequence[BenchmarkRow], title: str, notes: Sequence[str]) -> Table:
    metrics = [name for name in file.metrics if any(name in row.values for row in rows)]
    counted_rows = any(row.n is not None for row in rows)
    lettered = any(row.letters for row in rows)
    columns = ("system", *metrics, *(("n", "missing") if counted_rows else ()), *(("letters",) if lettered else ()))
    made = []
    for row in rows:
        shown = [ShownValue(show_value(row.values.get(name, math.nan), False)) for name in metrics]
        counts = (row.n, row.missing) if counted_rows else ()
        made.append((f"{row.system}{OWN if row.own else ''}", *shown, *counts, *((row.letters,) if lettered else ())))
    sources: dict[str, list[str]] = {}
    for row in rows:
        if row.source:
            sources.setdefault(row.source, []).append(row.system)
    said = [f"{', '.join(systems)}: {source}" for source, systems in sources.items()]
    titles = {name: metric.title for name, metric in _records(file).items()}
    return Table(columns, tuple(made), title=title, notes=(*notes, *said), keys=1, titles=lambda: titles)


def _records(file: BenchmarkFile) -> dict[str, Any]:
    evaluation = file.benchmark.evaluation
    convention = get_task(evaluation.task).convention(evaluation.convention)
    folder = str(file.path.parent)
    return {str(measure): measure.metric for name in file.metrics for measure in convention.measures_of(name, folder)}


def _facts(file: BenchmarkFile) -> dict[str, str | int | None]:
    own, data = file.benchmark, file.benchmark.data
    folder, mirdata = data_folder(file), own.evaluation.reference.mirdata
    metric = _records(file)[file.metrics[0]]
    aggregate = own.headline.aggregate or metric.standard_aggregate
    place = f"mirdata: {mirdata}" if mirdata is not None else NOWHERE if folder is None else str(folder)
    systems = {name for baseline in own.baselines for name in baseline.values}
    tracks = file.tracks
    return {
        "name": file.name,
        "title": own.title,
        "description": " ".join(own.description.split()),
        "task": own.evaluation.task,
        "convention": get_task(own.evaluation.task).convention(own.evaluation.convention).name,
        "tracks": None if tracks is None else len(tracks),
        "headline": f"{file.metrics[0]}, {aggregate}",
        "metrics": ", ".join(file.metrics),
        "missing": own.missing,
        "estimates": own.evaluation.estimates.path,
        "baselines": len(systems),
        "data": place,
        "files": len(data.files),
        "get": " ".join(filter(None, (" ".join(data.get.split()), data.url))),
        "licence": data.licence,
        "cite": spell_out(own.literature),
        "package": file.package,
        "file": str(file.path),
    }
