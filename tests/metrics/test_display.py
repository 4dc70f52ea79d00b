"""Drawings of annotations: the artists and pixels of mir_eval's."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import mir_eval.display
import numpy as np
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from cycler import cycler  # noqa: E402

from mirflow.annotations.annotation import Annotation  # noqa: E402
from mirflow.annotations.collection import collect  # noqa: E402
from mirflow.annotations.labelled import to_dataset  # noqa: E402
from mirflow.annotations.source import HeldSource  # noqa: E402
from mirflow.engine.lazy import LazyCollection  # noqa: E402
from mirflow.errors import AnnotationError  # noqa: E402
from mirflow.metrics import display  # noqa: E402

SEGMENTS = np.array([[0.0, 10.0], [10.0, 25.0], [25.0, 30.0], [30.0, 42.0]])
LABELS = ["verse", "chorus", "verse", "end"]
TIMES = np.arange(60) * 0.1
PITCHES = np.random.default_rng(0).choice([0.0, 220.0, 230.0, 240.0, -300.0, 440.0], 60)
FRAMES = [np.random.default_rng(n).choice([0.0, 220.0, 330.0, -300.0], n % 4) for n in range(60)]
SOURCES = np.random.default_rng(0).normal(size=(3, 30000))
TWO_COLOURS = cycler(color=["r", "g"])

Drawing = Callable[[Any], Any]

DRAWINGS: dict[str, Drawing] = {
    "segments": lambda m: m.segments(SEGMENTS, LABELS),
    "segments with text": lambda m: m.segments(SEGMENTS, LABELS, text=True, text_kw={"fontsize": 14}),
    "segments at a height": lambda m: m.segments(SEGMENTS, LABELS, base=0.2, height=0.5, alpha=0.5, label="x"),
    "two segmentations": lambda m: (
        m.segments(SEGMENTS, LABELS, prop_cycle=TWO_COLOURS),
        m.segments(SEGMENTS + 5, LABELS),
    ),
    "labelled intervals": lambda m: m.labeled_intervals(SEGMENTS, LABELS),
    "reference and estimate": lambda m: (
        m.labeled_intervals(SEGMENTS, LABELS),
        m.labeled_intervals(SEGMENTS, ["x", "chorus", "y", "end"], label="estimate"),
    ),
    "a set of labels": lambda m: m.labeled_intervals(SEGMENTS, LABELS, label_set=["end", "chorus"]),
    "only a set of labels": lambda m: m.labeled_intervals(
        SEGMENTS, LABELS, label_set=["end", "chorus"], extend_labels=False
    ),
    "rows of other heights": lambda m: m.labeled_intervals(
        SEGMENTS, LABELS, base=np.array([0, 2, 4]), height=np.array([0.5, 1, 2])
    ),
    "rows without ticks": lambda m: m.labeled_intervals(
        SEGMENTS, LABELS, base=np.array([0, 2, 4]), height=0.5, tick=False
    ),
    "hierarchy": lambda m: m.hierarchy([SEGMENTS[:1] * 4, SEGMENTS], [["A"], LABELS]),
    "named levels": lambda m: m.hierarchy(
        [SEGMENTS[:1] * 4, SEGMENTS], [["A"], LABELS], levels=["large", "small"], prop_cycle=TWO_COLOURS
    ),
    "events": lambda m: m.events(TIMES[:5]),
    "labelled events": lambda m: (
        m.events(TIMES[:5], labels=list("abcde")),
        m.events(TIMES[:5] + 0.05, color="k", linestyle=":", label="estimate"),
    ),
    "events of colours": lambda m: m.events(TIMES[:5], base=2, height=3, colors=["r", "g", "b", "r", "g"]),
    "no events": lambda m: m.events([]),
    "events on other axes": lambda m: m.events(TIMES[:5], ax=plt.subplots(2)[1][1]),
    "pitch": lambda m: (m.pitch(TIMES, PITCHES, unvoiced=True, label="a"), m.pitch(TIMES, PITCHES * 1.01, label="b")),
    "pitch as notes": lambda m: (m.pitch(TIMES, PITCHES, unvoiced=True, midi=True), m.ticker_notes()),
    "pitch as hertz": lambda m: (m.pitch(TIMES, PITCHES, midi=True), m.ticker_pitch()),
    "multipitch": lambda m: m.multipitch(TIMES, FRAMES, unvoiced=True, label="x"),
    "multipitch as notes": lambda m: m.multipitch(TIMES, FRAMES, midi=True, unvoiced=True, alpha=0.5),
    "piano rolls": lambda m: (
        m.piano_roll(SEGMENTS, midi=np.array([60, 64, 67.4, 72]), label="a"),
        m.piano_roll(SEGMENTS, pitches=np.array([440, 220.0, 500, 600]), label="b"),
    ),
    "sources": lambda m: m.separation(SOURCES),
    "named sources": lambda m: m.separation(
        SOURCES[:2], fs=8000, labels=["x", "y"], alpha=0.5, nperseg=128, shading="auto"
    ),
    "kinds together": lambda m: (m.events([1.0, 2.0]), m.segments(SEGMENTS, LABELS), m.pitch(TIMES, PITCHES / 100)),
}


@pytest.fixture(autouse=True)
def no_figures() -> Iterator[None]:
    plt.switch_backend("agg")
    plt.close("all")
    yield
    plt.close("all")


def draw(drawing: Drawing, module: Any) -> tuple[bytes, list[Any]]:
    """Pixels and artists of a drawing on a new figure."""
    plt.close("all")
    figure = plt.figure()
    drawing(module)
    figure = plt.gcf()
    for ax in figure.axes:
        if ax.get_legend_handles_labels()[0]:
            ax.legend()
    raw = io.BytesIO()
    figure.savefig(raw, format="raw", dpi=60)
    return raw.getvalue(), [describe(artist) for ax in figure.axes for artist in ax.get_children()]


def describe(artist: Any) -> tuple[Any, ...]:
    """The class, label, place and colour of an artist."""
    found: list[Any] = [type(artist).__name__]
    if "Axis" not in found[0]:
        found.append(artist.get_label())
    for name in ("get_facecolor", "get_edgecolor", "get_color", "get_alpha", "get_xydata", "get_xy", "get_offsets"):
        if hasattr(artist, name):
            value = getattr(artist, name)()
            found.append((name, np.ma.getdata(value).tolist() if isinstance(value, np.ndarray) else str(value)))
    if hasattr(artist, "get_paths"):
        found.append([path.vertices.tolist() for path in artist.get_paths()])
    if hasattr(artist, "get_ticklabels"):
        found.append([text.get_text() for text in artist.get_ticklabels()])
    return tuple(found)


@pytest.mark.filterwarnings("ignore")  # of matplotlib and scipy, the same for both
@pytest.mark.parametrize("name", DRAWINGS)
def test_artists_and_pixels_are_those_of_mir_eval(name: str) -> None:
    expected_pixels, expected_artists = draw(DRAWINGS[name], mir_eval.display)
    pixels, artists = draw(DRAWINGS[name], display)
    assert artists == expected_artists
    assert pixels == expected_pixels


@pytest.mark.parametrize("name", sorted({*display.__all__} - {"IntervalFormatter", "annotation", "collection"}))
def test_signatures_are_those_of_mir_eval(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(module, name)) for module in (display, mir_eval.display))
    assert {p.name: p.default for p in ours.parameters.values()} == {
        p.name: p.default for p in theirs.parameters.values()
    }


def test_labels_stand_at_the_height_that_is_given() -> None:
    # mir_eval's text of such labels cannot be drawn by matplotlib.
    ax = display.events(TIMES[:2], labels=["a", "b"], base=2, height=3)
    display.segments(SEGMENTS, LABELS, base=0.2, height=0.5, text=True, ax=ax)
    ax.figure.canvas.draw()
    assert [text.xy for text in ax.texts[:3]] == [(0.0, 3), (0.1, 3), (0.0, 0.5)]


def test_base_and_height_go_together() -> None:
    for drawing in (lambda: display.events([1.0], base=2), lambda: display.segments(SEGMENTS, LABELS, height=1)):
        with pytest.raises(ValueError, match="base and height must be given together"):
            drawing()


def test_a_piano_roll_needs_pitches() -> None:
    with pytest.raises(ValueError, match="a piano roll requires pitches in Hz or midi"):
        display.piano_roll(SEGMENTS)


class TestAnnotations:
    """An annotation looks like the drawing of its arrays."""

    @staticmethod
    def same(one: Callable[[Any], Any], other: Callable[[Any], Any]) -> None:
        pictures = []
        for draw in (one, other):
            figure, ax = plt.subplots()
            draw(ax)
            buffer = io.BytesIO()
            figure.savefig(buffer, format="raw")
            pictures.append(buffer.getvalue())
            plt.close(figure)
        assert pictures[0] == pictures[1]

    SPANS: ClassVar[dict[str, Any]] = {"start": SEGMENTS[:, 0], "end": SEGMENTS[:, 1]}

    @pytest.mark.parametrize(
        ("given", "draw"),
        [
            (Annotation("events", {"time": TIMES}), lambda ax: display.events(TIMES, ax=ax)),
            (Annotation("intervals", SPANS, LABELS), lambda ax: display.segments(SEGMENTS, LABELS, ax=ax)),
            (
                Annotation("notes", {**SPANS, "pitch": np.array([220.0, 330.0, 440.0, 220.0])}),
                lambda ax: display.piano_roll(SEGMENTS, np.array([220.0, 330.0, 440.0, 220.0]), ax=ax),
            ),
            (
                Annotation("series", {"time": TIMES, "frequency": PITCHES}),
                lambda ax: display.pitch(TIMES, PITCHES, ax=ax),
            ),
            (
                Annotation(
                    "multipitch",
                    {"time": TIMES, "frequency": np.concatenate(FRAMES)},
                    inner_counts=(np.array([len(one) for one in FRAMES]),),
                ),
                lambda ax: display.multipitch(TIMES, FRAMES, ax=ax),
            ),
            (
                Annotation("hierarchy", SPANS, LABELS, inner_counts=(np.array([1, 3]),)),
                lambda ax: display.hierarchy([SEGMENTS[:1], SEGMENTS[1:]], [LABELS[:1], LABELS[1:]], ax=ax),
            ),
        ],
        ids=lambda one: getattr(one, "kind", ""),
    )
    def test_each_kind_has_its_drawing(self, given: Annotation, draw: Callable[[Any], Any]) -> None:
        self.same(lambda ax: display.annotation(given, ax), draw)
        self.same(lambda ax: display.annotation(to_dataset(given), ax), draw)

    def test_a_collection_has_axes_for_each_track(self) -> None:
        tracks = {name: Annotation("events", {"time": TIMES + shift}) for name, shift in (("a", 0), ("b", 1))}
        axes = display.collection(collect(tracks), color="k")
        assert [ax.get_title() for ax in axes] == ["a", "b"]
        assert all(len(ax.collections) == 1 for ax in axes)
        lazy = LazyCollection("events", ("b",), (HeldSource(tracks["b"], "b"),))
        assert display.collection(lazy, axes[:1])[0].get_title() == "b"
        plt.close(axes[0].figure)
        with pytest.raises(ValueError, match="expected one axes per track, got 1 for 2 tracks"):
            display.collection(collect(tracks), axes[:1])

    def test_what_has_no_times_is_refused(self) -> None:
        with pytest.raises(AnnotationError, match="ranking cannot be drawn over time"):
            display.annotation(Annotation("ranking", {}, ["a"]))
        with pytest.raises(AnnotationError, match="not an annotation: list; "):
            display.annotation([1.0])  # type: ignore[arg-type]
