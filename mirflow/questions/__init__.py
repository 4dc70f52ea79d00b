"""Questions to scores: each is declared once, in the file of its section; every way to ask it is made from that.

A question is declared with :func:`question` on the function that answers it: the docstring of the function is its
documentation, the words of a query that it takes are named, and the other parameters of the function are its options.
From this come ``mirflow.NAME(scores, ...)``, the method ``.mirflow.NAME(...)`` of datasets and trees, the command
``mirflow NAME``, the operation ``NAME`` of the HTTP API, and the reference. Options that several questions share, and
estimates of the seconds that intervals and tests take, are here, too. This module and the files of sections beside it
are light to import, as every command's help needs them: what computes is imported by the functions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import Parameter, Signature, cleandoc, signature
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Unpack

from ..analysis.query_options import (
    AUTO,
    BEST,
    DEFAULT_LEVEL,
    METHODS,
    NORMAL_UNITS,
    OPTIONS,
    Names,
    Query,
    QueryOption,
    QueryOptions,
    refuse_lazy,
)
from ..errors import QueryError, refuse_unknown

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr

    from ..analysis.differences import Comparable
    from ..analysis.queries import ScoresLike
    from ..progress import Progress
    from ..reports.tables import Table, Tabulation

Boards: TypeAlias = "Mapping[str, xr.Dataset]"
"""Evaluations by name."""
Answer: TypeAlias = "Tabulation[xr.Dataset]"

CHOICE = frozenset(("metric", "system", "tracks", "where", "annotator", "param", "over", "missing", "undefined"))
"""Words of a query that choose scores."""

HEADLINE = {"metric": "Metrics by name or alias. Repeat for several. Default: the headline."}
"""Help of questions that are about the headline metric if none is named."""

SHARED: Mapping[str, QueryOption] = {
    "group": QueryOption("The evaluation. Default: all that have the metrics.", ("-g",), parameter="evaluation"),
    "ci": QueryOption("Confidence intervals of this level.", level=True, alone=DEFAULT_LEVEL),
    "significance": QueryOption(
        "Mark the systems that do not differ significantly from the best, by tests of this level.",
        level=True,
        alone=DEFAULT_LEVEL,
    ),
    "level": QueryOption("Level of intervals; tests use 1 - level.", level=True),
    "cluster": QueryOption("Resample and permute tracks together by this coordinate (artist, album)."),
    "method": QueryOption(
        f"How intervals are computed. Default: auto, normal for means and weighted ratios of {NORMAL_UNITS} tracks or "
        "more, else bca, a bootstrap.",
        choices=lambda: (AUTO, *METHODS),
    ),
    "correction": QueryOption(
        "Correction for multiple comparisons. Default: auto, max-t for permutation tests and holm for others.",
        choices=lambda: ("auto", "max-t", "holm", "bh", "none"),
    ),
    "unit": QueryOption("Unit of observation: track, or a coordinate of the tracks."),
    "replicates": QueryOption("Replicates of bootstrap and permutations.", least=1, local=True),
    "rng": QueryOption("The seed.", least=0, local=True),
    "all_pairs": QueryOption("List all pairs of systems, not only those with the best system.", local=True),
    "root": QueryOption(
        "Folder of the annotations, if they were moved or the store was not written by your run.",
        folder=True,
        local=True,
    ),
    "progress": QueryOption(
        "Whether progress is shown. Default: on a terminal and in a notebook.", unlisted=True, local=True
    ),
    "percent": QueryOption("Show ratios as percentages, in printed tables.", kind=bool, default=False, local=True),
}
"""Options that several questions have, by the name of the argument in Python."""


class QuestionWords(QueryOptions, total=False):
    """Types of what is asked by keyword; each question takes some of it."""

    metric: Names
    aggregate: str | None
    by: Names
    group: str | None
    ci: float | None
    significance: float | None
    level: float | None
    cluster: str | None
    method: str | None
    correction: str
    unit: str
    replicates: int
    rng: int
    percent: bool
    primary: bool
    main: bool
    pivot: str | None
    against: str
    between: str
    n: int
    overall: bool
    baseline: str | None
    gains: bool
    least: float
    shortest: float
    worst: int | None
    test: str
    friedman: bool
    margin: float | None
    anytime: int | None
    tolerance: float | None
    pair: Mapping[str, str] | None
    every: bool
    fail_above: str | float | None
    worse: bool
    pipeline: bool
    compare: Sequence[str] | None
    save: str | Path | None
    guarded: bool
    difference: float | None
    power: float
    annotations: int | None
    all_pairs: bool
    root: str | Path | None
    patch: str | Path | None
    progress: bool | Progress | None


class Ask(Protocol):
    """The function that asks a question of scores in any form."""

    question: Question

    def __call__(
        self, scores: ScoresLike | Comparable, *positional: Comparable | Names, **words: Unpack[QuestionWords]
    ) -> Answer:
        """Ask it; see the function's own documentation."""
        ...


