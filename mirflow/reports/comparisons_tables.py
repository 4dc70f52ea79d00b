"""Comparisons of systems, gates and differences of evaluations as tables, with sentences to quote from them.

Tables of Friedman's test, of kinds of errors, and of the tracks on which systems lose or gain most are here, too; and
`columns_table`, which writes the answers of all questions as rows for programs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..analysis.aggregation import ranked
from ..analysis.inference import CORRECTIONS, TESTS
from ..analysis.inference.noninferiority import PASSED
from ..analysis.inference.paired import compared_pairs
from ..analysis.query_options import COMPARED_WITH, MAX_T, MISSING, MOST_SYSTEMS, say_intervals, say_level
from ..errors import counted, name_some
from ..metrics.aggregates import CLASS_AGGREGATES, DECLARED
from .captions import (
    EVERY_TWO,
    WITH_THE_BEST,
    caution_notes,
    comparison_caption,
    few_notes,
    letters_note,
    listed,
    missing_note,
    pairs_span,
    say_units,
    title_in,
    titles_of,
    undefined_note,
)
from .layout import origin_names, resampled, show_interval, show_value, title_of, together
from .tables import BOUND, Entry, ShownValue, Table, table_of

if TYPE_CHECKING:
    import xarray as xr

_PAIR = ("difference", "low", "high", "p", "p_corrected")
_SIZES = ("superiority", "dz", "rank_biserial", "cliffs_delta")
_LETTERS = "group"
_WON = "W/T/L"
"""Wins, ties and losses, which take one column so that the table fits a terminal."""


def show_p(p: float, bound: bool = False) -> str:
    """Format a p-value for people: four decimals, or its power of ten where these would be zeros.

    `bound`: whether the p-value is an upper bound, the smallest one that so many random permutations can give.
    """
    if np.isnan(p):
        return "-"
    text = f"{p:.4f}" if p >= (0.00005 if bound else 0.0001) or p == 0 else f"{p:.0e}"
    return f"{BOUND}{text}" if bound else text


def comparison_tables(ds: xr.Dataset, *, percent: bool = False, all_pairs: bool = False) -> list[Table]:
    """For people: for each metric the systems from the best to the worst, and the best one beside each other one.

    `percent`: ratios as percentages. `all_pairs`: every two systems, those with the best one first.
    """
    tables = []
    for metric, unit in enumerate(ds["unit"].values):
        order = ranked(ds["value"].values[:, metric], str(ds["orientation"].values[metric]))
        in_percent = percent and not unit
        tables.append(_ranking(ds, metric, order, in_percent))
        rows: list[tuple[Entry, ...]] = []
        names, unitwise = ds["system"].values.tolist(), _has_wins(ds)
        floats = [ds[name].values[..., metric] for name in _PAIR]
        counts = [ds[name].values[..., metric] for name in ("wins", "ties", "n")]
        pairs = listed_pairs(order, all_pairs)
        for first, second in pairs:
            gap, *ends, p, corrected = (float(array[first, second]) for array in floats)
            shown_ends = ends if str(ds["test"].values[metric]) != "wilcoxon" else []
            difference = f"{show_value(gap, in_percent)} {show_interval(shown_ends, in_percent, gap)}".strip()
            wins, ties, n = (int(array[first, second]) for array in counts)
            won = (f"{wins}/{ties}/{n - wins - ties}",) if unitwise else ()
            # A p-value and its correction for people; as bounds where no random permutation was as far apart.
            bound = _is_floor(ds, metric, p)
            # Holm's and Benjamini and Hochberg's corrections multiply the p-value; max-t counts permutations itself.
            multiplied = bound and ds.attrs["correction"] != MAX_T
            shown = show_p(p, bound), show_p(corrected, multiplied or _is_floor(ds, metric, corrected))
            rows.append((names[first], names[second], difference, *shown, *won))
        columns = ("system", "other", "difference", "p", "p_corrected", *((_WON,) if unitwise else ()))
        caption = partial(comparison_caption, ds, metric, EVERY_TWO if all_pairs or len(order) < 3 else WITH_THE_BEST)
        chosen = COMPARED_WITH in ds.coords and bool(ds[COMPARED_WITH].values[metric])
        notes, details = _pair_notes(ds, metric)
        notes = (*pairs_note(names, order, all_pairs, chosen), *notes)
        if "resolution" in ds and pairs:
            least = ds["resolution"].values[..., metric][tuple(np.transpose(pairs))]
            least = least[np.isfinite(least)]
            if len(least):
                low, high = (show_value(float(end), in_percent) for end in (least.min(), least.max()))
                size = low if low == high else f"{low} to {high} (by pair)"
                true = f"true differences of {size} or more are significant with probability {ds.attrs['power']}"
                details = (*details, f"resolution: with {counts[2][pairs[0]]} units, {true}")
        tables.append(Table(columns, tuple(rows), notes=notes, details=details, caption=caption, keys=2))
    return tables


def kinds_table(ds: xr.Dataset, *, percent: bool = False) -> Table:
    """For people: the difference of two systems in a score and in the losses by each kind of errors.

    `ds`: a comparison of two systems by all metrics of an error budget. `percent`: ratios as percentages.
    """
    names, kinds = ds["system"].values.tolist(), ds["kind"].values.tolist()
    value, corrected = ds["value"].values, np.where(ds["kind"].values == "", np.nan, ds["p_corrected"].values[0, 1])
    rows: list[tuple[Entry, ...]] = []
    for place, kind in enumerate(kinds):
        in_percent = percent and not ds["unit"].values[place]
        gap, *ends, p = (float(ds[name].values[0, 1, place]) for name in _PAIR[:4])
        difference = f"{show_value(gap, in_percent)} {show_interval(ends, in_percent, gap)}".strip()
        each = (show_value(float(one), in_percent) for one in value[:, place])
        ps = (show_p(float(one), _is_floor(ds, place, p)) for one in (p, corrected[place]))
        rows.append((kind or str(ds["metric"].values[place]), *each, difference, *ps))
    notes = (
        f"difference: {names[0]} minus {names[1]}, of the score and of the losses by each kind of errors, with its "
        f"{say_level(ds.attrs['level'])} confidence interval (what the corrected test does not exclude)",
        *(("ratios in percent",) if percent else ()),
        *(note for note in _pair_notes(ds, 0)[0] if note.startswith(("n:", "[-]"))),
        f"p: {ds['test'].values[0]}: {TESTS[str(ds['test'].values[0])]}; p_corrected: over the kinds, by Holm (1979)",
        *caution_notes(ds.attrs),
    )
    columns = ("kind", *names, "difference", "p", "p_corrected")
    return Table(columns, tuple(rows), f"{title_of(ds.attrs)}; {ds['metric'].values[0]}", notes)


def listed_pairs(order: Sequence[int], all_pairs: bool) -> list[tuple[int, int]]:
    """The pairs of systems that are listed, each with the better one first: those with the best one, or all."""
    firsts = order if all_pairs else order[:1]
    return [(first, second) for index, first in enumerate(firsts) for second in order[index + 1 :]]


def pairs_note(names: Sequence[str], order: Sequence[int], all_pairs: bool, chosen: bool = False) -> tuple[str, ...]:
    """Name the system whose pairs are listed where others are not, or not even compared (`chosen`)."""
    size = len(order)
    if all_pairs or size < 3:
        return ()
    leads = f"pairs with {names[order[0]]}, which leads; --all-pairs (all_pairs=True)"
    if chosen:
        return (f"{leads} compares all {size * (size - 1) // 2} of more than {MOST_SYSTEMS} systems",)
    return (f"{leads} lists all {size * (size - 1) // 2}",)


def comparison_title(ds: xr.Dataset, metric: int) -> str:
    """Title of a table about one metric of a comparison: the evaluation, the metric and what was compared."""
    name, kind = (str(ds[one].values[metric]) for one in ("metric", "aggregate"))
    unit = ds.attrs["unit_of_comparison"]
    what = f"{name}, {kind}"
    if "mean_rank" in ds:  # ranks of single tracks know nothing of the aggregate, and of weights
        what = f"{name}, ranks on each track" if unit == "track" else f"{what} of each {unit}, ranked"
    return f"{title_of(ds.attrs)}; {what}"


def quotable(ds: xr.Dataset, metric: int, order: Sequence[int], percent: bool = False) -> str:
    """The best system and the best one of those that are worse, as a paper would quote it; empty without values.

    `order`: the systems from the best to the worst. `percent`: ratios as percentages.

    Examples
    --------
    >>> import mirflow
    >>> references = {str(track): [1.0, 2.0, 3.0, 4.0 + track] for track in range(12)}
    >>> worse = {track: times[: 1 + int(track) % 3] for track, times in references.items()}
    >>> scores = mirflow.score(references, {"all": references, "some": worse}, "onset")
    >>> quotable(scores.mirflow.compare("recall"), 0, [0, 1])  # doctest: +ELLIPSIS
    'all is better than some by 0.5000 [..., ...], p = 0.0005'
    """
    first, *others = order
    names, significant = ds["system"].values.tolist(), ds["significant"].values[first, :, metric]
    gaps, lows, highs, _, ps = (ds[name].values[first, :, metric] for name in _PAIR)
    others = [place for place in others if np.isfinite(gaps[place]) and not np.isnan(ps[place])]
    if not others:
        return ""
    second = next((place for place in others if significant[place]), others[0])
    gap, ends = float(gaps[second]), [float(lows[second]), float(highs[second])]
    way, unit = str(ds["orientation"].values[metric]), str(ds["unit"].values[metric])
    if way == "lower":
        gap, ends = 0.0 - gap, [0.0 - end for end in reversed(ends)]
    p = show_p(float(ps[second]), _is_floor(ds, metric, float(ps[second])))
    size = f"{show_value(gap, percent)}{' percentage points' if percent else unit and f' {unit}'} "
    size += f"{show_interval(ends, percent, gap)}, {'corrected ' if len(order) > 2 else ''}p "
    size += p if p.startswith(BOUND) else f"= {p}"
    verb = f"is {'larger' if way == 'none' else 'better'} than"
    return _lead(names, [first, *others], significant, verb, size)


def _lead(names: Sequence[str], order: Sequence[int], apart: npt.NDArray[Any], verb: str, size: str) -> str:
    """The best system and the best one told apart from it, or the next one without such, as a paper would quote it."""
    first, *others = order
    worse = [names[place] for place in others if apart[place]]
    alike = [names[place] for place in others if not apart[place]]
    if not worse:
        return f"{names[first]} and {alike[0]} are not told apart: {names[first]} leads by {size}"
    shown = [*alike[:_NAMED], *([f"{len(alike) - _NAMED} more"] if len(alike) > _NAMED else [])]
    rest = f"; it is not told apart from {listed(shown)}" if alike else ""
    return f"{names[first]} {verb} {worse[0]} by {size}{rest}"


def _ranking(ds: xr.Dataset, metric: int, order: Sequence[int], percent: bool) -> Table:
    names, letters, value = (ds[one].values for one in ("system", "letters", "value"))
    apart = ds["significant"].values[order[0], :, metric] | (ds["orientation"].values[metric] == "none")
    rows = tuple(
        (
            str(names[index]),
            ShownValue(show_value(float(value[index, metric]), percent), best=not apart[index]),
            str(letters[index, metric]) or "-",
        )
        for index in order
    )
    kind, name = (str(ds[one].values[metric]) for one in ("aggregate", "metric"))
    # The places of the systems that share a letter: where they are not neighbours, it skips one.
    shown = [str(letters[at, metric]) for at in order]
    sharing = [[place for place, own in enumerate(shown) if letter in own] for letter in set("".join(shown))]
    notes = (
        f"{kind}: {DECLARED[kind].words}",
        *(("ratios in percent",) if percent else ()),
        f"group: {letters_note(ds, metric)}",
        *(
            ("a letter may skip a system: a smaller difference of two systems can be surer than a larger one",)
            if any(places[-1] - places[0] >= len(places) for places in sharing)
            else ()
        ),
    )
    caption = partial(comparison_caption, ds, metric)
    heads, title = ("system", name, _LETTERS), comparison_title(ds, metric)
    quoted = quotable(ds, metric, order, percent)
    titles = {name: title_in(ds, metric)}
    return Table(heads, rows, title, notes, sentence=quoted, caption=caption, titles=lambda: titles)


def _has_wins(ds: xr.Dataset) -> bool:
    """True if systems were compared unit by unit: values that are read off sums over tracks have no score on any."""
    return "along" not in ds.attrs and CLASS_AGGREGATES.keys().isdisjoint(ds["aggregate"].values.tolist())


def _is_floor(ds: xr.Dataset, metric: int, p: float) -> bool:
    """True for the smallest p-value that the random permutations of a comparison can give."""
    floor = 1 / (int(ds.attrs["replicates"]) + 1)
    return str(ds["test"].values[metric]) == "permutation" and bool(np.isclose(p, floor, rtol=1e-9, atol=0))


def _pair_notes(ds: xr.Dataset, metric: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What counts in the pairs, and the meaning of their columns."""
    attrs, test, unitwise = ds.attrs, str(ds["test"].values[metric]), _has_wins(ds)
    pairs = tuple(compared_pairs(ds, metric).T)
    difference, low, counts = (ds[name].values[..., metric][pairs] for name in ("difference", "low", "n"))
    unit, neither = attrs["unit_of_comparison"], ds["orientation"].values[metric] == "none"
    clustered = f", {together(attrs['cluster'])}" if attrs["cluster"] else ""
    level = say_level(attrs["level"])
    policies = missing_note(attrs)
    policies += f"; {undefined_note(attrs)}" if unitwise else ""
    better = "has the larger value, equal, the smaller one" if neither else "is better than other, equal, worse"
    nothing = "no track has a score of two systems, so that nothing can be compared; are the tracks called alike?"
    notes = (
        *(() if counts.any() else (nothing,)),
        f"n: {pairs_span(ds, metric)} units ({unit}{clustered}); {policies}",
        *(few_notes(difference, low, attrs) if test != "wilcoxon" else ()),
        *caution_notes(attrs),
    )
    # Systems that differ by one whole answer on each unit on which they differ are tested as by McNemar.
    wins, ties = (ds[name].values[..., metric][pairs] for name in ("wins", "ties"))
    apart = np.abs(2 * wins + ties - counts)
    whole = unitwise and test == "permutation" and str(ds["aggregate"].values[metric]) == "mean" and apart.any()
    whole = whole and np.allclose(np.abs(difference) * counts, apart, rtol=0, atol=1e-9)
    mcnemar = " (of right and wrong answers McNemar's test)" if whole else ""
    details = (
        f"difference: system minus other, with its {level} confidence interval ({say_intervals(attrs)})"
        if test != "wilcoxon"
        else "difference: system minus other, without an interval, as the test is about another number",
        f"p: {test}: {TESTS[test]}{mcnemar}; corrected: {attrs['correction']}: {CORRECTIONS[attrs['correction']]}",
        *((f"{_WON}: units on which system {better}",) if unitwise else ()),
    )
    return notes, details


