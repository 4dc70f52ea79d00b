"""mir_eval's functions on chord labels."""

from __future__ import annotations

from types import ModuleType

import mir_eval
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.metrics import chord
from tests.chord_strategies import labels


@given(label=labels, reduce=st.booleans())
def test_split_gives_mir_evals_parts(label: str, reduce: bool) -> None:
    assert chord.split(label, reduce) == mir_eval.chord.split(label, reduce)


def test_parts_may_be_changed_by_the_caller() -> None:
    degrees = chord.split("C:maj(9)")[2]
    assert isinstance(degrees, set)
    degrees.clear()
    assert chord.split("C:maj(9)")[2] == {"9"}
    chord.reduce_extended_quality("9")[1].clear()
    assert chord.reduce_extended_quality("9") == ("7", {"9"})


@given(label=labels)
def test_join_undoes_split(label: str) -> None:
    root, quality, degrees, bass = chord.split(label)
    if label not in ("N", "X"):
        joined = chord.join(root, quality, degrees, bass)
        assert chord.split(joined) == [root, quality, degrees, bass]
        assert joined == mir_eval.chord.join(root, quality, degrees, bass)


def test_parts_that_make_no_label_are_refused() -> None:
    with pytest.raises(chord.InvalidChordException, match=r"^Invalid chord label: C:major$"):
        chord.join("C", "major")


@given(label=labels, reduce=st.booleans())
def test_encode_gives_mir_evals_root_bitmap_and_bass(label: str, reduce: bool) -> None:
    ours, theirs = chord.encode(label, reduce), mir_eval.chord.encode(label, reduce)
    assert (ours[0], ours[2]) == (theirs[0], theirs[2])
    np.testing.assert_array_equal(ours[1], theirs[1], strict=True)


def outcome(module: ModuleType, label: str, reduce: bool) -> tuple[object, ...]:
    try:
        root, bitmap, bass = module.encode(label, reduce, strict_bass_intervals=True)
    except module.InvalidChordException as error:
        return error.message, error.chord_label
    return root, bitmap.tolist(), bass


@given(label=labels, reduce=st.booleans())
def test_a_strict_bass_is_refused_exactly_where_mir_eval_does(label: str, reduce: bool) -> None:
    assert outcome(chord, label, reduce) == outcome(mir_eval.chord, label, reduce)


def test_bitmaps_may_be_changed_by_the_caller() -> None:
    for label in ("N", "X", "C"):
        chord.encode(label)[1][:] = 7
        np.testing.assert_array_equal(chord.encode(label)[1], mir_eval.chord.encode(label)[1])


@given(many=st.lists(labels, max_size=12), reduce=st.booleans())
def test_encode_many_gives_mir_evals_arrays(many: list[str], reduce: bool) -> None:
    ours, theirs = chord.encode_many(many, reduce), mir_eval.chord.encode_many(many, reduce)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_the_first_label_that_cannot_be_encoded_is_raised() -> None:
    with pytest.raises(
        chord.InvalidChordException, match=r"^Unsupported chord quality shorthand: 'maj11' Did you mean"
    ) as caught:
        chord.encode_many(["C", "C:maj11", "H"])
    assert caught.value.chord_label == "C:maj11"


@given(
    degree=st.builds(str.__add__, st.sampled_from(("", "*", "b", "*#", "##")), st.integers(1, 13).map(str)),
    modulo=st.booleans(),
    length=st.integers(12, 24),
)
def test_degrees_become_mir_evals_bitmaps(degree: str, modulo: bool, length: int) -> None:
    ours = chord.scale_degree_to_bitmap(degree, modulo, length)
    np.testing.assert_array_equal(ours, mir_eval.chord.scale_degree_to_bitmap(degree, modulo, length), strict=True)


@pytest.mark.parametrize("quality", [*mir_eval.chord.QUALITIES, "b9", "#11", "b13"])
def test_qualities_become_mir_evals_bitmaps_and_reductions(quality: str) -> None:
    assert chord.reduce_extended_quality(quality) == mir_eval.chord.reduce_extended_quality(quality)
    if quality in mir_eval.chord.QUALITIES:
        np.testing.assert_array_equal(chord.quality_to_bitmap(quality), mir_eval.chord.quality_to_bitmap(quality))


@pytest.mark.parametrize("quality", ["maj5", "2", "#7"])
def test_other_qualities_are_refused(quality: str) -> None:
    with pytest.raises(chord.InvalidChordException, match=f"^Unsupported chord quality shorthand: '{quality}'"):
        chord.quality_to_bitmap(quality)


@given(
    rows=st.lists(st.tuples(st.lists(st.integers(-1, 1), min_size=12, max_size=12), st.integers(-1, 11)), min_size=1)
)
def test_bitmaps_are_rotated_as_by_mir_eval(rows: list[tuple[list[int], int]]) -> None:
    bitmaps, roots = [row[0] for row in rows], [row[1] for row in rows]
    rotated = chord.rotate_bitmaps_to_roots(bitmaps, roots)
    np.testing.assert_array_equal(rotated, mir_eval.chord.rotate_bitmaps_to_roots(bitmaps, roots), strict=True)
    np.testing.assert_array_equal(chord.rotate_bitmap_to_root(bitmaps[0], roots[0]), rotated[0], strict=True)


def test_only_bitmaps_of_twelve_semitones_are_rotated() -> None:
    with pytest.raises(ValueError, match=r"^a bitmap needs shape \(12,\), not \(1, 12\)$"):
        chord.rotate_bitmap_to_root(np.zeros((1, 12)), 3)
    with pytest.raises(ValueError, match=r"^2 roots need bitmaps of shape \(2, 12\), not \(1, 12\)$"):
        chord.rotate_bitmaps_to_roots(np.zeros((1, 12)), [0, 1])


def test_every_public_name_of_mir_eval_is_here() -> None:
    modules = {"np", "warnings", "collections", "re", "util"}
    public = {name for name in vars(mir_eval.chord) if not name.startswith("_")} - modules
    assert public <= set(chord.__all__)
