"""Draw annotations with matplotlib, under mir_eval's names.

Each function draws on the given axes, or the current ones, and returns them. Functions called on the same axes share
its colour cycle, so that a reference and an estimate differ. :func:`annotation` and :func:`collection` draw what
``mirflow.load`` and ``mirflow.load_collection`` read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgba
from matplotlib.patches import Rectangle
from matplotlib.ticker import Formatter, FuncFormatter, MultipleLocator

from ..annotations.annotation import split_levels
from ..errors import AnnotationError
from ..theory.pitch import hz_to_midi, midi_to_hz
from .pair import documented

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from ..annotations.annotation import Annotation
    from ..annotations.collection import Collection
    from ..ragged import Float

__all__ = [
    "IntervalFormatter",
    "annotation",
    "collection",
    "events",
    "hierarchy",
    "labeled_intervals",
    "multipitch",
    "piano_roll",
    "pitch",
    "segments",
    "separation",
    "ticker_notes",
    "ticker_pitch",
]

_FACE = ("color", "facecolor", "edgecolor", "linewidth")
_LINE = ("color", "linestyle", "linewidth")
_NOTES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")


@dataclass
class _Drawn:
    """State of axes: cycle of styles, remaining styles of the cycle, and labels of rows."""

    cycle: Iterable[Mapping[str, Any]] = ()
    styles: Iterator[Mapping[str, Any]] = field(default_factory=lambda: iter(()))
    labels: list[Any] = field(default_factory=list)

    def next_style(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Next style of the repeating cycle; only some properties, or all for None."""
        style = next(self.styles, None)
        if style is None:
            self.styles = iter(self.cycle)
            style = next(self.styles)
        return {name: value for name, value in style.items() if names is None or name in names}

    def next_face(self) -> dict[str, Any]:
        """Next style of a filled shape: its colour does not apply to the edge."""
        style = self.next_style(_FACE)
        colour = style.pop("color", None)
        return {"linewidth": 1, "facecolor": colour, **style}


_DRAWN: WeakKeyDictionary[Axes, _Drawn] = WeakKeyDictionary()


def _axes(ax: Axes | None) -> tuple[Axes, bool]:
    if ax is not None:
        return ax, False
    import matplotlib.pyplot as plt

    figure = plt.gcf()
    new = not figure.get_axes()
    return figure.gca(), new


def _begin(ax: Axes | None, prop_cycle: Any) -> tuple[Axes, _Drawn, bool]:
    """Axes, their state, and whether they are new; axes keep the first cycle that they are used with."""
    ax, new = _axes(ax)
    drawn = _DRAWN.setdefault(ax, _Drawn())
    if not drawn.cycle:
        drawn.cycle = mpl.rcParams["axes.prop_cycle"] if prop_cycle is None else prop_cycle
        drawn.styles = iter(drawn.cycle)
    return ax, drawn, new


def _extent(ax: Axes, base: float | None, height: float | None) -> tuple[float, float, Any]:
    """Base and height with their transform: the whole height of the plot if neither is given."""
    if base is None and height is None:
        return 0, 1, ax.get_xaxis_transform()
    if base is None or height is None:
        raise ValueError("base and height must be given together")
    return base, height, None


def _write(ax: Axes, text: str, time: float, height: float, transform: Any, text_kw: Mapping[str, Any] | None) -> Any:
    """Write a label just below the top of an item that begins at a time."""
    look: dict[str, Any] = {
        "va": "top",
        "clip_on": True,
        "bbox": {"boxstyle": "round", "facecolor": "white"},
        **(text_kw or {}),
    }
    position: dict[str, Any] = {
        "xycoords": "data" if transform is None else transform,
        "xytext": (8, -10),
        "textcoords": "offset points",
    }
    return ax.annotate(text, xy=(time, height), **position, **look)


_documented = documented(
    """
    Parameters
    ----------
    text_kw : mapping or None
        Properties of the texts.
    ax : matplotlib.axes.Axes or None
        None: the current ones.
    prop_cycle : cycler.Cycler or None
        Styles of the axes; None: matplotlib's.
    **kwargs
        Further arguments of :func:`labeled_intervals`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    """,
    strict=False,
)


