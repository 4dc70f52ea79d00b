"""Campaign files: what a server scores, shows and has graded, with its limits and notifications; their checks.

Scoring a split is a pipeline, which is made here from the campaign.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, model_validator

from ..annotations.schema import kind_of
from ..errors import PipelineError, Problem, UnknownNameError, name_some
from ..pipeline.discovery import OpenPack, absolute, find_references
from ..pipeline.document import read_document, validate
from ..pipeline.load import MetadataError, add_languages, import_plugins, plugin_address
from ..pipeline.model import Evaluation, Execution, Resolved, Shorthand, Strict, Trouble, identifier, resolve
from ..readers.patterns import Pattern

Audience = Literal["organiser", "members", "public"]
Visibility = Literal["private", "lab", "public"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}
_ANYWHERE = re.compile(r"\s*AoE$", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MAIL = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?I?)B?", re.IGNORECASE)


def _bytes(value: Any) -> int:
    """Parse a number of bytes, optionally with a unit: 100 MB, 2 GiB."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or match[2].upper() not in _UNITS:
        raise ValueError(f"invalid size {value!r}: expected a size such as 100 MB")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _moment(value: Any, other: str = "") -> Any:
    """Parse a time with its zone, from YAML or text; AoE ("anywhere on earth") is the zone -12:00."""
    text = value.isoformat() if isinstance(value, dt.date) else value
    if isinstance(text, str):
        try:
            time = dt.datetime.fromisoformat(_ANYWHERE.sub("-12:00", text.strip()))
        except ValueError:
            time = None
        if time is not None and time.tzinfo is not None:
            return time
    raise ValueError(
        f"invalid time {text!r}: expected a time with its zone such as 2026-12-31T23:59:59-12:00 or "
        f"2026-12-31 23:59 AoE{other}"
    )


def _of_day(value: Any, time: dt.time) -> Any:
    text = value.isoformat() if isinstance(value, dt.date) else value
    if isinstance(text, str) and _DAY.fullmatch(text.strip()):
        try:
            return dt.datetime.combine(dt.date.fromisoformat(text.strip()), time, dt.UTC)
        except ValueError:
            raise ValueError(f"invalid date {text!r}: expected a date such as 2026-12-31") from None
    return _moment(value, ", or a day such as 2026-12-31")


Size = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]
Moment = Annotated[dt.datetime, BeforeValidator(_moment)]
Beginning = Annotated[
    dt.datetime, BeforeValidator(lambda value: _of_day(value, dt.time(0)), json_schema_input_type=dt.date | dt.datetime)
]
"""A time with its zone, or the start of a day in UTC."""
End = Annotated[
    dt.datetime,
    BeforeValidator(lambda value: _of_day(value, dt.time.max), json_schema_input_type=dt.date | dt.datetime),
]
"""A time with its zone, or the end of a day in UTC."""


def show_moment(moment: dt.datetime) -> str:
    """Format a time to the minute, in its zone.

    Examples
    --------
    >>> show_moment(_moment("2026-12-31 23:59 AoE")), show_moment(_of_day("2026-12-31", dt.time.max))
    ('2026-12-31 23:59 UTC-12:00', '2026-12-31 23:59 UTC')
    """
    return f"{moment:%Y-%m-%d %H:%M} {moment.tzname()}"


def _demand_order(opens: dt.datetime | None, closes: dt.datetime | None) -> None:
    if opens and closes and opens > closes:
        raise ValueError(f"closes at {show_moment(closes)}, before it opens at {show_moment(opens)}")


class FinalRanking(Strict):
    """The end of a hidden split: submissions close, and later the true scores of public systems are published."""

    frozen: Moment
    """Time at which submissions to the split end, with its zone: 2026-12-31T23:59:59+01:00."""
    published: Moment
    """Time at which the true scores of public systems are published, with its zone."""

    @model_validator(mode="after")
    def _check(self) -> FinalRanking:
        if self.published < self.frozen:
            raise ValueError(f"published at {self.published}, before submissions end at {self.frozen}")
        return self


