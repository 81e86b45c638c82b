"""A throw-away project tree for the tools to look at."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An empty git work tree."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    return tmp_path


@pytest.fixture
def seed(tree: Path) -> Callable[[str, str], None]:
    """Writes a file into the tree, its folders included."""

    def write(place: str, text: str) -> None:
        file = tree / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return write
