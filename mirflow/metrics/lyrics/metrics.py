"""The lyrics metrics: records, and cleaning, scores, evidence and kinds of errors by the rules of each convention.

The task, its warnings of lyrics that hold more than words, and the functions over one pair are here, too.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, zip_longest
from types import MappingProxyType
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation, encode, to_ragged
from ...errors import AnnotationError, refuse_unknown
from ...kernels.ratios import Scored, f_measure, open_share, share
from ...ragged import Column, Float, Ragged, offsets_of
from ...theory.text_form import are_normal, normal_form, ungarbled
from ..base import Convention, Doubt, Grid, Pairs, Scores, Sparse, Task, by_name, read_scores, refuse_unjudged
from ..cleaning import Cleaned, drop_items, usable_pair
from ..edits import RIGHT, Edits, ErrorBudget, ErrorKind
from ..events import COUNTED, OF_COUNTS, tabulate
from ..measures import Measure, Weight, family, metric, metrics_in
from ..pair import PairFunctions, documented
from .kernel import (
    COMPARED,
    DEFAULT_LANGUAGE,
    DELETION,
    EDITS,
    HIT,
    INSERTION,
    LINE,
    PARENTHESIS,
    PUNCTUATION,
    SECTION,
    SUBSTITUTION,
    TAGS,
    TEXT,
    TOKENS,
    TWO_LETTERS,
    WORD,
    Spell,
    TextPairs,
    Tokeniser,
    jiwer_tokens,
    moses_spellings,
    moses_tokens,
    plain_tokens,
)

_WORDS = Weight("number of words of the reference", "words")
_OF_REFERENCE, _WRONG = slice(HIT, INSERTION), slice(SUBSTITUTION, len(EDITS))
"""The edits of words of the reference, and those that are errors."""
_OPEN = {"surplus": True, "version": 2}  # Fields of rates of errors that may occur where the reference has nothing
_OF_CASE = {"literature": "@cifka2024"}
_SHARE = {"range": (0.0, 1.0)}
_NUMBER = "over the number of words of the reference"
_RATES: tuple[tuple[str, str, tuple[str, ...], dict[str, Any]], ...] = (
    ("Word error rate", f"substitutions, deletions and insertions of words {_NUMBER}", ("wer",), _OPEN),
    (
        "Character error rate",
        "substitutions, deletions and insertions of characters over the number of characters of the reference",
        ("cer",),
        {"itemwise": False, **_OPEN},
    ),
    ("Match error rate", "share of the aligned words that are errors", ("mer",), {"version": 2, **_SHARE}),
    (
        "Word information lost",
        "1 - product of the shares of hits among the words of the reference and of the estimate",
        ("wil",),
        {"pooling": "micro", **_SHARE},
    ),
    ("Substitution rate", f"substituted words {_NUMBER}", (), _SHARE),
    ("Deletion rate", f"deleted words {_NUMBER}", (), _SHARE),
    ("Insertion rate", f"inserted words {_NUMBER}", (), _OPEN),
    ("Case error rate", f"aligned words that differ only in case, {_NUMBER}", ("er_case",), _OF_CASE | _SHARE),
    ("Case-sensitive word error rate", "word error rate plus case error rate", ("wer_case",), _OF_CASE | _OPEN),
)
"""Titles, summaries, aliases, and fields that differ from those of most."""
_NAMES = [re.sub(r"\W", "_", title.lower()) for title, *_ in _RATES]


@family(
    {
        **dict.fromkeys(_NAMES, _WORDS),
        "character_error_rate": Weight("number of characters of the reference", "characters"),
        "match_error_rate": Weight("number of aligned words, including those of one side only", "words"),
    },
    {
        name: {"title": title, "summary": summary, "aliases": aliases, **about}
        for name, (title, summary, aliases, about) in zip(_NAMES, _RATES, strict=True)
    },
    range=(0.0, float("inf")),
    orientation="lower",
    perfect=0.0,
    standard_aggregate="pooled",
    itemwise=True,
    literature="@morris2004",
)
def error_rates(name: str, texts: TextPairs, measure: Measure) -> Scored:
    """Errors over the number of words or characters of the reference, or over that of aligned words."""
    if name == "character_error_rate":
        errors, whole = texts.characters().T
        return open_share(errors, whole, errors.astype(np.float64) if texts.silence else np.nan)
    edits = texts.words()
    hits, words, errors = edits[:, HIT], edits[:, _OF_REFERENCE].sum(axis=1), edits[:, _WRONG].sum(axis=1)
    if name == "word_error_rate":
        # Without a reference, undefined or, in `silence` conventions, the errors.
        return open_share(errors, words, errors.astype(np.float64) if texts.silence else np.nan)
    if name == "match_error_rate":
        return share(errors, hits + errors, 0.0 if texts.silence else np.nan)
    if name == "word_information_lost":
        given = hits + edits[:, SUBSTITUTION] + edits[:, INSERTION]
        recalled, weight = share(hits, words, (given == 0).astype(np.float64) if texts.silence else np.nan)
        # Without words on either side, all information is preserved.
        return 1 - recalled * np.where((words == 0) & (given == 0), 1.0, hits / np.maximum(given, 1)), weight
    if name.startswith("case"):
        wrong_case, weight = share(edits[:, len(EDITS)], words, np.nan)
        if name == "case_error_rate":
            return wrong_case, weight
        score, weight = open_share(errors, words, np.nan)
        return score + wrong_case, weight
    return open_share(edits[:, EDITS.index(name.removesuffix("_rate"))], words, np.nan)


_MARKS: Mapping[int, tuple[str, str, str]] = MappingProxyType(
    {
        PUNCTUATION: ("Punctuation", "punctuation marks", "punc"),
        PARENTHESIS: ("Parenthesis", "parentheses", "pare"),
        LINE: ("Line break", "line breaks", "line"),
        SECTION: ("Section break", "section breaks", "sect"),
    }
)
"""Titles, plural nouns and alt-eval's abbreviations."""
_RATIOS = {
    "precision": ("precision", "share of the {} of the estimate that are at the same place in the reference"),
    "recall": ("recall", "share of the {} of the reference that are at the same place in the estimate"),
    "f_measure": ("F-measure", "harmonic mean of precision and recall of {}"),
}
_SHORT = {"precision": "p", "recall": "r", "f_measure": "f1"}
_WEIGHTS = {"precision": "number of {} of the estimate", "recall": "number of {} of the reference"}


