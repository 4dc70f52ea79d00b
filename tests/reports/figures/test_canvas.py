from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from mirflow.errors import FigureError, MirflowWarning, UnknownNameError
from mirflow.reports import figures
from mirflow.reports.drawing import BLUE, CYCLE, GREY, ORANGE, RED, SKY
from mirflow.reports.figures.canvas import MOST_LOOKS, label, looks

from ...groups import random_group
from .looking import figure_of, words


@pytest.mark.parametrize("suffix", ["pdf", "svg", "png"])
def test_the_same_figure_gives_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    written = [figures.save(figures.distributions(random_group(3, 9, 1)), tmp_path / f"{i}.{suffix}") for i in "ab"]
    first, second = (path.read_bytes() for path in written)
    assert first == second
    assert b"CreationDate" not in first
    assert b"<dc:date>" not in first


def test_text_in_pdf_is_text_in_an_embedded_font(tmp_path: Path) -> None:
    data = figures.save(figures.groups(random_group(2, 9, 1)), tmp_path / "a.pdf").read_bytes()
    assert b"/Type3" not in data
    assert b"/FontFile2" in data


def test_settings_of_matplotlib_stay_as_they_were(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    figures.save(figures.heatmap(random_group(3, 9, 1)), tmp_path / "a.svg")
    assert dict(matplotlib.rcParams) == before


def test_axes_of_the_users_own_are_drawn_on() -> None:
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3))
    assert figures.distributions(random_group(3, 9, 1), ax=left) is left
    assert figures.scatter(random_group(2, 9, 1), ax=right) is right
    assert figure.get_size_inches().tolist() == [8, 3]
    assert left.get_title(loc="left").startswith("Majmin of each track\nChord estimation, rules of mir_eval; WCSR")


@pytest.mark.parametrize(("width", "inches"), [("column", 3.5), ("page", 7.16), (5, 5.0)])
def test_figures_are_as_wide_as_asked(width: str | float, inches: float) -> None:
    ax = figures.distributions(random_group(3, 9, 1), width=width, height=2.0)
    assert figure_of(ax).get_size_inches()[0] == pytest.approx(inches)
    bare = figures.distributions(random_group(3, 9, 1), width=width, height=2.0, caption=False)
    assert figure_of(bare).get_size_inches()[1] == pytest.approx(2.0)
    assert "WCSR" not in words(bare)


def test_sizes_and_suffixes_that_cannot_be() -> None:
    ds = random_group(2, 3, 1)
    for options, message in (
        ({"width": "wide"}, "not a width: 'wide'; say column, page, or a number of inches"),
        ({"width": 0.2}, "cannot be 0.2 inches wide"),
        ({"height": float("nan")}, "cannot be nan inches high"),
    ):
        with pytest.raises(FigureError, match=message):
            figures.heatmap(ds, **options)
    ax = figures.heatmap(ds)
    with pytest.raises(FigureError, match=r"a\.gif: cannot write \.gif; known: \.pdf, \.png, \.svg"):
        figures.save(ax, "a.gif")
    with pytest.raises(FigureError, match="cannot write a file without a suffix"):
        figures.save(ax, "a")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(FigureError, match=r"figures need matplotlib: pip install 'mirflow\[report\]', or"):
        figures.distributions(random_group(2, 3, 1))


def test_matplotlib_is_imported_only_when_a_figure_is_drawn() -> None:
    code = "import sys, mirflow, mirflow.cli, mirflow.reports.figures; print(sorted({'matplotlib'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.slow
def test_figures_need_no_display_and_no_window() -> None:
    code = (
        "import sys; from mirflow.reports import figures; from tests.groups import random_group;"
        "figures.save(figures.distributions(random_group(2, 3, 1)), sys.argv[1])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, "/dev/null/none.png"],
        capture_output=True,
        text=True,
        env={"PATH": ""},
        check=False,
    )
    # It comes as far as writing the file.
    assert "NotADirectoryError" in found.stderr


