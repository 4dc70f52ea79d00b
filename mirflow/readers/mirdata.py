"""Data sets of mirdata: convert its annotation classes, and read the tracks of its loaders and their metadata.

Nothing is downloaded.
"""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from time import time_ns
from types import MappingProxyType
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.source import Source
from ..errors import AnnotationError, InvalidAnnotationError, UnknownNameError, UnreadableError
from ..ragged import Column, Float
from ..theory.pitch import to_hertz
from .content import digest_of, file_stat, mix_stats
from .label_maps import in_harte, in_normal_form
from .lyrics import as_declared, columns_of, pieces_of
from .options import HARTE, Reading
from .positions import select_beats

Entry = str | int | float | bool | None
"""A value of a track's metadata."""
PACKAGE = "mirdata"
_PITCH_UNITS = MappingProxyType({"hz": "Hz", "midi": "MIDI"})


def is_mirdata(thing: object) -> bool:
    """True for an object of mirdata, without importing it."""
    return any(base.__module__.partition(".")[0] == PACKAGE for base in type(thing).__mro__)


def task_of_value(value: object) -> str | None:
    """Default task of an annotation of mirdata, by one or several annotators; None without a default."""
    if type(value).__name__ == "MultiAnnotator":
        held = [annotation for annotation in value.annotations if annotation is not None]  # type: ignore[attr-defined]
        return task_of_value(held[0]) if held else None
    return next((_CLASSES[base.__name__][0] for base in type(value).__mro__ if base.__name__ in _CLASSES), None)


def convert(value: Any, reading: Reading, annotator: str | int | None = None) -> Annotation:
    """Convert an object of mirdata to an annotation, in seconds and Hz.

    Events keep only the starts of their intervals. Confidences become velocities of notes, if that is their unit, or
    saliences of tempi. Labels of beats are positions in the bar. A str is a key or a class, a sequence of str holds
    tags, and a number is a tempo. For a `MultiAnnotator`, `annotator` is an id, or a position among the annotators of
    the track.
    """
    if type(value).__name__ == "MultiAnnotator":
        each = zip(value.annotators, value.annotations, strict=True)
        held = {str(name): annotation for name, annotation in each if annotation is not None}
        if annotator is None and len(held) == 1:
            annotator = 0
        if isinstance(annotator, int) and 0 <= annotator < len(held):
            annotator = [*held][annotator]
        if annotator not in held:
            what = "choose an annotator" if annotator is None else f"has no annotator {annotator!r}"
            raise InvalidAnnotationError(f"{what}: it holds {', '.join(held) or 'none'}")
        value = held[str(annotator)]
    elif annotator is not None:
        raise InvalidAnnotationError(f"{type(value).__name__} has only one annotator: omit {annotator!r}")
    if isinstance(value, str | int | float | list | tuple):
        texts: Any = [value] if isinstance(value, str) else value
        named = isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts)
        if reading.kind in ("key", "labels") and named:
            labels = [" ".join(text.split()) for text in texts]
            return in_normal_form(Annotation(reading.kind, {}, labels, lines=()), reading.labels)
        if reading.kind == "tempo" and isinstance(value, int | float) and not isinstance(value, bool):
            return Annotation("tempo", {"tempo": np.array([value], dtype=np.float64)}, lines=())
        raise InvalidAnnotationError(f"{type(value).__name__} {value!r:.60} holds no {reading.kind}")
    names = [base.__name__ for base in type(value).__mro__]
    made = next((_CLASSES[name][1] for name in names if name in _CLASSES), None)
    if made is None:
        known = ", ".join(_CLASSES)
        raise InvalidAnnotationError(f"{names[0]} cannot be scored; supported annotations of mirdata are {known}")
    if reading.kind not in made:
        raise InvalidAnnotationError(f"{names[0]} holds {' or '.join(made)}, but the task compares {reading.kind}")
    annotation = made[reading.kind](value)
    if names[0] == "BeatData":  # data without positions in the bar hold all beats, not only downbeats
        unit, selection = value.position_unit, reading.selection or "downbeat"
        if selection != "all" and annotation.labels is None:
            what = f"positions are in {unit}" if unit not in (None, "bar_index") else "no positions are given"
            raise InvalidAnnotationError(f"downbeats need positions in the bar (bar_index), but {what}")
        annotation = select_beats(annotation, replace(reading, select=selection), "BeatData")
    elif annotation.kind == "events":
        annotation = select_beats(annotation, reading, names[0])
    if annotation.kind == "text":
        annotation = as_declared(annotation, reading)
    elif reading.notation != HARTE:
        annotation = in_harte(annotation, names[0])
    return in_normal_form(annotation, reading.labels)


