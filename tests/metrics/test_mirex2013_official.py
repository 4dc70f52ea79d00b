"""Convention mirex2013 gives every official number of MIREX 2013 to its printed digits, over the real data."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from mirflow.metrics.base import Pairs
from mirflow.metrics.chord.mirex2013 import CONVENTION
from mirflow.ragged import Float, Int, Ragged
from tests.metrics.chord_rows import rows

OFFICIAL = {
    "root": "resultsMirexRoot",
    "majmin": "resultsMirexMajMin",
    "majmin_inv": "resultsMirexMajMinBass",
    "sevenths": "resultsMirexSevenths",
    "sevenths_inv": "resultsMirexSeventhsBass",
}
SYSTEMS = ("CB3", "CB4", "CF2", "KO1", "KO2", "NG1", "NMSD1", "NMSD2", "PP3")
PERCENTAGES = {
    "All correct (%)": "all_correct",
    "Root correct (%)": "root_correct",
    "Type correct (%)": "type_correct",
    "All wrong (%)": "all_wrong",
}
COUNTS = {"Unique ref chords": "n_reference_chords", "Unique test chords": "n_estimate_chords"}
SEGMENTATION = {
    "DirectionalHammingMeasure": "hamming_measure",
    "UnderSegmentation": "undersegmentation",
    "OverSegmentation": "oversegmentation",
}
LINES = {
    "Correct chords": "all_correct",
    "Only root correct": "root_correct",
    "Only type correct": "type_correct",
    "All wrong": "all_wrong",
    "Deleted chords": "deleted",
    "Correct no-chords": "correct_no_chord",
    "Inserted chords": "inserted",
}
SIX_DECIMALS = 5.0001e-7


@dataclass(frozen=True)
class Results:
    """Scores of all systems on all tracks."""

    folder: Path
    tracks: list[str]
    names: list[str]
    score: Float
    weight: Float
    references: Ragged
    estimates: Ragged
    estimate_row: Int

    def of(self, system: str, identity: str) -> tuple[Float, Float]:
        """Scores and weights of one system by one measure: one value a track."""
        name = str(CONVENTION.select([identity])[0])
        cell = SYSTEMS.index(system), slice(None), self.names.index(name)
        return self.score[cell], self.weight[cell]

    def table(self, results: str, system: str) -> dict[str, list[str]]:
        """Columns of an official csv file."""
        with (self.folder / "official" / results / f"{system}.csv").open() as file:
            next(file)
            read = list(csv.DictReader(file))
        assert [row["File"] for row in read] == self.tracks
        return {column: [row[column] for row in read] for column in read[0]}

    def text(self, results: str, system: str) -> str:
        """An official summary."""
        return (self.folder / "official" / results / f"{system}.txt").read_text()


def read(path: Path) -> list[tuple[float, float, str]]:
    split = (line.split(None, 2) for line in path.read_text().splitlines() if line.strip())
    return [(float(start), float(end), label.strip()) for start, end, label in split]


@pytest.fixture(scope="module")
def results(shared_data: Path) -> Results:
    folder = shared_data / "mirex2013-ace"
    tracks = sorted(path.stem for path in (folder / "reference").glob("*.lab"))
    references = CONVENTION.clean(rows(*(read(folder / "reference" / f"{track}.lab") for track in tracks)))
    files = (folder / "estimates" / system / f"{track}.lab" for system in SYSTEMS for track in tracks)
    estimates = CONVENTION.clean(rows(*map(read, files)))
    assert not references.flaws
    assert not estimates.flaws
    measures = CONVENTION.select()
    index = np.arange(len(SYSTEMS) * len(tracks))
    found = CONVENTION.score(Pairs(references.rows, estimates.rows, index % len(tracks), index), measures, "union")
    assert not found.refused
    shape = (len(SYSTEMS), len(tracks), len(measures))
    names = [str(measure) for measure in measures]
    score, weight = found.score.reshape(shape), found.weight.reshape(shape)
    return Results(folder, tracks, names, score, weight, references.rows, estimates.rows, index)


def agree(ours: Float, printed: list[str], what: str) -> None:
    """The printed numbers are ours to their six decimals; -0.000000 is 0."""
    np.testing.assert_allclose(ours, np.array(printed, dtype=np.float64), rtol=0, atol=SIX_DECIMALS, err_msg=what)


@pytest.mark.parametrize("system", SYSTEMS)
class TestEveryTrack:
    def test_pairwise_score_and_duration(self, results: Results, system: str) -> None:
        for rule, folder in OFFICIAL.items():
            score, weight = results.of(system, rule)
            table = results.table(folder, system)
            agree(100 * score, table["Pairwise score (%)"], rule)
            agree(weight, table["Duration (s)"], rule)

    def test_percentages(self, results: Results, system: str) -> None:
        for rule, folder in OFFICIAL.items():
            table = results.table(folder, system)
            for column, name in PERCENTAGES.items():
                agree(100 * results.of(system, f"{name}@{rule}")[0], table[column], f"{name}@{rule}")

    def test_numbers_of_chords(self, results: Results, system: str) -> None:
        for rule, folder in OFFICIAL.items():
            table = results.table(folder, system)
            for column, name in COUNTS.items():
                found = results.of(system, f"{name}@{rule}")[0].tolist()
                assert found == [float(text) for text in table[column]], f"{name}@{rule}"


@pytest.mark.parametrize("system", SYSTEMS)
def test_segmentation_of_every_track(results: Results, system: str) -> None:
    table = results.table("resultsSegmentation", system)
    for column, name in SEGMENTATION.items():
        agree(results.of(system, name)[0], table[column], name)


def printed_as(number: str) -> float:
    """Half a unit of the last digit of a number that was printed with six significant digits."""
    return 0.50001 * 10.0 ** (np.floor(np.log10(abs(float(number)))) - 5) if float(number) else 1e-9


def agree_as_printed(ours: float, number: str) -> None:
    # The official tool found "all wrong" as a remainder, so that a zero is printed as a rounding error of 1e-12.
    assert ours == pytest.approx(float(number), rel=0, abs=max(printed_as(number), 1e-9))


@pytest.mark.parametrize("system", SYSTEMS)
class TestCollection:
    def test_average_score_is_the_mean_by_evaluated_duration(self, results: Results, system: str) -> None:
        for rule, folder in OFFICIAL.items():
            score, weight = results.of(system, rule)
            duration, average = re.findall(r"(?:symbols|score): ([\d.e+-]+)", results.text(folder, system))
            agree_as_printed(float(weight.sum()), duration)
            agree_as_printed(100 * float((score * weight).sum() / weight.sum()), average)

    def test_all_other_lines(self, results: Results, system: str) -> None:
        for rule, folder in OFFICIAL.items():
            found = re.findall(r"^(.+): ([\d.e+-]+) ?s \(([\d.e+-]+)%\)$", results.text(folder, system), re.M)
            assert {name for name, _, _ in found} == set(LINES), rule
            for name, seconds, percentage in found:
                score, weight = results.of(system, f"{LINES[name]}@{rule}")
                agree_as_printed(float((score * weight).sum()), seconds)
                agree_as_printed(100 * float((score * weight).sum() / weight.sum()), percentage)


@pytest.mark.parametrize("system", SYSTEMS)
def test_segmentation_of_the_collection_is_the_plain_mean(results: Results, system: str) -> None:
    means = re.findall(r": (\d[\d.e+-]+)", results.text("resultsSegmentation", system))
    for name, mean in zip(SEGMENTATION.values(), means, strict=True):
        agree_as_printed(float(results.of(system, name)[0].mean()), mean)


def test_every_reference_is_perfect_against_itself_but_where_its_spelling_decides(results: Results) -> None:
    measures = CONVENTION.select()
    found = CONVENTION.score(Pairs.in_order(results.references, results.references), measures, "union")
    imperfect = set()
    for at, measure in enumerate(measures):
        if measure.metric.perfect is not None:
            imperfect |= {results.tracks[i][-6:] for i in np.flatnonzero(found.score[:, at] != measure.metric.perfect)}
    # They have A:min7(*5,b6) and Bb:dim7/5: read by pitch, the one has an augmented fifth, the other a sixth.
    assert imperfect == {"000051", "000153"}
