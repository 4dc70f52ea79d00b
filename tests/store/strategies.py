"""Arbitrary cells, for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mirflow.metrics.base import Sparse
from mirflow.store.cells import Cells

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
numbers = st.floats(width=64)
weights = st.floats(0, 1e9)


@st.composite
def sparse_results(draw: st.DrawFn, count: int) -> Sparse:
    """Entries at distinct places, in order, none equal to the fill."""
    coords = tuple(
        draw(st.lists(st.lists(texts, min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=2))
    )
    sizes = (count, *map(len, coords))
    fill = draw(st.sampled_from([0.0, np.nan]))
    places = sorted(draw(st.sets(st.integers(0, int(np.prod(sizes)) - 1), max_size=5))) if count else []
    index = (
        np.column_stack(np.unravel_index(np.array(places, dtype=np.int64), sizes))
        if count
        else np.empty((0, len(sizes)))
    )
    value = draw(arrays(np.float64, len(places), elements=st.floats(0.5, 100)))
    dims = tuple(f"dim{axis}" for axis in range(len(coords)))
    return Sparse(dims, coords, index.astype(np.int64), value, {"long_name": draw(texts)}, fill)


@st.composite
def cells(draw: st.DrawFn, systems: tuple[str, ...], tracks: tuple[str, ...], *, extras: bool = True) -> Cells:
    """Results of some of the cells, system by system; cells of one track agree on its duration."""
    pairs = [(s, t) for s in systems for t in tracks]
    chosen = sorted(draw(st.sets(st.integers(0, len(pairs) - 1)))) if pairs else []
    measures = tuple(draw(st.lists(texts.filter(bool), max_size=3, unique=True)))
    count, shape = len(chosen), (len(chosen), len(measures))
    length = {track: draw(st.one_of(weights, st.just(np.nan))) for track in tracks}
    return Cells(
        tuple(pairs[i][0] for i in chosen),
        tuple(pairs[i][1] for i in chosen),
        measures,
        draw(arrays(np.float64, shape, elements=numbers)),
        draw(arrays(np.float64, shape, elements=weights)),
        draw(arrays(np.int8, count, elements=st.integers(1, 8))),
        draw(arrays(np.int32, count)),
        tuple(draw(st.lists(texts, min_size=count, max_size=count))),
        tuple(draw(st.lists(texts, min_size=count, max_size=count))),
        draw(arrays(np.int64, count)),
        np.array([length[pairs[i][1]] for i in chosen], dtype=np.float64),
        {"confusion": draw(sparse_results(count))} if extras and draw(st.booleans()) else {},
    )


names = st.lists(texts.filter(bool), max_size=4, unique=True).map(tuple)