def _seconds(times: Any, unit: str) -> Float:
    if unit not in ("s", "ms"):
        raise InvalidAnnotationError(f"cannot convert times in {unit} to seconds; supported units are s and ms")
    seconds: Float = np.asarray(times, dtype=np.float64)
    return seconds if unit == "s" else seconds / 1000.0


def _hertz(pitches: Any, unit: str, kind: str) -> Float:
    """Pitches in Hz; 0 (silence) is kept."""
    if unit not in _PITCH_UNITS:
        raise InvalidAnnotationError(f"cannot convert pitches in {unit} to Hz; supported units are hz and midi")
    pitch = np.asarray(pitches, dtype=np.float64)
    hertz = to_hertz(pitch, kind, _PITCH_UNITS[unit])
    return hertz if kind == "notes" else np.where(pitch == 0, 0.0, hertz)


def _spans(value: Any) -> dict[str, Column]:
    """Starts and ends. Chords have no unit; all loaders of mirdata 1.0 return them in seconds."""
    intervals = _seconds(value.intervals, getattr(value, "interval_unit", "s")).reshape(-1, 2)
    return {"start": intervals[:, 0].copy(), "end": intervals[:, 1].copy()}


def _labelled(value: Any, labels: str, kind: str = "intervals") -> Annotation:
    """Intervals, their starts as events, or lyrics, with the labels of an attribute."""
    if (held := getattr(value, labels)) is None:
        raise InvalidAnnotationError(f"{type(value).__name__} has no labels")
    texts, columns = list(map(str, held)), _spans(value)
    if kind == "events":
        columns = {"time": columns["start"]}
    elif kind == "text":
        columns = columns_of(pieces_of(texts, columns["start"], columns["end"]))
    return Annotation(kind, columns, texts, lines=())


def _beats(value: Any) -> Annotation:
    """Beats; only whole positions in the bar become labels."""
    positions = value.positions if value.position_unit == "bar_index" else None
    labels = None if positions is None else [f"{float(position):g}" for position in positions]
    return Annotation("events", {"time": _seconds(value.times, value.time_unit)}, labels, lines=())


def _notes(value: Any) -> Annotation:
    columns = {**_spans(value), "pitch": _hertz(value.pitches, value.pitch_unit, "notes")}
    if value.confidence is not None and value.confidence_unit == "velocity":
        columns["velocity"] = np.asarray(value.confidence, dtype=np.float64)
    return Annotation("notes", columns, lines=())


def _melody(value: Any) -> Annotation:
    """A melody; its voicing is binary or a likelihood."""
    frequency = _hertz(value.frequencies, value.frequency_unit, "series")
    time, voicing = _seconds(value.times, value.time_unit), np.asarray(value.voicing, dtype=np.float64)
    return Annotation("series", {"time": time, "frequency": frequency, "voicing": voicing}, lines=())


def _pitches(value: Any) -> Annotation:
    """Pitches of each frame, without zeros (silence); of a melody at most one."""
    if hasattr(value, "frequency_list"):
        frames = [_hertz(frame, value.frequency_unit, "multipitch") for frame in value.frequency_list]
    elif value.voicing_unit != "binary":
        raise InvalidAnnotationError(f"a voicing in {value.voicing_unit} does not say which frames sound")
    else:
        melody = _melody(value).columns
        frames = list(np.where(melody["voicing"] > 0, melody["frequency"], 0.0)[:, np.newaxis])
    sounding = [frame[frame > 0] for frame in frames]
    counts = np.array(list(map(len, sounding)), dtype=np.int64)
    frequency = np.concatenate([np.zeros(0), *sounding])
    columns: dict[str, Column] = {"time": _seconds(value.times, value.time_unit), "frequency": frequency}
    return Annotation("multipitch", columns, inner_counts=(counts,), lines=())


def _tempi(value: Any) -> Annotation:
    if value.tempo_unit != "bpm":
        raise InvalidAnnotationError(f"tempi are in {value.tempo_unit}, not in bpm")
    columns: dict[str, Column] = {"tempo": np.asarray(value.tempos, dtype=np.float64)}
    if value.confidence is not None:
        if value.confidence_unit != "likelihood":
            raise InvalidAnnotationError(f"the confidence of tempi is in {value.confidence_unit}, not a likelihood")
        columns["salience"] = np.asarray(value.confidence, dtype=np.float64)
    return Annotation("tempo", columns, lines=())


