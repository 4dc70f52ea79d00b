"""Draw annotations with matplotlib: the functions of `mir_eval.display`, and two that draw what mirflow loads.

:func:`annotation` and :func:`collection` draw what ``mirflow.load`` and ``mirflow.load_collection`` read. The module
needs matplotlib and mir_eval (the extra ``mir_eval``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations.annotation import split_levels
from ..errors import AnnotationError, needs_mir_eval

try:
    from mir_eval.display import (
        IntervalFormatter,
        events,
        hierarchy,
        labeled_intervals,
        multipitch,
        piano_roll,
        pitch,
        segments,
        separation,
        ticker_notes,
        ticker_pitch,
    )
except ModuleNotFoundError as error:
    raise needs_mir_eval("drawings of annotations", error) from None

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from ..annotations.annotation import Annotation
    from ..annotations.collection import Collection
    from ..ragged import Float

__all__ = ["IntervalFormatter", "annotation", "collection", "events", "hierarchy", "labeled_intervals", "multipitch"]
__all__ += ["piano_roll", "pitch", "segments", "separation", "ticker_notes", "ticker_pitch"]


def annotation(given: xr.Dataset | Annotation, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw an annotation by its kind.

    Uses :func:`events` for events, :func:`segments` for segments and chords, :func:`hierarchy`, :func:`piano_roll` for
    notes, :func:`pitch` for melodies, :func:`multipitch` for several pitches over time, and :func:`separation` for
    audio.

    Parameters
    ----------
    given : xr.Dataset or Annotation
        Annotation, such as the result of ``mirflow.load``.
    ax : matplotlib.axes.Axes or None
        None: the current ones.
    **kwargs
        Arguments of the drawing function.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    AnnotationError
        For a kind without times in seconds, such as rankings.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from mirflow.annotations.annotation import Annotation
    >>> beats = Annotation("events", {"time": np.array([0.0, 0.5, 1.0])})
    >>> ax = annotation(beats, plt.figure().subplots(), color="k")
    >>> len(ax.collections)
    1
    """
    from ..annotations.annotation import Annotation
    from ..annotations.labelled import from_dataset

    drawn = given if isinstance(given, Annotation) else from_dataset(given)
    draw = _DRAWERS.get(drawn.schema.drawn_as or drawn.kind)
    if draw is None:
        raise AnnotationError(f"{drawn.kind} cannot be drawn over time; only events, segments, pitches and audio can")
    axes: Axes = draw(drawn, ax, kwargs)
    return axes


def collection(given: Collection, axes: Sequence[Axes] | None = None, **kwargs: Any) -> list[Axes]:
    """Draw each annotation of a collection, with the name of its track.

    Parameters
    ----------
    given : Collection or LazyCollection
        Collection, such as the result of ``mirflow.load_collection``; a lazy one is computed.
    axes : sequence of matplotlib.axes.Axes or None
        One per track; None: a new figure with one row per track.
    **kwargs
        Arguments of the drawing function.

    Returns
    -------
    list of matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the numbers of axes and tracks differ.
    AnnotationError
        See :func:`annotation`.
    """
    import matplotlib.pyplot as plt

    from ..annotations.collection import Collection

    if not isinstance(given, Collection):
        given = given.compute()
    if axes is None:
        shape = (8, 1.5 * max(len(given), 1))
        axes = plt.figure(figsize=shape, layout="constrained").subplots(len(given), squeeze=False).ravel().tolist()
    if len(axes) != len(given):
        raise ValueError(f"expected one axes per track, got {len(axes)} for {len(given)} tracks")
    for track, ax in zip(given.tracks, axes, strict=True):
        annotation(given.annotation(track), ax, **kwargs)
        ax.set_title(track)
    return list(axes)


def _spans(annotation: Annotation) -> Float:
    return np.stack([annotation.columns["start"], annotation.columns["end"]], axis=1)


def _labels(annotation: Annotation) -> list[str]:
    return list(annotation.labels) if annotation.labels else [""] * len(annotation)


def _draw_audio(given: Annotation, ax: Axes | None, kwargs: dict[str, Any]) -> Any:
    signals = given.columns["signal"]
    size = min(signal.frames for signal in signals)
    sources = np.stack([signal.read(0, size).mean(axis=0) for signal in signals])
    return separation(sources, signals[0].rate, labels=list(given.labels) if given.labels else None, ax=ax, **kwargs)


_DRAWERS: dict[str, Callable[[Annotation, Axes | None, dict[str, Any]], Any]] = {
    **dict.fromkeys(
        ("ticks", "drums"),
        lambda one, ax, kwargs: events(one.columns["time"], list(one.labels) if one.labels else None, ax=ax, **kwargs),
    ),
    "segments": lambda one, ax, kwargs: segments(_spans(one), _labels(one), ax=ax, **kwargs),
    "levels": lambda one, ax, kwargs: hierarchy(
        *([of(level) for level in split_levels(one)] for of in (_spans, _labels)), ax=ax, **kwargs
    ),
    "notes": lambda one, ax, kwargs: piano_roll(_spans(one), one.columns["pitch"], ax=ax, **kwargs),
    "curve": lambda one, ax, kwargs: pitch(one.columns["time"], one.columns["frequency"], ax=ax, **kwargs),
    "frames": lambda one, ax, kwargs: multipitch(
        one.columns["time"], np.split(one.columns["frequency"], np.cumsum(one.inner_counts[0])[:-1]), ax=ax, **kwargs
    ),
    "audio": _draw_audio,
}
