"""Figures for papers, drawn from a result store; matplotlib (extra ``report``) is imported when one is drawn."""

from .canvas import save
from .confusion import confusion
from .distributions import distributions
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
    "groups",
    "heatmap",
    "save",
    "scatter",
    "timeline",
    "tolerance",
]