_CLASSES: Mapping[str, tuple[str | None, Mapping[str, Callable[[Any], Annotation]]]] = MappingProxyType(
    {
        "BeatData": ("beat", {"events": _beats}),
        "ChordData": ("chord", {"intervals": partial(_labelled, labels="labels")}),
        "SectionData": ("segment", {"intervals": partial(_labelled, labels="labels")}),
        "KeyData": (
            "key",
            {
                "key": lambda value: Annotation("key", {}, list(map(str, value.keys)), lines=()),
                "intervals": partial(_labelled, labels="keys"),
            },
        ),
        "NoteData": ("transcription", {"notes": _notes}),
        "F0Data": ("melody", {"series": _melody, "multipitch": _pitches}),
        "MultiF0Data": ("multipitch", {"multipitch": _pitches}),
        "TempoData": ("tempo", {"tempo": _tempi}),
        "LyricData": (
            "alignment",
            {kind: partial(_labelled, labels="lyrics", kind=kind) for kind in ("events", "intervals", "text")},
        ),
        "EventData": (  # which may belong to any task
            None,
            {kind: partial(_labelled, labels="events", kind=kind) for kind in ("events", "intervals")},
        ),
    }
)
"""Classes of `mirdata.annotations`, with their default task and the kinds that each can be converted to."""


