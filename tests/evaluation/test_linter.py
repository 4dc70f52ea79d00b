"""The linter: every problem of every file, with its line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.cli import cli
from mirflow.errors import AnnotationError


def problems(path: Path, **how: str) -> list[tuple[str, str, int | None]]:
    (check,) = mirflow.check([path], **how)
    return [(found.severity, found.rule, found.line) for found in check.problems]


def write(folder: Path, text: str, name: str = "a.lab") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_clean_file_has_no_problem(tmp_path: Path) -> None:
    path = write(tmp_path, "0 1 C:maj\n1 2 N\n")
    (check,) = mirflow.check(path)
    assert (check.path, check.problems) == (str(path), ())


def test_every_problem_is_found_in_the_order_of_the_lines(tmp_path: Path) -> None:
    path = write(tmp_path, "# chords\n0 1 C:maj\n1 1 N\n1.5 2 H:maj\n1.8 3 G\n3 4 Gmaj\n5 4 C\n")
    assert problems(path) == [
        ("warning", "zero_length", 3),
        ("note", "gap", 4),
        ("error", "label", 4),
        ("error", "overlap", 5),
        ("error", "label", 6),
        ("error", "reversed", 7),
        ("note", "gap", 7),
    ]


def test_a_reference_that_cannot_be_perfect_is_explained(tmp_path: Path) -> None:
    path = write(tmp_path, "0 1 C:sus4\n1 2 G:sus4\n")
    (check,) = mirflow.check([path])
    assert {found.severity for found in check.problems} == {"note"}
    assert "against itself it scores 0 on majmin, not 1" in check.problems[0].message


def test_pitches_that_are_midi_numbers_are_a_warning(tmp_path: Path) -> None:
    path = write(tmp_path, "start,end,pitch\n0,1,60\n1,2,64\n2,3,67\n", "a.csv")
    assert problems(path, task="transcription") == [("warning", "pitch_unit", None)]
    assert problems(path, task="transcription", pitch_unit="MIDI") == []


def test_lines_of_lyrics_need_no_ends(tmp_path: Path) -> None:
    path = write(tmp_path, "[00:01.00]Wait for me\n\n[00:03.00]my love\n", "a.lrc")
    assert {severity for severity, *_ in problems(path, task="lyrics")} <= {"note"}


def test_unreadable_empty_and_unknown_files_are_problems(tmp_path: Path) -> None:
    assert problems(write(tmp_path, "0 1 C\nx y z\n")) == [("error", "unreadable", 2)]
    assert problems(write(tmp_path, "")) == [("warning", "empty", None)]
    assert problems(write(tmp_path, "0 1 C\n", "a.txt")) == [("note", "skipped", None)]
    assert problems(write(tmp_path, "0 1 C\n", "a.txt"), task="chord") == []


def test_jams_files_are_checked_against_their_schema_too(tmp_path: Path) -> None:
    good = Annotation("intervals", {"start": np.zeros(1), "end": np.ones(1)}, ["C:maj"])
    path = tmp_path / "a.jams"
    path.write_text(mirflow.to_jams(good, task="chord").dumps())
    assert problems(path) == []
    path.write_text(path.read_text().replace('"C:maj"', '"C:major"'))
    found = problems(path)
    assert ("error", "schema", None) in found
    assert any(rule == "label" for _, rule, _ in found)


def test_the_command_names_file_and_line_and_ends_with_3(tmp_path: Path) -> None:
    write(tmp_path, "0 1 C:maj\n1 2 H\n")
    write(tmp_path, "0 1 C:maj\n", "b.lab")
    result = CliRunner().invoke(cli, ["check", str(tmp_path)])
    assert result.exit_code == 3
    assert f"{tmp_path}/a.lab:2: error: not a chord: 'H'" in result.output
    assert "2 files: 1 error" in result.output
    assert CliRunner().invoke(cli, ["check", str(tmp_path / "b.lab")]).exit_code == 0


def test_a_path_without_annotations_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match="no annotation files"):
        list(mirflow.check([tmp_path]))
    with pytest.raises(AnnotationError, match="no such file or folder"):
        list(mirflow.check([tmp_path / "absent"]))


@pytest.mark.slow
def test_real_references_have_the_problems_that_are_known(shared_data: Path) -> None:
    checks = list(mirflow.check([shared_data / "mirex2013-ace" / "reference"]))
    rules = {(Path(check.path).stem[-6:], found.rule): found.line for check in checks for found in check.problems}
    assert len(checks) == 217
    assert rules["000120", "zero_length"] == 149
    assert rules["000061", "gap"] == 10
    assert not [found for check in checks for found in check.problems if found.severity == "error"]


def test_keys_tempi_and_patterns_are_checked_by_their_rooms(tmp_path: Path) -> None:
    assert problems(write(tmp_path, "C minor", "a.key")) == []
    assert problems(write(tmp_path, "# by ear\nH minor\n", "a.key")) == [("error", "label", 2)]
    assert problems(write(tmp_path, "60 -120 0.5\n", "a.txt"), task="tempo") == [("error", "value", 1)]
    assert problems(write(tmp_path, "60 120 2\n", "a.txt"), task="tempo") == [("error", "unreadable", 1)]
    assert problems(write(tmp_path, "pattern1\noccurrence1\n0, 60\n1, 62\n", "a.txt"), task="pattern") == []


def test_files_can_be_read_as_they_are_laid_out(tmp_path: Path) -> None:
    path = write(tmp_path, "0\tA\n4\tB\n4\tC\n9\tEnd\n", "a.txt")
    assert problems(path, task="segment") == [("error", "unreadable", 1)]
    (check,) = mirflow.check([path], "segment", columns={"start": 0, "label": 1})
    assert [(found.severity, found.rule, found.line) for found in check.problems] == [("warning", "zero_length", 2)]


def test_what_a_convention_takes_is_no_error(tmp_path: Path) -> None:
    path = write(tmp_path, "0 2 C:maj\n1 3 G:maj\n")
    assert problems(path) == [("error", "overlap", 2)]
    assert ("warning", "overlap", 2) in problems(path, convention="mirex2013")


def test_every_namespace_of_a_jams_file_is_checked_once(tmp_path: Path) -> None:
    def annotation(namespace: str, *values: object) -> dict[str, object]:
        rows = [{"time": 0.0, "duration": 9.0, "value": value, "confidence": None} for value in values]
        return {"namespace": namespace, "data": rows}

    levels = [{"label": "A", "level": 0}, {"label": "a", "level": 1}]
    held = [annotation("key_mode", "H:minor"), annotation("tempo", 60, -1), annotation("multi_segment", *levels)]
    path = tmp_path / "a.jams"
    path.write_text(json.dumps({"annotations": held}))
    (check,) = mirflow.check([path], schema=False)
    assert [found.message for found in check.problems if found.severity == "error"] == [
        "tempo is negative: -1.0 beats per minute",
        "not a key: 'H:minor'; keys are written like C, A minor, F#:maj or X",
    ]
    assert {found.rule for found in check.problems if found.severity == "note"} == {"imperfect"}


def noted(folder: Path, task: str) -> list[tuple[str, str, str]]:
    """What a folder's check says: of what, how bad, why."""
    checks = list(mirflow.check([folder], task))
    return [(Path(one.path).name, found.severity, found.message) for one in checks for found in one.problems]


