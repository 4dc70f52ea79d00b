"""Questions to a result store: aggregates over tracks, and the ``.mirflow`` accessor that asks them."""

from ..plugins import modules_on_use

__getattr__, __dir__ = modules_on_use(__name__)
