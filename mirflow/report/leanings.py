"""Whether a verdict of the evidence is good or bad: for the figures, and for the page, whose scripts hold a copy."""

from __future__ import annotations

from types import MappingProxyType

LEANINGS = MappingProxyType(
    {
        "good": ("right", "hit", "aligned", "found", "relevant", "rejected", "rightly unvoiced"),
        "half": ("octave", "near"),
        "bad": ("wrong", "extra", "missed", "misaligned", "false alarm"),
        "none": ("not comparable", "not relevant", "judged", "unjudged"),
    }
)
"""Every verdict that the rooms of metrics give. A word that is not among them says nothing: it is no error."""
GOOD, HALF, BAD = (LEANINGS[name] for name in ("good", "half", "bad"))