def test_tables_in_a_folder_are_checked_as_tables(tmp_path: Path) -> None:
    write(tmp_path, "a\tblues\nb\tjazz\n", "gt.txt")
    write(tmp_path, "track,label\na,blues\nb,jazz\n", "S1.csv")
    assert noted(tmp_path, "classification") == []
    write(tmp_path, "a\tblues\nb\n", "S2.txt")
    assert noted(tmp_path, "classification") == [("S2.txt [b]", "error", "a class without a name")]


@pytest.mark.parametrize(
    ("suffix", "task"), [("beats", "beat"), ("bpm", "tempo"), ("onsets", "onset"), ("mirex", "tempo")]
)
def test_suffixes_say_what_files_of_folders_are(tmp_path: Path, suffix: str, task: str) -> None:
    write(tmp_path, "60 120 0.5\n" if task == "tempo" else "".join(f"{time}\n" for time in range(6, 16)), f"a.{suffix}")
    write(tmp_path, "?", f"._a.{suffix}")
    assert [(Path(check.path).name, check.problems) for check in mirflow.check([tmp_path])] == [(f"a.{suffix}", ())]


def test_files_of_other_formats_beside_those_that_are_read_are_one_warning(tmp_path: Path) -> None:
    for track in "abc":
        write(tmp_path, "0 1 C\n", f"{track}.lab")
        write(tmp_path, "<sv/>", f"{track}.svl")
    *files, twins = sorted(mirflow.check([tmp_path], "chord"), key=lambda check: check.what == "folder")
    assert [(Path(check.path).name, check.worst) for check in files] == [
        ("a.lab", None),
        ("b.lab", None),
        ("c.lab", None),
    ]
    (problem,) = twins.problems
    assert (problem.severity, problem.rule) == ("warning", "twin")
    assert problem.message.startswith("3 files .svl beside others of the same tracks left out: ")


