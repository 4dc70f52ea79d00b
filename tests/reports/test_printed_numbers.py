"""Cells of tables are read to their last character: what could print another number is never read as one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.reports.printed_numbers import (
    Printed,
    UnreadError,
    html_text,
    latex_text,
    markdown_text,
    read_plain,
    read_text,
)


def latex(cell: str) -> Printed:
    return read_text(latex_text(cell))


def markdown(cell: str) -> Printed:
    return read_text(markdown_text(cell))


@pytest.mark.parametrize(
    ("cell", "printed"),
    [
        ("0.9443", "0.9443"),
        (r"\textbf{0.9443}\textsuperscript{*}", "0.9443"),
        (r"$-$0.5", "-0.5"),
        (r"$-0.5$", "-0.5"),
        ("\u22120.5", "-0.5"),
        (r"0.94\,{\scriptsize [0.90, $-$0.95]}", "0.94"),
        (r"\begin{tabular}{@{}r@{}}\textbf{0.94}\\{\scriptsize [0.9, 0.95]}\end{tabular}", "0.94"),
        (r"\makecell[r]{0.94\\{\tiny (0.90, 0.95)}}", "0.94"),
        (r"{\scriptsize 0.94} [-]", "0.94"),
        ("--", ""),
        ("", ""),
        (r"$\infty$", "inf"),
        (r"$-$$\infty$", "-inf"),
        (r"1.2\,$\pm$\,0.3", "1.2"),
        (r"$0.94 \pm 0.02$", "0.94"),
        (r"\underline{0.94} (0.02)", "0.94"),
        (r"\textcolor{red!50}{.696}", ".696"),
        (r"$0.9443^{\dagger\ddagger}$", "0.9443"),
        (r"0.9443$^{ab}$", "0.9443"),
        (r"$\mathbf{0.9443}$", "0.9443"),
        (r"\num{0.9443}", "0.9443"),
        (r"\num{0,9443}", "0.9443"),
        (r"\SI{94.43}{\percent}", "94.43"),
        (r"94.43\,\%", "94.43"),
        ("0,9443", "0.9443"),
        ("0{,}9443", "0.9443"),
        (r"\multirow{2}{*}{0.94}", "0.94"),
        (r"\multicolumn{1}{c}{0.94}", "0.94"),
        (r"\cellcolor{gray!25}\phantom{0}9.43", "9.43"),
        (r"{\bfseries 0.94}$\uparrow$", "0.94"),
    ],
)
def test_decorations_of_latex_leave_the_number_as_it_is(cell: str, printed: str) -> None:
    assert latex(cell).text == printed


@pytest.mark.parametrize(
    "cell",
    [
        *(
            "0\u00b79999",
            r"$^{0}$0.9999",
            r"0.4\,999",
            "0.4~999",
            r"0.4\textbf{999}",
            "0.4{999}",
            "0.4 999",
            "0.4{}999",
        ),
        *(r"\num[round-precision=0]{0.9999}", r"\raisebox{0pt}{0.9999}", r"\makebox[0pt]{0.9999}", r"$^{1}$0.1111"),
        *(
            r"\footnotemark[1]0.1111",
            r"\textsuperscript{1}0.1234",
            r"\tnote{1}0.1234",
            r"0.94\,99",
            "1 000",
            "1.000.000",
        ),
        *(
            r"\vphantom{0.4267}0.9999",
            r"\label{0.4267}0.9999",
            r"\color{white}0.4267\color{black}0.9999",
            "0.4$_{267}$",
        ),
        *(r"\textcolor{white}{0.4267}0.9999", r"\textcolor[gray]{1}{0.4267}", r"\textcolor{red!5}{0.4267}", "0.4^267"),
        *(r"\phantom{0.4267}0.9999", r"0.4\phantom{267}", r"0.4\rlap{267}", r"\sout{0.4267} 0.9999", "0.4267 0.9999"),
        *(
            r"\hspace{-3em}0.4267",
            r"\iffalse 0.4267\fi 0.9999",
            r"\cellcolor{black}0.4267",
            "0.4267/0.9999",
            "(0.4267)",
        ),
        *(
            r"\scalebox{0.01}{0.4267}",
            r"\rotatebox{180}{0.6}",
            r"\reflectbox{0.4}",
            "00.4267",
            "\uff10.4267",
            "0.4267x",
        ),
        *(
            "0.42\u03367",
            "0.4267\u200b1",
            r"0.4\discretionary{}{}{}267",
            r"\SI{0.4}{\milli\second}",
            "0.4267)",
            "0.4267[",
        ),
        *(
            r"\multicolumn{2}{c}{0.94}",
            "{" * 30 + "0.4" + "}" * 30,
            "0." + "4" * 3000,
            "0.4\ue000267",
            "{0.4",
            "0.4(267)",
        ),
        *(
            "0.4267 [0.4",
            "\u20130.5",
            "--0.5",
            "~0.4 %%",
            r"\unknown{0.4267}",
            "0.4267\\",
            r"\begin{array}{c}0.4\end{array}",
        ),
    ],
)
def test_what_could_print_another_number_in_latex_is_refused(cell: str) -> None:
    with pytest.raises(UnreadError):
        latex(cell)


def test_commands_and_colours_that_a_document_defines_anew_are_refused() -> None:
    for cell, name in ((r"\textbf{0.4}", "textbf"), (r"\textcolor{red}{0.4}", "red")):
        assert read_text(latex_text(cell)).text == "0.4"
        with pytest.raises(UnreadError):
            latex_text(cell, [name])


@pytest.mark.parametrize(
    ("cell", "printed"),
    [
        ("0.7926* [0.7703, 0.8195]", "0.7926"),
        (" **0.79** ", "0.79"),
        ("_0.79_ (0.02)", "0.79"),
        ("`0.79`", "0.79"),
        (r"0.79\*", "0.79"),
        ("<b>-0.79</b><sup>*</sup>", "-0.79"),
        ("0.79&nbsp;\u00b1&nbsp;0.02", "0.79"),
        ("0.4&#57;&#57;", "0.499"),
        ("-", ""),
        ("\u2014", ""),
    ],
)
def test_decorations_of_markdown_and_html(cell: str, printed: str) -> None:
    assert markdown(cell).text == printed


@pytest.mark.parametrize(
    "cell",
    [
        *("0.4 999", "0.4**999**", "0.4<sub>999</sub>", "0<b>.9999</b>", "<sup>0</sup>0.9999", "~~0.4267~~ 0.9999"),
        *("<span style='display:none'>0.4267</span>0.9", "<s>0.4267</s> 0.9", "0.4<!--267-->", "0.4*267*", "1 234.5"),
        *(
            "<font color=white>0.4</font>",
            "<del>0.4267</del>",
            "0.4<wbr>267",
            "0.4&thinsp;267",
            "0.4&shy;267",
            "0.4<br>267",
        ),
        *("[0.4267](x)", "![0.4267](x) 0.9", "$0.4267$", "<img alt='0.4267'>", "0.4267<input hidden value=0.9>"),
    ],
)
def test_what_could_print_another_number_in_markdown_is_refused(cell: str) -> None:
    with pytest.raises(UnreadError):
        markdown(cell)
    with pytest.raises(UnreadError):
        read_text(html_text(f"{cell} ~"))


@pytest.mark.parametrize("text", ["0.5", "-.5", "12", "1e-05", "2.5E-3", "inf", "-inf", ""])
def test_values_for_programs(text: str) -> None:
    assert read_plain(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "abc",
            "'0.4267",
            "0x1",
            "True",
            "true",
            "0,9999",
            " 0.4",
            "1e999",
            "1e9999",
            "nan",
            "NaN",
            "Infinity",
            "1_000",
        ),
        *("+0.5", "0.5 %", "0.5*", "00.5", "--1", "\u0663.5", "1" * 3000, "9" * 400, "0.4267\n0.9"),
    ],
)
def test_other_values_for_programs_are_refused(text: str) -> None:
    with pytest.raises(UnreadError):
        read_plain(text)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([latex, markdown]),
    st.lists(
        st.sampled_from(
            [
                *"0123456789.,-*^_$~{}[]()%&# ",
                "\\,",
                "\\textbf",
                "\\num",
                "<b>",
                "</b>",
                "**",
                "\\phantom",
                "\\\\",
                "e",
                "inf",
            ]
        ),
        max_size=14,
    ).map("".join),
)
def test_a_cell_is_one_number_or_refused(read: Callable[[str], Printed], cell: str) -> None:
    """Whatever is put together: it is read whole, digits in their order, or refused, and nothing else is raised."""
    try:
        found = read(cell)
    except UnreadError:
        return
    if found.text and found.text not in ("inf", "-inf"):
        digits = "".join(char for char in found.text if char.isdigit())
        assert "".join(char for char in cell if char.isdigit()).replace("0", "").startswith(digits.replace("0", ""))
        float(found.text)
