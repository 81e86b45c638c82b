"""Shared code of the checks: an offence with its location, the project's files, and the closing line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Offence:
    """A violation of a rule at a line, printed in the format that editors parse: `path:line: what is wrong`."""

    path: Path
    line: int
    wrong: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.wrong}"


def project_files(root: Path, *suffixes: str) -> Iterator[Path]:
    """Return all files of the project with these suffixes, without those in .gitignore. Does not need git."""
    ignored = ignored_patterns(root)
    for folder, subfolders, names in os.walk(root):
        place = Path(folder).relative_to(root)
        subfolders[:] = sorted(name for name in subfolders if not is_ignored(place / name, ignored))
        for name in sorted(names):
            if name.endswith(suffixes or "") and not is_ignored(place / name, ignored):
                yield root / place / name


def ignored_patterns(root: Path) -> list[str]:
    file = root / ".gitignore"
    lines = file.read_text().splitlines() if file.exists() else []
    return [".git", *(line.strip().strip("/") for line in lines if line.strip() and not line.startswith("#"))]


def is_ignored(place: Path, patterns: list[str]) -> bool:
    return any(place.match(pattern) for pattern in patterns)


def report(offences: Iterable[Offence], root: Path) -> int:
    """Print every offence; return the exit code."""
    found = list(offences)
    for offence in found:
        print(Offence(offence.path.relative_to(root), offence.line, offence.wrong))
    return 1 if found else 0
