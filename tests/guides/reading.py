"""Makes a module of a guide's Python, so that a test runs what people copy."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.guides.blocks import python_of


def module_of(guide: str) -> Any:
    """Run the Python blocks of `docs/guides/<guide>.md`; return what they define, as a module."""
    module = ModuleType(guide)
    vars(module).update(python_of(f"{guide}.md"))
    return module
