"""A run in parts, each a process of its own, gives the store of one run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.cli import cli
from mirflow.engine import parts
from mirflow.engine.parts import Part, numbers_of_parts
from mirflow.engine.runs import plan
from mirflow.errors import MirflowWarning, RunError, StoreError, StoreLockedError
from mirflow.store import Journal
from mirflow.store.cells import Status
from tests.datasets import write_dataset
from tests.engine.test_kill import contents
from tests.waiting import until

from ..groups import CODES

REPOSITORY = Path(__file__).parents[2]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "mirflow", *map(str, words)]


def invoke(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli, [*map(str, words)])
    return done.exit_code, done.output


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    return write_dataset(tmp_path)


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are sorted into a file a system, and written after a few cells."""
    monkeypatch.setattr(parts, "_PER_FILE", 6)
    monkeypatch.setattr(parts, "_MOST_WAITING", 3)


def folder_of(pipeline: Path, part: str) -> Path:
    number, of = part.split("/")
    return pipeline.parent / f".store.zarr.d/parts/{number}-of-{of}"


def blocks_of(pipeline: Path, part: str) -> list[Path]:
    return sorted(folder_of(pipeline, part).glob("*.cells"))


def compute(pipeline: Path, *parts: str) -> None:
    for part in parts:
        mirflow.run(pipeline, part=part)


def assert_as_one_run(pipeline: Path, store: Path | None = None) -> None:
    """The published store is that of one run, byte for byte but for the time of creation, and no part is left."""
    store = store or pipeline.parent / "store.zarr"
    whole = mirflow.run(pipeline, store=pipeline.parent / "whole.zarr").store
    assert contents(store) == contents(whole)
    assert not [*(store.parent / f".{store.name}.d/parts").glob("*")]
    assert not (store.parent / f".{store.name}.d/sorting").exists()


class TestShares:
    @given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 40))
    def test_every_cell_belongs_to_one_part(self, systems: int, tracks: int, of: int) -> None:
        total = sum(Part(of, number).share((systems, tracks)).astype(int) for number in range(1, of + 1))
        assert np.array_equal(total, np.ones((systems, tracks)))

    def test_a_part_has_all_systems_of_its_tracks_if_there_are_enough_tracks(self) -> None:
        assert (numbers_of_parts((5, 8), 3) == [1, 2, 3, 1, 2, 3, 1, 2]).all()

    def test_parts_are_of_nearly_the_same_size(self) -> None:
        _, sizes = np.unique(numbers_of_parts((100, 7), 21), return_counts=True)
        assert len(sizes) == 21
        assert sizes.max() - sizes.min() <= 1

    @pytest.mark.parametrize("text", ["0/50", "51/50", "a/b", "3", "1/0", "-1/5", "1.0/5", "", "1/2/3", "1/9999999999"])
    def test_other_texts_are_refused_in_a_sentence(self, pipeline: Path, text: str) -> None:
        message = f"invalid part '{text}': expected its number and how many there are, from 1/N to N/N"
        with pytest.raises(RunError, match=f"^{re.escape(message)}$"):
            mirflow.run(pipeline, part=text)
        code, output = invoke("run", pipeline, f"--part={text}")
        assert code == 2
        assert message in output
        assert not (pipeline.parent / ".store.zarr.d").exists()

    @pytest.mark.parametrize("option", ["--force", "--prune", "--primary"])
    def test_options_of_what_is_published_do_not_apply(self, pipeline: Path, option: str) -> None:
        code, output = invoke("run", pipeline, "--part", "1/2", option)
        assert code == 2
        assert f"{option} does not apply to a part, which computes what the store lacks; omit it" in output


