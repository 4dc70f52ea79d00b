"""Columns and fields of text that are not read: errors, remarks, or left out by declaration."""

from __future__ import annotations

import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.errors import InvalidAnnotationError
from mirflow.readers.delimited import parse_delimited
from mirflow.readers.options import Reading

ROWS = {
    "chord": "0\t1\tC:maj{}\n1\t2\tN\n",
    "segment": "0\t1\tverse{}\n1\t2\tcoda\n",
    "local_key": "0\t1\tA minor{}\n1\t2\tE minor\n",
    "drums": "0.5\tkick{}\n1.5\tsnare\n",
    "onset": "0.5\tkick{}\n1.5\tsnare\n",
    "alignment": "0.5\toh{}\n1.5\tmy\n",
    "pedal": "0\t1\tsustain{}\n1\t2\tsustain\n",
    "hierarchy": "0\t1\tA{}\n1\t2\tB\n",
}


def parsed(text: str, task: str, format: str = "txt", **options: object) -> Annotation:
    return parse_delimited(text.encode(), Reading.of(task, **options), format, "a.txt")


@pytest.mark.parametrize("separator", ["\t", ",", ";"])
@pytest.mark.parametrize("task", ROWS)
def test_a_separator_at_the_end_is_no_field(task: str, separator: str) -> None:
    plain, ended = (ROWS[task].format(end).replace("\t", separator) for end in ("", "\t"))
    format = "csv" if separator == "," else "txt"
    assert parsed(ended, task, format).labels == parsed(plain, task, format).labels


@pytest.mark.parametrize("task", ROWS)
def test_text_after_the_label_is_refused_with_the_columns_that_leave_it_out(task: str) -> None:
    text = ROWS[task].format("\tsomething")
    with pytest.raises(InvalidAnnotationError, match=r"a.txt:1: a field after the label .* 'something'; .*columns:"):
        parsed(text, task)
    places = ("time", "label") if text.startswith("0.5") else ("start", "end", "label")
    chosen = parsed(text, task, columns={name: place for place, name in enumerate(places)})
    assert chosen.labels == parsed(ROWS[task].format(""), task).labels
    assert chosen.account == ()


@pytest.mark.parametrize("task", ROWS)
def test_a_number_after_the_label_is_told(task: str) -> None:
    found = parsed(ROWS[task].format("\t0.5"), task)
    if task == "local_key":  # the confidence of a key
        assert found.account == ()
        return
    assert [(remark.rule, remark.line, remark.count) for remark in found.account] == [("columns", 1, 1)]
    assert found.labels == parsed(ROWS[task].format(""), task).labels


@pytest.mark.parametrize(
    ("header", "row", "unread"),
    [
        ("start,end,label,title", "0,1,A,x", "'title'"),
        ("start,end,label,confidence,comment", "0,1,A,0.5,x", ""),
        ("start,end,duration,label", "0,1,1,A", ""),
        ("start,end,label,title", "0,1,A,", ""),
        ("start,end,label", "0,1,A,x", ""),  # which is part of the label
        ("start,end,label,a,b,c,d,e", "0,1,A,1,2,3,4,5", "'a', 'b', 'c' and 2 more"),
    ],
)
def test_columns_of_a_header_are_told_unless_they_are_left_out_by_declaration(
    header: str, row: str, unread: str
) -> None:
    found = parsed(f"{header}\n{row}\n", "segment", "csv")
    assert [remark.rule for remark in found.account] == ["columns"] * bool(unread)
    assert all(unread in remark.message for remark in found.account)


def test_a_column_without_which_labels_mean_something_else_is_refused() -> None:
    text = "start,end,label,quality\n0,1,{},min\n"
    with pytest.raises(InvalidAnnotationError, match=r"a.txt:2: the column 'quality' .*'C' may mean something else"):
        parsed(text.format("C"), "chord", "csv")
    found = parsed(text.format("C:min"), "chord", "csv")
    assert [remark.message for remark in found.account] == [
        "the column 'quality' is not read; to read one, name it in columns"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "0\t10\tA\tminor\n10\t20\tBb\n",
        "0 10 A minor\n10 20 Bb\n",
        "0\t10\tKey\tA minor\n10\t20\tKey\tBb\n",
        "0 10 Key A minor\n10 20 Key Bb\n",
        "0,10,A,minor\n10,20,Bb,\n",
        "start,end,key,mode\n0,10,A,minor\n10,20,Bb,\n",
        "start,end,key,scale\n0,10,A,minor\n10,20,Bb,\n",
        "0\t10\tA minor\t0.9\n10\t20\tBb\t0.8\n",
    ],
)
def test_local_keys_may_have_the_mode_in_a_column_or_the_form_of_isophonics(text: str) -> None:
    found = parsed(text, "local_key", "csv" if "," in text else "txt")
    assert (found.labels, found.account) == (["A minor", "Bb"], ())


def test_silence_in_keys_of_isophonics_is_no_key() -> None:
    assert parsed("0\t1\tSilence\n1\t2\tKey\tC\n", "local_key").labels == ["N", "C"]


def test_regions_of_sonic_visualiser_are_refused_with_their_columns() -> None:
    text = "0.2{0}5{0}57.0{0}Theme\n57.2{0}6{0}30.5{0}Coda\n"
    for separator in ("\t", " ", ","):
        with pytest.raises(InvalidAnnotationError, match=r"columns: \{start: 0, duration: 2, label: 3\}"):
            parsed(text.format(separator), "segment", "csv" if separator == "," else "txt")
    found = parsed(text.format("\t"), "segment", columns={"start": 0, "duration": 2, "label": 3})
    assert (found.columns["end"].tolist(), found.labels) == ([57.2, 87.7], ["Theme", "Coda"])
    with pytest.raises(InvalidAnnotationError) as caught:
        parsed("0.2\t5\t90.0\tTheme\n57.2\t6\t30.5\tCoda\n", "segment")
    assert "Sonic Visualiser" not in str(caught.value)
