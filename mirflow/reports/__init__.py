"""Answers made readable: tables, captions, figures, and pages of HTML."""

from ..plugins import names_on_use

__getattr__, __dir__ = names_on_use(__name__)
