"""Figures for papers, of result stores and judgements; matplotlib (extra ``report``) is imported when one is drawn.

A kind of figure is a function of a file of this folder that :func:`figure` declares. A module of the user's own
declares one in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from .canvas import FigureKind, Plots, figure, kinds, plot, save, save_caption
from .distributions import graders

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    def __getattr__(name: str) -> Callable[..., Axes]: ...  # the functions that the modules declare


for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __name__)
# Several modules have the name of their function, which takes their place.
globals().update({_kind.draw.__name__: _kind.draw for _kind in kinds()})

__all__ = ["FigureKind", "Plots", "figure", "graders", "kinds", "plot", "save", "save_caption"]
__all__ += [_kind.draw.__name__ for _kind in kinds()]
