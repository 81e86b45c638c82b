"""Type checkers find exactly the mistakes of a sample program."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests" / "types" / "sample"
FILES = sorted(str(path.relative_to(ROOT)) for path in SAMPLE.glob("*.py"))
FOUND = re.compile(r"(?P<file>[\w./-]+\.py):(?P<line>\d+):(\d+ -)? error: ?")
Place = tuple[str, int]

MYPY = [sys.executable, "-m", "mypy", "--strict", *FILES]
PYRIGHT = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(SAMPLE)]


@pytest.mark.parametrize("checker", [MYPY, PYRIGHT], ids=["mypy", "pyright"])
def test_type_checker_finds_exactly_the_expected_user_mistakes(checker: Sequence[str]) -> None:
    result = subprocess.run(checker, cwd=ROOT, check=False, capture_output=True, text=True, timeout=280)

    assert _found(result.stdout) == _marked(), result.stdout + result.stderr


def _found(result: str) -> set[Place]:
    return {(Path(each["file"]).name, int(each["line"])) for each in FOUND.finditer(result)}


def _marked() -> set[Place]:
    return {
        (path.name, number)
        for path in map(Path, FILES)
        for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), start=1)
        if line.endswith("# wrong")
    }
