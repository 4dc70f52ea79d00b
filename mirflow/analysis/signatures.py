r"""Signatures: how numbers of a table were computed, as text that other people can resolve.

A signature names the task, the metrics, and fields that are separated by semicolons::

    chord/majmin+sevenths;agg=wcsr;miss=common;systems=3;n=4;ref=9a7f0c31d2e4;mirflow=0.1.0

The grammar, in which blanks are not allowed::

    signature = task "/" metric *("+" metric) *(";" field)
    field     = key "=" value
    metric    = an identity, such as f_measure@0.1(trim=true)

Every other character than letters, digits and ``_.-~@()=*:,/'!`` is written as in addresses: ``%20`` is a blank. The
keys and their defaults are those of :data:`FIELDS`; a field that has its default is left out. Two rules let later
versions read a signature:

1. The default of a field never changes, not even if that of a query does: the query then names the field. A field that
   is added later gets the default that all earlier versions computed with.
2. A parameter that an identity leaves out has the default of its metric in the version of the field ``rev``. A metric
   whose default changes gets another version.

Post (2018), A call for clarity in reporting BLEU scores, introduced signatures for BLEU.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import quote, unquote

import numpy as np

from ..annotations.classes import Classes
from ..errors import SignatureError, UnknownNameError, suggest
from ..metrics.base import chosen_grid, get_task, has_task
from ..store.cells import Status
from ..store.format import CLASSES, READING, nested_attrs, spell_option
from ..store.write import software_versions
from .combine import reference_digests
from .lookup import choose_tracks, find_labels, find_measures
from .queries import ScoresLike, across_of, choose_one, evaluate_query, evaluations_of
from .query_options import Names, Query, QueryOptions, as_names, make_query
from .scores import Scores, computed, names_of, show_span, states_of

if TYPE_CHECKING:
    import xarray as xr

Pairs = tuple[tuple[str, str], ...]
Value = str | tuple[str, ...] | Pairs


@dataclass(frozen=True)
class Field:
    """A field of signatures."""

    words: str
    """Its meaning."""
    default: Value | None = ""
    """The value of a signature without the field; None: no signature lacks it."""
    form: str = ""
    """Regular expression of a text; empty: any."""
    paired: bool = False
    """Whether a list has pairs, and not names."""


FIELDS: Mapping[str, Field] = MappingProxyType(
    {
        "group": Field("name of the evaluation; left out: that of the task"),
        "conv": Field("convention; unknown of imported scores that name none", "mir_eval"),
        "grid": Field("grid of time: a word, or the hop of frames in seconds; left out: that of the convention"),
        "combine": Field("how several references of a track are combined; left out: each track has one"),
        "read": Field(
            "options of reading that differ from the defaults, such as reference.select:downbeat", (), paired=True
        ),
        "classes": Field("digest of the classes and their credits; left out: all that occur", "", "[0-9a-f]+"),
        "tracks": Field("chosen tracks, or patterns of them; left out: all", ()),
        "where": Field("condition on the tracks; left out: none"),
        "annotator": Field("chosen annotators; left out: all", ()),
        "over": Field("how extra dims are reduced within each track", (), paired=True),
        "by": Field("coordinates that group the tracks; left out: one group", ()),
        "across": Field("how groups, classes or runs are reduced", (), paired=True),
        "agg": Field("aggregate over the tracks", None),
        "miss": Field("treatment of cells without a score: common, skip, zero or raise", None),
        "undef": Field("treatment of scores with nothing to measure: keep or skip", "keep"),
        "systems": Field("number of systems of the query, where it decides which tracks count (common)", "1", "[0-9]+"),
        "n": Field(
            "number of scores that count, or the fewest and the most of several numbers", None, "[0-9]+(-[0-9]+)?"
        ),
        "ref": Field("digest of the references and their tracks; left out: not known", "", "[0-9a-f]+"),
        "rev": Field("version of the metrics", "1", "[0-9]+"),
        "unit": Field("percent, where ratios are printed as percentages"),
        "mirflow": Field("version of mirflow that computed the scores", None),
    }
)
"""The fields of a signature, in their order."""

UNKNOWN = "unknown"
"""Task and convention of imported scores that name none."""
_SAFE = "_.-~@()=*/'!"
_ALONE = f"{_SAFE},:"
"""Characters that need no percent sign outside of lists."""
_MOST = 20_000
"""Characters of a signature."""
_SPAN = re.compile(r"([0-9]+)(?:-([0-9]+))?")


@dataclass(frozen=True)
class Signature:
    """How numbers were computed.

    Examples
    --------
    >>> signed = Signature.parse("beat/f_measure@0.1;conv=madmom;agg=mean;miss=skip;n=250;mirflow=0.1.0")
    >>> signed.task, signed.metrics, signed["conv"], signed["undef"]
    ('beat', ('f_measure@0.1',), 'madmom', 'keep')
    >>> str(signed)
    'beat/f_measure@0.1;conv=madmom;agg=mean;miss=skip;n=250;mirflow=0.1.0'
    """

    task: str
    metrics: tuple[str, ...]
    """Identities."""
    fields: Mapping[str, Value] = field(default_factory=dict)
    """Values by the keys of `FIELDS`; those that are defaults are left out."""

    def __post_init__(self) -> None:
        if not self.task or not self.metrics or not all(self.metrics):
            raise SignatureError("a signature begins with a task and a metric, such as chord/majmin")
        for key, value in self.fields.items():
            if key not in FIELDS:
                raise UnknownNameError("field of signatures", key, FIELDS)
            form, default = FIELDS[key].form, FIELDS[key].default
            if isinstance(value, str) and form and value != default and not re.fullmatch(form, value):
                raise SignatureError(f"invalid field {key}={value[:80]!r} of a signature: expected {FIELDS[key].words}")
            if not isinstance(value, str) and any(isinstance(item, str) == FIELDS[key].paired for item in value):
                expected = "pairs name:value" if FIELDS[key].paired else "names without a colon"
                raise SignatureError(
                    f"invalid field {key}={_written(value)[:80]!r} of a signature: expected {expected}"
                )
        lacking = [key for key, one in FIELDS.items() if one.default is None and key not in self.fields]
        if lacking:
            raise SignatureError(f"a signature needs the fields {', '.join(lacking)}")
        kept = {
            key: self.fields[key] for key, one in FIELDS.items() if self.fields.get(key, one.default) != one.default
        }
        object.__setattr__(self, "fields", MappingProxyType(kept))

    def __hash__(self) -> int:
        return hash(str(self))

    def __getitem__(self, key: str) -> Any:
        """The value of a field, or its default."""
        return self.fields[key] if key in self.fields else FIELDS[key].default

    def __str__(self) -> str:
        named = "".join(f";{key}={_written(value)}" for key, value in self.fields.items())
        metrics = "+".join(quoted(metric, safe=_ALONE) for metric in self.metrics)
        return f"{quoted(self.task).replace('/', '%2F')}/{metrics}{named}"

    @property
    def group(self) -> str:
        """The name of the evaluation."""
        return str(self["group"] or self.task)

    @property
    def span(self) -> tuple[int, int]:
        """The fewest and the most scores that count."""
        match = _SPAN.fullmatch(str(self["n"]))
        assert match is not None
        return int(match[1]), int(match[2] or match[1])

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Read a signature.

        Raises `SignatureError` if the text is not a signature, or one with fields of a later version.
        """
        if len(text) > _MOST:
            raise SignatureError(f"not a signature: longer than {_MOST} characters")
        head, *parts = text.strip().split(";")
        task, slash, metrics = head.partition("/")
        if not slash:
            raise SignatureError(f"not a signature: {text[:80]!r}; expected one like chord/majmin;agg=wcsr;...")
        fields: dict[str, Value] = {}
        for part in parts:
            key, equals, value = part.partition("=")
            if not equals or not value:
                raise SignatureError(f"invalid field {part[:80]!r} of a signature: expected key=value")
            if key in fields:
                raise SignatureError(f"the signature has two fields {key!r}")
            if key not in FIELDS:
                raise SignatureError(
                    f"unknown field {key[:80]!r} of a signature: a later version of mirflow may have it; "
                    f"{suggest(key[:80], FIELDS)}"
                )
            if isinstance(FIELDS[key].default, tuple):  # names, or pairs
                items = [tuple(map(unquoted, item.split(":", 1))) for item in value.split(",")]
                if len({len(item) for item in items}) > 1:
                    raise SignatureError(f"invalid list {value[:80]!r} in a signature: names and pairs are mixed")
                fields[key] = tuple(item[0] if len(item) == 1 else item for item in items)  # type: ignore[assignment]  # all alike
            else:
                fields[key] = unquoted(value)
        return cls(unquoted(task), tuple(map(unquoted, metrics.split("+"))), fields)

    def query(self, systems: Sequence[str] | None = None) -> Query:
        """The query for the numbers, of all systems or of some."""
        across: dict[str, list[str]] = {}
        for dim, how in self["across"]:
            across.setdefault(dim, []).append(how)
        return Query(
            metric=list(self.metrics),
            aggregate=self["agg"],
            by=list(self["by"]) or None,
            system=None if systems is None else list(systems),
            tracks=list(self["tracks"]) or None,
            where=self["where"] or None,
            annotator=list(self["annotator"]) or None,
            over=dict(self["over"]) or None,
            across={dim: tuple(names) for dim, names in across.items()} or None,
            missing=self["miss"],
            undefined=self["undef"],
            exact=True,
        )


