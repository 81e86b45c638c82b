"""Makes a module of a guide's Python, so that a test runs what people copy, and reads its printed tables."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.guides.blocks import python_of


def module_of(guide: str) -> Any:
    """Run the Python blocks of `docs/guides/<guide>.md`; return what they define, as a module."""
    module = ModuleType(guide)
    vars(module).update(python_of(f"{guide}.md"))
    return module


def rows_of_table(text: str) -> list[tuple[str, ...]]:
    """Read rows as psql prints them, without their heading."""
    return [tuple(cell.strip() for cell in line.split("|")) for line in text.strip().splitlines()[2:]]
