"""Signed numbers computed again, from a store, a pipeline or folders of annotations: ``mirflow.verify``.

Numbers are compared by the digits that are printed; for those that cannot be computed the reason is listed.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

import numpy as np

from ..analysis.dims import RUN, SYSTEM
from ..analysis.queries import ScoresLike, evaluate_query, evaluations_of
from ..analysis.scores import as_scores, coords_of, names_of
from ..analysis.signatures import UNKNOWN as UNNAMED
from ..analysis.signatures import Signature, sign
from ..engine.runs import run_plans
from ..errors import MirflowError, QueryError, SignatureError, counted, suggest
from ..metrics.base import get_task
from ..metrics.measures import parse
from ..pipeline.load import load_pipeline, plan_pipeline
from ..pipeline.model import Estimates, Evaluation, Pipeline
from ..readers.content import is_hidden
from ..readers.label_maps import SHIPPED_MAPS
from ..readers.options import DELIMITED, OPTIONS
from ..reports.signed_numbers import SignedNumber, read_signed
from ..reports.tables import Table, Tabulation, plain_entry
from ..store.journal import Journal
from ..store.packs import open_pack
from ..store.read import dataset_of

if TYPE_CHECKING:
    import xarray as xr

EQUAL, DIFFERENT, COMPUTED, UNKNOWN = VERDICTS = "equal", "different", "computed", "not computable"


@dataclass(frozen=True)
class NumberCheck:
    """A signed number, and what is computed in its place."""

    place: str
    """File and line, or row; empty for a signature alone."""
    names: Mapping[str, str]
    """What the number is about: ``metric``, ``system``, and values of groupings and dims."""
    printed: str
    """As it is printed."""
    value: float
    """The computed number, in the unit of the printed one; NaN where there is none."""
    verdict: str
    """``equal``, ``different``, ``computed`` (nothing is printed, as for a signature alone) or ``not computable``."""
    reason: str = ""
    """Why they differ, or why nothing can be computed."""
    signature: str = ""

    @property
    def difference(self) -> float:
        """The computed number minus the printed one; NaN where one is missing, or they are not compared."""
        return self.value - float(self.printed) if self.printed and self.verdict != UNKNOWN else math.nan


def verify(
    document: str | Path,
    *,
    store: ScoresLike | None = None,
    pipeline: str | Path | None = None,
    reference: str | Path | None = None,
    estimates: str | Path | None = None,
    root: str | Path | None = None,
    every: bool = False,
) -> Tabulation[NumberCheck]:
    """Compute the signed numbers of a table again.

    A number is equal if the computed one rounds to it with as many digits as are printed: see :func:`is_rounded`. Cells
    are read to their last character. One that is not just a number is not computable, nor are the numbers of a table
    that shows another signature than its comments have.

    Parameters
    ----------
    document : path or str
        A table that mirflow wrote, or a paper with such tables: LaTeX, Markdown, HTML, CSV or JSON; or a signature.
    store : path, sequence or mapping of paths, xr.DataTree or xr.Dataset, or None
        Scores to aggregate, as for :func:`mirflow.query`.
    pipeline : path or None
        Score the estimates again: a pipeline file with the references and the options of reading.
    reference, estimates : path or None
        Score the estimates again: a folder, or a pattern with ``{track}``, and for estimates ``{system}``. In a folder,
        files of estimates are ``system/track.suffix``. With a pipeline, `estimates` replaces its folder of estimates.
    root : path or None
        Base folder of the pipeline's patterns, in place of the one in the file.
    every : bool
        Whether tables for people list equal numbers, too.

    Returns
    -------
    Tabulation of NumberCheck
        Every signed number, in the order of the document. Notes name rows and tables that have numbers without a
        signature, and signatures that name no references.

    Raises
    ------
    QueryError
        If the document cannot be read or has no signed numbers, or if it is not clear what to compute from.
    PipelineError, StoreError
        If references or estimates cannot be found, or the store cannot be read.
    """
    numbers, notes = _numbers_of(document)
    signed = [number.signature for number in numbers if number.signature is not None]
    boards = _scores_of(store, pipeline, reference, estimates, root, signed)
    # The numbers of a table with the same signature are computed together.
    systems: dict[tuple[int, Signature], dict[str, None]] = {}
    for one in numbers:
        if one.signature is not None and "system" in one.names and one.printed:
            systems.setdefault((one.table, one.signature), {})[one.names["system"]] = None
    computed: dict[tuple[int, Signature], Recomputed | str] = {}
    checks: list[NumberCheck] = []
    for one in numbers:
        again: Recomputed | str = one.problem
        if one.signature is not None and not one.problem:
            key = one.table, one.signature
            if key not in computed:
                computed[key] = _recompute(one.signature, [*systems.get(key, {})], boards)
            again = computed[key]
        if isinstance(again, str):
            signature = str(one.signature or "")
            checks.append(NumberCheck(one.place, one.names, one.printed, math.nan, UNKNOWN, again, signature))
        elif one.place:
            checks.append(again.check(one))
        elif one.signature is not None:
            checks += again.list(one.signature)
    about = str(document) if Path(document).suffix else "signature"
    notes += [
        f"{signature.task}/{'+'.join(signature.metrics)}: the signature names no references (ref): any could have been "
        "used"
        for signature in dict.fromkeys(signed)
        if not signature["ref"]
    ]
    columns = ("place", "metric", "system", "of", "printed", "computed", "difference", "verdict", "reason", "signature")
    rows = tuple(
        (*_about(check), check.printed, check.value, check.difference, check.verdict, check.reason, check.signature)
        for check in checks
    )
    return Tabulation(
        checks,
        lambda _: [replace(_table(about, checks, every), notes=tuple(notes))],
        lambda: [Table(columns, rows)],
        notes,
    )


def _numbers_of(document: str | Path) -> tuple[Sequence[SignedNumber], list[str]]:
    """The signed numbers of a file, or a signature without numbers; and what is not signed."""
    path = Path(document)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):  # a text that cannot be a name
        is_file = False
    if not is_file:
        try:
            return [SignedNumber("", "", Signature.parse(str(document)))], []
        except SignatureError as error:
            raise QueryError(f"{str(document)[:200]}: no such file; and as a signature: {error}") from None
    found = read_signed(path)
    if not found.numbers:
        raise QueryError(
            f"{path}: no signed numbers; tables that mirflow writes have them (mirflow query STORE --output table.tex)"
        )
    return found.numbers, [*found.unsigned]


_LAYOUT = {*DELIMITED, "format"}  # options that say how a file is laid out, not what is read of it


def _flaw(signed: Signature) -> str:
    """Why this version of mirflow cannot compute a number; empty if it can."""
    if UNNAMED in (signed.task, signed["conv"]):
        return ""
    try:
        metrics = get_task(signed.task).convention(signed["conv"]).metrics
        for metric in signed.metrics:
            parse(metric, metrics)
        for options in _sides_of(signed).values():
            Estimates.model_validate({"path": "{track}", **options}).reading(signed.task)
    except MirflowError as error:
        return str(error)
    except ValueError:  # of the model
        return f"invalid options of reading in the signature: {options}"
    return ""


def _sides_of(signed: Signature) -> dict[str, dict[str, Any]]:
    """The options of reading that a signature names for each side, as a pipeline file has them."""
    sides: dict[str, dict[str, Any]] = {"reference": {}, "estimates": {}}
    for name, text in signed["read"]:
        side, _, option = name.partition(".")
        if side not in sides or option not in (*OPTIONS, "annotator"):
            raise SignatureError(f"unknown option of reading {name!r}: a later version of mirflow may have it")
        kind: Any = OPTIONS[option].type if option in OPTIONS else str | int
        kinds = get_args(kind) or (kind,)
        value: Any = text
        try:
            if get_origin(kind) is tuple:
                value = json.loads(text)
            elif bool in kinds:
                value = {"True": True, "False": False}.get(text, text)
            elif int in kinds and text.isdecimal():
                value = int(text)
            elif float in kinds:
                value = float(text)
        except (ValueError, RecursionError):
            raise SignatureError(f"invalid {name} of a signature: {text[:80]!r}") from None
        sides[side][option] = value
    return sides


def _of_pipeline(
    path: str | Path, root: str | Path | None, estimates: str | Path | None, signed: Sequence[Signature]
) -> Pipeline | None:
    """The evaluations of a pipeline that signatures are about, with their metrics; None without any."""
    model = load_pipeline(path)
    wanted: dict[tuple[str, str, str], list[str]] = {}
    for one in signed:
        wanted.setdefault((one.task, one["conv"], one.group), []).extend([] if _flaw(one) else one.metrics)
    names = {evaluation.name or evaluation.task for evaluation in model.evaluations}
    kept = []
    for evaluation in model.evaluations:
        convention = get_task(evaluation.task).convention(evaluation.convention).name
        own = [evaluation.name or evaluation.task, *({name for _, _, name in wanted} - names)]
        asked = [wanted[key] for name in own if (key := (evaluation.task, convention, name)) in wanted]
        metrics = [name for name in evaluation.metrics or () if ":" in name]  # of the user's own
        metrics += dict.fromkeys(name for each in asked for name in each)
        if asked and metrics:
            changed: dict[str, Any] = {"metrics": metrics, "parameters": {}}
            if estimates is not None:
                pattern = str(Path(estimates).absolute())
                if "{" not in str(estimates):  # that part of the pipeline's which has placeholders
                    parts = Path(evaluation.estimates.path).parts
                    first = next((place for place, part in enumerate(parts) if "{" in part), len(parts) - 1)
                    pattern = str(Path(pattern).joinpath(*parts[first:]))
                changed["estimates"] = evaluation.estimates.model_copy(update={"path": pattern})
            kept.append(evaluation.model_copy(update=changed))
    if not kept:
        return None
    place = Path(path).absolute().parent / model.root if root is None else Path(root).absolute()
    plugins = [str(place.parent / plugin) if plugin.endswith(".py") else plugin for plugin in model.plugins]
    return model.model_copy(update={"evaluations": kept, "root": str(place), "plugins": plugins})


def _of_folders(reference: str, estimates: str, signed: Sequence[Signature]) -> Pipeline | None:
    """A pipeline of one evaluation for the rules of each signature; None without any that can be computed."""
    rules: dict[tuple[Any, ...], list[Signature]] = {}
    for one in signed:
        if UNNAMED not in (one.task, one["conv"]) and not _flaw(one) and not _lacks_map(one):
            rules.setdefault((one.task, *(one[key] for key in ("conv", "grid", "combine", "read"))), []).append(one)
    evaluations = []
    for number, ((task, convention, grid, combine, _), alike) in enumerate(rules.items()):
        sides = _sides_of(alike[0])
        sides["reference"]["path"] = _pattern_of(reference, "")
        sides["estimates"]["path"] = _pattern_of(estimates, "{system}/")
        if combine:
            sides["reference"]["combine"] = combine
        values: dict[str, Any] = {"name": f"{task}_{number}", "convention": convention, **sides}
        if grid:
            values["grid"] = float(grid) if grid[0].isdigit() else grid
        metrics = list(dict.fromkeys(name for signature in alike for name in signature.metrics))
        evaluations.append(Evaluation.model_validate({"task": task, "metrics": metrics, **values}))
    if not evaluations:
        return None
    return Pipeline.model_validate({"evaluations": evaluations, "store": "verify.zarr"})


def _lacks_map(signed: Signature) -> bool:
    """Whether labels were mapped by a file, of which a signature has only the digest."""
    return any(name.endswith(".labels") and text not in SHIPPED_MAPS for name, text in signed["read"])


def _pattern_of(given: str, above: str) -> str:
    """A pattern as given, or that of the files in a folder, perhaps in folders of systems."""
    if "{" in given:
        return str(Path(given).absolute())
    folder = Path(given)
    if not folder.is_dir():
        raise QueryError(f"{given}: no such folder; or write a pattern with placeholders such as {above}{{track}}.lab")
    above = above if any(path.is_dir() for path in folder.iterdir()) else ""
    files = [path for path in folder.glob("*/*" if above else "*") if path.is_file() and not is_hidden(path.name)]
    suffixes = {path.suffix for path in files}
    if not files:
        raise QueryError(f"{given}: no files; write a pattern with placeholders such as {above}{{track}}.lab")
    return str(folder.absolute() / f"{above}{{track}}{suffixes.pop() if len(suffixes) == 1 else '.{format}'}")


def _scores_of(
    store: ScoresLike | None,
    pipeline: str | Path | None,
    reference: str | Path | None,
    estimates: str | Path | None,
    root: str | Path | None,
    signed: Sequence[Signature],
) -> dict[str, xr.Dataset]:
    """The scores to compute numbers from, by evaluation: those of a store, or of estimates that are scored here."""
    given = {"store": store, "pipeline": pipeline, "reference": reference}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise QueryError(
            "say what to compute the numbers from: a store (--store); a pipeline (--pipeline), perhaps with estimates; "
            f"or references and estimates (--reference, --estimates){' - only one of them' if named else ''}"
        )
    if store is not None and (estimates is not None or root is not None):
        raise QueryError("a store has scores: leave out estimates and root (--estimates, --root)")
    if reference is not None and estimates is None:
        raise QueryError("references alone give no numbers: name the estimates (--estimates)")
    if store is not None:
        return evaluations_of(store)
    if pipeline is not None:
        model = _of_pipeline(pipeline, root, estimates, signed)
    else:
        model = _of_folders(str(reference), str(estimates), signed)
    if model is None:
        return {}
    planned = plan_pipeline(model, open_pack=open_pack)
    with tempfile.TemporaryDirectory() as folder:
        reports = run_plans(planned.plans, Journal(Path(folder)), scheduler=model.execution.scheduler)
    return {report.plan.name: as_scores(dataset_of(report.content)) for report in reports}


@dataclass(frozen=True)
class Recomputed:
    """The numbers of a signature, computed again."""

    results: Mapping[str, xr.Dataset]  # by the identity of the metric
    signed: Signature  # of these results
    versions: Mapping[str, str]  # versions of the metrics
    renamed: Mapping[str, str]  # systems that have another name in the scores

    def check(self, number: SignedNumber) -> NumberCheck:
        """Compare a printed number."""
        signed = number.signature
        assert signed is not None
        metric = number.names.get("metric", signed.metrics[0])
        names = {"metric": metric, **number.names}
        try:
            value = self._value(metric, names) * (100 if signed["unit"] == "percent" else 1)
        except QueryError as error:
            # Of a system that is not in this evaluation, nothing is printed.
            reason, verdict = (str(error), UNKNOWN) if number.printed else ("", EQUAL)
            return NumberCheck(number.place, names, number.printed, math.nan, verdict, reason, str(signed))
        made = NumberCheck(number.place, names, number.printed, value, EQUAL, "", str(signed))
        if self.changed(signed):
            return replace(made, verdict=UNKNOWN, reason=self.changed(signed))
        reasons = []
        if not is_rounded(number.printed, value, decimals=number.decimals):
            difference = f"by {value - float(number.printed or 0):+.6g}" if math.isfinite(value) else "without a value"
            reasons.append(difference if number.printed else "no number is printed")
            version = self.versions.get(metric, signed["rev"])
            if number.printed and version != signed["rev"]:
                reasons.append(f"signed by version {signed['rev']} of the metric, computed by version {version}")
            if number.printed and (unnamed := self.unnamed(signed)):
                named = ", ".join(f"{name} {value}" for name, value in unnamed.items())
                reasons.append(f"the files are read with {named} here, which the signature does not name")
        reasons += self._counts(signed)
        return replace(made, verdict=DIFFERENT, reason="; ".join(reasons)) if reasons else made

    def unnamed(self, signed: Signature) -> dict[str, str]:
        """Options of reading that are set here, and not named by a signature."""
        return {name: value for name, value in self.signed["read"] if name not in dict(signed["read"])}

    def _counts(self, signed: Signature) -> list[str]:
        if signed.span[0] <= self.signed.span[0] and self.signed.span[1] <= signed.span[1]:
            return []
        return [f"{self.signed['n']} scores count, and {signed['n']} are signed"]

    def changed(self, signed: Signature) -> str:
        """Why the numbers are not about the same references; empty if they are, or if nothing is known of one side."""
        if not signed["ref"] or not self.signed["ref"] or signed["ref"] == self.signed["ref"]:
            return ""
        return (
            f"the references or the tracks differ from the signed ones: their digest is {self.signed['ref']}, and "
            f"{signed['ref']} is signed"
        )

    def list(self, signed: Signature) -> Iterator[NumberCheck]:
        """All numbers of a signature that is given alone."""
        factor = 100 if signed["unit"] == "percent" else 1
        reason = self.changed(signed) or "; ".join(self._counts(signed))
        verdict = UNKNOWN if self.changed(signed) else DIFFERENT if reason else COMPUTED
        for metric, result in self.results.items():
            values = result["value"].sel(metric=metric) if "metric" in result.dims else result["value"]
            for cell in np.ndindex(values.shape):
                names = {str(dim): str(values[dim].values[at]) for dim, at in zip(values.dims, cell, strict=True)}
                value = float(values.values[cell]) * factor
                about = {"metric": metric, **names}
                yield NumberCheck("", about, "", value, verdict, reason, str(signed))

    def _value(self, metric: str, names: Mapping[str, str]) -> float:
        """The number of some names, a ratio as such."""
        values = self.results[metric]["value"] if metric in self.results else None
        if values is None:
            raise QueryError(f"the signature is not about {metric!r}")
        for dim in map(str, values.dims):
            wanted = names.get(dim, names.get(dim.removeprefix("track_")))
            labels = values[dim].values.tolist()
            texts = [str(label) for label in labels]
            if dim == "system" and wanted is not None:
                wanted = self.renamed.get(wanted, wanted)
            if wanted is None and dim == RUN and "mean" in texts:
                wanted = "mean"
            if wanted is None:
                raise QueryError(f"the table does not say which {dim} the number is about")
            if wanted not in texts:
                texts = [str(plain_entry(label)) for label in labels]
            if wanted not in texts:
                raise QueryError(f"no scores of {dim} {wanted!r}; {suggest(wanted, texts)}")
            values = values.isel({dim: texts.index(wanted)})
        return float(values.values)


_EXACT = 1e-12  # relative difference of numbers in full precision that are the same


def is_rounded(printed: str, value: float, *, decimals: bool = True) -> bool:
    """True if a number rounds to a printed one. The digits that are printed decide. One without decimals is the whole
    number: only where no number of its table has decimals, and two digits or more are printed, the computed one is
    rounded to it. `printed`: digits with a decimal point; empty: there is no number."""
    if not printed or not math.isfinite(value):
        return float(printed) == value if printed else math.isnan(value)
    exponent = Decimal(printed).as_tuple().exponent
    if not isinstance(exponent, int):
        return False
    exact = _EXACT * max(1.0, abs(value))
    if exponent < 0:
        step = 10.0**exponent
    else:
        step = 1.0 if not decimals and abs(float(printed)) >= 10 and "e" not in printed.lower() else 0.0
    # A score halfway between two printed ones is a little farther from either than half a step: binary fractions.
    return abs(float(printed) - value) <= max(step / 2 * (1 + 1e-6), exact)


def _recompute(signed: Signature, systems: Sequence[str], boards: Mapping[str, xr.Dataset]) -> Recomputed | str:
    """The numbers of a signature for some systems, from the evaluation with its references; or why there are none."""
    found: list[Recomputed] = []
    reasons = [flaw] if (flaw := _flaw(signed)) else []
    named = {name: ds for name, ds in boards.items() if name == signed.group}
    for name, ds in (named or boards).items():
        rules = [ds.attrs.get(part) or UNNAMED for part in ("task", "convention")]
        if rules != [signed.task, signed["conv"]]:
            continue
        chosen = _systems_in(ds, signed, systems)
        if isinstance(chosen, str):
            reasons.append(chosen)
            continue
        query = signed.query(chosen)
        try:
            results = evaluate_query(ds, query, name)
        except MirflowError as error:
            reasons.append(str(error))
            continue
        again = [signature for result in results for signature in sign(ds, query, result)]
        whole = again[0]
        theirs, ours = dict(signed["read"]), dict(whole["read"])
        # How columns of text are laid out does not matter. Earlier versions named only those options that conventions
        # have a say in: others that a signature does not name may have any value.
        unnamed = UNNAMED in (signed.task, signed["conv"])
        usual = {} if unnamed else get_task(signed.task).convention(signed["conv"]).reading
        demanded = [name for name in theirs if name.partition(".")[2] not in _LAYOUT]
        demanded += [name for name in ours if name.partition(".")[2] in usual]
        same = all(whole[key] == signed[key] for key in ("conv", "grid", "combine", "classes"))
        same = same and whole.task == signed.task
        if not same or any(theirs.get(name) != ours.get(name) for name in demanded):
            reasons.append(f"the rules differ: {whole} is computed here")
            continue
        by_metric = {
            metric: result
            for result in results
            for metric in ([str(result.attrs["metric"])] if "metric" in result.attrs else names_of(result, "metric"))
        }
        versions = {metric: signature["rev"] for signature in again for metric in signature.metrics}
        only = {systems[0]: names_of(ds, "system")[0]} if len(systems) == 1 == ds.sizes["system"] else {}
        found.append(Recomputed(by_metric, whole, versions, only))
    if found:
        return min(found, key=lambda one: (bool(one.changed(signed)), len(one.unnamed(signed))))
    if reasons:
        return reasons[0]
    if _lacks_map(signed):
        return "labels were mapped by a file, whose path only the pipeline names (--pipeline)"
    return f"no scores of {signed.task} by the rules of {signed['conv']}"


def _systems_in(ds: xr.Dataset, signed: Signature, systems: Sequence[str]) -> list[str] | str | None:
    """The systems of a query for the numbers of some; None: all; or the reason why that is not known, as text."""
    every = names_of(ds, "system")
    grouped = {RUN, *coords_of(ds, "system")} & {*signed["by"], *(dim for dim, _ in signed["across"])}
    compared = int(signed["systems"])
    reduced = any(dim in (SYSTEM, RUN) for dim, _ in signed["over"])
    if grouped or reduced or not systems or (len(systems) == len(every) == 1):
        named: list[str] | None = None
    else:
        named = [name for name in systems if name in every]
        if not named:
            return f"no scores of system {systems[0]!r}; {suggest(systems[0], every)}"
    count = len(every) if named is None else len(named)
    if compared in (1, count):
        return named
    if compared == len(every):
        return None
    return (
        f"only the tracks that {compared} systems have in common count, and {counted(count, 'system')} of them "
        f"{'is' if count == 1 else 'are'} here: give the estimates of all"
    )


def _about(check: NumberCheck) -> tuple[str, str, str, str]:
    others = ", ".join(f"{name} {value}" for name, value in check.names.items() if name not in ("metric", "system"))
    return check.place, check.names.get("metric", ""), check.names.get("system", ""), others


def _table(about: str, checks: Sequence[NumberCheck], every: bool) -> Table:
    """The numbers that are not equal, or all of them, for people."""
    counts = Counter(check.verdict for check in checks)
    sizes = ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name])
    shown = [check for check in checks if every or check.verdict != EQUAL]
    rows = [
        (
            *_about(check),
            check.printed or "-",
            "-" if math.isnan(check.value) else f"{check.value:.6g}",
            check.verdict,
            check.reason,
        )
        for check in shown
    ]
    columns = ("place", "metric", "system", "of", "printed", "computed", "verdict", "reason")
    kept = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    table = Table(tuple(columns[index] for index in kept), tuple(tuple(row[at] for at in kept) for row in rows))
    return replace(table, title=f"{about}: {counted(len(checks), 'signed number')}: {sizes}", folds=("reason",))