def comparison_long_table(ds: xr.Dataset) -> Table:
    """For programs: a row for every two systems and each metric."""
    ds = ds.assign(losses=ds["n"] - ds["wins"] - ds["ties"])
    won = ("wins", "ties", "losses")
    lacking = () if _has_wins(ds) else won
    columns = (
        *("metric", "aggregate", "system", "other", "value", "other_value", *_PAIR, "significant", "test", "n", *won),
        *(*_SIZES, "resolution", "level", "method", "correction", "missing", "undefined", "resampled"),
    )
    blank = dict.fromkeys([*lacking, *(() if "resolution" in ds else ("resolution",))])
    return columns_table(ds.drop_vars(lacking), columns, blank)


def columns_table(ds: xr.Dataset, columns: Sequence[str], fixed: Mapping[str, Entry] = MappingProxyType({})) -> Table:
    """For programs: a row for each metric, system and, if there are any, other system.

    `ds`: an answer. Pairs that are alike either way round, with a difference or a correlation, are listed once.
    `columns`: variables, coordinates and attributes, besides the origin of the scores; ``other_`` before the name of a
    variable means that of the other system. `fixed`: values of columns that the dataset does not have.
    """
    columns = (*origin_names(ds.attrs), *columns)
    turned = [name for name in columns if name.startswith("other_") and name not in ds]
    ds = ds.assign({name: ds[name.removeprefix("other_")].rename(system="other") for name in turned})
    dims = [dim for dim in ("annotators", "metric", "annotator", "system", "other") if dim in ds.dims]
    about = [name for name in ("aggregate", "test", "unit") if name in ds.coords]  # parameters may have other names
    frame = ds.reset_coords(about).reset_coords(drop=True)
    frame = frame[[name for name in columns if name in frame.data_vars]].to_dataframe(dims)
    if "other" in dims:
        grid = dict(zip(dims, np.meshgrid(*(np.arange(ds.sizes[dim]) for dim in dims), indexing="ij"), strict=True))
        system, other = grid[dims[-2]], grid["other"]
        alike = {"difference", "rank_difference", "tau"} & set(ds.data_vars)
        listed = system < other if alike else system != other
        if COMPARED_WITH in ds.coords:
            chosen = ds[COMPARED_WITH].values
            leads = (ds["system"].values[:, np.newaxis] == chosen) | (chosen == "")
            listed &= leads[system, grid["metric"]] | leads[other, grid["metric"]]
        frame = frame[listed.ravel()]
    values = {**ds.attrs, "level": float(ds.attrs.get("level", np.nan)), "resampled": resampled(ds.attrs), **fixed}
    return table_of(frame.reset_index(), columns, values)


