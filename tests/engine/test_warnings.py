"""What a run warned about stays in the store, and everything that shows its scores says it again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import mirflow
from mirflow.engine.runs import plan
from mirflow.errors import MirflowWarning
from mirflow.reports.page import write_page
from mirflow.store.format import joined_cautions, kept_settings, labelled_cautions, list_cautions, nested_attrs

from ..commands import invoke
from ..reports.page.reading import contents_of

TRUTH = "a\tjazz\nb\trock\nc\trock\n"
NEVER = "no label of system 'bad' occurs in the reference: 'Jazz' is given, the reference has 'jazz'"
LEFT_OUT = "'gt' is not scored as a system: 'gt.txt' is the reference; list the systems that take part to say so"

pytestmark = pytest.mark.filterwarnings("ignore::mirflow.errors.MirflowWarning")


def write(folder: Path) -> Path:
    """Genres of two systems, one of which writes labels in its own way, beside their reference."""
    texts = {
        "gt": TRUTH,
        "good": TRUTH.replace("rock", "jazz", 1),
        "bad": TRUTH.replace("jazz", "Jazz").replace("rock", "Rock"),
    }
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    evaluation = {"task": "classification", "reference": "gt.txt", "estimates": "{system}.txt"}
    path = folder / "genres.yaml"
    path.write_text(json.dumps({"store": str(folder / "genres.zarr"), "evaluations": [evaluation]}))
    return path


def settings_without_warnings(*given: Any) -> dict[str, Any]:
    """As the software kept them that knew of no warnings."""
    return {name: value for name, value in kept_settings(*given).items() if name != "warnings"}


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    return write(tmp_path)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that is only read."""
    return mirflow.run(write(tmp_path_factory.mktemp("asked")), scheduler="serial").store


@pytest.fixture
def store(pipeline: Path) -> Path:
    mirflow.run(pipeline, scheduler="serial")
    return pipeline.with_suffix(".zarr")


def kept(store: Path) -> list[str]:
    with mirflow.open_store(store) as tree:
        return list_cautions(nested_attrs(tree["classification"].attrs))


