"""Answers made readable: tables, captions, figures, and pages of HTML."""

from ..plugins import modules_on_use

__getattr__, __dir__ = modules_on_use(__name__)
