"""The stores that scores come from, their pipelines, and the annotation files that these name.

Timelines, error budgets and causes of low scores read these files again. A pipeline that is not trusted reaches no file
outside of the folder that the user names. Files that have changed since they were scored are found by their digests;
titles of pages are made here, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..analysis.queries import ScoresLike, evaluations_of, name_stores
from ..analysis.scores import cell_texts, names_of
from ..annotations.annotation import Annotation, to_ragged
from ..annotations.source import Source
from ..errors import AnnotationError, MirflowError, PipelineError, QueryError, UnknownNameError, shorten
from ..metrics.base import get_task, has_task
from ..pipeline import find_files
from ..pipeline.document import Document, parse_document
from ..pipeline.plan import EvaluationFiles, Reference
from ..readers.content import join_digests
from ..readers.patches import PatchedSource
from ..store.generations import is_own_run
from ..store.packs import open_pack, row_digests
from ..store.read import read_scores

if TYPE_CHECKING:
    import xarray as xr

LONGEST = 300
"""Characters of a label or a message that the page shows."""
Roots = str | Path | Sequence[str | Path] | None
Plans = Mapping[str, EvaluationFiles]


def root_of_each(roots: Roots, stores: int) -> list[str | Path | None]:
    """The folder of annotations of each of several stores, of which one for all was given, or one for each."""
    listed: list[str | Path | None] = [roots] if roots is None or isinstance(roots, str | Path) else [*roots]
    if len(listed) not in (0, 1, stores):
        raise QueryError(f"{len(listed)} roots for {stores} stores; give one for all of them, or one for each")
    return listed if len(listed) == stores else (listed or [None]) * stores


FOREIGN = (
    "The annotations are not looked for, as no run of yours wrote this store here; to see timelines, "
    "name the folder of the annotations with --root."
)


@dataclass(frozen=True)
class StoredPipeline:
    """The pipeline that a store keeps, and the files that it names, as far as they exist.

    A store holds digests of the scored files, but no paths: only its pipeline says where they are. That of a store
    which a run of this user wrote here is followed as it was then. Any other is a stranger's text: it sees no
    environment, and no file outside of a root that the user names.
    """

    text: str
    original: str
    """Folder of the annotations when they were scored."""
    root: str | Path | None = None
    """Present folder of the annotations; None: the original one."""
    trusted: bool = False
    """Whether it is followed as in the run: a run of this user wrote it here, or the caller itself."""
    lacking: str = "The store does not say which pipeline made it."
    """What to say without a text."""

    @classmethod
    def of(cls, ds: xr.Dataset, root: str | Path | None = None, trusted: bool = False) -> StoredPipeline:
        """The pipeline of one evaluation of a store, from its attributes ``pipeline``, the text, and ``root``.

        `trusted`: whether the caller itself wrote the pipeline, as a campaign does.
        """
        text, original = (str(ds.attrs.get(name) or "") for name in ("pipeline", "root"))
        source = str(ds.encoding.get("source") or "")  # folder of the store's generation
        own = bool(source) and is_own_run(Path(source).parent, text, original)
        return cls(text, original, root, trusted or own)

    @cached_property
    def document(self) -> Document:
        """The contents of the text."""
        return parse_document(self.text, foreign=not self.trusted)

    @property
    def evaluations(self) -> list[str]:
        """Names of the evaluations, in order."""
        listed = self.document.data.get("evaluations") if isinstance(self.document.data, Mapping) else None
        named = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
        return [str(one.get("name", one.get("task"))) for one in named]

    @cached_property
    def files(self) -> tuple[Plans, str]:
        """The existing files of the evaluations by name; or why there are none."""
        if not self.text:
            return {}, self.lacking
        if self.root is None and not (self.trusted and self.original):
            return {}, FOREIGN
        folder = self.original if self.root is None else self.root
        if not Path(folder).is_dir():
            return {}, "The folder of the annotations is gone; name the one where they are now with --root."
        try:
            found = find_files(self.document, folder, open_pack=open_pack, confined=not self.trusted, scored=True)
        except MirflowError as error:
            problem = error.problems[0] if isinstance(error, PipelineError) else error
            named = self.document.data.get("plugins") if isinstance(self.document.data, Mapping) else None
            plugins = ", ".join(map(str, named)) if isinstance(named, list) else ""
            hint = f"; Python of the pipeline is run where --plugin names it: {plugins}" if plugins else ""
            return {}, f"The annotations cannot be found: {problem}{hint}"
        return {one.name: one for one in found}, ""


AnnotationFolder = str | Path | StoredPipeline | None
"""Present folder of a store's annotations, its pipeline, or None: the folder of the run."""