@family(
    {
        (tag, ratio): Weight(_WEIGHTS.get(ratio, "mean of the numbers of {} of both sides").format(many), "marks")
        for tag, (_, many, _) in _MARKS.items()
        for ratio in _RATIOS
    },
    {
        (tag, ratio): {
            "name": f"{TAGS[tag]}_{ratio}",
            "title": f"{title} {words}",
            "summary": summary.format(many),
            "aliases": (f"{_SHORT[ratio]}_{short}",),
            "pooling": "micro" if ratio == "f_measure" else "exact",
        }
        for tag, (title, many, short) in _MARKS.items()
        for ratio, (words, summary) in _RATIOS.items()
    },
    standard_aggregate="pooled",
    perfect_exceptions="NaN if a side has none",
    itemwise=True,
    literature="@cifka2024",
    version=2,
)
def marks(key: tuple[int, str], texts: TextPairs, measure: Measure) -> Scored:
    """Precision, recall and F-measure of the tokens of one tag, from the alignment of all tokens."""
    tag, ratio = key
    edits = texts.marks()[:, tag]
    hits, substituted = edits[:, HIT], edits[:, SUBSTITUTION]
    precision, given = share(hits, hits + substituted + edits[:, INSERTION], np.nan)
    recall, had = share(hits, hits + substituted + edits[:, DELETION], np.nan)
    if ratio != "f_measure":
        return (precision, given) if ratio == "precision" else (recall, had)
    score, weight = f_measure((precision, given), (recall, had))
    return score, np.where(np.isnan(score), 0.0, weight)


@metric(
    "Marks by kind",
    Weight("none", "marks"),
    **OF_COUNTS,
    dims=("mark", "count"),
    default=False,
    literature="@cifka2024",
    version=2,
)
def by_mark(texts: TextPairs, measure: Measure) -> Sparse:
    """Numbers of matched, reference and estimated marks of each kind, including line and section breaks."""
    edits = texts.marks()
    hits, paired = edits[..., HIT], edits[..., HIT] + edits[..., SUBSTITUTION]
    counts = np.stack([hits, paired + edits[..., DELETION], paired + edits[..., INSERTION]], axis=2)
    kinds = [tag for tag in _MARKS if counts[:, tag].any()]
    names = tuple(TAGS[tag] for tag in kinds)
    return tabulate(counts[:, kinds], ("mark", "count"), (names, COUNTED), "marks by kind")


