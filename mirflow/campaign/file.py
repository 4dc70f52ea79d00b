"""The model of campaign files: evaluations as in a pipeline, whose estimates are submitted to a server."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ..annotations.schema import kind_of
from ..errors import PipelineError, Problem, UnknownNameError
from ..pipeline.discovery import OpenPack, absolute, find_references
from ..pipeline.document import Document, dump_document, read_document, schema_of, validate
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
    """A number of bytes, or one with a unit: 100 MB, 2 GiB."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(f"needs a size such as 100 MB, not {value!r}")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _moment(value: Any, other: str = "") -> Any:
    """A time with its zone as YAML has it, or as text; AoE ("anywhere on earth") is the zone -12:00."""
    text = value.isoformat() if isinstance(value, dt.date) else value
    if isinstance(text, str):
        try:
            found = dt.datetime.fromisoformat(_ANYWHERE.sub("-12:00", text.strip()))
        except ValueError:
            found = None
        if found is not None and found.tzinfo is not None:
            return found
    raise ValueError(
        f"needs a time with its zone such as 2026-12-31T23:59:59-12:00 or 2026-12-31 23:59 AoE{other}, not {text!r}"
    )


def _beginning(value: Any) -> Any:
    """A time with its zone, or the beginning of a day in UTC."""
    return _of_day(value, dt.time(0))


def _end(value: Any) -> Any:
    """A time with its zone, or the end of a day in UTC."""
    return _of_day(value, dt.time.max)


def _of_day(value: Any, time: dt.time) -> Any:
    text = value.isoformat() if isinstance(value, dt.date) else value
    if isinstance(text, str) and _DAY.fullmatch(text.strip()):
        try:
            return dt.datetime.combine(dt.date.fromisoformat(text.strip()), time, dt.UTC)
        except ValueError:
            raise ValueError(f"needs a date such as 2026-12-31, not {text!r}") from None
    return _moment(value, ", or a day such as 2026-12-31")


Size = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]
Moment = Annotated[dt.datetime, BeforeValidator(_moment)]
Beginning = Annotated[dt.datetime, BeforeValidator(_beginning, json_schema_input_type=dt.date | dt.datetime)]
End = Annotated[dt.datetime, BeforeValidator(_end, json_schema_input_type=dt.date | dt.datetime)]


def show_moment(moment: dt.datetime) -> str:
    """A time to the minute, in its own zone.

    Examples
    --------
    >>> show_moment(_moment("2026-12-31 23:59 AoE")), show_moment(_end("2026-12-31"))
    ('2026-12-31 23:59 UTC-12:00', '2026-12-31 23:59 UTC')
    """
    return f"{moment:%Y-%m-%d %H:%M} {moment.tzname()}"


def _demand_order(opens: dt.datetime | None, closes: dt.datetime | None) -> None:
    if opens and closes and opens > closes:
        raise ValueError(f"closes at {show_moment(closes)}, before it opens at {show_moment(opens)}")


class FinalRanking(Strict):
    """The end of a hidden split: no more submissions, and later the true scores of public systems."""

    frozen: Moment
    """Time from which on no submission to the split is taken, with its zone: 2026-12-31T23:59:59+01:00."""
    published: Moment
    """Time from which on the true scores of public systems are public, with its zone."""

    @model_validator(mode="after")
    def _check(self) -> FinalRanking:
        if self.published < self.frozen:
            raise ValueError(f"published at {self.published}, while submissions are taken until {self.frozen}")
        return self


