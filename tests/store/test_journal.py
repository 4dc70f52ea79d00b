from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.errors import StoreError
from mirflow.store import Journal
from mirflow.store.journal import read_content, write_content

from .example import all_pairs, assert_same_cells, make_cells, make_content
from .strategies import cells, names


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


def block(number: int):
    return make_cells(all_pairs()[number : number + 4], extras=True)


def test_blocks_come_back_in_the_order_in_which_they_were_appended(journal):
    for number in range(12):
        journal.append("chord", "v1", block(number))
    blocks = [*journal.read("chord", "v1")]
    assert [one.track[0] for one in blocks] == [block(number).track[0] for number in range(12)]
    for number, one in enumerate(blocks):
        assert_same_cells(one, block(number))


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_cells_come_back_to_the_bit(data):
    some = data.draw(cells(data.draw(names), data.draw(names)))
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder))
        journal.append("chord", "v1", some)
        (back,) = journal.read("chord", "v1")
    assert_same_cells(back, some)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_a_whole_evaluation_comes_back_from_one_file(data):
    coords = {"year": (1999, None), "title": ("a", None), "share": (0.5, float("inf")), "live": (True, False)}
    content = make_content(data.draw(cells(data.draw(names), data.draw(names))), track_coords=coords)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dev" / "chord.scores"
        write_content(path, content)
        back = read_content(path)
    assert_same_cells(back.cells, content.cells)
    assert (back.name, back.systems, back.tracks) == (content.name, content.systems, content.tracks)
    assert {name: tuple(values) for name, values in back.track_coords.items()} == coords
    assert back.attrs == content.attrs


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:9], lambda data: b"x" + data[1:]])
def test_a_damaged_evaluation_is_an_error(tmp_path, damage):
    path = tmp_path / "chord.scores"
    write_content(path, make_content())
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreError, match=r"chord\.scores: cannot be read: the scores are damaged"):
        read_content(path)


def test_a_journal_goes_on_where_another_process_stopped(journal):
    journal.append("chord", "v1", block(0))
    later = Journal(journal.folder)
    later.append("chord", "v1", block(1))
    assert len([*later.read("chord", "v1")]) == 2


def test_evaluations_are_kept_apart(journal):
    journal.append("chord", "v1", block(0))
    journal.append("chord_mirex2013", "v1", block(1))
    assert len([*journal.read("chord", "v1")]) == len([*journal.read("chord_mirex2013", "v1")]) == 1


def test_blocks_of_another_signature_are_passed_over_and_counted(journal):
    journal.append("chord", "v1", block(0))
    journal.append("chord", "v2", block(1))
    assert len([*journal.read("chord", "v2")]) == 1
    assert (journal.foreign, journal.torn) == (1, 0)


def test_a_file_that_is_cut_short_anywhere_is_passed_over_and_counted(journal):
    journal.append("chord", "v1", block(0))
    (path,) = journal.folder.iterdir()
    whole = path.read_bytes()
    for length in [0, 1, 9, 10, 25, 26, 27, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert [*journal.read("chord", "v1")] == []
        assert (journal.foreign, journal.torn) == (0, 1)


def test_a_file_with_any_flipped_bit_is_passed_over_and_counted(journal):
    journal.append("chord", "v1", block(0))
    journal.append("chord", "v1", block(1))
    path = min(journal.folder.iterdir())
    whole = path.read_bytes()
    for place in range(0, len(whole), 41):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        assert len([*journal.read("chord", "v1")]) == 1
        assert journal.torn == 1


def test_an_appended_file_with_more_behind_it_is_torn(journal):
    journal.append("chord", "v1", block(0))
    (path,) = journal.folder.iterdir()
    path.write_bytes(path.read_bytes() + b"\0")
    assert [*journal.read("chord", "v1")] == []


def test_a_folder_in_the_place_of_a_block_is_passed_over_counted_and_cleared(journal):
    journal.append("chord", "v1", block(0))
    (journal.folder / "00000002-chord.cells" / "inside").mkdir(parents=True)
    assert len([*journal.read("chord", "v1")]) == 1
    assert journal.torn == 1
    later = Journal(journal.folder)
    later.append("chord", "v1", block(1))
    assert len([*later.read("chord", "v1")]) == 2
    later.clear()
    assert list(journal.folder.iterdir()) == []


def test_a_block_that_vanishes_before_it_is_read_is_passed_over_and_counted(journal):
    journal.append("chord", "v1", block(0))
    (journal.folder / "00000002-chord.cells").symlink_to("gone")  # listed, and not there
    assert len([*journal.read("chord", "v1")]) == 1
    assert journal.torn == 1
    journal.clear()
    assert list(journal.folder.iterdir()) == []


def test_names_with_bytes_that_are_not_utf8_are_kept_as_escapes(journal):
    journal.append("chord", "v1", make_cells([("KO1", "caf\udce9")]))
    assert next(journal.read("chord", "v1")).track == ("caf\\udce9",)


def test_clearing_forgets_everything(journal):
    journal.append("chord", "v1", block(0))
    journal.clear()
    assert [*journal.read("chord", "v1")] == []
    assert list(journal.folder.iterdir()) == []


def test_reading_writes_nothing(journal):
    assert [*journal.read("chord", "v1")] == []
    assert not journal.folder.exists()


def test_a_folder_that_cannot_be_written_is_a_store_error_with_the_reason(tmp_path):
    (tmp_path / "journal").write_text("in the way")
    with pytest.raises(
        StoreError, match=r"journal: cannot be written: File exists; the previous contents are untouched"
    ):
        Journal(tmp_path / "journal").append("chord", "v1", block(0))


def test_a_failed_append_leaves_nothing_behind(journal, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mirflow.store.generations.os.fsync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        journal.append("chord", "v1", block(0))
    assert list(journal.folder.iterdir()) == []
