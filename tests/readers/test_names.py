"""Retrieval whose two sides call items differently, through every door: nothing is 0 without a word."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mirflow
from mirflow.annotations.annotation import Annotation, CodedLabels
from mirflow.annotations.collection import collect
from mirflow.annotations.source import HeldSource
from mirflow.cli import cli
from mirflow.errors import AnnotationError, MirflowWarning, PipelineError, UnreadableError
from mirflow.readers.names import ReferenceNames, RenamedSource

LISTS = {"q1": ["x", "a", "b"], "q2": ["c", "y"]}
TRUE = {"q1": ["a", "b"], "q2": ["c"]}
PRECISION = [(1 / 2 + 2 / 3) / 2, 1.0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def write(path: Path, lists: dict[str, list[str]], form: str) -> None:
    """Lists, a run, rows or judgements, with items called as `form` says."""
    named = {query: [form.format(item) for item in items] for query, items in lists.items()}
    if path.suffix == ".lists":
        path.write_text("".join(f"{query}: {' '.join(items)}\n" for query, items in named.items()))
        return
    rows = [(query, item, rank) for query, items in named.items() for rank, item in enumerate(items, 1)]
    layouts = {".run": "{0} Q0 {1} {2} -{2} x", ".csv": "{0},{1}", ".qrels": "{0} 0 {1} 1"}
    path.write_text("".join(layouts[path.suffix].format(*row) + "\n" for row in rows))


def pipeline(folder: Path, reference: object, estimates: object, **more: object) -> Path:
    names = {"metrics": ["average_precision"], **more}
    evaluation = {"task": "retrieval", "reference": reference, "estimates": estimates, **names}
    path = folder / "x.yaml"
    path.write_text(json.dumps({"root": str(folder), "store": str(folder / "x.zarr"), "evaluations": [evaluation]}))
    return path


def score(path: Path) -> np.ndarray:
    mirflow.run(path, scheduler="serial")
    with mirflow.open_store(path.with_suffix(".zarr")) as tree:
        return tree["retrieval"].to_dataset().score.sel(metric="average_precision").values


@pytest.mark.parametrize("suffix", ["lists", "run", "csv"])
@pytest.mark.parametrize("true", ["{}", "/m/{}.mid"])
@pytest.mark.parametrize("listed", ["{}", "{}.wav", "/audio/{}.wav"])
def test_folders_and_suffixes_do_not_keep_items_apart(folder: Path, suffix: str, true: str, listed: str) -> None:
    write(folder / "reference.qrels", TRUE, true)
    write(folder / f"ada_sys.{suffix}", LISTS, listed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = score(pipeline(folder, "reference.qrels", f"{{system}}_sys.{suffix}"))
    np.testing.assert_allclose(found, [PRECISION], rtol=0, atol=1e-12)


def test_a_matrix_meets_a_reference_of_whole_names(folder: Path) -> None:
    (folder / "groups.tsv").write_text("/m/a.wav\t1\n/m/b.wav\t1\n/m/c.wav\t2\n/m/d.wav\t2\n")
    (folder / "ada.matrix").write_text("\ta\tb\tc\td\na\t0\t1\t2\t3\nb\t2\t0\t1\t3\nc\t1\t2\t0\t3\nd\t1\t2\t3\t0\n")
    found = score(pipeline(folder, {"path": "groups.tsv", "format": "groups"}, "{system}.matrix"))
    np.testing.assert_allclose(found, [[1.0, 1 / 2, 1 / 3, 1 / 3]], rtol=0, atol=1e-12)


def test_only_the_system_that_never_meets_is_reported(folder: Path) -> None:
    write(folder / "reference.qrels", TRUE, "{}")
    write(folder / "ada.lists", LISTS, "{}")
    write(folder / "bob.lists", LISTS, "song:{}")
    with pytest.warns(MirflowWarning) as warned:
        found = score(pipeline(folder, "reference.qrels", "{system}.lists"))
    message = "retrieval: no item of system 'bob' occurs in the reference: 'song:x' is listed, the reference has 'a'"
    assert [str(one.message) for one in warned] == [message]
    np.testing.assert_allclose(found, [PRECISION, [0.0, 0.0]], rtol=0, atol=1e-12)


def test_names_that_meet_in_part_stay_and_are_reported_once(folder: Path) -> None:
    write(folder / "reference.qrels", TRUE, "{}")
    lists = {"q1": ["y", "a", "/m/b.wav"], "q2": ["c.wav"]}
    write(folder / "ada.lists", lists, "{}")
    message = (
        "retrieval: some items of system 'ada' occur in the reference, others would only without folders and"
        " suffixes: '/m/b.wav' is listed for 'q1', the reference has 'b'; use the same names on both sides"
    )
    with pytest.warns(MirflowWarning) as warned:
        found = score(pipeline(folder, "reference.qrels", "{system}.lists"))
    assert [str(one.message) for one in warned] == [message]
    np.testing.assert_allclose(found, [[1 / 4, 0.0]], rtol=0, atol=1e-12)


def test_an_item_under_both_names_is_no_slip(folder: Path) -> None:
    write(folder / "reference.qrels", TRUE, "{}")
    write(folder / "ada.lists", {**LISTS, "q1": ["x", "a", "b", "b.wav"]}, "{}")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        score(pipeline(folder, "reference.qrels", "{system}.lists"))
    assert warned == []


@pytest.mark.parametrize(
    ("true", "listed", "pair"),
    [
        (["/m/a.mid", "/m/b.mid"], ["a.wav", "a.mp3"], "'a.wav' and 'a.mp3', both listed,"),
        (["x/a.mid", "y/a.mid"], ["a.wav", "c"], "'x/a.mid' and 'y/a.mid', both true,"),
    ],
)
def test_two_names_that_would_be_the_same_are_named(
    folder: Path, true: list[str], listed: list[str], pair: str
) -> None:
    write(folder / "reference.qrels", {"q1": true}, "{}")
    write(folder / "ada.lists", {"q1": listed}, "{}")
    why = f"names would match without folders and suffixes, but {pair} would then be the same: use the same names"
    with pytest.warns(MirflowWarning, match=why):
        score(pipeline(folder, "reference.qrels", "{system}.lists"))


def test_the_command_line_tells_it_too(folder: Path) -> None:
    write(folder / "reference.qrels", TRUE, "{}")
    write(folder / "bob.lists", LISTS, "song:{}")
    names = [str(folder / "reference.qrels"), str(folder / "bob.lists"), "--task", "retrieval"]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        shown = CliRunner().invoke(cli, ["evaluate", *names])
    assert shown.exit_code == 0, shown.output
    assert (
        "warning: no item of system 'bob' occurs in the reference: 'song:x' is listed, the reference has 'a'"
        in shown.output
    )


def test_a_run_again_computes_nothing_until_the_names_change(folder: Path) -> None:
    write(folder / "reference.qrels", TRUE, "{}")
    write(folder / "ada.lists", LISTS, "{}.wav")
    path = pipeline(folder, "reference.qrels", "{system}.lists")
    score(path)
    assert mirflow.run(path, scheduler="serial").evaluations[0].counts["reused"] == 2
    with (folder / "ada.lists").open("a") as file:
        file.write("q3: other/a.wav\n")
    write(folder / "reference.qrels", {**TRUE, "q3": ["z"]}, "{}")
    with pytest.warns(MirflowWarning, match=r"'x.wav' is listed, the reference has 'a'"):
        counts = mirflow.run(path, scheduler="serial").evaluations[0].counts
    assert counts["changed"] == 2, "two items are called a now, so that nobody knows which is meant"


class TestTwoCollections:
    def collections(self, true: str, listed: str) -> tuple[object, object]:
        def made(lists: dict[str, list[str]], form: str) -> object:
            return collect(
                {
                    query: Annotation("ranking", {}, [form.format(item) for item in items])
                    for query, items in lists.items()
                }
            )

        return made(TRUE, true), made(LISTS, listed)

    def test_meet(self) -> None:
        found = mirflow.evaluate(*self.collections("{}", "/m/{}.wav"), "retrieval", metrics=["average_precision"])
        np.testing.assert_allclose(found.score[:, 0], PRECISION, rtol=0, atol=1e-12)

    def test_are_reported_not_to(self) -> None:
        with pytest.warns(MirflowWarning, match="'song x' is listed, the reference has 'a'"):
            mirflow.evaluate(*self.collections("{}", "song {}"), "retrieval")


def test_two_files_meet_by_query_and_item(folder: Path) -> None:
    write(folder / "reference.qrels", {f"/q/{query}.wav": items for query, items in TRUE.items()}, "{}")
    write(folder / "ada.lists", LISTS, "{}.wav")
    found = mirflow.evaluate_paths(
        folder / "reference.qrels", folder / "ada.lists", "retrieval", metrics=["average_precision"]
    )
    assert found.track.values.tolist() == ["/q/q1.wav", "/q/q2.wav"]
    np.testing.assert_allclose(found.score[0, :, 0], PRECISION, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("true", "listed"), [("{}", "{}"), ("{}", "x/{}.wav"), ("y/{}.wav", "x/{}.wav")])
def test_ties_are_broken_alike_whatever_items_are_called(folder: Path, true: str, listed: str) -> None:
    """`c` is ahead of `a` as in trec_eval, also where only `a` has a name of the reference: `x/c.wav`, `y/a.wav`."""
    write(folder / "reference.qrels", {"q1": ["a"], "q2": ["c"]}, true)
    (folder / "ada.csv").write_text(
        "query,item,score\n" + "".join(f"{q},{listed.format(i)},0.5\n" for q in ("q1", "q2") for i in "ac")
    )
    found = score(pipeline(folder, "reference.qrels", "{system}.csv", convention="trec_eval"))
    np.testing.assert_allclose(found, [[1 / 2, 1.0]], rtol=0, atol=1e-12)


def test_each_system_of_a_table_may_name_queries_in_its_own_way(folder: Path) -> None:
    write(folder / "reference.qrels", TRUE, "{}")
    listed = [(query, item) for query, items in LISTS.items() for item in items]
    rows = [f"{query},{item},ada\n/m/{query}.wav,{item},bob\n" for query, item in listed]
    (folder / "all.csv").write_text("query,item,system\n" + "".join(rows))
    columns = {"track": "query", "label": "item", "system": "system"}
    path = pipeline(folder, "reference.qrels", {"path": "all.csv", "columns": columns})
    np.testing.assert_allclose(score(path), [PRECISION, PRECISION], rtol=0, atol=1e-12)


class TestTwoQueriesThatWouldBeOne:
    """`d/q1` and `q1.wav.mp3` may each be the reference's `q1.wav`: nobody knows which, and no door takes one."""

    message = r"'q1.wav.mp3' and 'd/q1' both match 'q1.wav' of the reference"

    @pytest.fixture
    def files(self, folder: Path) -> tuple[Path, Path]:
        (folder / "reference.qrels").write_text("q1.wav 0 a 1\n")
        (folder / "ada.lists").write_text("q1.wav.mp3: a\nd/q1: x a\n")
        return folder / "reference.qrels", folder / "ada.lists"

    def test_are_reported_by_a_run(self, files: tuple[Path, Path]) -> None:
        with pytest.raises(PipelineError, match=f"1 problem\n.*ada.lists: {self.message}"):
            score(pipeline(files[0].parent, "reference.qrels", "{system}.lists"))

    def test_are_reported_of_two_files(self, files: tuple[Path, Path]) -> None:
        with pytest.raises(AnnotationError, match=f"ada.lists: {self.message}"):
            mirflow.evaluate_paths(*files, "retrieval")

    def test_are_reported_of_two_collections(self, files: tuple[Path, Path]) -> None:
        reference, estimate = (mirflow.load_collection(path, "retrieval") for path in files)
        with pytest.raises(AnnotationError, match=self.message):
            mirflow.evaluate(reference, estimate, "retrieval")


