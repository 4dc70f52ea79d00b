"""Parts of the page: annotations and evidence as JSON, the order of tracks, letters, and the script."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

from mirflow.analysis.scores import as_scores, names_of
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.schema import KINDS
from mirflow.readers import read
from mirflow.reports.page.assembly import assemble, order_modules, read_asset, script
from mirflow.reports.page.data import describe_inference, main_metrics, order_tracks
from mirflow.reports.page.embed import (
    ITEMS,
    TIMELESS,
    CompressedParts,
    PageLabels,
    encode,
    encode_evidence,
    pack_floats,
    pack_json,
)
from mirflow.reports.page.first_screen import FirstScreen
from tests.groups import make_group, random_group


def empty(kind: str) -> Annotation:
    """An annotation of a kind without anything in it."""
    schema = KINDS[kind]
    columns = {one.name: np.zeros(0) for one in schema.variables if one.dtype == "float64"}
    labels = [] if any(one.name == "label" for one in schema.variables) else None
    inner = tuple(np.zeros(0, dtype=np.int64) for _ in schema.dims[1:])
    return Annotation(kind, columns, labels, inner)


class TestEncoding:
    def test_the_evidence_is_that_of_explain(self):
        from mirflow.metrics.base import get_task

        times = np.array([0.0, 2.0, 3.0, 5.0])
        reference = Annotation("intervals", {"start": times[:-1], "end": times[1:]}, ["C", "G", "N"])
        estimate = Annotation("intervals", {"start": times[:1], "end": times[-1:]}, ["C"])
        rules = get_task("chord").convention()
        found = rules.explain(reference, estimate, *rules.select(["majmin"]))
        verdicts: dict[str, int] = {}
        (packed,) = encode_evidence([found], "intervals", verdicts)
        assert packed == {"s": [0, 2000], "n": [2000, 3000], "v": [0, 1]}
        assert list(verdicts) == ["right", "wrong"]

    def test_marks_keep_what_is_missing(self):
        columns = {
            "reference": np.array([1.0, np.nan, 3.5]),
            "estimate": np.array([1.0204, 3.0, np.nan]),
            "verdict": np.array(["hit", "extra", "missed"]),
        }
        (packed,) = encode_evidence([columns], "events", {})
        assert packed == {"r": [1000, None, 2500], "e": [1020, 1980, None], "v": [0, 1, 2]}

    def test_without_a_time_axis_evidence_is_text(self):
        columns = {"reference": np.array([120.0]), "verdict": np.array(["right"])}
        assert encode_evidence([columns], "tempo", {}) == [{"x": [[["reference", "120"], ["verdict", "right"]]]}]

    def test_pitches_are_cents_with_a_sign_for_voicing(self):
        series = Annotation(
            "series", {"time": np.array([0.0, 0.01, 0.02]), "frequency": np.array([440.0, 0.0, -880.0])}
        )
        assert encode(series, "melody", PageLabels()) == {"k": "curve", "t": [0, 10, 10], "p": [6900, 0, -8100]}

    def test_nested_counts_fit_after_something_was_left_out(self):
        columns = {"start": np.array([0.0, np.nan, 1.0]), "end": np.array([1.0, 1.0, np.inf])}
        levels = Annotation("hierarchy", columns, ["a", "b", "c"], (np.array([2, 1]),))
        assert encode(levels, "hierarchy", PageLabels()) == {
            "k": "levels",
            "s": [0],
            "n": [1000],
            "c": [[1, 0]],
            "l": [0],
        }

    def test_frames_of_several_pitches(self):
        frames = Annotation(
            "multipitch",
            {"time": np.array([0.0, 0.1]), "frequency": np.array([440.0, 220.0])},
            None,
            (np.array([2, 0]),),
        )
        assert encode(frames, "multipitch", PageLabels()) == {
            "k": "frames",
            "t": [0, 100],
            "c": [[2, 0]],
            "p": [6900, 5700],
        }

    def test_a_ranking_shows_its_first_items_and_says_how_many_more_there_are(self):
        names = [f"item {place}" for place in range(ITEMS + 30)]
        ranking = Annotation("ranking", {"value": np.linspace(1, 0, len(names))}, names)
        found = encode(ranking, "retrieval", PageLabels())
        assert (len(found["l"]), len(found["v"]), found["o"]) == (ITEMS, ITEMS, 30)
        assert "o" not in encode(Annotation("labels", {}, names[:3]), "tagging", PageLabels())

    def test_notes_that_a_score_is_followed_by_are_moments(self):
        notes = Annotation("following", {"time": np.array([0.5, 1.5]), "position": np.array([0.0, 1.0])})
        assert encode(notes, "score_following", PageLabels()) == {"k": "steps", "t": [500, 1000]}

    def test_drums_have_a_row_for_each_class_in_annotations_and_evidence(self):
        hits = Annotation("hits", {"time": np.array([0.5, 0.5, 1.0])}, ["36", "hihat", "Cowbell"])
        found = encode(hits, "drums", PageLabels())
        assert (found["k"], found["r"]) == ("drums", [0, 3, 5])
        assert list(found["y"]) == ["BD", "SD", "TT", "HH", "CY+RD", "other"]
        columns = {
            "reference": np.array([0.5, np.nan]),
            "estimate": np.array([0.5, 1.0]),
            "class": np.array(["BD", "HH"]),
            "verdict": np.array(["hit", "extra"]),
        }
        (packed,) = encode_evidence([columns], "hits", {})
        assert packed is not None
        assert packed["y"] == [0, 3]

    def test_levels_have_the_names_of_their_files(self, tmp_path):
        for level in ("uppercase", "lowercase"):
            (tmp_path / f"a_{level}.txt").write_text("0 8 A\n")
        whole = read(tmp_path / "a_{level}.txt", task="hierarchy", levels=["uppercase", "lowercase"])
        assert encode(whole, "hierarchy", PageLabels())["y"] == ["uppercase", "lowercase"]

    def test_pedals_are_stretches_with_a_row_for_each(self):
        times = {"start": np.array([0.0, 0.5]), "end": np.array([1.0, 2.0])}
        found = encode(Annotation("pedals", times, ["sustain", "67"]), "pedal", PageLabels())
        assert (found["k"], found["s"], found["n"], found["r"]) == ("levels", [0, 500], [1000, 1500], [0, 2])

    def test_scores_have_their_notes_by_performed_onset_and_notated_length(self):
        columns = {
            "time": np.array([0.1, 0.6, 0.0]),
            "notated_start": np.array([0.0, 0.5, np.nan]),
            "notated_end": np.array([0.5, 1.5, np.nan]),
            "pitch": np.array([60.0, 64.0, np.nan]),
            "voice": np.array([0.0, 0.0, np.nan]),
        }
        found = encode(Annotation("sheet_music", columns, ["note", "note", "tatum"]), "audio_to_score", PageLabels())
        assert found == {"k": "sheet", "s": [100, 500], "n": [500, 1000], "p": [6000, 6400]}
        judged = {
            "reference": np.array([0.1, np.nan]),
            "estimate": np.array([0.1, 0.6]),
            "pitch": np.array([60.0, 64.0]),
            "verdict": np.array(["hit", "extra"]),
        }
        (packed,) = encode_evidence([judged], "sheet_music", {})
        assert packed is not None
        assert packed["q"] == [6000, 6400]

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_kind_has_a_place_in_the_page(self, kind):
        found = encode(empty(kind), KINDS[kind].tasks[0], PageLabels())
        assert ("t" in found or "s" in found) == (kind not in TIMELESS)

    def test_keys_and_chords_sound_and_other_labels_do_not(self):
        vocabulary = PageLabels()
        for label, task in (
            ("A minor", "key"),
            ("A:min", "chord"),
            ("H:moll", "chord"),
            ("X", "key"),
            ("chorus", "segment"),
        ):
            vocabulary.codes([label], task)
        assert vocabulary.entries() == [
            ["A minor", 9, 0b10001001, 0],
            ["A:min", 9, 0b10001001, 0],
            ["H:moll", -1, 0, -1],
            ["X", -1, 0, -1],
            ["chorus"],
        ]


class TestOrder:
    def test_the_worst_and_the_most_disputed_take_turns(self):
        score = np.array([[0.9, 0.1, 0.5, 0.0], [0.9, 0.2, 0.5, 1.0]])[..., np.newaxis]
        assert order_tracks(as_scores(make_group(score)), 0) == [1, 3, 2, 0]

    def test_lower_may_be_better(self):
        score = np.array([[1.0, 9.0, 5.0]])[..., np.newaxis]
        board = as_scores(make_group(score, orientation=["lower"], standard=["mean"]))
        assert order_tracks(board, 0)[0] == 1

    def test_tracks_without_any_score_come_last(self):
        score = np.array([[np.nan, 0.5]])[..., np.newaxis]
        assert order_tracks(as_scores(make_group(score)), 0)[0] == 1

    def test_the_main_metric_is_the_one_that_the_field_looks_at(self):
        board = as_scores(random_group(2, 2, 3, metrics=["root", "f_measure@0.5", "majmin"]))
        assert names_of(board, "metric")[main_metrics(board)[0]] == "majmin"
        assert names_of(board, "metric")[main_metrics(board, ["root"])[0]] == "root"


class TestInference:
    @pytest.mark.parametrize("systems", [3, 12])
    def test_letters_come_from_the_same_test_however_many_systems_there_are(self, systems):
        group = random_group(systems, 20, 1)
        ((_, found),) = describe_inference(as_scores(group), [0], [0])
        compared = group.mirflow.compare("majmin")  # as commands and sites do
        assert found["letters"] == compared["letters"].values[:, 0].tolist()
        assert "not told apart at 0.05 (permutation test, max-T, n = 20)" in found["how"]
        assert np.isfinite([found["low"], found["high"]]).all()

    def test_few_tracks_have_neither_intervals_nor_letters_and_two_sentences(self):
        group = random_group(3, 5, 1)
        ((_, found),) = describe_inference(as_scores(group), [0], [0])
        assert found["letters"] == []
        assert found["low"] == found["high"] == [None, None, None]
        assert found["how"] == (
            "No interval: at 95 % it takes 6 tracks or more. "
            "No letters: so few units cannot give a corrected p-value below 0.05 (permutation test, max-T, n = 5). "
            f"Signature: {group.mirflow.signature('majmin')[0]}"
        )

    def test_of_one_metric_alone_is_the_same_as_among_others(self):
        board = as_scores(random_group(4, 30, 3, metrics=["root", "majmin", "sevenths"]))
        names = {f"{name}s": names_of(board, name) for name in ("system", "track")}
        about = {"name": "", "metrics": [{"name": name} for name in "abc"], "trackCount": 30, **names}
        draw = FirstScreen(board, about).draw
        every = {place: draw(place, own) for place, own in describe_inference(board, [2, 0, 1], [2, 0])}
        for place in range(3):
            ((_, alone),) = describe_inference(board, [place], [2, 0])
            assert draw(place, alone) == every[place]


class TestScript:
    def test_modules_come_after_those_that_they_need(self):
        sources = {name: read_asset(f"{name}.js") for name in _module_names()}
        orders = order_modules(sources), order_modules(sources, "single")
        for order, start in zip(orders, ("main", "single"), strict=True):
            assert order.index("dom") < order.index("timeline") < order.index(start)
        assert {*orders[0], *orders[1]} == {*_module_names()}

    def test_circles_are_refused(self):
        with pytest.raises(ValueError, match="import each other: main -> a -> main"):
            order_modules({"main": 'import { a } from "./a.js";\n', "a": 'import { b } from "./main.js";\n'})

    def test_no_import_or_export_is_left(self):
        assert not re.search(r"^(import|export) ", script(), re.MULTILINE)

    def test_every_module_is_short(self):
        assert max(len(read_asset(f"{name}.js").splitlines()) for name in _module_names()) <= 300


def _module_names() -> list[str]:
    from importlib.resources import files

    folder = files("mirflow.reports.page").joinpath("assets")
    return [one.name.removesuffix(".js") for one in folder.iterdir() if one.name.endswith(".js")]


def test_equal_blocks_are_stored_once():
    blocks = CompressedParts()
    ones = np.ones(5)
    assert [blocks.put("", partial(pack_floats, one)) for one in (ones, ones * 2, ones)] == [0, 1, 0]


def test_json_cannot_end_a_script():
    text = pack_json(
        {"a": ["</script><script>alert(2)<!--", "<!--", "]]>", "\u2028"], "b": np.float64("nan"), "__proto__": 1}
    ).decode()
    assert not re.search(r"[<>&\u2028]", text)
    assert '"b":null' in text


def test_our_own_script_puts_no_text_where_it_could_be_markup():
    own = script()
    for name in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
    ):
        assert name not in own


def test_nothing_of_a_page_is_put_in_twice():
    page = assemble("$script $contents", '{"a": "$title"}', ["QUJD"])
    assert "<title>$script $contents</title>" in page
    assert '{"a": "$title"}' in page