@dataclass(frozen=True, slots=True)
class MirdataDataset:
    """A data set of mirdata, picklable so that other processes can open it. Nothing is ever downloaded."""

    loader: str
    """Module and class, such as ``mirdata.datasets.beatles:Dataset``."""
    name: str
    data_home: str
    version: str
    index: str
    """Path of the index file."""
    opened: int = field(default_factory=time_ns)
    """Time of opening, in ns: files may have changed since an earlier opening."""

    @classmethod
    def of(
        cls, dataset: Any, data_home: str | None = None, version: str = "default", index: str | None = None
    ) -> MirdataDataset:
        """The data set of a name or an object of mirdata.

        The default `data_home` is mirdata's; `index` is the path of an index file that replaces that of the version.
        An initialized object already has a folder, a version and an index.
        """
        if isinstance(dataset, str):
            try:
                import mirdata
            except ImportError:
                remedy = "pip install 'mirflow[mirdata]', or '.[mirdata]' in a checkout"
                raise AnnotationError(f"data sets of mirdata need mirdata: {remedy}") from None
            if dataset not in mirdata.list_datasets():
                raise UnknownNameError("data set of mirdata", dataset, mirdata.list_datasets())
            try:
                module = import_module(f"mirdata.datasets.{dataset}")
            except ImportError as error:
                raise AnnotationError(f"cannot import mirdata's loader of {dataset}: {error}") from None
            if version not in module.INDEXES:
                raise UnknownNameError(f"version of {dataset}", version, module.INDEXES)
            dataset = module.Dataset(data_home=data_home, version=version)
        elif not is_mirdata(dataset) or not hasattr(type(dataset), "track_ids"):
            message = f"expected the name of a mirdata data set or an initialized one, not {type(dataset).__name__}"
            raise AnnotationError(message)
        elif data_home is not None or version != "default" or index is not None:
            raise AnnotationError("the data set is already initialized: omit data_home, version and index")
        own = type(dataset)
        loader, index = f"{own.__module__}:{own.__qualname__}", dataset.index_path if index is None else index
        found = cls(loader, str(dataset.name), str(dataset.data_home), str(dataset.version), str(index))
        dataset.index_path = found.index
        _OPENED[found] = dataset
        return found

    def open(self) -> Any:
        """The mirdata.core.Dataset, opened once per process."""
        if self not in _OPENED:
            module, _, name = self.loader.partition(":")
            dataset = getattr(import_module(module), name)(data_home=self.data_home, version=self.version)
            dataset.index_path = self.index
            _OPENED[self] = dataset
        opened = _OPENED[self]
        for old in list(_OPENED)[:-_MOST_OPENED]:
            _OPENED.pop(old, None)
        return opened

    @property
    def remedy(self) -> str:
        """Advice for missing files."""
        return f"download the data with mirdata.initialize({self.name!r}, {self.data_home!r}).download()"

    def tracks(self, chosen: Sequence[str] | None = None, split: str | None = None) -> tuple[str, ...]:
        """Ids of the tracks, all or some, of all splits or one."""
        dataset = self.open()
        try:
            known = list(map(str, dataset.track_ids))
        except FileNotFoundError:
            message = f"mirdata's index of {self.name} is missing: {self.index}; {self.remedy}"
            raise UnreadableError(message.replace(".download()", '.download(["index"])')) from None
        except (AttributeError, KeyError, ValueError, OSError) as error:
            raise UnreadableError(f"cannot list the tracks: {error}", path=self.index) from None
        for track in chosen or ():
            if track not in known:
                raise UnknownNameError(f"track of {self.name}", track, known)
        wanted = set(known if chosen is None else chosen)
        if split is not None:
            try:
                splits = dataset.get_track_splits()
            except (AttributeError, NotImplementedError):
                raise AnnotationError(f"{self.name} has no splits: omit {split!r}") from None
            except FileNotFoundError as error:
                raise UnreadableError(f"cannot read the splits of {self.name}: {error}; {self.remedy}") from None
            if split not in splits:
                raise UnknownNameError(f"split of {self.name}", split, map(str, splits))
            wanted &= set(map(str, splits[split]))
        return tuple(track for track in known if track in wanted)

    def checksums(self) -> dict[str, str]:
        """MD5 digests of the files of all tracks, by their paths in the folder of the data, from the index."""
        import json

        held = json.loads(Path(self.index).read_text(encoding="utf-8"))["tracks"]
        pairs = (pair for files in held.values() for pair in files.values())
        return {str(path): str(checksum) for path, checksum in pairs if path and checksum}

    def sources(
        self, tracks: Iterable[str], annotation: str, reading: Reading, annotator: str | int | None = None
    ) -> dict[str, MirdataSource]:
        """The source of each track with the annotation, in the index or in the data set's table of metadata."""
        dataset = self.open()
        found: dict[str, MirdataSource] = {}
        for name in tracks:
            track = dataset.track(name)
            if not hasattr(type(track), annotation) and annotation not in vars(track):
                raise UnknownNameError(f"annotation of {self.name}", annotation, annotations_of(track))
            paths = paths_of(track, annotation)
            files = tuple(path for path in paths if path is not None)
            if files or not paths:
                found[name] = MirdataSource(self, name, annotation, reading, annotator, files)
        if not found:
            raise UnreadableError(f"no track of {self.name} has {annotation}")
        files = tuple(file for source in found.values() for file in source.files)
        if files and not any(Path(file).exists() for file in files):
            raise UnreadableError(f"{self.name} has no file of {annotation} in {self.data_home!r}; {self.remedy}")
        # Sources without files whose value is None are dropped; those that cannot be read now fail when they are read.
        absent, problems = set(), []
        for name, source in found.items():
            try:
                if not source.files and source.value() is None:
                    absent.add(name)
            except AnnotationError as error:
                problems.append(error)
        if len(problems) == len(found):
            raise problems[0]
        return {name: source for name, source in found.items() if name not in absent}

    def metadata(
        self, tracks: Sequence[str], names: Sequence[str] | None = None
    ) -> tuple[dict[str, dict[str, Entry]], str]:
        """Values of plain attributes and of the table of metadata, by track and name.

        By default, all attributes that are text or a number for some track and need no other file. Also returns why
        the table of metadata could not be read, or an empty string.
        """
        dataset, problem = self.open(), ""
        values: dict[str, dict[str, Entry]] = {}
        for name in tracks:
            track = dataset.track(name)
            own, known = values.setdefault(name, {}), annotations_of(track) if names is None else []
            # Plain attributes, and properties that read no file but the table.
            plain = [attribute for attribute in known if attribute in vars(track) and attribute != "track_id"]
            codes = {attribute: _code_of(track, attribute) for attribute in known}
            plain += [
                attribute
                for attribute, code in codes.items()
                if code is not None and "_track_metadata" in code.co_names
            ]
            for attribute in plain if names is None else names:
                if names is not None and not hasattr(type(track), attribute) and attribute not in vars(track):
                    raise UnknownNameError(f"attribute of tracks of {self.name}", attribute, annotations_of(track))
                try:
                    value = getattr(track, attribute)
                except AttributeError:  # a track that is missing from the table
                    continue
                except (OSError, KeyError, ValueError) as error:
                    problem = problem or f"metadata of {self.name} cannot be read and are omitted: {error}"
                    continue
                value = value.item() if isinstance(value, np.generic) else value
                if isinstance(value, str | int | float) and value == value and value != "":
                    own[attribute] = value
        return values, problem


