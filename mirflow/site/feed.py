"""The feed of a site's changes, in Atom (RFC 4287)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.metadata import version
from xml.etree import ElementTree

from .changes import LONG_AGO, Change

ENTRIES = 50
"""The most entries of a feed, the newest."""
_NAMESPACE = "http://www.w3.org/2005/Atom"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_atom(
    changes: Sequence[Change],
    address: Callable[[Change], str],
    *,
    title: str,
    identifier: str,
    home: str,
    own: str,
) -> str:
    """Write changes as a feed.

    Parameters
    ----------
    changes : sequence of Change
        The newest first.
    address : callable
        Gives the address of the page that a change is about, absolute or relative to the feed.
    title : str
        Of the site.
    identifier : str
        Of the feed, a URI that stays the same for ever.
    home, own : str
        Addresses of the front page and of the feed.
    """
    feed = ElementTree.Element("feed", xmlns=_NAMESPACE)
    _add(feed, "title", title)
    _add(feed, "id", identifier)
    _add(feed, "updated", max((one.time for one in changes), default=LONG_AGO))
    _add(ElementTree.SubElement(feed, "author"), "name", title)
    ElementTree.SubElement(feed, "link", rel="alternate", type="text/html", href=home)
    ElementTree.SubElement(feed, "link", rel="self", type="application/atom+xml", href=own)
    _add(feed, "generator", "mirflow", version=version("mirflow"))
    for change in changes[:ENTRIES]:
        entry = ElementTree.SubElement(feed, "entry")
        _add(entry, "title", change.title)
        _add(entry, "id", change.id)
        _add(entry, "updated", change.time)
        ElementTree.SubElement(entry, "link", rel="alternate", type="text/html", href=address(change))
        _add(entry, "content", "\n".join(change.details) or change.title, type="text")
    ElementTree.indent(feed, " ")
    return ElementTree.tostring(feed, encoding="unicode", xml_declaration=False).join(
        ("<?xml version='1.0' encoding='utf-8'?>\n", "\n")
    )


def _add(parent: ElementTree.Element, tag: str, text: str, **attributes: str) -> None:
    """Add an element; characters that XML has not are replaced, as names come from files."""
    ElementTree.SubElement(parent, tag, attributes).text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
