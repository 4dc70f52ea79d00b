"""Benchmark files: an evaluation as in a pipeline, with its data, headline metric and published baselines.

Problems of a file are listed in one error. Benchmarks are found by name in mirflow and in installed packages. The
folder of their data is found here, too, and its files are compared with the digests that the benchmark lists.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from ..errors import (
    BenchmarkError,
    MetricError,
    MirflowError,
    MirflowWarning,
    PipelineError,
    PluginError,
    UnknownNameError,
    counted,
)
from ..pipeline.discovery import absolute, find_references
from ..pipeline.document import Document, read_document, schema_of, validate
from ..pipeline.model import Estimates, Evaluation, Resolved, Shorthand, Strict, Trouble, resolve
from ..plugins import BENCHMARKS, find, installed
from ..readers.content import digest_of, read_bytes
from ..readers.mirdata import MirdataDataset, MirdataSource
from ..readers.options import MAX_BYTES
from ..readers.patterns import Pattern
from ..store.packs import open_pack
from .mapping import ScoreFile

_NAME = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")
_DIGEST = re.compile(r"[0-9a-f]{16}")


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return bool(path) and not parts.is_absolute() and ".." not in parts.parts


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"invalid name {text!r}: expected small letters, digits and hyphens, such as beats-2027")
    return text


def _files(digests: dict[str, str]) -> dict[str, str]:
    for path, digest in digests.items():
        if not _is_inside(path):
            raise ValueError(f"invalid path {path!r}: expected one inside the folder of the data")
        if not _DIGEST.fullmatch(digest):
            raise ValueError(
                f"invalid digest {digest!r} of {path!r}: expected 16 digits, as `mirflow bench digests` prints"
            )
    return digests


class BenchmarkData(Strict):
    """Where the references come from, and the digest of each of their files."""

    get: str = ""
    """How to get the data, in words."""
    url: str = ""
    """Address of a page about the data."""
    licence: str = ""
    """Licence of the data."""
    folder: str = ""
    """Name of their folder in the folder MIRFLOW_DATA; default: the name of the benchmark."""
    root: str | None = None
    """The folder of the data if they come with this file, relative to it."""
    files: Annotated[dict[str, str], AfterValidator(_files)] = Field(default_factory=dict)
    """Paths of the files, relative to the folder of the data, to their digests, as `mirflow bench digests` prints them;
    left out for a data set of mirdata, whose version has checksums."""


class Headline(Shorthand):
    """The metric that ranks the systems: its name, or an object."""

    short: ClassVar = ((str, "metric", {"type": "string", "description": "Identity string of a metric."}),)

    metric: str
    """Identity string of a metric of the evaluation."""
    aggregate: str | None = None
    """How scores of tracks are aggregated; default: the usual aggregate of the metric."""


class Baseline(Strict):
    """Published scores of some systems: by track in tables or in a store, or aggregates."""

    source: str
    """Where they were published, with citations such as @nieto2019."""
    tables: list[ScoreFile] = Field(default_factory=list)
    """Tables of scores by track, as in a mapping file, relative to the data or to this file; without them, the
    values are shown."""
    store: str | None = None
    """A store of their scores, relative to this file."""
    values: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Systems to metrics to aggregates, in the unit of the metric."""
    signature: str = ""
    """How the values were computed."""

    @model_validator(mode="after")
    def _check(self) -> Baseline:
        if not (self.tables or self.store or self.values):
            raise ValueError("expected values, tables or a store")
        return self


class BenchmarkEvaluation(Evaluation):
    """The evaluation, as in a pipeline; the tracks are those of the files, or some of them."""

    estimates: Estimates = Field(default_factory=lambda: Estimates.model_validate("{track}.{format}"))
    """Where the estimates are in the folder of a system; default: {track}.{format}."""

    @model_validator(mode="after")
    def _check_system(self) -> BenchmarkEvaluation:
        path = self.estimates.path
        if self.systems is not None:
            raise ValueError("systems: not allowed here, as the system is the one that is run")
        if "system" in Pattern(path).names or not _is_inside(path):
            raise ValueError(f"estimates {path!r}: expected a path in the folder of a system, without {{system}}")
        return self