quoted = partial(quote, safe=_SAFE, errors="surrogatepass")
"""A text without the characters that separate parts of a signature."""


def unquoted(text: str) -> str:
    """The text that `quoted` made safe.

    Examples
    --------
    >>> quoted("R&B; soul"), unquoted("R%26B%3B%20soul")
    ('R%26B%3B%20soul', 'R&B; soul')
    """
    try:
        return unquote(text, errors="surrogatepass")
    except UnicodeDecodeError:
        raise SignatureError(f"invalid text {text[:80]!r} in a signature: not UTF-8") from None


def _written(value: Value) -> str:
    """A text, names with commas between, or pairs with colons."""
    if isinstance(value, str):
        return quoted(value, safe=_ALONE)
    return ",".join(quoted(item) if isinstance(item, str) else ":".join(map(quoted, item)) for item in value)


def sign(ds: xr.Dataset, query: Query, result: xr.Dataset, *, percent: bool = False) -> list[Signature]:
    """Sign the numbers of a query.

    `ds`: the evaluation. `result`: the result of the query. `percent`: whether ratios are printed as percentages.
    Returns one signature for all metrics with the same aggregate, version and unit, in the order of the result.
    """
    # What all metrics share.
    attrs = nested_attrs(ds.attrs)
    task, convention, grid = (str(attrs.get(name) or "") for name in ("task", "convention", "grid"))
    classes = attrs.get(CLASSES) or {}
    names, credits = classes.get("names"), tuple(map(tuple, classes.get("credits", ())))
    missing = str(result.attrs["missing"])
    systems = len(find_labels(ds, "system", query.system)) if missing == "common" else 1
    evaluation, over = (str(result.attrs.get(name, "")) for name in ("group", "over"))
    # Only options that differ from the defaults of the convention.
    rules = get_task(task).conventions.get(convention) if has_task(task) else None
    usual = {} if rules is None else rules.reading
    shared: dict[str, Value] = {
        "group": "" if evaluation == task else evaluation,
        "conv": convention or UNKNOWN,
        "grid": grid if chosen_grid(task, convention, grid) else "",
        "combine": str(attrs.get("combine") or ""),
        "read": tuple(
            (f"{side}.{name}", spell_option(value))
            for side, options in (attrs.get(READING) or {}).items()
            for name, value in options.items()
            if value != usual.get(name)
        ),
        "classes": Classes(tuple(names), credits).digest if names else "",
        "tracks": tuple(as_names(query.tracks) or ()),
        "where": query.where or "",
        "annotator": tuple(as_names(query.annotator) or ()),
        "over": tuple((dim, how) for dim, _, how in (text.partition("=") for text in over.split("; ")) if dim),
        "by": tuple(as_names(query.by) or ()),
        "across": tuple((dim, how) for dim, names in across_of(result.attrs).items() for how in names),
        "miss": missing,
        "undef": str(result.attrs.get("undefined", query.undefined)),
        "systems": str(systems),
        "ref": digest_references(ds, names_of(choose_tracks(ds, query), "track")),
        "mirflow": str((attrs.get("versions") or software_versions()).get("mirflow") or "unknown"),
    }
    groups: dict[tuple[str, str, str], list[int]] = {}
    if "metric" in result.attrs:
        name = str(result.attrs["metric"])
        versions = [measure.metric.version for measure in find_measures(ds).values() if str(measure) == name]
        unit = str(result["value"].attrs.get("units", ""))
        about = [(name, str(result.attrs["aggregate"]), str(versions[0] if versions else 1), unit)]
    else:
        names = ("metric", "aggregate", "version", "unit")
        texts = [names_of(result, name) if name in result.coords else ["1"] * result.sizes["metric"] for name in names]
        about = list(zip(*texts, strict=True))
    for place, (_, kind, version, unit) in enumerate(about):
        shown = "percent" if percent and not unit else ""
        groups.setdefault((kind, version, shown), []).append(place)
    signed = []
    for (kind, version, shown), places in groups.items():
        # Numbers of scores that count, of the groups that have tracks: int64.
        n = result["n"].where(result["n_tracks"] > 0, -1) if result["n_tracks"].ndim else result["n"]
        values = (n.isel(metric=list(places)) if "metric" in n.dims else n).values
        fields = {"agg": kind, "rev": version, "unit": shown, "n": show_span(values[values >= 0].astype(np.int64))}
        metrics = tuple(about[index][0] for index in places)
        signed.append(Signature(task or UNKNOWN, metrics, {**shared, **fields}))
    return signed


