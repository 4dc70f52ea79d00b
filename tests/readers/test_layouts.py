"""Files of one task read as those of another: an error with the task that they look like."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import mirflow
from mirflow.cli import cli
from mirflow.errors import AnnotationError, InvalidAnnotationError
from mirflow.evaluation.linter import check_paths
from mirflow.readers import read
from mirflow.readers.layouts import guess_task

CHORDS = "0.0 1.5 C:maj\n1.5 2.0 N\n2.0 4.5 A:min7\n"
SEGMENTS = "0.0\t10.5\tintro\n10.5\t30.25\tverse 1\n30.25\t40.0\tchorus\n"
BEATS = "".join(f"{0.25 + 0.5 * beat}\t{beat % 4 + 1}\t{beat // 4 + 1}\n" for beat in range(12))
POSITIONS = "".join(f"{0.25 + 0.5 * beat} {beat % 4 + 1}\n" for beat in range(12))
MELODY = "".join(f"{frame / 100:.2f}\t{0 if frame % 7 == 0 else 220 + frame}\n" for frame in range(40))
PITCHES = "".join(f"{frame / 100:.2f} 220.0 440.0 660.0 880.0\n" for frame in range(40))
NOTES = "0.25\t1.0\t440.0\n0.5\t1.5\t523.25\n1.0\t1.25\t261.63\n"
VELOCITIES = "0.25 1.0 60 90\n0.5 1.5 64 70\n1.0 1.25 67 80\n"
FILES = {
    "chord": CHORDS,
    "segment": SEGMENTS,
    "beat": BEATS,
    "melody": MELODY,
    "multipitch": PITCHES,
    "transcription": NOTES,
    "tempo": "60.0\t120.0\t0.25\n",
    "key": "C minor\n",
    "pattern": "pattern1\noccurrence1\n0, 60\n1.5, 62\n",
}
OWN = {
    "chord": ("chord", "segment", "hierarchy"),
    "segment": ("chord", "segment", "hierarchy"),  # of which chords are refused by what they are called
    "beat": ("beat", "downbeat"),
    "melody": ("melody", "multipitch"),
}
TASKS = (
    *("beat", "downbeat", "onset", "alignment", "chord", "segment", "hierarchy", "melody", "multipitch"),
    *("transcription", "tempo", "key", "pattern"),
)


def write(folder: Path, text: str, name: str = "a.txt") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("task", TASKS)
def test_every_task_reads_its_own_files_and_no_others(tmp_path: Path, task: str) -> None:
    for own, text in FILES.items():
        file = write(tmp_path, text, f"{own}.txt")
        if task in OWN.get(own, (own,)):
            assert len(read(file, task=task))
            continue
        with pytest.raises(AnnotationError, match=rf"{own}\.txt:\d+: "):
            read(file, task=task)


@pytest.mark.parametrize("task", ["classification", "tagging"])
@pytest.mark.parametrize("own", ["chord", "segment", "beat", "melody", "transcription", "multipitch"])
def test_times_are_no_classes_and_no_tags(tmp_path: Path, own: str, task: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=rf"not a row of {task} .*looks like {own}"):
        read(write(tmp_path, FILES[own]), task=task)


@pytest.mark.parametrize(
    ("own", "task", "expected"),
    [
        (
            "chord",
            "beat",
            "a.txt:1: not a row of beat (time, position, bar): '0.0 1.5 C:maj'; the file looks like chord "
            "(start, end, label): use task chord; or declare the columns to read, such as columns: {time: 0}",
        ),
        ("chord", "melody", "the file looks like chord (start, end, label): use task chord"),
        ("melody", "beat", "the file looks like melody (time, frequency): use task melody"),
        ("transcription", "melody", "the file looks like transcription (start, end, pitch, velocity): use task"),
        ("beat", "melody", "the file looks like beat (time, position, bar): use task beat"),
        ("beat", "onset", "not a row of onset (time, label): '0.25 1 1'"),
        (
            "segment",
            "key",
            "expected a key in a single row, but found another row: '10.5\\t30.25\\tverse 1'; the file looks",
        ),
        ("tempo", "transcription", "the file looks like tempo (tempo, tempo, strength): use task tempo"),
    ],
)
def test_the_task_that_a_file_looks_like_is_named(tmp_path: Path, own: str, task: str, expected: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=re.escape(expected)):
        read(write(tmp_path, FILES[own]), task=task)


def test_a_position_alone_is_one_and_an_end_is_none(tmp_path: Path) -> None:
    beats = write(tmp_path, POSITIONS)
    assert len(read(beats, task="downbeat")) == 3
    with pytest.raises(InvalidAnnotationError, match="looks like beat"):
        read(beats, task="melody")
    ends = write(tmp_path, "0.5 1.0\n1.0 1.75\n1.75 2.5\n", "b.txt")
    assert len(read(ends, task="segment")) == 3
    for task in ("beat", "onset", "melody"):
        with pytest.raises(InvalidAnnotationError, match="looks like segment"):
            read(ends, task=task)


@pytest.mark.parametrize("task", ["beat", "onset"])
@pytest.mark.parametrize("text", ["0.0 Silence\n0.4 Intro\n8.5 Verse\n", "0.0\tC:maj\n1.5\tA:min\n"])
def test_names_of_sections_and_chords_are_no_labels_of_beats(tmp_path: Path, task: str, text: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=r"looks like (segment|chord)"):
        read(write(tmp_path, text), task=task)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("beat", "0.5\n1.0\n"),
        ("beat", "0.5 1.1\n1.0 1.2\n1.5 1.3\n2.0 1.4\n2.5 2.1\n"),
        ("beat", "0.5\tNew Point\n1.0\tNew Point\n"),
        ("beat", "0.5,1,1\n1.0,2,1\n"),
        ("beat", "# made by hand\n0.5 0.93\n1.0 0.71\n"),
        ("beat", "".join(f"{0.5 * beat} {beat + 1}\n" for beat in range(400))),
        ("onset", "0.5 bass drum\n1.0 snare\n1.25 hihat\n1.5 tom\n2.0 ride\n"),
        ("onset", "0.5 36\n1.0 38\n1.5 42\n2.0 36\n"),
        ("onset", "0.5\tBD\n1.0\tSD\n"),
        ("alignment", "0.5 verse\n1.0 by\n1.5 verse\n2.0 we\n2.5 go\n3.0 on\n"),
        ("chord", "0.0 1.5 C:maj sure\n1.5 2.0 N\n"),
        ("chord", "0,1,C:maj(9,11)\n1,2,N\n"),
        ("segment", "0 10 1\n10 20 2\n20 30 1\n"),
        ("segment", "0 10 A\n10 20 B\n"),
        ("segment", "0 10 verse 1\n10 20 1 verse\n"),
        ("transcription", "0.5 1.0 440 90 Violin\n1.0 2.0 220 80 Cello\n"),
        ("transcription", "0.5 1.0 440 Violin\n1.0 2.0 220 Cello\n"),
        ("melody", "0 0\n0.01 0\n0.02 0\n"),
        ("melody", "60 120\n"),
        ("multipitch", "0.00\n0.01\n0.02\n0.03 220\n"),
        ("classification", "jazz\n"),
        ("tagging", "slow 0.5\nloud 0.25\n"),
        ("tagging", "80s\n1990\n"),
        ("score_following", "350 400 0 60\n850 900 500 62\n"),
        ("similarity", "b1 g1 VS 9.5\nb2 g1 NS 0.5\n"),
    ],
)
def test_what_files_of_a_task_may_hold_is_read(tmp_path: Path, task: str, text: str) -> None:
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(read(write(tmp_path, text), task=task)) == len(rows)


def test_declared_columns_are_read_from_whatever_there_is(tmp_path: Path) -> None:
    chords = write(tmp_path, CHORDS)
    assert read(chords, task="beat", columns={"time": 0}).columns["time"].tolist() == [0.0, 1.5, 2.0]
    assert len(read(chords, task="melody", columns={"time": 0, "frequency": 1})) == 3


def test_a_row_far_down_is_reported_with_its_line(tmp_path: Path) -> None:
    for task, text in (("melody", MELODY), ("beat", POSITIONS), ("multipitch", PITCHES)):
        rows = len(text.splitlines())
        file = write(tmp_path, text + "90.0 91.5 C:maj\n")
        with pytest.raises(InvalidAnnotationError, match=rf"a\.txt:{rows + 1}: "):
            read(file, task=task)


def test_check_and_evaluate_tell_that_a_folder_is_of_another_task(tmp_path: Path) -> None:
    for side in ("ref", "est"):
        (tmp_path / side).mkdir()
        write(tmp_path / side, CHORDS, "a.lab")
    found = [problem.message for one in check_paths([tmp_path / "ref"], "beat") for problem in one.problems]
    assert len(found) == 1
    assert "the file looks like chord" in found[0]
    shown = CliRunner().invoke(cli, ["check", str(tmp_path / "ref"), "--task", "melody"])
    assert shown.exit_code == 3
    assert "a.lab:1: error: not a row of melody (time, frequency): '0.0 1.5 C:maj'; the file looks like" in shown.output
    shown = CliRunner().invoke(cli, ["evaluate", str(tmp_path / "ref"), str(tmp_path / "est"), "--task", "beat"])
    assert shown.exit_code != 0
    assert "the file looks like chord (start, end, label): use task chord" in " ".join(shown.output.split())


def test_tables_of_tracks_hold_no_columns_but_the_task_s(tmp_path: Path) -> None:
    tags = write(tmp_path, "a,slow,0.5,x\nb,loud,0.25,y\n", "tags.csv")
    with pytest.raises(InvalidAnnotationError, match=r"tags\.csv:1: not a row of tagging \(label, value\)"):
        mirflow.load_collection(tags, "tagging")
    lists = write(tmp_path, "a\tslow\nb\tloud\t0.25\n", "tags.tsv")
    with pytest.raises(InvalidAnnotationError, match=r"tags\.tsv:2.*: not a row of tagging"):
        mirflow.load_collection(lists, "tagging")


def test_a_run_is_no_table_of_relevance_judgements(tmp_path: Path) -> None:
    run = write(tmp_path, "q1 Q0 a 1 0.9 x\nq1 Q0 b 2 0.8 x\n", "x.qrels")
    with pytest.raises(InvalidAnnotationError, match=r"x\.qrels:1.*: has 6 columns, not 4: .*declare format: run"):
        mirflow.load_collection(run, "retrieval")


def test_groups_have_two_columns_unless_more_is_said(tmp_path: Path) -> None:
    groups = write(tmp_path, "a\tw1\tx\nb\tw1\ty\n", "works.groups")
    with pytest.raises(InvalidAnnotationError, match=r"works\.groups:1: 3 columns without names"):
        mirflow.load_collection(groups, "retrieval")
    assert len(mirflow.load_collection(groups, "retrieval", columns={"track": 0, "label": 1})) == 2


@pytest.mark.parametrize(
    ("rows", "task"),
    [
        (["0.0 1.5 Eb", "1.5 2 F#:min"], "chord"),
        (["0.0 1.5 A", "1.5 2 B"], "segment"),
        (["0.5 C:maj", "1.0 G"], "chord"),
        (["60 120 0.5"], "tempo"),
        (["120"], ""),
        (["1 2 3"], ""),
        (["x y z"], ""),
        ([""], ""),
        (["nan nan", "inf 1"], ""),
        (["1.7e308 1", "-1.7e308 2"], ""),
        (["1.7e308 1", "-1.7e308"], ""),
    ],
)
def test_what_rows_look_like(rows: list[str], task: str) -> None:
    assert guess_task([row.split() for row in rows]) == task