class Benchmark(Strict):
    """A benchmark file."""

    benchmark: Annotated[str, AfterValidator(_name)]
    """Name, which is also that of the file."""
    title: str
    """Displayed title."""
    description: str = ""
    """What is evaluated, and by which rules, in a few sentences."""
    data: BenchmarkData = Field(default_factory=BenchmarkData)
    """The references."""
    evaluation: BenchmarkEvaluation
    """References, convention and metrics, as in a pipeline. Without a list of metrics, those of baselines are shown."""
    headline: Headline
    """The metric that ranks the systems."""
    missing: Literal["zero", "skip"] = "zero"
    """Tracks without an estimate count as 0, or are left out."""
    literature: str = ""
    """What to cite for the data and the rules, with citations such as @nieto2019."""
    baselines: list[Baseline] = Field(default_factory=list)
    """Published scores."""


@dataclass(frozen=True)
class BenchmarkFile:
    """A benchmark and its file."""

    benchmark: Benchmark
    path: Path
    package: str = ""
    """The package that it comes with; empty for a file that was named."""
    metrics: tuple[str, ...] = ()
    """Identities of the metrics that are shown, the headline first: those listed, or those that a baseline has."""
    identities: Mapping[str, str] = field(default_factory=dict)
    """Names of metrics, as the file writes them, to their identities."""

    @property
    def name(self) -> str:
        """Name of the benchmark."""
        return self.benchmark.benchmark

    @property
    def tracks(self) -> tuple[str, ...] | None:
        """Names of its tracks, sorted; None for those of a data set of mirdata or of a table."""
        reference = self.benchmark.evaluation.reference
        if reference.tracks is not None:
            return tuple(sorted(set(reference.tracks)))
        if "track" not in Pattern(reference.path).names:
            return None
        matches = map(Pattern(reference.path).match, self.benchmark.data.files)
        return tuple(sorted({match["track"] for match in matches if match is not None and "track" in match}))


def load_benchmark(path: str | Path, package: str = "") -> BenchmarkFile:
    """Read a benchmark file; raises all problems of its form and of the names in it at once.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "x.yaml")
    ...     _ = path.write_text("benchmark: x\\ntitle: X\\n")
    ...     load_benchmark(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    mirflow.errors.PipelineError: ...x.yaml: 2 problems
      evaluation: is missing
      headline: is missing
    """
    document = read_document(path)
    benchmark, problems = validate(document, Benchmark, "benchmark, title, data, evaluation and headline")
    if benchmark is None or problems:
        raise PipelineError(problems, path)
    folder = str(Path(absolute(str(path))).parent)
    resolved = resolve(benchmark.evaluation, folder, folder)
    identities: dict[str, str] = {}
    troubles: list[Trouble] = []
    if not isinstance(resolved, Resolved):
        # Files of classes are among the data, which need not be here.
        troubles = [(("evaluation", *place), why) for place, why in resolved if place[0] != "classes"]
        identities = {text: text for _, text in _named_metrics(benchmark)}
        metrics = tuple(identities)
    else:
        known = [str(measure) for measure in resolved.measures if not measure.metric.dims]
        for place, text in _named_metrics(benchmark):
            try:
                found = [text] if text in known else list(map(str, resolved.convention.measures_of(text, folder)))
            except (MetricError, UnknownNameError, PluginError) as error:
                troubles.append((place, str(error)))
                continue
            identities[text] = found[0]
            if len(found) > 1:
                troubles.append((place, f"{text!r} names several metrics: choose from {', '.join(found)}"))
            elif found[0] not in known:
                troubles.append((place, f"{text!r} is not among the metrics of the evaluation: {', '.join(known)}"))
        # The headline first; without a list of metrics, those that are named.
        asked = list(dict.fromkeys(identities.values()))
        others = known if benchmark.evaluation.metrics is not None else asked
        metrics = (*asked[:1], *(name for name in known if name in others and name not in asked[:1]))
    file = BenchmarkFile(benchmark, Path(path), package, metrics, identities)
    if benchmark.data.files and file.tracks == ():
        troubles.append((("data", "files"), f"no file fits the reference {benchmark.evaluation.reference.path!r}"))
    if troubles:
        raise PipelineError([document.problem(place, why) for place, why in troubles], path)
    return file


