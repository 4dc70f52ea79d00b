"""mir_eval's loaders of delimited text."""

from __future__ import annotations

import inspect
from io import StringIO
from pathlib import Path

import mir_eval
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import wavfile

from mirflow.errors import MirflowWarning
from mirflow.metrics import io

LOADERS = (
    *("load_delimited", "load_events", "load_labeled_events", "load_intervals", "load_labeled_intervals"),
    *("load_valued_intervals", "load_time_series", "load_ragged_time_series", "load_patterns"),
    *("load_key", "load_tempo", "load_wav"),
)


def test_every_public_name_of_mir_eval_is_there() -> None:
    theirs = {
        name for name, one in inspect.getmembers(mir_eval.io, inspect.isfunction) if one.__module__ == "mir_eval.io"
    }
    assert {name for name in theirs if not name.startswith("_")} == set(LOADERS) == set(io.__all__)


_fields = st.one_of(st.floats(0, 100).map(repr), st.sampled_from(("a", "C:maj(9)/3", "#", "é", "")))
_blanks = st.sampled_from((" ", "\t", "  ", "\u00a0", "\x1c"))
_lines = st.lists(st.one_of(_fields, _blanks), max_size=7).map("".join)


@given(
    text=st.lists(_lines, max_size=4).map("\n".join), columns=st.sampled_from(([float], [float, str], [str, str, str]))
)
@pytest.mark.parametrize("delimiter", [r"\s+", ",", r"\t"])
def test_columns_are_mir_evals(delimiter: str, text: str, columns: list[type]) -> None:
    try:
        expected = mir_eval.io.load_delimited(StringIO(text), columns, delimiter)
    except ValueError:
        with pytest.raises(ValueError, match=r"^(Expected \d columns, got|Couldn't convert value)"):
            io.load_delimited(StringIO(text), columns, delimiter)
    else:
        assert io.load_delimited(StringIO(text), columns, delimiter) == expected


def test_the_last_column_takes_the_rest_of_the_line() -> None:
    assert io.load_delimited(StringIO("1.5  the   end \n"), [float, str]) == ([1.5], ["the   end"])


def test_an_empty_file_has_empty_columns() -> None:
    assert io.load_delimited(StringIO(""), [float, str]) == ([], [])
    assert io.load_intervals(StringIO("")).shape == (0, 2)


def test_comments_are_skipped_as_asked() -> None:
    text = "; note\n10 20\n"
    assert io.load_delimited(StringIO(text), [int, int], comment=";") == ([10], [20])
    for comment in ("#", None):
        with pytest.raises(ValueError, match=r"^Couldn't convert value ; using int found at .*:1:\n\t; note\n$"):
            io.load_delimited(StringIO(text), [int, int], comment=comment)