def test_two_files_of_a_track_that_can_be_read_are_told(tmp_path: Path) -> None:
    for name in ("a.lab", "a.txt", "b.lab"):
        write(tmp_path, "0 1 C\n", name)
    (twins,) = (check for check in mirflow.check([tmp_path], "chord", role="estimate") if check.problems)
    message = "1 track with several files, such as a.lab and a.txt: runs and evaluate refuse them"
    assert [(one.severity, one.message) for one in twins.problems] == [("warning", message)]


def test_files_of_one_track_in_a_folder_are_still_that(tmp_path: Path) -> None:
    write(tmp_path, "blues\n", "a.txt")
    assert [(one.what, one.problems) for one in mirflow.check([tmp_path], "classification")] == [("file", ())]


def test_runs_in_a_folder_are_checked_query_by_query(tmp_path: Path) -> None:
    write(tmp_path, "q1 Q0 a 1 0.5 s\nq2 Q0 a 1 high s\n", "S1.run")
    write(tmp_path, "q1 0 a 1\nq2 0 b 0\n", "truth.qrels")
    assert noted(tmp_path, "retrieval") == [("S1.run [q2]", "error", "score is not a number: 'high'")]


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("similarity", "q,c,g1,VS,7\nq,d,g1,NS,1\n"),
        ("tagging", "q\tslow\nq\tloud\n"),
        ("score_following", "1000 1010 500 60\n2000 2010 1000 62\n"),
    ],
)
def test_where_both_sides_differ_nothing_is_scored_against_itself(tmp_path: Path, task: str, text: str) -> None:
    path = write(tmp_path, text, "a.csv" if task == "similarity" else "a.txt")
    assert [found for one in mirflow.check([path], task) for found in one.problems] == []