@dataclass(eq=False, repr=False)
class Shelf:
    """Annotations by source, each read once, and the errors of those that cannot be read."""

    _read: dict[Source, tuple[Annotation | str, str]] = field(default_factory=dict)
    _contents: dict[Source, str] = field(default_factory=dict)

    def read(self, source: Source) -> Annotation | str:
        """Give the annotation, or why there is none."""
        if source not in self._read:
            try:
                self._read[source] = source.read()
            except (AnnotationError, OSError) as error:
                self._read[source] = shorten(str(error), LONGEST), ""
        return self._read[source][0]

    def digest(self, source: Source, *, original: bool = False) -> str:
        """Give the digest of the file, perhaps without the patches of the pipeline; empty without an annotation."""
        source = source.source if original and isinstance(source, PatchedSource) else source
        self.read(source)
        return self._read[source][1]

    def contents(self, source: Source) -> str:
        """Digest the content of an annotation, whatever its format; empty without one."""
        if source not in self._contents:
            found = self.read(source)
            digests = [""] if isinstance(found, str) else row_digests(found.kind, to_ragged([found]))
            (self._contents[source],) = digests
        return self._contents[source]


REFERENCE = ""
"""Stands for the references among the names of systems whose files have changed."""


class Files:
    """The files of an evaluation in one store, by track.

    `ds`: what was scored, as this store holds it: its systems, and the digests of the files. `plan`: the existing
    files. `store`: its name; empty for a single one. `prefix`: stands before its systems' names where several stores
    are one.
    """

    def __init__(self, ds: xr.Dataset, plan: EvaluationFiles, store: str, prefix: str) -> None:
        self.plan, self.store = plan, store
        self.references = dict(zip(plan.tracks, plan.references, strict=True))
        rows = zip(plan.systems, plan.estimates, strict=True)
        self.estimates = {f"{prefix}{name}": dict(zip(plan.tracks, row, strict=True)) for name, row in rows}
        self._systems = [f"{prefix}{name}" for name in names_of(ds, "system")]
        self._scored = {track: index for index, track in enumerate(names_of(ds, "track"))}
        self._digests = cell_texts(ds, "digest")

    def changed(self, track: str, shelf: Shelf) -> list[str]:
        """Systems (and `REFERENCE`) whose annotations differ from those that were scored; none if unknown."""
        if track not in self._scored:
            return []
        scored = [str(text).partition(":") for text in self._digests[:, self._scored[track]].tolist()]
        now = join_digests([shelf.digest(one.source) for one in self.references[track]])
        changed = [REFERENCE] if any(old and old != now for old, _, _ in scored) else []
        for name, (_, _, old) in zip(self._systems, scored, strict=True):
            source = self.estimates.get(name, {}).get(track)
            if old and old != ("" if source is None else shelf.digest(source)):
                changed.append(name)
        return changed