class Split(Shorthand):
    """A part of the tracks, with a folder of its own."""

    short: ClassVar = ((str, "root", {"type": "string", "description": "The folder of the split."}),)

    root: str
    """Folder of the split, relative to root: the paths of the evaluations are relative to it."""
    hidden: bool = False
    """References are not shown: no scores by track, no timelines, and scores that are rounded and rationed."""
    quota: int | None = Field(default=None, gt=0)
    """Submissions of a team (a lab, or an account without one) in a period; default: any number. Refused ones do not
    count."""
    per: Literal["day", "week", "month", "campaign"] = "month"
    """The period of the quota, in UTC."""
    round: float | None = Field(default=None, gt=0)
    """Scores that are shown are multiples of this number; default: 0.001 of a hidden split, exact otherwise."""
    ladder: float | None = Field(default=None, gt=0)
    """Step by which a hidden score has to be better than the team's best so far; others are not shown."""
    without_references: bool = False
    """Of a split that is not hidden: no timelines, and no messages that may quote a reference."""
    only_aggregates: bool = False
    """Of a split that is not hidden: no scores by track, no names of tracks, no recordings."""
    opens: Beginning | None = None
    """Time from which on submissions to the split are taken, with its zone, or the first day in UTC; default: the
    campaign's."""
    closes: End | None = None
    """Time until which submissions to the split are taken, with its zone, or the last day in UTC; default: the
    campaign's."""
    embargo: Moment | None = None
    """Time before which systems that are sent to the split are not public, with its zone; default: none."""
    final: FinalRanking | None = None
    """Of a hidden split: when submissions end, and when the true scores are published; default: never."""

    @model_validator(mode="after")
    def _check(self) -> Split:
        _demand_order(self.opens, self.closes)
        if self.final is not None and not self.hidden:
            raise ValueError("final: is for hidden splits; the scores of this one are true from the beginning")
        return self


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
    """Bytes of the process that checks and reads it."""
    scoring_memory: Size = 8 * 10**9
    """Bytes of each process that scores it."""
    confinement: Literal["wanted", "required"] = "wanted"
    """Whether server and worker refuse to start where the host cannot confine these processes; else they warn."""


def _audience(value: Any) -> Any:
    if value == "lab":
        raise ValueError("'lab' was for all who have an account: write members")
    return value


class AudioFiles(Shorthand):
    """Recordings that people may listen to."""

    short: ClassVar = ((str, "pattern", {"type": "string", "description": "A pattern with {track}."}),)

    pattern: str
    """Pattern with {track}, relative to the root of the split."""
    who: Annotated[Audience, BeforeValidator(_audience)] = "organiser"
    """Who may listen: organiser, members (all who have an account) or public."""


def _demand_piece(audio: str) -> None:
    if "{piece}" not in audio:
        raise ValueError(f"audio: needs {{piece}} where the name of a piece stands, not {audio!r}")


class GradingRound(Strict):
    """Candidates that people judge."""

    name: Annotated[str, AfterValidator(identifier)]
    """Name of the round, part of its address."""
    title: str = ""
    """Title for people; default: the name."""
    queries: str
    """The table of `mirflow grading draw`, relative to root."""
    candidates: str
    """The table of `mirflow grading pool`, relative to root."""
    key: str = ""
    """The key of that table, relative to root; default: the file beside it that ends in .key.csv."""
    audio: str
    """Pattern with {piece} of the recordings, relative to root."""
    graders_per_pair: int = Field(default=1, gt=0)
    """People who judge the same pair of a query and a candidate."""
    repeats: float = Field(default=0.05, ge=0, le=1)
    """Share of the candidates that a grader gets a second time, for the grader's own reliability."""
    listen: float = Field(default=5, ge=0)
    """Seconds to listen before a judgement counts."""
    consent: str = ""
    """A text file that graders agree to before the first judgement, relative to root; default: a text of mirflow."""
    training: str = ""
    """A table of query, candidate, broad and fine that is judged first and does not count, relative to root."""
    broad: list[str] = Field(default=["not similar", "somewhat similar", "very similar"], min_length=3, max_length=3)
    """What NS, SS and VS are called on the page."""
    help: str = ""
    """What the words mean, for graders."""
    opens: Beginning | None = None
    """Time from which on people judge, with its zone, or the first day in UTC; default: at once."""
    closes: End | None = None
    """Time until which people judge, with its zone, or the last day in UTC; default: until the round is closed."""
    public: bool = False
    """Everybody sees on the front page how far the open round is; default: those who may grade."""

    @model_validator(mode="after")
    def _check(self) -> GradingRound:
        _demand_piece(self.audio)
        _demand_order(self.opens, self.closes)
        return self