def test_names_are_shown_as_they_are_and_never_as_formulas(tmp_path: Path) -> None:
    names = ["$\\frac{", "<img src=x onerror=alert(1)>", "_private", "two\nlines"]
    ds = random_group(4, 6, 1, systems=names)
    shown = words(figures.distributions(ds))
    assert "$\\frac{" in shown.replace("\\$", "$")
    assert "two lines" in shown
    legend = figures.groups(ds, level=None).get_legend_handles_labels()[1]
    assert " _private" in legend
    data = figures.save(figures.distributions(ds), tmp_path / "a.svg").read_text()
    assert "<img" not in data


def test_characters_that_no_font_has_are_one_warning(tmp_path: Path) -> None:
    ax = figures.distributions(random_group(1, 3, 1, systems=["\U0001f3b5"]), caption=False)
    with pytest.warns(MirflowWarning, match=r"a\.png: no font here has all characters of the text"):
        figures.save(ax, tmp_path / "a.png")


def test_long_names_keep_both_ends() -> None:
    assert label("abcdefghijklmnop", 9) == "abcd…mnop"
    assert label("abc", 9) == "abc"
    assert len(label("x" * 100)) == 24


def test_numbers_do_not_depend_on_the_figure() -> None:
    ds = random_group(3, 9, 1)
    before = ds.copy(deep=True)
    figures.heatmap(ds)
    np.testing.assert_array_equal(ds.score, before.score)


@pytest.mark.parametrize(
    "kind", [pytest.param("distributions", marks=pytest.mark.slow), "heatmap", "critical_difference"]
)
def test_figures_of_hundreds_of_systems_fit_a_page(kind: str) -> None:
    from matplotlib import pyplot

    ds = random_group(200, 12, 1)
    ax = getattr(figures, kind)(ds, caption=False)
    assert figure_of(ax).get_size_inches()[1] <= 9
    if kind == "distributions":
        assert len(ax.get_yticklabels()) == 60
        assert "the best 60 of 200 systems" in words(figures.distributions(ds))
    pyplot.close("all")


def test_axes_have_the_names_of_the_literature() -> None:
    from matplotlib import pyplot

    ds = random_group(2, 9, 1, metrics=["f_measure@0.05"]).assign_coords(title=("metric", ["F-measure"]))
    assert figures.distributions(ds).get_xlabel() == "F-measure@0.05"
    assert figures.groups(ds, by=[]).get_xlabel() == "F-measure@0.05, WCSR"
    assert figures.distributions(ds, names="identifiers").get_xlabel() == "f_measure@0.05"
    with pytest.raises(UnknownNameError, match="unknown names 'title'; did you mean 'titles'"):
        figures.distributions(ds, names="title")
    pyplot.close("all")


# Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision deficiency", IEEE TVCG
# 15(6), 2009: matrices of severity 1.0 on linear RGB.
VISION = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def seen(colour: str, vision: str) -> np.ndarray:
    """A colour as it is seen, in CIE L*a*b* (D65)."""
    rgb = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.asarray(VISION[vision]) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    ratio = xyz / np.array([0.95047, 1.0, 1.08883])
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: str, other: str, vision: str) -> float:
    return float(np.linalg.norm(seen(one, vision) - seen(other, vision)))


@pytest.mark.parametrize("vision", VISION)
def test_colours_stay_apart_for_every_eye(vision: str) -> None:
    assert min(distance(one, other, vision) for one, other in combinations(CYCLE, 2)) > 15
    # What means right and wrong is farther apart still.
    assert all(distance(BLUE, bad, vision) > 40 for bad in (ORANGE, RED))
    assert distance(SKY, RED, vision) > 40
    assert distance(BLUE, GREY, vision) > 20


def test_no_two_looks_share_colour_and_line_or_colour_and_marker() -> None:
    every = looks(MOST_LOOKS)
    for one, other in combinations(every, 2):
        assert (one.color, one.line) != (other.color, other.line)
        assert (one.color, one.marker) != (other.color, other.marker)
    with pytest.raises(ValueError, match="there are 21 looks, not 22"):
        looks(22)