_FEW_RANKS = "mean ranks are taken as normal: on 3 to 20 units equal systems are told apart in up to 6 % instead of 5 %"


def friedman_tables(ds: xr.Dataset, *, all_pairs: bool = False) -> list[Table]:
    """For people: for each metric the mean ranks, and the best system beside each other one, or every two of them."""
    tables, names, unit = [], ds["system"].values.tolist(), ds.attrs["unit_of_comparison"]
    for metric in range(ds.sizes["metric"]):
        order = np.argsort(ds["mean_rank"].values[:, metric], kind="stable").tolist()
        gaps = [ds[name].values[..., metric] for name in ("rank_low", "rank_difference", "rank_high", "p_pair")]
        apart, n = ds["significant"].values[..., metric], int(ds["n"].values[metric])
        quoted, notes = (
            "",
            [f"no {unit} has a score of every system, so that nothing can be ranked; name fewer systems"],
        )
        if n:
            statistic, p, critical = (
                float(ds[one].values[metric]) for one in ("statistic", "p", "critical_difference")
            )
            test = f"chi-square({ds['dof'].values[metric]}) = {statistic:.4f}, p = {show_p(p)}"
            compared = "Tukey-Kramer" if len(order) > 2 else "exact sign test, as p"
            few = len(order) > 2 and n <= 20 and ds.attrs["level"] == "0.95"
            notes = [
                f"Friedman: {test}, over {n} units ({unit}) that every system has",
                f"critical difference: {critical:.4f} ({compared}); systems whose intervals "
                "overlap are not told apart; rank 1 is the best",
                *([_FEW_RANKS] if few else []),
                f"group: {letters_note(ds, metric)}",
                *caution_notes(ds.attrs),
            ]
            first, *others = order
            if others:
                second = next((at for at in others if apart[first, at]), others[0])
                low, gap, high, p = (float(one[second, first]) for one in gaps)
                size = f"{gap:.4f} mean ranks {show_interval((low, high), False, gap)}, p = {show_p(p)}"
                quoted = _lead(names, order, apart[first], "ranks before", size)
        values, letters = [ds[name].values[:, metric] for name in ("low", "mean_rank", "high")], ds["letters"].values
        ranks = tuple((names[at], *(float(one[at]) for one in values), str(letters[at, metric]) or "-") for at in order)
        columns: tuple[str, ...] = ("system", "low", "mean_rank", "high", _LETTERS)
        caption: Callable[[], str] = partial(comparison_caption, ds, metric) if n else str
        title = comparison_title(ds, metric)
        tables.append(Table(columns, ranks, title, tuple(notes), sentence=quoted, caption=caption))
        rows = []
        for first, second in listed_pairs(order, all_pairs):
            low, gap, high, p = (float(one[second, first]) for one in gaps)
            rows.append(
                (names[first], names[second], low, gap, high, show_p(p), "yes" if apart[first, second] else "no")
            )
        columns = ("system", "other", "low", "mean", "high", "p", "differ")
        caption = partial(comparison_caption, ds, metric, EVERY_TWO if all_pairs or len(order) < 3 else WITH_THE_BEST)
        note = pairs_note(names, order, all_pairs)
        tables.append(Table(columns, tuple(rows), notes=note, caption=caption, keys=2))
    return tables


