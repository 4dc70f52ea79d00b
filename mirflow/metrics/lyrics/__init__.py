"""Lyrics transcription: reference and estimate are the text of a song, optionally in lines and sections.

Words of both sides are aligned with the fewest edits. mir_eval does not have this task. `evaluate` scores one pair of
texts; the functions with metrics' names use the convention ``plain``, those of punctuation and parentheses
``alt_eval``. `TASK` holds the metrics of whole datasets, with aligned words as evidence, kinds of errors, and
warnings of lyrics that hold more than words, such as times, section headings or tags.

Conventions
-----------
* ``plain`` (default): words separated by whitespace, in lower case, including adjacent punctuation.
* ``alt_eval``: alt-eval 1.2.0, by the language of the lyrics: Moses tokens, words without punctuation.
* ``jiwer``: jiwer with its default transforms: words separated by spaces only, case-sensitive.

Metrics
-------
* ``word_error_rate``, ``character_error_rate``: edits of words and characters over their number in the reference.
* ``match_error_rate``, ``word_information_lost``: shares of errors among all aligned words, and of information lost.
* ``substitution_rate``, ``deletion_rate``, ``insertion_rate``: the parts of the word error rate.
* ``case_error_rate``, ``case_sensitive_word_error_rate``: right words in the wrong case, without and with other errors.
* ``punctuation_precision``, ``punctuation_recall``, ``punctuation_f_measure``, ``parenthesis_precision``,
  ``parenthesis_recall``, ``parenthesis_f_measure``: marks in an alignment of all tokens.
* ``line_break_precision``, ``line_break_recall``, ``line_break_f_measure``, ``section_break_precision``,
  ``section_break_recall``, ``section_break_f_measure``: breaks in the same alignment.
* ``by_mark``, on request: counts of matched, reference and estimated marks and breaks of each kind.

References
----------
Morris, Maier and Green, From WER and RIL to MER and WIL, 2004; Cífka, Schreiber, Miner and Stöter, Lyrics Transcription
for Humans, 2024.
"""

from ...theory.text_form import normalize_lyrics
from .metrics import FUNCTIONS, TASK, evaluate

__all__ = ["TASK", "evaluate", "normalize_lyrics"]

globals().update(FUNCTIONS)