class Planning(Shorthand):
    """Files that organisers plan rounds of grading with on the pages."""

    short: ClassVar = ((str, "audio", {"type": "string", "description": "A pattern with {piece}."}),)

    audio: str
    """Pattern with {piece} of the recordings, relative to root."""
    pieces: list[str] = Field(default_factory=list)
    """Tables of pieces to choose from, relative to root; others are uploaded."""
    lists: list[str] = Field(default_factory=list)
    """Lists of systems to choose from, relative to root, as `mirflow grading pool` takes them; others are uploaded."""

    @model_validator(mode="after")
    def _check(self) -> Planning:
        _demand_piece(self.audio)
        return self


class About(Shorthand):
    """The page about a campaign, of limited Markdown: paragraphs, lists, links, code and emphasis."""

    short: ClassVar = ((str, "description", {"type": "string", "description": "The description."}),)

    description: str = ""
    """What is evaluated, and why."""
    data: str = ""
    """The data: origin, how to get them, what is hidden."""
    baseline: str = ""
    """A system to begin with, and its scores."""
    terms: str = ""
    """What participants agree to."""
    licence: str = ""
    """Of data and results."""
    contact: str = ""
    """How to reach the organisers."""


def _web_address(text: str) -> str:
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"needs an address such as https://lab.org/hook, not {text!r}")
    return text


def _variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        # It is not quoted: what is written in its place may be the secret itself.
        raise ValueError("needs the name of an environment variable, of letters, digits and _; not its value")
    return text


def mail_address(text: str) -> str:
    """Check an address for mail.

    Examples
    --------
    >>> mail_address("ada@lab.org")
    'ada@lab.org'
    """
    if len(text) > 254 or not _MAIL.fullmatch(text):
        raise ValueError(f"needs an address such as ada@lab.org, of ASCII characters, not {text[:80]!r}")
    return text


EnvironmentVariable = Annotated[str, AfterValidator(_variable)]
MailAddress = Annotated[str, AfterValidator(mail_address)]


class Webhook(Strict):
    """An address of the organisers that gets a signed POST of every event."""

    url: Annotated[str, AfterValidator(_web_address)]
    """Address that gets the requests."""
    secret: EnvironmentVariable
    """Name of the environment variable of the server that has the secret of the signatures: whsec_ and base64."""