_NAMED, _SOME_CELLS = 3, 5
_GATE = ("before", "after", "gain", "low", "high", "skewness", "n", "n_lacking", "verdict")
_SKEWED = -2.0
"""The skewness of exponential losses, from which on a verdict needs a word of caution."""
_FEW = 100
"""Tracks below which a gate says how rare the losses may be that it cannot see."""


def noninferiority_table(ds: xr.Dataset, *, percent: bool = False) -> Table:
    """For people: the values of each system and its baseline by each metric, the gain, its interval and the verdict."""
    attrs, rows = ds.attrs, []
    level, lacking = say_level(attrs["level"]), bool(ds["n_lacking"].values.any())
    units = dict(zip(ds["metric"].values.tolist(), ds["unit"].values.tolist(), strict=True))
    kinds = dict.fromkeys(ds["aggregate"].values.tolist())
    every = list(_gate_rows(ds))
    for system, baseline, metric, kind, before, after, gain, low, high, _, n, lost, verdict in every:
        in_percent = percent and not units[metric]
        shown = [show_value(value, in_percent) for value in (before, after)]
        better = gain < 0, gain > 0
        values = [ShownValue(text, best=best) for text, best in zip(shown, better, strict=True)]
        change = show_value(gain, in_percent), show_interval((low, high), in_percent, gain)
        name = f"{metric} [{kind}]" if len(kinds) > 1 else metric
        rows.append((system, baseline, name, *values, *change, n, *((lost,) if lacking else ()), verdict))
    gains = [
        f"{show_value(float(mean), percent and not unit)}{f' ({metric})' if len(units) > 1 else ''}"
        for (metric, unit), mean in zip(units.items(), ds["gain"].values.mean(axis=0), strict=True)
    ]
    several = ds.sizes["system"] > 1 and not np.isnan(ds["gain"].values).any()
    leads = [
        max((row for row in every if row[2] == metric and not np.isnan(row[6])), key=lambda row: row[6], default=None)
        for metric in units
    ]
    quoted = "; ".join(
        f"{f'{row[2]}: ' if len(units) > 1 else ''}{_gate_sentence(row, attrs, percent and not units[row[2]])}"
        for row in leads
        if row is not None
    )
    notes = (
        *(f"{kind}: {DECLARED[kind].words}" for kind in kinds),
        *(("ratios in percent",) if percent else ()),
        *((f"mean gain of {ds.sizes['system']} systems: {', '.join(gains)}",) if several else ()),
        *_loss_notes(ds),
    )
    details = (
        "before: the baseline, after: the system, on their common tracks",
        f"gain: system minus baseline, towards better values; [ ]: its {level} interval",
        f"interval: {say_intervals(attrs)}",
        f"not worse: the interval does not reach below {0 - attrs['margin']:g}; better, worse: it excludes 0",
    )
    last = (*(("lacking",) if lacking else ()), "verdict")
    columns = ("system", "baseline", "metric", "before", "after", "gain", level, "n", *last)
    titles = {name: title_in(ds, place) for place, name in enumerate(units)}
    return Table(columns, tuple(rows), title_of(attrs), notes, details=details, sentence=quoted, titles=lambda: titles)


