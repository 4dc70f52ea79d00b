"""The model of campaign files: evaluations as in a pipeline, whose estimates are submitted to a server."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ..errors import PipelineError
from .document import dump_document, read_document, validate
from .model import Evaluation, Execution, Shorthand, Strict, identifier

Audience = Literal["organiser", "lab", "public"]
Visibility = Literal["private", "lab", "public"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?I?)B?", re.IGNORECASE)


def _bytes(value: Any) -> int:
    """A number of bytes, or one with a unit: 100 MB, 2 GiB."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(f"needs a size such as 100 MB, not {value!r}")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _date(value: Any) -> Any:
    """A date as YAML has it, or as text."""
    if isinstance(value, str):
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            raise ValueError(f"needs a date such as 2026-12-31, not {value!r}") from None
    return value


Size = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]
Date = Annotated[dt.date, BeforeValidator(_date)]


class Split(Shorthand):
    """A part of the tracks, with a folder of its own."""

    short: ClassVar = ((str, "root", {"type": "string", "description": "The folder of the split."}),)

    root: str
    """Folder of the split, relative to root: the paths of the evaluations are relative to it."""
    hidden: bool = False
    """References are not shown: no scores by track, no timelines, and scores that are rounded and rationed."""
    quota: int | None = Field(default=None, gt=0)
    """Submissions of an account that are scored in a period; default: any number."""
    per: Literal["day", "week", "month", "campaign"] = "month"
    """The period of the quota, in UTC."""
    round: float | None = Field(default=None, gt=0)
    """Scores that are shown are multiples of this number; default: 0.001 of a hidden split, exact otherwise."""
    ladder: float | None = Field(default=None, gt=0)
    """Step by which a hidden score has to be better than the account's best before it is shown."""


class Limits(Strict):
    """Limits of an upload."""

    size: Size = 100 * 10**6
    """Bytes of an upload, and ten times as many of what it unpacks to."""
    files: int = Field(default=10_000, gt=0)
    """Files in an upload."""
    ratio: float = Field(default=100, gt=1)
    """Bytes of a file for each byte in the archive."""
    depth: int = Field(default=8, gt=0)
    """Folders within each other."""
    seconds: float = Field(default=120, gt=0)
    """For an upload to arrive, and again for checking it."""
    memory: Size = 10**9
    """Bytes of the process that checks it."""


class AudioFiles(Shorthand):
    """Recordings that people may listen to."""

    short: ClassVar = ((str, "pattern", {"type": "string", "description": "A pattern with {track}."}),)

    pattern: str
    """Pattern with {track}, relative to the root of the split."""
    who: Audience = "organiser"
    """Who may listen: organiser, lab (all who have an account) or public."""


class GradingRound(Strict):
    """Candidates that people judge."""

    name: Annotated[str, AfterValidator(identifier)]
    """Name of the round, part of its address."""
    queries: str
    """The table of `mirflow grading draw`, relative to root."""
    candidates: str
    """The table of `mirflow grading pool`, relative to root."""
    audio: str
    """Pattern with {piece} of the recordings, relative to root."""
    graders_per_pair: int = Field(default=1, gt=0)
    """People who judge the same pair of a query and a candidate."""
    repeats: float = Field(default=0.05, ge=0, le=1)
    """Share of the candidates that a grader gets a second time, for the grader's own reliability."""
    listen: float = Field(default=5, ge=0)
    """Seconds to listen before a judgement is asked for."""
    consent: str = ""
    """A text file that graders agree to before the first judgement, relative to root."""


class Campaign(Strict):
    """A campaign file: what is evaluated, for whom, and until when."""

    campaign: str
    """Title for people."""
    root: str = "."
    """Folder that the paths below are relative to, itself relative to the file's folder."""
    folder: str = "state"
    """Folder of accounts, submissions and stores, relative to this file's folder."""
    database: str = ""
    """Address of another database than the SQLite file in the folder, such as postgresql+psycopg://..."""
    rules: str = "1"
    """Version of the rules; every submission records the one that it was scored by."""
    evaluations: list[Evaluation] = Field(default_factory=list)
    """As in a pipeline; `estimates` is relative to what is submitted, and the system is the submission."""
    splits: dict[Annotated[str, AfterValidator(identifier)], Split] = Field(default_factory=dict)
    """Parts of the tracks."""
    opens: Date | None = None
    """First day of submissions, UTC."""
    closes: Date | None = None
    """Last day of submissions, UTC."""
    visibility: Visibility = "private"
    """Of a new submission: private, lab (all who have an account) or public."""
    limits: Limits = Field(default_factory=Limits)
    """Limits of an upload."""
    execution: Execution = Field(default_factory=Execution)
    """Execution of scoring."""
    stores: list[str] = Field(default_factory=list)
    """Stores to browse beside, relative to root."""
    audio: AudioFiles | None = None
    """Recordings of the tracks."""
    grading: list[GradingRound] = Field(default_factory=list)
    """Rounds of grading."""

    @model_validator(mode="after")
    def _check(self) -> Campaign:
        if bool(self.evaluations) != bool(self.splits):
            raise ValueError("needs evaluations and splits, or neither of them")
        if not (self.evaluations or self.stores or self.grading):
            raise ValueError("names nothing to serve: evaluations with splits, stores, or grading")
        if self.opens and self.closes and self.opens > self.closes:
            raise ValueError(f"closes on {self.closes}, before it opens on {self.opens}")
        return self


def load_campaign(path: str | Path) -> Campaign:
    """Read a campaign file; raises all problems of its form at once.

    Raises
    ------
    PipelineError
    """
    document = read_document(path)
    campaign, problems = validate(document, Campaign, "campaign")
    if campaign is None or problems:
        raise PipelineError(problems, path)
    return campaign


def is_campaign(path: str | Path) -> bool:
    """Whether a path is a YAML file, which a store never is."""
    return Path(path).suffix.lower() in (".yaml", ".yml")


def pipeline_of(path: str | Path, split: str, submissions: Path, systems: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the text of the pipeline that scores the submissions of a split.

    Parameters
    ----------
    path : path
        The campaign file.
    split : str
    submissions : Path
        Folder with a folder for each system.
    systems : mapping
        The systems in the order of the tables, with their metadata.
    """
    campaign, data = load_campaign(path), read_document(path).data
    folder = Path(path).resolve().parent
    evaluations = []
    for written in data["evaluations"]:
        given = written["estimates"]
        side = dict(given) if isinstance(given, Mapping) else {"path": given}
        side["path"] = str(submissions / "{system}" / side["path"])
        evaluations.append(
            {**written, "estimates": side, "systems": {name: dict(one) for name, one in systems.items()}}
        )
    return dump_document(
        {
            "name": split,
            "root": str(folder / campaign.root / campaign.splits[split].root),
            "evaluations": evaluations,
            "store": f"{split}.zarr",
            "execution": campaign.execution.model_dump(),
        }
    )