METRICS = metrics_in(globals())


def clean(rows: Ragged, tokenise: Tokeniser = plain_tokens) -> Cleaned:
    """Tokenise the text of each row: ``label`` is the code of each token, ``tag`` its index in `TAGS`.

    The items of a row are lines, or words with line numbers.
    Nothing is refused or repaired: other symbols, such as notes, are ignored.
    """
    untouched = np.zeros(len(rows), dtype=np.int64)
    if "tag" in rows.columns:
        return Cleaned(rows, untouched)
    tokens, labels = [], [*rows.labels, ""]
    for start, end in pairwise(rows.offsets.tolist()):
        pieces = [labels[code] for code in rows.columns["label"][start:end].tolist()]
        languages = rows.columns["language"][start:end].tolist() if "language" in rows.columns else []
        number = rows.columns["line"][start:end] if "line" in rows.columns else np.zeros(0)
        text = "\n".join(pieces)
        if number.size and not np.isnan(number).any():
            step = np.maximum(np.diff(number, prepend=number[0]), 0).astype(np.int64).tolist()
            breaks = ("\n" * min(many, 2) or " " * (index > 0) for index, many in enumerate(step))
            text = "".join(between + piece for between, piece in zip(breaks, pieces, strict=True))
        # The code by which the rules of a language are found has two letters if possible.
        code = next(filter(None, languages), "").strip().lower().replace("_", "-").partition("-")[0]
        tokens.append(tokenise(text, TWO_LETTERS.get(code, code) or DEFAULT_LANGUAGE))
    vocabulary: dict[str, int] = {}
    columns: dict[str, Column] = {
        "label": encode([[text for texts, _ in tokens for text in texts]], vocabulary),
        "tag": np.array([tag for _, tags in tokens for tag in tags], dtype=np.int64),
    }
    counts = np.array([len(texts) for texts, _ in tokens], dtype=np.int64)
    return Cleaned(Ragged(columns, (counts,), tuple(vocabulary)), untouched)


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules by which a convention tokenises text and compares tokens."""

    tokenise: Tokeniser  # (text, language) -> tokens
    spell: Spell = list  # Tokens -> words without parts that are not compared
    fold: Callable[[str], str] = str.lower  # Word -> word as compared, without case if case is ignored
    silence: bool = False  # Whether a text without words is scored: by the number of errors, and as all or nothing

    def score(self, pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
        """Score pairs of tokenised texts; rates are undefined if the reference has no words."""
        texts = TextPairs(pairs, self.spell, self.fold, silence=self.silence)
        scores = read_scores(measures, texts, len(pairs))
        if self.silence:
            return scores
        offsets = offsets_of(pairs.references.counts[0])
        words = np.concatenate([[0], np.cumsum(pairs.references.columns["tag"] == WORD)])
        wordless = words[offsets[1:]] == words[offsets[:-1]]
        lacking = wordless[pairs.reference_row] & (pairs.counts[0] > 0)
        message = "reference: has no words, so there is nothing to score"
        return replace(scores, partly=dict.fromkeys(np.flatnonzero(lacking).tolist(), message))

    def explain(self, reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
        """Return aligned words, or marks of the kind counted by the measure, with their edits.

        Columns are ``reference`` and ``estimate``: texts, empty if missing; ``verdict``: ``hit``, ``substitution``,
        ``deletion``, ``insertion``, or ``case`` for words that differ only in case.
        """
        refuse_unjudged(measure, METRICS, "words")
        sides = usable_pair(reference, estimate, partial(clean, tokenise=self.tokenise))
        if not (sides[0].columns["tag"] == WORD).any():
            raise AnnotationError("reference: has no words")
        tag = next((tag for tag in _MARKS if measure.metric.name.startswith(TAGS[tag])), WORD)
        tokens, aligned = self._align(sides, words=tag == WORD)
        rows: list[tuple[str, str, str]] = []
        for pair in aligned:
            left, right = (side[index] if index >= 0 else None for side, index in zip(tokens, pair, strict=True))
            if left and right and left[1] == right[1] == tag:
                verdict = EDITS[HIT] if self.fold(left[0]) == self.fold(right[0]) else EDITS[SUBSTITUTION]
                if "case" in measure.metric.name and verdict == EDITS[HIT] and left != right:
                    verdict = "case"
                rows.append((left[0], right[0], verdict))
                continue
            if left and left[1] == tag:
                rows.append((left[0], "", EDITS[DELETION]))
            if right and right[1] == tag:
                rows.append(("", right[0], EDITS[INSERTION]))
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        names = ("reference", "estimate", "verdict")
        return {name: np.array(column, dtype=np.str_) for name, column in zip(names, columns, strict=True)}

    def _align(
        self, sides: tuple[Ragged, Ragged], *, words: bool
    ) -> tuple[list[list[tuple[str, int]]], list[tuple[int, int]]]:
        """Words as spelt or all tokens of both sides, with their tags, and indices of aligned ones, -1 for none."""
        tokens = []
        for side in sides:
            spelt = self.spell(side.labels) if words else side.labels
            tagged = zip(side.columns["label"].tolist(), side.columns["tag"].tolist(), strict=True)
            tokens.append([(spelt[code], tag) for code, tag in tagged if tag == WORD or not (words or tag == TEXT)])
        texts = TextPairs(Pairs.in_order(*sides), self.spell, self.fold)
        pairs: list[tuple[int, int]] = []
        for _, start, end, first, last in next(texts.aligned(COMPARED if words else TOKENS)):
            # A block of one side only is empty on the other; others have equal sizes.
            pairs += zip_longest(range(start, end), range(first, last), fillvalue=-1)
        return tokens, pairs

    def find_errors(self, reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Edits:
        """Find the edits of words, or of all tokens for metrics of marks."""
        words = not any(measure.metric.name.startswith(TAGS[tag]) for tag in _MARKS)
        # Characters are then compared as those of the words, and not as the text that the estimate had.
        reference, estimate = (drop_items(rows, rows.columns["tag"] == TEXT) for rows in (reference, estimate))
        sides = reference, estimate
        listed = [np.flatnonzero((side.columns["tag"] == WORD) | (not words)) for side in sides]
        spelt, aligned = self._align(sides, words=words)
        kinds = np.full(len(reference.columns["tag"]), RIGHT), np.full(len(estimate.columns["tag"]), RIGHT)
        order = [np.zeros(len(kind)) for kind in kinds]
        for place, (here, there) in enumerate(aligned):
            for side, index in enumerate((here, there)):
                if index >= 0:
                    order[side][listed[side][index]] = place + 1
            if here < 0:
                kinds[1][listed[1][there]] = _EXTRA
            elif there < 0:
                kinds[0][listed[0][here]] = _MISSING
            else:
                (first, tag), (second, other_tag) = spelt[0][here], spelt[1][there]
                folded = tag == other_tag and self.fold(first) == self.fold(second)
                kind = RIGHT if spelt[0][here] == spelt[1][there] else _CASE if folded else _SUBSTITUTED
                kinds[0][listed[0][here]] = kinds[1][listed[1][there]] = kind
        return Edits(reference, estimate, kinds[0], kinds[1], order=(order[0], order[1]))


_ERRORS = (
    ErrorKind("substituted", "another word, or mark, in place of the one of the reference"),
    ErrorKind("case", "a word that differs only in case"),
    ErrorKind("missing", "words, or marks, of the reference without an estimate"),
    ErrorKind("extra", "estimated words, or marks, without one of the reference"),
)
_SUBSTITUTED, _CASE, _MISSING, _EXTRA = range(len(_ERRORS))


def _convention(
    name: str,
    summary: str,
    rules: Rules,
    literature: str,
    *,
    case: bool = True,
    kinds: Sequence[int] = (),
    doubts: tuple[Doubt, ...] = (),
) -> Convention:
    """Make a convention with metrics of words, case and some kinds of marks."""
    left_out = {TAGS[tag] for tag in _MARKS if tag not in kinds} | (set() if case else {"case"})
    left_out |= set() if kinds else {by_mark.name}
    metrics = tuple(metric for metric in METRICS if not any(metric.name.startswith(word) for word in left_out))
    return Convention(
        name,
        summary,
        metrics,
        partial(clean, tokenise=rules.tokenise),
        rules.score,
        explain=rules.explain,
        doubts=doubts,
        literature=literature,
        errors=ErrorBudget(_ERRORS, rules.find_errors),
    )


def doubt_form(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str:
    """Report a line or word that is in the reference in another Unicode form, or with other blanks."""
    sides = [list(side.labels or ()) for side in (reference, estimate)]
    if all(map(are_normal, sides)):
        return ""
    known, others = ({part: None for line in lines for part in (line, *line.split())} for lines in sides)
    forms = {normal_form(part): part for part in known}
    odd = next((part for part in others if part not in known and normal_form(part) in forms), None)
    if odd is None:
        return ""
    usual = forms[normal_form(odd)]
    return f"{odd!a} and {usual!a} of the reference differ in Unicode form or blanks, which jiwer counts"


CONVENTIONS = (
    _convention(
        "plain",
        "words separated by whitespace, in lower case, including adjacent punctuation",
        Rules(plain_tokens),
        "@morris2004",
        kinds=(LINE, SECTION),
    ),
    _convention(
        "alt_eval",
        "alt-eval 1.2.0: Moses tokens by language, words without punctuation, in lower case",
        Rules(moses_tokens, moses_spellings),
        "@cifka2024",
        kinds=tuple(_MARKS),
    ),
    _convention(
        "jiwer",
        "jiwer's defaults: words separated by spaces only; case, punctuation and line ends count",
        Rules(jiwer_tokens, list, str, silence=True),
        "@jiwer",
        case=False,
        doubts=(
            Doubt(
                "text_form",
                "lyrics that are those of the reference in another Unicode form, or with other blanks",
                of_pair=doubt_form,
            ),
        ),
    ),
)

_TIMED = re.compile(r"\s*(?:[\[<]\d+:\d\d|[-+]?\d+\.\d+[\s,;])")  # Times at the beginning of a line
_PARTS = r"(?:intro|verse|strophe|(?:pre-?|post-?)?chorus|refrain|bridge|interlude|outro|hook|solo)(?: ?\d+)?"
_HEADING = re.compile(rf"\s*(?:\[[^\d:\]][^:\]]*\]\s*:?|\({_PARTS}\)\s*:?|{_PARTS}\s*:)\s*", re.IGNORECASE)
"""A line in brackets, or the name of a part of a song in parentheses or before a colon."""
_CHORD_PRO = re.compile(
    r"\s*\{[A-Za-z_]+(?::[^{}\"]*)?\}\s*|.*\[[A-G][#b]?(?:m|maj|min|dim|aug|sus|add|\d|/[A-G])*\]\w.*"
)
"""A directive of ChordPro, or a chord in brackets before a word."""
_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>|<\|[^|<>]*\|>|&(?:[A-Za-z]{2,8}|#x?[0-9A-Fa-f]{1,6});")
"""A tag or an entity of HTML, or a token of a speech recogniser."""
_MARKDOWN = re.compile(r"\s*(?:(?:```|~~~).*|#{1,6}\s+\S.*|(\*\*|__)[^*_]+\1:?|-{3,}|\*{3,})\s*")
_ABOUT = r"(?:lyrics?|transcri(?:pt|be)\w*|paroles|letras?|testo|songtext|liedtext)\b|\u6b4c[\u8bcd\u8a5e]"
_REMARK = re.compile(
    rf"(?=.*(?:\b{_ABOUT}))(?:.*[:\uff1a]\s*|\W*(?:sure|certainly|of course|here(?:'s|\u2019s| is| are)|below|"
    r"the following|i(?:'m|\u2019m| am) (?:sorry|unable)|i can(?:'t|\u2019t|not)|let me know|would you like|"
    r"please note|note)\b.*)",
    re.IGNORECASE,
)
"""What an assistant writes before or after lyrics."""


def doubt_words(annotation: Annotation) -> str:
    """Report lines that hold more than words: times, headings, tags, an assistant's remarks, ChordPro, JSON."""
    lines = [line for line in annotation.labels or () if line]
    if not lines:
        return ""
    timed = [line for line in lines if _TIMED.match(line)]
    if 2 * len(timed) > len(lines):
        return (
            f"{timed[0][:40]!r} begins with a time, which counts as a word of the lyrics; remove times, or save the "
            "text as .lrc, .srt or .TextGrid, whose times are read"
        )
    chord_pro = next(filter(_CHORD_PRO.fullmatch, lines), None)
    if chord_pro is not None:
        return f"{chord_pro.strip()[:40]!r} is ChordPro, whose directives and chords count as words; remove them"
    if lines[0].lstrip()[:1] == "{" or (lines[0].lstrip()[:1] == "[" and lines[0].lstrip()[1:2] in ("{", '"', "")):
        return f"{lines[0][:40]!r} looks like JSON, which counts as words; use plain text or JAMS (.jams)"
    tag = next(filter(None, map(_TAG.search, lines)), None)
    if tag is not None:
        return f"{tag[0][:40]!r} counts as words of the lyrics; remove tags and entities"
    framed = [line.strip() for line in (lines[0], lines[-1]) if _REMARK.fullmatch(line.strip())]
    framed += [line.strip() for line in lines if _MARKDOWN.fullmatch(line)]
    if framed:
        what = "remarks and the marks of Markdown, as of an assistant"
        return f"{framed[0][:40]!r} counts as words of the lyrics; remove {what}"
    garbled = next((line for line in lines if ungarbled(line) != line), None)
    if garbled is not None:
        return f"{garbled[:40]!r} is UTF-8 that was read in another encoding; save the text as UTF-8 again"
    heading = next(filter(_HEADING.fullmatch, lines), None)
    return f"{heading.strip()!r} counts as words of the lyrics; remove section headings" if heading else ""


