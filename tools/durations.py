"""How long each file of tests takes: so what a run will take, and which files a short one has time for.

The figures that are shared stand in `tests/durations.json`; those of this machine's last whole run in `.tools`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SHARED = Path("tests/durations.json")
OWN = Path(".tools/durations.json")
# Collecting, the database server, and the first import of everything.
START_SECONDS = 30.0
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What one file costs: its tests, and the seconds that they took one after the other."""

    tests: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """What the files of tests cost where so many processes ran them side by side on so many cores."""

    cores: int = 2
    processes: int = 3
    files: Mapping[str, Cost] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Durations:
        """Read a record; an empty one where there is none."""
        try:
            stored = json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            return cls()
        files = {name: Cost(tests, seconds) for name, (tests, seconds) in stored["files"].items()}
        return cls(cores=stored["cores"], processes=stored["processes"], files=files)

    def write(self, path: Path) -> None:
        """Write the record, a line a file."""
        lines = [
            f"    {json.dumps(name)}: [{cost.tests}, {cost.seconds:.1f}]" for name, cost in sorted(self.files.items())
        ]
        head = f'{{\n  "cores": {self.cores},\n  "processes": {self.processes},\n  "files": {{\n'
        path.parent.mkdir(exist_ok=True)
        path.write_text(head + ",\n".join(lines) + "\n  }\n}\n")

    def below(self, places: Iterable[str]) -> Durations:
        """What is known of the files that these paths lead to; of all files where none is given."""
        roots = [place.partition("::")[0].rstrip("/") for place in places]
        files = {
            name: cost for name, cost in self.files.items() if not roots or any(_leads(root, name) for root in roots)
        }
        return Durations(cores=self.cores, processes=self.processes, files=files)

    def tests(self) -> int:
        """How many tests there are."""
        return sum(cost.tests for cost in self.files.values())

    def seconds(self, *, cores: int) -> float:
        """How long all files take on a machine with so many cores, the start included."""
        work = sum(cost.seconds for cost in self.files.values()) / self.processes
        return START_SECONDS + work * self.cores / cores

    def cheapest(self, seconds: float) -> Durations:
        """The files that fit into this time: of each folder the cheapest one, then those with the cheapest tests."""
        chosen = {min(each, key=lambda name: self.files[name].seconds) for each in by_folder(self.files).values()}
        for name in sorted(self.files, key=lambda name: self.files[name].seconds / self.files[name].tests):
            attempt = self._of(chosen | {name})
            if attempt.seconds(cores=self.cores) <= seconds:
                chosen.add(name)
        return self._of(chosen)

    def _of(self, names: Iterable[str]) -> Durations:
        files = {name: self.files[name] for name in names}
        return Durations(cores=self.cores, processes=self.processes, files=files)


def by_folder(files: Iterable[str]) -> dict[str, list[str]]:
    """Sort files into the folders that stand for a floor: `tests/worker`, `apps/storecrawl/tests/pages`."""
    folders = defaultdict(list)
    for name in files:
        before, _, after = name.partition("tests/")
        folders[f"{before}tests/{after.split('/')[0]}" if "/" in after else f"{before}tests"].append(name)
    return dict(folders)


def in_words(seconds: float) -> str:
    """A duration as one tells it: 40 seconds, 14 minutes."""
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} seconds"
    return f"{seconds / MINUTE:.0f} minutes"


def _leads(root: str, name: str) -> bool:
    return name == root or name.startswith(f"{root}/")
