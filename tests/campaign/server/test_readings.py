"""Scores of what a confined process has kept of a submission equal those of its files, to the bit and in every word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import mido
import msgspec
import numpy as np
import pytest
import yaml

import mirflow
from mirflow.annotations.annotation import Annotation, CodedLabels
from mirflow.annotations.schema import TASK_KINDS
from mirflow.annotations.source import HeldSource, MemorySource
from mirflow.campaign.file import load_campaign, pipeline_of, reference_tracks
from mirflow.campaign.server.submissions.checking import read_job
from mirflow.errors import InvalidAnnotationError, PipelineError, UnreadableError
from mirflow.pipeline.document import dump_document
from mirflow.readers.readings import open_readings, write_readings
from mirflow.store.cells import GroupContent
from mirflow.store.packs import open_pack
from mirflow.store.read import open_groups, read_group

from ...samples import empty, sample

JAMS = """{{"file_metadata": {{"duration": 30.0}}, "annotations": [{{"namespace": "beat", "annotation_metadata": {{}},
 "data": [{}]}}]}}"""
BEAT = '{{"time": {}, "duration": 0.0, "value": {}, "confidence": null}}'
MATRIX = "\titem1\titem2\titem3\nitem1\t0\t{0}\t3\nitem2\t{0}\t0\t2\nitem3\t3\t2\t0\n"


def beats(*times: float, label: str = "") -> str:
    return "".join(f"{time}{label}\n" for time in times)


Side = Mapping[str, str | bytes]
CASES: dict[str, tuple[dict[str, Any], Side, Side]] = {
    "chord": (
        {"task": "chord", "reference": "ref/{track}.lab", "estimates": "{track}.lab"},
        {f"ref/{name}.lab": "0 10 C\n10 20 G:7\n20 30 A:min\n" for name in "abcdef"},
        {
            "a.lab": "0 10 C\n10 20 G\n20 30 A:min7/b3\n",
            "b.lab": "0 10 C\n10 20 H:moll\n",
            "c.lab": "",
            "d.lab": b"\xff\xfe\x00\x01",
            "e.lab": "0 10 C\n9 20 G:7\n20 20 N\n20 30000 A:min\n",
        },
    ),
    "beat": (
        {"task": "beat", "reference": "ref/{track}.txt", "estimates": "{track}.{format}"},
        {f"ref/{name}.txt": beats(*np.arange(0.5, 25, 0.5)) for name in "abc"},
        {
            "a.txt": beats(*np.arange(0.51, 25, 0.5)),
            "b.jams": JAMS.format(",".join(BEAT.format(time, 1 + at % 4) for at, time in enumerate(range(3, 20)))),
            "c.txt": beats(*np.arange(500, 25000, 500)),
        },
    ),
    "downbeats of all": (
        {"task": "beat", "reference": "ref/{track}.txt", "estimates": {"path": "{track}.txt", "select": "downbeat"}},
        {f"ref/{name}.txt": beats(*np.arange(6, 25, 2.0)) for name in "ab"},
        {"a.txt": "".join(f"{6 + at / 2}\t{1 + at % 4}\n" for at in range(30)), "b.txt": beats(6, 8, 10)},
    ),
    "segment": (
        {"task": "segment", "reference": "ref/{track}.lab", "estimates": {"path": "{track}.lab", "labels": "map.yaml"}},
        {"ref/a.lab": "0 10 verse\n10 30 chorus\n", "map.yaml": "equal: {Strophe: verse, Refrain: chorus}\n"},
        {"a.lab": "0 11 Strophe\n11 30 Refrain\n"},
    ),
    "hierarchy": (
        {
            "task": "hierarchy",
            "reference": {"path": "ref/{track}_{level}.lab", "levels": ["up", "low"]},
            "estimates": {"path": "{track}_{level}.lab", "levels": ["up", "low"]},
        },
        {f"ref/a_{level}.lab": "0 10 A\n10 30 B\n" for level in ("up", "low")}
        | {f"ref/b_{level}.lab": "0 10 A\n10 30 B\n" for level in ("up", "low")},
        {"a_up.lab": "0 30 A\n", "a_low.lab": "0 12 a\n12 30 b\n", "b_up.lab": "0 30 A\n"},
    ),
    "multipitch": (
        {"task": "multipitch", "reference": "ref/{track}.txt", "estimates": {"path": "{track}.txt", "hop": 0.05}},
        {"ref/a.txt": "0.0 440 220\n0.1\n0.2 330\n"},
        {"a.txt": "0.0 0.15 440\n0.1 0.3 330\n"},
    ),
    "tables": (
        {"task": "classification", "reference": "ref.tsv", "estimates": "out.tsv"},
        {"ref.tsv": "/x/a.wav\tjazz\n/x/b.wav\trock\n/x/c.wav\tfolk\n"},
        {"out.tsv": "a\tjazz\nb\tjazz\nz\tfolk\n"},
    ),
    "rankings under other names": (
        {"task": "retrieval", "reference": "ref.tsv", "estimates": "out.tsv"},
        {"ref.tsv": "q1\tx\nq1\ty\nq2\tz\n"},
        {"out.tsv": "q1\t/d/x.wav\nq1\t/d/z.wav\nq2\t/d/y.wav\nq2\t/d/z.wav\n"},
    ),
    "distances": (
        {"task": "retrieval", "reference": "ref.tsv", "estimates": "out.txt"},
        {"ref.tsv": "item1\titem2\nitem2\titem1\nitem3\titem1\n"},
        {"out.txt": MATRIX.format("1.5")},
    ),
    "a table that cannot be read": (
        {"task": "classification", "reference": "ref.tsv", "estimates": "out.tsv"},
        {"ref.tsv": "a\tjazz\nb\trock\n"},
        {"out.tsv": b"\xff\xfe\x00a\tjazz\n"},
    ),
    "lyrics": (
        {
            "task": "lyrics",
            "reference": {"path": "ref/{track}.txt", "language": "{language}"},
            "estimates": {"path": "{track}.txt", "language": "{language}"},
            "tracks": "tracks.csv",
        },
        {"ref/a.txt": "Oh my love\n", "ref/b.txt": "Mon amour\n", "tracks.csv": "track,language\na,en\nb,fr\n"},
        {"a.txt": "Oh my dove\n", "b.txt": "Mon, amour\nd'hier\n"},
    ),
    "folds": (
        {"task": "chord", "reference": "ref/{fold}/{track}.lab", "estimates": "{fold}/{track}.lab"},
        {f"ref/{fold}/{name}.lab": "0 10 C\n10 20 G:7\n" for fold in "12" for name in "ab"},
        {f"{fold}/{name}.lab": f"0 1{fold} C\n1{fold} 20 G:7\n" for fold in "12" for name in "ab"},
    ),
}  # fmt: skip


def lay(folder: Path, files: Side) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())


def campaign(folder: Path, evaluation: dict[str, Any], references: Side, sent: Side) -> Path:
    """A campaign with a split ``dev``, and what ``oak`` has sent."""
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump({"campaign": "All", "evaluations": [evaluation], "splits": {"dev": "data"}}))
    lay(folder / "data", references)
    lay(folder / "state" / "systems" / "oak", sent)
    return path


def keep(path: Path) -> Path:
    """Read what was sent, as the confined process does; returns the folder of readings."""
    folder, readings = path.parent, path.parent / "state" / "readings"
    (readings / "oak").mkdir(parents=True)
    task = {
        "evaluations": yaml.safe_load(path.read_text())["evaluations"],
        "root": str(folder / "data"),
        "files": "../state/systems/oak",
        "split": "dev",
        "places": reference_tracks(path, load_campaign(path), "dev", open_pack),
        "out": str(readings / "oak"),
    }
    read_job(task, lambda _: None)
    return readings


def contents(store: Path) -> list[GroupContent]:
    return [read_group(store, name) for name in open_groups(store)]


def scored(path: Path, text: str) -> list[GroupContent] | str:
    """The contents of the store, or the reason why there is none."""
    pipeline = path.with_name("pipeline.yaml")
    pipeline.write_text(text)
    store = path.with_name(f"{len(text)}.zarr")
    try:
        mirflow.run(pipeline, store=store)
    except PipelineError as error:
        return str([problem.message for problem in error.problems])
    return contents(store)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::mirflow.errors.MirflowWarning")
def test_what_was_kept_scores_as_the_files_do(tmp_path, name):
    evaluation, references, sent = CASES[name]
    path = campaign(tmp_path, evaluation, references, sent)
    readings = keep(path)
    kept = dump_document(pipeline_of(path, load_campaign(path), "dev", readings, ["oak"]))
    data = yaml.safe_load(kept)
    (one,) = data["evaluations"]
    side = evaluation["estimates"]
    own = {"path": side} if isinstance(side, str) else side
    one["estimates"] = {**own, "path": f"../state/systems/oak/{own['path']}"}
    of_files, of_readings = scored(path, yaml.safe_dump(data) + "# files\n"), scored(path, kept)
    if isinstance(of_files, str):
        assert of_readings == of_files
        return
    assert len(of_files) == len(of_readings) == 1
    before, after = of_files[0], of_readings[0]
    for field in fields(before.cells):
        mine, theirs = getattr(before.cells, field.name), getattr(after.cells, field.name)
        if field.name == "extras":
            assert mine.keys() == theirs.keys()
            for key in mine:
                assert mine[key].index.tobytes() == theirs[key].index.tobytes()
                assert mine[key].value.tobytes() == theirs[key].value.tobytes()
        elif isinstance(mine, np.ndarray):
            assert mine.tobytes() == theirs.tobytes(), field.name
        else:
            assert mine == theirs, field.name
    for part in ("name", "systems", "tracks", "track_coords", "system_coords", "metric_coords"):
        assert str(getattr(before, part)) == str(getattr(after, part))
    for key in ("signatures", "warnings", "parameters", "reading"):
        assert before.attrs.get(key) == after.attrs.get(key)


class Told(MemorySource):
    """A source that gives an annotation, or raises."""

    def __init__(self, given: Annotation | Exception, name: str = "a.txt", found: tuple[int, int] = (1, 2)) -> None:
        self.given, self.name, self.found = given, name, found

    def stat(self) -> tuple[int, int]:
        return self.found or (0, 0)

    def read(self) -> tuple[Annotation, str]:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given, "digest"


def kept(folder: Path, *given: Annotation | Exception, kind: str = "events") -> Iterator[Any]:
    path = folder / "some.readings"
    write_readings(path, kind, [(Told(one), {"track": str(at)}) for at, one in enumerate(given)])
    return (source.read() for source, _ in open_readings(path).sources())


@pytest.mark.parametrize("task", [task for task in TASK_KINDS if TASK_KINDS[task] != "audio"])
def test_every_kind_is_kept_as_it_was_read(tmp_path, task):
    rng = np.random.default_rng(1)
    given = [sample(task, rng), empty(task), sample(task, rng)]
    given[2] = replace(given[2], attrs={"source": "x", "duration": float("nan"), "year": 2013, "tempo": 1.0})
    for before, (after, digest) in zip(given, kept(tmp_path, *given, kind=TASK_KINDS[task]), strict=True):
        assert digest == "digest"
        assert before.columns.keys() == after.columns.keys()
        for name, column in before.columns.items():
            assert column.dtype.kind == after.columns[name].dtype.kind
            assert column.tolist() == after.columns[name].tolist() or np.isnan(column).any()
        assert (before.labels is None) == (after.labels is None)
        assert list(before.labels or ()) == list(after.labels or ())
        assert [one.tolist() for one in before.inner_counts] == [one.tolist() for one in after.inner_counts]
        assert repr(dict(before.attrs)) == repr(dict(after.attrs))


def test_errors_lines_and_files_are_kept(tmp_path):
    bad = InvalidAnnotationError("is no time: 'x'", path="a.lab", line=3)
    gone, disk = UnreadableError("is truncated"), PermissionError(13, "Permission denied", "/x")
    lined = Annotation("events", {"time": np.zeros(2)}, lines=[7, 9], files=("a", "b"))
    found = kept(tmp_path, bad, gone, disk, lined)
    for error, kind in ((bad, InvalidAnnotationError), (gone, UnreadableError), (disk, UnreadableError)):
        with pytest.raises(kind) as caught:
            next(found)
        assert str(caught.value) == str(error)
        found = _skip(found, tmp_path, [bad, gone, disk].index(error) + 1)
    after, _ = next(found)
    assert (after.line(1), after.files) == (9, ("a", "b"))


def _skip(found: Iterator[Any], folder: Path, count: int) -> Iterator[Any]:
    sources = open_readings(folder / "some.readings").sources()
    return (source.read() for source, _ in sources[count:])


def test_a_vocabulary_is_kept_once(tmp_path):
    words = tuple(f"item {number}" for number in range(1000))
    given = [Annotation("ranking", {}, CodedLabels(words, np.array([at, 0, 999]))) for at in range(50)]
    first, second, *_ = kept(tmp_path, *given, kind="ranking")
    assert [*second[0].labels] == ["item 1", "item 0", "item 999"]
    assert first[0].labels.vocabulary is second[0].labels.vocabulary
    assert (tmp_path / "some.readings").stat().st_size < 40_000


def test_no_bytes_of_a_file_of_readings_do_harm(tmp_path):
    given = sample("multipitch", np.random.default_rng(0)), sample("multipitch", np.random.default_rng(1))
    list(kept(tmp_path, *given, kind="multipitch"))
    whole = (tmp_path / "some.readings").read_bytes()
    rng = np.random.default_rng(2)
    for number in range(300):
        data = bytearray(whole)
        for at in rng.integers(0, len(data), 3):
            data[at] = rng.integers(0, 256)
        if number % 3 == 0:
            del data[rng.integers(0, len(data)) :]
        path = tmp_path / f"{number}.readings"
        path.write_bytes(data)
        try:
            for source, _ in open_readings(path).sources():
                source.read()
        except (UnreadableError, InvalidAnnotationError):
            pass


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": [10**12]}, "longer than the file"),
        ({"counts": []}, "the counts do not fit"),
        ({"columns": {"time": ["text", 1, ["x"]]}}, "has 1 values"),
        ({"labels": ["x"]}, "'label' has 1 values"),
        ({"columns": {"time": ["O", 1, []]}}, "'O'"),
        ({"vocabulary": 7, "codes": 0}, "index out of range"),
        ({"attrs": [["a", "f", "x"]]}, "hexadecimal"),
    ],
)
def test_a_head_that_contradicts_its_arrays_is_damaged(tmp_path, change, message):
    (annotation, _), *_ = kept(tmp_path, sample("multipitch", np.random.default_rng(0)), kind="multipitch")
    assert len(annotation) > 1
    readings = open_readings(tmp_path / "some.readings")
    row, data = readings.rows[0], (tmp_path / "some.readings").read_bytes()
    head = {**msgspec.json.decode(data[row.offset : row.offset + row.head]), **change}
    text = msgspec.json.encode(head)
    body = data[row.offset + row.head : row.offset + row.length]
    row.head, row.length, row.offset = len(text), len(text) + len(body), 0
    (tmp_path / "some.readings").write_bytes(text + body)
    with pytest.raises(UnreadableError, match=message):
        readings.read(0)


def test_a_source_without_a_file_is_kept_too(tmp_path):
    source = HeldSource(Annotation("events", {"time": np.array([0.5])}), "reference")
    write_readings(tmp_path / "a.readings", "events", [(source, {})])
    ((after, _),) = open_readings(tmp_path / "a.readings").sources()
    assert (after.label, after.stat()) == ("reference", (0, 0))


def test_midi_files_are_kept(tmp_path):
    song = mido.MidiFile()
    song.tracks.append(mido.MidiTrack([mido.Message("note_on", note=60, velocity=70, time=0),
                                       mido.Message("note_off", note=60, time=480)]))  # fmt: skip
    evaluation = {"task": "transcription", "reference": "ref/{track}.mid", "estimates": "{track}.mid"}
    (tmp_path / "data" / "ref").mkdir(parents=True)
    song.save(tmp_path / "data" / "ref" / "a.mid")
    path = campaign(tmp_path, evaluation, {}, {"a.mid": (tmp_path / "data" / "ref" / "a.mid").read_bytes()})
    found = scored(path, dump_document(pipeline_of(path, load_campaign(path), "dev", keep(path), ["oak"])))
    assert not isinstance(found, str)
    assert found[0].cells.score[0].max() == 1.0