class Split(Shorthand):
    """A part of the tracks in a separate folder."""

    short: ClassVar = ((str, "root", {"type": "string", "description": "The folder of the split."}),)

    root: str
    """Folder of the split, relative to root; paths of the evaluations are relative to it."""
    hidden: bool = False
    """Keep references secret: no scores by track, no timelines, and rounded, limited scores."""
    quota: int | None = Field(default=None, gt=0)
    """Submissions of a team (a lab, or an account without one) per period; refused ones do not count. Default:
    unlimited."""
    per: Literal["day", "week", "month", "campaign"] = "month"
    """Period of the quota, in UTC."""
    round: float | None = Field(default=None, gt=0)
    """Round displayed scores to multiples of this number; default: 0.001 on a hidden split, exact otherwise."""
    ladder: float | None = Field(default=None, gt=0)
    """Step by which a hidden score must exceed the team's best so far; otherwise it is not shown."""
    without_references: bool = False
    """On a split that is not hidden: no timelines, and no messages that may quote a reference."""
    only_aggregates: bool = False
    """On a split that is not hidden: no scores by track, names of tracks or recordings."""
    opens: Beginning | None = None
    """Time from which submissions to the split are accepted, with its zone, or the first day in UTC; default: as set
    for the campaign."""
    closes: End | None = None
    """Time until which submissions to the split are accepted, with its zone, or the last day in UTC; default: as set
    for the campaign."""
    embargo: Moment | None = None
    """Time before which systems submitted to the split are not public, with its zone; default: none."""
    final: FinalRanking | None = None
    """On a hidden split: end of submissions, and publication of the true scores; default: never."""

    @model_validator(mode="after")
    def _check(self) -> Split:
        _demand_order(self.opens, self.closes)
        if self.final is not None and not self.hidden:
            raise ValueError("final: only for hidden splits, since other splits show true scores immediately")
        return self


class Limits(Strict):
    """Limits on uploads."""

    size: Size = 100 * 10**6
    """Size of an upload; it may unpack to ten times as much."""
    files: int = Field(default=10_000, gt=0)
    """Number of files in an upload."""
    ratio: float = Field(default=100, gt=1)
    """Ratio of unpacked to packed size of a file."""
    depth: int = Field(default=8, gt=0)
    """Nesting of folders."""
    seconds: float = Field(default=120, gt=0)
    """Seconds for receiving an upload, and again for checking it."""
    memory: Size = 10**9
    """Memory of the process that checks and reads an upload."""
    scoring_memory: Size = 8 * 10**9
    """Memory of each process that scores it."""
    confinement: Literal["wanted", "required"] = "wanted"
    """Whether server and worker refuse to start, rather than warn, if the host cannot confine these processes."""


class AudioFiles(Shorthand):
    """Recordings for listening."""

    short: ClassVar = ((str, "pattern", {"type": "string", "description": "A pattern with {track}."}),)

    pattern: str
    """Pattern with {track}, relative to the root of the split."""
    who: Audience = "organiser"
    """Who may listen: organiser, members (all accounts) or public."""


def _demand_piece(audio: str) -> None:
    if "{piece}" not in audio:
        raise ValueError(f"invalid pattern {audio!r}: expected {{piece}} in place of the name of a piece")


class GradingRound(Strict):
    """A round in which people judge candidates."""

    name: Annotated[str, AfterValidator(identifier)]
    """Name of the round, part of its address."""
    title: str = ""
    """Displayed title; default: the name."""
    queries: str
    """Table written by `mirflow grading draw`, relative to root."""
    candidates: str
    """Table written by `mirflow grading pool`, relative to root."""
    key: str = ""
    """Key of that table, relative to root; default: the file beside it that ends in .key.csv."""
    audio: str
    """Pattern of the recordings with {piece}, relative to root."""
    graders_per_pair: int = Field(default=1, gt=0)
    """Number of graders per pair of query and candidate."""
    repeats: float = Field(default=0.05, ge=0, le=1)
    """Share of candidates that a grader judges a second time, to measure self-agreement."""
    listen: float = Field(default=5, ge=0)
    """Seconds of listening required before a judgement counts."""
    consent: str = ""
    """Text file that graders agree to before the first judgement, relative to root; default: a built-in text."""
    training: str = ""
    """Table of query, candidate, broad and fine for training judgements, which do not count, relative to root."""
    broad: list[str] = Field(default=["not similar", "somewhat similar", "very similar"], min_length=3, max_length=3)
    """Labels of NS, SS and VS on the page."""
    help: str = ""
    """Explanation of the labels, for graders."""
    opens: Beginning | None = None
    """Time from which grading is open, with its zone, or the first day in UTC; default: immediately."""
    closes: End | None = None
    """Time until which grading is open, with its zone, or the last day in UTC; default: until the round is closed."""
    public: bool = False
    """Show the progress of the open round to everyone on the front page; default: only to those who may grade."""

    @model_validator(mode="after")
    def _check(self) -> GradingRound:
        _demand_piece(self.audio)
        _demand_order(self.opens, self.closes)
        return self