@dataclass(frozen=True)
class Origin:
    """One of the stores that a page is about."""

    name: str
    """Empty for a single one."""
    prefix: str
    """Prefix of its systems' names."""
    boards: Mapping[str, xr.Dataset]
    """Its evaluations, as it holds them."""
    pipeline: StoredPipeline

    def files(self, evaluation: str) -> Files | str:
        """Give the existing files of an evaluation, or say why there are none; empty if the store has no such one."""
        plans, lost = self.pipeline.files
        if evaluation not in self.boards:
            return ""
        if evaluation in plans:
            return Files(self.boards[evaluation], plans[evaluation], self.name, self.prefix)
        reason = lost or "The pipeline no longer has this evaluation."
        return f"{self.name}: {reason}" if self.name else reason


def evaluations_with_files(
    store: ScoresLike, root: Roots, group: str | None
) -> tuple[list[tuple[str, xr.Dataset, list[Files]]], list[str]]:
    """The evaluations of a store, or one by its name, with their existing files; and why others have none."""
    boards, origins = read_origins(store, root)
    if group is not None and group not in boards:
        raise UnknownNameError("group", group, boards)
    found, reasons = [], []
    for name in boards if group is None else [group]:
        every = [origin.files(name) for origin in origins]
        if files := [one for one in every if not isinstance(one, str)]:
            found.append((name, boards[name], files))
        else:
            reasons += [f"{name}: {reason}" for reason in every if reason]
    return found, reasons


def read_origins(
    store: ScoresLike, roots: Roots = None, trusted: bool = False
) -> tuple[dict[str, xr.Dataset], list[Origin]]:
    """Read the evaluations of a store, or of several as one, and the stores that they come from.

    `store`: as for :func:`mirflow.open_store`, or what is open already. Only stores by their paths have origins apart.
    `roots`: where the annotations are now: one for all stores, or one for each. `trusted`: whether the caller itself
    wrote the pipelines, as a campaign does.
    """
    paths = _paths(store)
    if paths is None:
        boards = {name or IN_MEMORY: ds for name, ds in evaluations_of(store).items()}
        if not boards:
            raise QueryError("the tree has no scores")
        ds = next(iter(boards.values()))
        root = roots if roots is None or isinstance(roots, str | Path) else next(iter(roots), None)
        pipeline = StoredPipeline.of(ds, root, trusted)
        if not ds.attrs.get("pipeline") or "stores" in ds.attrs:
            lacking = "The scores are those of annotations in memory, or of several stores."
            pipeline = StoredPipeline("", "", lacking=lacking)
        return boards, [Origin("", "", boards, pipeline)]
    single = len(paths) == 1 and not isinstance(store, Mapping)
    origins = []
    for (name, path), root in zip(paths.items(), root_of_each(roots, len(paths)), strict=True):
        boards = read_scores(path)
        if not boards:
            raise QueryError(f"{path}: the store has no scores")
        prefix = f"{name}/" if isinstance(store, Mapping) else ""
        pipeline = StoredPipeline.of(next(iter(boards.values())), root, trusted)
        origins.append(Origin("" if single else name, prefix, boards, pipeline))
    if single:
        return dict(origins[0].boards), origins
    return evaluations_of(store), origins