class Mail(Strict):
    """The mail server by which submitters who have left an address hear of their submissions."""

    server: str = Field(pattern=r"^[A-Za-z0-9._:-]+$")
    """Name of the mail server."""
    port: int | None = Field(default=None, gt=0, lt=2**16)
    """Its port; default: 587, with tls 465, without encryption 25."""
    encryption: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection is encrypted; none is for a server on the same host."""
    sender: MailAddress
    """Address that mail is from."""
    user: str = ""
    """Name for logging in; default: no login."""
    password: EnvironmentVariable | None = None
    """Name of the environment variable of the server that has the password."""

    @model_validator(mode="after")
    def _check(self) -> Mail:
        if bool(self.user) != (self.password is not None):
            raise ValueError("needs user and password, or neither of them")
        if self.user and self.encryption == "none":
            raise ValueError("the password would be sent without encryption: write encryption: starttls or tls")
        return self


class Notifications(Strict):
    """Messages on what happens to submissions."""

    webhook: Webhook | None = None
    """Of the organisers; it gets the events of all submissions."""
    mail: Mail | None = None
    """To submitters who have left an address, on their own submissions."""

    @model_validator(mode="after")
    def _check(self) -> Notifications:
        if self.webhook is None and self.mail is None:
            raise ValueError("needs webhook, mail, or both of them")
        return self


class Campaign(Strict):
    """A campaign file: what is evaluated, for whom, and until when."""

    campaign: str
    """Title for people."""
    root: str = "."
    """Folder that the paths below are relative to, itself relative to the file's folder."""
    about: About = Field(default_factory=About)
    """Texts of the page about the campaign; default: there is no such page."""
    url: str = ""
    """Address by which people reach the server; default: where it listens."""
    cors: bool = False
    """Let scripts of other sites read public data: JSON, tables, Zarr."""
    folder: str = "state"
    """Folder of accounts, submissions and stores, relative to this file's folder."""
    database: str = ""
    """Address of a PostgreSQL database, such as postgresql+psycopg://mirflow@localhost/chords; by default campaign.db,
    SQLite's, in the folder."""
    rules: str = "1"
    """Version of the rules; every submission records the one that it was scored by."""
    plugins: list[str] = Field(default_factory=list)
    """Python files, relative to this file, or modules that declare tasks and readers: they are run."""
    evaluations: list[Evaluation] = Field(default_factory=list)
    """As in a pipeline; `estimates` is relative to what is submitted, and the system is the submission."""
    splits: dict[Annotated[str, AfterValidator(identifier)], Split] = Field(default_factory=dict)
    """Parts of the tracks."""
    opens: Beginning | None = None
    """Time from which on submissions are taken, with its zone, or the first day in UTC."""
    closes: End | None = None
    """Time until which submissions are taken, with its zone, or the last day in UTC."""
    visibility: Visibility = "private"
    """Of a new submission: private, lab (the lab of its account; private where it has none) or public."""
    limits: Limits = Field(default_factory=Limits)
    """Limits of an upload."""
    keep_addresses: int = Field(default=90, ge=0)
    """Days for which the audit log keeps the network addresses of logins."""
    execution: Execution = Field(default_factory=Execution)
    """Execution of scoring."""
    stores: list[str] = Field(default_factory=list)
    """Stores to browse beside, relative to root."""
    without_references: bool = False
    """Of these stores: no timelines, and no messages that may quote a reference."""
    only_aggregates: bool = False
    """Of these stores: no scores by track, and no names of tracks."""
    archive: str = ""
    """A table of years, as for `mirflow archive`, relative to root; default: the years of the stores' systems."""
    audio: AudioFiles | None = None
    """Recordings of the tracks."""
    grading: list[GradingRound] = Field(default_factory=list)
    """Rounds of grading."""
    planning: Planning | None = None
    """Rounds that organisers plan on the pages; default: none."""
    notifications: Notifications | None = None
    """Messages on what happens to submissions; default: none."""

    @model_validator(mode="after")
    def _check(self) -> Campaign:
        if bool(self.evaluations) != bool(self.splits):
            raise ValueError("needs evaluations and splits, or neither of them")
        if not (self.evaluations or self.stores or self.grading or self.planning):
            raise ValueError("names nothing to serve: evaluations with splits, stores, grading, or planning")
        _demand_order(self.opens, self.closes)
        return self

    def window(self, split: str) -> tuple[dt.datetime | None, dt.datetime | None]:
        """The times between which submissions to a split are taken; None: since ever, or without an end."""
        own = self.splits[split]
        frozen = None if own.final is None else own.final.frozen
        ends = [one for one in (own.closes or self.closes, frozen) if one is not None]
        return own.opens or self.opens, min(ends, default=None)

    def embargo(self, splits: Iterable[str], now: dt.datetime) -> dt.datetime | None:
        """The time from which on a system that is sent to some splits may be public; None: from now on."""
        ends = [self.splits[one].embargo for one in splits if one in self.splits]
        return max((end for end in ends if end is not None and end > now), default=None)