@_documented
def segments(
    intervals: npt.ArrayLike,
    labels: Sequence[Any],
    base: float | None = None,
    height: float | None = None,
    text: bool = False,
    text_kw: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
    prop_cycle: Any = None,
    **kwargs: Any,
) -> Axes:
    """Draw segments as rectangles, with one colour per label.

    Parameters
    ----------
    intervals : float (n, 2), seconds
    labels : sequence of str (n,)
    base, height : float or None
        Bottom of the rectangles and their height; None: the whole height of the plot.
    text : bool
        Whether to write the labels.
    **kwargs
        Properties of the rectangles.

    Raises
    ------
    ValueError
        If only one of base and height is given.

    Examples
    --------
    >>> ax = segments([[0, 10], [10, 25], [25, 30]], ["verse", "chorus", "verse"], ax=Figure().subplots())
    >>> len(ax.patches)
    3
    """
    ax, drawn, new = _begin(ax, prop_cycle)
    if new:
        ax.set_yticks([])
    base, height, transform = _extent(ax, base, height)
    kwargs.pop("label", None)
    styles = {label: {**drawn.next_face(), **kwargs, "label": label} for label in dict.fromkeys(labels)}
    for (start, end), label in zip(np.atleast_2d(intervals), labels, strict=False):
        rectangle = ax.axvspan(start, end, ymin=base, ymax=height, **styles[label])
        styles[label].pop("label", None)  # one entry in the legend for all segments of a label
        if text:
            _write(ax, label, start, height, transform, text_kw).set_clip_path(rectangle)
    return ax


@_documented
def labeled_intervals(
    intervals: npt.ArrayLike,
    labels: Sequence[Any] | npt.NDArray[Any],
    label_set: Iterable[Any] | None = None,
    base: npt.ArrayLike | None = None,
    height: npt.ArrayLike | None = None,
    extend_labels: bool = True,
    ax: Axes | None = None,
    tick: bool = True,
    prop_cycle: Any = None,
    **kwargs: Any,
) -> Axes:
    """Draw labelled intervals, with one row per label.

    Parameters
    ----------
    intervals : float (n, 2), seconds
    labels : sequence (n,)
    label_set : iterable or None
        Labels of the rows, from the bottom up; None: those already on the axes, else the sorted labels.
    base, height : float (rows,) or None
        Bottom of each row and its height; None: 0, 1, 2 ... and 1.
    extend_labels : bool
        Whether labels outside the set are drawn in rows above a line; otherwise they are left out.
    tick : bool
        Whether the rows are labelled.
    **kwargs
        Properties of the bars.

    Examples
    --------
    >>> ax = labeled_intervals([[0, 2], [2, 4]], ["G", "C"], ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['C', 'G']
    """
    ax, drawn, _ = _begin(ax, prop_cycle)
    known = drawn.labels if label_set is None else list(label_set)
    new = sorted(set(labels) - set(known)) if extend_labels or not known else []
    drawn.labels = rows = [*known, *new]
    style = {**drawn.next_face(), **kwargs}
    bottoms = np.arange(len(rows)) if base is None else np.asarray(base)
    heights = np.broadcast_to(1 if height is None else np.asarray(height), bottoms.shape)
    bars: dict[Any, list[tuple[float, float]]] = {label: [] for label in rows}
    for (start, end), label in zip(np.atleast_2d(intervals), labels, strict=False):
        if label in bars:
            bars[label].append((start, end - start))
    for label, bottom, tall in zip(rows, bottoms, heights, strict=False):
        ax.broken_barh(bars[label], (bottom, tall), **style)
        style.pop("label", None)  # one entry in the legend for all rows
    if known and new:
        ax.axhline(len(known), color="k", alpha=0.5)
    if tick:
        ax.grid(True, axis="y")
        ax.set_yticks([])
        ax.set_yticks(bottoms)
        ax.set_yticklabels(rows, va="bottom")
        ax.yaxis.set_major_formatter(IntervalFormatter(bottoms, rows))
    return ax


class IntervalFormatter(Formatter):  # type: ignore[misc, unused-ignore]
    """Label rows at their heights.

    Parameters
    ----------
    base : array_like
        Bottoms of the rows.
    ticks : iterable
        Their labels.

    Examples
    --------
    >>> IntervalFormatter([0, 1], ["C", "G"])(1)
    'G'
    """

    def __init__(self, base: npt.ArrayLike, ticks: Iterable[Any]) -> None:
        self._labels = dict(zip(np.asarray(base).astype(int).tolist(), ticks, strict=False))

    def __call__(self, x: float, pos: int | None = None) -> Any:
        """Return the label of the row at a height; empty if there is none."""
        return self._labels.get(int(x), "")


