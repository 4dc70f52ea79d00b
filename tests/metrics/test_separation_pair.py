"""Source separation, one pair of arrays: mir_eval's numbers, errors and warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import mir_eval
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.errors import MirflowWarning
from mirflow.metrics import separation
from mirflow.metrics.separation.kernel import best_order
from tests.metrics.recordings import mixed, sources

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
FUNCTIONS = ("bss_eval_sources", "bss_eval_sources_framewise", "bss_eval_images", "bss_eval_images_framewise")


@pytest.fixture(autouse=True)
def mended_mir_eval(monkeypatch: pytest.MonkeyPatch) -> None:
    """mir_eval with the class of errors that it looks for where numpy no longer has it, so that it may fall back."""
    monkeypatch.setattr(np.linalg, "linalg", np.linalg, raising=False)


def both(name: str, *args: object, **kwargs: object) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    found = getattr(separation, name)(*args, **kwargs)
    expected = getattr(mir_eval.separation, name)(*args, **kwargs)
    assert len(found) == len(expected)
    return zip(found, expected, strict=True)


@pytest.mark.parametrize("permutation", [True, False])
@pytest.mark.parametrize(
    ("name", "channels"),
    [
        ("bss_eval_sources", 0),
        ("bss_eval_sources_framewise", 0),
        ("bss_eval_images", 0),
        ("bss_eval_images_framewise", 0),
        pytest.param("bss_eval_images", 2, marks=pytest.mark.slow),
        pytest.param("bss_eval_images_framewise", 2, marks=pytest.mark.slow),
    ],
)
def test_scores_are_mir_evals(name: str, channels: int, permutation: bool) -> None:
    # Longer than there are taps in all filters together: else nothing is left over, and rounding is compared.
    reference = sources(2, 3000 if channels else 1500, channels=channels)
    estimate = mixed(reference)[::-1]
    spans = (1700, 1300) if channels else (700, 400)
    frames = dict(zip(("window", "hop"), spans, strict=True)) if "framewise" in name else {}
    for found, expected in both(name, reference, estimate, compute_permutation=permutation, **frames):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=8)
@given(
    count=st.integers(1, 2),
    frames=st.integers(1000, 2500),
    leak=st.sampled_from([0.0, 1e-3, 0.3]),
    noise=st.sampled_from([1e-4, 0.1, 3.0]),
    seed=st.integers(0, 99),
)
def test_scores_of_generated_sources_are_mir_evals(
    count: int, frames: int, leak: float, noise: float, seed: int
) -> None:
    reference = sources(count, frames, seed)
    reference[0, : frames // 3] = 0
    estimate = mixed(reference, seed + 1, leak, noise)
    for name in ("bss_eval_sources", "bss_eval_images"):
        found = getattr(separation, name)(reference, estimate, False)
        expected = getattr(mir_eval.separation, name)(reference, estimate, False)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


def _low_passed(frames: int) -> np.ndarray:
    from scipy.signal import butter, sosfilt

    return np.asarray(sosfilt(butter(8, 0.3, output="sos"), sources(2, frames), axis=1))


_SLOW = ("a source that is the sum of others", "low-passed sources")
_HARD: dict[str, Callable[[], np.ndarray]] = {
    "one source twice": lambda: sources(2, 3000)[[0, 1, 0]],
    "a source that is the sum of others": lambda: np.vstack([sources(2, 3000), sources(2, 3000).sum(axis=0)]),
    "a source and its echo": lambda: np.vstack([sources(1, 3000), np.roll(sources(1, 3000), 3)]),
    "a very quiet source": lambda: sources(2, 3000) * [[1.0], [1e-9]],
    "a source that soon ends": lambda: sources(2, 3000) * (np.arange(3000) < [[3000], [400]]),
    "sources shorter than the filters": lambda: sources(2, 200),
    "low-passed sources": lambda: _low_passed(3000),
}


@pytest.mark.parametrize("case", [pytest.param(one, marks=pytest.mark.slow if one in _SLOW else ()) for one in _HARD])
def test_ill_conditioned_scores_lie_as_near_to_mir_evals_as_those_to_each_other(case: str) -> None:
    """mir_eval moves when a sample changes by one unit in the last place: no nearer can anybody be."""
    reference, rng = _HARD[case](), np.random.default_rng(3)
    estimate = reference + 0.1 * rng.normal(size=reference.shape) * np.abs(reference).max(axis=1, keepdims=True)
    expected = np.array(mir_eval.separation.bss_eval_images(reference, estimate, False)[:4])
    moved = []
    for _ in range(4):
        nudged = np.nextafter(reference, rng.choice([-np.inf, np.inf], reference.shape))
        nudged[reference == 0] = 0
        moved.append(mir_eval.separation.bss_eval_images(nudged, estimate, False)[:4])
    sensitivity = np.abs(np.array(moved) - expected).max(axis=0)
    found = np.array(separation.bss_eval_images(reference, estimate, False)[:4])
    assert (np.abs(found - expected) <= np.maximum(1e-6, 5 * sensitivity)).all()


def test_a_stereo_source_with_equal_channels_is_no_obstacle() -> None:
    mono = sources(2, 2000)
    reference, estimate = np.repeat(mono[:, :, None], 2, axis=2), np.repeat(mixed(mono)[:, :, None], 2, axis=2)
    found = separation.bss_eval_images(reference, estimate)[:4]
    np.testing.assert_allclose(found, separation.bss_eval_images(mono, mixed(mono))[:4], rtol=0, atol=1e-9)


def test_a_perfect_estimate() -> None:
    reference = sources(2, 2000)
    sdr, isr, sir, sar, order = separation.bss_eval_images(reference, reference)
    assert np.isposinf(sdr).all()
    assert (np.array([isr, sir, sar]) > 200).all()
    assert order.tolist() == [0, 1]


def test_one_source_has_no_interference() -> None:
    reference = sources(1, 2000)
    sdr, sir, sar, _ = separation.bss_eval_sources(reference, mixed(reference))
    assert np.isposinf(sir).all()
    np.testing.assert_array_equal(sdr, sar)


def test_sources_may_be_flat_and_of_whole_numbers() -> None:
    reference = np.round(1000 * sources(1, 2000)[0]).astype(np.int16)
    estimate = reference + np.round(50 * sources(1, 2000, 4)[0]).astype(np.int16)
    for name in FUNCTIONS:
        for found, expected in both(name, reference, estimate):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_frames_with_silence_have_no_scores() -> None:
    reference, estimate = sources(2, 4000, channels=2), mixed(sources(2, 4000, channels=2))
    reference[0, 1000:2000] = 0
    estimate[1, 3000:] = 0
    estimate[0, :1000, 1] = -estimate[0, :1000, 0]  # channels that cancel count as silence
    for found in separation.bss_eval_images_framewise(reference, estimate, 1000, 1000):
        assert np.isnan(found[:, [0, 1, 3]]).all()
        assert np.isfinite(found[:, 2]).all()


@pytest.mark.parametrize(("window", "hop"), [(5000, 100), (3000, 2000)])
def test_less_than_two_frames_are_the_whole(window: int, hop: int) -> None:
    reference = sources(2, 4000)
    whole = separation.bss_eval_sources(reference, mixed(reference), False)
    frames = separation.bss_eval_sources_framewise(reference, mixed(reference), window, hop)
    assert [one.tolist() for one in frames] == [one[:, None].tolist() for one in whole]


def test_evaluate_has_mir_evals_keys_and_its_functions_numbers() -> None:
    reference = sources(2, 700)
    estimate = mixed(reference)[::-1]
    found = separation.evaluate(reference, estimate, window=300, hop=200)
    assert list(found) == list(mir_eval.separation.evaluate(reference, estimate))
    for name, group in zip(FUNCTIONS, ("Sources", "Sources Frames", "Images", "Images Frames"), strict=True):
        frames = (300, 200) if "framewise" in name else ()
        own = getattr(separation, name)(reference, estimate, *frames)
        assert [values for key, values in found.items() if key.startswith(f"{group} - ")] == [
            one.tolist() for one in own
        ]


def test_evaluate_leaves_sources_out_where_there_are_channels() -> None:
    reference = sources(1, 700, channels=1)
    found = separation.evaluate(reference, mixed(reference))
    assert list(found) == list(mir_eval.separation.evaluate(reference, mixed(reference)))
    assert len(found) == 10


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_cannot_be_scored_is_refused(name: str) -> None:
    function, channels = getattr(separation, name), 2 if "images" in name else 0
    good, silent = sources(3, 700, channels=channels), sources(3, 700, channels=channels)
    silent[1] = 0
    for sides, message in [
        ((good, good[:2]), "shape of estimated sources and the true sources should match"),
        ((silent, good), "All the reference sources should be non-silent"),
        ((good, silent), "All the estimated sources should be non-silent"),
        ((np.ones((2, 3, 4, 5)), np.ones((2, 3, 4, 5))), "number of dimensions is too high"),
        ((np.ones((101, 9)), np.ones((101, 9))), "with up to 100"),
    ]:
        with pytest.raises(ValueError, match=message):
            function(*sides)
    if not channels:
        with pytest.raises(ValueError, match="images may have several"):
            function(sources(2, 700, channels=2), sources(2, 700, channels=2))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_empty_sides_warn_and_have_no_scores(name: str) -> None:
    with pytest.warns(MirflowWarning, match="is empty") as record:
        found = getattr(separation, name)(np.array([]), np.array([]))
    assert [str(one.message).split("_")[0] for one in record if one.category is MirflowWarning] == [
        "reference",
        "estimated",
    ]
    assert all(one.size == 0 for one in found)


@pytest.mark.filterwarnings("default::FutureWarning")
@pytest.mark.parametrize("name", [*FUNCTIONS, "evaluate"])
def test_mir_evals_announcement_is_passed_on_to_the_caller(name: str) -> None:
    with pytest.warns(FutureWarning, match=f"separation.{name} is deprecated in mir_eval 0.8") as record:
        getattr(separation, name)(sources(1, 600), sources(1, 600))
    assert [Path(one.filename) for one in record] == [Path(__file__)]


def test_samples_that_are_not_finite_leave_no_score() -> None:
    reference, estimate = sources(2, 700), mixed(sources(2, 700))
    for side in (reference, estimate):
        kept, side[0, 5] = side[0, 5], np.nan
        assert np.isnan(separation.bss_eval_sources(reference, estimate)[:3]).all()
        side[0, 5] = kept


class TestOrder:
    def test_many_sources_are_ordered_without_trying_all_orders(self) -> None:
        rng = np.random.default_rng(0)
        scores, order = rng.normal(size=(20, 20)), rng.permutation(20)
        scores[order, np.arange(20)] += 50
        scores[order[3], 3] = np.inf
        assert best_order(scores).tolist() == order.tolist()

    def test_the_first_of_equally_good_orders_is_taken(self) -> None:
        assert best_order(np.ones((3, 3))).tolist() == [0, 1, 2]
        assert best_order(np.full((2, 2), np.inf)).tolist() == [0, 1]