def test_a_missing_column_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "x.lab"
    path.write_text("# note\n1 2 a\n3 4\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"^Expected 3 columns, got 2 at {path}:3:\n\t3 4\n$"):
        io.load_labeled_intervals(path)


def test_a_value_that_is_refused_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "x.lab"
    path.write_text("1 2\n3 x\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"^Couldn't convert value x using float found at {path}:2:\n\t3 x\n$"):
        io.load_intervals(path)


def test_a_converter_may_fail_in_its_own_way() -> None:
    def strict(text: str) -> int:
        return {"one": 1}[text]

    with pytest.raises(ValueError, match=r"^Couldn't convert value two using strict found at"):
        io.load_delimited(StringIO("one\ntwo"), [strict])


@pytest.mark.parametrize("load", [lambda: io.load_events(None), lambda: io.load_ragged_time_series(None)])
def test_what_is_no_file_is_refused(load: object) -> None:
    assert callable(load)
    with pytest.raises(OSError, match=r"^Invalid file-or-path object: None$"):
        load()


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.lab"):
        io.load_events(str(tmp_path / "nowhere.lab"))


def test_an_open_file_stays_open() -> None:
    file = StringIO("1\n2\n")
    assert io.load_events(file).tolist() == [1.0, 2.0]
    assert not file.closed


@pytest.mark.parametrize(
    ("load", "text", "message"),
    [
        (io.load_events, "10\n9", r"^Events should be in increasing order\.$"),
        (io.load_labeled_events, "10 a\n9 b", r"^Events should be in increasing order\.$"),
        (io.load_intervals, "10 9\n9 10", "^All interval durations must be strictly positive$"),
        (io.load_labeled_intervals, "-1 9 a\n9 10 b", "^Negative interval times found$"),
        (io.load_valued_intervals, "10 9 5\n9 10 6", "^All interval durations must be strictly positive$"),
    ],
)
def test_odd_times_are_loaded_with_a_warning(load: object, text: str, message: str) -> None:
    assert callable(load)
    with pytest.warns(MirflowWarning, match=message) as seen:
        loaded = load(StringIO(text))
    assert seen[0].filename == __file__
    times = loaded[0] if isinstance(loaded, tuple) else loaded
    assert times.size == len(text.split()) - 2 * (
        load in (io.load_labeled_intervals, io.load_labeled_events, io.load_valued_intervals)
    )


def test_series_and_values_are_arrays() -> None:
    times, values = io.load_time_series(StringIO("0.0,440\n0.5,220"), delimiter=",")
    np.testing.assert_array_equal(times, [0.0, 0.5], strict=True)
    np.testing.assert_array_equal(values, [440.0, 220.0], strict=True)
    np.testing.assert_array_equal(io.load_valued_intervals(StringIO("0 1 7"))[1], [7.0], strict=True)


def test_ragged_series_have_as_many_values_as_there_are() -> None:
    text = "# note\n0 1 2\n3 4\n5\n"
    times, values = io.load_ragged_time_series(StringIO(text), int)
    expected_times, expected_values = mir_eval.io.load_ragged_time_series(StringIO(text), int)
    np.testing.assert_array_equal(times, expected_times)
    assert [row.tolist() for row in values] == [row.tolist() for row in expected_values] == [[1, 2], [4], []]


def test_the_header_of_a_ragged_series_is_skipped() -> None:
    assert io.load_ragged_time_series(StringIO("time f0\n0.5 440"), header=True)[0].tolist() == [0.5]


@pytest.mark.parametrize(
    ("text", "header", "message"),
    [
        ("10 a 30", False, r"^Couldn't convert value \['a', '30'\] using float found at .*:1:"),
        ("1 2\na 10", False, "^Couldn't convert value a using float found at .*:2:"),
        ("x y z\na 10 30", True, "^Couldn't convert value a using float found at .*:2:"),
    ],
)
def test_what_is_no_number_in_a_ragged_series_is_refused(text: str, header: bool, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        io.load_ragged_time_series(StringIO(text), header=header)


def test_a_key_is_one_row() -> None:
    assert io.load_key(StringIO("# note\nC#,minor\n"), delimiter=",") == "C# minor"
    for text in ("C major\nG major", ""):
        with pytest.raises(ValueError, match=r"^Key file should contain only one line\.$"):
            io.load_key(StringIO(text))


def test_an_odd_key_is_loaded_with_a_warning() -> None:
    with pytest.warns(MirflowWarning, match=r"^Mode 'dorian' is invalid; must be 'major', 'minor' or 'other'$") as seen:
        assert io.load_key(StringIO("D dorian")) == "D dorian"
    assert seen[0].filename == __file__


def test_tempi_are_one_row() -> None:
    tempi, weight = io.load_tempo(StringIO("# note\n60 120 0.25\n"))
    np.testing.assert_array_equal(tempi, [60.0, 120.0], strict=True)
    assert weight == 0.25
    for text in ("60 120 0.25\n60 120 0.25", ""):
        with pytest.raises(ValueError, match=r"^Tempo file should contain only one line\.$"):
            io.load_tempo(StringIO(text))


@pytest.mark.parametrize("weight", ["1.5", "-0.1", "nan"])
def test_a_salience_out_of_range_is_refused(weight: str) -> None:
    with pytest.raises(ValueError, match=rf"^Invalid weight: {weight}$"):
        io.load_tempo(StringIO(f"60 120 {weight}"))


@pytest.mark.parametrize(
    ("text", "message"),
    [("-60 120 1", "must be non-negative numbers$"), ("0 0 1", "must have one value greater than zero$")],
)
def test_odd_tempi_are_loaded_with_a_warning(text: str, message: str) -> None:
    with pytest.warns(MirflowWarning, match=message) as seen:
        assert io.load_tempo(StringIO(text))[0].tolist() == [float(value) for value in text.split()[:2]]
    assert seen[0].filename == __file__


def test_keys_and_tempi_of_the_real_data_are_mir_evals(shared_data: Path) -> None:
    folder = shared_data / "mir_eval-fixtures"
    keys, tempi = sorted((folder / "key").glob("*.txt")), sorted((folder / "tempo").glob("[er]*.lab"))
    assert keys
    assert tempi
    for path in keys:
        assert io.load_key(path) == mir_eval.io.load_key(path)
    for path in tempi:
        (found, weight), (expected, expected_weight) = io.load_tempo(path), mir_eval.io.load_tempo(path)
        np.testing.assert_array_equal(found, expected, strict=True)
        assert weight == expected_weight


def test_patterns_of_the_real_data_are_mir_evals(shared_data: Path) -> None:
    paths = sorted((shared_data / "mir_eval-fixtures" / "pattern").glob("*.txt"))
    assert paths
    for path in paths:
        assert io.load_patterns(path) == mir_eval.io.load_patterns(path)


def test_chords_of_the_real_data_are_mir_evals(shared_data: Path) -> None:
    paths = sorted((shared_data / "mir_eval-fixtures" / "chord").glob("*.lab"))
    assert paths
    for path in paths:
        intervals, labels = io.load_labeled_intervals(path)
        expected, expected_labels = mir_eval.io.load_labeled_intervals(path)
        np.testing.assert_array_equal(intervals, expected, strict=True)
        assert labels == expected_labels


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("mono", [True, False])
@pytest.mark.filterwarnings("ignore:mir_eval.io.load_wav:FutureWarning")
def test_samples_of_wav_files_are_mir_evals(tmp_path: Path, dtype: type, channels: int, mono: bool) -> None:
    info = np.iinfo(dtype)
    samples = np.random.default_rng(0).integers(info.min, info.max, (50, channels), dtype=dtype)
    wavfile.write(tmp_path / "a.wav", 8000, samples)
    (ours, rate), (theirs, expected) = (
        io.load_wav(tmp_path / "a.wav", mono),
        mir_eval.io.load_wav(tmp_path / "a.wav", mono),
    )
    assert rate == expected
    assert ours.tolist() == theirs.tolist()


def test_other_samples_are_refused_as_by_mir_eval(tmp_path: Path) -> None:
    wavfile.write(tmp_path / "a.wav", 8000, np.zeros(4, dtype=np.float32))
    with pytest.raises(ValueError, match=r"Got unexpected \.wav data type float32"):
        io.load_wav(tmp_path / "a.wav")
