"""Answers made readable: tables as text, markdown, csv and json."""

from ..plugins import modules_on_use

__getattr__, __dir__ = modules_on_use(__name__)