def _named_metrics(benchmark: Benchmark) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Each metric that is named outside of the evaluation, with its place; the headline first."""
    yield ("headline",), benchmark.headline.metric
    for position, baseline in enumerate(benchmark.baselines):
        place = "baselines", position
        for number, table in enumerate(baseline.tables):
            for name, _ in table.declared():
                yield (*place, "tables", number), name
        for system, values in baseline.values.items():
            for name in values:
                yield (*place, "values", system, name), name


benchmark_schema: Callable[[], dict[str, Any]] = partial(schema_of, Benchmark)
"""Returns the JSON Schema of benchmark files, for editors."""

DATA = "MIRFLOW_DATA"
"""The environment variable with the folder in which the data of benchmarks are looked for."""
_SUFFIXES = (".yaml", ".yml")
_SHOWN = 5


def demonstration() -> Path:
    """Find the folder with ``demo.yaml`` and its files: in the package, or next to it in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "demonstration", package.parent / "pipelines"):
        if (folder / "demo.yaml").is_file():
            return folder
    raise MirflowError(f"{package / 'demonstration'}: the example is missing; reinstall mirflow")


def benchmark_files() -> dict[str, tuple[Path, str]]:
    """The files of all benchmarks, and the packages that they come with, by name: those of mirflow first.

    Warns of entry points that cannot be loaded, and of names that two packages have.
    """
    found: dict[str, tuple[Path, str]] = {}
    places = [demonstration() / "demo-benchmark" / "demo-chords.yaml", Path(__file__).with_name("benchmarks")]
    packages = [("mirflow", place) for place in places]
    for point in installed(BENCHMARKS):
        package = point.dist.name if point.dist is not None else point.module
        try:
            value = find(BENCHMARKS, point.name)
            if isinstance(value, ModuleType):  # its folder
                value = next(iter(getattr(value, "__path__", ())), None) or Path(value.__file__ or "").parent
            if not isinstance(value, str | Path) or not Path(value).exists():
                text = f"{str(value)!r}, which does not exist"
                what = text if isinstance(value, str | Path) else f"a {type(value).__name__}"
                expected = "expected a module or a path"
                raise PluginError(f"{point.name!r} in the entry points {BENCHMARKS!r} is {what}: {expected}")
            packages.append((package, Path(value)))
        except PluginError as error:
            warnings.warn(str(error), MirflowWarning, stacklevel=3)
    listed = [
        (package, path)
        for package, place in packages
        for path in ([place] if place.is_file() else sorted(place.iterdir()))
        if path == place or path.suffix in _SUFFIXES
    ]
    for package, path in listed:
        if path.stem in found:
            first = found[path.stem][1]
            message = f"benchmark {path.stem!r} of {package} is ignored, as {first} has one of this name"
            warnings.warn(message, MirflowWarning, stacklevel=3)
        else:
            found[path.stem] = path, package
    return found


def find_benchmark(name: str | Path) -> BenchmarkFile:
    """Load a benchmark by its name, or by the path of its file."""
    if Path(name).suffix in _SUFFIXES:
        return load_benchmark(name)
    files = benchmark_files()
    if str(name) not in files:
        raise UnknownNameError("benchmark", str(name), files)
    path, package = files[str(name)]
    found = load_benchmark(path, package)
    if found.name != str(name):
        raise BenchmarkError(f"{path}: is the benchmark {found.name!r}; call the file {found.name}.yaml")
    return found


def data_folder(file: BenchmarkFile, given: str | Path | None = None) -> Path | None:
    """The folder of the data, or None if it is not found; of a data set of mirdata the `given` one, or mirdata's."""
    data = file.benchmark.data
    if given is not None:
        folder = Path(absolute(str(given)))
        if not folder.is_dir():
            raise BenchmarkError(f"{given}: no such folder of data")
        return folder
    if data.root is not None:
        return Path(absolute(str(file.path.parent / data.root)))
    if file.benchmark.evaluation.reference.mirdata is not None:
        return Path(absolute(str(file.path.parent)))
    place = Path(os.environ[DATA], data.folder or file.name) if os.environ.get(DATA) else None
    return Path(absolute(str(place))) if place is not None and place.is_dir() else None


