"""What the checking tools share: an offence with its place, the project's files, and the closing line."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Offence:
    """A house rule broken at a line; prints as editors like it, `path:line: what is wrong`."""

    path: Path
    line: int
    wrong: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.wrong}"


def project_files(root: Path, *suffixes: str) -> list[Path]:
    """All files of the project, those not yet committed included and those ignored by git left out."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    files = [root / name for name in sorted(set(names)) if name.endswith(suffixes or "")]
    return [file for file in files if file.is_file()]


def report(offences: Iterable[Offence], root: Path) -> int:
    """Print every offence; the result is the exit code."""
    found = list(offences)
    for offence in found:
        print(Offence(offence.path.relative_to(root), offence.line, offence.wrong))
    return 1 if found else 0
