"""Common mistakes in annotations: each is a warning that says what to write, and good annotations have none."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.collection import collect
from mirflow.engine.plausibility import doubts_of, every_doubt, suspects
from mirflow.errors import AnnotationError, MirflowWarning
from mirflow.evaluation.linter import check_paths
from mirflow.metrics.base import get_task
from mirflow.theory.pitch import midi_to_hz

from ..commands import invoke
from ..samples import sample


def lines(rows: Sequence[Sequence[object]]) -> str:
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def notes(pitches: Sequence[float], scale: float = 1, late: float = 0, extra: Sequence[object] = ()) -> str:
    """A note of 0.4 s each 0.5 s."""
    more = [[one] for one in extra] or [[]] * len(pitches)
    return lines([[i * 0.5 * scale + late, (i * 0.5 + 0.4) * scale + late, p, *more[i]] for i, p in enumerate(pitches)])


def beats(positions: Sequence[object] = (), scale: float = 1) -> str:
    return lines([[0.5 * i * scale, *positions[i : i + 1]] for i in range(40)])


def hits(*drums: int) -> str:
    return lines([[0.5 * i, drums[i % len(drums)]] for i in range(60)])


def sections(length: float, late: float = 0) -> str:
    return lines([[i * length + late, (i + 1) * length + late, "AB"[i % 2]] for i in range(5)])


BARS = [i % 4 + 1 for i in range(40)]
BASS = midi_to_hz(np.array([28.0, 31, 33, 35, 36, 38, 40])).round(2).tolist()
SCALE = midi_to_hz(np.array([60.0, 62, 64, 65, 67, 69, 71])).round(2).tolist()
HERTZ = [440, 220, 330, 110]


@dataclass(frozen=True)
class Case:
    """A pair of files of a task; with the rule and the warning of a mistake."""

    task: str
    reference: str
    estimate: str
    rule: str = ""
    warning: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def evaluate(self, folder: Path) -> xr.Dataset:
        for name, text in (("reference.txt", self.reference), ("estimate.txt", self.estimate)):
            (folder / name).write_text(text)
        return mirflow.evaluate(folder / "reference.txt", folder / "estimate.txt", self.task, **self.options)


MISTAKES = {
    "a MIDI reference and a tracker's semitones": Case(
        "transcription",
        notes([60, 62, 64]),
        notes([61.07, 63.02, 65.1]),
        "pitch_unit",
        "whole numbers from 60 to 64 and numbers from 61.07 to 65.1: are they MIDI numbers.*pitch_unit: MIDI",
    ),
    "semitones with fractions on both sides": Case(
        "transcription",
        notes([60.02, 62.04, 64.01, 65.1, 67.03, 69.1]),
        notes([61.07, 63, 65.1, 66, 68.1, 70.02]),
        "pitch_unit",
        "both sides are numbers from 60.02 to 69.1 and",
    ),
    "a melody in semitones": Case(
        "melody",
        lines([[0.01 * i, p] for i, p in enumerate([60, 0, 62, 64, 65])]),
        lines([[0.01 * i, p] for i, p in enumerate([60.1, 61, 62.2, 64.02, 65])]),
        "pitch_unit",
        "are they MIDI numbers",
    ),
    "frames of pitches in semitones": Case(
        "multipitch",
        "0.00 60\n0.01 60 64\n0.02 67\n",
        "0.00 60.2\n0.01 60.1 64.1\n0.02 67\n",
        "pitch_unit",
        "are they MIDI",
    ),
    "channels as velocities": Case(
        "transcription",
        "start end pitch velocity\n" + lines([[i, i + 1, HERTZ[i % 4], 60 + i] for i in range(8)]),
        "start end pitch velocity\n" + lines([[i, i + 1, HERTZ[i % 4], 2] for i in range(8)]),
        "velocity",
        "all 8 velocities are 2: are they channels or programs",
        {"metrics": ["velocity_f_measure"]},
    ),
    "distances as scores": Case(
        "retrieval",
        "a\nb\nc\nd\n",
        "item,value\n" + "".join(f"{item},{place / 10}\n" for place, item in enumerate("abcdefghijklmnopqrst")),
        "distances",
        "relevant items are in the worse half of 20: are the numbers distances",
    ),
    "cents on both sides": Case(
        "transcription",
        notes([5900, 6000, 6200]),
        notes([6000, 6100, 6300]),
        "pitch_unit",
        r"reference.txt: the pitches reach from 5900 to 6200: are they in cents\?.*midi_to_hz\(cents / 100\)",
    ),
    "a tempo and its confidence": Case("tempo", "120", "120 0.9", "tempo_unit", "0.9 next to 120 .*is it a confidence"),
    "a period in seconds": Case("tempo", "120", "0.5", "tempo_unit", r"60 / 0.5 = 120"),
    "a period in ms": Case("tempo", "120", "500", "tempo_unit", r"is it a period in ms\? 60000 / 500 = 120"),
    "a tempo in Hz": Case("tempo", "120", "2.0", "tempo_unit", r"a frequency in Hz \(60 x 2 = 120\)"),
    "a minor key in lower case": Case("key", "A minor", "a", "key_case", "'a' is read as A major.*write 'A minor' or"),
    "local keys in lower case": Case(
        "local_key", "0 9 A minor\n", "0 9 a\n", "key_case", "write 'A minor' or 'A major'"
    ),
    "positions from 0": Case(
        "downbeat", beats(BARS), beats([one - 1 for one in BARS]), "odd_columns", "from 0 to 3.*from 1"
    ),
    "bars taken for positions": Case(
        "downbeat",
        beats(BARS),
        lines([[0.5 * i, i // 4 + 1, i % 4 + 1] for i in range(40)]),
        "odd_columns",
        r"only grow, from 1 to 10.*columns: \{time: 0, label: 2\}",
    ),
    "running numbers of beats": Case(
        "downbeat", beats(BARS), beats(range(1, 41)), "odd_columns", "only grow, from 1 to 40"
    ),
    "numbers before times": Case(
        "beat",
        beats(),
        lines([[i, 0.5 * i] for i in range(40)]),
        "odd_columns",
        r"if the first column numbers the rows, declare columns: \{time: 1\}",
    ),
    "velocities before pitches": Case(
        "transcription",
        notes(HERTZ),
        notes([60, 80, 64, 90], extra=HERTZ),
        "odd_columns",
        r"the third column has whole numbers from 60 to 90.*\{start: 0, end: 1, velocity: 2, pitch: 3\}",
    ),
    "one velocity before MIDI numbers": Case(
        "transcription",
        notes([60, 62, 64, 65]),
        notes([80] * 4, extra=[60, 62, 64, 65]),
        "odd_columns",
        "the third column has only 80",
        {"pitch_unit": "MIDI"},
    ),
    "velocities in Hz": Case(
        "transcription",
        "start,end,pitch,velocity\n" + notes(HERTZ, extra=[60] * 4).replace(" ", ","),
        "start,end,pitch,velocity\n" + notes([60.5] * 4, extra=HERTZ).replace(" ", ","),
        "velocity",
        "velocities range from 110 to 440, but from 0 to 127 in MIDI",
        {"delimiter": ","},
    ),
    "beats in ms on both sides": Case(
        "beat", beats(scale=1000), beats(scale=1000), "time_unit", r"one every 500 s: are the times in ms.*time_unit"
    ),
    "onsets in ms on both sides": Case("onset", beats(scale=1000), beats(scale=1000), "time_unit", "one every 500 s"),
    "notes in ms on both sides": Case(
        "transcription", notes(HERTZ, 1000), notes(HERTZ, 1000, 20), "time_unit", "are the times in ms"
    ),
    "sections in ms on both sides": Case(
        "segment", sections(10000), sections(10000, 300), "time_unit", "are the times in ms"
    ),
    "milliseconds on one side": Case(
        "beat", beats(), beats(scale=1000), "time_unit", "40 items in 19500 s, one every 500 s: are the times in ms"
    ),
    "a drum of which a third is not in the map": Case(
        "drums", hits(36, 38, 42), hits(36, 38, 22), "map", r"20 of 60 hits of the estimate \('22'\)"
    ),
    "percentages of tags": Case(
        "tagging",
        "rock 1\nslow 0\n",
        "rock 60\nslow 20\n",
        "affinity",
        r"from 20 to 60 .* threshold 0.5: are they percentages\? Divide them by 100",
    ),
    "logits of tags": Case("tagging", "rock 1\nslow 0\n", "rock 0.3\nslow -2.5\n", "affinity", "are they logits"),
    "lyrics with headings": Case(
        "lyrics",
        "oh my love\n",
        "[Verse 1]\noh my love\n",
        "words",
        r"'\[Verse 1\]' counts as words.*remove section headings",
    ),
    **{
        f"lyrics with {line}": Case("lyrics", "oh\n", f"{line}\noh\n", "words", rf"'{re.escape(line)}' {what}")
        for line, what in {
            "(Chorus)": "counts as words",
            "Verse 2:": "counts as words",
            "{title: Oh my love}": "is ChordPro",
            "Oh [Am]my [F]love": "is ChordPro",
            "Here are the lyrics:": "counts as words.*as of an assistant",
            "Voici les paroles :": "counts as words.*as of an assistant",
            "**Refrain**": "counts as words.*Markdown",
            "```": "counts as words.*Markdown",
            "<br>": "counts as words.*remove tags",
            "&nbsp;": "counts as words.*remove tags",
        }.items()
    },
    "a list of tempi as beats": Case(
        "beat", beats(), "120\n119.5\n121\n120.5\n", "tempi", "the 4 times are from 119.5 to 121 .*are they tempi"
    ),
    "an ascending list of tempi": Case(
        "beat", beats(), "60\n90\n120\n", "tempi", "the 3 times are from 60 to 120 and at least 5 s apart: are they"
    ),
    "an ascending list of tempi as downbeats": Case(
        "downbeat", beats(BARS), "60\n90\n120\n", "tempi", "the 3 times are from 60 to 120 and at least 12 s apart"
    ),
    "a tempo as a downbeat": Case("downbeat", beats(BARS), "120\n", "tempi", "the only time is 120: is it a tempo"),
    "chords as beats": Case("beat", beats(), "5.0 C\n6.5 G\n8.0 Am\n", "chords", "'Am' and 'C' are chords.*task chord"),
    "chords whose times are beats": Case(
        "chord",
        "0 2 C\n2 4 G\n4 6.5 A:min\n",
        "0 4 C\n4 8 G\n8 13 A:min\n",
        "time_scale",
        "times are 2 times the reference's, item by item: are the times in beats",
    ),
    "lyrics with times": Case(
        "lyrics", "oh my love\n", "0.0 1.0 oh my\n1.0 2.0 love\n", "words", "'0.0 1.0 oh my' begins with a time"
    ),
    "labels of another list": Case(
        "onset",
        lines([[i, "kick"] for i in range(9)]),
        lines([[i, "36"] for i in range(9)]),
        "labels",
        "9 of 9 labels",
        {"metrics": ["class_f_measure"]},
    ),
}

GOOD = {
    "a bass in Hz": Case("transcription", notes(BASS), notes((np.array(BASS) * 1.003).tolist())),
    "a bass in whole Hz": Case("transcription", notes(BASS), notes(np.round(BASS).tolist())),
    "declared MIDI numbers": Case(
        "transcription", notes([60, 62, 64]), notes([60.1, 62, 64]), options={"pitch_unit": "MIDI"}
    ),
    "the highest notes": Case("transcription", notes([4186, 3951, 2093, 1047]), notes([4186, 3951, 2093, 1047])),
    "notes with velocities": Case(
        "transcription",
        notes(SCALE, extra=range(60, 67)),
        notes(SCALE, extra=[80] * 7),
        options={"columns": {"start": 0, "end": 1, "pitch": 2, "velocity": 3}},
    ),
    "two tempi and a strength": Case("tempo", "60 120 0.3", "60 120 0.9"),
    "slow and fast tempi": Case("tempo", "24", "320"),
    "no second tempo": Case("tempo", "0 120 0.1", "120"),
    "keys in either case": Case("key", "A", "a minor"),
    "an upbeat": Case("downbeat", beats(BARS), beats([4, *BARS[:39]])),
    "bars of one beat": Case("downbeat", beats([1] * 40), beats(BARS)),
    "slow bars of an excerpt": Case("downbeat", lines([[31 + 6 * i] for i in range(9)]), "31\n37\n43\n"),
    "one bar of six": Case("downbeat", beats(BARS), "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n"),
    "sections of an opera": Case("segment", sections(900), sections(900)),
    "a drone": Case("chord", "0 200 C\n200 420 G\n420 600 C\n", "0 600 C\n"),
    "few sounds in an hour": Case("onset", "1\n1800\n3600\n", "1\n3600\n"),
    "drums of which a few are not in the map": Case("drums", hits(36, 38, 42, 36), hits(36, 38, 42, 56)),
    "shares of tags": Case("tagging", "rock 3\nslow 0\n", "rock 0.6\nslow 0\n"),
    "tags in the case of the reference": Case("tagging", "Rock\nSlow\n", "Rock\nfast\n"),
    "beats of an excerpt": Case("beat", lines([[30 + 0.5 * i] for i in range(40)]), "31\n31.5\n32\n32.7\n"),
    "beats with two kinds of marks": Case("beat", "5 D\n6 B\n7 B\n8 D\n", "5\n6\n7\n8\n"),
    "chords of another song in as many rows": Case("chord", "0 2 C\n2 4 G\n4 6 C\n", "0 4 C\n4 5 F\n5 9 C\n"),
    "lyrics about lyrics": Case("lyrics", "I < 3 lyrics & words\nhere I am\n", "I <3 the lyrics\nsure: I do\n"),
    "lyrics with brackets and numbers": Case("lyrics", "99 red balloons\n[oh] my love\n", "99 red balloons\n(oh)\n"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_a_warning_that_says_what_to_write(mistake: str, tmp_path: Path) -> None:
    case = MISTAKES[mistake]
    with pytest.warns(MirflowWarning, match=case.warning):
        scores = case.evaluate(tmp_path)
    assert scores.message.item().startswith("warning (")
    assert scores.status == 1


@pytest.mark.parametrize("convention", ["maestro", "mt3", "onsets_and_frames"])
def test_a_doubt_is_kept_beside_the_reason_for_missing_scores(convention: str, tmp_path: Path) -> None:
    case = MISTAKES["a MIDI reference and a tracker's semitones"]
    with pytest.warns(MirflowWarning) as caught:
        message = replace(case, options={"convention": convention}).evaluate(tmp_path).message.item()
    assert re.search(f"reference.txt: a note has no velocity, .*\nwarning .*estimate.txt: .*{case.warning}", message)
    doubt, gaps = sorted((str(one.message) for one in caught), key=lambda text: "have no score" in text)
    assert re.search(case.warning, doubt)
    assert re.search("some metrics .* have no score of 1 of 1 scored cell: .*a note has no velocity", gaps)


@pytest.mark.parametrize("good", GOOD)
def test_good_annotations_are_not_doubted(good: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*(empty|trim|no beats|nothing to measure|level)", MirflowWarning)
        assert not GOOD[good].evaluate(tmp_path).message.item().startswith("warning (")


def test_every_doubt_has_an_example() -> None:
    # In the tests of audio_to_score, of MIDI files, of beats, of note_alignment, of constants and of lyrics.
    elsewhere = {"harmony", "pedal", "early_beats", "other_notes", "contradiction"}
    elsewhere |= {"constant", "unknown_chords", "text_form", "positions"}
    remarked = {"odd_columns"}
    assert {doubt.rule for doubt in every_doubt()} | remarked == {case.rule for case in MISTAKES.values()} | elsewhere
    assert len({doubt.sign for doubt in every_doubt()}) == len(every_doubt())


@pytest.mark.parametrize("mistake", ["a tempo and its confidence", "positions from 0", "notes in ms on both sides"])
def test_check_reports_what_a_file_shows_by_itself(mistake: str, tmp_path: Path) -> None:
    case = MISTAKES[mistake]
    (tmp_path / "estimate.txt").write_text(case.estimate)
    (found,) = check_paths([tmp_path / "estimate.txt"], case.task)
    assert [(one.severity, one.rule) for one in found.problems] == [("warning", case.rule)]


class TestDoors:
    """A reference in MIDI numbers, and an estimate in semitones with fractions."""

    WARNING = "whole numbers from 60 to 64 and numbers from 61.07 to 65.1: are they MIDI numbers"
    TIMES = np.array([[0, 0.4], [0.5, 0.9], [1, 1.4]])
    REFERENCE, ESTIMATE = (TIMES, np.array([60.0, 62, 64])), (TIMES, np.array([61.07, 63.02, 65.1]))

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        for path, pitches in (("R/a.txt", [60, 62, 64]), ("E/s/a.txt", [61.07, 63.02, 65.1])):
            Path(path).parent.mkdir(parents=True)
            Path(path).write_text(notes(pitches))
        return tmp_path

    @pytest.mark.parametrize(
        "door",
        [
            lambda one, other: mirflow.evaluate(one, other, "transcription").message.item(),
            lambda one, other: mirflow.score({"a": one}, {"a": other}, "transcription").message.item(),
        ],
        ids=["evaluate", "score"],
    )
    def test_in_memory(self, door: Callable[[Any, Any], str]) -> None:
        with pytest.warns(MirflowWarning, match=self.WARNING):
            assert self.WARNING in door(self.REFERENCE, self.ESTIMATE)

    def test_of_files(self, folder: Path) -> None:
        evaluation = {"task": "transcription", "reference": "R/{track}.txt", "estimates": "E/{system}/{track}.txt"}
        Path("p.yaml").write_text(json.dumps({"store": "s.zarr", "evaluations": [evaluation]}))
        assert self.WARNING in " ".join(invoke("run", "p.yaml").stderr.split())
        evaluated = invoke("evaluate", "R/a.txt", "E/s/a.txt", "--task", "transcription")
        assert self.WARNING in " ".join(evaluated.stderr.split())
        checked = invoke("check", "E/s/a.txt", "--task", "transcription", "--reference", "R/a.txt")
        assert self.WARNING in " ".join(checked.stdout.split())


class TestErrors:
    """Mistakes that cannot be right are errors."""

    @pytest.mark.parametrize(
        ("task", "text", "line"),
        [
            ("transcription", "0 1 60\n1 2 261.6\n", 2),
            ("melody", "0 0\n0.01 261.6\n", 2),
            ("multipitch", "0 60\n1 62 261.6\n", 2),
        ],
    )
    def test_hertz_that_are_declared_as_midi_numbers(self, task: str, text: str, line: int, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text(text)
        with pytest.raises(
            AnnotationError, match=rf"a.txt:{line}: not a MIDI number from 0 to 127: 261.6; .*pitch_unit: Hz"
        ):
            mirflow.load(tmp_path / "a.txt", task=task, pitch_unit="MIDI")

    @pytest.mark.parametrize("task", ["classification", "tagging", "lyrics"])
    def test_a_path_that_would_be_taken_as_a_name(
        self, task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        name = "a.json" if task == "lyrics" else "a.txt"
        Path(name).write_text("rock\n")
        with pytest.raises(AnnotationError, match=rf"'{name}' is a file, but .* pass pathlib.Path\('{name}'\)"):
            mirflow.evaluate(name, name, task)
        assert mirflow.evaluate("b.txt", "b.txt", "classification").score.sel(metric="accuracy") == 1

    @pytest.mark.parametrize(
        "head", ["x\tA\tB\tC\n{}", "Title\n1\t/a/A.wav\n2\t/a/B.wav\n3\t/a/C.wav\nQ/R\t1\t2\t3\n{}"]
    )
    def test_a_matrix_of_similarities(self, head: str, tmp_path: Path) -> None:
        names = "ABC" if head.startswith("x") else "123"
        similar = np.array([[1, 0.9, 0.1], [0.9, 1, 0.3], [0.1, 0.3, 1]])
        for name, matrix in (("similar", similar), ("distant", 1 - similar)):
            rows = "".join(
                "\t".join(map(str, [names[i], *row])) + "\n" for i, row in enumerate(matrix.round(2).tolist())
            )
            (tmp_path / f"{name}.matrix").write_text(head.format(rows))
        with pytest.raises(AnnotationError, match="write distances, such as 1 - similarity"):
            mirflow.load_collection(tmp_path / "similar.matrix", task="retrieval")
        assert len(mirflow.load_collection(tmp_path / "distant.matrix", task="retrieval")) == 3


class TestScreens:
    """Annotations about which there is no doubt are not looked at one by one."""

    @staticmethod
    def spoilt(annotation: Annotation, rng: np.random.Generator) -> Annotation:
        """Columns with another unit, or with columns exchanged, or with values that are none."""
        columns = {name: column * rng.choice([1, 1, 1e-2, 60, 1000]) for name, column in annotation.columns.items()}
        if rng.random() < 0.3:
            name = str(rng.choice(list(columns)))
            columns[name] = np.where(
                rng.random(len(columns[name])) < 0.3, rng.choice([np.nan, np.inf, -1]), columns[name]
            )
        return replace(annotation, columns=columns)

    @pytest.mark.parametrize("task", ["beat", "tempo", "transcription", "melody", "multipitch"])
    def test_pass_over_no_annotation_that_is_doubtful(self, task: str) -> None:
        rng = np.random.default_rng(0)
        rules = get_task(task).convention()
        measures = rules.select()
        annotations = [self.spoilt(sample(task, rng), rng) for _ in range(40)]
        rows = collect({str(number): one for number, one in enumerate(annotations)})
        pairs = np.repeat(np.arange(40), 40), np.tile(np.arange(40), 40)
        told = 0
        for doubt in [one for one in doubts_of(rules, measures) if one.suspects]:
            suspected = suspects(doubt, measures, rows)
            assert not suspected[-1]
            if doubt.of_side is not None:
                odd = [bool(doubt.of_side(one)) for one in annotations]
                assert suspected[:-1][odd].all()
                told += sum(odd)
            elif doubt.of_pair is not None:
                odd = [
                    bool(doubt.of_pair(measures, annotations[i], annotations[j])) for i, j in zip(*pairs, strict=True)
                ]
                found = suspected[pairs[0]] | suspected[pairs[1]]
                assert found[odd].all()
                told += sum(odd)
        assert told