def load_campaign(path: str | Path) -> Campaign:
    """Read a campaign file, and import its plugins; raises all problems of its form at once.

    No other file that it names is looked for.
    """
    document = read_document(path)
    campaign, problems = validate(document, Campaign, "campaign")
    import_plugins(document, Path(absolute(str(path))).parent, problems)
    if campaign is not None:
        problems += [document.problem(place, why) for place, why in _unfit(campaign)]
    if campaign is None or problems:
        raise PipelineError(problems, path)
    return campaign


def campaign_digest(path: str | Path) -> str:
    """The SHA-256 of a campaign file; empty where it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def demand_unedited(path: str | Path, digest: str) -> None:
    """Refuse to go on with a campaign file that is another one than at the start."""
    if campaign_digest(path) != digest:
        why = "was edited since the worker began: start server and worker again, so that both go by it, or put it back"
        raise PipelineError([Problem("", why)], path)


def _unfit(campaign: Campaign) -> Iterator[Trouble]:
    """Problems of a campaign with what only a pipeline may hold."""
    names: set[str] = set()
    for position, evaluation in enumerate(campaign.evaluations):
        place = "evaluations", position
        estimates = evaluation.estimates.path
        if evaluation.name in names:
            yield (*place, "name"), f"another evaluation has the name {evaluation.name!r}; give this one its own"
        names.add(evaluation.name)
        if evaluation.systems is not None:
            yield (*place, "systems"), "the systems are the submissions; leave it out"
        if "system" in Pattern(estimates).names:
            yield (
                (*place, "estimates"),
                f"{estimates!r}: is relative to a submission, which is the {{system}}; leave it out",
            )
        if Path(estimates).is_absolute() or ".." in Path(estimates).parts:
            yield (*place, "estimates"), f"{estimates!r}: must lie within what is submitted"
        if estimates.endswith(".zarr"):
            yield (*place, "estimates"), f"{estimates!r}: packs are not taken from strangers; files are"
        try:
            audio = kind_of(evaluation.task).name == "audio"
        except UnknownNameError as error:
            yield (*place, "task"), str(error)
        else:
            if audio:
                yield (*place, "task"), f"{evaluation.task}: its estimates are audio, which is not taken from strangers"
    for at, one in enumerate(campaign.grading):
        if one.name in {other.name for other in campaign.grading[:at]}:
            yield ("grading", at, "name"), f"another round has the name {one.name!r}; give this one its own"
    if campaign.audio is not None and "track" not in Pattern(campaign.audio.pattern).names:
        yield ("audio", "pattern"), f"has no {{track}}: {campaign.audio.pattern!r}"


def make_round(given: Mapping[str, Any], path: str | Path | None = None) -> GradingRound:
    """A round of grading of plain values, as a campaign file would have it.

    Parameters
    ----------
    path : path or None
        The file in messages.
    """
    made, problems = validate(Document(data=dict(given)), GradingRound, "the keys of a round")
    if made is None or problems:
        raise PipelineError(problems, path)
    return made


def json_schema() -> dict[str, Any]:
    """The JSON Schema of campaign files, for editors."""
    return schema_of(Campaign)


def is_campaign(path: str | Path) -> bool:
    """True if a path is a YAML file, which a store never is."""
    return Path(path).suffix.lower() in (".yaml", ".yml")


def plugin_addresses(path: str | Path, campaign: Campaign) -> list[str]:
    """Absolute paths of the Python files, and names of the modules, that declare tasks and readers."""
    folder = Path(absolute(str(path))).parent
    return [plugin_address(one, folder) for one in campaign.plugins]


def split_root(path: str | Path, campaign: Campaign, split: str) -> Path:
    """The folder that the paths of the evaluations are relative to in a split; perhaps this host does not have it."""
    return Path(absolute(str(path))).parent / campaign.root / campaign.splits[split].root


def state_folder(path: str | Path, campaign: Campaign) -> Path:
    """The folder of accounts, submissions and stores."""
    return Path(absolute(str(path))).parent / campaign.folder


def with_estimates(evaluation: Mapping[str, Any], path: str) -> dict[str, Any]:
    """An evaluation, as a campaign file has it, with another path of its estimates."""
    side = evaluation["estimates"]
    return {**evaluation, "estimates": {**(side if isinstance(side, Mapping) else {}), "path": path}}


def reading_name(split: str, evaluation: str) -> str:
    """Path of the readings of a system for an evaluation, below the system's folder."""
    return f"{split}/{evaluation}.readings"