class Planning(Shorthand):
    """Files with which organisers plan rounds of grading on the pages."""

    short: ClassVar = ((str, "audio", {"type": "string", "description": "A pattern with {piece}."}),)

    audio: str
    """Pattern of the recordings with {piece}, relative to root."""
    pieces: list[str] = Field(default_factory=list)
    """Tables of pieces to choose from, relative to root; others can be uploaded."""
    lists: list[str] = Field(default_factory=list)
    """Lists of systems to choose from, relative to root, as for `mirflow grading pool`; others can be uploaded."""

    @model_validator(mode="after")
    def _check(self) -> Planning:
        _demand_piece(self.audio)
        return self


class About(Shorthand):
    """The page about a campaign, in limited Markdown: paragraphs, lists, links, code and emphasis."""

    short: ClassVar = ((str, "description", {"type": "string", "description": "The description."}),)

    description: str = ""
    """Subject and purpose of the evaluation."""
    data: str = ""
    """The data: origin, access, and hidden parts."""
    baseline: str = ""
    """A baseline system and its scores."""
    terms: str = ""
    """Conditions for participants."""
    licence: str = ""
    """Licence of data and results."""
    contact: str = ""
    """Contact of the organisers."""


def _web_address(text: str) -> str:
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"invalid address {text!r}: expected one such as https://lab.org/hook")
    return text


def _variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        # Do not quote the value, which may be the secret itself.
        raise ValueError("expected the name of an environment variable (letters, digits and _), not its value")
    return text


def mail_address(text: str) -> str:
    """Check a mail address.

    Examples
    --------
    >>> mail_address("ada@lab.org")
    'ada@lab.org'
    """
    if len(text) > 254 or not _MAIL.fullmatch(text):
        raise ValueError(f"invalid address {text[:80]!r}: expected one such as ada@lab.org in ASCII characters")
    return text


EnvironmentVariable = Annotated[str, AfterValidator(_variable)]
MailAddress = Annotated[str, AfterValidator(mail_address)]


class Webhook(Strict):
    """An address of the organisers that receives a signed POST request for every event."""

    url: Annotated[str, AfterValidator(_web_address)]
    """Address that receives the requests."""
    secret: EnvironmentVariable
    """Environment variable of the server with the secret for signatures: whsec_ followed by base64."""


class Mail(Strict):
    """Mail server for notifications to submitters who have left an address."""

    server: str = Field(pattern=r"^[A-Za-z0-9._:-]+$")
    """Host name of the mail server."""
    port: int | None = Field(default=None, gt=0, lt=2**16)
    """Port; default: 587, with tls 465, without encryption 25."""
    encryption: Literal["starttls", "tls", "none"] = "starttls"
    """Encryption of the connection; none is only for a server on the same host."""
    sender: MailAddress
    """Address of the sender."""
    user: str = ""
    """Name for login; default: no login."""
    password: EnvironmentVariable | None = None
    """Environment variable of the server with the password."""

    @model_validator(mode="after")
    def _check(self) -> Mail:
        if bool(self.user) != (self.password is not None):
            raise ValueError("expected user and password, or neither")
        if self.user and self.encryption == "none":
            raise ValueError("the password would be sent without encryption: set encryption to starttls or tls")
        return self


class Notifications(Strict):
    """Messages about submissions."""

    webhook: Webhook | None = None
    """Webhook of the organisers for the events of all submissions."""
    mail: Mail | None = None
    """Mail to submitters about their own submissions, if they have left an address."""

    @model_validator(mode="after")
    def _check(self) -> Notifications:
        if self.webhook is None and self.mail is None:
            raise ValueError("expected webhook, mail, or both")
        return self


_FOR_SCORING = ("campaign", "root", "plugins", "evaluations", "splits", "execution")