def _loss_notes(ds: xr.Dataset) -> Iterator[str]:
    """Say what the intervals of a gate allow for, and which losses a system that passes may have all the same."""
    skewness, n, passed = ds["skewness"].values, ds["n"].values, np.isin(ds["verdict"].values, PASSED)
    if not np.isnan(skewness).all():
        ends = (f"{round(float(end(skewness)), 1) + 0.0:.1f}" for end in (np.nanmin, np.nanmax))
        span = " to ".join(dict.fromkeys(ends))
        allowed = "the interval allows for it, and is wider than that of a comparison"
        yield f"skewness of the tracks' gains: {span}; {allowed}"
    for row, column in np.argwhere(passed & (skewness <= _SKEWED))[:_SOME_CELLS].tolist():
        yield (
            f"caution: {ds['system'].values[row]} ({ds['metric'].values[column]}) passes, but few tracks lose much "
            f"(skewness {skewness[row, column]:.1f}), and {n[row, column]} tracks need not hold the worst ones"
        )
    passed &= ds["low"].values < ds["high"].values  # not of equal scores
    least, beyond = int(n[passed].min(initial=_FEW)), (1 - float(ds.attrs["level"])) / 2
    if least < _FEW:
        rare = math.ceil(1 / (1 - beyond ** (1 / least)))
        units = say_units(ds.attrs["unit_of_comparison"])
        yield (
            f"losses on fewer than one in {rare} {units} cannot be seen: that {least} {units} hold none of them is "
            f"likelier than {100 * beyond:.3g} %"
        )


