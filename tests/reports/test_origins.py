"""Files behind the scores of a store: those of one's own run, and those of a stranger's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.errors import MirflowWarning
from mirflow.reports import origins
from mirflow.reports.origins import FOREIGN, StoredPipeline
from mirflow.reports.page import write_page
from mirflow.reports.page.contents import read_subject
from mirflow.store.read import open_groups, read_group, read_tree
from mirflow.store.write import StoreWriter
from tests.commands import invoke
from tests.datasets import write_dataset

TEXT = """evaluations:
- task: segment
  reference: {reference}
  estimates: est/{{system}}/{{track}}.lab
store: x.zarr
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A store that a run wrote here."""
    mirflow.run(write_dataset(tmp_path / "own", tracks=2))
    return tmp_path / "own" / "store.zarr"


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder of annotations that came with a store."""
    for place in ("ref", "est/ada"):
        (tmp_path / "theirs" / place).mkdir(parents=True)
        (tmp_path / "theirs" / place / "t00.lab").write_text("0 1 verse\n1 2 chorus\n")
    return tmp_path / "theirs"


def foreign(own: Path, path: Path, reference: str, root: str = "/", text: str = TEXT) -> Path:
    """A store whose pipeline and root its maker chose."""
    attrs = {"pipeline": text.format(reference=reference), "root": root}
    with StoreWriter(path) as writer:
        groups = filter(None, (read_group(own, name) for name in open_groups(own)))
        writer.publish([replace(one, name="segment", attrs={**one.attrs, **attrs}) for one in groups], attrs)
    return path


def plans_of(store: Path, root: Path | None = None) -> tuple[list[str], str]:
    """The evaluations whose files are found, and why there are none."""
    plans, reason = StoredPipeline.of(next(iter(read_tree(store).children.values())).to_dataset(), root).files
    return list(plans), reason