def find_plans(scores: ScoresLike, ds: xr.Dataset, root: Roots | StoredPipeline = None) -> dict[str, EvaluationFiles]:
    """The existing files of the evaluations of a store by name; of several stores, joined as their scores are.

    `root`: as for :func:`read_origins`; a pipeline is that of all scores. Raises `QueryError` if no files are known, or
    none are there.
    """
    paths = _paths(scores)
    if isinstance(root, StoredPipeline):
        pipelines = {"": root}
    elif paths is None or len(paths) == 1:
        own = root if root is None or isinstance(root, str | Path) else next(iter(root), None)
        pipelines = {"": StoredPipeline.of(ds, own)}
    else:
        pipelines = {one.prefix or one.name: one.pipeline for one in read_origins(scores, root)[1]}
    prefixed = isinstance(scores, Mapping)
    parts: dict[str, list[tuple[str, EvaluationFiles]]] = {}
    for name, pipeline in pipelines.items():
        for evaluation, plan in pipeline.files[0].items():
            parts.setdefault(evaluation, []).append((name if prefixed else "", plan))
    if not parts:
        raise QueryError(next(filter(None, (pipeline.files[1] for pipeline in pipelines.values()))))
    joined = {}
    for name, some in parts.items():
        joined[name] = some[0][1]
        if len(some) > 1 or some[0][0]:  # of several stores, whose systems have prefixes
            tracks = tuple(dict.fromkeys(track for _, plan in some for track in plan.tracks))
            references: dict[str, tuple[Reference, ...]] = {}
            systems: dict[str, tuple[Source | None, ...]] = {}
            for prefix, plan in some:
                for track, own_references in zip(plan.tracks, plan.references, strict=True):
                    references[track] = references.get(track) or own_references
                for system, row in zip(plan.systems, plan.estimates, strict=True):
                    sources = dict(zip(plan.tracks, row, strict=True))
                    systems[f"{prefix}{system}"] = tuple(map(sources.get, tracks))
            shared = tuple(references[track] for track in tracks)
            joined[name] = replace(
                joined[name],
                systems=tuple(systems),
                tracks=tracks,
                references=shared,
                estimates=tuple(systems.values()),
            )
    return joined


def find_plan(
    scores: ScoresLike, ds: xr.Dataset, group: str = "", root: Roots | StoredPipeline = None
) -> EvaluationFiles:
    """The existing files of one evaluation; see :func:`find_plans`.

    Raises `QueryError` if they are not known, or not there.
    """
    plans = find_plans(scores, ds, root)
    task, convention = (str(ds.attrs.get(name)) for name in ("task", "convention"))
    fitting = [plan for plan in plans.values() if (plan.task, plan.convention) == (task, convention)]
    if group not in plans and len(fitting) != 1:
        raise QueryError(f"say group=, as these scores may be any of: {', '.join(plans)}")
    return plans[group] if group in plans else fitting[0]


IN_MEMORY = "scores"
"""Name of a dataset that has no other."""


def _paths(store: ScoresLike) -> dict[str, str | Path] | None:
    """The paths of stores by their names; None where scores are open already, or some of them."""
    import xarray as xr

    if isinstance(store, xr.Dataset | xr.DataTree):
        return None
    if isinstance(store, Mapping):
        paths = {str(name): one for name, one in store.items() if isinstance(one, str | Path)}
        return paths if len(paths) == len(store) else None
    return name_stores([store] if isinstance(store, str | Path) else store)


_NAMED = 3
"""Tasks that a title names; of more it says how many."""


def page_title(boards: Mapping[str, xr.Dataset]) -> str:
    """Title of a page: the evaluations and their sizes."""
    named = dict.fromkeys(str(one.attrs.get("task", "")) for one in boards.values())
    tasks = [get_task(name).title for name in named if has_task(name)]
    what = ", ".join([*tasks[:1], *(task[0].lower() + task[1:] for task in tasks[1:])])
    what = f"{len(tasks)} tasks" if len(tasks) > _NAMED else what or "Evaluation"
    sizes = (len({name for board in boards.values() for name in names_of(board, dim)}) for dim in ("system", "track"))
    counts = (f"{size} {dim}{'s' * (size != 1)}" for dim, size in zip(("system", "track"), sizes, strict=True))
    return f"{what}: {', '.join(counts)}"


def store_names(store: ScoresLike) -> str:
    """The labels or the names of stores, as one."""
    paths = _paths(store)
    if paths is None:
        return str(getattr(store, "name", None) or IN_MEMORY)
    folders = [Path(path).absolute().name.removesuffix(".zarr") for path in paths.values()]
    name = " + ".join(paths if isinstance(store, Mapping) else folders)
    # The name of a folder may hold bytes that cannot be decoded.
    return name.encode("utf-8", "replace").decode("utf-8")
