"""Answers made readable: tables as text, markdown, csv and json."""

from ..lazy_modules import modules_on_use

__getattr__, __dir__ = modules_on_use(__name__)