def demand_data(file: BenchmarkFile, given: str | Path | None = None) -> Path:
    """The folder of the data, whose files are those of the benchmark.

    Raises `BenchmarkError` if they are not found, or a file is missing or has another digest.
    """
    data, folder = file.benchmark.data, data_folder(file, given)
    how = " ".join(filter(None, (data.get.strip(), data.url)))
    hint = f": {how}" if how else ""
    if folder is None:
        place = data.folder or file.name
        raise BenchmarkError(
            f"the data of {file.name} are not here; get them{hint or '.'}\n"
            f"Then name their folder with --data (in Python data=), or call it {place} in the folder {DATA}"
        )
    mirdata = file.benchmark.evaluation.reference.mirdata
    if not data.files and mirdata is None:
        why = f"{file.path}: data.files is empty; `mirflow bench digests {file.path} --data {folder}` prints it"
        raise BenchmarkError(why)
    flaws = list(_flaws(folder, data.files, digest_of))
    if mirdata is not None:
        dataset, sources = _mirdata_sources(file, folder, homed=given is not None)
        home = Path(dataset.data_home)
        # With slashes on every system, as in lists of digests.
        files = (path for source in sources.values() for path in source.files)
        used = {os.path.relpath(path, home).replace(os.sep, "/") for path in files}
        sums = {name: sum for name, sum in dataset.checksums().items() if name in used}
        flaws += _flaws(home, sums, lambda content: hashlib.md5(content, usedforsecurity=False).hexdigest())
    if flaws:
        shown = "\n".join(f"  {flaw}" for flaw in flaws[:_SHOWN])
        more = f"\n  and {len(flaws) - _SHOWN} more" if len(flaws) > _SHOWN else ""
        count = counted(len(flaws), "file")
        raise BenchmarkError(
            f"{folder}: {count} of the data differ from those of {file.name}, so that scores could not be compared\n"
            f"{shown}{more}\nGet the data again{hint or '; or name another folder with --data'}"
        )
    return folder


def _flaws(folder: Path, files: Mapping[str, str], digest: Any) -> Iterator[str]:
    """Describe files that are missing or have other digests than expected."""
    for name, expected in files.items():
        try:
            found = digest(read_bytes(folder / name, MAX_BYTES, name))
        except MirflowError as error:
            yield str(error)
            continue
        if found != expected:
            yield f"{name}: expected digest {expected}, found {found}"


def _mirdata_sources(
    file: BenchmarkFile, folder: Path, *, homed: bool
) -> tuple[MirdataDataset, Mapping[str, MirdataSource]]:
    """The data set of a benchmark, and its references by track; with `homed`, the folder is that of the data set."""
    side = file.benchmark.evaluation.reference
    assert side.mirdata is not None
    home = folder if homed else None if side.data_home is None else folder / Path(side.data_home).expanduser()
    index = None if side.index is None else str(folder / side.index)
    dataset = MirdataDataset.of(side.mirdata, None if home is None else str(home), side.version, index)
    chosen = dataset.tracks(side.tracks, side.split)
    return dataset, dataset.sources(chosen, str(side.annotation), side.reading(file.benchmark.evaluation.task))


def tracks_of(file: BenchmarkFile, folder: Path, *, homed: bool) -> tuple[str, ...] | None:
    """Names of the tracks of a benchmark whose data are in a folder; None where a table lists them."""
    if file.benchmark.evaluation.reference.mirdata is not None:
        return tuple(sorted(_mirdata_sources(file, folder, homed=homed)[1]))
    return file.tracks


def digests_of(file: BenchmarkFile, data: str | Path | None = None) -> dict[str, str]:
    """Digest the references of a benchmark, and the files of classes, metadata and patches that it names.

    `data`: the folder of the data; None: where they are looked for. Returns paths relative to that folder, sorted, to
    digests: the value of ``data.files``.
    """
    folder, evaluation = data_folder(file, data), file.benchmark.evaluation
    if folder is None:
        raise BenchmarkError(f"the data of {file.name} are not here; name their folder with --data (in Python data=)")
    resolved = resolve(evaluation, str(folder), str(file.path.parent))
    troubles: list[Trouble] = [] if isinstance(resolved, Resolved) else resolved
    paths: set[str] = set()
    if isinstance(resolved, Resolved):
        find_references(evaluation, resolved, str(folder), open_pack, troubles, files=paths)
    if troubles:
        raise PipelineError([Document().problem(("evaluation", *place), why) for place, why in troubles], file.path)
    named = [*evaluation.reference.patch]
    named += [
        side.path for side in (evaluation.tracks, evaluation.classes) if side is not None and side.path is not None
    ]
    paths |= {str(folder / path) for path in named}
    names = sorted(os.path.relpath(path, folder).replace(os.sep, "/") for path in paths)
    return {name: digest_of(read_bytes(folder / name, MAX_BYTES, name)) for name in names}