class Campaign(Strict):
    """A campaign file."""

    campaign: str
    """Displayed title."""
    root: str = "."
    """Folder that the paths below are relative to, itself relative to this file's folder."""
    about: About = Field(default_factory=About)
    """Texts for the page about the campaign; default: no such page."""
    url: str = ""
    """Public address of the server; default: the address that it listens on."""
    cors: bool = False
    """Let scripts on other sites read public data: JSON, tables, Zarr."""
    folder: str = "state"
    """Folder with accounts, submissions and stores, relative to this file's folder."""
    database: str = ""
    """URL of a PostgreSQL database, such as postgresql+psycopg://mirflow@localhost/chords; default: the SQLite file
    campaign.db in the folder."""
    rules: str = "1"
    """Version of the rules; every submission records the version that it was scored by."""
    plugins: list[str] = Field(default_factory=list)
    """Python files, relative to this file, or modules that declare tasks and readers; their code is executed."""
    evaluations: list[Evaluation] = Field(default_factory=list)
    """Evaluations as in a pipeline; `estimates` is relative to the submission, which is the system."""
    splits: dict[Annotated[str, AfterValidator(identifier)], Split] = Field(default_factory=dict)
    """Parts of the tracks."""
    opens: Beginning | None = None
    """Time from which submissions are accepted, with its zone, or the first day in UTC."""
    closes: End | None = None
    """Time until which submissions are accepted, with its zone, or the last day in UTC."""
    visibility: Visibility = "private"
    """Default for new submissions: private, lab (the lab of the account; private without one) or public."""
    limits: Limits = Field(default_factory=Limits)
    """Limits on uploads."""
    keep_addresses: int = Field(default=90, ge=0)
    """Days for which the audit log keeps the network addresses of logins."""
    execution: Execution = Field(default_factory=Execution)
    """Execution of scoring."""
    stores: list[str] = Field(default_factory=list)
    """Further stores to browse, relative to root."""
    without_references: bool = False
    """For these stores: no timelines, and no messages that may quote a reference."""
    only_aggregates: bool = False
    """For these stores: no scores by track, and no names of tracks."""
    archive: str = ""
    """Table of past years, as for `mirflow archive`, relative to root; default: the years of the stores' systems."""
    audio: AudioFiles | None = None
    """Recordings of the tracks."""
    grading: list[GradingRound] = Field(default_factory=list)
    """Rounds of grading."""
    planning: Planning | None = None
    """Planning of rounds by organisers on the pages; default: disabled."""
    notifications: Notifications | None = None
    """Messages about submissions; default: none."""
    _values: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Campaign:
        """Make a campaign from plain values, such as the :attr:`scoring_values` of another one."""
        made = cls.model_validate(values)
        made._values = values
        return made

    @property
    def evaluation_values(self) -> list[dict[str, Any]]:
        """The evaluations as the file writes them, as plain values."""
        return list(self._values.get("evaluations", ()))

    @property
    def scoring_values(self) -> dict[str, Any]:
        """The part of the file that scoring needs, as plain values; without accounts, addresses and the database."""
        return {name: self._values[name] for name in _FOR_SCORING if name in self._values}

    @model_validator(mode="after")
    def _check(self) -> Campaign:
        if bool(self.evaluations) != bool(self.splits):
            raise ValueError("expected evaluations and splits, or neither")
        if not (self.evaluations or self.stores or self.grading or self.planning):
            raise ValueError("nothing to serve: expected evaluations with splits, stores, grading, or planning")
        _demand_order(self.opens, self.closes)
        return self

    def window(self, split: str) -> tuple[dt.datetime | None, dt.datetime | None]:
        """Return the times between which submissions to a split are accepted; None: without limit."""
        terms = self.splits[split]
        frozen = None if terms.final is None else terms.final.frozen
        ends = [end for end in (terms.closes or self.closes, frozen) if end is not None]
        return terms.opens or self.opens, min(ends, default=None)

    def embargo(self, splits: Iterable[str], now: dt.datetime) -> dt.datetime | None:
        """Return the time from which systems submitted to some splits may be public; None: immediately."""
        ends = [self.splits[split].embargo for split in splits if split in self.splits]
        return max((end for end in ends if end is not None and end > now), default=None)