class TestOwnRuns:
    def test_files_are_found_without_an_option(self, own):
        assert plans_of(own) == (["chord"], "")
        assert write_page(own, own.with_name("p.html")).tracks == 2
        assert write_page(mirflow.open_store(own), own.with_name("q.html")).tracks == 2

    def test_the_pipeline_sees_the_environment_as_in_the_run(self, tmp_path, monkeypatch):
        path = write_dataset(tmp_path)
        path.write_text(path.read_text().replace("ref/", "${MY_REFERENCES}/"))
        monkeypatch.setenv("MY_REFERENCES", "ref")
        mirflow.run(path)
        assert plans_of(tmp_path / "store.zarr") == (["chord"], "")

    def test_a_run_that_computes_nothing_signs_too(self, own):
        (own.parent / ".store.zarr.d" / "signature").unlink()
        assert plans_of(own) == ([], FOREIGN)
        mirflow.run(own.parent / "pipeline.yaml")
        assert plans_of(own) == (["chord"], "")

    def test_without_a_place_for_the_key_runs_go_on_and_reports_ask_for_the_root(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")
        mirflow.run(write_dataset(tmp_path))
        assert plans_of(tmp_path / "store.zarr") == ([], FOREIGN)
        assert plans_of(tmp_path / "store.zarr", tmp_path) == (["chord"], "")

    def test_the_key_is_private(self, own):
        folder = Path(os.environ["XDG_STATE_HOME"], "mirflow")
        assert folder.stat().st_mode & 0o077 == 0

    def test_pages_without_timelines_look_for_no_files(self, own, tmp_path, monkeypatch):
        def fail(*_: object, **__: object) -> None:
            raise AssertionError("a page without timelines has looked for files")

        monkeypatch.setattr(origins, "find_files", fail)
        assert write_page(own, tmp_path / "p.html", timelines="none").tracks == 0
        assert write_page(own, tmp_path / "q.html", only_aggregates=True).tracks == 0

    def test_evaluations_keep_the_order_of_the_pipeline_when_their_files_are_gone(self, tmp_path):
        text = write_dataset(tmp_path, tracks=2).read_text()
        head, _, rest = text.partition("  - task")
        evaluation, _, tail = f"  - task{rest}".partition("store:")
        twice = "".join(f"{evaluation}    name: {name}\n" for name in ("zebra", "ant"))
        (tmp_path / "pipeline.yaml").write_text(f"{head}{twice}store:{tail}")
        mirflow.run(tmp_path / "pipeline.yaml")
        shutil.rmtree(tmp_path / "ref")
        assert [*read_subject(tmp_path / "store.zarr").boards] == ["zebra", "ant"]

    def test_a_page_does_not_repeat_the_warnings_of_the_run(self, tmp_path):
        pipeline = write_dataset(tmp_path, tracks=2)
        (tmp_path / "est" / "cyd").mkdir()
        with pytest.warns(MirflowWarning, match="left out, as nothing in their folders fits"):
            mirflow.run(pipeline)
        assert write_page(tmp_path / "store.zarr", tmp_path / "p.html").tracks == 2


class TestStrangers:
    def test_a_store_does_not_choose_what_is_read(self, own, tmp_path, theirs):
        store = foreign(own, tmp_path / "x.zarr", "ref/{track}.lab", str(theirs))
        report = write_page(store, tmp_path / "p.html")
        assert (report.tracks, report.notes) == (0, (FOREIGN,))
        assert plans_of(store, theirs) == (["segment"], "")

    @pytest.mark.slow
    @pytest.mark.parametrize(("command", "rooted"), [("report", False), ("report", True), ("site", True)])
    def test_no_command_shows_the_environment(self, own, tmp_path, theirs, command, rooted):
        if command == "site":
            pytest.importorskip("jinja2", reason="a site needs the extra serve")
        store = foreign(own, tmp_path / "x.zarr", "${SECRET_OF_MINE}/{track}.lab", str(theirs))
        done = subprocess.run(
            [sys.executable, "-m", "mirflow", command, store, "-o", "p", *(["--root", theirs] if rooted else [])],
            cwd=tmp_path,
            env={**os.environ, "SECRET_OF_MINE": "canary-7"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        written = [tmp_path / "p", *(tmp_path / "p").rglob("*")]
        pages = b"".join(one.read_bytes() for one in written if one.is_file())
        assert b"canary-7" not in pages + (done.stdout + done.stderr).encode()
        why = (
            "the environment variable SECRET_OF_MINE is not looked up for a store from elsewhere" if rooted else FOREIGN
        )
        assert why in done.stderr

    @pytest.mark.parametrize(
        "reference",
        [
            "/etc/{track}",
            "../own/ref/{track}.lab",
            "~/{track}.lab",
            "'/proc/{system}/fd/{track}'",
            "link/{track}.lab",
            "files/{track}.lab",
            "'{folder}/{track}.lab'",
            "{path: 'ref/{track}.lab', labels: ../own/map.yaml}",
            "{path: 'ref/{track}.lab', labels: /etc/passwd}",
            "{mirdata: beatles, annotation: sections}",
        ],
    )
    def test_nothing_outside_of_the_named_root_is_read(self, own, tmp_path, theirs, reference):
        outside = tmp_path / "own" / "ref"
        (outside / "secret.lab").write_text("0 1 canary\n")
        (theirs / "link").symlink_to(outside)
        (theirs / "files").mkdir()
        (theirs / "files" / "t00.lab").symlink_to(outside / "t00.lab")
        plans, reason = plans_of(foreign(own, tmp_path / "x.zarr", reference), theirs)
        assert plans == []
        assert "leads out of the root" in reason or "are not read for a store from elsewhere" in reason
        assert "secret" not in reason.replace(reference, "")

    def test_a_link_beside_an_array_of_numpy_is_refused_as_names_are_read_there(self, own, tmp_path, theirs):
        np.save(theirs / "ref" / "x.npy", np.eye(2))
        (theirs / "ref" / "x.txt").symlink_to("/etc/passwd")
        text = TEXT.replace("segment", "similarity")
        store = foreign(own, tmp_path / "x.zarr", "ref/x.npy", text=text)
        plans, reason = plans_of(store, theirs)
        assert plans == []
        assert "x.txt' is a link" in reason

    @pytest.mark.parametrize("moved", ["forged", "copied"])
    def test_a_signature_counts_in_its_place_and_for_its_text_only(self, own, tmp_path, moved):
        """A stranger may send the folder of the generations with the store."""
        if moved == "copied":
            shutil.copytree(own.parent / ".store.zarr.d", tmp_path / ".store.zarr.d")
            store = tmp_path / "store.zarr"
            store.symlink_to(own.readlink())
        else:
            store = foreign(own, tmp_path / "x.zarr", "/etc/{track}")
            shutil.copy(own.parent / ".store.zarr.d" / "signature", tmp_path / ".x.zarr.d")
        assert plans_of(store) == ([], FOREIGN)

    def test_a_signature_that_is_a_pipe_is_none(self, own):
        signature = own.parent / ".store.zarr.d" / "signature"
        signature.unlink()
        os.mkfifo(signature)
        assert plans_of(own) == ([], FOREIGN)

    def test_a_figure_says_it_too(self, own, tmp_path, theirs):
        store = foreign(own, tmp_path / "x.zarr", "/etc/{track}")
        result = invoke("plot", store, "timeline", "-o", tmp_path / "f.svg")
        assert result.exit_code != 0
        assert "name the folder of the annotations with --root" in " ".join(result.stderr.split())
