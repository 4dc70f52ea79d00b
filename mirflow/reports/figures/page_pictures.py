"""Pictures of pages: the lanes of a track, and who leads by a metric, as PNG for previews of links or as SVG.

Any other figure can become a small HTML page with its title and caption as text. Without matplotlib (extra ``report``),
pages have no pictures. Several threads may ask for pictures at once.
"""

from __future__ import annotations

import base64
import html
import math
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from ...errors import FigureError, UnknownNameError
from ..drawing import BLUE, GREY, PALE, small_page
from ..origins import AnnotationFolder
from ..standings import ALIKE, LEADER, WORSE, Standings, ticks
from .canvas import HEADS, Frame, figure_of, label, off_screen, sheet, write_figure
from .timeline import timeline

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_PIXELS = 120
"""Pixels of a page for an inch of a figure, whose type is small."""
_LARGE, _COLOURS = 64_000, 64
"""Bytes of SVG beyond which a page has PNG, and the colours of that."""
_UNQUOTED = " /:;,=()'+*!"
"""Characters of SVG that a data: address may have."""
PictureForm = Literal["png", "svg"]
_DOTS = 1200 / 7.16
"""Dots an inch of PNG, so that a picture is 1200 wide: what previews of links have room for."""
_ROW, _MOST = 0.24, 24
"""Inches of a system in a chart, and the systems that a chart has room for."""


def draw_track(
    ds: xr.Dataset, evaluation: str, track: str, form: PictureForm = "png", *, root: AnnotationFolder = None
) -> bytes | None:
    """Draw the reference and the systems of a track as lanes, with what is right and wrong.

    The picture shows the reference: a page of a hidden test set must not have it.

    `ds`: scores of the evaluation, as :func:`mirflow.store.read.read_scores` gives them. `form` ({"png", "svg"}): PNG
    is 1200 pixels wide. `root`: present folder of the annotations; None: the original one, if the store is the user's
    own. A pipeline looks for the files of all tracks once. Returns None without matplotlib, and for annotations that
    are not there or have no time axis.
    """
    try:
        with off_screen():
            return _written(timeline(ds, track, group=evaluation, root=root), form)
    except (FigureError, UnknownNameError):
        return None


def has_chart(standings: Standings) -> bool:
    """Whether standings can be drawn: two systems have a value, and matplotlib is installed."""
    return sum(math.isfinite(row.value) for row in standings.rows) > 1 and find_spec("matplotlib") is not None


def draw_standings(standings: Standings, title: str, about: str = "", form: PictureForm = "png") -> bytes | None:
    """Draw the value and the interval of each system, the best on top; who is not told apart from it is hollow.

    `standings`: of more than 24 systems the best are drawn. `title`, `about`: what is above the chart: the evaluation,
    and the metric. `form` ({"png", "svg"}). Returns None without matplotlib, and where fewer than two systems have a
    value.
    """
    if not has_chart(standings):
        return None
    every = [row for row in standings.rows if math.isfinite(row.value)]
    rows, gapped = every[:_MOST], any(not math.isnan(row.gap_low) for row in standings.rows)
    leader = next((row.value for row in standings.rows if row.relation == LEADER), 0.0)
    cut = [f"the best {_MOST} of {len(every)} systems"] if len(every) > _MOST else []
    bounded = gapped or any(math.isfinite(row.low) for row in rows)
    value = f"value [{standings.unit}]" if standings.unit else "value"
    whose = " of the difference to the leader" if gapped else ""
    try:
        with off_screen():
            with sheet(Frame(width="page"), 0.4 + _ROW * len(rows)) as page:
                ax = page.ax
                if gapped:
                    ax.axvline(leader, color=PALE, linewidth=1.3, zorder=0)
                beside: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points"}
                for at, row in enumerate(rows):
                    colour = GREY if row.relation == WORSE else BLUE
                    low, high = (leader + row.gap_low, leader + row.gap_high) if gapped else (row.low, row.high)
                    if math.isfinite(low) and math.isfinite(high):
                        ax.hlines(at, low, high, color=colour, linewidth=1.3)
                    face = "white" if row.relation == ALIKE else colour
                    ax.plot(row.value, at, "o", color=colour, markerfacecolor=face, markersize=5, zorder=3)
                    text = f"{standings.show(row.value)}  {row.relation}"
                    ax.annotate(text, (1, at), xytext=(5, 0), va="center", fontsize=7, **beside)
                page.name_rows([label(row.system, 32) for row in rows], size=7)
                ax.spines["left"].set_visible(False)
                low, high = ax.get_xlim()
                ax.set_xticks(ticks(low, high, 4))
                ax.set_xlim(low, high)
                ax.set_xlabel(f"{value} and {100 * standings.level:g}\u00a0% interval{whose}" if bounded else value)
                page.head(label(title, 90), "; ".join([*filter(None, [about]), standings.sentence(), *cut]))
            return _written(ax, form)
    except FigureError:
        return None


def embed(ax: Axes) -> str:
    """Write a figure that was drawn without caption as a small page: title and caption as text, and the picture.

    It is SVG, or PNG of few colours where SVG would be large.
    """
    title, caption = HEADS.get(figure_of(ax), ("", ""))
    picture = f"svg+xml,{quote(_written(ax, 'svg'), safe=_UNQUOTED)}"
    if len(picture) > _LARGE:
        from PIL import Image

        target = BytesIO()
        with Image.open(BytesIO(_written(ax, "png"))) as image:
            image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(target, "png", optimize=True)
        picture = f"png;base64,{base64.b64encode(target.getvalue()).decode()}"
    width = round(_PIXELS * float(figure_of(ax).get_size_inches()[0]))
    words, about = html.escape(f"{title}: {caption}"), html.escape(caption)
    return small_page(
        title,
        f"<figure><h2>{html.escape(title)}</h2><figcaption>{about}</figcaption>"
        f'<img src="data:image/{picture}" width="{width}" alt="{words}"></figure>',
    )


def _written(ax: Axes, form: PictureForm) -> bytes:
    target = BytesIO()
    write_figure(ax, target, form, dots=_DOTS, text=form == "svg")
    return target.getvalue()