def load_campaign(path: str | Path) -> Campaign:
    """Read a campaign file and import its plugins; raises all problems of its form at once.

    Other files that it names are not checked.
    """
    document = read_document(path)
    campaign, problems = validate(document, Campaign, "campaign")
    import_plugins(document, Path(absolute(str(path))).parent, problems)
    troubles, names = list[Trouble](), set[str]()
    for position, evaluation in enumerate(campaign.evaluations if campaign is not None else ()):
        place = "evaluations", position
        estimates = evaluation.estimates.path
        if evaluation.name in names:
            why = f"duplicate name {evaluation.name!r}: choose a name for each evaluation"
            troubles.append(((*place, "name"), why))
        names.add(evaluation.name)
        if evaluation.systems is not None:
            troubles.append(((*place, "systems"), "not allowed here: the systems are the submissions"))
        doubts = {
            "relative to a submission, which is the {system}: leave out {system}": "system" in Pattern(estimates).names,
            "must be inside the submission": Path(estimates).is_absolute() or ".." in Path(estimates).parts,
            "packs cannot be submitted; use files": estimates.endswith(".zarr"),
        }
        troubles += [((*place, "estimates"), f"{estimates!r}: {why}") for why, applies in doubts.items() if applies]
        try:
            if kind_of(evaluation.task).name == "audio":
                why = f"{evaluation.task}: estimates are audio, which cannot be submitted"
                troubles.append(((*place, "task"), why))
        except UnknownNameError as error:
            troubles.append(((*place, "task"), str(error)))
    if campaign is not None:
        for index, judged in enumerate(campaign.grading):
            if judged.name in {other.name for other in campaign.grading[:index]}:
                why = f"duplicate name {judged.name!r}: choose a name for each round"
                troubles.append((("grading", index, "name"), why))
        if campaign.audio is not None and "track" not in Pattern(campaign.audio.pattern).names:
            why = f"invalid pattern {campaign.audio.pattern!r}: expected {{track}} in place of the name of a track"
            troubles.append((("audio", "pattern"), why))
    problems += [document.problem(place, why) for place, why in troubles]
    if campaign is None or problems:
        raise PipelineError(problems, path)
    campaign._values = document.data
    return campaign


def campaign_digest(path: str | Path) -> str:
    """Return the SHA-256 of a campaign file; empty if it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def is_campaign(path: str | Path) -> bool:
    """True if a path is a YAML file, which a store never is."""
    return Path(path).suffix.lower() in (".yaml", ".yml")


def plugin_addresses(path: str | Path, campaign: Campaign) -> list[str]:
    """Return absolute paths of Python files, and names of modules, that declare tasks and readers."""
    folder = Path(absolute(str(path))).parent
    return [plugin_address(plugin, folder) for plugin in campaign.plugins]


def split_root(path: str | Path, campaign: Campaign, split: str) -> Path:
    """Return the folder of a split, which the paths of evaluations are relative to; it may not exist on this host."""
    return Path(absolute(str(path))).parent / campaign.root / campaign.splits[split].root


def with_estimates(evaluation: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return an evaluation of a campaign file with another path of its estimates."""
    side = evaluation["estimates"]
    return {**evaluation, "estimates": {**(side if isinstance(side, Mapping) else {}), "path": path}}


def reading_name(split: str, evaluation: str) -> str:
    """Return the path of a system's readings for an evaluation, relative to the system's folder."""
    return f"{split}/{evaluation}.readings"


def pipeline_of(
    path: str | Path,
    campaign: Campaign,
    split: str,
    readings: Path,
    systems: Sequence[str] | None = None,
    *,
    evaluations: Collection[str] | None = None,
) -> dict[str, Any]:
    """Make a pipeline that scores submissions on a split, as plain values.

    `readings`: folder with the readings of each system, see :func:`reading_name`.
    `systems`: systems; None: all. A single one is searched only in its own folder.
    `evaluations`: names of evaluations; None: all.
    """
    root = split_root(path, campaign, split)
    place = os.path.relpath(readings, root).replace(os.sep, "/")
    system = systems[0] if systems is not None and len(systems) == 1 else "{system}"
    listed = {} if systems is None else {"systems": list(systems)}
    written = []
    for evaluation, values in zip(campaign.evaluations, campaign.evaluation_values, strict=True):
        if evaluations is None or evaluation.name in evaluations:
            scored = with_estimates(values, f"{place}/{system}/{reading_name(split, evaluation.name)}")
            written.append({**scored, **listed, "on_error": "record"})
    head = {"name": split, "root": str(root), **({"plugins": campaign.plugins} if campaign.plugins else {})}
    execution = campaign.execution.model_dump()
    return {**head, "evaluations": written, "store": f"{split}.zarr", "execution": execution}


