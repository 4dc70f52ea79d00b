"""Probable mistakes in references: errors that are planted in bundled tunes are found, and little else is."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mirflow
from mirflow.cli import cli

PIPELINES = Path(__file__).parents[2] / "pipelines"
DOCS = PIPELINES.with_name("docs")
KEYS = ("G major", "F major", "A minor", "D minor", "A minor", "D minor")
FORM = ("intro", "verse", "chorus", "verse", "bridge", "chorus", "outro", "verse")
Rows = list[tuple[float, ...]]
ROUNDS = 4
"""Times that each tune is played, so that a track has eight sections of eight bars."""


class Track:
    """A bundled tune with chords, beats, sections and its key, played several times by somebody who is not a clock."""

    def __init__(self, number: int) -> None:
        sys.path.insert(0, str(PIPELINES))
        from make_tunes import TUNES

        tune, rng = TUNES[number], np.random.default_rng(number)
        self.name, self.key = tune.name, KEYS[number]
        bars = tune.bars.split("|") * ROUNDS
        gaps = 60 / tune.tempo * (1 + 0.02 * rng.standard_normal(tune.beats * len(bars)))
        times = 2 + np.concatenate([[0], np.cumsum(gaps)])
        self.beats = [[time, index % tune.beats + 1] for index, time in enumerate(times.tolist())]
        self.chords: list[list[object]] = [[0.0, 2.0, "N"]]
        for number_of_bar, bar in enumerate(bars):
            names = bar.split()
            for part, name in enumerate(names):
                first = tune.beats * number_of_bar + tune.beats * part // len(names)
                last = tune.beats * number_of_bar + tune.beats * (part + 1) // len(names)
                self.chords.append([float(times[first]), float(times[last]), name])
        starts = times[: -1 : 8 * tune.beats].tolist()
        self.sections = [[*row] for row in zip(starts, [*starts[1:], float(times[-1])], FORM, strict=True)]

    def write(self, folder: Path) -> None:
        for kind, suffix, rows in (
            ("chords", "lab", self.chords),
            ("beats", "txt", self.beats),
            ("sections", "lab", self.sections),
            ("keys", "txt", [[self.key]]),
        ):
            (folder / kind).mkdir(exist_ok=True)
            text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
            (folder / kind / f"{self.name}.{suffix}").write_text(text)


def skip_position(track: Track) -> float:
    track.beats[20][1] = 6
    return track.beats[20][0]


def miss_beat(track: Track) -> float:
    del track.beats[45]
    for index, beat in enumerate(track.beats[45:], 45):
        beat[1] = (index + 1) % max(int(one[1]) for one in track.beats[:12]) + 1
    return track.beats[45][0]


def repeat_beat(track: Track) -> float:
    time, position = track.beats[30]
    track.beats.insert(31, [time + 0.012, position])
    return time


def move_chord(track: Track) -> float:
    row = track.chords[22]
    row[2] = "C#:maj" if track.key in ("F major", "G major", "D minor") else "Eb:min"
    return float(row[0])


def rest(track: Track) -> float:
    for row in track.chords[30:38]:
        row[2] = "N"
    start, end = track.chords[30][0], track.chords[37][1]
    track.chords[30:38] = [[start, end, "N"]]
    return float(start)


def wrong_key(track: Track) -> float:
    track.key = {"G major": "Db major", "F major": "B major", "A minor": "Eb minor", "D minor": "G# minor"}[track.key]
    return float(track.chords[1][0])


def move_section(track: Track) -> float:
    beat = next(beat[0] for beat in track.beats if beat[0] > track.sections[3][0] + 0.01)
    track.sections[2][1] = track.sections[3][0] = beat
    return beat


MISSPELT = iter(("chrous", "corus", "chorrus", "chorsu", "chprus", "horus"))


def misspell(track: Track) -> float:
    track.sections[2][2] = next(MISSPELT)
    return track.sections[2][0]


def paste_chord(track: Track) -> float:
    track.sections[4][2] = "G:min7"
    return track.sections[4][0]


PLANTED: dict[str, tuple[Callable[[Track], float], str, str]] = {
    "a position in the bar is wrong": (skip_position, "beats", "position"),
    "a beat is missing": (miss_beat, "beats", "interval"),
    "a beat is there twice, 12 ms apart": (repeat_beat, "beats", "interval"),
    "a chord is of another key": (move_chord, "chords", "key"),
    "chords are missing": (rest, "chords", "silence"),
    "the key is of another tune": (wrong_key, "chords", "key"),
    "a section begins a beat late": (move_section, "sections", "downbeat"),
    "a section is misspelt": (misspell, "sections", "spelling"),
    "a section is a chord": (paste_chord, "sections", "other_list"),
}
KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "beats": ("beat", {}),
    "chords": ("chord", {"beside": "keys", "beside_task": "key"}),
    "sections": ("segment", {"beside": "beats", "beside_task": "beat"}),
}
Place = tuple[str, str, str, float | None]
"""Track, kind, rule and second of a probable mistake."""


def find(folder: Path) -> list[Place]:
    found: list[Place] = []
    for kind, (task, how) in KINDS.items():
        beside = {**how, "beside": str(folder / how["beside"])} if how else {}
        for one in mirflow.check(folder / kind, task, **beside):
            found += [(one.track, kind, it.rule, it.second) for it in one.problems if it.strength is not None]
    return found


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, tuple[int, int]], int, int]:
    """Of each error, how many were found and planted; how many findings are at an error, and how many there are.

    Each of six tunes has an error of each kind of annotation in three data sets, in which another take of it has none.
    """
    counts: Counter[str] = Counter()
    right = listed = 0
    for number_of_set in range(3):
        folder, errors = tmp_path_factory.mktemp("planted"), []
        for number in range(6):
            clean, track = Track(number), Track(number)
            clean.name += " (another take)"
            clean.write(folder)
            for kind in KINDS:
                name = [name for name, (_, own, _) in PLANTED.items() if own == kind][number_of_set]
                errors.append((name, track.name, PLANTED[name][0](track)))
            track.write(folder)
        found = find(folder)
        for name, track, second in errors:
            _, kind, rule = PLANTED[name]
            counts[name] += any(_is_at(place, track, kind, second) and place[2] == rule for place in found)
        right += sum(any(_is_at(place, track, PLANTED[name][1], at) for name, track, at in errors) for place in found)
        listed += len(found)
    return {name: (counts[name], 6) for name in PLANTED}, right, listed


def _is_at(place: Place, track: str, kind: str, second: float) -> bool:
    return place[:2] == (track, kind) and place[3] is not None and abs(place[3] - second) < 3


@pytest.mark.slow
def test_planted_errors_are_found_as_often_as_the_page_says(
    planted: tuple[dict[str, tuple[int, int]], int, int],
) -> None:
    recalled, right, listed = planted
    page = (DOCS / "references.md").read_text()
    stated = re.findall(r"^\| (.+?) \| `\w+` \| (\d+) of (\d+) \|$", page, re.MULTILINE)
    assert {name: (int(found), int(of)) for name, found, of in stated} == recalled
    assert f"{right} of the {listed} findings" in page
    assert right >= 0.95 * listed
    assert sum(found for found, _ in recalled.values()) >= 0.9 * sum(of for _, of in recalled.values())


def test_the_command_ranks_findings(tmp_path: Path) -> None:
    for number in range(2):
        track = Track(number)
        plant = skip_position if number else repeat_beat
        plant(track)
        track.write(tmp_path)
    shown = CliRunner().invoke(
        cli, ["check", str(tmp_path / "beats"), "--task", "beat", "--worst", "1", "--format", "csv"]
    )
    header, row = shown.stdout.splitlines()
    assert header == "file,line,severity,rule,message,annotator,track,second,strength"
    assert f"{tmp_path}/beats/amazing-grace.txt,32,note,interval" in row


def test_annotations_of_one_jams_file_are_checked_beside_each_other(tmp_path: Path) -> None:
    track = Track(0)
    second = move_section(track)
    held = {
        "beat": [{"time": time, "duration": 0, "value": value} for time, value in track.beats],
        "segment_open": [{"time": a, "duration": b - a, "value": name} for a, b, name in track.sections],
    }
    annotations = [{"namespace": name, "data": rows} for name, rows in held.items()]
    (tmp_path / "a.jams").write_text(json.dumps({"annotations": annotations}))
    (check,) = mirflow.check(tmp_path / "a.jams", schema=False)
    (found,) = [problem for problem in check.problems if problem.rule == "downbeat"]
    assert found.second == pytest.approx(second)
    assert found.message.startswith("begins 1 beat after the nearest downbeat (")
    assert [problem.rule for problem in mirflow.check(tmp_path / "a.jams", "segment", schema=False)[0].problems] == [
        "downbeat"
    ]


def test_times_out_of_order_have_no_findings_whatever_is_beside_them(tmp_path: Path) -> None:
    (tmp_path / "a.lab").write_text("0 10 C\n40 50 G\n20 30 A\n")
    rows = [{"time": 0, "duration": 50, "value": {"tonic": "C", "chord": "I"}, "confidence": 1}]
    held = {"annotations": [{"namespace": "chord_roman", "data": rows}], "file_metadata": {"duration": 50}}
    (tmp_path / "a.jams").write_text(json.dumps(held))
    alone, beside = (
        mirflow.check(tmp_path / "a.lab", "chord", **options)[0].problems
        for options in ({}, {"beside": tmp_path / "a.jams", "beside_namespace": "chord_roman"})
    )
    assert beside == alone
    assert "silence" not in [problem.rule for problem in beside]
    (tmp_path / "a.lab").write_text("0 10 C\n40 50 G\n")
    (tmp_path / "a.txt").write_text("".join(f"{time}\n" for time in range(10, 45)))
    (check,) = mirflow.check(tmp_path / "a.lab", "chord", beside=tmp_path / "a.txt", beside_task="beat")
    (found,) = [problem.message for problem in check.problems if problem.rule == "silence"]
    assert found.endswith("where the annotation beside it has 30 beats")


def test_references_of_a_pipeline_are_checked_beside_each_other(tmp_path: Path) -> None:
    track = Track(2)
    wrong_key(track)
    track.write(tmp_path)
    parts = [(task, kind, "txt" if task != "chord" else "lab") for task, kind in (("chord", "chords"), ("key", "keys"))]
    lines = [
        f"- {{task: {task}, reference: '{kind}/{{track}}.{suffix}', estimates: '{{system}}/{kind}/{{track}}.{suffix}', "
        f"systems: [S]}}"
        for task, kind, suffix in parts
    ]
    (tmp_path / "S").mkdir()
    for _, kind, _ in parts:
        (tmp_path / "S" / kind).symlink_to(tmp_path / kind)
    (tmp_path / "p.yaml").write_text("\n".join(["evaluations:", *lines, "store: s.zarr"]))
    shown = CliRunner().invoke(cli, ["check", str(tmp_path / "p.yaml")])
    assert shown.exit_code == 0, shown.output
    assert "greensleeves.lab:2: note: " in shown.output
    assert "are in Eb minor, the annotated key" in shown.output


def test_what_is_beside_must_be_clear(tmp_path: Path) -> None:
    Track(0).write(tmp_path)
    for options, message in (
        (["--beside", str(tmp_path / "beats")], "give it, as in beside_task=beat"),
        (["--beside", str(tmp_path / "beats" / "amazing-grace.txt")], "give two files or two folders"),
        (["--beside-header"], "beside_header applies to annotations beside, but none is given"),
    ):
        shown = CliRunner().invoke(cli, ["check", str(tmp_path / "sections"), "--task", "segment", *options])
        assert shown.exit_code == 2, shown.output
        assert message in " ".join(shown.output.split())


@pytest.mark.slow
def test_real_references_have_as_many_findings_as_the_page_says(shared_data: Path) -> None:
    harmonix, rows = shared_data / "harmonix" / "reference", {"start": 0, "label": 1}
    sections = sorted((shared_data / "salami").glob("*/textfile?_functions.txt"))
    checks = {
        "Harmonix, beats": mirflow.check(harmonix / "beats_and_downbeats", "beat"),
        "Harmonix, sections": mirflow.check(
            harmonix / "segments", "segment", columns=rows, beside=harmonix / "beats_and_downbeats", beside_task="beat"
        ),
        "SALAMI, functions": mirflow.check(sections, "segment", columns=rows),
        "MIREX 2013, chords": mirflow.check(shared_data / "mirex2013-ace" / "reference"),
        "CASD, chords": mirflow.check(shared_data / "casd", "chord", schema=False),
    }
    page = (DOCS / "references.md").read_text()
    for name, files in checks.items():
        found = Counter(problem.rule for one in files for problem in one.problems if problem.strength is not None)
        (stated,) = re.findall(rf"^\| {name} \| \d+ \| (.*?) \|$", page, re.MULTILINE)
        assert stated == ", ".join(f"{rule} {count}" for rule, count in sorted(found.items())), name