class TestPublish:
    @pytest.mark.parametrize("of", [1, 4, 9, 20])
    def test_parts_make_the_store_of_one_run(self, pipeline: Path, of: int) -> None:
        compute(pipeline, *(f"{number}/{of}" for number in range(of, 0, -1)))
        report = mirflow.publish(pipeline)
        assert report.published
        assert report.evaluations[0].counts["new"] == 12
        assert_as_one_run(pipeline)

    @pytest.mark.parametrize("name", ["demo", pytest.param("mirex-demo", marks=pytest.mark.slow)])
    def test_parts_of_several_evaluations_make_the_store_of_one_run(self, tmp_path: Path, name: str) -> None:
        pipeline = REPOSITORY / f"pipelines/{name}.yaml"
        stores = {of: tmp_path / of for of in ("parts.zarr", "whole.zarr")}
        for number in (2, 1, 3):
            mirflow.run(pipeline, store=stores["parts.zarr"], part=f"{number}/3", on_error="ignore")
        mirflow.publish(pipeline, store=stores["parts.zarr"])
        mirflow.run(pipeline, store=stores["whole.zarr"], on_error="ignore")
        found, expected = map(mirflow.open_store, stores.values())
        assert [*found] == [*expected]
        for group in expected:
            xr.testing.assert_identical(
                found[group].to_dataset().drop_attrs(), expected[group].to_dataset().drop_attrs()
            )

    @pytest.mark.parametrize("combine", ["mean", "each"])
    def test_parts_with_several_annotators_make_the_store_of_one_run(self, tmp_path: Path, combine: str) -> None:
        pipeline = write_dataset(tmp_path)
        for annotator in ("x", "y"):
            (tmp_path / "several" / annotator).mkdir(parents=True)
            for file in [*(tmp_path / "ref").iterdir()][: 5 if annotator == "x" else 3]:
                (tmp_path / "several" / annotator / file.name).write_bytes(file.read_bytes())
        reference = f"{{path: 'several/{{annotator}}/{{track}}.lab', combine: {combine}}}"
        pipeline.write_text(pipeline.read_text().replace("ref/{track}.lab", reference))
        compute(pipeline, "1/2", "2/2")
        mirflow.publish(pipeline)
        assert_as_one_run(pipeline)

    def test_the_commands_say_what_they_did(self, pipeline: Path) -> None:
        store = pipeline.parent / "store.zarr"
        code, output = invoke("run", pipeline, "--part", "1/2")
        assert code == 0
        assert "chord: cells: 6 new; now: 6 ok" in output
        assert f"{store}: part 1/2 computed (" in output
        assert not store.exists()
        assert "to compute 6 of 12 cells: 6 new" in invoke("run", pipeline, "--part", "2/2", "--dry-run")[1]
        code, output = invoke("publish", pipeline)
        assert code == 3
        assert output == (
            f"error: {store}: not published: part 2/2 is missing; compute them, or publish without them "
            "(--incomplete, in Python incomplete=True)\n"
        )
        assert invoke("run", pipeline, "--part", "2/2")[0] == 0
        code, output = invoke("publish", pipeline)
        assert code == 0
        assert f"{store} written" in output
        assert "nothing to do" in invoke("publish", pipeline)[1]

    def test_a_part_computes_only_what_the_store_lacks_and_needs_no_lock(self, pipeline: Path) -> None:
        mirflow.run(pipeline)
        write_dataset(pipeline.parent, systems=("ada", "bob", "cy"))
        with mirflow.store.StoreWriter(pipeline.parent / "store.zarr"):
            report = mirflow.run(pipeline, part="1/2")
        assert report.part == "1/2"
        assert report.evaluations[0].counts["new"] == 3
        mirflow.run(pipeline, part="2/2")
        mirflow.publish(pipeline)
        assert_as_one_run(pipeline)

    def test_failed_cells_are_published_and_counted(self, pipeline: Path) -> None:
        (pipeline.parent / "est/ada/t00.lab").write_text("0 1 H:moll\n")
        codes = [invoke("run", pipeline, "--part", part)[0] for part in ("1/2", "2/2")]
        assert (codes, invoke("publish", pipeline)[0]) == ([3, 0], 3)
        assert_as_one_run(pipeline)

    def test_results_that_stay_the_same_are_not_published_again(self, pipeline: Path) -> None:
        (pipeline.parent / "est/bob/t03.lab").write_text("0 1 H:moll\n")
        mirflow.run(pipeline, progress=False)
        (pipeline.parent / "est/bob/t03.lab").rename(pipeline.parent / "t03.lab")
        (pipeline.parent / "est/bob/t03.lab").symlink_to("nowhere")
        compute(pipeline, "1/1")
        assert mirflow.publish(pipeline).published
        left = pipeline.parent / ".store.zarr.d/sorting/left by a killed process"
        left.parent.mkdir()
        left.write_text("")
        compute(pipeline, "1/1")  # tries again what cannot be read
        report = mirflow.publish(pipeline)
        assert not report.published
        assert report.evaluations[0].counts["retried"] == 1
        assert report.evaluations[0].content.part(["bob"]).stored["bob"].read("status", ["bob"]).tolist() == [
            [Status.ok] * 3 + [Status.unreadable] + [Status.ok] * 2
        ]
        assert_as_one_run(pipeline)

    def test_a_failed_cell_is_not_published_if_failures_are_errors(self, pipeline: Path) -> None:
        compute(pipeline, "1/1")
        (pipeline.parent / "est/ada/t00.lab").write_text("0 1 H:moll\n")
        pipeline.write_text(pipeline.read_text().replace("store:", "    on_error: raise\nstore:"))
        with pytest.raises(RunError, match="system 'ada', track 't00'"):
            mirflow.run(pipeline, part="1/1")
        with pytest.raises(RunError, match=r"system .ada., track .t00.: .* \(stopped, as on_error is raise"):
            mirflow.publish(pipeline)

    def test_what_an_interrupted_run_has_computed_counts(self, pipeline: Path) -> None:
        compute(pipeline, "1/2", "2/2")
        mirflow.publish(pipeline)
        one = plan(pipeline).plans[0]
        write_dataset(pipeline.parent, seed=1)
        compute(pipeline, "1/2", "2/2")
        part = Journal(folder_of(pipeline, "2/2"))
        journal = Journal(pipeline.parent / ".store.zarr.d/journal-000001")
        for cells in part.read("chord", one.signature):
            journal.append("chord", one.signature, cells)
        part.clear()
        assert mirflow.publish(pipeline).evaluations[0].counts["resumed"] == 6
        assert_as_one_run(pipeline)


