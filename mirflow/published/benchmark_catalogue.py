"""The benchmarks that are known, where their data are, and whether the data are those of the benchmark."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import BenchmarkError, MirflowError, MirflowWarning, PipelineError, PluginError, UnknownNameError, counted
from ..pipeline.discovery import absolute, find_references
from ..pipeline.document import Document
from ..pipeline.model import Resolved, Trouble, resolve
from ..plugins import BENCHMARKS, find, installed
from ..readers.content import digest_of, read_bytes
from ..readers.mirdata import MirdataDataset, MirdataSource
from ..readers.options import MAX_BYTES
from ..store.packs import open_pack
from .benchmark_file import BenchmarkFile, load_benchmark

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
    for package, paths in _packaged():
        for path in paths:
            if path.stem in found:
                first = found[path.stem][1]
                message = f"benchmark {path.stem!r} of {package} is ignored, as {first} has one of this name"
                warnings.warn(message, MirflowWarning, stacklevel=3)
            else:
                found[path.stem] = path, package
    return found


def _packaged() -> Iterator[tuple[str, list[Path]]]:
    yield (
        "mirflow",
        [demonstration() / "demo-benchmark" / "demo-chords.yaml", *_below(Path(__file__).with_name("benchmarks"))],
    )
    for point in installed(BENCHMARKS):
        package = point.dist.name if point.dist is not None else point.module
        try:
            yield package, _below(_place_of(find(BENCHMARKS, point.name), point.name))
        except PluginError as error:
            warnings.warn(str(error), MirflowWarning, stacklevel=4)


def _place_of(value: Any, name: str) -> Path:
    """The file or folder that an entry point names: by its path, or the folder of a module."""
    if isinstance(value, ModuleType):
        value = next(iter(getattr(value, "__path__", ())), None) or Path(value.__file__ or "").parent
    if not isinstance(value, str | Path) or not Path(value).exists():
        what = f"{str(value)!r}, which does not exist" if isinstance(value, str | Path) else f"a {type(value).__name__}"
        raise PluginError(f"{name!r} in the entry points {BENCHMARKS!r} is {what}: expected a module or a path")
    return Path(value)


def _below(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(one for one in place.iterdir() if one.suffix in _SUFFIXES)


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
        used = {_relative(path, home) for source in sources.values() for path in source.files}
        flaws += _flaws(home, {name: sum for name, sum in dataset.checksums().items() if name in used}, _md5)
    if flaws:
        shown = "\n".join(f"  {flaw}" for flaw in flaws[:_SHOWN])
        more = f"\n  and {len(flaws) - _SHOWN} more" if len(flaws) > _SHOWN else ""
        count = counted(len(flaws), "file")
        raise BenchmarkError(
            f"{folder}: {count} of the data differ from those of {file.name}, so that scores could not be compared\n"
            f"{shown}{more}\nGet the data again{hint or '; or name another folder with --data'}"
        )
    return folder


def _relative(path: str, folder: Path) -> str:
    """A path relative to a folder, with slashes on every system, as in lists of digests."""
    return os.path.relpath(path, folder).replace(os.sep, "/")


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


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


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
    named += [one.path for one in (evaluation.tracks, evaluation.classes) if one is not None and one.path is not None]
    paths |= {str(folder / one) for one in named}
    names = sorted(_relative(path, folder) for path in paths)
    return {name: digest_of(read_bytes(folder / name, MAX_BYTES, name)) for name in names}
