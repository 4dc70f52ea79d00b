"""The figure of what graders mean by their categories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.cbook import boxplot_stats

from mirflow.annotations.annotation import Annotation
from mirflow.annotations.collection import Collection, collect
from mirflow.cli import cli
from mirflow.errors import AnnotationError, FigureError
from mirflow.reports import figures

from .looking import cut_off, overlapping, words

BROAD = ("NS", "SS", "VS")


def judgements_of(fine: dict[str, list[float]]) -> Collection:
    """One query whose candidates were judged so."""
    broad = np.array([name for name, values in fine.items() for _ in values])
    value = np.array([one for values in fine.values() for one in values], dtype=np.float64)
    names = [f"c{place}" for place in range(len(value))]
    return collect({"q": Annotation("judgements", {"broad": broad, "value": value}, names)})


def random_fine(seed: int, scale: float = 1.0) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    return {
        name: np.round(scale * np.clip(rng.normal(4 * level + 1, 1.5, 80), 0, 10), 1).tolist()
        for level, name in enumerate(BROAD)
    }


def write_grades(path: Path, fine: dict[str, list[float]]) -> Path:
    rows = [f"q,c{name}{place},g,{name},{one}" for name, own in fine.items() for place, one in enumerate(own)]
    path.write_text("\n".join(["query,candidate,grader,broad,fine", *rows]) + "\n")
    return path


class TestBoxes:
    def test_are_those_of_matplotlib(self) -> None:
        fine = random_fine(1)
        ax = figures.graders(judgements_of(fine))
        expected = [boxplot_stats(fine[name])[0] for name in BROAD]
        assert len(ax.patches) == len(BROAD)
        for place, (box, patch) in enumerate(zip(expected, ax.patches, strict=True)):
            assert (patch.get_x(), patch.get_x() + patch.get_width()) == pytest.approx((box["q1"], box["q3"]))
            assert patch.get_y() + patch.get_height() / 2 == pytest.approx(place)
            whiskers, caps, median, beyond = ax.collections[4 * place : 4 * place + 4]
            ends = sorted(segment[at][0] for segment in whiskers.get_segments() for at in (0, 1))
            assert ends == pytest.approx([box["whislo"], box["q1"], box["q3"], box["whishi"]])
            assert sorted(segment[0][0] for segment in caps.get_segments()) == [box["whislo"], box["whishi"]]
            assert median.get_segments()[0][0][0] == pytest.approx(box["med"])
            assert sorted(beyond.get_offsets()[:, 0]) == sorted(box["fliers"])
            assert ax.lines[place].get_xdata()[0] == pytest.approx(box["mean"])

    def test_a_category_that_nobody_chose_stays_empty(self) -> None:
        ax = figures.graders(judgements_of({"NS": [1.0, 2.0], "VS": [9.0]}))
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["NS (2)", "SS (0)", "VS (1)"]
        assert len(ax.patches) == 2

    def test_judgements_without_a_category_or_a_fine_part_do_not_count(self) -> None:
        columns = {"broad": np.array(["NS", "", "VS"]), "value": np.array([1.0, 5.0, np.nan])}
        ax = figures.graders(collect({"q": Annotation("judgements", columns, ["a", "b", "c"])}))
        assert "1 judgement," in words(ax)
        assert "VS (0)" in words(ax)


class TestSeveralCampaigns:
    def test_are_below_their_names(self) -> None:
        ax = figures.graders({name: judgements_of(random_fine(at)) for at, name in enumerate(("SMS06", "AMS07"))})
        shown = {text.get_text(): text.get_position()[1] for text in ax.texts}
        assert list(shown) == ["SMS06", "AMS07"]
        ticks = ax.get_yticks()
        assert shown["SMS06"] < ticks[0] < ticks[2] < shown["AMS07"] < ticks[3]
        assert "480 judgements" in words(ax)

    def test_of_none_are_refused(self) -> None:
        with pytest.raises(FigureError, match="no judgements to show"):
            figures.graders({})


class TestLayout:
    @pytest.mark.parametrize("width", ["column", "page", 2.0])
    @pytest.mark.parametrize("scale", [1.0, 10.0])
    @pytest.mark.parametrize("names", [[""], ["a", "a campaign of a name that is much too long to be shown", "c"]])
    def test_no_text_leaves_the_paper_or_lies_on_another(
        self, width: str | float, scale: float, names: list[str]
    ) -> None:
        several = {name: judgements_of(random_fine(at, scale)) for at, name in enumerate(names)}
        ax = figures.graders(several, width=width)
        assert cut_off(ax) == []
        assert overlapping(ax) == []

    def test_in_axes_of_the_readers_own(self) -> None:
        from matplotlib import pyplot

        ax = pyplot.figure().add_subplot()
        assert figures.graders(judgements_of(random_fine(0)), ax=ax, caption=False) is ax
        assert ax.get_title(loc="left") == ""


class TestCommand:
    def graders(self, *arguments: object):
        return CliRunner().invoke(cli, ["grading", "agreement", *map(str, arguments)])

    @pytest.mark.parametrize("suffix", ["pdf", "png", "svg"])
    def test_writes_the_figure_beside_the_tables(self, tmp_path: Path, suffix: str) -> None:
        grades = write_grades(tmp_path / "grades.csv", random_fine(0))
        done = self.graders(grades, "--figure", tmp_path / f"fine.{suffix}")
        assert done.exit_code == 0, done.output
        assert done.stderr == f"{tmp_path / 'fine'}.{suffix} written\n"
        assert "fine judgements within broad categories" in done.stdout
        assert (tmp_path / f"fine.{suffix}").stat().st_size > 2_000

    def test_of_several_files_says_which_is_which(self, tmp_path: Path) -> None:
        files = [write_grades(tmp_path / f"{name}.csv", random_fine(at)) for at, name in enumerate(("sms", "ams"))]
        done = self.graders(*files, "--figure", tmp_path / "fine.svg")
        assert done.exit_code == 0, done.output
        titles = [line for line in done.stdout.splitlines() if line.endswith(("graders", "categories"))]
        assert titles == [
            f"{name}: {title}"
            for name in ("sms", "ams")
            for title in ("agreement of graders", "fine judgements within broad categories")
        ]
        rows = self.graders(*files, "--format", "csv").stdout.splitlines()
        assert [row.split(",")[0] for row in rows] == ["judgements", *["sms"] * 5, *["ams"] * 5]

    def test_refuses_the_same_file_twice_and_a_suffix_that_is_no_picture(self, tmp_path: Path) -> None:
        grades = write_grades(tmp_path / "grades.csv", random_fine(0))
        assert "duplicate file" in self.graders(grades, grades).output
        refused = self.graders(grades, "--figure", tmp_path / "fine.txt")
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "cannot write .txt; known: .pdf, .png, .svg" in refused.stderr

    def test_names_the_file_without_fine_judgements(self, tmp_path: Path) -> None:
        path = tmp_path / "grades.csv"
        path.write_text("query,candidate,grader,broad\nq,a,g1,VS\nq,b,g1,NS\n")
        failed = self.graders(path, "--figure", tmp_path / "fine.svg")
        assert failed.exit_code == 2
        assert f"{path}: no judgement has both a broad and a fine part" in failed.stderr
        with pytest.raises(AnnotationError, match="no judgement has both"):
            figures.graders(path)

    def test_files_called_alike_are_distinguished_by_their_folders(self, tmp_path: Path) -> None:
        for folder in ("ams", "sms"):
            (tmp_path / folder).mkdir()
        files = [write_grades(tmp_path / folder / "grades.csv", random_fine(0)) for folder in ("ams", "sms")]
        shown = self.graders(*files).output
        assert shown.startswith("ams/grades.csv: agreement of graders")
        assert "sms/grades.csv: fine judgements" in shown