def test_a_single_pair_is_scored_as_among_others_with_a_warning() -> None:
    reference, listed = Annotation("ranking", {}, ["a.wav"]), Annotation("ranking", {}, ["x/a.mp3"])
    with pytest.warns(
        MirflowWarning, match=r"no name matches: 'x/a.mp3' is listed, the reference has 'a.wav'; use the same names"
    ):
        found = mirflow.evaluate(reference, listed, "retrieval", metrics=["average_precision"])
    assert found.score.item() == 0.0


def test_a_single_list_without_anything_relevant_is_merely_bad() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mirflow.evaluate(Annotation("ranking", {}, ["a"]), Annotation("ranking", {}, ["b"]), "retrieval")
    assert found.score.sel(metric="average_precision").item() == 0.0


def test_classes_that_are_written_otherwise_are_reported(folder: Path) -> None:
    (folder / "reference.csv").write_text("track,class\na,jazz\nb,rock\n")
    (folder / "ada.tsv").write_text("a\tJazz\nb\tRock\n")
    path = pipeline(folder, "reference.csv", "{system}.tsv", task="classification", metrics=["accuracy"])
    message = "no label of system 'ada' occurs in the reference: 'Jazz' is given, the reference has 'jazz'"
    with pytest.warns(MirflowWarning, match=message):
        mirflow.run(path, scheduler="serial")


