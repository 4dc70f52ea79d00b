"""Generated chord labels: everything that the grammar allows, the odd spellings included."""

from __future__ import annotations

from hypothesis import strategies as st

ACCIDENTALS = ("", "b", "#", "bb", "##", "bbb")
DEGREES = tuple(str(number) for number in range(1, 14))
QUALITIES = (
    *("maj", "min", "aug", "dim", "1", "5", "sus2", "sus4", "maj6", "min6", "7", "maj7", "min7", "dim7", "hdim7"),
    *("minmaj7", "9", "maj9", "min9", "11", "min11", "13", "maj13", "min13"),
)

_roots = st.builds(str.__add__, st.sampled_from("ABCDEFG"), st.sampled_from(ACCIDENTALS))
_degrees = st.builds(str.__add__, st.sampled_from(ACCIDENTALS), st.sampled_from(DEGREES))
_changes = st.builds(str.__add__, st.sampled_from(("", "*")), _degrees)
_lists = st.lists(_changes, min_size=1, max_size=4).map(lambda degrees: f"({','.join(degrees)})")
_modifiers = st.one_of(
    st.just(""),
    st.sampled_from(QUALITIES).map(":{}".format),
    _lists.map(":{}".format),
    st.builds(":{}{}".format, st.sampled_from(QUALITIES), _lists),
)
_basses = st.one_of(st.just(""), _degrees.map("/{}".format))

chords = st.builds("{}{}{}".format, _roots, _modifiers, _basses)
"""Labels of chords with a root."""

labels = st.one_of(st.sampled_from(("N", "X")), chords, chords)
"""Labels that mir_eval 0.8.2 accepts."""

near_labels = st.one_of(
    st.text(alphabet="ABCNXHb#:/()*,123457majindsu ", max_size=8),
    st.builds(
        lambda label, place, text: label[:place] + text + label[place:], chords, st.integers(0, 8), st.text(max_size=2)
    ),
)
"""Strings that look like labels; most are none."""


def pairs_of_labels() -> st.SearchStrategy[tuple[str, str]]:
    """Two labels, often with the same root, so that the rules have something to compare."""
    return st.one_of(
        st.tuples(labels, labels),
        st.builds(
            lambda root, one, two, bass: (f"{root}{one}{bass}", f"{root}{two}"), _roots, _modifiers, _modifiers, _basses
        ),
        st.builds(
            lambda root, one, two, bass: (f"{root}{one}{bass}", f"{root}{two}{bass}"),
            _roots,
            _modifiers,
            _modifiers,
            _basses,
        ),
    )