class TestLinksThatLeadNowhere:
    """A folder lists them as files, so they are not left out in silence."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        write(tmp_path, "0 1 C\n", "b.lab")
        (tmp_path / "a.lab").symlink_to("../gone.lab")
        return tmp_path

    def test_are_errors_that_say_what_is_gone(self, folder: Path) -> None:
        for path in (folder, folder / "a.lab"):
            shown = CliRunner().invoke(cli, ["check", str(path)])
            assert shown.exit_code == 3
            noted = f"{folder / 'a.lab'}: error: is a link to '../gone.lab', which does not exist [unreadable]"
            assert noted in shown.output

    @pytest.mark.parametrize(
        ("name", "task"), [("a.wav", "separation"), ("a.jams", "chord"), ("a.matrix", "retrieval")]
    )
    def test_of_every_kind(self, folder: Path, name: str, task: str) -> None:
        (folder / "kind").mkdir()
        (folder / "kind" / name).symlink_to("gone")
        given = folder / "kind" if task == "separation" else folder / "kind" / name
        (found,) = [problem for one in mirflow.check([given], task) for problem in one.problems]
        assert (found.severity, found.rule) == ("error", "unreadable")
        assert "is a link to 'gone', which does not exist" in found.message

    def test_are_tracks_of_folders_that_are_compared(self, folder: Path) -> None:
        scores = mirflow.evaluate_paths(folder, folder, "chord")
        assert "a.lab: is a link to '../gone.lab'" in scores.message.sel(track="a").item()
        with pytest.raises(AnnotationError, match=r"a\.lab: is a link to '\.\./gone\.lab', which does not exist"):
            mirflow.evaluate_paths(folder / "a.lab", folder / "b.lab", "chord")


def test_jams_of_another_task_are_an_error(tmp_path: Path) -> None:
    observation = {"time": 0, "duration": 1, "value": "C", "confidence": 1}
    jams = {"annotations": [{"namespace": "chord", "data": [observation], "annotation_metadata": {}}]}
    (tmp_path / "a.jams").write_text(json.dumps(jams))
    for asked in ({"task": "beat"}, {"namespace": "beat"}):
        (found,) = mirflow.check([tmp_path], schema=False, **asked)
        assert [problem.severity for problem in found.problems] == ["error"]
        assert (
            found.problems[0].message
            == "holds no annotation for 'beat'; it holds chord without an annotator (number 0): use task chord"
        )
    assert [one.worst for one in mirflow.check([tmp_path], "chord", schema=False)] == [None]


def test_an_interval_that_stands_for_nothing_says_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "a.lab").write_text("0 0 N\n")
    (found,) = mirflow.check([tmp_path], "chord")
    noted = "interval has no length: 0.0 s; write its end, such as 0 180 N for three minutes without a chord"
    assert noted in [problem.message for problem in found.problems]


class TestBeats:
    """A file of beats of which all lie in the first 5 s, with two downbeats in a row and an interval of 10 ms."""

    TEXT = "0.5\t1\n1.0\t2\n1.5\t1\n2.0\t1\n2.01\t2\n4.5\t3\n"

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return write(tmp_path, self.TEXT, "a.txt")

    def test_what_is_odd_about_a_reference_is_noted(self, path: Path) -> None:
        (check,) = mirflow.check([path], "beat")
        assert [(one.severity, one.rule, one.line) for one in check.problems] == [
            ("note", "imperfect", None),
            ("note", "position", 4),
            ("note", "interval", 5),
        ]
        imperfect, position, interval = (one.message for one in check.problems)
        assert imperfect.startswith("against itself it scores 0 on f_measure, not 1, and on cemgil, ")
        assert "nothing is left after the first 5 s, which are not scored; trim=0 scores them" in imperfect
        assert position == "position 1 in the bar follows position 1: two downbeats in a row"
        assert interval == "follows the beat before it after 10 ms, 6000 beats per minute"

    def test_of_an_estimate_nothing_is(self, path: Path) -> None:
        assert problems(path, task="beat", role="estimate") == []

    @pytest.mark.parametrize("digits", [20, 5000])
    def test_a_position_of_many_digits_is_one_that_does_not_count_up(self, tmp_path: Path, digits: int) -> None:
        rows = [(7 + 0.5 * i, position) for i, position in enumerate(["1", "2", "9" * digits, "1", "2"])]
        path = write(tmp_path, "".join(f"{time} {position}\n" for time, position in rows), "a.txt")
        (check,) = mirflow.check([path], "beat")
        assert "position 9999999999... in the bar follows position 2" in [one.message for one in check.problems]

    def test_bars_may_change_and_begin_with_an_upbeat(self, tmp_path: Path) -> None:
        rows = [(7 + 0.5 * i, position) for i, position in enumerate([3, 4, 1, 2, 3, 4, 1, 2, 3, 1, 2])]
        path = write(tmp_path, "".join(f"{time} {position}\n" for time, position in rows), "a.txt")
        assert problems(path, task="beat") == []


def test_an_estimate_that_cannot_be_a_reference_is_a_warning_about_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "0 900000000 A\n900000000 900000010 B\n", "a.txt")
    for role, severity in (("reference", "error"), ("estimate", "warning")):
        (check,) = mirflow.check([path], "segment", role=role)
        assert [(one.severity, one.rule) for one in check.problems] == [(severity, "refused")]
        assert check.problems[0].message.startswith("ends at 900000010.0 s, too late for frames of 0.1 s")


def test_a_file_with_a_reference_is_an_estimate(tmp_path: Path) -> None:
    text = "7\t1\n8\t1\n8.01\t2\n9\t3\n"
    own, other = write(tmp_path, text, "a.txt"), write(tmp_path, text, "b.txt")
    assert problems(own, task="beat", reference=other) == []
    assert {rule for _, rule, _ in problems(own, task="beat")} >= {"position", "interval"}


@pytest.mark.parametrize(("convention", "told"), [("mir_eval", True), ("mirex2013", False), ("madmom", False)])
def test_an_estimate_of_unknown_chords_is_told_where_a_metric_counts_it_as_right(
    tmp_path: Path, convention: str, told: bool
) -> None:
    reference = write(tmp_path, "0 2 C:maj\n2 4 A:min\n", "r.lab")
    estimate = write(tmp_path, "0 4 X\n", "e.lab")
    (check,) = mirflow.check([estimate], "chord", reference=reference, convention=convention)
    text = "the estimate is X for 100 % of its time, which mirex counts as right"
    assert [one.message for one in check.problems] == [text] * told
