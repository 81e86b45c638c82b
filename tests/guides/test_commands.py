"""Commands in the text and tables of the docs exist, with their flags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.guides.blocks import DOCS, GUIDES
from tools.reference.commands import commands

PAGES = sorted(page for page in (*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")) if "decisions" not in page.parts)
WORD = re.compile(r"[a-z][a-z-]*")
MIGRATIONS = sorted(GUIDES.glob("from-*.md"))


def code_in(page: Path) -> Iterator[str]:
    for token in MarkdownIt().enable("table").parse(page.read_text("utf-8")):
        yield from (each.content for each in token.children or () if each.type == "code_inline")


def flags_of(command: Any) -> set[str]:
    return {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)} | {"--help", "--version"}


FLAGS = {words: flags_of(command) for words, command in commands()}


def unknown_flags(code: str) -> set[str]:
    """The flags of `rolecall COMMAND ...` that the command does not have; none for other programs after `--`."""
    words = code.replace("'", "").split(" -- ")[0].split()[1:]
    known = FLAGS.get(" ".join(words[:2])) or FLAGS.get(" ".join(words[:1])) or set().union(*FLAGS.values())
    return {word.partition("=")[0] for word in words if word.startswith("--")} - known


def is_command(code: str) -> bool:
    """Whether `rolecall COMMAND ...` begins with a command; placeholders such as `rolecall ...` count as one."""
    first, second = [*code.split()[1:], "", ""][:2]
    words = {command for command in FLAGS if command.split()[0] == first}
    return (
        not WORD.fullmatch(first)
        or first in words
        or (bool(words) and not WORD.fullmatch(second))
        or f"{first} {second}" in words
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_in_the_text_exist(page: Path) -> None:
    found = [code for code in code_in(page) if code.startswith("rolecall ")]

    assert [code for code in found if not is_command(code)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_flags_of_commands_in_the_text_exist(page: Path) -> None:
    found = [code for code in code_in(page) if code.startswith("rolecall ")]

    assert {code: unknown for code in found if (unknown := unknown_flags(code))} == {}


@pytest.mark.parametrize("page", MIGRATIONS, ids=lambda page: page.stem)
def test_flags_in_a_migration_guide_exist(page: Path) -> None:
    flags = {code.split()[0] for code in code_in(page) if code.startswith("--")}

    assert flags <= set().union(*FLAGS.values())
