"""Bad input as a user meets it: every kind of it through the command line, none with a traceback."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner, Result

import mirflow
from mirflow.cli import cli
from mirflow.cli import output as exits
from mirflow.errors import AnnotationError, UnreadableError
from mirflow.evaluation.linter import check_paths
from mirflow.pipeline.load import MetadataError, track_metadata
from mirflow.pipeline.model import Tracks
from mirflow.readers.content import read_bytes
from mirflow.store.cells import Status
from tests.datasets import write_dataset, write_pipeline

from .waiting import PATIENCE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_dataset(tmp_path, tracks=3)
    return tmp_path


def run(folder: Path, *options: str) -> Result:
    result = CliRunner().invoke(cli, ["run", str(folder / "pipeline.yaml"), *options])
    assert "Traceback" not in result.output
    return result


def cell(folder: Path, system: str = "ada", track: str = "t01") -> tuple[Status, str, int, float]:
    """Status, message, repairs and majmin of one cell."""
    ds = mirflow.open_store(folder / "store.zarr")["chord"].to_dataset().sel(system=system, track=track).load()
    score = ds.score.sel(metric="majmin").item() if "majmin" in ds.metric else ds.score[0].item()
    return Status(ds.status.item()), ds.message.item(), ds.repairs.item(), score


def estimate(folder: Path, text: str | bytes) -> None:
    path = folder / "est" / "ada" / "t01.lab"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_zero_length_intervals_are_dropped_and_counted(folder: Path) -> None:
    estimate(folder, "0 0 N\n0 5 C:maj\n5 30 G:maj\n30 30 N\n")
    assert run(folder).exit_code == 0
    status, message, repairs, with_them = cell(folder)
    assert (status, message) == (Status.ok, "")
    estimate(folder, "0 5 C:maj\n5 30 G:maj\n")
    run(folder)
    _, _, fewer, without_them = cell(folder)
    assert repairs - fewer == 2
    assert with_them == without_them


@pytest.mark.parametrize(
    "text",
    ["0 5 C:maj\n6 30 G:maj\n", "6 30 G:maj\n0 5 C:maj\n", "0 5 C:maj\n", "0 5 C:maj\n5 200 G:maj\n"],
    ids=["gap", "unsorted", "ends early", "ends late"],
)
def test_irregular_but_acceptable_estimates_are_scored(folder: Path, text: str) -> None:
    estimate(folder, text)
    assert run(folder).exit_code == 0
    status, message, _, score = cell(folder)
    assert (status, message) == (Status.ok, "")
    assert np.isfinite(score)


@pytest.mark.slow
def test_gaps_unsorted_rows_and_early_ends_are_counted(folder: Path) -> None:
    estimate(folder, "0 400 C:maj\n")
    run(folder)
    regular = cell(folder)[2]
    for text in ("0 5 C:maj\n6 400 G:maj\n", "5 400 G:maj\n0 5 C:maj\n", "0 5 C:maj\n"):
        estimate(folder, text)
        run(folder)
        assert cell(folder)[2] == regular + 1


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("0 5 C:maj\n4 30 G:maj\n", Status.invalid, "overlap"),
        ("0 5 C:maj\n9 7 G:maj\n", Status.invalid, r"est/ada/t01.lab:2: "),
        ("-1 5 C:maj\n5 30 G:maj\n", Status.invalid, "est/ada/t01.lab:1: time is negative"),
        ("0 5 C:maj\n5 nan G:maj\n", Status.invalid, "est/ada/t01.lab:2: "),
        ("0 5 C:maj\n5 inf G:maj\n", Status.invalid, "est/ada/t01.lab:2: "),
        ("0 5 C:maj\n5 30 Cmaj\n", Status.invalid, "est/ada/t01.lab:2: not a chord: 'Cmaj'"),
        ("0 5 C:maj\nfive 30 G:maj\n", Status.invalid, "est/ada/t01.lab:2: "),
        (b"\x00\x01\x02\x03 binary \x00", Status.unreadable, "est/ada/t01.lab"),
        ("0 5 C:maj\n5 9 Gé\n".encode("utf-32"), Status.unreadable, "UTF-32"),
        (b"0 5 C:maj\n5 9 \xff\xfe\n", Status.unreadable, "line 2"),
        ("", Status.empty_estimate, "est/ada/t01.lab: system 'ada' has an empty estimate of track 't01'"),
        ("# nothing was found\n\n", Status.empty_estimate, "est/ada/t01.lab: "),
    ],
    ids=[
        "overlap", "reversed", "negative", "nan", "infinite", "label", "no number",
        "binary", "utf-32", "encoding", "empty", "comments only",
    ],
)  # fmt: skip
def test_each_bad_estimate_has_its_status_and_reason(
    folder: Path, text: str | bytes, status: Status, message: str
) -> None:
    estimate(folder, text)
    result = run(folder)
    found, reason, _, score = cell(folder)
    assert found == status
    assert message in reason
    scored = status == Status.empty_estimate
    assert np.isnan(score) != scored
    assert result.exit_code == (0 if scored else 3)
    others = mirflow.open_store(folder / "store.zarr")["chord"].to_dataset().status
    assert int((others == Status.ok).sum()) == 5


def test_mirex2013_takes_overlaps(folder: Path) -> None:
    write_pipeline(folder, convention="mirex2013")
    estimate(folder, "0 5 C:maj\n4 30 G:maj\n")
    assert run(folder).exit_code == 0
    assert cell(folder)[0] == Status.ok


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"annotations": [{"namespace": "chord", "data": [{"time": 0.0, "dur', "t01.jams"),
        ("[" * 100_000, "t01.jams"),
        ('{"annotations": []}', "t01.jams"),
    ],
    ids=["truncated", "deeply nested", "no annotation"],
)
def test_broken_jams_files_are_reported_apart(folder: Path, text: str, reason: str) -> None:
    for path in sorted(folder.glob("est/*/*.lab")):
        path.rename(path.with_suffix(".jams"))
        path.with_suffix(".jams").write_text('{"annotations": [{"namespace": "chord", "data": []}]}')
    (folder / "est" / "ada" / "t01.jams").write_text(text)
    pipeline = folder / "pipeline.yaml"
    pipeline.write_text(pipeline.read_text().replace("est/{system}/{track}.lab", "est/{system}/{track}.jams"))
    assert run(folder).exit_code == 3
    status, message, _, _ = cell(folder)
    assert status in (Status.unreadable, Status.invalid)
    assert reason in message


def test_a_file_over_the_size_limit_is_unreadable(folder: Path) -> None:
    write_pipeline(folder)
    pipeline = folder / "pipeline.yaml"
    pattern = "est/{system}/{track}.lab"
    pipeline.write_text(pipeline.read_text().replace(pattern, f'{{path: "{pattern}", max_bytes: 1000}}'))
    estimate(folder, "0 1 C:maj\n" + "# a long comment\n" * 100)
    assert run(folder).exit_code == 3
    status, message, _, _ = cell(folder)
    assert status == Status.unreadable
    assert "too large" in message


def test_an_empty_reference_is_scored_with_no_weight(folder: Path) -> None:
    (folder / "ref" / "t01.lab").write_text("")
    assert run(folder).exit_code == 0
    ds = mirflow.open_store(folder / "store.zarr")["chord"].to_dataset().sel(track="t01").load()
    assert (ds.status == Status.empty_reference).all()
    assert (ds.weight == 0).all()
    assert (ds.score == 0).all()


def test_missing_files_are_listed_and_never_averaged_away_in_silence(folder: Path) -> None:
    (folder / "est" / "ada" / "t01.lab").unlink()
    (folder / "ref" / "t02.lab").unlink()
    result = run(folder)
    assert result.exit_code == 3
    assert "system 'ada' has no estimate of track 't01'" in result.output
    assert "track 't02' has no reference" in result.output
    assert cell(folder)[0] == Status.missing_estimate
    assert cell(folder, track="t02")[0] == Status.missing_reference
    answer = CliRunner().invoke(cli, ["query", str(folder / "store.zarr"), "--metric", "majmin"])
    assert answer.exit_code == 0
    assert "missing (common): 3 of 6 cells" in answer.output


def pipeline_error(folder: Path, text: str) -> str:
    (folder / "pipeline.yaml").write_text(text)
    result = run(folder)
    assert result.exit_code == 2
    assert not (folder / "store.zarr").exists()
    return result.output


def test_all_problems_of_a_pipeline_are_reported_at_once(folder: Path) -> None:
    output = pipeline_error(
        folder,
        "name: 3\n"
        "evaluations:\n"
        "  - tsk: chord\n"
        "    reference: ref/{track}.lab\n"
        "    estimates: est/{system}/{track}.lab\n"
        "  - task: chord\n"
        "    metrics: [majmim]\n"
        "    reference: refs/{track}.lab\n"
        "    estimates: est/{system}/{track}.lab\n"
        "  - task: chord\n"
        "    reference: ref/{track}.txt\n"
        "    estimates: est/{system}/{track}.lab\n"
        "stor: x.zarr\n",
    )
    for part in (
        "did you mean 'task'",
        "did you mean 'store'",
        "did you mean 'majmin'",
        "invalid value 3: expected text",
        "evaluations[2]",
        "matches nothing: 'ref/{track}.txt'",
        "another evaluation has the name 'chord'",
    ):
        assert part in output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("name: !!python/object/apply:os.system ['true']", "tag"),
        ("name: ${MIRFLOW_SURELY_UNSET}", "MIRFLOW_SURELY_UNSET"),
        ("a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
         "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
         "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: [*e, *e, *e, *e, *e, *e, *e, *e, *e]", "alias"),
        ("name: x\nname: y", "name"),
        ("name: [", "pipeline.yaml"),
    ],
    ids=["tag", "unset variable", "exploding aliases", "duplicate key", "no yaml"],
)  # fmt: skip
def test_dangerous_or_broken_yaml_is_refused(folder: Path, line: str, message: str) -> None:
    rest = (folder / "pipeline.yaml").read_text().replace("name: test\n", "")
    assert message in pipeline_error(folder, f"{line}\n{rest}")


def test_a_path_that_leaves_the_root_through_a_placeholder_is_refused(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "pipeline.yaml").write_text(
        (folder / "pipeline.yaml").read_text().replace("ref/{track}.lab", "'{x}/ref/{track}.lab'")
    )
    result = CliRunner().invoke(cli, ["run", str(inner / "pipeline.yaml")])
    assert result.exit_code == 2
    assert "matches nothing" in result.output


def test_an_unknown_store_or_name_is_one_line(folder: Path) -> None:
    run(folder)
    ask = CliRunner()
    absent = ask.invoke(cli, ["query", str(folder / "stor.zarr")])
    assert absent.exit_code in (2, 4)
    assert "stor.zarr" in absent.output
    unknown = ask.invoke(cli, ["query", str(folder / "store.zarr"), "--metric", "majmim"])
    assert unknown.exit_code == 2
    assert "did you mean 'majmin'" in unknown.output
    senseless = ask.invoke(cli, ["query", str(folder / "store.zarr"), "--metric", "seg", "--aggregate", "wcsr"])
    assert senseless.exit_code == 2
    assert "wcsr" in senseless.output


@pytest.mark.parametrize(
    "command",
    [
        ["query", "STORE"],
        ["query", "STORE", "--metric", "confusion"],
        ["compare", "STORE", "--metric", "root"],
        ["problems", "STORE"],
        ["report", "STORE", "-o", "page.html"],
        ["diff", "STORE", "STORE"],
        ["run", "PIPELINE"],
        ["run", "PIPELINE", "--force"],
        ["run", "PIPELINE", "--dry-run"],
    ],
    ids=" ".join,
)
def test_a_damaged_store_is_reported_by_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    write_dataset(tmp_path)
    pipeline = write_pipeline(tmp_path, metrics="[root, 'confusion@majmin']")
    mirflow.run(pipeline)
    chance = random.Random(4)
    for chunk in sorted((tmp_path / "store.zarr").rglob("c.*")):
        data = bytearray(chunk.read_bytes())
        data[chance.randrange(8, len(data))] ^= 0x55
        chunk.write_bytes(data)
    monkeypatch.chdir(tmp_path)
    places = {"STORE": str(tmp_path / "store.zarr"), "PIPELINE": str(pipeline)}
    result = CliRunner().invoke(cli, [places.get(word, word) for word in command])
    assert result.exit_code == exits.STORE, result.output
    assert "is damaged" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_pipe_in_the_place_of_a_file_does_not_hang_a_run(folder: Path) -> None:
    path = folder / "est" / "ada" / "t01.lab"
    path.unlink()
    os.mkfifo(path)
    assert run(folder).exit_code == 3
    status, message, _, _ = cell(folder)
    assert status in (Status.unreadable, Status.missing_estimate)
    assert "est/ada/t01.lab" in message or "no estimate" in message


@pytest.mark.parametrize("what", ["a pipe", "a device"])
@pytest.mark.parametrize("suffix", [".lab", ".jams", ".mid", ".wav", ".matrix", ".run", ".npy"])
def test_only_files_are_read(tmp_path: Path, suffix: str, what: str) -> None:
    path = tmp_path / f"a{suffix}"
    if what == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    task = {".mid": "transcription", ".wav": "separation", ".lab": "chord", ".jams": "chord"}.get(suffix, "retrieval")
    read = mirflow.load if task != "retrieval" else mirflow.load_collection
    with pytest.raises(AnnotationError, match=rf"a\{suffix}: cannot be read: is {what}, not a file"):
        read(str(path), task=task)


@pytest.mark.parametrize("what", ["a pipe", "a device"])
@pytest.mark.parametrize("file", ["pipeline.yaml", "mapping.yaml", "tracks.csv", "lists.csv"])
def test_neither_pipelines_nor_tables_beside_them_are_read_from_what_is_no_file(
    folder: Path, file: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    path = folder / f"no-{file}"
    if what == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    plan = yaml.safe_load((folder / "pipeline.yaml").read_text())
    plan["evaluations"][0]["tracks"] = path.name
    (folder / "tracks.yaml").write_text(yaml.safe_dump(plan))
    command = {
        "pipeline.yaml": ["run", path.name],
        "mapping.yaml": ["import", "--mapping", path.name, "-o", "x.zarr"],
        "tracks.csv": ["run", "tracks.yaml"],
        "lists.csv": ["evaluate", path.name, path.name, "--task", "retrieval"],
    }[file]
    done = subprocess.run(
        [sys.executable, "-m", "mirflow", *command], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == exits.BAD_INPUT, done.stderr
    assert f"is {what}, not a file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_table_of_tracks_has_a_limit(folder: Path) -> None:
    path = folder / "huge.csv"
    with path.open("wb") as file:
        file.truncate(300 * 2**20)
    with pytest.raises(MetadataError, match=r"huge\.csv' is larger than 256 MB: not a table of tracks"):
        track_metadata(Tracks(path=str(path)), "", ["a"])


def test_what_a_file_gives_counts_and_not_what_it_is_said_to_hold() -> None:
    status = Path("/proc/self/status")  # said to hold nothing
    assert b"Name:" in read_bytes(status, 2**20)
    with pytest.raises(UnreadableError, match="too large"):
        read_bytes(status, 100)


@pytest.mark.parametrize(
    ("task", "convention", "line"),
    [
        ("chord", "mir_eval", "4 1e300 G"),
        ("chord", "mirex2013", "4 1e300 G"),
        ("chord", "decibel", "4 1e300 G"),
        ("segment", "mir_eval", "4 1e300 B"),
        ("segment", "mirex", "4 1e300 B"),
        ("hierarchy", "mir_eval", "4 1e300 B"),
        ("beat", "mir_eval", "-1e300"),
        ("onset", "mirex", "-1e300"),
        ("alignment", "mir_eval", "1e300"),
        ("transcription", "mir_eval", "4 1e300 440"),
        ("melody", "mirex", "1e300 440"),
        ("multipitch", "mir_eval", "-1e300 440"),
    ],
)
def test_what_is_no_time_is_refused_before_it_is_computed_with(
    tmp_path: Path, task: str, convention: str, line: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"{line}\n")
    with pytest.raises(AnnotationError, match=r"a\.txt:1: .*not in seconds \(beyond 1e\+09\)"):
        mirflow.evaluate(str(path), str(path), task, convention=convention)
    (checked,) = check_paths([path], task, convention=convention)
    assert ("error", "too_late") in [(found.severity, found.rule) for found in checked.problems]


def test_one_late_row_of_a_melody_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("0,440\n100000,440\n")
    with pytest.raises(AnnotationError, match=r"10000001 frames of 2 samples, more than 2097152: are the times in s"):
        mirflow.evaluate(str(path), str(path), "melody", convention="mirex")
    melody = mirflow.load(str(path), task="melody")
    with pytest.raises(AnnotationError, match=r"10000000 frames of 0\.01 s are more than 4194304; choose a longer hop"):
        mirflow.align([melody, melody], grid={"hop": 0.01})


def test_thousands_of_labels_take_no_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{row / 10:.1f} {(row + 1) / 10:.1f} s{row}\n" for row in range(20_000)))
    tracemalloc.start()
    try:
        scores = mirflow.evaluate(str(path), str(path), "segment")
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()
    assert scores.score.sel(metric="adjusted_mutual_information").item() == 1.0


def test_a_hierarchy_of_too_many_segments_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{row} {row + 1} s{row}\n" for row in range(10_000)))
    with pytest.raises(AnnotationError, match="too many segments: 10000 in the reference and 10000 in the estimate"):
        mirflow.evaluate(str(path), str(path), "hierarchy")


def test_messages_stay_short_whatever_a_file_holds(folder: Path) -> None:
    estimate(folder, "0 5 " + "x" * 1_000_000 + "\n")
    assert run(folder).exit_code == 3
    status, message, _, _ = cell(folder)
    assert status == Status.invalid
    assert "not a chord" in message
    assert len(message) < 2000


def test_columns_that_leave_out_what_is_needed_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("0,1,440\n")
    for task, columns, message in (
        ("transcription", {"start": 0, "end": 1}, "no column holds 'pitch'; declare it in columns"),
        ("transcription", {"start": 0, "pitch": 2}, "no column holds '(end|duration)'"),
        ("melody", {"time": 0}, "no column holds 'frequency'"),
    ):
        with pytest.raises(AnnotationError, match=rf"a\.csv:1: {message}"):
            mirflow.load(str(path), task=task, columns=columns)


@pytest.mark.parametrize(
    "command",
    [
        ["check", "URL"],
        ["evaluate", "URL", "URL"],
        ["init", "URL"],
        ["run", "URL"],
        ["demo", "URL"],
        ["query", "STORE", "--output", "URL"],
    ],
    ids=" ".join,
)
def test_a_url_where_files_are_on_this_machine_is_named_as_given(tmp_path: Path, command: list[str]) -> None:
    places = {"URL": "s3://lab/x.jams", "STORE": str(tmp_path / "x.zarr")}
    result = CliRunner().invoke(cli, [places.get(word, word) for word in command])
    assert result.exit_code == exits.BAD_INPUT, result.output
    assert "s3://lab/x.jams is a URL; name a file or folder on this machine" in result.stderr
    assert list(tmp_path.iterdir()) == []
