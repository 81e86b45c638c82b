"""Extracts the code blocks of a document, so that tests run exactly the printed code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt

from tools.offences import ROOT

DOCS = ROOT / "docs"
GUIDES = DOCS / "guides"
README = ROOT / "README.md"
# Indented blocks are commands; fenced ones without a language are pictures.
INDENTED, PICTURE = "sh", "picture"
FILE_NAME = re.compile(r"# (?P<name>(\w+/)*\w+\.py)\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of code: its language, its first line, and the file that it belongs to."""

    line: int
    language: str
    code: str

    @property
    def file(self) -> str | None:
        """The name in the first line of Python: `# shop.py`, `# shop/tasks.py`."""
        named = FILE_NAME.match(self.code) if self.language == "python" else None
        return named["name"] if named else None


def blocks_in(text: str) -> Iterator[Block]:
    """Return the blocks of a document, in their order."""
    for token in MarkdownIt().parse(text):
        if token.type in {"fence", "code_block"} and token.map is not None:
            language = INDENTED if token.type == "code_block" else token.info.strip() or PICTURE
            yield Block(line=token.map[0] + 1, language=language, code=token.content)


def blocks(guide: str, language: str) -> list[str]:
    """Return the code of a guide in one language, block by block."""
    return [block.code for block in blocks_in((GUIDES / guide).read_text("utf-8")) if block.language == language]


def python_of(guide: str) -> dict[str, Any]:
    """Run the guide's Python from top to bottom; return the names that it defines."""
    names: dict[str, Any] = {"__name__": guide}
    for code in blocks(guide, "python"):
        exec(compile(code, guide, "exec"), names)  # noqa: S102 - the guide is ours
    return names