def held(kind: str, lists: Mapping[str, list[str]]) -> dict[str, HeldSource]:
    return {track: HeldSource(Annotation(kind, {}, labels), track) for track, labels in lists.items()}


def references(lists: Mapping[str, list[str]], kind: str = "ranking") -> ReferenceNames:
    return ReferenceNames(kind, {track: [source] for track, source in held(kind, lists).items()})


def matched(true: Mapping[str, list[str]], listed: Mapping[str, list[str]]) -> tuple[dict[str, list[str]], str]:
    found, warning = references(true).match(held("ranking", listed), "ada")
    return {track: list(source.read()[0].labels or ()) for track, source in found.items()}, warning


class TestNamesWithoutACommonOne:
    def test_are_not_shortened_where_two_would_be_alike(self):
        """`1.wav` of which folder? Both sides have to be sure."""
        found, warning = matched({"q": ["1"]}, {"q": ["x/1.wav", "y/1.wav"]})
        assert found == {"q": ["x/1.wav", "y/1.wav"]}
        assert "'x/1.wav' is listed, the reference has '1'" in warning
        found, warning = matched({"q": ["x/1.wav"], "r": ["y/1.wav"]}, {"q": ["1"]})
        assert found == {"q": ["1"]}
        assert "'1' is listed, the reference has 'x/1.wav'" in warning

    def test_of_candidates_are_reported_query_by_query(self):
        judged = references({"q": ["b01", "b02"]}, "judgements")
        found, warning = judged.match(held("judgements", {"q": ["x/b01.mp3"]}), "ada")
        assert (list(found["q"].read()[0].labels or ()), warning) == (["b01"], "")
        assert judged.match(held("judgements", {"q": ["c07"]}), "ada")[1] == ""

    def test_the_example_is_of_something_true(self):
        judged = Annotation("ranking", {"value": np.array([0.0, 2.0])}, ["bad", "good"])
        marked = Annotation("ranking", {"left_out": np.array([1.0, 0.0])}, ["itself", "other"])
        for annotation, true in ((judged, "good"), (marked, "other")):
            _, warning = ReferenceNames("ranking", {"q": [HeldSource(annotation, "q")]}).match(
                held("ranking", {"q": ["x"]}), "ada"
            )
            assert f"the reference has {true!r}" in warning