class TestIncomplete:
    def test_missing_and_unfinished_parts_are_named(self, pipeline: Path) -> None:
        compute(pipeline, "1/4", "3/4")
        blocks_of(pipeline, "3/4")[0].unlink()
        named = r"part 3/4 has 0 of 2 cells; compute them, or publish without them \(--incomplete"
        with pytest.raises(RunError, match=rf"store.zarr: not published: parts 2/4, 4/4 are missing; {named}"):
            mirflow.publish(pipeline)

    def test_without_any_part_the_message_says_how_to_compute_one(self, pipeline: Path) -> None:
        for incomplete in (False, True):
            with pytest.raises(RunError, match="no part of it has been computed; `mirflow run --part 1/N`"):
                mirflow.publish(pipeline, incomplete=incomplete)

    def test_what_is_there_is_published_on_request_and_the_rest_later(self, pipeline: Path) -> None:
        compute(pipeline, "1/2", "2/2")
        blocks_of(pipeline, "2/2")[0].unlink()
        with pytest.warns(MirflowWarning, match=r"published without some cells: part 2/2 has 2 of 6 cells"):
            mirflow.publish(pipeline, incomplete=True)
        (chord,) = mirflow.open_store(pipeline.parent / "store.zarr").children.values()
        assert int((chord.status == CODES["not_computed"]).sum()) == 4
        assert [path.name for path in (pipeline.parent / ".store.zarr.d/parts").iterdir()] == ["2-of-2"]
        assert mirflow.run(pipeline, part="2/2").evaluations[0].counts["changed"] == 4
        mirflow.publish(pipeline)
        assert_as_one_run(pipeline)

    def test_a_run_computes_what_was_not_published(self, pipeline: Path) -> None:
        compute(pipeline, "1/2")
        with pytest.warns(MirflowWarning, match="part 2/2 is missing"):
            mirflow.publish(pipeline, incomplete=True)
        assert mirflow.run(pipeline).evaluations[0].counts["changed"] == 6
        assert_as_one_run(pipeline)

    def test_scores_of_files_that_have_changed_do_not_stay(self, pipeline: Path) -> None:
        mirflow.run(pipeline)
        write_dataset(pipeline.parent, seed=1)
        compute(pipeline, "1/2")
        with pytest.warns(MirflowWarning, match="part 2/2 is missing"):
            mirflow.publish(pipeline, incomplete=True)
        found = mirflow.open_store(pipeline.parent / "store.zarr")["chord"].to_dataset()
        assert found.score.isel(track=slice(1, None, 2)).isnull().all()
        assert found.score.isel(track=slice(0, None, 2)).notnull().any("metric").all()


