"""LaTeX that compiles whatever the names are, with the best in bold."""

from __future__ import annotations

import math
import re

import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from mirflow.reports.layout import readable_tables
from mirflow.reports.tables import ShownValue, Table, escape, to_latex

from ..groups import make_group, random_group

COMMANDS = {
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textasciigrave": "`",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "char34": '"',
    "pm": "±",
}


def printed(text: str) -> str:
    """What TeX would print for an escaped name: groups vanish, commands stand for characters."""
    out, place = [], 0
    while place < len(text):
        command = re.compile(r"\\([a-z]+\d*)\{\}|\$\\(pm)\$|\\([_%&#${}])").match(text, place)
        if command:
            out.append(COMMANDS[command[1] or command[2]] if command[1] or command[2] else command[3])
            place = command.end()
        else:
            assert text[place] not in r"\%#$&_^~"
            out.append("" if text[place] in "{}" else text[place])
            place += 1
    return "".join(out)


def body(latex: str) -> list[str]:
    """The rows of the table."""
    lines = latex.splitlines()
    return lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]


def latex_of(ds, **question) -> str:
    return to_latex(*tables_of(ds, **question))


def tables_of(ds: xr.Dataset, **question) -> list[Table]:
    return readable_tables(xr.DataTree.from_dict({"x": ds}).mirflow.query(**question))


class TestNames:
    @given(
        st.text(
            st.characters(min_codepoint=32, max_codepoint=0x17F, exclude_categories=["Cc", "Zs", "Cf"]), max_size=12
        )
    )
    def test_print_as_they_are(self, name):
        assert printed(escape(name)) == name

    def test_no_ligatures(self):
        assert "--" not in escape("a--b---c")

    def test_a_row_never_starts_with_what_a_line_break_would_take(self):
        rows = body(to_latex(Table(("system",), (("[1pt]",), ("*",)))))
        assert rows == [r"{[}1pt{]} \\", r"{*} \\"]

    def test_line_breaks_and_control_characters_are_shown(self):
        assert printed(escape("a\nb\x07")) == "a\\nb\\x07"

    def test_everywhere(self):
        ds = make_group([[[1.0]]], systems=["A_1 & 50%"], metrics=["m#x"], task="t^2", standard=["mean"])
        latex = latex_of(ds)
        assert r"A\_1 \& 50\%" in body(latex)[0]
        assert r"system & M\#X & n" in latex
        assert r"system & m\#x & n" in to_latex(*tables_of(ds), names="identifiers")
        assert r"\caption{t\textasciicircum{}2: M\#X of 1 system on 1 track." in latex


class TestStructure:
    def test_of_a_float_with_rules(self):
        latex = latex_of(random_group(2, 3, 2, standard=["mean", "wcsr"]))
        order = [r"\begin{table}", r"\begin{tabular}{@{}lrrr@{}}", r"\toprule", r"\midrule", r"\bottomrule"]
        places = [latex.index(part) for part in [*order, r"\end{tabular}", r"\begin{minipage}", r"\end{table}"]]
        assert places == sorted(places)
        assert all(row.count(" & ") == 3 and row.endswith(r" \\") for row in body(latex))
        assert r"\usepackage{booktabs}" in latex.splitlines()[0]

    def test_braces_and_environments_balance(self):
        group = random_group(3, 8, 2, standard=["mean", "mean"])
        (table,) = readable_tables(group.mirflow.query(replicates=50, ci=0.95))
        for stacked in (False, True):
            latex = to_latex(table, stacked=stacked)
            plain = re.sub(r"\\[{}]", "", latex.replace(r"\\", ""))
            assert plain.count("{") == plain.count("}")
            begun, ended = (sorted(re.findall(rf"\\{word}{{(\w+)}}", latex)) for word in ("begin", "end"))
            assert begun == ended

    def test_notes_say_what_the_numbers_are(self):
        latex = latex_of(random_group(2, 3, 1))
        assert "wcsr: mean over the tracks, weighted by their evaluated seconds\n" in latex
        assert "missing" not in latex

    def test_without_title_and_notes(self):
        latex = to_latex(Table(("a",), (("x",),)))
        assert "caption" not in latex
        assert "minipage" not in latex


class TestValues:
    def test_the_best_is_bold(self):
        latex = latex_of(make_group([[[0.2]], [[0.9]], [[0.5]]], standard=["mean"]))
        assert [row for row in body(latex) if "textbf" in row] == [r"S1 & \textbf{0.9000} & 1 \\"]

    def test_lower_is_better(self):
        latex = latex_of(make_group([[[0.2]], [[0.9]]], standard=["mean"], orientation=["lower"]))
        assert r"\textbf{0.2000}" in latex
        assert latex.count("textbf") == 1

    def test_what_prints_alike_is_equally_good(self):
        latex = latex_of(make_group([[[0.90001]], [[0.90002]], [[0.5]]], standard=["mean"]))
        assert latex.count(r"\textbf{0.9000}") == 2

    def test_neither_way_is_better(self):
        assert "textbf" not in latex_of(make_group([[[0.2]], [[0.9]]], standard=["mean"], orientation=["none"]))

    def test_one_system_is_not_the_best(self):
        assert "textbf" not in latex_of(make_group([[[0.2]]], standard=["mean"]))

    def test_of_each_group_of_tracks(self):
        ds = make_group([[[0.2], [0.9]], [[0.5], [0.1]]], standard=["mean"], track_meta={"genre": ["a", "b"]})
        bold = [row for row in body(latex_of(ds, by="genre")) if "textbf" in row]
        assert [row.split(" & ")[:2] for row in bold] == [["S0", "b"], ["S1", "a"]]

    @pytest.mark.parametrize(
        ("entry", "expected"),
        [
            (ShownValue("0.5"), "0.5"),
            (ShownValue("-1.25"), "$-$1.25"),
            (ShownValue("inf"), r"$\infty$"),
            (ShownValue("-inf"), r"$-$$\infty$"),
            (ShownValue("-"), "--"),
            (math.nan, "--"),
            (None, "--"),
            (ShownValue("0.5", "[-0.1, 0.6]"), r"0.5\,{\scriptsize [$-$0.1, 0.6]}"),
            (ShownValue("0.5", best=True, marked=True), r"\textbf{0.5}\textsuperscript{*}"),
        ],
    )
    def test_shown(self, entry, expected):
        assert body(to_latex(Table(("a",), ((entry,),)))) == [rf"{expected} \\"]

    def test_intervals_below_their_values(self):
        row = body(to_latex(Table(("a",), ((ShownValue("0.5", "[0.1, 0.6]"),),)), stacked=True))[0]
        assert row == r"\begin{tabular}{@{}r@{}}0.5\\{\scriptsize [0.1, 0.6]}\end{tabular} \\"