@_documented
def hierarchy(
    intervals_hier: Sequence[npt.ArrayLike],
    labels_hier: Sequence[Sequence[Any]],
    levels: Sequence[Any] | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw a hierarchical segmentation, the coarsest level on top.

    Parameters
    ----------
    intervals_hier : sequence of float (n, 2), seconds
        The segments of each level, from the coarsest to the finest.
    labels_hier : sequence of sequences of str
        Labels of each level; no label is used on two levels.
    levels : sequence or None
        Names of the levels in the legend; None: their numbers.

    Examples
    --------
    >>> ax = hierarchy([[[0, 30]], [[0, 10], [10, 30]]], [["A"], ["a", "b"]], ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b', 'A']
    """
    ax, _ = _axes(ax)
    names = range(len(intervals_hier)) if levels is None else levels
    for intervals, labels, name in reversed(list(zip(intervals_hier, labels_hier, names, strict=False))):
        labeled_intervals(intervals, labels, ax=ax, label=name, **kwargs)
    return ax


@_documented
def events(
    times: npt.ArrayLike,
    labels: Sequence[str] | None = None,
    base: float | None = None,
    height: float | None = None,
    ax: Axes | None = None,
    text_kw: Mapping[str, Any] | None = None,
    prop_cycle: Any = None,
    **kwargs: Any,
) -> Axes:
    """Draw events as vertical lines.

    Parameters
    ----------
    times : float (n,), seconds
    labels : sequence of str (n,) or None
        Written beside the lines.
    base, height : float or None
        Bottom of the lines and their height; None: the whole height of the plot.
    **kwargs
        Properties of the lines.

    Raises
    ------
    ValueError
        If only one of base and height is given.

    Examples
    --------
    >>> ax = events([0.5, 1.0, 1.5], labels=["1", "2", "3"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['1', '2', '3']
    """
    ax, drawn, new = _begin(ax, prop_cycle)
    base, height, transform = _extent(ax, base, height)
    style = {**drawn.next_style(_LINE), **kwargs}
    if "colors" in style:
        style.pop("color", None)
    at = np.asarray(times)
    ax.vlines(at, base, base + height, transform=transform, **style)
    for time, label in zip(at.tolist(), labels or (), strict=False):
        _write(ax, label, time, height, transform, text_kw)
    if new:
        ax.set_yticks([])
    return ax


@_documented
def pitch(
    times: npt.ArrayLike,
    frequencies: npt.ArrayLike,
    midi: bool = False,
    unvoiced: bool = False,
    ax: Axes | None = None,
    prop_cycle: Any = None,
    **kwargs: Any,
) -> Axes:
    """Draw a pitch contour, a line for each stretch of voiced frames.

    Parameters
    ----------
    times : float (n,), seconds
    frequencies : float (n,), Hz
        0 and below: unvoiced.
    midi : bool
        Whether the axis counts MIDI numbers instead of Hz.
    unvoiced : bool
        Whether unvoiced frames with a frequency are drawn, with half the opacity.
    **kwargs
        Properties of the lines.

    Examples
    --------
    >>> ax = pitch([0.0, 0.1, 0.2, 0.3], [440.0, 441.0, 0.0, 220.0], ax=Figure().subplots())
    >>> len(ax.lines)
    2
    """
    ax, drawn, _ = _begin(ax, prop_cycle)
    at, signed = np.asarray(times), np.asarray(frequencies, dtype=np.float64)
    voiced, height = signed > 0, np.abs(signed)
    style = {**drawn.next_style(), **kwargs}
    if midi:
        height[height > 0] = hz_to_midi(height[height > 0])
        ax.yaxis.set_minor_locator(MultipleLocator(1))
    edges = np.unique([0, *(1 + np.flatnonzero(voiced[1:] != voiced[:-1])), len(voiced)]).tolist()
    stretches = [slice(start, end) for start, end in pairwise(edges)]
    for there in stretches:
        if voiced[there.start]:
            ax.plot(at[there], height[there], **style)
            style.pop("label", None)
    faint = {**style, "alpha": style.get("alpha", 1.0) * 0.5}
    for there in stretches if unvoiced else ():
        if not voiced[there.start] and height[there].all():
            ax.plot(at[there], height[there], **faint)
    return ax


@_documented
def multipitch(
    times: npt.ArrayLike,
    frequencies: Sequence[npt.ArrayLike],
    midi: bool = False,
    unvoiced: bool = False,
    ax: Axes | None = None,
    prop_cycle: Any = None,
    **kwargs: Any,
) -> Axes:
    """Draw several simultaneous pitches as points.

    Parameters
    ----------
    times : float (n,), seconds
    frequencies : sequence of float (k,), Hz
        The pitches of each frame; below 0: unvoiced.
    midi : bool
        Whether the axis counts MIDI numbers instead of Hz.
    unvoiced : bool
        Whether unvoiced pitches are drawn, with half the opacity.
    **kwargs
        Properties of the points.

    Examples
    --------
    >>> ax = multipitch([0.0, 0.1], [[440.0, 660.0], [440.0]], ax=Figure().subplots())
    >>> ax.collections[0].get_offsets().shape
    (3, 2)
    """
    ax, drawn, _ = _begin(ax, prop_cycle)
    style = {**drawn.next_style(), **kwargs}
    faint = {name: value for name, value in style.items() if name != "label"}
    faint["alpha"] = faint.get("alpha", 1.0) * 0.5
    frames = [np.asarray(frame, dtype=np.float64) for frame in frequencies]
    signed = np.concatenate([np.zeros(0), *frames])
    at = np.repeat(np.asarray(times)[: len(frames)], [len(frame) for frame in frames])
    height = np.abs(signed)
    if midi:
        height[height > 0] = hz_to_midi(height[height > 0])
        ax.yaxis.set_minor_locator(MultipleLocator(1))
    ax.scatter(at[signed > 0], height[signed > 0], **style)
    if unvoiced:
        ax.scatter(at[signed < 0], height[signed < 0], **faint)
    return ax


@_documented
def piano_roll(
    intervals: npt.ArrayLike,
    pitches: npt.ArrayLike | None = None,
    midi: npt.ArrayLike | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw notes as a piano roll, with one row per semitone.

    Parameters
    ----------
    intervals : float (n, 2), seconds
    pitches : float (n,) or None, Hz
    midi : float (n,) or None
        MIDI numbers; either `pitches` or `midi` is required.

    Raises
    ------
    ValueError
        Without pitches.

    Examples
    --------
    >>> ax = piano_roll([[0, 1], [1, 2]], midi=[60, 64], ax=Figure().subplots())
    >>> len(ax.collections)
    128
    """
    if midi is None:
        if pitches is None:
            raise ValueError("a piano roll requires pitches in Hz or midi")
        midi = hz_to_midi(np.asarray(pitches))
    rows = np.round(np.asarray(midi)).astype(int)
    ax = labeled_intervals(intervals, rows, label_set=np.arange(128), tick=False, ax=ax, **kwargs)
    ax.yaxis.set_minor_locator(MultipleLocator(1))
    return ax


@_documented
def separation(
    sources: npt.ArrayLike,
    fs: float = 22050,
    labels: Sequence[str] | None = None,
    alpha: float = 0.75,
    ax: Axes | None = None,
    rasterized: bool = True,
    edgecolors: Any = "None",
    shading: Literal["flat", "nearest", "gouraud", "auto"] = "gouraud",
    prop_cycle: Any = None,
    **kwargs: Any,
) -> Axes:
    """Draw the spectrograms of sources on top of each other, with one colour per source.

    Parameters
    ----------
    sources : float (sources, samples)
    fs : float, Hz
        Sampling rate.
    labels : sequence of str (sources,) or None
        None: Source 0, Source 1 ...
    alpha : float
        Opacity of the loudest bin, 0 to 1.
    rasterized : bool
        Whether to rasterize the spectrograms in vector graphics.
    edgecolors, shading
        See :meth:`matplotlib.axes.Axes.pcolormesh`.
    **kwargs
        Further arguments of :func:`scipy.signal.spectrogram`.

    Examples
    --------
    >>> ax = separation(np.random.default_rng(0).normal(size=(2, 4410)), ax=Figure().subplots())
    >>> [patch.get_label() for patch in ax.patches]
    ['Source 0', 'Source 1']
    """
    from scipy.signal import spectrogram

    ax, drawn, _ = _begin(ax, prop_cycle)
    kwargs.setdefault("scaling", "spectrum")
    spectra = [spectrogram(source, fs=fs, **kwargs) for source in np.atleast_2d(sources)]
    frequencies, times, _ = spectra[-1]
    total: Float = np.sum([power for _, _, power in spectra], axis=0)
    loudest = total.max()
    for number, (_, _, power) in enumerate(spectra):
        label = f"Source {number:d}" if labels is None else labels[number]
        colour = to_rgba(drawn.next_style()["color"], alpha=alpha)
        ax.pcolormesh(
            times,
            frequencies,
            power,
            cmap=LinearSegmentedColormap.from_list(label, [(1.0, 1.0, 1.0, 0.0), colour]),
            norm=LogNorm(vmin=loudest * 1e-6, vmax=loudest),
            rasterized=rasterized,
            edgecolors=edgecolors,
            shading=shading,
        )
        # An empty rectangle represents the source in the legend.
        ax.add_patch(Rectangle((times.min(), frequencies.min()), 0, 0, color=colour, label=label))
    return ax


def _note_name(x: float, pos: int | None = None) -> str:
    """Format a MIDI number as a note with cents: ``A 4``, ``C 4+50``."""
    cents = float(np.mod(x, 1.0))
    if cents >= 0.5:
        cents, x = cents - 1.0, x + 0.5
    name = f"{_NOTES[int(x % 12)]}{int(x / 12) - 1:2d}"
    return name if cents == 0 else f"{name}{int(cents * 100):+02d}"


def _in_hertz(x: float, pos: int | None = None) -> str:
    return f"{midi_to_hz(x):g}"


def ticker_notes(ax: Axes | None = None) -> None:
    """Label the vertical axis, which counts MIDI numbers, with notes.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        None: the current ones.
    """
    ax, _ = _axes(ax)
    ax.yaxis.set_major_formatter(FuncFormatter(_note_name))
    for label in ax.yaxis.get_ticklabels():
        label.set_verticalalignment("baseline")


def ticker_pitch(ax: Axes | None = None) -> None:
    """Label the vertical axis, which counts MIDI numbers, with Hz.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        None: the current ones.
    """
    _axes(ax)[0].yaxis.set_major_formatter(FuncFormatter(_in_hertz))


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
    return draw(drawn, ax, kwargs)


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


def _draw_hierarchy(given: Annotation, ax: Axes | None, kwargs: dict[str, Any]) -> Axes:
    levels = split_levels(given)
    return hierarchy([_spans(level) for level in levels], [_labels(level) for level in levels], ax=ax, **kwargs)


def _draw_frames(given: Annotation, ax: Axes | None, kwargs: dict[str, Any]) -> Axes:
    frames = np.split(given.columns["frequency"], np.cumsum(given.inner_counts[0])[:-1])
    return multipitch(given.columns["time"], frames, ax=ax, **kwargs)


def _draw_audio(given: Annotation, ax: Axes | None, kwargs: dict[str, Any]) -> Axes:
    signals = given.columns["signal"]
    size = min(signal.frames for signal in signals)
    sources = np.stack([signal.read(0, size).mean(axis=0) for signal in signals])
    return separation(sources, signals[0].rate, labels=list(given.labels) if given.labels else None, ax=ax, **kwargs)


def _draw_events(given: Annotation, ax: Axes | None, kwargs: dict[str, Any]) -> Axes:
    return events(given.columns["time"], list(given.labels) if given.labels else None, ax=ax, **kwargs)


_DRAWERS: dict[str, Callable[[Annotation, Axes | None, dict[str, Any]], Axes]] = {
    "ticks": _draw_events,
    "drums": _draw_events,
    "segments": lambda one, ax, kwargs: segments(_spans(one), _labels(one), ax=ax, **kwargs),
    "levels": _draw_hierarchy,
    "notes": lambda one, ax, kwargs: piano_roll(_spans(one), one.columns["pitch"], ax=ax, **kwargs),
    "curve": lambda one, ax, kwargs: pitch(one.columns["time"], one.columns["frequency"], ax=ax, **kwargs),
    "frames": _draw_frames,
    "audio": _draw_audio,
}
