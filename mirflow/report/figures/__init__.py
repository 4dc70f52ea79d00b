"""Figures for papers, of result stores and judgements; matplotlib (extra ``report``) is imported when one is drawn."""

from .canvas import save, save_caption
from .confusion import confusion
from .distributions import distributions
from .graders import graders
from .groups import groups
from .heatmap import heatmap
from .ranks import critical_difference
from .scatter import scatter
from .timeline import timeline
from .tolerance import tolerance

__all__ = [
    "confusion",
    "critical_difference",
    "distributions",
    "graders",
    "groups",
    "heatmap",
    "save",
    "save_caption",
    "scatter",
    "timeline",
    "tolerance",
]