def digest_references(ds: Scores, tracks: Iterable[str]) -> str:
    """Digest the references of some tracks: 12 hexadecimal digits of blake2b; empty if none is known.

    It is the digest of sorted lines: the name of a track in the Unicode form NFC, a null character, and the digest of
    its reference that the scores keep. That is one of the content of the file, of text with ``\\n`` as line ends and
    without a byte order mark; of a pack, one of the annotation. Tracks without a reference have no line. Thus neither
    the order of files and tracks nor folders and machines matter.

    `ds`: scores of an evaluation, with ``digest`` over (system, track); those of lazy trees are not computed.
    """
    # Digests that dask computes would take scoring everything again.
    if "digest" not in getattr(ds, "data_vars", ()) or ds.variables["digest"].chunks:  # type: ignore[union-attr]
        return ""
    status = states_of(computed(ds))[0]
    lacking = np.isin(status, [int(Status.missing_reference), int(Status.not_computed)])
    wanted = set(tracks) & {
        name for name, lost in zip(names_of(ds, "track"), lacking.T.tolist(), strict=True) if not all(lost)
    }
    digests = reference_digests(ds, wanted)  # type: ignore[arg-type]  # a dataset, as it has variables
    lines = sorted(f"{unicodedata.normalize('NFC', track)}\0{digest}" for track, digest in digests.items())
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=6).hexdigest() if lines else ""


