"""Tables of a round as files: what is written is read again, whatever names hold, and only by whom it should be."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.campaign.grading.query_draw import read_table, write_table

names = (
    st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1, max_size=8).map(str.strip).filter(bool)
)


@settings(deadline=None)
@given(st.lists(st.tuples(names, names), max_size=5), st.text("abc #:,", max_size=9))
def test_what_is_written_is_read_again(rows: list[tuple[str, str]], note: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        write_table(path, ("query", "candidate"), rows, {"seed": 7, "note": note})
        table = read_table(path)
    assert table.rows == tuple(rows)
    assert table.notes == {"seed": "7", "note": " ".join(note.split())}


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('# seed: 1\n\nquery,candidate\na,b\n\n"c\nd",e\nf,g\n')
    assert read_table(path).lines == (4, 7, 8)


def test_a_private_table_is_never_read_by_others_and_the_old_one_stays_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key.csv"
    write_table(path, ("a",), [("old",)], private=True)
    modes = []
    replace = Path.replace

    def look(new: Path, target: Path) -> Path:
        modes.append(new.stat().st_mode & 0o777)
        assert read_table(path).rows == (("old",),)
        return replace(new, target)

    monkeypatch.setattr(Path, "replace", look)
    write_table(path, ("a",), [("new",)], private=True)
    assert modes == [0o600]
    assert read_table(path).rows == (("new",),)
    assert [one.name for one in tmp_path.iterdir()] == ["key.csv"]