class TestTheStore:
    def test_keeps_each_text_with_its_system(self, store: Path) -> None:
        with mirflow.open_store(store) as tree:
            found = nested_attrs(tree["classification"].attrs)["warnings"]
        assert found == [{"text": LEFT_OUT, "system": "gt"}, {"text": NEVER, "system": "bad"}]

    def test_has_no_such_attribute_where_there_is_nothing(self, pipeline: Path, store: Path) -> None:
        (pipeline.parent / "bad.txt").write_text(TRUTH)
        pipeline.write_text(pipeline.read_text().replace('"{system}.txt"', '"{system}.txt", "systems": ["bad"]'))
        assert mirflow.run(pipeline, scheduler="serial", prune=True).published
        with mirflow.open_store(store) as tree:
            assert "warnings" not in tree["classification"].attrs

    def test_is_not_written_again_because_of_them(self, pipeline: Path, store: Path) -> None:
        before = store.readlink()
        report = mirflow.run(pipeline, scheduler="serial")
        assert not report.published
        assert store.readlink() == before
        assert report.evaluations[0].warnings == (LEFT_OUT, NEVER)

    def test_of_a_time_without_them_gets_them_with_the_next_run_and_nothing_is_computed(
        self, pipeline: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patched:
            patched.setattr("mirflow.engine.runs.kept_settings", settings_without_warnings)
            mirflow.run(pipeline, scheduler="serial")
        assert kept(pipeline.with_suffix(".zarr")) == []
        report = mirflow.run(pipeline, scheduler="serial")
        assert report.evaluations[0].counts["reused"] == 6
        assert kept(report.store) == [LEFT_OUT, NEVER]

    def test_loses_what_is_no_longer_so(self, pipeline: Path, store: Path) -> None:
        (pipeline.parent / "bad.txt").write_text(TRUTH.replace("jazz", "Jazz"))
        mirflow.run(pipeline, scheduler="serial")
        assert kept(store) == [LEFT_OUT]

    def test_is_reported_at_planning_as_before(self, pipeline: Path) -> None:
        with pytest.warns(MirflowWarning) as caught:
            plan(pipeline)
        assert [str(one.message) for one in caught] == [f"classification: {text}" for text in (LEFT_OUT, NEVER)]


class TestTables:
    @pytest.mark.parametrize(
        "words",
        [
            ["query", "-m", "accuracy"],
            ["query", "-m", "accuracy", "--ci"],
            ["worst", "-m", "accuracy", "-n", "1"],
            ["query", "-m", "confusion"],
            ["query", "-m", "confusion", "-a", "recall"],
            ["compare", "-m", "accuracy"],
            ["compare", "-m", "accuracy", "--friedman"],
        ],
    )
    def test_a_line_below_says_what_concerns_a_system_that_is_shown(self, asked: Path, words: Sequence[str]) -> None:
        command, *options = words
        shown = invoke(command, asked, *options).stdout
        assert f"warning: {NEVER}\n" in shown
        assert "'gt'" not in shown
        assert "warning" not in invoke(command, asked, *options, "--system", "good").stdout

    def test_of_all_evaluations_the_line_names_its_own(self, asked: Path) -> None:
        assert f"classification: warning: {NEVER}" in invoke("query", asked, "--primary").stdout

    def test_rows_for_programs_have_none(self, asked: Path) -> None:
        assert "warning" not in invoke("query", asked, "--format", "csv").stdout

    def test_show_says_all_of_it(self, asked: Path) -> None:
        shown = " ".join(invoke("show", asked).stdout.split())
        assert f"warning {NEVER}" in shown
        assert "warning 'gt' is not scored as a system" in shown
        printed = " ".join(invoke("problems", asked).stdout.split())
        assert "every cell has a score" in printed
        assert all(f"warning: classification: {text}" in printed for text in (LEFT_OUT, NEVER))

    def test_notebooks_say_it_too(self, asked: Path) -> None:
        with mirflow.open_store(asked) as tree:
            assert "no label of system &#x27;bad&#x27; occurs" in tree.mirflow._repr_html_()

    def test_an_answer_in_python_carries_it(self, asked: Path) -> None:
        with mirflow.open_store(asked) as tree:
            assert tree.mirflow.query(metric="accuracy").attrs["warnings"] == NEVER
            assert "warnings" not in tree.mirflow.query(metric="accuracy", system="good").attrs


class TestSeveralStores:
    def test_those_of_each_are_kept_with_its_name(self, asked: Path) -> None:
        shown = invoke("query", asked, asked, "--label", "2012", "--label", "2013", "-m", "accuracy").stdout
        assert f"warning: 2012: {NEVER}\nwarning: 2013: {NEVER}\n" in shown
        one = ["query", asked, asked, "--label", "2012", "--label", "2013", "-m", "accuracy", "-s", "2012/bad"]
        assert "2013:" not in invoke(*one).stdout

    def test_what_all_have_is_noted_once(self) -> None:
        attrs = {"warnings": [{"text": "gt is left out", "system": "gt"}]}
        assert joined_cautions({"a": attrs, "b": attrs})["warnings"] == attrs["warnings"]
        assert joined_cautions({"a": {}, "b": {}}) == labelled_cautions({}, "a") == {}

    def test_what_is_about_nobody_in_particular_concerns_everybody(self) -> None:
        attrs = {"warnings": [{"text": "the truth is odd", "system": ""}]}
        assert list_cautions(labelled_cautions(attrs, "2012"), ["2012/a"]) == ["the truth is odd"]


def test_the_report_holds_them(asked: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_page(asked, page)
    assert contents_of(page)["evaluations"][0]["warnings"] == [LEFT_OUT, NEVER]
