"""Judgements of similarity by people: from the lists of systems to scored tables."""

from ...plugins import names_on_use

__getattr__, __dir__ = names_on_use(__name__)