def reference_tracks(
    path: str | Path, campaign: Campaign, split: str, open_pack: OpenPack | None = None, folders: set[str] | None = None
) -> dict[str, list[dict[str, str]]]:
    """Find the references of a split: the values of their placeholders, such as the track, by evaluation.

    If a column of the tracks' metadata gives the language of the estimates, its value is stored under the column's name
    in braces. The folders of the references are added to `folders`.
    """
    root = split_root(path, campaign, split)
    references: dict[str, list[dict[str, str]]] = {}
    problems: list[Trouble] = []
    if not root.is_dir():
        problems.append((("splits", split, "root"), f"folder {str(root)!r} does not exist"))
    for position, evaluation in enumerate(campaign.evaluations if not problems else ()):
        troubles: list[Trouble] = []
        resolved = resolve(evaluation, str(root), str(Path(absolute(str(path))).parent))
        if isinstance(resolved, Resolved):
            places = find_references(evaluation, resolved, str(root), open_pack, troubles, folders)
            references[evaluation.name] = places
            try:
                add_languages(evaluation, resolved, str(root), places)
            except MetadataError as error:
                troubles.append((("tracks",), str(error)))
        else:
            troubles = resolved
        problems += [(("evaluations", position, *step), f"{why} (split {split})") for step, why in troubles]
    if problems:
        document = read_document(path)
        raise PipelineError([document.problem(place, why) for place, why in problems], path)
    return references


def check_campaign(
    path: str | Path, open_pack: OpenPack | None = None
) -> tuple[Campaign, dict[str, dict[str, int]], list[str]]:
    """Check that all files named by a campaign file exist, on the host that scores.

    Returns: the campaign, the number of tracks with a reference by split and evaluation, and warnings.
    """
    campaign, document = load_campaign(path), read_document(path)
    beside = Path(absolute(str(path))).parent
    problems: list[Problem] = []
    tracks: dict[str, dict[str, set[str]]] = {}
    for split in campaign.splits:
        try:
            references = reference_tracks(path, campaign, split, open_pack)
        except PipelineError as error:
            problems += error.problems
            continue
        tracks[split] = {name: {place.get("track", "") for place in places} for name, places in references.items()}
    for split, other in ((split, other) for index, split in enumerate(tracks) for other in list(tracks)[:index]):
        both = sorted(set().union(*tracks[split].values()) & set().union(*tracks[other].values()))
        if both:  # scores on one split would reveal something about the other
            named = name_some([*map(repr, both)], most=3)
            why = f"has {len(both)} tracks in common with the split {other}: {named}; use each track in one split"
            problems.append(document.problem(("splits", split), why))
    folder = beside / campaign.folder
    nearest = next(place for place in (folder, *folder.parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        problems.append(document.problem(("folder",), f"cannot write to {str(folder)!r}"))
    files: list[tuple[tuple[str | int, ...], str]] = [(("stores", at), name) for at, name in enumerate(campaign.stores)]
    files += [(("archive",), campaign.archive)] if campaign.archive else []
    for index, judged in enumerate(campaign.grading):
        keys = ("queries", "candidates", *(("consent",) if judged.consent else ()))
        files += [(("grading", index, key), getattr(judged, key)) for key in keys]
    pieces = campaign.planning.pieces if campaign.planning is not None else ()
    files += [(("planning", "pieces", index), table) for index, table in enumerate(pieces)]
    for place, name in files:
        kind, file = ("store", f"{name}/zarr.json") if place[0] == "stores" else ("file", name)
        if not (beside / campaign.root / file).is_file():
            problems.append(document.problem(place, f"{kind} {name!r} does not exist"))
    if problems:
        raise PipelineError(problems, path)
    notes, audio = [], "" if campaign.audio is None else campaign.audio.pattern
    for split, terms in campaign.splits.items():
        doubts = {
            "hidden without a quota: its references can be recovered by many submissions": terms.quota is None,
            "hidden without a ladder: small differences of scores can reveal single tracks": terms.ladder is None,
        }
        if not terms.hidden:
            exact = "round and ladder only apply to hidden splits; scores of this split are exact"
            doubts = {exact: terms.ladder is not None or terms.round is not None}
        notes += [f"splits.{split}: {doubt}" for doubt, applies in doubts.items() if applies]
    for split, by_name in tracks.items() if audio and Pattern(audio).names == ("track",) else ():
        root, listed = split_root(path, campaign, split), sorted(set().union(*by_name.values()))
        missing = [track for track in listed if not (root / audio.replace("{track}", track)).is_file()]
        if missing:
            what = f"{len(missing)} of {len(listed)} tracks of {split} have no recording on this host"
            notes.append(f"audio: {what}: {name_some([*map(repr, missing)], most=3)}")
    counts = {split: {name: len(names) for name, names in by_name.items()} for split, by_name in tracks.items()}
    return campaign, counts, notes