class TestNamesThatMatchAnywhere:
    def test_stay_as_they_are(self):
        true, listed = {"q": ["a.wav"], "r": ["b"]}, {"q": ["a"], "r": ["c", "b"]}
        assert matched(true, listed) == (listed, "")

    def test_in_the_reference_of_another_query_too(self):
        listed = {"q": ["b"]}
        assert matched({"q": ["a.wav"], "r": ["b"]}, listed) == (listed, "")

    def test_nothing_more_is_read_then(self):
        class Broken(HeldSource):
            def read(self):
                pytest.fail("read in vain")

        sources = {"q": held("ranking", {"q": ["a"]})["q"], "r": Broken(Annotation("ranking", {}, []), "r")}
        known = ReferenceNames("ranking", {track: [source] for track, source in sources.items()})
        assert known.match(sources, "ada") == (sources, "")


def test_where_one_side_has_no_names_there_is_nothing_to_report():
    assert matched({"q": []}, {"q": ["a"]})[1] == ""
    assert matched({"q": ["a"]}, {"q": []})[1] == ""
    assert matched({"q": ["a"]}, {"elsewhere": ["b"]})[1] == ""


def test_a_file_that_cannot_be_read_is_left_to_be_an_error_where_it_is_scored():
    class Gone(HeldSource):
        def read(self):
            raise UnreadableError("gone")

    listed = {"q": Gone(Annotation("ranking", {}, []), "q"), **held("ranking", {"r": ["b.wav"]})}
    found, warning = references({"q": ["a"], "r": ["b"]}).match(listed, "ada")
    assert warning == ""
    assert found["q"] is listed["q"]
    assert list(found["r"].read()[0].labels or ()) == ["b"]


class TestARenamedSource:
    coded = Annotation("ranking", {}, CodedLabels(("a", "b", "c"), np.array([2, 0])))

    def test_keeps_codes_of_a_shared_vocabulary(self):
        labels = RenamedSource(HeldSource(self.coded, "q"), (("a", "a.wav"),)).read()[0].labels
        assert isinstance(labels, CodedLabels)
        assert list(labels) == ["c", "a.wav"]

    def test_changes_with_its_names(self):
        source = HeldSource(self.coded, "q")
        one, other = RenamedSource(source, (("a", "A"),)), RenamedSource(source, (("a", "B"),))
        assert len({source.stat(), one.stat(), other.stat()}) == 3
        assert 0 <= one.stat()[1] < 2**63
        assert one.label == source.label

    def test_of_an_order_without_scores_has_no_ties(self):
        assert "tie" not in RenamedSource(HeldSource(self.coded, "q"), (("a", "A"),)).read()[0].columns

    def test_can_be_sent_to_a_worker(self):
        source = RenamedSource(HeldSource(self.coded, "q"), (("a", "A"),))
        again = pickle.loads(pickle.dumps(source))
        assert again.names == source.names
        assert again.stat() == source.stat()
