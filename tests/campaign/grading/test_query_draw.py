"""Queries are drawn at random or by genre, tables are read and written, and clips are cut."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.campaign.grading.query_draw import (
    CsvTable,
    PieceTable,
    draw,
    read_names,
    read_pieces,
    read_queries,
    read_table,
    write_queries,
    write_table,
)
from mirflow.errors import GradingError, InvalidAnnotationError, QueryError, UnreadableError

from ...commands import invoke, refused

names = (
    st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1, max_size=8).map(str.strip).filter(bool)
)


@settings(deadline=None)
@given(st.lists(st.tuples(names, names), max_size=5), st.text("abc #:,", max_size=9))
def test_what_is_written_is_read_again(rows, note):
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        write_table(path, ("query", "candidate"), rows, {"seed": 7, "note": note})
        table = read_table(path)
    assert table.rows == tuple(rows)
    assert table.notes == {"seed": "7", "note": " ".join(note.split())}


def test_lines_are_those_of_the_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('# seed: 1\n\nquery,candidate\na,b\n\n"c\nd",e\nf,g\n')
    assert read_table(path).lines == (4, 7, 8)


def test_a_private_table_is_never_read_by_others_and_the_old_one_stays_until_it_is_whole(tmp_path, monkeypatch):
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


GENRES = ("blues", "jazz", "rock")


def collection(rows: list[tuple[str, str, str]]) -> PieceTable:
    columns = ("piece", "genre", "year")
    return PieceTable(CsvTable("pieces.csv", columns, tuple(rows), tuple(range(2, len(rows) + 2))), "piece")


MANY = [(f"p{number:02}", GENRES[number % 3], str(1960 + number)) for number in range(30)]


class TestDraw:
    @given(st.integers(1, 30), st.integers(0, 9), st.randoms())
    def test_a_seed_draws_the_same_pieces_whatever_the_order_of_the_table(self, number, seed, random):
        drawn = draw(collection(MANY), number, seed=seed)
        assert len(set(drawn)) == number
        shuffled = list(MANY)
        random.shuffle(shuffled)
        again = draw(collection(shuffled), number, seed=seed)
        assert set(again) == set(drawn)
        assert again == [name for name, *_ in shuffled if name in drawn]

    def test_seeds_differ(self):
        assert len({tuple(draw(collection(MANY), 5, seed=seed)) for seed in range(20)}) > 15

    def test_as_many_of_each_genre(self):
        drawn = draw(collection([*MANY, ("unknown", "", "")]), each=10, by="genre", seed=1)
        genre = {name: own for name, own, _ in MANY}
        assert Counter(genre[name] for name in drawn) == dict.fromkeys(GENRES, 10)

    def test_another_number_of_each_collection(self):
        drawn = draw(collection(MANY), each={"blues": 6, "rock": 5}, by="genre", seed=1)
        genre = {name: own for name, own, _ in MANY}
        assert Counter(genre[name] for name in drawn) == {"blues": 6, "rock": 5}
        assert [name for name in drawn if genre[name] == "blues"] == draw(
            collection([row for row in MANY if row[1] == "blues"]), 6, seed=1
        )

    def test_numbers_of_each_on_the_command_line(self, tmp_path):
        table = tmp_path / "pieces.csv"
        table.write_text("\n".join(["piece,genre,year", *map(",".join, MANY)]))
        words = ("grading", "draw", table, "--by", "genre", "--seed", 1, "-o", tmp_path / "q.csv", "--each")
        found = invoke(*words, "blues=6, rock=5", code=0).stderr
        assert found.split()[found.split().index("blues") + 1] == "6"
        assert found.split()[found.split().index("rock") + 1] == "5"
        assert read_table(tmp_path / "q.csv").notes["of each"] == "blues=6, rock=5 by genre"
        for wrong in ("0", "many", "blues=", "blues=1,blues=2", "blues=1,2"):
            assert "each" in refused(*words, wrong, "--force")

    def test_some_pieces_only(self):
        drawn = draw(collection(MANY), 8, where="genre == 'jazz' and year < 1990", exclude=["p01", "p04"])
        assert set(drawn) == {name for name, genre, _ in MANY if genre == "jazz"} - {"p01", "p04"}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"number": 31}, "30 pieces to draw 31 from"),
            ({"each": 11, "by": "genre"}, "10 pieces of genre 'blues' to draw 11 from"),
            ({"each": {"jazz": 11}, "by": "genre"}, "10 pieces of genre 'jazz' to draw 11 from"),
            ({"each": {"jaz": 1}, "by": "genre"}, "no piece to draw from has the genre 'jaz'; did you mean 'jazz'"),
            ({"number": 1, "where": "year > 3000"}, "no pieces left"),
            ({"number": 1, "exclude": ["p99"]}, "cannot leave out 'p99': not a piece"),
            ({"number": 1, "each": 1}, "give the number of queries"),
            ({"each": 1}, "give the number of queries"),
            ({"number": 0}, "expected at least one"),
        ],
    )
    def test_what_cannot_be_drawn(self, options, message):
        with pytest.raises(GradingError, match=message):
            draw(collection(MANY), **options)

    def test_a_column_that_there_is_not(self):
        with pytest.raises(InvalidAnnotationError, match="no column 'gnre'; did you mean 'genre'"):
            draw(collection(MANY), each=1, by="gnre")
        with pytest.raises(QueryError, match="equality is =="):
            draw(collection(MANY), 1, where="genre =")


class TestTables:
    def test_queries_keep_what_is_known_of_them_and_how_they_were_drawn(self, tmp_path):
        path = tmp_path / "queries.csv"
        pieces = collection([("#9", "jazz", "1968"), ("a, b", "rock", "")])
        write_queries(pieces, ["#9", "a, b"], path, drawn_from="", seed=7)
        assert path.read_text() == '# seed: 7\nquery,genre,year\n"#9","jazz","1968"\n"a, b",rock,\n'
        assert read_table(path).notes == {"seed": "7"}
        assert read_queries(path) == ["#9", "a, b"]

    def test_names_are_a_list_or_a_table(self, tmp_path):
        path = tmp_path / "names.txt"
        path.write_text("ada\nbob\n")
        assert read_names(path) == ["ada", "bob"]
        path.write_text("track,year\na,1\nb,2\n")
        assert read_names(path) == ["a", "b"]

    @pytest.mark.parametrize(
        ("text", "error", "message"),
        [
            ("", UnreadableError, r"p\.csv: empty table"),
            ("genre\njazz\n", InvalidAnnotationError, r"p\.csv: no column with names of pieces: name it piece"),
            ("piece,genre\na,jazz\n\na,rock\n", InvalidAnnotationError, r"p\.csv:4: 'a' occurs twice, first on line 2"),
            ("piece,genre\n,jazz\n", InvalidAnnotationError, r"p\.csv:2: missing value in column 'piece'"),
            ("# seed: 1\npiece,genre\na\n", InvalidAnnotationError, r"p\.csv:3: has 1 columns, but the header has 2"),
            ("piece,piece\na,b\n", InvalidAnnotationError, r"p\.csv:1: duplicate column 'piece'"),
            ('piece\n"a\n', UnreadableError, r"p\.csv:2: not a table"),
            ("piece\n\xff\n", UnreadableError, r"p\.csv: .*UTF-8|utf-8"),
        ],
    )
    def test_what_is_wrong_is_told_with_its_line(self, tmp_path, text, error, message):
        path = tmp_path / "p.csv"
        path.write_text(text, encoding="latin-1")
        with pytest.raises(error, match=message):
            read_pieces(path)


RATE = 1000


@pytest.fixture
def audio(tmp_path: Path) -> Path:
    """Two recordings in which each sample says where it is, the second one shorter than a clip."""
    folder = tmp_path / "audio"
    folder.mkdir()
    for name, seconds in (("long", 100), ("short", 2)):
        ramp = np.arange(seconds * RATE) / 2**17
        soundfile.write(folder / f"{name}.wav", np.stack([ramp, -ramp], axis=1), RATE, subtype="DOUBLE")
    return folder


def test_a_clip_is_the_middle_of_its_recording(audio, tmp_path):
    out = tmp_path / "clips"
    invoke("grading", "clip", *sorted(audio.iterdir()), "-o", out, code=0)
    samples, rate = soundfile.read(out / "long.wav")
    assert (rate, samples.shape) == (RATE, (30 * RATE, 2))
    np.testing.assert_allclose(samples[[0, -1], 0] * 2**17, [35 * RATE, 65 * RATE - 1], atol=4)
    assert soundfile.info(out / "short.wav").duration == 2


def test_another_length_and_format(audio, tmp_path):
    invoke("grading", "clip", audio / "long.wav", "--seconds", 5, "--to", "flac", "-o", tmp_path / "clips", code=0)
    assert soundfile.info(tmp_path / "clips" / "long.flac").duration == 5


def test_what_cannot_be_cut_is_named(audio, tmp_path):
    (tmp_path / "no.wav").write_text("no sound")
    assert "no.wav: cannot read the recording" in refused("grading", "clip", tmp_path / "no.wav", "-o", tmp_path / "c")
    assert "is the recording" in refused("grading", "clip", audio / "long.wav", "-o", audio, "--force")
    (tmp_path / "c").mkdir(exist_ok=True)
    (tmp_path / "c" / "long.wav").touch()
    assert "exists" in refused("grading", "clip", audio / "long.wav", "-o", tmp_path / "c")
