"""The files of `deploy` and the Dockerfile name commands and options that there are."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from mirflow.campaign.file import Limits
from mirflow.cli import cli

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
VALUES = {
    "HOST_NAME": "results.example",
    "CAMPAIGN": "/srv/mirflow",
    "REFERENCES": "/srv/references",
    "DATABASE_PASSWORD": "x",
}


def accept(words: list[str]) -> dict[str, Any]:
    """The parameters of a command line, which the command takes; files need not be there."""
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None, name
        command, context = found, click.Context(found, parent=context)
    for parameter in command.params:
        if isinstance(parameter.type, click.Path):
            parameter.type = click.Path()
    return command.make_context(command.name, words, parent=context.parent).params


@pytest.fixture(autouse=True)
def _paths_are_checked_again() -> Iterator[None]:
    """Give commands back the types of their parameters."""
    group = cli.get_command(click.Context(cli), "serve")
    assert isinstance(group, click.Group)
    before = [(one, one.type) for command in group.commands.values() for one in command.params]
    yield
    for parameter, kind in before:
        parameter.type = kind


def entries(unit: Path) -> dict[str, list[str]]:
    """Settings of a unit with their values."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def compose() -> dict[str, Any]:
    """The compose file with values in place of its variables."""
    text = (DEPLOY / "compose.yaml").read_text()

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[2] or ""
        return VALUES.get(name) or default.removeprefix(":-")

    found: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{(\w+)(:[-?][^}]*)?\}", value, text))
    return found


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_units_run_commands_that_there_are_under_an_account(unit: Path) -> None:
    settings = entries(unit)
    (line,) = settings["ExecStart"]
    program, *words = shlex.split(line)
    assert program.endswith("/bin/mirflow")
    taken = accept(words)
    campaign = taken.get("campaign") or taken["paths"][0]
    assert str(campaign) == "/srv/mirflow/campaign.yaml"
    assert settings["User"] == ["mirflow"]
    assert settings["Restart"] == ["on-failure"]
    assert settings["NoNewPrivileges"] == ["true"]
    assert settings["ReadWritePaths"] == ["/srv/mirflow/state"]


def test_the_server_sees_no_references() -> None:
    server, worker = (entries(DEPLOY / f"mirflow-{name}.service") for name in ("server", "worker"))
    assert server["InaccessiblePaths"] == ["-/srv/references"]
    assert "InaccessiblePaths" not in worker
    services = compose()["services"]
    assert not [one for one in services["server"]["volumes"] if "references" in one]
    assert "/srv/references:/srv/references:ro" in services["worker"]["volumes"]


def test_a_job_at_its_own_limit_of_memory_leaves_room_for_the_worker() -> None:
    settings = entries(DEPLOY / "mirflow-worker.service")
    (most,) = settings["MemoryMax"]
    assert most.endswith("G")
    limits = Limits()
    margin = int(most.removesuffix("G")) * 2**30 - max(limits.scoring_memory, limits.memory)
    assert margin >= 2 * 10**9
    assert settings["OOMPolicy"] == ["continue"]  # else systemd stops the worker when the kernel ends a job
    shown = f"{limits.scoring_memory // 10**9} GB"
    for text in (DEPLOY / "mirflow-worker.service", ROOT / "docs" / "serve.md"):
        assert shown in text.read_text()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_the_units(unit: Path, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not installed")
    program = shutil.which("true")
    text = unit.read_text().replace("/opt/mirflow/bin/mirflow", str(program))
    (tmp_path / unit.name).write_text(text.replace("Wants=network-online.target mirflow-worker.service", ""))
    done = subprocess.run([analyze, "verify", "--man=no", tmp_path / unit.name], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_containers_run_commands_that_there_are() -> None:
    services = compose()["services"]
    server = accept(services["server"]["command"])
    assert (server["no_worker"], server["host"]) == (True, "0.0.0.0")
    assert server["base_url"] == "https://results.example"
    (network,) = compose()["networks"]["proxied"]["ipam"]["config"]
    assert server["proxies"] == (network["subnet"],)
    assert str(accept(services["worker"]["command"])["campaign"]) == "/srv/campaign/campaign.yaml"


def test_the_example_has_all_values_that_are_needed() -> None:
    given = re.findall(r"^(\w+)=", (DEPLOY / "example.env").read_text(), re.MULTILINE)
    named = re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text())
    assert set(named) == set(given)


def test_the_proxy_leads_to_the_server() -> None:
    text = (DEPLOY / "Caddyfile").read_text()
    assert "reverse_proxy server:8765" in text
    assert "{$HOST_NAME}" in text
    assert set(compose()["services"]) == {"server", "worker", "database", "proxy"}


def test_the_image_can_serve() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert "[report,serve]" in text
    assert 'ENTRYPOINT ["mirflow"]' in text
