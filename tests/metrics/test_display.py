"""Drawings of annotations: mir_eval's functions with their arrays."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

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


@pytest.fixture(autouse=True)
def no_figures() -> Iterator[None]:
    plt.switch_backend("agg")
    plt.close("all")
    yield
    plt.close("all")


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
