"""Pages as sequences of examples, and what it takes to run them: see test_docs.py for what is promised.

Of the fenced blocks of a page

- Python with ``>>>`` is a doctest; without ``>>>`` it is run;
- what begins with ``$ `` is run by a shell, and its output compared; ``...`` matches anything;
- commands of ``mirflow`` without ``$ `` are run, and YAML is validated against the models of the project's files.

Beside them,

- ``<!-- file: NAME -->`` above a block: its text is that of a file that the reader saves under this name;
- ``<!-- not executed: WHY -->`` above a block: it cannot be run here;
- ``<!-- needs: PACKAGE -->`` above a block: it is run if that package is installed, as `.ci/run` does for these pages;
- ``<!-- before`` ... ``-->``: Python that makes names of the reader's own for the block below;
- ``<!-- made: NAME CAPTION -->`` below a block: the picture or page that its commands make, for the built page;
- ``<!-- tile: NAME TITLE -->`` below a block: the same in the gallery; ``bash`` blocks run only in the build.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from mirflow.campaign.file import Campaign
from mirflow.cli import cli
from mirflow.pipeline import Evaluation, Pipeline
from mirflow.published.benchmark_file import Benchmark
from mirflow.published.mapping import TableMapping

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(
    r"^(?:<!-- before\n(?P<before>.*?)^-->\n+)?(?:<!-- (?P<mark>file|not executed|needs): (?P<said>[^\n]*?) -->\n+)?"
    r"^```(?P<language>[^\n`]*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_HEADING = re.compile(r"^(#{2,3}) (.*)$", re.MULTILINE)
_SHELL = re.compile(r"[|<>&;]")
_TIME = re.compile(r"\b\d+\.\d+ s(?=\)$|, serial\)$|, processes\)$)|\b\d{4}-\d\d-\d\dT[\d:+]+", re.MULTILINE)

_PROGRESS = re.compile(r"^(?:[a-z][a-z ]* \.\.\.|\d+/\d+ tracks, \d+/s, \d+ s left)\n", re.MULTILINE)
"""Lines of :class:`mirflow.progress.Lines`, which appear where a machine is slow."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, with the line on which it begins, and the headings above it."""

    line: int
    chapter: str
    section: str
    language: str
    body: str
    file: str
    not_executed: str
    needs: str
    before: str

    @property
    def is_console(self) -> bool:
        """Whether it shows commands."""
        return self.language in ("", "console", "sh") and self.body.startswith(("$ ", "mirflow "))

    @property
    def is_example(self) -> bool:
        """Whether a test looks at it."""
        return self.is_console or self.language in ("python", "yaml")


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text()
    headings = [(match.start(), len(match[1]), match[2]) for match in _HEADING.finditer(text)]

    def last(block: re.Match[str], depth: int) -> str:
        return next((name for at, level, name in headings[::-1] if at < block.start() and level <= depth), "")

    return [
        Block(
            text.count("\n", 0, found.start("body")),
            last(found, 2),
            last(found, 3),
            found["language"],
            found["body"],
            found["said"] if found["mark"] == "file" else "",
            found["said"] if found["mark"] == "not executed" else "",
            found["said"] if found["mark"] == "needs" else "",
            found["before"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]


def commands(body: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output that the page shows."""
    if not body.startswith("$ "):  # nothing but commands
        body = re.sub(r"^(?=mirflow )", "$ ", re.sub(r" +# .*$", "", body, flags=re.MULTILINE), flags=re.MULTILINE)
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, shown = re.split(r"(?<!\\)\n", part, maxsplit=1)
        yield command.replace("\\\n", " ").strip(), shown


def run(command: str) -> tuple[str, int]:
    """What a command prints on both streams, and its exit code."""
    if command.startswith("mirflow ") and not _SHELL.search(command):
        result = CliRunner().invoke(cli, shlex.split(command)[1:], env={"COLUMNS": "120"})
        return result.output, result.exit_code
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": path, "COLUMNS": "120"},
        check=False,
    )
    return done.stdout, done.returncode


def is_shown(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; ``...`` stands for anything.

    Times, folders and the progress of slow machines do not matter.
    """
    pattern = re.escape(_plain(shown)).replace(r"\.\.\.", ".*?")
    return re.fullmatch(pattern, _plain(_PROGRESS.sub("", printed)), re.DOTALL) is not None


def _plain(text: str) -> str:
    text = _TIME.sub("TIME", text).replace(f"{Path.cwd()}/", "")
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def check_yaml(body: str) -> None:
    """Validate a benchmark, a mapping, a pipeline, or keys of a pipeline or of an evaluation, against the model.

    Raises
    ------
    ValueError
        If the model refuses it.
    """
    if body.startswith("campaign:"):
        Campaign.model_validate(yaml.safe_load(body))
        return
    if body.startswith("benchmark:"):
        Benchmark.model_validate(yaml.safe_load(body))
        return
    if "groups:" in body:
        TableMapping.model_validate(yaml.safe_load(body))
        return
    for entry in _entries(body):
        if isinstance(entry, list):
            for evaluation in entry:
                Evaluation.model_validate(_evaluation() | evaluation)
        elif "evaluations" in entry:
            found = [_evaluation() | evaluation for evaluation in entry["evaluations"]]
            Pipeline.model_validate(_pipeline() | entry | {"evaluations": found})
        elif set(entry) <= set(Pipeline.model_fields) - {"name"}:
            Pipeline.model_validate(_pipeline() | entry)
        else:
            Evaluation.model_validate(_evaluation() | entry)


def _entries(body: str) -> Iterator[Any]:
    """Top-level entries one by one: a page may show several forms of one key below each other."""
    if body.startswith("- ") or "evaluations:" in body:
        yield yaml.safe_load(body)
        return
    for part in re.split(r"^(?=[A-Za-z_])", body, flags=re.MULTILINE):
        entry = yaml.safe_load(part)
        if entry is not None:
            yield entry


def _evaluation() -> dict[str, object]:
    return {"task": "chord", "reference": "reference/{track}.lab", "estimates": "estimates/{system}/{track}.lab"}


def _pipeline() -> dict[str, object]:
    return {"name": "x", "store": "stores/x.zarr", "evaluations": [_evaluation()]}


def run_evaluation(name: str, pipeline: str, group: str, metrics: list[str]) -> None:
    """Make a store of one evaluation of a pipeline, with other metrics, in the working directory."""
    data = yaml.safe_load(Path(pipeline).read_text())
    (evaluation,) = (one for one in data["evaluations"] if one.get("name", one["task"]) == group)
    renamed = {**evaluation, "name": evaluation["task"], "metrics": metrics}
    path = Path(pipeline).with_name(f"{name}.yaml")
    path.write_text(yaml.safe_dump({**data, "evaluations": [renamed], "store": f"../stores/{name}.zarr"}))
    run(f"mirflow run {path} --quiet")


def sample_files() -> None:
    """The files that pages about reading name, in the working directory."""
    import jams
    import mido
    import numpy as np
    import soundfile

    texts = {
        "refs/a.lab": "0.0 2.0 C:maj\n2.0 4.0 G:7\n",
        "refs/a.txt": "0.0 1\n0.5 2\n1.0 1\n",
        "refs/a.csv": "start,end,pitch,t,f0,confidence\n0.0,0.5,60,0.00,220.0,0.9\n0.5,1.0,62,0.01,221.0,0.8\n",
        "refs/a_coarse.lab": "0.0 4.0 A\n",
        "refs/a_fine.lab": "0.0 2.0 a\n2.0 4.0 b\n",
    }
    for name, text in texts.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    whole = jams.JAMS(file_metadata=jams.FileMetadata(duration=4.0))
    for namespace, value in (("chord", "C:maj"), ("key_mode", "C:major")):
        annotation = jams.Annotation(namespace, duration=4.0)
        annotation.annotation_metadata.annotator.id = "A1"
        annotation.append(time=0.0, duration=4.0, value=value)
        whole.annotations.append(annotation)
    Path("refs/a.jams").write_text(whole.dumps())
    melody = mido.MidiTrack([mido.Message("note_on", note=60), mido.Message("note_off", note=60, time=480)])
    mido.MidiFile(tracks=[melody]).save("refs/a.mid")
    noise = np.random.default_rng(0).normal(size=(2, 44100)) / 8
    for folder in ("stems", "ref/song", "est/song"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for source, samples in zip(("drums", "vocals"), noise, strict=True):
            soundfile.write(f"{folder}/{source}.wav", samples, 44100)


def signed_webhook(campaign: str) -> tuple[str, dict[str, str], bytes]:
    """Secret, headers and body of a webhook's request about a scored submission."""
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    from mirflow.campaign.file import Webhook
    from mirflow.campaign.server.service import open_service
    from mirflow.campaign.server.submissions.notifications import Message, WebhookCourier

    requests: list[tuple[dict[str, str], bytes]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    secret = "whsec_" + "c2VjcmV0" * 5
    service = open_service([campaign])
    page = service.origin + service.links.url("submission", submission="5f0c2a")
    message = Message("msg_1", "submission.scored", service.clock(), service.title, "was scored", page, "5f0c2a", "oak")
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        hook = Webhook(url=f"http://127.0.0.1:{server.server_port}/", secret="HOOK_SECRET")
        WebhookCourier(hook, secret).send(message, service.clock())
        thread.join()
    service.database.close()
    ((headers, body),) = requests
    return secret, headers, body


def sample_lyrics() -> None:
    """Lyrics of two songs and their transcriptions, in the working directory."""
    for name, text in {
        "text/song1.txt": "Don't go, my love\nWait for me!\n\n(Wait for me)\n",
        "text/song2.txt": "Geht's dir gut, mein Freund?\nSag ja\n",
        "asr/song1.txt": "dont go my love\nwait for me\nwait for me\n",
        "asr/song2.txt": "Geht es dir gut, mein Freund\nSag ja\n",
        "songs.csv": "track,language\nsong1,en\nsong2,de\n",
    }.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)


def sample_runs() -> None:
    """Beats of twelve tracks by five runs of two models, in the working directory."""
    import numpy as np

    rng = np.random.default_rng(1)
    for track in range(12):
        beats = np.arange(0.5, 60, 0.5) + rng.normal(0, 0.01, 119)
        estimates = {
            f"est/{model}/seed{seed}": np.maximum(beats + rng.normal(0, spread * (1 + 0.05 * seed), 119), 0)
            for model, spread in (("small", 0.05), ("large", 0.04))
            for seed in range(5)
        }
        for folder, times in {"ref": beats, **estimates}.items():
            Path(folder).mkdir(parents=True, exist_ok=True)
            Path(folder, f"t{track:02}.txt").write_text("".join(f"{time:.3f}\n" for time in np.sort(times)))


def serve(*stores: str, port: int) -> subprocess.Popen[bytes]:
    """Start a server of results, which is killed at the latest at the end of the process."""
    import atexit
    import time
    import urllib.request

    command = [sys.executable, "-m", "mirflow", "serve", *stores, "--port", str(port)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    atexit.register(server.kill)
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health").close()
            break
        except OSError:
            time.sleep(0.2)
    return server
