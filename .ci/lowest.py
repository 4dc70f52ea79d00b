"""Print requirements for pip: every dependency of mirflow and of its tests at its lower bound."""

import re
import tomllib
from pathlib import Path

TOOLS = ("import-linter", "mypy", "ruff", "types-PyYAML")
"""Not run by the tests; import-linter wants a later rich."""
BEYOND = ("pandas<3", "pyparsing<3.3")
"""Indirect ones, of which these xarray and matplotlib know no later versions."""

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
needed = dict.fromkeys((*project["dependencies"], *project["optional-dependencies"]["test"], *BEYOND))
for requirement in needed:
    if re.split(r"[\[<>=]", requirement)[0] not in TOOLS:
        print(requirement.replace(">=", "=="))
