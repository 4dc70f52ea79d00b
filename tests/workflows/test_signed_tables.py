"""Tables that mirflow and people write: unchanged ones are verified, and no wrong digit passes, however it is set."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.analysis.signatures import Signature
from mirflow.reports.signed_numbers import Signing, read_signed
from mirflow.workflows.verification import is_rounded

from ..commands import invoke
from ..groups import make_group, write_store

SYSTEMS, METRICS = ("ann", "bob", "cat"), ("majmin", "root")
SIGNED = "chord/majmin+root;agg=mean;miss=common;systems=3;n=24{unit};mirflow=0.1.0"


@pytest.fixture(scope="module")
def scores() -> xr.Dataset:
    rng = np.random.default_rng(7)
    genre = {"genre": ["Rock", "Pop"] * 12}
    return make_group(rng.random((3, 24, 2)), systems=[*SYSTEMS], standard=["mean"] * 2, track_meta=genre)


def computed(scores: xr.Dataset) -> dict[tuple[str, str], float]:
    mean = scores["score"].mean("track")
    return {(system, metric): mean.sel(system=system, metric=metric).item() for system in SYSTEMS for metric in METRICS}


def verdicts(path: Path, values: Mapping[tuple[str, str], float]) -> list[str]:
    """What `mirflow.verify` says of each number of a file whose values are known."""
    found = []
    for one in read_signed(path).numbers:
        assert one.signature is not None or one.problem
        if one.problem or one.signature is None:
            found.append("not computable")
            continue
        value = values[one.names["system"], one.names["metric"]] * (100 if one.signature["unit"] == "percent" else 1)
        found.append("equal" if is_rounded(one.printed, value, decimals=one.decimals) else "different")
    return found


# Tables that people make of those that mirflow writes: cells, what is around a row, and what is around the table.
LATEX_STYLES: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "percent": lambda text: rf"{text}\,\%",
    "comma": lambda text: text.replace(".", ","),
    "comma in mathematics": lambda text: f"${text.replace('.', '{,}')}$",
    "siunitx": lambda text: rf"\num{{{text}}}",
    "deviations": lambda text: rf"${text} \pm 0.0123$",
    "bold": lambda text: rf"{{\bfseries {text}}}",
    "underlined": lambda text: rf"\underline{{{text}}}",
    "daggers": lambda text: rf"{text}$^{{\dagger}}$",
    "colours": lambda text: rf"\cellcolor{{gray!20}}\textcolor{{blue}}{{{text}}}",
    "intervals below": lambda text: rf"\makecell[r]{{{text}\\{{\scriptsize [0.0123, 0.9876]}}}}",
    "one column": lambda text: rf"\multicolumn{{1}}{{r}}{{{text}}}",
    "aligned": lambda text: rf"\phantom{{0}}{text}~$\uparrow$",
    "mathematics": lambda text: rf"$\mathbf{{{text}}}$ ({text})",
}
MARKDOWN_STYLES: dict[str, Callable[[str], str]] = {
    "markdown": lambda text: f"**{text}**",
    "markdown with html": lambda text: rf"<b>{text}</b>\* [0.0123, 0.9876]",
}


def latex(values: Mapping[tuple[str, str], float], style: str, cells: Mapping[tuple[str, str], str] = {}) -> str:
    """A table of LaTeX, some of whose cells are given."""
    percent = style == "percent"
    signed = Signature.parse(SIGNED.format(unit=";unit=percent" if percent else ""))
    rows, body = [], []
    for system in SYSTEMS:
        shown = [f"{100 * values[system, m]:.2f}" if percent else f"{values[system, m]:.4f}" for m in METRICS]
        own = [cells.get((system, m), LATEX_STYLES[style](text)) for m, text in zip(METRICS, shown, strict=True)]
        rows.append(((("system", system),),))
        body.append(f"{system} \\cite{{x1}} & {own[0]} &\n  {own[1]} & 24 \\\\")
    signing = Signing(tuple(rows), tuple((("metric", metric),) for metric in METRICS), lambda: [signed])
    heads, comments = signing.comments([str(signed)])
    lines = [
        r"\documentclass{article} 100\%",
        *(f"% {head}" for head in heads),
        r"\begin{tabular*}{\linewidth}{@{}lrrr@{}} \toprule",
        r"system & F@0.1 & 2nd & n \\ \midrule",
        *(f"{row} % {comment}" for row, comment in zip(body, comments, strict=True)),
        r"\bottomrule \end{tabular*}",
        rf"{{\footnotesize signature: {signed}\par}}",
        r"\end{document}",
    ]
    return "\n".join(lines)


def markdown(values: Mapping[tuple[str, str], float], style: str, cells: Mapping[tuple[str, str], str] = {}) -> str:
    """A table of Markdown, some of whose cells are given."""
    lines = [f"<!-- mirflow 1: {SIGNED.format(unit='')} -->", "", "| system | majmin | 2nd |", "|---|---|---|"]
    for system in SYSTEMS:
        own = [cells.get((system, m), MARKDOWN_STYLES[style](f"{values[system, m]:.4f}")) for m in METRICS]
        comment = f"<!-- mirflow: system={system} : metric=majmin & metric=root -->"
        lines.append(f"| {system} | {own[0]} | {own[1]} {comment} |")
    return "\n".join([*lines, "", f"signature: {SIGNED.format(unit='')}  "])


def changed_digits(text: str) -> Iterator[str]:
    """A number with one digit changed, at every place; the last one also to its neighbours."""
    for place, char in enumerate(text):
        if char.isdigit():
            yield f"{text[:place]}{(int(char) + 1 + place * 3 % 8) % 10}{text[place + 1 :]}"
    yield from (f"{text[:-1]}{near}" for near in (int(text[-1]) - 1, int(text[-1]) + 1) if 0 <= near <= 9)


def hidden_latex(wrong: str, right: str) -> list[str]:
    """Cells that print a wrong number, and that could be taken for the right one."""
    place = next(at for at, (a, b) in enumerate(zip(wrong, right, strict=True)) if a != b)
    early, late = wrong[:place], wrong[place:]
    split = [
        f"{early}{between}{late}"
        for between in (r"\,", "~", "{}", " ", r"\ ", r"\;", r"\hspace{0pt}", "$ $", "\\null ")
    ]
    split += [
        f"{early}{before}{late}}}"
        for before in ("{", r"\textbf{", r"\mbox{", r"\raisebox{0pt}{", r"\rlap{", r"\phantom{")
    ]
    split += [
        rf"{early}$^{{{late}}}$",
        rf"{early}\textsuperscript{{{late}}}",
        rf"{early}$_{{{late}}}$",
        rf"{early}\tnote{{{late}}}",
    ]
    split += [
        rf"{early}\footnotemark[{late}]",
        f"{early}\\iffalse x\\fi {late}",
        f"{early}%\n{late}",
        f"{early}^{late}",
    ]
    beside = [
        rf"$^{{{right}}}${wrong}",
        rf"\vphantom{{{right}}}{wrong}",
        rf"\phantom{{{right}}}{wrong}",
        rf"\label{{{right}}}{wrong}",
    ]
    beside += [rf"\color{{white}}{right}\color{{black}}{wrong}", rf"\textcolor{{white}}{{{right}}}{wrong}"]
    beside += [rf"\sout{{{right}}} {wrong}", rf"\iffalse {right} \fi {wrong}", rf"\iftrue {wrong} \else {right} \fi"]
    beside += [rf"\raisebox{{0pt}}[0pt]{{{right}}}{wrong}", rf"\makebox[0pt]{{{wrong}}}", rf"\llap{{{right}}}{wrong}"]
    beside += [
        rf"\scalebox{{0}}{{{right}}}{wrong}",
        f"{right} {wrong}",
        f"{right}/{wrong}",
        f"({right}) {wrong}",
        f"[{right}] {wrong}",
    ]
    beside += [
        rf"\ifdraft {right}\else {wrong}\fi",
        rf"\only<2>{{{right}}}{wrong}",
        f"{wrong} % {right}\n",
        f"{wrong} ({right})",
    ]
    beside += [
        rf"\num[round-precision=0]{{{wrong}}}",
        rf"\num{{{wrong}}}",
        rf"\num{{{right}}}{wrong}",
        rf"\SI{{{wrong}}}{{\percent}}",
    ]
    beside += [
        rf"\textbf{{{wrong}}}",
        wrong.replace(".", ","),
        wrong.replace(".", "{,}"),
        wrong.replace(".", "\u00b7"),
        f"${wrong}$",
    ]
    beside += [
        rf"${wrong} \pm {right}$",
        rf"\begin{{comment}}{right}\end{{comment}}{wrong}",
        rf"\pdftooltip{{{wrong}}}{{{right}}}",
    ]
    return [wrong, *split, *beside]


def hidden_markdown(wrong: str, right: str) -> list[str]:
    place = next(at for at, (a, b) in enumerate(zip(wrong, right, strict=True)) if a != b)
    early, late = wrong[:place], wrong[place:]
    split = [
        f"{early}{a}{late}{b}"
        for a, b in (("**", "**"), ("<b>", "</b>"), ("<sub>", "</sub>"), ("<sup>", "</sup>"), ("_", "_"))
    ]
    split += [
        f"{early}{one}{late}"
        for one in (" ", "&nbsp;", "&thinsp;", "<wbr>", "<!-- x -->", "&shy;", "\\", "<span></span>")
    ]
    split += [early + "".join(f"&#{ord(char)};" for char in late), f"{early}<!--{late}-->"]
    beside = [
        f"~~{right}~~ {wrong}",
        f"<sup>{right}</sup>{wrong}",
        f"<!-- {right} -->{wrong}",
        f"{right} {wrong}",
        f"[{right}](x) {wrong}",
    ]
    beside += [
        f"<span style='display:none'>{right}</span>{wrong}",
        f"<del>{right}</del> {wrong}",
        f"<b hidden>{right}</b>{wrong}",
    ]
    beside += [
        wrong.replace(".", ","),
        f"**{wrong}**",
        f"{wrong} ({right})",
        f"`{wrong}`",
        f"<template>{right}</template>{wrong}",
    ]
    return [wrong, *split, *beside]


@pytest.mark.parametrize("style", [*LATEX_STYLES, *MARKDOWN_STYLES])
def test_no_changed_digit_is_called_equal(style: str, scores: xr.Dataset, tmp_path: Path) -> None:
    values = computed(scores)
    write, hidden, suffix = (latex, hidden_latex, "tex") if style in LATEX_STYLES else (markdown, hidden_markdown, "md")
    path = tmp_path / f"t.{suffix}"
    path.write_text(write(values, style))
    assert {one.verdict for one in mirflow.verify(path, store=scores)} == {"equal"}
    wrongly_equal = []
    for cell, text in attacks(values, hidden, percent=style == "percent"):
        path.write_text(write(values, style, {cell: text}))
        wrongly_equal += [text] if verdicts(path, values).count("equal") > 5 else []
    assert wrongly_equal == []


def attacks(
    values: Mapping[tuple[str, str], float], hidden: Callable[[str, str], list[str]], *, percent: bool
) -> Iterator[tuple[tuple[str, str], str]]:
    """Cells with one wrong digit: each digit as it is, and each way to hide it with one digit of one cell in turn."""
    wrongs = []
    for cell, value in values.items():
        right = f"{100 * value:.2f}" if percent else f"{value:.4f}"
        wrongs += [(cell, wrong, right) for wrong in changed_digits(right)]
    yield from ((cell, wrong) for cell, wrong, _ in wrongs)
    for number in range(len(hidden("0.5", "0.6"))):
        cell, wrong, right = wrongs[number * 7 % len(wrongs)]
        yield cell, hidden(wrong, right)[number]


def digits_of(line: str, printed: str) -> Iterator[str]:
    """A line with one of the first twelve digits changed in a number that occurs in it once."""
    whole = rf"(?<![0-9.]){re.escape(printed)}(?![0-9.])"
    if len(re.findall(whole, line)) == 1:
        for wrong in changed_digits(printed[:13]):
            yield re.sub(whole, wrong + printed[13:], line)


OPTIONS: Sequence[dict[str, Any]] = (
    {},
    {"ci": 0.95, "percent": True},
    {"significance": 0.95},
    {"by": "genre", "percent": True},
    {"by": "genre", "across": {"genre": "mean,std"}},
    {"metric": "root", "by": "genre", "undefined": "skip"},
    {"primary": True},
)
WRITERS: dict[str, Callable[[Any], str]] = {
    "tex": lambda table: table.to_latex(),
    "stacked.tex": lambda table: table.to_latex(stacked=True),
    "md": lambda table: table.to_markdown(),
    "html": lambda table: table.to_html(),
    "csv": lambda table: table.to_csv(),
    "json": lambda table: table.to_json(),
}


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_every_digit_that_mirflow_writes_counts(options: dict[str, Any], scores: xr.Dataset, tmp_path: Path) -> None:
    store = write_store(tmp_path / "s.zarr", {"chord": scores})
    asked, count = mirflow.query(store, **options), 0
    for suffix, write in WRITERS.items():
        path = tmp_path / f"t.{suffix}"
        text = write(asked)
        path.write_text(text)
        checks = [*mirflow.verify(path, store=store)]
        assert {one.verdict for one in checks} == {"equal"}, suffix
        assert len(checks) == count or suffix == "tex", suffix
        count = len(checks)
        lines = text.split("\n")
        tried = 0
        for check in checks[:: max(1, len(checks) // 4)]:
            for place, line in enumerate(lines):
                for changed in digits_of(line, check.printed):
                    path.write_text("\n".join([*lines[:place], changed, *lines[place + 1 :]]))
                    again = read_signed(path).numbers
                    same = [
                        not number.problem and is_rounded(number.printed, one.value, decimals=number.decimals)
                        for number, one in zip(again, checks, strict=True)
                    ]
                    tried += 1
                    assert same.count(False) >= 1, changed
        assert tried or len(lines) < 20, suffix


ROW = r"ann & 0.5 & 0.6 \\ % mirflow: system=ann : metric=majmin & metric=root"
HEAD = f"% mirflow 1: {SIGNED.format(unit='')}\n"


@pytest.fixture
def table(scores: xr.Dataset, tmp_path: Path) -> Callable[..., tuple[list[str], list[str]]]:
    """A function that verifies a document: verdicts, and what is noted."""

    def verify(text: str, suffix: str = "tex") -> tuple[list[str], list[str]]:
        path = tmp_path / f"t.{suffix}"
        path.write_text(text)
        found = mirflow.verify(path, store=scores)
        return [one.verdict for one in found], [one.replace(str(tmp_path), "") for one in found.notes]

    return verify


class TestWhatIsNotSigned:
    def test_rows_and_tables_are_counted_and_named(self, table: Any, scores: xr.Dataset) -> None:
        text = latex(computed(scores), "plain")
        bare = re.sub("(cat .*\n.*) % mirflow.*", r"\1", text).replace(
            r"\midrule", "\\midrule\nTheirs & 0.1 & -- & 3 \\\\"
        )
        other = "\\begin{tabular}{lr}\nsystem & n 3 \\\\ \\hline\nDeep & 0.97 \\\\\n\\end{tabular}\n\\end{document}"
        found, notes = table(bare.replace(r"\end{document}", other))
        assert found == ["equal"] * 4
        assert notes[0] == "not signed: 2 rows with numbers (/t.tex:5 'Theirs', /t.tex:11 'cat x1')"
        assert notes[1] == "not signed: 1 table with numbers (/t.tex:14)"

    def test_in_markdown_and_html(self, table: Any, scores: xr.Dataset) -> None:
        text = markdown(computed(scores), "markdown")
        found, notes = table(text.replace(" <!-- mirflow: system=bob : metric=majmin & metric=root -->", ""), "md")
        assert (found, notes[0]) == (["equal"] * 4, "not signed: 1 row with numbers (/t.md:6 'bob')")
        page = mirflow.query(scores).to_html()
        found, notes = table(re.sub("<!-- mirflow: system=bob.*?-->", "", page), "html")
        assert (found, notes[0]) == (["equal"] * 4, "not signed: 1 row with numbers (/t.html:1 'bob')")
        other = "<table><tr><th>a</th><th>2</th></tr><tr><td>Deep</td><td>0.97</td></tr></table>"
        assert "not signed: 1 table with numbers (/t.html:2)" in table(f"{page}\n{other}", "html")[1]

    def test_in_rows_for_programs(self, table: Any, scores: xr.Dataset) -> None:
        rows = json.loads(mirflow.query(scores).to_json())
        rows[0]["signature"] = ""
        found, notes = table(json.dumps(rows), "json")
        assert (found.count("equal"), notes[0]) == (
            5,
            f"not signed: 1 row with numbers (/t.json[0] {rows[0]['system']!r})",
        )

    def test_signatures_without_references_are_noted(self, table: Any, scores: xr.Dataset) -> None:
        _, notes = table(latex(computed(scores), "plain"))
        assert notes == ["chord/majmin+root: the signature names no references (ref): any could have been used"]

    def test_the_command_prints_it_in_every_format(self, scores: xr.Dataset, tmp_path: Path) -> None:
        (tmp_path / "t.tex").write_text(latex(computed(scores), "plain"))
        words = "verify", tmp_path / "t.tex", "--store", write_store(tmp_path / "s.zarr", {"chord": scores})
        assert "names no references" in invoke(*words, code=0).stdout
        assert "names no references" in invoke(*words, "--format", "json", code=0).stderr


class TestWhatIsNotShown:
    @pytest.mark.parametrize(
        ("before", "behind"),
        [
            ("\\iffalse\n", "\n\\fi\n"),
            ("\\iffalse\n\\ifx\\a\\b x\\fi\n", "\n\\fi\n"),
            ("\\iftrue\n\\else\n", "\n\\fi\n"),
            ("\\begin{comment}\n", "\n\\end{comment}\n"),
            ("\\begin{verbatim}\n", "\n\\end{verbatim}\n"),
            ("\\end{document}\n", ""),
        ],
    )
    def test_is_no_text(self, table: Any, before: str, behind: str) -> None:
        shown = f"{HEAD}{ROW}\n"
        assert len(table(f"{shown}{before}{HEAD}{ROW}{behind}")[0]) == 2

    def test_shown_branches_are_text(self, table: Any) -> None:
        assert len(table(f"\\iftrue\n{HEAD}{ROW}\n\\else x \\fi\n\\iffalse a\\else\n{HEAD}{ROW}\n\\fi")[0]) == 4

    def test_other_conditionals_are_not_evaluated(self, table: Any, scores: xr.Dataset) -> None:
        text = latex(computed(scores), "plain")
        assert table(text)[0] == ["equal"] * 6
        assert table(f"\\newif\\ifdraft\n\\ifdraft\n{text.replace('100', '')}")[0] == ["equal"] * 6  # without \fi
        inside = text.replace("% mirflow 1", "\\ifdraft\n% mirflow 1").replace("\\end{document}", "\\else x \\fi")
        assert table(inside)[0] == ["not computable"] * 6

    def test_comments_hide_rows_of_markdown_and_html(self, table: Any, scores: xr.Dataset) -> None:
        for text, suffix in ((markdown(computed(scores), "markdown"), "md"), (mirflow.query(scores).to_html(), "html")):
            start = "| bob" if suffix == "md" else "<tr><td>bob"
            assert table(text.replace(start, f"<!-- {start}"), suffix)[0] == ["equal"] * 4
        page = mirflow.query(scores).to_html()
        assert table(page.replace("<tr><td>bob", "<tr hidden><td>bob"), "html")[0].count("not computable") == 2
        assert table(page.replace("<td>bob", "<td style='x'>bob"), "html")[0].count("not computable") == 2

    def test_another_signature_below_the_table(self, table: Any, scores: xr.Dataset) -> None:
        values = computed(scores)
        for text, suffix in (
            (latex(values, "plain"), "tex"),
            (markdown(values, "markdown"), "md"),
            (mirflow.query(scores).to_latex(), "tex"),
            (mirflow.query(scores).to_html(), "html"),
        ):
            head, foot = text.split("signature:")
            assert table(text, suffix)[0] == ["equal"] * 6
            assert (
                table(f"{head}signature:{foot.replace('agg=mean', 'agg=median')}", suffix)[0] == ["not computable"] * 6
            )
            assert table(head, suffix)[0] == ["equal"] * 6


class TestDigits:
    def test_a_number_without_decimals_is_whole(self, table: Any, scores: xr.Dataset) -> None:
        values = computed(scores)
        for text in ("0", "1", "0.", "1e0", "1e2", "4E-0"):
            assert "equal" not in table(latex(values, "plain", {("ann", "root"): text}))[0][1]
        assert table(latex(values, "plain", {("ann", "root"): f"{values['ann', 'root']:.2f}"}))[0][1] == "equal"

    def test_of_a_table_without_decimals(self, table: Any, scores: xr.Dataset) -> None:
        values = computed(scores)
        whole = {cell: f"{100 * value:.0f}" for cell, value in values.items()}
        assert table(latex(values, "percent", whole))[0] == ["equal"] * 6
        whole["bob", "root"] = f"{100 * values['bob', 'root'] + 1:.0f}"
        assert table(latex(values, "percent", whole))[0].count("different") == 1
        ratios = dict.fromkeys(values, "0") | {("ann", "majmin"): "1"}
        assert set(table(latex(values, "plain", ratios))[0]) == {"different"}

    def test_a_table_has_points_or_commas(self, table: Any, scores: xr.Dataset) -> None:
        values = computed(scores)
        text = f"{values['ann', 'root']:.4f}"
        assert table(latex(values, "comma", {("ann", "root"): text}))[0].count("not computable") == 1
        assert table(latex(values, "plain", {("ann", "root"): text.replace(".", ",")}))[0].count("not computable") == 1
        assert table(latex(values, "plain", {("ann", "root"): f"{text} \\%"}))[0].count("not computable") == 1


class TestRowsForPrograms:
    @pytest.mark.parametrize(
        "value",
        ["abc", "'0.4267", "0x1", "True", "1e999", "0,9", "0.4 267", "nan", "1_0", "0.4267\n", "0", "1e3", "-inf"],
    )
    def test_csv(self, value: str, table: Any, scores: xr.Dataset) -> None:
        frame = mirflow.query(scores, sort="stored").to_dataframe()
        text = frame.astype({"value": object}).assign(value=[value, *frame["value"][1:]]).to_csv(index=False)
        assert (
            table(text, "csv")[0]
            == ["not computable" if value not in ("0", "1e3", "-inf") else "different"] + ["equal"] * 5
        )

    def test_fields_that_do_not_fit_the_header(self, table: Any, scores: xr.Dataset) -> None:
        text = mirflow.query(scores).to_csv()
        first = text.splitlines()[1]
        assert table(text.replace(first, first.replace("0.", "0,", 1)), "csv")[0] == ["not computable"] + ["equal"] * 5

    @pytest.mark.parametrize(
        "value", ["true", "[]", "{}", '"abc"', '"0,9999"', "1e999", "NaN", "-Infinity", "[0.5]", "0", "1" * 400]
    )
    def test_json(self, value: str, table: Any, scores: xr.Dataset) -> None:
        text = mirflow.query(scores).to_json()
        changed = re.sub('"value": [0-9.]+', f'"value": {value}', text, count=1)
        assert table(changed, "json")[0] == ["not computable" if value != "0" else "different"] + ["equal"] * 5

    def test_a_value_that_is_given_twice(self, table: Any, scores: xr.Dataset) -> None:
        text = mirflow.query(scores).to_json()
        found = re.sub('("value": [0-9.]+)', r'"value": 0.9, \1', text, count=1)
        assert table(found, "json")[0] == ["not computable"] + ["equal"] * 5
