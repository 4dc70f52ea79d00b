"""The timeline of one track, to look at and to listen to in a notebook or in a file.

The annotations are given in memory or by path, and scored and explained here; no store is needed.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ...analysis.scores import names_of
from ...annotations.annotation import Annotation
from ...annotations.classes import Classes, as_classes
from ...annotations.schema import kind_of
from ...errors import AnnotationError
from ...evaluation.evaluate import plain_pair, score
from ...evaluation.sides import task_of
from ...metrics.base import get_task
from ...store.generations import write_atomically
from .assembly import assemble
from .contents import describe_page, draw_first_screens, read_subject
from .data import ALL
from .embed import CompressedParts, encode_evidence, pack_json
from .timelines import Explainer, Timelines, Track

_LANE, _REST, _TALLEST = 66, 310, 800
"""Height of a lane, of all else, and the most, in pixels."""


@dataclass(frozen=True)
class TimelinePlayer:
    """The timeline of a track: a page, which a notebook shows in a frame."""

    page: str = field(repr=False)
    """HTML that holds everything that it shows."""
    track: str
    metric: str
    """Judges the parts of the estimates; empty where nothing is explained."""
    scores: Mapping[str, float]
    """Of each system by this metric."""

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        write_atomically(Path(path), self.page.encode("utf-8"))

    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {value:.4f}" for name, value in self.scores.items())
        return f"Timeline of {self.track!r} by {self.metric}: {scores}"

    def _repr_html_(self) -> str:
        height = min(_REST + _LANE * (1 + len(self.scores)), _TALLEST)
        shown = f'title="{html.escape(f"Timeline of {self.track}")}" style="width: 100%; height: {height}px; border: 0"'
        # It may run its script, and reach nothing of the notebook.
        return f'<iframe sandbox="allow-scripts" {shown} srcdoc="{html.escape(self.page)}"></iframe>'


def timeline(
    reference: Any,
    estimates: Any,
    task: str | None = None,
    metric: str | None = None,
    *,
    track: str = "track",
    convention: str | None = None,
    classes: Classes | None = None,
    **options: Any,
) -> TimelinePlayer:
    """Draw the annotations of a track as the timeline of reports, with sound, for notebooks.

    Parameters
    ----------
    reference : xr.Dataset, Annotation, path or jams object
        A single annotation.
    estimates : the same, or mapping of str to the same
        One estimate, or those of several systems by name.
    task, convention, classes, **options
        As for :func:`mirflow.evaluate`.
    metric : str or None
        Judges the parts of the estimates, as in :func:`mirflow.explain`; None: the first that does.
    track : str
        Name that is shown.

    Returns
    -------
    TimelinePlayer
        A notebook shows it; ``save(path)`` writes it as one HTML file.

    Raises
    ------
    AnnotationError
        If an annotation cannot be read, or is a collection.
    UnknownNameError
        For a metric that the convention does not have.

    Examples
    --------
    >>> import mirflow
    >>> mirflow.timeline([0.5, 1.0, 1.5], {"oak": [0.52, 1.0], "elm": [0.9]}, task="onset", track="take five")
    Timeline of 'take five' by f_measure: oak 0.8000, elm 0.0000
    """
    task = task_of(reference) if task is None else task
    named = dict(estimates) if isinstance(estimates, Mapping) else {"estimate": estimates}
    pairs = [plain_pair(reference, one, task, convention, options) for one in named.values()]
    shown = [one for pair in pairs for one in pair if isinstance(one, Annotation)]
    if not pairs or len(shown) < 2 * len(pairs):
        raise AnnotationError("timeline takes single annotations; select one track of collections first")
    whole, found = shown[0], dict(zip(named, shown[1::2], strict=True))
    rules = get_task(task).convention(convention, as_classes(classes))
    if metric is not None:
        rules.select([metric])
    by_system = {name: {track: one} for name, one in found.items()}
    scores = score({track: whole}, by_system, task, convention=convention, classes=classes)
    drawn, parts = Timelines(), CompressedParts()
    asked = [] if metric is None else [metric]
    explainer = Explainer([rules], kind_of(task).name, asked, names_of(scores, "metric"), drawn.verdicts)
    own = Track()
    reference_place = own.put(whole, task, drawn.vocabulary)
    evidence = explainer.explain([(whole, one, 0) for one in found.values()])
    own.evaluations[0] = {
        "references": [[reference_place, ""]],
        "estimates": [own.put(one, task, drawn.vocabulary) for one in found.values()],
        "evidence": [[encode_evidence(each, explainer.kind, drawn.verdicts) for each in evidence]],
        "changed": [],
    }
    subject = read_subject(scores, explainer.rules[:1], title=track)
    told = {"rules": explainer.rules, "able": explainer.able or [], "note": ""}
    contents = describe_page(subject, [told], parts, ALL)
    draw_first_screens(contents, subject)
    places = [(track, parts.put(track, partial(pack_json, own.described())))]
    vocabulary = parts.put("vocabulary", partial(pack_json, drawn.vocabulary.entries()))
    contents |= {"timelines": places, "vocabulary": vocabulary, "verdicts": list(drawn.verdicts)}
    page = assemble(html.escape(track), pack_json(contents).decode(), list(parts.texts), start="single")
    judged = next(iter(explainer.rules), names_of(scores, "metric")[0])
    values = scores["score"].sel(track=track, metric=judged)
    own = values.sel(system=list(named)).values.tolist()
    return TimelinePlayer(page, track, judged, dict(zip(named, own, strict=True)))
