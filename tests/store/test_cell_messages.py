"""The message of a cell: records with kind, side and text, as lines of one grammar."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from mirflow.store.cells import CellRemark, RemarkKind, RemarkSide, read_message, text_of, write_message

REMARKS = st.lists(
    st.builds(CellRemark, st.sampled_from(get_args(RemarkKind)), st.sampled_from(get_args(RemarkSide)), st.text())
)


@given(REMARKS)
def test_whatever_a_text_holds_the_remarks_come_back(remarks: list[CellRemark]) -> None:
    message = write_message(remarks)
    assert read_message(message) == tuple(remarks)
    assert len(message.split("\n")) == max(1, len(remarks))


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert (read_message(text) == ()) == (text == "")


def test_texts_that_look_like_remarks_stay_one() -> None:
    text = "a\\n.txt: 'x'; warning: y\nwarning (pair): z"
    message = write_message([CellRemark("reason", "estimate", text)])
    assert message == "reason (estimate): a\\\\n.txt: 'x'; warning: y\\nwarning (pair): z"
    assert (text_of(message), text_of(message, "warning")) == (text, "")
