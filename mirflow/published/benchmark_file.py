"""Benchmark files: an evaluation as in a pipeline, with its data, headline metric and published baselines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from ..errors import MetricError, PipelineError, PluginError, UnknownNameError
from ..pipeline.discovery import absolute
from ..pipeline.document import read_document, schema_of, validate
from ..pipeline.model import Estimates, Evaluation, Resolved, Shorthand, Strict, Trouble, resolve
from ..readers.patterns import Pattern
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
        return tuple(sorted({one["track"] for one in matches if one is not None and "track" in one}))


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
    identities, metrics, troubles = _identify(benchmark, Path(absolute(str(path))).parent)
    file = BenchmarkFile(benchmark, Path(path), package, metrics, identities)
    if benchmark.data.files and file.tracks == ():
        troubles.append((("data", "files"), f"no file fits the reference {benchmark.evaluation.reference.path!r}"))
    if troubles:
        raise PipelineError([document.problem(place, why) for place, why in troubles], path)
    return file


def _identify(benchmark: Benchmark, folder: Path) -> tuple[dict[str, str], tuple[str, ...], list[Trouble]]:
    """Identities of the metrics that a file names, and of those that are shown; and problems with names in the file."""
    resolved = resolve(benchmark.evaluation, str(folder), str(folder))
    identities: dict[str, str] = {}
    if not isinstance(resolved, Resolved):
        # Files of classes are among the data, which need not be here.
        troubles = [(("evaluation", *place), why) for place, why in resolved if place[0] != "classes"]
        identities = {text: text for _, text in _named_metrics(benchmark)}
        return identities, tuple(identities), troubles
    known, troubles = [str(measure) for measure in resolved.measures if not measure.metric.dims], []
    for place, text in _named_metrics(benchmark):
        try:
            found = [text] if text in known else list(map(str, resolved.convention.measures_of(text, str(folder))))
        except (MetricError, UnknownNameError, PluginError) as error:
            troubles.append((place, str(error)))
            continue
        identities[text] = found[0]
        if len(found) > 1:
            troubles.append((place, f"{text!r} names several metrics: choose from {', '.join(found)}"))
        elif found[0] not in known:
            troubles.append((place, f"{text!r} is not among the metrics of the evaluation: {', '.join(known)}"))
    asked = list(dict.fromkeys(identities.values()))
    others = known if benchmark.evaluation.metrics is not None else asked
    return identities, (*asked[:1], *(name for name in known if name in others and name not in asked[:1])), troubles


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


def benchmark_schema() -> dict[str, Any]:
    """Return the JSON Schema of benchmark files, for editors."""
    return schema_of(Benchmark)