class TestRefusals:
    """Nothing is published, and nothing is lost."""

    def assert_refused(self, pipeline: Path, message: str) -> None:
        before = contents(pipeline.parent / ".store.zarr.d/parts")
        for incomplete in (False, True):
            with pytest.raises(StoreError, match=message):
                mirflow.publish(pipeline, incomplete=incomplete)
        code, output = invoke("publish", pipeline)
        assert (code, output.count("\n")) == (4, 1)
        assert contents(pipeline.parent / ".store.zarr.d/parts") == before
        assert not (pipeline.parent / "store.zarr").exists()

    def test_parts_that_overlap_with_the_same_results_are_joined(self, pipeline: Path) -> None:
        compute(pipeline, "1/2", "2/2", "3/5")
        mirflow.publish(pipeline)
        assert_as_one_run(pipeline)

    def test_parts_that_overlap_with_different_results(self, pipeline: Path) -> None:
        compute(pipeline, "1/2", "2/2", "3/5")
        signature, journal = plan(pipeline).plans[0].signature, Journal(folder_of(pipeline, "3/5"))
        (cells,) = journal.read("chord", signature)
        cells.score[1, 0] += 1e-15
        journal.append("chord", signature, cells)
        self.assert_refused(
            pipeline, "part 1/2 and part 3/5 have different results of system 'bob', track 't02': remove one of them"
        )

    def test_a_part_of_another_version(self, pipeline: Path) -> None:
        compute(pipeline, "1/2", "2/2")
        note = folder_of(pipeline, "2/2") / "part.json"
        known = json.loads(note.read_text())
        known["versions"]["mirflow"] = "0.0.1"
        note.write_text(json.dumps(known))
        found = f"part 2/2 was computed with mirflow 0.0.1 and numpy {np.__version__}, and this process has mirflow"
        self.assert_refused(pipeline, f"not published: {found} .*: compute it again, or remove {note.parent}")
        with pytest.warns(MirflowWarning, match=r"part 2/2 is computed anew, as it was begun with mirflow 0\.0\.1"):
            assert mirflow.run(pipeline, part="2/2").evaluations[0].counts["resumed"] == 0
        mirflow.publish(pipeline)
        assert_as_one_run(pipeline)

    def test_a_part_of_a_newer_version(self, pipeline: Path) -> None:
        compute(pipeline, "1/1")
        (folder_of(pipeline, "1/1") / "part.json").write_text('{"mirflow_part": 2}')
        self.assert_refused(pipeline, r"part 1/1 was written by a newer version of mirflow \(layout 2\); use that")
        with pytest.raises(StoreError, match="newer version"):
            mirflow.run(pipeline, part="1/1")

    @pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b'{"mirflow_part": 1}', b'{"mirflow_part": "one"}'])
    def test_a_part_whose_note_is_damaged(self, pipeline: Path, data: bytes) -> None:
        compute(pipeline, "1/1")
        (folder_of(pipeline, "1/1") / "part.json").write_bytes(data)
        self.assert_refused(pipeline, r"part 1/1 is damaged \(.*\): remove .*1-of-1 and compute it again")

    def test_a_part_of_another_pipeline(self, pipeline: Path) -> None:
        compute(pipeline, "1/2", "2/2")
        pipeline.write_text(pipeline.read_text().replace("store:", "    metrics: [majmin]\nstore:"))
        self.assert_refused(pipeline, "part 1/2 was computed with another pipeline, or the file has changed since: ")
        compute(pipeline, "1/2", "2/2")
        mirflow.publish(pipeline)
        assert_as_one_run(pipeline)

    def test_a_damaged_block_is_not_published(self, pipeline: Path) -> None:
        compute(pipeline, "1/2", "2/2")
        block = blocks_of(pipeline, "1/2")[0]
        block.write_bytes(block.read_bytes()[:-1])
        with (
            pytest.warns(MirflowWarning, match="part 1/2: 1 damaged block left out"),
            pytest.raises(RunError, match="part 1/2 has 2 of 6 cells"),
        ):
            mirflow.publish(pipeline)
        with pytest.warns(MirflowWarning, match="1 damaged blocks of an interrupted run are computed again"):
            compute(pipeline, "1/2")
        block.unlink()
        mirflow.publish(pipeline)
        assert_as_one_run(pipeline)

    def test_a_store_of_a_newer_version(self, pipeline: Path) -> None:
        compute(pipeline, "1/1")
        mirflow.publish(pipeline)
        root = pipeline.parent / "store.zarr/zarr.json"
        root.write_text(re.sub(r'"mirflow_store": \d+', '"mirflow_store": 99', root.read_text()))
        for compute_or_publish in (lambda: compute(pipeline, "1/1"), lambda: mirflow.publish(pipeline)):
            with pytest.raises(StoreError, match="99"):
                compute_or_publish()

    @pytest.mark.parametrize("address", ["s3://bucket/x", "icechunk:x"])
    def test_the_address_of_a_repository(self, pipeline: Path, address: str) -> None:
        for words in (("run", pipeline, "--part", "1/2"), ("publish", pipeline)):
            code, output = invoke(*words, "--store", address)
            assert (code, output.count("\n")) == (4, 1)
            assert f"{address}: is the address of a repository; here only a folder will do" in output


