"""Files that are called as text or JAMS and are something else: what to do about them."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import mirflow
from mirflow.cli import cli
from mirflow.errors import AnnotationError, UnreadableError
from mirflow.readers.content import read_bytes
from mirflow.readers.options import Reading
from mirflow.readers.sources import parse_file
from mirflow.readers.tables.table import open_table

JAMS = json.dumps(
    {"annotations": [{"namespace": "chord", "data": [{"time": 0, "duration": 1, "value": "C", "confidence": 1}]}]}
)


@pytest.mark.parametrize("suffix", ["lab", "jams", "csv", "mid", "svl"])
def test_an_archive_is_to_be_unpacked(tmp_path: Path, suffix: str) -> None:
    task = {"mid": "transcription", "svl": "melody"}.get(suffix, "chord")
    file = tmp_path / f"a.{suffix}"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.lab", "0 1 C\n")
    with pytest.raises(UnreadableError, match=rf"a\.{suffix}: is a zip archive; unpack it"):
        mirflow.load(file, task=task)
    file.write_bytes(gzip.compress(b"0 1 C\n"))
    with pytest.raises(UnreadableError, match="is compressed with gzip; unpack it"):
        mirflow.load(file, task=task)


@pytest.mark.parametrize("suffix", [".jamz", ".jams.gz"])
def test_compressed_jams_is_limited_by_its_contents_and_must_be_whole(tmp_path: Path, suffix: str) -> None:
    file, data = tmp_path / f"a{suffix}", gzip.compress(b"{}" + b" " * 5000)
    file.write_bytes(data)
    assert read_bytes(file, 5002).rstrip() == b"{}"
    with pytest.raises(UnreadableError, match="too large: more than 0 MB when decompressed"):
        read_bytes(file, 5001)
    file.write_bytes(data[:-9])
    with pytest.raises(UnreadableError, match=r"is not valid gzip: .*; download the file again"):
        read_bytes(file, 5002)


def test_a_spreadsheet_is_to_be_saved_as_csv(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.csv", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    with pytest.raises(UnreadableError, match="is a spreadsheet, not text; save it as csv"):
        mirflow.load(tmp_path / "a.csv", task="chord")


@pytest.mark.parametrize("task", ["chord", "beat", "melody", "multipitch", "key", "tempo", "pattern", "tagging"])
def test_jams_in_a_json_file_names_the_format_to_declare(tmp_path: Path, task: str) -> None:
    (tmp_path / "a.json").write_text(JAMS)
    remedy = "; if it is JAMS, declare format: jams" if task == "chord" else "$"
    with pytest.raises(UnreadableError, match=rf"a\.json: is JSON \(JAMS files end in \.jams\), not text{remedy}"):
        mirflow.load(tmp_path / "a.json", task=task)
    assert mirflow.load(tmp_path / "a.json", task="chord", format="jams").label.values.tolist() == ["C"]


def test_a_table_that_is_jams_names_the_format_too(tmp_path: Path) -> None:
    (tmp_path / "genres.json").write_text(JAMS)
    with pytest.raises(UnreadableError, match=r"genres\.json: is JSON \(JAMS files end in \.jams\)"):
        mirflow.load_collection(tmp_path / "genres.json", "classification")


def test_folders_of_json_and_of_archives_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(JAMS)
    with pytest.raises(AnnotationError, match=r"if its \.json files are JAMS, rename them to \.jams"):
        mirflow.evaluate_paths(tmp_path, tmp_path, "chord")
    (tmp_path / "b.zip").write_bytes(b"PK")
    shown = CliRunner().invoke(cli, ["check", str(tmp_path), "--task", "chord"])
    assert shown.exit_code == 2
    assert "unpack its .zip files" in shown.output


TEXTS = {
    ("chord", "lab"): "0 1 C:maj\n1 2 N\n",
    ("segment", "csv"): "start,end,label\n0,1,caf\u00e9\n",
    ("melody", "txt"): "0.0 220\n0.1 0\n",
    ("multipitch", "txt"): "0.0 220 440\n0.1\n",
    ("key", "txt"): "C minor\n",
    ("tempo", "txt"): "60 120 0.5\n",
    ("pattern", "txt"): "pattern1\noccurrence1\n0, 60\n",
    ("lyrics", "txt"): "d\u00e9j\u00e0 vu\nencore\n",
    ("lyrics", "lrc"): "[00:01.00]d\u00e9j\u00e0\n[00:02.00]vu\n",
    ("lyrics", "srt"): "1\n00:00:01,000 --> 00:00:02,000\nd\u00e9j\u00e0\n",
    ("segment", "textgrid"): (
        'File type = "ooTextFile"\nObject class = "TextGrid"\n\nxmin = 0\nxmax = 2\ntiers? <exists>\nsize = 1\n'
        'item []:\n    item [1]:\n        class = "IntervalTier"\n        name = "words"\n        xmin = 0\n'
        "        xmax = 2\n        intervals: size = 1\n        intervals [1]:\n            xmin = 0\n"
        '            xmax = 2\n            text = "h\u00e9llo"\n'
    ),
}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize(("task", "format"), TEXTS)
def test_a_byte_order_mark_says_how_text_is_encoded(task: str, format: str, encoding: str) -> None:
    if format in ("srt", "textgrid"):
        pytest.importorskip("praatio")
    text, reading = TEXTS[task, format], Reading.of(task)
    plain, marked = (parse_file(text.encode(name), reading, format, "a") for name in ("utf-8", encoding))
    assert plain.labels == marked.labels
    assert {name: column.tolist() for name, column in plain.columns.items()} == {
        name: column.tolist() for name, column in marked.columns.items()
    }


def test_tables_that_are_read_in_parts_refuse_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes("q1 Q0 d1 1 0.5 x\n".encode("utf-16"))
    with pytest.raises(UnreadableError, match=r"is UTF-16; .* must be UTF-8"):
        open_table(str(path), Reading.of("retrieval"), "a.run")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!DOCTYPE html>\n<html>404</html>", "is a web page"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n", "is a pointer .*git lfs pull"),
        ("/annex/objects/SHA256E-s1--ab.txt\n", "is a pointer .*git annex get"),
        ("<<<<<<< HEAD\n0.5\n=======\n0.6\n>>>>>>> other\n", "holds both sides of a conflict of git"),
        ("\x80\x02]q\x00.", "is a pickle of Python; pass the arrays"),
    ],
)
@pytest.mark.parametrize(("name", "task"), [("a.txt", "lyrics"), ("a.jams", "chord"), ("a.mid", "transcription")])
def test_what_stands_in_place_of_a_file_is_none(name: str, task: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(UnreadableError, match=message):
        mirflow.load(tmp_path / name, task)