Cost = Callable[[int, int, int, Mapping[str, Any]], float]
"""Seconds that an answer takes, from the numbers of scores, systems and tracks, and the words of the question."""


@dataclass(frozen=True)
class Question:
    """A question: what it takes, how it is answered, and what is said about it."""

    name: str
    answer: Callable[..., Answer]
    """Takes evaluations by name, a query, and the options by keyword."""
    brief: str
    """The line of ``mirflow --help``."""
    help: str
    """The sentence and the paragraphs of the documentation."""
    words: tuple[str, ...]
    """Words of a query that it takes, in the order of help texts."""
    options: Mapping[str, QueryOption]
    """The other options."""
    takes: Mapping[str, QueryOption]
    """Everything that may be asked: words of the query, the evaluation, and the other options."""
    signature: Signature
    """That of the function for scores in any form."""
    section: str
    """Where ``mirflow --help`` lists it."""
    place: int = 99
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values of words if none are given."""
    best_first: bool = False
    """Whether the best system comes first in tables for people, unless systems were named in another order."""
    by_track: bool = False
    """Whether the answer has single tracks."""
    subjects: tuple[str, ...] = ()
    """What the function takes by position, scores in any form, before the query; empty: evaluations by name."""
    cost: Cost | None = None
    """None: the HTTP API does not offer the question."""

    def __call__(self, *positional: Any, **asked: Any) -> Answer:
        """Ask the question of scores in any form; the word `group` chooses an evaluation."""
        from ..analysis.queries import choose, evaluations_of

        subjects = self.subjects or ("scores",)
        count = len(subjects)
        scores = [*positional[:count], *(asked.pop(name) for name in subjects[len(positional) :] if name in asked)]
        if len(scores) < count:
            raise TypeError(f"{self.name}() lacks {', '.join(subjects[len(scores) :])}")
        words = self.named(positional[count:], asked)
        if self.subjects:
            return self.ask(scores, words)
        group = words.pop("group", None)
        return self.ask([choose(evaluations_of(scores[0]), words.get("metric"), group)], words)

    def ask(self, subjects: Sequence[Any], words: Mapping[str, Any]) -> Answer:
        """Ask the question about evaluations by name, as the only subject, or about what :attr:`subjects` names.

        `words`: what is asked, without the evaluation, as of :meth:`named`.
        """
        options = {name: value for name, value in words.items() if name in self.options}
        for name, value in options.items():
            if isinstance(value, bool) and (level := self.options[name].alone) is not None:
                options[name] = level if value else None
        query = Query(**{**self.defaults, **{name: words[name] for name in words if name not in options}})
        if self.best_first and query.sort is None and not query.system:
            query = replace(query, sort=BEST)
        return self.answer(*subjects, query, **options)

    def named(self, positional: tuple[Any, ...], asked: Mapping[str, Any]) -> dict[str, Any]:
        """What is asked by position and by keyword, by name; the first word that would not be looked at is refused.

        Raises `QueryError` for a word that other questions take, `TypeError` for one that no question takes.
        """
        names = [name for name in ("metric", "aggregate", "by") if name in self.words]
        twice = [name for name in names[: len(positional)] if name in asked]
        if len(positional) > len(names) or twice:
            raise TypeError(f"{self.name}() takes {', '.join(names)} by position, each once; name other arguments")
        words = {**dict(zip(names, positional, strict=False)), **asked}
        others = [word for word in words if word not in self.takes]
        for word in others:
            if word == "lazy":
                refuse_lazy(self.name)
            if word in OPTIONS or word in QuestionWords.__annotations__:
                raise QueryError(f"{self.name!r} takes no {word!r}; it takes {', '.join(self.takes)}")
        if others:
            refuse_unknown(self.name, others, self.takes)
        return words


def question(
    brief: str,
    *,
    words: Iterable[str],
    options: Mapping[str, QueryOption] | None = None,
    helps: Mapping[str, str] = {},
    **how: Any,
) -> Callable[[Callable[..., Answer]], Ask]:
    """Declare the question that a function answers, under its name, in the section that its file is called by.

    `words`: fields of :class:`mirflow.analysis.query_options.Query` that the question takes; all others are refused.
    `options`: what is said of the function's own parameters, but for those of :data:`SHARED`. `helps`: help texts of
    words where they differ from those of queries. Replaces the function, which takes evaluations by name, a query and
    the options, by one that takes scores in any form and what is asked by keyword; its attribute ``question`` is the
    declaration.
    """
    chosen = {name: option for name, option in OPTIONS.items() if name in words}
    chosen = {name: replace(option, help=helps.get(name, option.help)) for name, option in chosen.items()}
    kinds = {"float": float, "int": int, "bool": bool}

    def declare(answer: Callable[..., Answer]) -> Ask:
        module, text = sys.modules[answer.__module__], cleandoc(answer.__doc__ or "")
        about = re.split(r"\n\n\w+\n---", text, maxsplit=1)[0]
        parameters = signature(answer).parameters
        subjects = [name for name, one in parameters.items() if one.kind is not Parameter.KEYWORD_ONLY]
        subjects = [name for name in subjects if name not in ("boards", "query")]
        own = {
            name: replace(
                {**SHARED, **(options or {})}[name],
                kind=kinds.get(str(one.annotation).partition(" ")[0], str),
                default=None if one.default is Parameter.empty else one.default,
                needed=one.default is Parameter.empty,
            )
            for name, one in parameters.items()
            if one.kind is Parameter.KEYWORD_ONLY
        }
        takes = {**chosen, **({} if subjects else {"group": SHARED["group"]}), **own}
        plain = {**vars(Query()), **how.get("defaults", {})}
        made = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in subjects or ["scores"]]
        for name, option in takes.items():
            placed = name in ("metric", "aggregate", "by")
            kind = Parameter.POSITIONAL_OR_KEYWORD if placed else Parameter.KEYWORD_ONLY
            default = Parameter.empty if option.needed else plain.get(name, option.default)
            made.append(Parameter(name, kind, default=default))
        written = Signature(made, return_annotation="Tabulation[xr.Dataset]")
        settings = {"section": module.__name__.rpartition(".")[2], "subjects": tuple(subjects), **how}
        declared = Question(answer.__name__, answer, brief, about, tuple(chosen), own, takes, written, **settings)

        def ask(*positional: Any, **asked: Any) -> Answer:
            return declared(*positional, **asked)

        described: Any = ask
        described.question = declared
        described.__name__ = described.__qualname__ = declared.name
        described.__module__ = module.__name__
        described.__doc__ = _docstring(declared, text[len(about) :])
        # The examples of a function that another module made are executed as those of the module.
        vars(module).setdefault("__test__", {})[declared.name] = described.__doc__
        described.__signature__ = declared.signature
        ready: Ask = described
        return ready

    return declare


def method_of(question: Question) -> Callable[..., Any]:
    """The method of the accessor that asks a question of one evaluation and returns its dataset.

    Of a question that takes no query, or several subjects, it returns the answer itself.
    """
    whole = not question.words or len(question.subjects) > 1

    def ask(self: Any, *positional: Any, **asked: Any) -> Any:
        from ..analysis.queries import only_answer

        if whole or question.subjects:
            result = question(self._scored, *positional, **asked)
            return result if whole else only_answer(result.items)
        words = question.named(positional, asked)
        name, ds = self._choose(words.get("metric"), words.pop("group", None))
        return only_answer(
            question.ask([{name: ds}], {"sort": "stored", **words} if question.best_first else words).items
        )

    described: Any = ask
    described.__name__ = question.name
    described.__qualname__ = f"Inference.{question.name}"
    described.__doc__ = f"{question.help}\n\n        See :func:`mirflow.{question.name}`."
    others = list(question.signature.parameters.values())[1:]
    described.__signature__ = Signature(
        [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *others],
        return_annotation="Tabulation" if whole else "xr.Dataset",
    )
    return ask


def _docstring(question: Question, sections: str) -> str:
    lines = [question.help, "\nParameters\n----------"]
    if len(question.subjects) > 1:
        lines += [", ".join(question.subjects), "    Scores, as the text says."]
    else:
        lines += [
            "scores : path, sequence or mapping of paths, xr.DataTree or xr.Dataset",
            "    A store, or several as one (see :func:`mirflow.open_store`); an opened tree; or the scores of one",
            "    evaluation, such as :func:`mirflow.score` gives. A mapping of labels may hold all of these.",
        ]
    if question.words:
        lines += [", ".join(question.words), "    See :class:`mirflow.analysis.query_options.Query`."]
    for name, declared in list(question.takes.items())[len(question.words) :]:
        required = declared.needed or declared.kind is bool or declared.default is not None
        lines.append(f"{name} : {declared.kind.__name__}{'' if required else ' or None'}\n    {declared.help}")
    returns, examples, more = sections.partition("\n\nExamples\n")
    lines += [
        returns.removeprefix("\n"),
        "\nRaises\n------",
        "QueryError\n    If the question makes no sense for these scores, or takes no such option.",
        "UnknownNameError\n    For a name that is not there, with a suggestion.",
        "StoreError\n    If a path is not a result store.",
    ]
    return "\n".join(lines) + examples + more


# The package is not imported by a statement, as it imports from every floor for type checkers.
QUESTIONS = sorted(name for name, home in sys.modules["mirflow"]._HOMES.items() if home.startswith("questions."))
"""The names of all questions: those of the public functions whose home is beside this file."""


def find(name: str) -> Question:
    """The question of a name."""
    declared: Question = getattr(sys.modules["mirflow"], name).question
    return declared


def each_evaluation(
    boards: Boards,
    query: Query,
    infer: Callable[..., xr.Dataset],
    readable: Callable[[xr.Dataset], list[Table]],
    rows: Callable[[xr.Dataset], Table] | str,
) -> Answer:
    """Infer something about each evaluation, by default about its headline metric.

    `infer`: takes an evaluation, and by keyword ``query`` and ``group``, the evaluation's name. `readable`: makes the
    tables for people of a dataset. `rows`: makes the table for programs; or the names of its columns, see
    :func:`mirflow.reports.comparisons_tables.columns_table`.
    """
    from ..analysis.lookup import headline_metric
    from ..analysis.queries import NO_NUMBER
    from ..reports.comparisons_tables import columns_table
    from ..reports.tables import Table, Tabulation

    make_rows = partial(columns_table, columns=rows.split()) if isinstance(rows, str) else rows
    found, notes = [], []
    for name, ds in boards.items():
        if query.metric is None and not ds.sizes["metric"]:
            notes.append(f"{name}: left out, without {NO_NUMBER}")
            continue
        asked = query if query.metric is not None else replace(query, metric=headline_metric(ds), exact=True)
        found.append(infer(ds, query=asked, group=name))
    more = [Table((), (), notes=tuple(notes))] if notes else []
    return Tabulation(
        found,
        lambda width: [*(table for ds in found for table in readable(ds)), *more],
        lambda: list(map(make_rows, found)),
        notes,
    )


def replicating(scores: int, systems: int, tracks: int, words: Mapping[str, Any]) -> float:
    """Seconds that intervals of aggregates take: normal ones little more than reading the scores."""
    return scores * (3e-7 if tracks >= NORMAL_UNITS and words.get("method", AUTO) == AUTO else 1e-6)


def testing(scores: int, systems: int, tracks: int, words: Mapping[str, Any]) -> float:
    """Seconds that permutation tests between all systems take."""
    return scores * 1.5e-5