def pipeline_of(
    path: str | Path,
    split: str,
    readings: Path,
    systems: Sequence[str] | None = None,
    *,
    evaluations: Collection[str] | None = None,
    shown: bool = False,
) -> str:
    """Write the text of the pipeline that scores submissions on a split.

    Parameters
    ----------
    path : path
        The campaign file.
    readings : Path
        Folder with what was read of each system, see :func:`reading_name`.
    systems : sequence of str or None
        None: all that there are; a single one is looked for in its own folder, however many there are.
    evaluations : collection of str or None
        Names of some evaluations; None: all.
    shown : bool
        Whether other people read the text: its root is then ".", and not a folder of this host.
    """
    campaign, data = load_campaign(path), read_document(path).data
    root = split_root(path, campaign, split)
    place = os.path.relpath(readings, root).replace(os.sep, "/")
    system = systems[0] if systems is not None and len(systems) == 1 else "{system}"
    written = []
    for evaluation, given in zip(campaign.evaluations, data["evaluations"], strict=True):
        if evaluations is not None and evaluation.name not in evaluations:
            continue
        made = with_estimates(given, f"{place}/{system}/{reading_name(split, evaluation.name)}")
        listed = {} if systems is None else {"systems": list(systems)}
        written.append({**made, **listed, "on_error": "record"})
    return dump_document(
        {
            "name": split,
            "root": "." if shown else str(root),
            **({"plugins": campaign.plugins} if campaign.plugins else {}),
            "evaluations": written,
            "store": f"{split}.zarr",
            "execution": campaign.execution.model_dump(),
        }
    )


def reference_tracks(
    path: str | Path,
    campaign: Campaign,
    split: str,
    open_pack: OpenPack | None = None,
    folders: set[str] | None = None,
) -> dict[str, list[dict[str, str]]]:
    """Find the references of a split: by evaluation the values of their placeholders, such as the track.

    Where a column of the tracks' metadata has the language of the estimates, its value is under the column's name in
    braces. The folders of the references are added to `folders`.
    """
    document, root = read_document(path), split_root(path, campaign, split)
    found: dict[str, list[dict[str, str]]] = {}
    problems: list[Problem] = []
    if not root.is_dir():
        raise PipelineError([document.problem(("splits", split, "root"), f"there is no folder {str(root)!r}")], path)
    for position, evaluation in enumerate(campaign.evaluations):
        troubles: list[Trouble] = []
        resolved = resolve(evaluation, str(root), str(Path(absolute(str(path))).parent))
        if isinstance(resolved, Resolved):
            places = find_references(evaluation, resolved, str(root), open_pack, troubles, folders)
            found[evaluation.name] = places
            try:
                add_languages(evaluation, resolved, str(root), places)
            except MetadataError as error:
                troubles.append((("tracks",), str(error)))
        else:
            troubles = resolved
        problems += [
            document.problem(("evaluations", position, *step), f"{why} (split {split})") for step, why in troubles
        ]
    if problems:
        raise PipelineError(problems, path)
    return found


@dataclass(frozen=True)
class CampaignCheck:
    """Contents that a campaign file leads to."""

    tracks: Mapping[str, Mapping[str, int]]
    """Number of tracks with a reference, by split and evaluation."""
    notes: tuple[str, ...]
    """What is taken as it is, but should be looked at."""