def noninferiority_long_table(ds: xr.Dataset) -> Table:
    """For programs: a row for each system and metric."""
    columns = ("group", "system", "baseline", "metric", "aggregate", *_GATE, "margin")
    group, margin = ds.attrs.get("group", ""), float(ds.attrs["margin"])
    return Table(columns, tuple((group, *row, margin) for row in _gate_rows(ds)))


def _gate_rows(ds: xr.Dataset) -> Iterator[tuple[Any, ...]]:
    arrays = [ds[name].values.tolist() for name in _GATE]
    metrics = list(zip(ds["metric"].values.tolist(), ds["aggregate"].values.tolist(), strict=True))
    for row, (system, baseline) in enumerate(zip(ds["system"].values, ds["baseline"].values, strict=True)):
        for column, about in enumerate(metrics):
            yield (str(system), str(baseline), *about, *(values[row][column] for values in arrays))


_CHANGE = {"worst": ("lose most", "loses"), "best": ("gain most", "gains")}


def changes_table(ds: xr.Dataset, *, percent: bool = False) -> Table:
    """For people: the tracks on which each system loses most, or gains most, against its baseline."""
    attrs = ds.attrs
    metric, percent = attrs["metric"], percent and not attrs["unit"]
    systems, baselines = ds["system"].values.tolist(), ds["baseline"].values.tolist()
    track, numbers = ds["track"].values, [ds[name].values for name in ("gain", "value", "baseline_value")]
    rows = tuple(
        (system, str(name), *(show_value(float(one[row, place]), percent) for one in numbers))
        for row, system in enumerate(systems)
        for place, name in enumerate(track[row])
        if name
    )
    whose = " and ".join(dict.fromkeys(baselines)) if len(set(baselines)) < _NAMED else "the baseline"
    most, verb = _CHANGE[attrs["order"]]
    missing, both = attrs["missing"], "only the tracks that a system and its baseline have"
    counts = [
        f"{system} {verb} on {ds['worse' if attrs['order'] == 'worst' else 'better'].values[row]} of {n}"
        for row, (system, n) in enumerate(zip(systems, ds["n"].values.tolist(), strict=True))
    ]
    more = f"; and {len(counts) - _SOME_CELLS} more" if counts[_SOME_CELLS:] else ""
    notes = (
        f"gain: system minus {whose}, towards better values",
        *(("ratios in percent",) if percent else ()),
        f"tracks: {'; '.join(counts[:_SOME_CELLS])}{more}",
        f"missing ({missing}): {both if missing == 'common' else MISSING[missing]}; {undefined_note(attrs)}",
        *caution_notes(attrs),
    )
    unit = f" [{attrs['unit']}]" if attrs["unit"] else ""
    title = f"{title_of(attrs)}; tracks that {most} against {whose}, {metric}{unit}"
    titles = partial(titles_of, [metric], [attrs["title"]])
    return Table(("system", "track", "gain", metric, "baseline"), rows, title, notes, titles=titles, keys=2)


