"""The durations of test files: for predicting a run's duration, and for choosing the files of a short run.

The shared values are in `tests/durations.json`; those of this machine's last complete run are in `.tools`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SHARED = Path("tests/durations.json")
OWN = Path(".tools/durations.json")
# Collection, the database server, and the first import of everything.
START_SECONDS = 30.0
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one file: the number of its tests, and their seconds in total."""

    tests: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """The costs of test files, measured with a number of parallel processes on a number of cores."""

    cores: int = 2
    processes: int = 3
    files: Mapping[str, Cost] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Durations:
        """Read a record; an empty one if the file is missing."""
        try:
            stored = json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            return cls()
        files = {name: Cost(tests, seconds) for name, (tests, seconds) in stored["files"].items()}
        return cls(cores=stored["cores"], processes=stored["processes"], files=files)

    def write(self, path: Path) -> None:
        """Write the record, one line per file."""
        lines = [
            f"    {json.dumps(name)}: [{cost.tests}, {cost.seconds:.1f}]" for name, cost in sorted(self.files.items())
        ]
        head = f'{{\n  "cores": {self.cores},\n  "processes": {self.processes},\n  "files": {{\n'
        path.parent.mkdir(exist_ok=True)
        path.write_text(head + ",\n".join(lines) + "\n  }\n}\n")

    def below(self, places: Iterable[str]) -> Durations:
        """Return the costs of the files that match these paths; of all files if none is given."""
        roots = [place.partition("::")[0].rstrip("/") for place in places]
        files = {
            name: cost for name, cost in self.files.items() if not roots or any(_leads(root, name) for root in roots)
        }
        return self._with(files)

    def among(self, names: Collection[str]) -> Durations:
        """Return the costs of these files, without those that are not recorded."""
        return self._with({name: cost for name, cost in self.files.items() if name in names})

    def merge(self, measured: Durations) -> Durations:
        """Add files that were measured later, with any number of processes."""
        return self._with({**self.files, **measured.files})

    def tests(self) -> int:
        """Return the number of tests."""
        return sum(cost.tests for cost in self.files.values())

    def seconds(self, *, cores: int) -> float:
        """Return how long all files take on a machine with this many cores, including the start."""
        work = sum(cost.seconds for cost in self.files.values()) / self.processes
        return START_SECONDS + work * self.cores / cores

    def cheapest(self, seconds: float) -> Durations:
        """Return the files that fit into this time: the cheapest of each folder, then those with the cheapest tests.

        Files that take more than a tenth of the time are left out, because other processes could not share the work.
        """
        costs = {name: cost for name, cost in self.files.items() if cost.seconds <= seconds / 10}
        chosen = {min(each, key=lambda name: costs[name].seconds) for each in by_folder(costs).values()}
        for name in sorted(costs, key=lambda name: costs[name].seconds / costs[name].tests):
            attempt = self._of(chosen | {name})
            if attempt.seconds(cores=self.cores) <= seconds:
                chosen.add(name)
        return self._of(chosen)

    def _of(self, names: Iterable[str]) -> Durations:
        # Sorted, because processes must choose the same files, and the sum of floats depends on their order.
        return self._with({name: self.files[name] for name in sorted(names)})

    def _with(self, files: Mapping[str, Cost]) -> Durations:
        return Durations(cores=self.cores, processes=self.processes, files=files)


def by_folder(files: Iterable[str]) -> dict[str, list[str]]:
    """Group files by the folders that represent a layer: `tests/worker`, `apps/storecrawl/tests/pages`."""
    folders = defaultdict(list)
    for name in files:
        before, _, after = name.partition("tests/")
        folders[f"{before}tests/{after.split('/')[0]}" if "/" in after else f"{before}tests"].append(name)
    return dict(folders)


def in_words(seconds: float) -> str:
    """Format a duration: 40 seconds, 14 minutes."""
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} seconds"
    return f"{seconds / MINUTE:.0f} minutes"


def _leads(root: str, name: str) -> bool:
    return name == root or name.startswith(f"{root}/")
