"""Pipelines and folders that are made to trip a run: each is an error that says what to do, or a cell."""

from __future__ import annotations

import errno
from contextlib import suppress

import pytest

import mirflow
from mirflow.errors import AnnotationError, PipelineError, StoreError, UnreadableError
from mirflow.pipeline import document
from mirflow.pipeline.document import parse_document, without_folders
from mirflow.readers.content import read_bytes
from mirflow.readers.delimited import DelimitedOptions
from mirflow.readers.label_maps import read_label_map
from mirflow.readers.patterns import Pattern
from mirflow.store.write import save
from tests.commands import invoke
from tests.datasets import write_dataset, write_pipeline


class TestYaml:
    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("<<: x\nb: 1\n", "<<: expected a mapping (line 1)"),
            ("<<: [{a: 1}, 5]\n", "<<: expected a mapping (line 1)"),
            ("a: !!bool x\n", "a: not a value: 'x' (line 1)"),
            ("a: !!int ''\n", "a: not a value: '' (line 1)"),
            ("a: !!float '-'\n", "a: not a value: '-' (line 1)"),
        ],
    )
    def test_values_that_are_none_are_problems(self, text, problem):
        assert [str(one) for one in parse_document(text).problems] == [problem]

    def test_a_large_file_is_refused_before_it_is_whole(self, monkeypatch):
        monkeypatch.setattr(document, "MAX_VALUES", 100)
        made = []
        compose = document.yaml.SafeLoader.compose_node
        monkeypatch.setattr(
            document.yaml.SafeLoader, "compose_node", lambda *given: made.append(given) or compose(*given)
        )
        text = "a: [" + "1," * 10_000 + "]\n"
        assert [str(one) for one in parse_document(text).problems] == [
            "has more than 100 values: too many for a file of this kind"
        ]
        assert without_folders(text) == ""
        assert len(made) <= 2 * 201

    def test_a_map_of_labels_is_guarded_too(self, tmp_path):
        (tmp_path / "m.yaml").write_text("equal: !!bool x\n")
        with pytest.raises(AnnotationError, match=r"m\.yaml: is not valid YAML"):
            read_label_map(tmp_path / "m.yaml")

    @pytest.mark.parametrize("encoding", ["undefined", "utf-88", "rot13", "a\0b"])
    def test_an_encoding_that_is_none_is_refused_before_anything_is_read(self, encoding):
        with pytest.raises(AnnotationError, match="unknown encoding"):
            DelimitedOptions(encoding=encoding)

    def test_text_that_an_odd_encoding_cannot_read_is_unreadable(self, tmp_path):
        (tmp_path / "a.txt").write_bytes(b"xn--\xff\n")
        with pytest.raises(UnreadableError, match=r"a\.txt: cannot be decoded"):
            mirflow.load(tmp_path / "a.txt", "onset", encoding="idna")


class TestNames:
    def test_evaluations_that_differ_in_capitals_are_refused(self, tmp_path):
        path = write_dataset(tmp_path, tracks=1)
        text = path.read_text()
        second = text[text.index("  - task") : text.index("store:")].replace(
            "- task: chord", "- task: chord\n    name: Chord"
        )
        path.write_text(text.replace("store:", second + "store:"))
        with pytest.raises(PipelineError, match="has the name 'chord', on some file systems the same as 'Chord'"):
            mirflow.run(path)

    def test_so_are_groups_of_a_store(self, tmp_path):
        scores = mirflow.score({"a": [1.0]}, {"a": [1.0]}, "onset")
        save(scores, tmp_path / "s.zarr", "onset")
        with pytest.raises(StoreError, match="duplicate group among onset, Onset"):
            save(scores, tmp_path / "s.zarr", "Onset")

    def test_a_long_name_of_a_column_is_refused_before_anything_is_computed(self, tmp_path, monkeypatch):
        write_dataset(tmp_path, tracks=1)
        (tmp_path / "meta.csv").write_text(f"track,{'x' * 300}\nt00,1\n")
        monkeypatch.setattr("mirflow.engine.runs.execute", lambda *_: pytest.fail("computed"))
        with pytest.raises(PipelineError, match=r"tracks: the column 'x{40}'\.\.\. has a name of more than 240 bytes"):
            mirflow.run(write_pipeline(tmp_path, tracks="meta.csv"))

    def test_names_of_columns_that_differ_in_case_alone_are_refused_before_anything_is_computed(
        self, tmp_path, monkeypatch
    ):
        write_dataset(tmp_path, tracks=1)
        (tmp_path / "meta.csv").write_text("track,Genre,genre\nt00,a,b\n")
        monkeypatch.setattr("mirflow.engine.runs.execute", lambda *_: pytest.fail("computed"))
        with pytest.raises(PipelineError, match="tracks: the columns 'Genre' and 'genre' have the same name on some"):
            mirflow.run(write_pipeline(tmp_path, tracks="meta.csv"))

    def test_so_are_those_of_coordinates(self, tmp_path):
        scores = mirflow.score({"a": [1.0]}, {"a": [1.0]}, "onset")
        scores = scores.assign_coords(Genre=("track", ["a"]), genre=("track", ["b"]))
        with pytest.raises(StoreError, match="coordinates 'Genre' and 'genre' have the same name on some file systems"):
            save(scores, tmp_path / "s.zarr")

    def test_so_is_that_of_a_coordinate(self, tmp_path):
        scores = mirflow.score({"a": [1.0]}, {"a": [1.0]}, "onset").assign_coords({"y" * 300: ("track", [1])})
        with pytest.raises(StoreError, match=r"coordinate 'y{40}'\.\.\. has a name of more than 240 bytes"):
            save(scores, tmp_path / "s.zarr")


class TestFiles:
    def test_a_link_to_itself_is_an_unreadable_cell(self, tmp_path):
        path = write_dataset(tmp_path, tracks=2)
        for link in (tmp_path / "est" / "ada" / "t00.lab", tmp_path / "est" / "loop"):
            link.unlink(missing_ok=True)
            link.symlink_to(link.name)
        result = invoke("run", path, code=3)
        assert "1 unreadable" in result.stderr
        assert "Too many levels" not in result.stderr.replace("is a link", "")

    @pytest.mark.parametrize("pattern", ["/proc/{system}/fd/{track}", "/proc/{system}/{track}", "/proc/1/{track}"])
    def test_what_may_not_be_looked_at_is_a_file_that_cannot_be_read(self, pattern, tmp_path):
        """Folders and links of other people's processes; what there is differs from moment to moment."""
        with suppress(AnnotationError):  # that a folder cannot be listed
            Pattern(pattern).find(tmp_path)

    def test_a_file_that_waits_for_the_kernel_is_unreadable(self, tmp_path, monkeypatch):
        (tmp_path / "kmsg").write_bytes(b"")

        def wait(number: int, size: int) -> bytes:
            raise BlockingIOError(errno.EAGAIN, "no data yet")

        with monkeypatch.context() as patched:
            patched.setattr("mirflow.readers.content.os.read", wait)
            with pytest.raises(UnreadableError, match="kmsg: cannot be read: no data yet"):
                read_bytes(tmp_path / "kmsg", 100)