def noninferiority_sentences(ds: xr.Dataset, *, percent: bool = False) -> list[str]:
    """A sentence for each system and metric that is not shown to be no worse than the baseline."""
    units = dict(zip(ds["metric"].values.tolist(), ds["unit"].values.tolist(), strict=True))
    failed = [row for row in _gate_rows(ds) if row[-1] not in PASSED]
    said = ((row[2], _gate_sentence(row, ds.attrs, percent and not units[row[2]])) for row in failed)
    return [": ".join(filter(None, (str(ds.attrs.get("group", "")), *own))) for own in said]


def _gate_sentence(row: tuple[Any, ...], attrs: Mapping[str, Any], percent: bool) -> str:
    system, baseline, _, _, _, _, gain, low, high, _, n, lacking, verdict = row
    margin = f"by more than {attrs['margin']:g}: " if attrs["margin"] else ": "
    size, interval = show_value(abs(gain), percent), show_interval((low, high), percent, gain)
    signed = f"the difference is {show_value(gain, percent)} {interval}"
    units = say_units(attrs["unit_of_comparison"])
    return {
        "better": f"{system} is better than {baseline} by {size} {interval}",
        "not worse": f"{system} is not worse than {baseline} {margin}{signed}".replace(" : ", ": "),
        "worse": f"{system} is worse than {baseline} by {size}: {interval}",
        "perhaps worse": f"{system} is not shown to be within {attrs['margin']:g} of {baseline}: {signed}",
        "too few tracks": f"{system} has too few {units} in common with {baseline} for an interval ({n})",
        "lacks tracks": f"{system} has no score of {counted(lacking, 'track')} that {baseline} has",
    }[verdict]


DIFFERENCES = (
    *("metric", "unit", "relative_change", "mean_difference", "max_difference", "n", "n_agreeing", "tolerance"),
    *("missing_a", "missing_b"),
)
"""Columns for programs of differences."""


def difference_table(ds: xr.Dataset, notes: Sequence[str] = (), *, every: bool = False) -> Table:
    """For people: how many metrics agree, and a row for each one that does not; or for each one."""
    columns = ("relative_change", "mean_difference", "max_difference", "n", "n_agreeing", "missing_a", "missing_b")
    names, units, relative, mean, largest, n, agreeing, *missing = (
        ds[name].values.tolist() for name in ("metric", "unit", *columns)
    )
    systems, tracks = ds["system"].values.tolist(), ds["track"].values.tolist()
    worst = {metric: f"{systems[system]}, {tracks[track]}" for system, track, metric in _worst_cells(ds, 1)}
    alone = any(map(any, missing))
    same = [agreeing[at] == n[at] and not any(own[at] for own in missing) for at in range(len(names))]
    rows = tuple(
        (
            f"{name} [{units[index]}]" if units[index] else name,
            # As many digits as matter, however small it is.
            "-"
            if np.isnan(change := relative[index])
            else f"{100 * change:.{4 if change >= 5e-5 or not change else 7}f}",
            *("-" if np.isnan(one) else f"{one:.3g}" for one in (mean[index], largest[index])),
            worst.get(index, "-"),
            *(n[index], agreeing[index]),
            *((own[index] for own in missing) if alone else ()),
        )
        for index, name in enumerate(names)
        if every or not same[index]
    )
    heads = ("metric", "change [%]", "mean", "largest", "at", "cells", "agree")
    lacking = ("missing in a", "missing in b") if alone else ()
    cells = int((~np.isnan(ds["difference"].values)).any(axis=2).sum())
    verdict = f"{sum(same)} of {counted(len(same), 'metric')} {'agrees' if len(same) == 1 else 'agree'}"
    verdict += f" in {cells:,} cell{'s' * (cells != 1)}"
    below = (verdict, *_difference_notes(ds, shown=bool(rows)), *notes)
    title = "a: {a}; b: {b}".format_map(ds.attrs)
    return Table((*heads, *lacking), rows, title, below, keys=1) if rows else Table((), (), title, below)


