"""A throw-away project tree for the tools to look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def seed(tmp_path: Path) -> Callable[[str, str], None]:
    """Writes a file into the tree, its folders included."""

    def write(place: str, text: str) -> None:
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return write
