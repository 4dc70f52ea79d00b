"""Chord labels in mir_eval's terms: parts as strings, chords as vectors of twelve semitones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ...ragged import Int
from ...theory.chords import (
    EXTENDED_QUALITY_REDUX,
    OCTAVE,
    ChordTable,
    encode_chord,
    encode_vocabulary,
    quality_semitones,
)
from ...theory.harte import CHORD_RE, X_CHORD, InvalidChordException, parse_chord, scale_degree_to_semitone
from ..pair import documented

BITMAP_LENGTH = OCTAVE
NO_CHORD_ENCODED: tuple[int, Int, int] = (-1, np.zeros(BITMAP_LENGTH, dtype=np.int64), -1)
X_CHORD_ENCODED: tuple[int, Int, int] = (-1, np.full(BITMAP_LENGTH, -1, dtype=np.int64), -1)

_documented = documented(
    """
    Parameters
    ----------
    scale_degree : str
        Degree such as ``b7``; ``*b7`` removes it.
    modulo : bool
        Whether a degree beyond the vector is wrapped into it. Otherwise it is ignored.
    length : int
        Semitones in the vector.
    quality : str
        One of `QUALITIES`.
    chord_label : str
    chord_labels : sequence of str
    reduce_extended_chords : bool
        Whether extended qualities are reduced to simpler ones with added degrees, and degrees above the octave to their
        equivalents within it.
    strict_bass_intervals : bool
        Whether a bass outside the chord is an error. Otherwise it is added to the chord.

    Raises
    ------
    InvalidChordException
        For a label that does not follow the grammar, an unsupported quality, an invalid degree, or a refused bass.
    """
)


@_documented
def scale_degree_to_bitmap(scale_degree: str, modulo: bool = False, length: int = BITMAP_LENGTH) -> Int:
    """Convert a scale degree to a vector with one nonzero entry.

    Returns
    -------
    int64 (length,)
        1 at the degree, or -1 if it is removed.

    Examples
    --------
    >>> scale_degree_to_bitmap("*3").tolist()
    [0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0]
    """
    bitmap = np.zeros(length, dtype=np.int64)
    semitone = scale_degree_to_semitone(scale_degree.lstrip("*"))
    if semitone < length or modulo:
        bitmap[semitone % length] = -1 if scale_degree.startswith("*") else 1
    return bitmap


@_documented
def quality_to_bitmap(quality: str) -> Int:
    """Convert a chord quality to a vector of semitones.

    Returns
    -------
    int64 (12,)
        1 for each sounding semitone above the root.

    Examples
    --------
    >>> quality_to_bitmap("aug7").tolist()
    [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0]
    """
    return np.array(quality_semitones(quality))


def reduce_extended_quality(quality: str) -> tuple[str, set[str]]:
    """Reduce an extended quality to a simpler one and added degrees.

    Parameters
    ----------
    quality : str

    Returns
    -------
    quality : str
        Unchanged if it is not extended.
    degrees : set of str

    Examples
    --------
    >>> reduce_extended_quality("min9"), reduce_extended_quality("min")
    (('min7', {'9'}), ('min', set()))
    """
    base, added = EXTENDED_QUALITY_REDUX.get(quality, (quality, set()))
    return base, set(added)


@_documented
def validate_chord_label(chord_label: str) -> None:
    """Check that a label follows the grammar; its quality may still be unsupported.

    Examples
    --------
    >>> validate_chord_label("Eb:min7(*5)/b3")
    """
    if not CHORD_RE.match(chord_label):
        raise InvalidChordException(f"Invalid chord label: {chord_label}", chord_label)


@_documented
def split(chord_label: str, reduce_extended_chords: bool = False) -> list[str | set[str]]:
    """Split a chord label into its parts.

    Returns
    -------
    list
        Root, quality, set of degrees, bass. The quality is ``maj`` if nothing follows the root, and empty if only
        degrees do.

    Examples
    --------
    >>> split("C"), split("A:(3)/6")
    (['C', 'maj', set(), '1'], ['A', '', {'3'}, '6'])
    """
    parts, added = parse_chord(str(chord_label)), set[str]()
    quality = parts.quality
    if reduce_extended_chords:
        quality, added = reduce_extended_quality(quality)
    return [parts.root, quality, set(parts.degrees) | added, parts.bass]


@_documented
def join(chord_root: str, quality: str = "", extensions: Iterable[str] | None = None, bass: str = "") -> str:
    """Join the parts of a chord label.

    Parameters
    ----------
    chord_root, quality : str
    extensions : iterable of str or None
        Degrees that are added, or removed if they begin with ``*``.
    bass : str
        A degree; ``1`` is omitted.

    Returns
    -------
    str

    Examples
    --------
    >>> join("F#", "hdim7", ["*b3", "4"], "b7")
    'F#:hdim7(*b3,4)/b7'
    """
    degrees = ",".join(extensions or ())
    label = chord_root
    if quality or degrees:
        label += f":{quality}"
    if degrees:
        label += f"({degrees})"
    if bass and bass != "1":
        label += f"/{bass}"
    validate_chord_label(label)
    return label


@_documented
def encode(
    chord_label: str, reduce_extended_chords: bool = False, strict_bass_intervals: bool = False
) -> tuple[int, Int, int]:
    """Encode a chord label as numbers.

    Returns
    -------
    root : int
        Semitones above C; -1 for N and X.
    bitmap : int64 (12,)
        1 for each sounding semitone above the root; all 0 for N, all -1 for X.
    bass : int
        Semitones above the root; -1 for N and X.

    Examples
    --------
    >>> root, bitmap, bass = encode("G:dim/b3")
    >>> root, bitmap.tolist(), bass
    (7, [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0], 3)
    """
    if chord_label == X_CHORD:
        return X_CHORD_ENCODED[0], X_CHORD_ENCODED[1].copy(), X_CHORD_ENCODED[2]
    root, pitches, bass = encode_chord(str(chord_label), reduce_extended_chords, strict_bass_intervals)
    return root, pitches >> np.arange(BITMAP_LENGTH) & 1, bass


def encode_table(chord_labels: Sequence[str], reduce_extended_chords: bool = False) -> ChordTable:
    """Encode labels as the rows of a table, raising the error of the first that cannot be encoded."""
    vocabulary = {label: code for code, label in enumerate(dict.fromkeys(chord_labels))}
    table = encode_vocabulary(list(vocabulary), reduce_extended_chords)
    if table.invalid:
        first = min(table.invalid)
        raise InvalidChordException(table.invalid[first], list(vocabulary)[first])
    return table.take([vocabulary[label] for label in chord_labels])


@_documented
def encode_many(chord_labels: Sequence[str], reduce_extended_chords: bool = False) -> tuple[Int, Int, Int]:
    """Encode chord labels as numbers.

    Returns
    -------
    roots : int64 (n,)
    bitmaps : int64 (n, 12)
    basses : int64 (n,)
        As in `encode`.

    Examples
    --------
    >>> roots, bitmaps, basses = encode_many(["C", "N", "A:min/5"])
    >>> roots.tolist(), bitmaps.sum(axis=1).tolist(), basses.tolist()
    ([0, -1, 9], [3, 0, 3], [0, -1, 7])
    """
    table = encode_table(chord_labels, reduce_extended_chords)
    bitmaps = (table.pitches[:, np.newaxis] >> np.arange(BITMAP_LENGTH) & 1).astype(np.int64)
    bitmaps[table.undefined] = -1
    return table.root.astype(np.int64), bitmaps, table.bass.astype(np.int64)


def rotate_bitmap_to_root(bitmap: npt.ArrayLike, chord_root: int) -> Int:
    """Rotate semitones above the root to semitones above C.

    Parameters
    ----------
    bitmap : (12,)
        Nonzero for each sounding semitone above the root.
    chord_root : int
        Semitones above C.

    Returns
    -------
    (12,)
        1 for each sounding pitch class.

    Raises
    ------
    ValueError
        If the bitmap does not have twelve entries.

    Examples
    --------
    >>> rotate_bitmap_to_root(quality_to_bitmap("maj"), 7).tolist()
    [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    """
    vector = np.asarray(bitmap)
    if vector.shape != (BITMAP_LENGTH,):
        raise ValueError(f"a bitmap needs shape ({BITMAP_LENGTH},), not {vector.shape}")
    return np.asarray(np.roll(vector != 0, chord_root), dtype=vector.dtype)


def rotate_bitmaps_to_roots(bitmaps: npt.ArrayLike, roots: npt.ArrayLike) -> Int:
    """Rotate semitones above the roots of several chords to semitones above C.

    Parameters
    ----------
    bitmaps : (n, 12)
        Nonzero for each sounding semitone above the root.
    roots : (n,)
        Semitones above C.

    Returns
    -------
    (n, 12)
        1 for each sounding pitch class.

    Raises
    ------
    ValueError
        If the shapes do not match.

    Examples
    --------
    >>> rotate_bitmaps_to_roots([quality_to_bitmap("maj")], [7]).tolist()
    [[0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1]]
    """
    rows, shifts = np.asarray(bitmaps), np.asarray(roots)
    if rows.shape != (len(shifts), BITMAP_LENGTH):
        raise ValueError(
            f"{len(shifts)} roots need bitmaps of shape ({len(shifts)}, {BITMAP_LENGTH}), not {rows.shape}"
        )
    places = (np.arange(BITMAP_LENGTH) - shifts[:, np.newaxis]) % BITMAP_LENGTH
    return np.asarray(np.take_along_axis(rows != 0, places, axis=1), dtype=rows.dtype)
