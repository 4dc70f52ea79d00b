"""Figures for papers, of result stores and judgements; matplotlib (extra ``report``) is imported when one is drawn.

A kind of figure is a file of this folder with a function that :func:`figure` declares. A module of the user's own
declares one in the same way.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from .canvas import FigureKind, Plots, figure, kinds, save, save_caption
from .fine_and_broad import graders

if TYPE_CHECKING:  # for type checkers alone, which cannot see what the modules declare
    from .bars import groups as groups
    from .confusion import confusion as confusion
    from .critical_difference import critical_difference as critical_difference
    from .distributions import distributions as distributions
    from .heatmap import heatmap as heatmap
    from .scatter import scatter as scatter
    from .timeline import timeline as timeline
    from .tolerance import tolerance as tolerance

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __name__)
# Several modules have the name of their function, which takes their place.
globals().update({_kind.draw.__name__: _kind.draw for _kind in kinds()})

__all__ = ["FigureKind", "Plots", "figure", "graders", "kinds", "save", "save_caption"]
__all__ += [_kind.draw.__name__ for _kind in kinds()]
