"""Statistics of stored scores: selections, aggregates over tracks, differences, and inference about systems."""

from ..plugins import names_on_use

__getattr__, __dir__ = names_on_use(__name__)