def signature(
    scores: ScoresLike,
    metric: Names = None,
    aggregate: str | None = None,
    by: Names = None,
    *,
    group: str | None = None,
    percent: bool = False,
    **options: Unpack[QueryOptions],
) -> list[str]:
    """Sign the numbers of a query: how they are computed, from which references, by which version.

    Parameters
    ----------
    scores : path, sequence or mapping of paths, xr.DataTree or xr.Dataset
        As for :func:`mirflow.query`.
    metric, aggregate, by, **options
        See :class:`mirflow.analysis.query_options.Query`.
    group : str or None
        The evaluation; None: the only one that has the metrics.
    percent : bool
        Whether ratios are printed as percentages.

    Returns
    -------
    list of str
        One for all metrics with the same aggregate; see :mod:`mirflow.analysis.signatures` for their grammar.

    Raises
    ------
    QueryError
        If the query makes no sense for these scores, or several evaluations have the metrics.
    UnknownNameError
        For an unknown name, with a suggestion.

    Examples
    --------
    >>> import numpy as np, mirflow
    >>> references = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([0.5, 1.5])}
    >>> estimates = {"ours": {"a": np.array([1.0, 2.0]), "b": np.array([0.5, 1.5])}}
    >>> signature(mirflow.score(references, estimates, "onset"), "f_measure")  # doctest: +ELLIPSIS
    ['onset/f_measure;agg=mean;miss=skip;n=2;mirflow=...']
    """
    asked = make_query("signature", metric, aggregate, by, **options)
    name, ds = choose_one(evaluations_of(scores), asked.metric, group)
    results = evaluate_query(ds, asked, name)
    return [str(signed) for result in results for signed in sign(ds, asked, result, percent=percent)]
