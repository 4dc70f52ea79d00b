"""Tables of the classes that there are: names, trees and credits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.annotations.classes import Classes
from mirflow.errors import AnnotationError, UnreadableError
from mirflow.readers.class_tables import parse_classes, read_classes


def worth(classes: Classes, reference: str, estimate: str) -> float:
    return float(classes.table[classes.names.index(reference), classes.names.index(estimate)])


def test_names_with_and_without_a_header() -> None:
    for text in ("jazz\nrock\n", "class\njazz\nrock\n", "Class\n jazz \n\nrock"):
        assert parse_classes(text, "a.csv") == Classes(("jazz", "rock"))


def test_a_tree_in_any_order() -> None:
    text = "class,parent\nbebop,jazz\njazz,roots\nblues,roots\nroots,\npop,\n"
    classes = parse_classes(text, "a.csv")
    assert set(classes.names) == {"roots", "jazz", "bebop", "blues", "pop"}
    assert worth(classes, "bebop", "bebop") == 1
    # Levels in common over the levels of the deeper class.
    assert worth(classes, "bebop", "jazz") == 2 / 3 == worth(classes, "jazz", "bebop")
    assert worth(classes, "bebop", "blues") == 1 / 3
    assert worth(classes, "jazz", "blues") == 1 / 2 == worth(classes, "jazz", "roots")
    assert worth(classes, "bebop", "pop") == 0


def test_credits_hold_in_one_direction() -> None:
    classes = parse_classes("from\tto\tcredit\nC\tG\t0.5\nC\tAm\t0.3\n", "a.tsv", "\t")
    assert (worth(classes, "C", "G"), worth(classes, "G", "C"), worth(classes, "C", "Am")) == (0.5, 0.0, 0.3)


def test_credits_override_a_tree() -> None:
    classes = Classes.of(["noise"], {"roots": ["jazz", "blues"]}, {"jazz": {"blues": 0.0, "noise": 0.25}})
    assert classes.names == ("noise", "roots", "jazz", "blues")
    assert worth(classes, "jazz", "blues") == 0
    assert worth(classes, "blues", "jazz") == 0.5
    assert worth(classes, "jazz", "noise") == 0.25


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"a\.csv: no classes"),
        ("class,parent\njazz,a\njazz,b\n", r"a\.csv:3: the class 'jazz' occurs twice"),
        ("class,parent\na,b\nb,c\nc,a\n", r"a\.csv: the class 'a' is its own ancestor"),
        ("class,parent\na,\n,a\n", r"a\.csv:3: a class without a name"),
        ("class,parent\na\n", r"a\.csv:2: has 1 columns, not 2"),
        ("class,colour\na,b\n", r"a\.csv:1: invalid columns class, colour: expected class; class,parent;"),
        ("from,to,credit\na,b,much\n", r"a\.csv:2: credit is not a number: 'much'"),
        ("from,to,credit\na,b,1.5\n", r"a\.csv: the credit for 'b' where 'a' is right is not between 0 and 1: 1\.5"),
        ("from,to,credit\na,b,nan\n", r"not between 0 and 1: nan"),
        ("from,to,credit\na,b,0.5\na,b,0.5\n", r"a\.csv:3: the pair 'a', 'b' occurs twice"),
        ("from,to,credit\na,a,0.5\n", r"this is not an error and earns 1"),
        ("jazz\njazz\n", r"a\.csv: the class 'jazz' occurs twice"),
        ("jazz,rock\n", r"a\.csv:1: has 2 columns, not 1"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(text: str, message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        parse_classes(text, "a.csv")


def test_a_broken_table_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('class,parent\n"a,b\n')
    with pytest.raises(UnreadableError, match="is not a table"):
        read_classes(path)
    path.write_text("class,parent\na,b\n")
    assert read_classes(path).names == ("b", "a")


def test_a_tree_without_end_is_refused() -> None:
    chain = "".join(f"a{level},a{level + 1}\n" for level in range(2000))
    with pytest.raises(AnnotationError, match=r"a\.csv: has more than 100 levels"):
        parse_classes(f"class,parent\n{chain}", "a.csv")


names = st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True)


@given(names, st.randoms())
def test_the_fingerprint_depends_on_what_is_said_and_not_on_its_order(chosen: list[str], random: object) -> None:
    classes = Classes.of(chosen, credit={chosen[0]: {"z": 0.5}})
    shuffled = sorted(chosen, reverse=True)
    assert Classes.of(shuffled, credit={chosen[0]: {"z": 0.5}}).digest == classes.digest
    assert Classes.of(chosen, credit={chosen[0]: {"z": 0.25}}).digest != classes.digest
    assert Classes.of([*chosen, "y"], credit={chosen[0]: {"z": 0.5}}).digest != classes.digest
