"""What strangers send: every bad upload is refused for a reason that it names, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import bz2
import gzip
import hashlib
import io
import lzma
import pickle
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirflow.campaign.file import Limits
from mirflow.campaign.server.submissions import checking, uploads
from mirflow.campaign.server.submissions.archives import ArchiveError, Unpacked, unpack
from mirflow.campaign.server.submissions.checking import CheckAnswer, Expected, _track_problems, misfit
from mirflow.campaign.server.submissions.confinement import Confinement, Confines, JobError, JobMemoryError
from mirflow.campaign.server.submissions.uploads import Upload, UploadError, receive, sweep
from mirflow.pipeline.model import Evaluation

from .campaigns import pieces, zipped

EVALUATION = {"task": "chord", "reference": "{track}.lab", "estimates": "{track:path}.lab"}
MATRICES = {"task": "retrieval", "reference": "{track}.lists", "estimates": "{track}.npy"}
LAB = "0 1 C\n"
LIMITS = Limits(size="1 MB", files=20, ratio=50, depth=3)


def tarred(*members: tarfile.TarInfo | tuple[str, bytes], mode: str = "w") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:
        for one in members:
            if isinstance(one, tuple):
                info = tarfile.TarInfo(one[0])
                info.size = len(one[1])
                archive.addfile(info, io.BytesIO(one[1]))
            else:
                archive.addfile(one)
    return data.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_entry(name: str, mode: int = 0, flags: int = 0, data: bytes = b"0 1 C\n") -> bytes:
    """A zip file with one stored file, whose header says whatever is wanted."""
    raw, check = name.encode("utf-8", "surrogateescape"), zlib.crc32(data)
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, flags, 0, 0, 0, check, len(data), len(data), len(raw), 0) + raw
    sizes = check, len(data), len(data), len(raw)
    central = struct.pack("<4s6H3I5H2I", b"PK\1\2", 0x031E, 20, flags, *[0] * 3, *sizes, *[0] * 4, mode << 16, 0) + raw
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local) + len(data), 0)
    return local + data + central + end


def unpacked(tmp_path: Path, data: bytes, filename: str, limits: Limits = LIMITS, task: Any = None) -> Unpacked:
    sent, out = tmp_path / "sent", tmp_path / "out"
    sent.write_bytes(data)
    out.mkdir()
    evaluations = [Evaluation.model_validate(task or EVALUATION)]
    return unpack([(filename, sent)], out, limits, lambda name: misfit(name, evaluations))


def refused(tmp_path: Path, data: bytes, filename: str = "a.zip", task: Any = None) -> str:
    """Why the file of an upload, or all of it, is not taken."""
    try:
        found = unpacked(tmp_path, data, filename, task=task)
    except ArchiveError as error:
        return error.message
    assert found.refused
    return "; ".join(map(" ".join, found.refused))


def array(dtype: Any) -> bytes:
    data = io.BytesIO()
    np.save(data, np.array([1, 2], dtype=dtype), allow_pickle=True)
    return data.getvalue()


WHOLE = zipped({"a.lab": LAB * 100, "b.lab": LAB})
BAD: dict[str, tuple[bytes, str, str]] = {
    "not an archive": (b"hello", "a.zip", "is not a zip file, or damaged"),
    "not a tar": (b"hello" * 500, "a.tar.gz", "is not a tar file, or damaged"),
    "empty file": (b"", "a.zip", "is not a zip file, or damaged"),
    "empty archive": (zipped({}), "a.zip", "contains no files"),
    "empty tar": (tarred(), "a.tar", "contains no files"),
    "cut zip": (WHOLE[: len(WHOLE) // 2], "a.zip", "is not a zip file, or damaged"),
    "cut tar.gz": (gzip.compress(tarred(("a.lab", LAB.encode() * 5000)))[:-60], "a.tar.gz", "damaged"),
    "cut tar.xz": (lzma.compress(tarred(("a.lab", LAB.encode() * 5000)))[:100], "a.tar.xz", "damaged"),
    "changed bytes": (WHOLE[:40] + b"\xff" + WHOLE[41:], "a.zip", "'a.lab' is damaged"),
    "bomb": (zipped({"a.lab": b"0" * 3_000_000}), "a.zip", "unpacks to more than 50 times its packed size"),
    "bomb of many files": (zipped({f"{i}.lab": b"0" * 900_000 for i in range(15)}), "a.zip", "more than 10 MB"),
    "bomb in tar.gz": (gzip.compress(tarred(("a.lab", b"0" * 9_000_000))), "a.tar.gz", "unpacks to more than"),
    "bomb in tar.bz2": (bz2.compress(tarred(("a.lab", b"0" * 12_000_000))), "a.tar.bz2", "unpacks to more than"),
    "bomb in tar.xz": (lzma.compress(tarred(("a.lab", b"0" * 12_000_000))), "a.tar.xz", "unpacks to more than"),
    "lying size": (WHOLE.replace(struct.pack("<I", 600), struct.pack("<I", 6)), "a.zip", "is damaged"),
    "nested zip": (zipped({"a.lab": zipped({"b.lab": LAB})}), "a.zip", "a.lab is an archive"),
    "nested tar": (zipped({"a.lab": tarred(("b.lab", b"0 1 C"))}), "a.zip", "a.lab is an archive"),
    "nested gzip": (zipped({"a.lab": gzip.compress(b"0 1 C")}), "a.zip", "a.lab is an archive"),
    "zip as estimate": (zipped({"more.zip": zipped({})}), "a.zip", "more.zip is an archive: send its files"),
    "traversal": (zipped({"../../etc/a.lab": LAB}), "a.zip", "'..'"),
    "traversal in tar": (tarred(("../a.lab", b"0 1 C")), "a.tar", "'..'"),
    "absolute": (zipped({"/etc/a.lab": LAB}), "a.zip", "/etc/a.lab is an absolute path"),
    "drive": (zipped({"C:/a.lab": LAB}), "a.zip", "is an absolute path"),
    "backslashes": (zip_entry("..\\a.lab"), "a.zip", "has a backslash"),
    "dot": (zipped({"a/./b.lab": LAB}), "a.zip", "has a part '.'"),
    "deep": (zipped({"a/b/c/d/e.lab": LAB, "f.lab": LAB}), "a.zip", "is nested 4 folders deep: at most 3 are allowed"),
    "control character": (zip_entry("a\x07.lab"), "a.zip", "U+0007"),
    "newline": (zip_entry("a\n.lab"), "a.zip", "U+000A"),
    "turned text": (zip_entry("a\u202ebal.lab", flags=0x800), "a.zip", "U+202E"),
    "not UTF-8": (zip_entry("\udcff\udcfe.lab"), "a.zip", "has a name that is not UTF-8"),
    "reserved": (zipped({"con.lab": LAB, "lpt1/a.lab": LAB}), "a.zip", "which is reserved on Windows"),
    "end in a space": (zipped({"a /b.lab": LAB, "c.lab": LAB}), "a.zip", "begins or ends with a space"),
    "long name": (zipped({"a" * 300 + ".lab": LAB}), "a.zip", "at most 255 are allowed"),
    "twice by case": (zipped({"a.lab": LAB, "A.lab": LAB}), "a.zip", "has the same name as 'a.lab' except for case"),
    "twice by accents": (
        zipped({"\u00e9.lab": LAB, "e\u0301.lab": LAB}),
        "a.zip",
        "except for case, encoding of accents or invisible characters",
    ),
    "twice by what is not seen": (zipped({"a.lab": LAB, "a\u200b.lab": LAB}), "a.zip", "has the same name as 'a.lab'"),
    "twice by a variant": (zipped({"a.lab": LAB, "a\ufe0f.lab": LAB}), "a.zip", "has the same name as 'a.lab'"),
    "end of a paragraph": (zip_entry("a\u2029.lab", flags=0x800), "a.zip", "U+2029"),
    "folder and file": (zipped({"a.lab/b.lab": LAB, "a.lab": LAB}), "a.zip", "a.lab has the name of a folder"),
    "file and folder": (zipped({"a.lab": LAB, "a.lab/b.lab": LAB}), "a.zip", "has the name of a folder"),
    "link in zip": (zip_entry("a.lab", mode=0o120777, data=b"/etc/passwd"), "a.zip", "a.lab is a link"),
    "device in zip": (zip_entry("a.lab", mode=0o020666), "a.zip", "a.lab is not a regular file"),
    "encrypted": (zip_entry("a.lab", flags=1), "a.zip", "a.lab is encrypted"),
    "symbolic link": (tarred(special("a.lab", tarfile.SYMTYPE, "/etc/passwd")), "a.tar", "a.lab is a link"),
    "hard link": (tarred(special("a.lab", tarfile.LNKTYPE, "/etc/passwd")), "a.tar", "a.lab is a link"),
    "device": (tarred(special("a.lab", tarfile.CHRTYPE)), "a.tar", "a.lab is not a regular file"),
    "pipe": (tarred(special("a.lab", tarfile.FIFOTYPE)), "a.tar", "a.lab is not a regular file"),
    "many files": (zipped({f"{i}.lab": LAB for i in range(21)}), "a.zip", "contains 21 files: at most 20 are allowed"),
    "audio": (zipped({"a.lab": b"RIFF1234WAVEfmt "}), "a.zip", "a.lab is audio, not an annotation"),
    "audio by name": (zipped({"a.wav": b"x"}), "a.zip", "a.wav is not one of the expected files"),
    "pickle": (zipped({"a.lab": pickle.dumps({"a": 1})}), "a.zip", "a.lab is a pickle"),
    "program": (zipped({"a.lab": b"#!/bin/sh\nrm"}), "a.zip", "a.lab is a program"),
    "other file": (zipped({"a.lab": LAB, "notes.md": "hello"}), "a.zip", "notes.md is not one of the expected files"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_archives_are_refused_by_name(what, tmp_path):
    data, filename, message = BAD[what]
    assert message in refused(tmp_path, data, filename)
    assert {one.name for one in tmp_path.iterdir()} == {"sent", "out"}  # nothing is written outside of the folder
    assert not any(one.is_symlink() for one in (tmp_path / "out").rglob("*"))


def test_arrays_of_objects_are_not_read(tmp_path):
    message = refused(tmp_path, zipped({"a.npy": array(object)}), task=MATRICES)
    assert "objects would be read as pickles" in message


@pytest.mark.parametrize("shape", ["(" * 5000, "[" * 100 + "]" * 100, "-" * 5000 + "1", "'", "(1,)\n+"])
def test_headers_of_arrays_that_cannot_be_read(shape, tmp_path):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".encode()
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    assert refused(tmp_path, zipped({"a.npy": data}), task=MATRICES) == "a.npy is not an array of numbers"


def test_arrays_of_numbers_are_taken(tmp_path):
    assert unpacked(tmp_path, zipped({"a.npy": array(float)}), "a.zip", task=MATRICES).files == ("a.npy",)


@pytest.mark.parametrize(
    ("data", "filename"),
    [
        (zipped({"a.lab": LAB, "b/c.lab": LAB}), "a.zip"),
        (tarred(("a.lab", LAB.encode()), ("./b/c.lab", LAB.encode())), "a.tar"),
        (gzip.compress(tarred(("a.lab", LAB.encode()), ("b/c.lab", LAB.encode()))), "A.TGZ"),
        (lzma.compress(tarred(("a.lab", LAB.encode()), ("b/c.lab", LAB.encode()))), "a.tar.xz"),
        (bz2.compress(tarred(("a.lab", LAB.encode()), ("b/c.lab", LAB.encode()))), "a.tar.bz2"),
    ],
    ids=["zip", "tar", "gzip", "xz", "bzip2"],
)
def test_the_same_files_have_the_same_digest_in_any_archive(data, filename, tmp_path):
    found = unpacked(tmp_path, data, filename)
    assert found.files == ("a.lab", "b/c.lab")
    one = hashlib.sha256(LAB.encode()).hexdigest()
    assert found.digest == hashlib.sha256(f"a.lab\0{one}\nb/c.lab\0{one}\n".encode()).hexdigest()
    assert (tmp_path / "out" / "b" / "c.lab").read_text() == LAB


def test_what_file_managers_add_is_left_out_and_one_folder_around_all_too(tmp_path):
    task = {"task": "chord", "reference": "{track}.lab", "estimates": "{track}.lab"}
    junk = ("draft-7/.DS_Store", "__MACOSX/draft-7/._a.lab", "draft-7/._a.lab", "draft-7/.b.lab", "draft-7/.git/c.lab")
    files = {"draft-7/a.lab": LAB, **dict.fromkeys(junk, "x")}
    found = unpacked(tmp_path, zipped(files), "a.zip", task=task)
    assert (found.files, found.refused) == (("a.lab",), ())


def test_names_in_utf8_without_its_mark_are_read_as_that(tmp_path):
    assert unpacked(tmp_path, zip_entry("caf\u00e9.lab"), "a.zip").files == ("caf\u00e9.lab",)


# In the child process


@pytest.fixture
def check(confinement: Confinement, tmp_path: Path) -> Callable[..., CheckAnswer]:
    def checked(data: bytes, filename: str = "a.zip", seconds: float = 60, memory: int = 10**9) -> CheckAnswer:
        sent, out = tmp_path / "sent", tmp_path / "out"
        sent.write_bytes(data)
        out.mkdir()
        task = {
            "sent": [[filename, str(sent)]],
            "out": str(out),
            "limits": Limits().model_dump(),
            "evaluations": [EVALUATION],
            "root": str(tmp_path),
        }
        confines = Confines(seconds, memory, 10**9, writable=(str(out),), readable=(str(sent),))
        return CheckAnswer.of(confinement.run("check", task, confines))

    return checked


def many_entries(number: int, told: int = 0xFFFF, comment: bytes = b"") -> bytes:
    """A zip file with a directory of very many files, whose end may say that they are few."""
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0)
    directory = b"".join(entry + b"%05x" % (one % 16**5) for one in range(number))
    large = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, number, number, len(directory), 0)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, len(directory), 1)
    return (
        directory
        + large
        + locator
        + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, told, told, min(told * 51, 0xFFFFFFFF), 0, len(comment))
        + comment
    )


@pytest.mark.parametrize(
    "comment", [b"", b"x" * 65_535, struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 51, 0)]
)
def test_the_number_of_files_is_looked_for_where_it_is_read(comment, tmp_path):
    """The end for small files may lie, and a comment may look like the end for large ones, or push it away."""
    data = many_entries(30_000, told=1, comment=comment)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert len(archive.infolist()) == 30_000
    assert refused(tmp_path, data) == "contains more than 20 files"


def test_a_million_files_are_refused_before_their_directory_is_read(check, monkeypatch, tmp_path_factory):
    data = many_entries(10**6)
    (finding,) = check(data).findings
    assert finding[4] == "contains more than 10000 files"
    monkeypatch.setattr(zipfile, "ZipFile", None)  # which reads the directory
    began = time.process_time()
    assert refused(tmp_path_factory.mktemp("here"), data) == "contains more than 20 files"
    assert time.process_time() - began < 2


@pytest.mark.slow
def test_a_million_files_in_a_tar_are_refused_on_the_way(check):
    header = tarfile.TarInfo("a.lab").tobuf()
    packed = gzip.compress(header * 10**6, 1)
    (finding,) = check(packed, "a.tar.gz").findings
    assert "contains more than 10000 files" in finding[4]


def test_very_many_wrong_names_are_told_in_time():
    places = [{"track": f"the_beatles-{number:05d}-some-title"} for number in range(1000)]
    own = Evaluation.model_validate(EVALUATION)
    expected = Expected("dev", own.name, places, asked=True, hidden=False, named=True)
    began = time.process_time()
    found = list(_track_problems([f"the_beetles_{number:05d}.lab" for number in range(5000)], [own], [expected]))
    assert time.process_time() - began < 20
    wrong = [one.message for one in found if one.rule == "unknown_track"]
    assert len(wrong) == 5000
    assert "did you mean 'the_beatles-00000-some-title'" in wrong[0]


def test_findings_of_two_jobs_are_one_table_whose_errors_are_kept(monkeypatch):
    monkeypatch.setattr(checking, "MAX_FINDINGS", 3)
    note, fifth, whole = (
        ("a.lab", 3, "note", "x", "m"),
        ("a.lab", 5, "error", "x", "m"),
        ("a.lab", None, "error", "x", "m"),
    )
    first = CheckAnswer(2, "d", [note, fifth, whole], 2, 0, 1, ["a.lab"], [])
    other = CheckAnswer(0, "", [("b.lab", None, "warning", "y", "m"), ("", None, "error", "y", "m")], 1, 1, 0, [], [])
    joined = first.with_findings(other)
    assert joined.findings == [("", None, "error", "y", "m"), whole, fifth]
    assert (joined.errors, joined.warnings, joined.notes, joined.files, joined.names) == (3, 1, 1, 2, ["a.lab"])


def test_a_huge_label_is_cut_in_messages(check):
    found = check(zipped({"a.lab": f"0 1 {'x' * 2_000_000}\n"}))
    assert found.errors == 1
    assert len(found.findings[0][4]) <= 1000


def test_markup_and_control_characters_in_labels_are_only_text(check):
    found = check(zipped({"<b>a.lab": "0 1 <script>alert(1)</script>\n1 2 \x1b[31mred\n"}))
    assert found.errors == 2
    assert all(one[0] == "<b>a.lab" for one in found.findings)
    assert "\x1b" not in "".join(one[4] for one in found.findings)


def test_wrong_encodings_are_findings_with_their_file(check):
    found = check(zipped({"a.lab": "0 1 C\n".encode("utf-16"), "b.lab": b"0 1 \xff\xfe\xfd\n", "c.lab": b"\0" * 99}))
    assert found.errors >= 1
    assert {one[0] for one in found.findings} <= {"a.lab", "b.lab", "c.lab"}


def test_messages_do_not_tell_where_files_are_on_the_server(check, tmp_path):
    found = check(zipped({"a.lab": "0 1 H:moll\n", "b.lab": b"\xff\xff", "c.lab": "1 0 C\n"}))
    assert found.errors >= 2
    assert str(tmp_path) not in repr(found)


def test_a_check_ends_in_its_time(check, confinement, tmp_path):
    data = zipped({f"{number}.lab": "".join(f"{n} {n + 1} C\n" for n in range(2000)) for number in range(50)})
    with pytest.raises(JobError, match=r"took longer than|processor time"):
        check(data, seconds=0.01)
    # The next one is none the worse.
    assert confinement.run("hold", {"inside": str(tmp_path)}, Confines(10))["inside"] == "written"


def test_a_check_ends_within_its_memory(check):
    header = special("a.lab", tarfile.XHDTYPE)
    header.size = 600 * 2**20
    packed = gzip.compress(header.tobuf(), 1) + gzip.compress(bytes(2**20), 1) * 600
    with pytest.raises(JobMemoryError, match="needed more memory"):
        check(packed, "a.tar.gz", memory=500 * 2**20)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"files": "1", "digest": "", "findings": [], "errors": 0, "warnings": 0, "notes": 0},
        {"files": -1, "digest": "", "findings": [], "errors": 0, "warnings": 0, "notes": 0},
        {"files": 1, "digest": "", "findings": [[1, 2, 3]], "errors": 0, "warnings": 0, "notes": 0},
    ],
)
def test_answers_of_the_child_are_not_believed_as_they_are(message):
    with pytest.raises(JobError, match=r"returned an (invalid|inconsistent) answer"):
        CheckAnswer.of(message)


# On the way in


def arrive(
    folder: Path, body: AsyncIterator[bytes], kind: str = "application/zip", limits: Limits = LIMITS, **more: Any
) -> Upload:
    return asyncio.run(receive(body, kind, folder, limits, **more))


def form(*parts: tuple[str, str | None, bytes], end: bool = True) -> bytes:
    lines = []
    for name, filename, content in parts:
        named = f'; filename="{filename}"' if filename is not None else ""
        lines.append(
            f'--xyz\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode() + content + b"\r\n"
        )
    return b"".join(lines) + (b"--xyz--\r\n" if end else b"")


MULTIPART = "multipart/form-data; boundary=xyz"


def test_a_form_with_files_is_written_as_it_comes(tmp_path):
    asked: list[dict[str, list[str]]] = []
    body = form(
        ("name", None, b"draft"), ("files", "a/b.lab", b"0 1 C\n"), ("files", "c.lab", b""), ("split", None, b"dev")
    )
    found = arrive(tmp_path, pieces(body, 7), MULTIPART, admit=lambda fields: asked.append(dict(fields)))
    assert found.names == ("a/b.lab", "c.lab")
    assert found.fields == {"name": ["draft"], "split": ["dev"]}
    assert asked == [{"name": ["draft"]}]
    assert (tmp_path / found.id / "received" / "000000").read_bytes() == b"0 1 C\n"
    assert found.size == 6


def test_what_is_not_admitted_is_not_written(tmp_path):
    def admit(fields: object) -> None:
        raise UploadError("the quota is used")

    with pytest.raises(UploadError, match="the quota is used"):
        arrive(tmp_path, pieces(form(("files", "a.lab", b"x"))), MULTIPART, admit=admit)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "kind", "status", "message"),
    [
        (b"x" * 1_000_001, "application/zip", 413, "too large: at most 1 MB"),
        (b"x", "text/html", 415, "send a form with files, or one of application/zip"),
        (b"x", "multipart/form-data", 415, "send a form with files"),
        (form(("files", "a.lab", b"x"), end=False), MULTIPART, 400, "the form"),
        (form(("name", None, b"x")), MULTIPART, 400, "no file was sent"),
        (form(("files", "", b"")), MULTIPART, 400, "no file was sent"),
        (form(*[("files", f"{n}.lab", b"x") for n in range(21)]), MULTIPART, 413, "too many files: at most 20"),
        (form(("name", None, b"x" * 10_001)), MULTIPART, 413, "the field 'name' is longer than 10000 bytes"),
        (form(*[("name", None, b"x")] * 51), MULTIPART, 400, "at most 50 are allowed"),
        (form(("name", None, b"\xff")), MULTIPART, 400, "the field 'name' is not UTF-8"),
        (form(("files", "a" * 1001, b"x")), MULTIPART, 400, "file name too long .1001 characters."),
        (b"--nothing", MULTIPART, 400, "malformed form"),
        (b"--xyz\r\nNo-Name: 1\r\n\r\nx\r\n--xyz--\r\n", MULTIPART, 400, "a part of the form has no name"),
    ],
)
def test_bad_bodies_leave_nothing(body, kind, status, message, tmp_path):
    with pytest.raises(UploadError, match=message) as caught:
        arrive(tmp_path, pieces(body), kind)
    assert caught.value.status == status
    assert list(tmp_path.iterdir()) == []


def test_slow_clients_are_cut_off(tmp_path):
    async def drops() -> AsyncIterator[bytes]:
        while True:
            yield b"x"
            await asyncio.sleep(0.01)

    with pytest.raises(UploadError, match=r"took longer than 0\.2 seconds") as caught:
        arrive(tmp_path, drops(), limits=Limits(seconds=0.2))
    assert caught.value.status == 408
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_after_the_time_is_over(tmp_path, monkeypatch):
    write, ended = uploads._Files.write, []

    def write_slowly(self: uploads._Files, data: bytes) -> None:
        time.sleep(0.5)
        write(self, data)
        ended.append(list(tmp_path.iterdir()))

    monkeypatch.setattr(uploads._Files, "write", write_slowly)
    with pytest.raises(UploadError, match="took longer than"):
        arrive(tmp_path, pieces(b"x"), limits=Limits(seconds=0.1))
    # What is written by a thread is waited for, and goes with the rest.
    assert [len(one) for one in ended] == [1]
    assert list(tmp_path.iterdir()) == []


def test_half_an_upload_leaves_nothing(tmp_path):
    async def broken() -> AsyncIterator[bytes]:
        yield b"PK"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        arrive(tmp_path, broken())
    assert list(tmp_path.iterdir()) == []


def test_large_uploads_are_not_held_in_memory(tmp_path):
    import tracemalloc

    async def large() -> AsyncIterator[bytes]:
        for _ in range(512):
            yield bytes(2**16)

    tracemalloc.start()
    found = arrive(tmp_path, large(), limits=Limits())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.size == 2**25
    assert peak < 2**22


def test_what_another_worker_sweeps_away_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "left").mkdir()
    is_dir = Path.is_dir

    def is_dir_no_more(path: Path) -> bool:
        found = is_dir(path)
        if path.name == "left":
            path.rmdir()
        return found

    monkeypatch.setattr(Path, "is_dir", is_dir_no_more)
    assert sweep(tmp_path, frozenset(), time.time() + uploads._ORPHAN + 1) == []


def test_what_a_killed_server_left_is_swept_away(tmp_path):
    for name in ("known", "left", "new"):
        (tmp_path / name).mkdir()
    later = time.time() + uploads._ORPHAN + 1
    assert sweep(tmp_path, frozenset({"known"}), time.time()) == []
    assert sweep(tmp_path, frozenset({"known", "new"}), later) == ["left"]
    assert {one.name for one in tmp_path.iterdir()} == {"known", "new"}
