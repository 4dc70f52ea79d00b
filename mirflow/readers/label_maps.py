"""Translation of the labels of a file: to their normal form, by label maps, or from chord symbols of lead sheets.

A label map replaces labels with those of a vocabulary, such as seven functions of segments. It is a YAML file:

.. code-block:: yaml

    equal: {refrain: chorus}                # whole labels come first
    contain: {chorus: chorus, solo: inst}   # then parts of labels, in this order
    default: other                          # all other labels; without it they are unchanged

Matching ignores case. Labels that a map produces map to themselves, so that applying it twice changes nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..annotations.account import Remark
from ..annotations.annotation import Annotation, CodedLabels
from ..errors import AnnotationError, InvalidAnnotationError, UnknownNameError
from ..theory.harte import InvalidChordException
from ..theory.leadsheet import leadsheet_to_harte
from ..theory.text_form import are_normal, normal_form
from .content import decode, read_bytes

_FOLDER = Path(__file__).with_name("maps")
SHIPPED_MAPS = tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))
"""Names of the maps included in mirflow."""
_MAX_BYTES = 2**22
_KEYS = ("equal", "contain", "default")
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, repr=False)
class LabelMap:
    """A map from labels to others."""

    equal: Pairs = ()
    """Pairs of a whole label, in lower case, and its replacement."""
    contain: Pairs = ()
    """Pairs of a part of a label, in lower case, and the replacement; the first match counts."""
    default: str | None = None
    """Replacement of all other labels; None: they are unchanged."""

    def __repr__(self) -> str:
        lines = [*(f"{one}\t{other}" for one, other in self.equal), "", *(f"{a}\t{b}" for a, b in self.contain)]
        text = "\n".join([*lines, "", repr(self.default)])
        return f"LabelMap({hashlib.blake2b(text.encode(), digest_size=8).hexdigest()})"

    def map(self, labels: Iterable[str]) -> list[str]:
        """Map labels; empty labels stay empty."""
        return self._replaced(list(labels))[0]

    def apply(self, annotation: Annotation) -> Annotation:
        """Map the labels of an annotation, if it has any.

        A remark is added if more than half of the labels are missing from the map and became the default.
        """
        if annotation.labels is None:
            return annotation
        labels, lost = self._replaced(annotation.labels)
        account, count = annotation.account, sum(map(bool, labels))
        if self.default is not None and len(lost) > 1 and 2 * len(lost) > count:
            shown = ", ".join(map(repr, sorted(set(lost))[:3]))
            message = f"{len(lost)} of {count} labels ({shown}) are not in the map and became {self.default!r}"
            account = (*account, Remark("unmapped", f"{message}; check that this is the right map", count=len(lost)))
        return replace(annotation, labels=labels, account=account)

    def _replaced(self, labels: Sequence[str]) -> tuple[list[str], list[str]]:
        """The results of labels, and the labels that are missing from the map."""
        results = [*dict(self.equal).values(), *dict(self.contain).values(), *([self.default] if self.default else [])]
        equal = {result.lower(): result for result in results} | dict(self.equal) | {"": ""}
        mapped: dict[str, str] = {}
        for label in dict.fromkeys(labels):
            lowered = label.lower()
            result = equal.get(lowered)
            if result is None:
                result = next((other for part, other in self.contain if part in lowered), None)
            if result is not None:
                mapped[label] = result
        missing = [label for label in labels if label not in mapped]
        return [mapped.get(label, label if self.default is None else self.default) for label in labels], missing


_normal_forms: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
"""Vocabularies by their identity, as many annotations share a large one, and their texts in normal form."""
_MOST_VOCABULARIES = 16


def in_normal_form(annotation: Annotation, label_map: LabelMap | None = None) -> Annotation:
    """Bring labels and names to the form in which they are compared, with a remark if labels are written otherwise.

    Then apply a map of labels. Lyrics stay as they are written: their conventions say how texts are compared.

    Examples
    --------
    >>> import numpy as np
    >>> sections = Annotation("events", {"time": np.array([0.0, 1.0])}, ["verse  1", "coda"])
    >>> in_normal_form(sections).labels, in_normal_form(sections).account[0].message
    (['verse 1', 'coda'], "the label 'verse  1' is read as 'verse 1'")
    """
    is_text = annotation.kind == "text"
    for column in () if is_text else annotation.schema.texts:
        texts = annotation.columns[column].tolist() if column in annotation.columns else []
        if not are_normal(texts):
            named = np.array(list(map(normal_form, texts)), dtype=np.str_)
            annotation = replace(annotation, columns={**annotation.columns, column: named})
    labels: Sequence[str] | None = None if is_text else annotation.labels
    normal = labels
    if isinstance(labels, CodedLabels):
        texts = labels.vocabulary
        known, vocabulary = _normal_forms.get(id(texts), ((), ()))
        if known is not texts:
            vocabulary = texts if are_normal(texts) else tuple(map(normal_form, texts))
            _normal_forms[id(texts)] = texts, vocabulary
            for old in list(_normal_forms)[:-_MOST_VOCABULARIES]:
                _normal_forms.pop(old, None)
        normal = labels if vocabulary is texts else CodedLabels(vocabulary, labels.codes)
    elif labels is not None and not are_normal(labels):
        normal = [normal_form(text) for text in labels]
    if labels is not None and normal is not None and normal is not labels:
        pairs = enumerate(zip(labels, normal, strict=True))
        changed = [item for item, (text, other) in pairs if text.strip() != other]
        remarks = annotation.account
        if changed:
            first, times = changed[0], f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
            message = f"the label {labels[first]!a} is read as {normal[first]!a}{times}"
            remarks += (Remark("text_form", message, annotation.line(first), len(changed)),)
        annotation = replace(annotation, labels=normal, account=remarks)
    return annotation if label_map is None else label_map.apply(annotation)


def anchored(name: str, root: str | os.PathLike[str]) -> str:
    """The name of an included map, unchanged, or the path of another map relative to a folder."""
    return name if name in SHIPPED_MAPS else str(Path(root, name))


def read_label_map(name: str | os.PathLike[str]) -> LabelMap:
    """Read a map of labels.

    Parameters
    ----------
    name : str or path
        The name of an included map, ``functions7`` or ``functions8``, or a YAML file.

    Returns
    -------
    LabelMap

    Raises
    ------
    AnnotationError
        If the map does not exist, or the file is invalid.

    Examples
    --------
    >>> read_label_map("functions8").map(["prechorus"]), read_label_map("functions7").map(["prechorus"])
    (['pre-chorus'], ['verse'])
    """
    text = os.fspath(name)
    if text in SHIPPED_MAPS:
        return _parse((_FOLDER / f"{text}.yaml").read_text(encoding="utf-8"), text)
    if not Path(text).exists() and not Path(text).suffix:
        raise AnnotationError(f"{UnknownNameError('map of labels', text, SHIPPED_MAPS)} (or pass a YAML file)")
    return _parse(decode(read_bytes(text, _MAX_BYTES), text), text)


def _parse(text: str, path: str) -> LabelMap:
    import yaml

    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "cannot be read"
        raise AnnotationError(f"is not valid YAML: {problem}", path=path, line=mark and mark.line + 1) from None
    if not isinstance(content, dict) or not content:
        raise AnnotationError(f"is not a map of labels: expected the keys {', '.join(_KEYS)}", path=path)
    for key in content:
        if key not in _KEYS:
            raise AnnotationError(str(UnknownNameError("key of a map of labels", str(key), _KEYS)), path=path)
    default = content.get("default")
    if default is not None and not isinstance(default, str):
        raise AnnotationError(f"default: expected a label, not {default!r}; quote it", path=path)
    return LabelMap(_pairs(content, "equal", path), _pairs(content, "contain", path), default)


def _pairs(content: Mapping[str, Any], key: str, path: str) -> Pairs:
    given = content.get(key) or {}
    if not isinstance(given, dict):
        raise AnnotationError(f"{key}: expected labels and their replacements, such as {{refrain: chorus}}", path=path)
    for text in (*given, *given.values()):
        if not isinstance(text, str) or not text:
            raise AnnotationError(f"{key}: expected labels, not {text!r}; quote them", path=path)
    return tuple((normal_form(label).lower(), normal_form(other)) for label, other in given.items())


def in_harte(annotation: Annotation, name: str | Path | None) -> Annotation:
    """Translate symbols of lead sheets to the syntax of Harte; `name` is the file in messages, if any.

    Examples
    --------
    >>> import numpy as np
    >>> found = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([2.0])}, ["Am7"])
    >>> in_harte(found, "a.txt").labels
    ['A:min7']
    """
    if annotation.labels is None:
        return annotation
    translated: dict[str, str] = {}
    for item, label in enumerate(annotation.labels):
        if label not in translated:
            try:
                translated[label] = leadsheet_to_harte(label)
            except InvalidChordException as error:
                line = annotation.line(item)
                at = f" at {annotation.columns['start'][item]:g} s" if line is None else ""
                message = f"{error.message}{at}; see the documentation of chord labels for supported symbols"
                raise InvalidAnnotationError(message, path=name, line=line) from None
    return replace(annotation, labels=[translated[label] for label in annotation.labels])