TASK = Task(
    "lyrics",
    "Lyrics transcription",
    by_name(*CONVENTIONS),
    ("word_error_rate",),
    doubts=(
        Doubt(
            "words",
            "lyrics contain more than words: times before most lines, section headings such as `[Verse 1]`, tags of "
            "HTML, an assistant's remarks (`Here are the lyrics:`) or Markdown, ChordPro, JSON; or a wrong encoding "
            "has garbled letters",
            of_side=doubt_words,
        ),
    ),
)


Lyrics = str | Iterable[str]


def _score_pair(
    rules: Convention, reference: Lyrics, estimate: Lyrics, measures: Sequence[Measure], language: str = ""
) -> Float:
    rows = []
    for side, text in (("reference", reference), ("estimate", estimate)):
        lines = text.split("\n") if isinstance(text, str) else list(text)
        for line in lines:
            if not isinstance(line, str):
                raise AnnotationError(f"{side}: expected a line of text, got {line!r}")
        columns = {"language": np.full(len(lines), language)}
        rows.append(rules.clean(to_ragged([Annotation("text", columns, lines)])).rows)
    return rules.score_pair(rows[0], rows[1], measures)


@documented(
    """
    Parameters
    ----------
    reference, estimate : str, or iterable of str
        The text, or its lines; an empty line ends a section.
    convention : {"plain", "alt_eval", "jiwer"}
    language : str
        Language code for tokenisation by ``alt_eval``; empty: English.
    **kwargs
        Not used; other keyword arguments are refused.
    """
)
def evaluate(
    reference: Lyrics, estimate: Lyrics, convention: str = "plain", language: str = "", **kwargs: Any
) -> OrderedDict[str, float]:
    """All scores of one pair of texts.

    Returns
    -------
    OrderedDict of str to float
        Scores by metric; NaN if the reference has nothing to score.

    Raises
    ------
    AnnotationError
        For a line that is not a string.

    Examples
    --------
    >>> found = evaluate("Oh my love\\nwait for me", "oh my dove\\nfor me")
    >>> round(found["word_error_rate"], 4), found["line_break_f_measure"], round(found["case_error_rate"], 4)
    (0.3333, 1.0, 0.1667)
    >>> evaluate("Don't go!", "don't go", "alt_eval")["punctuation_recall"]
    0.0
    """
    refuse_unknown("evaluate", kwargs, ("reference", "estimate", "convention", "language"))
    rules = TASK.convention(convention)
    measures = [one.measure() for one in rules.metrics if not one.dims]
    scores = _score_pair(rules, reference, estimate, measures, language)
    return OrderedDict((measure.metric.name, value) for measure, value in zip(measures, scores.tolist(), strict=True))


_PLAIN, _MARKED = TASK.convention(), TASK.convention("alt_eval")
_SIDES = "Texts, or their lines, as for `evaluate`."
FUNCTIONS = {
    **PairFunctions(_MARKED.metrics, partial(_score_pair, _MARKED)).functions(f"{_SIDES} In English, by ``alt_eval``."),
    **PairFunctions(_PLAIN.metrics, partial(_score_pair, _PLAIN)).functions(_SIDES),
}
