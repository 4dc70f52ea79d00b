"""Accounts of reading: their text, and that nothing that is made of an annotation loses them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.annotations.account import RULES, Account, Remark, read_account, write_account
from mirflow.annotations.annotation import Annotation, intervals_of_text, split_levels, stack_levels
from mirflow.annotations.collection import RowSource, collect, from_dataset, read_rows
from mirflow.annotations.labelled import from_dataset as annotation_from
from mirflow.annotations.labelled import to_dataset
from mirflow.annotations.rolls import frames_of
from mirflow.annotations.source import HeldSource
from mirflow.errors import AnnotationError, InvalidAnnotationError
from mirflow.readers.options import Reading
from mirflow.readers.positions import select_beats
from mirflow.readers.ranks import order_by_score
from mirflow.readers.readings import open_readings, write_readings
from mirflow.store.packs import open_pack, write_pack

TOLD = [name for name, rule in RULES.items() if rule.severity != "error"]
REMARKS = st.lists(
    st.builds(
        Remark,
        st.sampled_from(TOLD),
        st.text(),
        st.none() | st.integers(0, 2**40),
        st.integers(min_value=0, max_value=9),
    )
)
COLUMNS = Remark("columns", "the column 'key' is not read", 3, 2)


@given(REMARKS)
def test_the_text_of_an_account_is_read_back(remarks: list[Remark]) -> None:
    assert read_account(write_account(remarks)) == tuple(remarks)


@pytest.mark.parametrize("text", ["columns", "fields: x", "content_columns: x", "columns: x\n", "columns line -1: x"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(AnnotationError, match="invalid account: line"):
        read_account(text)


def test_errors_are_raised_and_declared_silence_is_kept() -> None:
    account = Account("a.csv", silent={"columns"})
    account.add("columns", "the column 'confidence' is not read")
    account.add("rows", "2 rows are not read", line=4, count=2)
    assert account.remarks == (Remark("rows", "2 rows are not read", 4, 2),)
    with pytest.raises(InvalidAnnotationError, match=r"^a.csv:7: the mode is not read$"):
        account.add("content_columns", "the mode is not read", line=7)


TIMES = np.array([0.0, 1.0])
SPANS = Annotation("intervals", {"start": TIMES, "end": TIMES + 1}, ["A", "B"], account=(COLUMNS,))
BEATS = Annotation("events", {"time": TIMES}, ["1", "2"], account=(COLUMNS,))
NOTES = Annotation("notes", {"start": TIMES, "end": TIMES + 1, "pitch": np.array([440.0, 220.0])}, account=(COLUMNS,))


@pytest.mark.parametrize(
    "made",
    [
        lambda: annotation_from(to_dataset(SPANS)),
        lambda: stack_levels([SPANS]),
        lambda: split_levels(stack_levels([SPANS]))[0],
        lambda: intervals_of_text(Annotation("text", {"start": TIMES}, ["Oh", "my"], account=(COLUMNS,))),
        lambda: frames_of(NOTES, 0.1),
        lambda: select_beats(BEATS, Reading.of("downbeat"), "a.txt"),
        lambda: order_by_score(Annotation("ranking", {"value": TIMES}, ["x", "y"], account=(COLUMNS,))),
        lambda: collect({"a": SPANS}).annotation("a"),
        lambda: from_dataset(collect({"a": SPANS}).dataset).annotation("a"),
    ],
    ids=["dataset", "stack", "split", "text", "frames", "beats", "ranks", "collection", "collection dataset"],
)
def test_what_is_made_of_an_annotation_has_its_account(made: Callable[[], Annotation]) -> None:
    found = made()
    account = found.account if isinstance(found, Annotation) else annotation_from(found).account
    assert COLUMNS in account


def test_levels_of_several_files_say_which_file_is_meant() -> None:
    stacked = stack_levels([SPANS, SPANS], ["upper.lab", "lower.lab"])
    assert [one.message.partition(": ")[0] for one in stacked.account] == ["upper.lab:3", "lower.lab:3"]
    assert [one.line for one in stacked.account] == [None, None]


def test_readings_of_confined_processes_and_packs_keep_it(tmp_path: Path) -> None:
    write_readings(tmp_path / "a.readings", "intervals", [(HeldSource(SPANS, "a.lab"), {"track": "a"})])
    ((source, _),) = open_readings(tmp_path / "a.readings").sources()
    assert source.read()[0].account == (COLUMNS,)
    whole = collect({"a": SPANS, "b": Annotation("intervals", SPANS.columns, ["C", "D"])})
    metadata = {name: values.tolist() for name, values in whole.metadata.items()}
    write_pack(tmp_path / "a.zarr", whole.kind, whole.tracks, whole.rows, {}, metadata)
    held = {track: one.read()[0].account for track, one in open_pack(tmp_path / "a.zarr").items()}
    assert held == {"a": (COLUMNS,), "b": ()}


def test_tracks_of_a_collection_without_remarks_are_still_read_at_once() -> None:
    whole = collect({"a": SPANS, "b": Annotation("intervals", SPANS.columns, ["C", "D"])})
    ((places, rows),) = read_rows([RowSource(whole, track, track) for track in whole.tracks])
    assert (places.tolist(), len(rows)) == ([1], 1)
    assert whole.accounts == {0: (COLUMNS,)}
    assert whole.remarked("columns").tolist() == [True, False]
