"""Campaigns of the fuzzer: cases drawn from a seed, and what came of them.

``python -m tests.fuzz.campaign --cases 50000 --seed 3 --keep found`` runs one and keeps the files of what it finds.
"""

from __future__ import annotations

import argparse
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mirflow.metrics.base import get_task, tasks

from .doors import doors_of, pass_through
from .inputs import Input, formats_of, mutate, options_of, valid


@dataclass(frozen=True)
class Case:
    """A pair of files at a door; its number and the campaign's seed tell all of it."""

    number: int
    door: str
    convention: str
    reference: Input
    estimate: Input
    options: Mapping[str, object]

    @property
    def name(self) -> str:
        """What to call it in messages."""
        file = f"{self.estimate.task} ({self.convention}) {self.estimate.suffix} {dict(self.options)}"
        return f"case {self.number}: {file} by {self.door}"

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Its two files in a folder."""
        paths = []
        for side, file in (("reference", self.reference), ("estimate", self.estimate)):
            paths.append(folder / f"{side}.{file.suffix}")
            paths[-1].write_bytes(file.data)
        return paths[0], paths[1]


@dataclass(frozen=True)
class Finding:
    """What must not come of a case, and where it came from."""

    case: Case
    error: str
    place: str


def draw(seed: int, number: int) -> Case:
    """A case of a campaign."""
    rng = np.random.default_rng([seed, number])
    names = tasks()
    task = names[number % len(names)]
    if task == "separation" and number % (10 * len(names)) != names.index(task):  # takes ten times as long as others
        task = "chord"
    suffix = str(rng.choice(formats_of(task)))
    reference, estimate = valid(task, suffix, rng), valid(task, suffix, rng)
    if rng.random() < 0.9:
        estimate = mutate(estimate, rng)
    if rng.random() < 0.3:
        reference = mutate(reference, rng)
    if rng.random() < 0.1:  # against itself everything matches
        reference = estimate
    door = str(rng.choice(doors_of(task, suffix)))
    convention = str(rng.choice(list(get_task(task).conventions)))
    return Case(number, door, convention, reference, estimate, options_of(task, suffix, rng))


def run(seed: int, numbers: range, folder: Path, outcomes: Counter[str] | None = None) -> Iterator[Finding]:
    """The findings of a campaign; `outcomes` counts what came of the other cases."""
    for number in numbers:
        case = draw(seed, number)
        paths = case.write(folder)
        try:
            told = pass_through(case.door, case.estimate.task, case.convention, *paths, case.options)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            yield Finding(case, f"{type(error).__name__}: {error}", f"{Path(last.filename).name}:{last.lineno}")
        else:
            if outcomes is not None:
                outcomes[told.split(":")[0]] += 1


def main() -> None:
    """Run a campaign and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    seen: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        numbers = range(options.first, options.first + options.cases)
        for finding in run(options.seed, numbers, Path(folder), outcomes):
            key = (finding.place, finding.error[:60])
            seen[key] += 1
            if seen[key] == 1:
                print(finding.case.name, finding.place, finding.error[:300], sep="\n    ", flush=True)
                if options.keep is not None:
                    kept = options.keep / str(finding.case.number)
                    kept.mkdir(parents=True, exist_ok=True)
                    finding.case.write(kept)
    for (place, error), count in seen.most_common():
        print(f"{count:6} {place} {error!r}")
    print(sum(seen.values()), "findings;", dict(outcomes))


if __name__ == "__main__":
    main()
