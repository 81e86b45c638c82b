"""Takes the code out of a guide, so that what is printed there is what is run here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(guide: str, language: str) -> list[str]:
    """The blocks of one language, in their order."""
    return [code for kind, code in BLOCK.findall((GUIDES / guide).read_text("utf-8")) if kind == language]


def python_of(guide: str) -> dict[str, Any]:
    """Run the guide's Python from top to bottom; return the names that it defines."""
    names: dict[str, Any] = {"__name__": guide}
    for code in blocks(guide, "python"):
        exec(compile(code, guide, "exec"), names)  # noqa: S102 - the guide is ours
    return names
