"""Correlations, least squares and filters of long signals: what numpy gives for the whole, block by block."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.metrics.separation import kernel as correlations
from mirflow.metrics.separation.kernel import DelaySpan, Filters, Reader, blocks_of, correlate, to_gram


def reader(rows: np.ndarray) -> Reader:
    return lambda start, stop: rows[:, start:stop]


def noise(rows: int, frames: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, frames))


def delays(rows: np.ndarray, lags: int) -> np.ndarray:
    """Every row and its delays: (frames + lags - 1, rows * lags)."""
    padded = [np.pad(row, (lag, lags - 1 - lag)) for row in rows for lag in range(lags)]
    return np.array(padded).T


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlations, "_LONGEST", 16)


@settings(deadline=None)
@given(frames=st.integers(0, 300000), lags=st.integers(1, 2000))
def test_blocks_cover_a_signal_and_leave_room_for_ringing(frames: int, lags: int) -> None:
    size, spans = blocks_of(frames, lags)
    assert [start for start, _ in spans[1:]] == [stop for _, stop in spans[:-1]]
    assert (spans[0][0], spans[-1][1]) == (0, frames) if frames else spans == []
    block = spans[0][1] if spans else 1
    assert all(0 < stop - start <= block for start, stop in spans)
    assert size >= block + lags - 1
    assert len(spans) < 2 or block >= lags - 1


@pytest.mark.usefixtures("short_blocks")
@settings(deadline=None)
@given(frames=st.integers(0, 90), lags=st.integers(1, 9), seed=st.integers(0, 99))
def test_correlations_are_sums_of_products(frames: int, lags: int, seed: int) -> None:
    one, other = noise(2, frames, seed), noise(3, frames, seed + 1)
    found = correlate(reader(one), reader(other), frames, lags)
    padded = np.pad(other, ((0, 0), (0, lags)))
    expected = [[[a @ b[lag : lag + frames] for lag in range(lags)] for b in padded] for a in one]
    np.testing.assert_allclose(found, np.array(expected).reshape(2, 3, lags), rtol=0, atol=1e-12)


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("frames", [1, 16, 17, 50, 64])
def test_filters_ring_on_after_the_end(frames: int) -> None:
    signal, taps = noise(2, frames), noise(3, 10, 1).reshape(3, 2, 5)
    filters = Filters(frames, [(slice(None), taps), (slice(1, 2), taps[:, :1])])
    spans, both = [], []
    for start, stop, (found,) in filters.run(reader(signal), [[0, 1]]):
        spans.append((start, stop))
        both.append(found)
    assert (spans[0][0], spans[-1][1]) == (0, frames + 4)
    whole, alone = np.concatenate(both, axis=-1)
    for output in range(3):
        expected = sum(np.convolve(signal[row], taps[output, row]) for row in range(2))
        np.testing.assert_allclose(whole[output], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(alone[output], np.convolve(signal[1], taps[output, 0]), rtol=0, atol=1e-12)


def test_inner_products_of_delays() -> None:
    rows = noise(3, 40)
    gram = to_gram(correlate(reader(rows), reader(rows), 40, 6))
    columns = delays(rows, 6)
    np.testing.assert_allclose(gram, columns.T @ columns, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "rank"),
    [
        (noise(3, 60), 18),
        (np.vstack([noise(2, 60), np.zeros(60)]), 12),
        (np.vstack([noise(2, 60), noise(2, 60)[:1]]), 12),
        (np.vstack([noise(2, 60), noise(2, 60).sum(axis=0)]), 12),
        (np.vstack([noise(1, 60), 1e-9 * noise(2, 60, 1)]), 18),
        (np.zeros((3, 60)), 0),
    ],
    ids=["independent", "silent", "twice", "sum", "quiet", "nothing"],
)
def test_projections_are_those_of_least_squares_whatever_depends_on_what(rows: np.ndarray, rank: int) -> None:
    others = noise(2, 60, 5)
    span = DelaySpan(correlate(reader(rows), reader(rows), 60, 6))
    assert span.rank == rank
    taps = span.filters(correlate(reader(rows), reader(others), 60, 6))
    columns, others_padded = delays(rows, 6), np.pad(others, ((0, 0), (0, 5)))
    scaled = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    expected = scaled @ np.linalg.lstsq(scaled, others_padded.T, rcond=1e-10)[0]
    np.testing.assert_allclose(columns @ taps.reshape(2, -1).T, expected, rtol=0, atol=1e-9)