_OPENED: dict[MirdataDataset, Any] = {}
_MOST_OPENED = 8


def _code_of(track: Any, name: str) -> Any:
    """The code of a property, cached or not; None for a plain attribute."""
    held = inspect.getattr_static(type(track), name, None)
    return getattr(getattr(held, "fget", None) or getattr(held, "func", None), "__code__", None)


def paths_of(track: Any, annotation: str) -> tuple[str | None, ...]:
    """Paths that a track's annotation is read from; None for those missing from the index.

    They are the attributes with ``path`` in their names that the code of the property reads, directly or through
    another property.
    """
    seen: set[str] = set()
    wanted, paths = [annotation], dict[str, str | None]()
    while wanted:
        name = wanted.pop()
        code = _code_of(track, name)
        if name in seen or code is None:
            continue
        seen.add(name)
        for read in code.co_names:
            if "path" in read and read in vars(track):
                value = vars(track)[read]
                paths |= {read: value} if value is None or isinstance(value, str) else {}
            elif _code_of(track, read) is not None:
                wanted.append(read)
    return tuple(paths.values())


def annotations_of(track: Any) -> list[str]:
    """Names of the public properties and plain attributes of a track, except paths and audio."""
    names = [name for name in dir(type(track)) if _code_of(track, name) is not None] + list(vars(track))
    return [name for name in names if not (name.startswith("_") or "path" in name or "audio" in name)]


@dataclass(frozen=True, slots=True)
class MirdataSource(Source):
    """The annotation of a mirdata track."""

    dataset: MirdataDataset
    track: str
    annotation: str
    """Name of the attribute."""
    reading: Reading
    annotator: str | int | None = None
    """As for `convert`."""
    files: tuple[str, ...] = ()
    """Files that are read; empty for an attribute of the table of metadata."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Its files, or its name if there are none."""
        return self.files or (self.label,)

    @property
    def label(self) -> str:
        """Data set, track and annotation, with the annotator in brackets."""
        name = f"mirdata:{self.dataset.name}/{self.track}/{self.annotation}"
        return name if self.annotator is None else f"{name} [{self.annotator}]"

    def stat(self) -> tuple[int, int]:
        """Size and time of its files, combined with mirdata's version; without files, a hash of its contents.

        Missing files and unreadable contents are ignored.
        """
        stats = [(0, zlib.crc32(_version().encode()))]
        try:
            if not self.files:
                stats.append((0, zlib.crc32(self.read()[1].encode())))
        except AnnotationError:
            pass
        for file in self.files:
            stats.append(file_stat(file) if Path(file).exists() else (0, 0))
        return mix_stats(stats)

    def value(self) -> Any:
        """The value of the attribute, as mirdata reads it."""
        try:
            return getattr(self.dataset.open().track(self.track), self.annotation)
        except FileNotFoundError as error:
            missing = next((file for file in self.files if not Path(file).exists()), error.filename)
            what = str(error) if missing is None else f"the file {str(missing)!r} does not exist"
            raise UnreadableError(f"{what}; {self.dataset.remedy}", path=self.label) from None
        except Exception as error:  # loaders raise various errors
            where = f" {', '.join(map(repr, self.files))}" if self.files else ""
            message = f"mirdata cannot read{where or ' it'}: {type(error).__name__}: {error}"
            raise UnreadableError(message, path=self.label) from None

    def read(self) -> tuple[Annotation, str]:
        """The annotation, and a digest of its contents."""
        value = self.value()
        if value is None:
            raise UnreadableError(f"has no {self.annotation}", path=self.label)
        try:
            annotation = convert(value, self.reading, self.annotator)
        except AnnotationError as error:
            raise InvalidAnnotationError(error.message, path=self.label) from None
        parts = [annotation.kind.encode(), "\0".join(annotation.labels or ()).encode()]
        parts += [counts.tobytes() for counts in annotation.inner_counts]
        parts += [name.encode() + annotation.columns[name].tobytes() for name in sorted(annotation.columns)]
        attrs = {**annotation.attrs, "source": self.label}
        return replace(annotation, attrs=attrs), digest_of(b"\0".join(parts))

    def annotators(self) -> tuple[str, ...]:
        """Ids of the annotators of the track; empty for a single annotation."""
        value = self.value()
        if type(value).__name__ != "MultiAnnotator":
            return ()
        held = zip(value.annotators, value.annotations, strict=True)
        return tuple(str(name) for name, one in held if one is not None)


_version = cache(lambda: str(import_module("importlib.metadata").version(PACKAGE)))