def check_campaign(path: str | Path, open_pack: OpenPack | None = None) -> CampaignCheck:
    """Look whether everything that a campaign file names is there, on the host that scores."""
    campaign, document = load_campaign(path), read_document(path)
    beside = Path(absolute(str(path))).parent
    problems: list[Problem] = []
    tracks: dict[str, dict[str, set[str]]] = {}
    for split in campaign.splits:
        try:
            found = reference_tracks(path, campaign, split, open_pack)
        except PipelineError as error:
            problems += error.problems
            continue
        tracks[split] = {name: {place.get("track", "") for place in places} for name, places in found.items()}
    problems += [document.problem(("splits", name), why) for name, why in _shared_tracks(tracks)]
    folder = state_folder(path, campaign)
    nearest = next(one for one in (folder, *folder.parents) if one.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        problems.append(document.problem(("folder",), f"{str(folder)!r} cannot be written"))
    for position, store in enumerate(campaign.stores):
        if not (beside / campaign.root / store / "zarr.json").is_file():
            problems.append(document.problem(("stores", position), f"there is no store {store!r}"))
    if campaign.archive and not (beside / campaign.root / campaign.archive).is_file():
        problems.append(document.problem(("archive",), f"there is no file {campaign.archive!r}"))
    for position, one in enumerate(campaign.grading):
        for key in ("queries", "candidates", *(("consent",) if one.consent else ())):
            if not (beside / campaign.root / getattr(one, key)).is_file():
                why = f"there is no file {getattr(one, key)!r}"
                problems.append(document.problem(("grading", position, key), why))
    for position, table in enumerate(campaign.planning.pieces if campaign.planning is not None else ()):
        if not (beside / campaign.root / table).is_file():
            problems.append(document.problem(("planning", "pieces", position), f"there is no file {table!r}"))
    if problems:
        raise PipelineError(problems, path)
    counts = {split: {name: len(own) for name, own in found.items()} for split, found in tracks.items()}
    silent = [] if campaign.audio is None else _without_recording(path, campaign, campaign.audio, tracks)
    return CampaignCheck(counts, (*_notes(campaign), *silent))


def _without_recording(
    path: str | Path, campaign: Campaign, audio: AudioFiles, tracks: Mapping[str, Mapping[str, set[str]]]
) -> Iterator[str]:
    """Splits some of whose tracks nobody can listen to, here."""
    pattern = Pattern(audio.pattern)
    if pattern.names != ("track",):
        return
    for split, found in tracks.items():
        own, root = sorted(set().union(*found.values())), split_root(path, campaign, split)
        missing = [name for name in own if not (root / audio.pattern.replace("{track}", name)).is_file()]
        if missing:
            some = ", ".join(map(repr, missing[:3])) + (", ..." if len(missing) > 3 else "")
            yield f"audio: {len(missing)} of {len(own)} tracks of {split} have no recording here: {some}"


def _shared_tracks(tracks: Mapping[str, Mapping[str, set[str]]]) -> Iterator[tuple[str, str]]:
    """Tracks of two splits: what is told of one of them would tell of the other."""
    splits = list(tracks)
    for place, split in enumerate(splits):
        for other in splits[:place]:
            mine, theirs = (set().union(*tracks[name].values()) for name in (split, other))
            both = sorted(mine & theirs)
            if both:
                some = ", ".join(map(repr, both[:3])) + (", ..." if len(both) > 3 else "")
                yield split, f"has {len(both)} tracks of the split {other}: {some}; a track belongs to one split"


def _notes(campaign: Campaign) -> Iterator[str]:
    for name, split in campaign.splits.items():
        if split.hidden and split.quota is None:
            yield f"splits.{name}: is hidden without a quota: many submissions can find out its references"
        if split.hidden and split.ladder is None:
            yield f"splits.{name}: is hidden without a ladder: scores that hardly differ tell of single tracks"
        if not split.hidden and (split.ladder is not None or split.round is not None):
            yield f"splits.{name}: round and ladder are for hidden splits; its scores are shown as they are"