class TestProcesses:
    @pytest.mark.slow
    def test_parts_that_run_at_once(self, tmp_path: Path) -> None:
        pipeline = write_dataset(tmp_path, tracks=12)
        parts = [subprocess.Popen(command("run", pipeline, "--part", f"{number}/4", "-q")) for number in (1, 2, 3, 4)]
        assert [one.wait() for one in parts] == [0] * 4
        assert subprocess.run(command("publish", pipeline, "-q"), check=False).returncode == 0
        assert_as_one_run(pipeline)

    @pytest.mark.slow
    def test_a_killed_part_is_resumed(self, tmp_path: Path) -> None:
        pipeline, part = slow_pipeline(tmp_path)
        folder = folder_of(pipeline, "1/2")
        compute(pipeline, "2/2")
        until(lambda: len([*folder.glob("*.cells")]) >= 2, str)
        with pytest.raises(StoreLockedError, match=rf"store.zarr, part 1/2: process {part.pid} on .* is writing it"):
            mirflow.run(pipeline, part="1/2")
        with pytest.raises(RunError, match=rf"part 1/2: process {part.pid} on .* is writing it has \d+ of 40 cells"):
            mirflow.publish(pipeline)
        part.send_signal(signal.SIGKILL)
        part.wait()
        done = subprocess.run(command("publish", pipeline), capture_output=True, text=True, check=False)
        assert done.returncode == 3
        assert re.search(r"not published: part 1/2 has \d+ of 40 cells", done.stderr)
        assert not (tmp_path / "store.zarr").exists()
        (tmp_path / "quick").touch()
        counts = mirflow.run(pipeline, part="1/2").evaluations[0].counts
        assert 4 <= counts["resumed"] < 40
        mirflow.publish(pipeline)
        assert_as_one_run(pipeline)

    @pytest.mark.slow
    def test_what_a_process_computes_now_is_published_on_request_and_kept(self, tmp_path: Path) -> None:
        pipeline, part = slow_pipeline(tmp_path)
        until(lambda: len([*folder_of(pipeline, "1/2").glob("*.cells")]) >= 2, str)
        with pytest.warns(MirflowWarning, match=r"part 2/2 is missing; part 1/2: process .* has \d+ of 40 cells"):
            mirflow.publish(pipeline, incomplete=True)
        (tmp_path / "quick").touch()
        assert part.wait() == 0
        compute(pipeline, "2/2")
        mirflow.publish(pipeline)
        assert_as_one_run(pipeline)


def slow_pipeline(folder: Path) -> tuple[Path, subprocess.Popen[bytes]]:
    """A pipeline, and a process that computes part 1/2 of it, slowly until there is a file ``quick``."""
    pipeline = write_dataset(folder, tracks=40)
    (folder / "slow.py").write_text(
        "import os, time, mirflow\n"
        "@mirflow.pair_metric(weight='number of pairs', weight_unit='pairs')\n"
        "def slow(reference_intervals, estimated_intervals):\n"
        f"    if not os.path.exists({str(folder / 'quick')!r}) and os.environ.get('SLOW'):\n"
        "        time.sleep(0.1)\n"
        "    return 1.0, 1\n"
    )
    pipeline.write_text(pipeline.read_text().replace("store:", "    metrics: [majmin, slow.py:slow]\nstore:"))
    words = command("run", pipeline, "--part", "1/2", "--scheduler", "serial", "-q")
    return pipeline, subprocess.Popen(words, env={**os.environ, "SLOW": "yes"})
