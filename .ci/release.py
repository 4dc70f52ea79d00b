"""Prepare a release: fill in where the project lives, check a tag, print its notes, try a wheel, compare the interface.

    python .ci/release.py fill https://forge.example/lab/mirflow security@forge.example
    python .ci/release.py check v0.1.0
    python .ci/release.py notes v0.1.0
    python .ci/release.py smoke dist/mirflow-0.1.0-py3-none-any.whl
    python .ci/release.py interface [TAG]

Each ends with 1 and says what is wrong if something is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME, MAIL = "https://example.org/mirflow", "security@example.org"
"""What stands where the address of the project and of its maintainers will."""

_NAMES = "mirflow/__init__.py"


def main() -> None:
    """Run one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    filling = steps.add_parser("fill", help="write the address of the project where its placeholder stands")
    filling.add_argument("home")
    filling.add_argument("mail")
    steps.add_parser("check", help="compare a tag with the versions in all files").add_argument("tag")
    steps.add_parser("notes", help="print the changes of a version").add_argument("tag")
    steps.add_parser("smoke", help="install a wheel in an empty environment and use it").add_argument(
        "wheel", type=Path
    )
    comparing = steps.add_parser("interface", help="compare public names with those of an earlier tag")
    comparing.add_argument("tag", nargs="?", help="default: the last one")
    given = vars(parser.parse_args())
    flaws = {"fill": fill, "check": check, "notes": notes, "smoke": smoke, "interface": interface}[given.pop("step")](
        **given
    )
    for flaw in flaws:
        print(flaw, file=sys.stderr)
    sys.exit(bool(flaws))


def fill(home: str, mail: str) -> list[str]:
    """Replace the placeholders in every file of the repository but this one."""
    if not re.fullmatch(r"https://[^\s/]+/\S*[^/\s]", home) or not re.fullmatch(r"[^@\s]+@[^@\s]+", mail):
        return [f"expected a URL and a mail address: {home!r}, {mail!r}"]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path == Path(__file__).resolve() or not path.is_file():
            continue
        data = path.read_bytes()
        filled = data.replace(HOME.encode(), home.encode()).replace(MAIL.encode(), mail.encode())
        if filled != data:
            path.write_bytes(filled)
            print(name)
    return []


def version() -> str:
    """The version of the package."""
    found: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return found


def check(tag: str) -> list[str]:
    """Say which files do not have the version of a tag, and whether placeholders are left."""
    asked, flaws = tag.removeprefix("v"), []
    stated = {
        "pyproject.toml": version(),
        "CITATION.cff": _find(r"^version: (\S+)$", "CITATION.cff"),
        "recipe/meta.yaml": _find(r'^{% set version = "(.+)" %}$', "recipe/meta.yaml"),
        ".zenodo.json": json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))["version"],
        "CHANGELOG.md": _find(r"^## (\d\S*) \(\d{4}-\d\d-\d\d\)$", "CHANGELOG.md"),
    }
    flaws += [f"{name}: has {found or 'no version'}, not {asked}" for name, found in stated.items() if found != asked]
    if HOME in (ROOT / "pyproject.toml").read_text(encoding="utf-8"):
        flaws.append(f"pyproject.toml: has the placeholder {HOME}; `python .ci/release.py fill URL MAIL` replaces it")
    return flaws


def _find(pattern: str, name: str) -> str:
    """The first group of a pattern in a file; empty if it is not there."""
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


def notes(tag: str) -> list[str]:
    """Print what is new in a version, up to the details."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(
        rf"^## {re.escape(tag.removeprefix('v'))}\b.*?\n(.*?)(?=^###? |\Z)", text, re.MULTILINE | re.DOTALL
    )
    if section is None or not section[1].strip():
        return [f"CHANGELOG.md: has no notes of {tag}"]
    print(section[1].strip())
    return []


def smoke(wheel: Path) -> list[str]:
    """Install a wheel in an empty environment, and run the example from a folder that holds nothing."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "environment")
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        scripts = environment / ("Scripts" if os.name == "nt" else "bin")
        subprocess.run([scripts / "pip", "install", "-q", f"{wheel.resolve()}[report,serve]"], check=True)
        for words in (["--version"], ["demo"], ["report", "mirflow-demo/stores/demo.zarr", "-o", "report.html"]):
            done = subprocess.run([scripts / "mirflow", *words], cwd=folder, capture_output=True, text=True)
            if done.returncode:
                return [f"mirflow {' '.join(words)} ended with {done.returncode}:\n{done.stderr}"]
        page = Path(folder, "report.html").stat().st_size
    print(f"{wheel.name}: installed, ran the example and wrote a report of {page / 1e6:.1f} MB")
    return []


def interface(tag: str | None) -> list[str]:
    """Say which public names were removed or changed since a tag, as griffe finds them."""
    if tag is None:
        listed = subprocess.run(
            ["git", "tag", "--sort=-v:refname"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        tag = next(iter(listed.stdout.split()), None)
    if tag is None:
        print("no tag to compare with")
        return []
    command = [sys.executable, "-m", "griffe", "check", "mirflow", "--against", tag, "--search", "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = [(done.stdout + done.stderr).strip() or f"griffe ended with {done.returncode}"] if done.returncode else []
    # Griffe does not follow names that are imported on first use.
    shown = subprocess.run(["git", "show", f"{tag}:{_NAMES}"], cwd=ROOT, capture_output=True, text=True, check=True)
    before, now = (
        set(re.findall(r"import (\w+) as \1$", text, re.MULTILINE))
        for text in (shown.stdout, (ROOT / _NAMES).read_text())
    )
    return [*found, *(f"{_NAMES}: {name}: Public name was removed" for name in sorted(before - now))]


if __name__ == "__main__":
    main()