def _worst_cells(ds: xr.Dataset, most: int) -> Iterator[tuple[int, int, int]]:
    """For each metric the cells that do not agree and differ most: (system, track, metric)."""
    change = np.abs(ds["difference"].values)
    apart = np.where(change > ds["tolerance"].values, change, 0.0)
    for metric in range(ds.sizes["metric"]):
        flat = apart[..., metric].ravel()
        # Stable, so that of equal differences the first cells come first.
        order = np.argsort(-flat, kind="stable")[:most]
        for at in order[flat[order] > 0].tolist():
            yield (*divmod(at, ds.sizes["track"]), metric)


def worst_table(ds: xr.Dataset, most: int, *, long: bool = False) -> Table:
    """The cells of each metric that differ most among those that do not agree.

    `long`: in full precision, with the two sides' names, as csv and json want it.
    """
    rows: list[tuple[Entry, ...]] = []
    systems, tracks, metrics = (ds[name].values.tolist() for name in ("system", "track", "metric"))
    floats = [ds[name].values for name in ("a", "b", "difference")]
    for cell in _worst_cells(ds, most):
        system, track, metric = cell
        named, values = (metrics[metric], systems[system], tracks[track]), [float(one[cell]) for one in floats]
        if long:
            rows.append((ds.attrs["a"], ds.attrs["b"], *named, *values))
        else:
            rows.append((*named, *(f"{value:.6g}" for value in values)))
    columns = ("metric", "system", "track", "score_a", "score_b", "difference")
    if long:
        return Table(("a", "b", *columns), tuple(rows))
    title = "a: {a}; b: {b}; the cells that differ most".format_map(ds.attrs)
    return Table(columns, tuple(rows), title, keys=3)


def _difference_notes(ds: xr.Dataset, shown: bool) -> Iterator[str]:
    if shown:
        yield "change: average of |a - b| / ((|a| + |b|) / 2), 0 where both are 0; mean, largest: of |a - b|"
    low, high = float(ds["tolerance"].min()), float(ds["tolerance"].max())
    yield f"agree: |a - b| is at most {low:.3g}" + (f" to {high:.3g}, by metric" if high > low else "")
    for what in ("systems", "tracks", "metrics"):
        for side in "ab":
            if names := ds.attrs[f"{what}_only_in_{side}"]:
                yield f"{what} only in {side}: {name_some(names, most=_NAMED)}"
    for mine, other, settings in zip(*(ds.attrs[f"similar_{name}"] for name in ("a", "b", "by")), strict=True):
        hint = f"--pair '{mine}={other}' compares them"
        yield f"not compared: {mine} in a and {other} in b differ in {settings}; {hint}"
    has = [~np.isnan(ds[side].values) for side in "ab"]
    for side, lacking in zip("ab", (~has[0] & has[1], has[0] & ~has[1]), strict=True):
        cells = np.argwhere(lacking.any(axis=2))
        if len(cells):
            named = [f"{ds['system'].values[at]}, {ds['track'].values[t]}" for at, t in cells[:_SOME_CELLS].tolist()]
            more = "; ..." if len(cells) > _SOME_CELLS else ""
            yield f"{len(cells)} cells without a score in {side} alone: {'; '.join(named)}{more}"
    grouped: dict[tuple[str, str, str], list[str]] = {}  # the same difference of several metrics is one line
    for text, a, b in zip(*(ds[name].values.tolist() for name in ("setting", "setting_a", "setting_b")), strict=True):
        name, _, metric = text.partition(" of ")
        grouped.setdefault((name, a, b), []).append(metric)
    for (name, a, b), metrics in grouped.items():
        of = f" ({name_some(metrics, most=_NAMED)})" if any(metrics) else ""
        yield f"differs: {name}: {a or 'not given'} in a, {b or 'not given'} in b{of}"
    references, estimates, cells = (ds.attrs.get(f"inputs_{name}", 0) for name in ("reference", "estimate", "cells"))
    if references or estimates:
        yield f"files with other contents: references of {references}, estimates of {estimates} of {cells} cells"
