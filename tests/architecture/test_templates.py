"""Templates are short and contain no scripts, no styles and no unescaped values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (ROOT / "src" / "rolecall", ROOT / "apps" / "storecrawl" / "src")
TEMPLATES = sorted(file for source in SOURCES for file in source.rglob("templates/**/*") if file.is_file())
SCRIPTS = sorted(
    file for source in SOURCES for file in source.rglob("assets/*.js") if "vendor" not in file.parts and file.is_file()
)
LONGEST = 80
# Files with building blocks of several pages.
COLLECTIONS = {"ui.html", "icons.html", "layout.html"}
FORBIDDEN = {
    "is a script within a page": re.compile(r"<script(?![^>]*\bsrc=)|javascript:", re.IGNORECASE),
    "is a style within a page": re.compile(r"<style|\sstyle\s*=", re.IGNORECASE),
    "is a handler in an attribute": re.compile(r"\s(on[a-z]+|hx-on[:\w-]*|hx-vals|hx-vars)\s*=", re.IGNORECASE),
    "is not escaped": re.compile(r"\|\s*safe\b|autoescape\s+false|Markup\("),
    "is an attribute without quotes": re.compile(r"<[a-z][^>\"]*\s[a-z-]+=\{\{"),
    "comes from another host": re.compile(r"(src|href|action)=[\"']?(https?:)?//", re.IGNORECASE),
}
MARKUP_FROM_TEXT = re.compile(
    r"\.((inner|outer)HTML\s*[+=]|insertAdjacentHTML\b)|document\.write|\beval\(|new Function\("
)
UNESCAPED = re.compile(r"\bMarkup\b|autoescape\s*=\s*(False|None)|\bmarkupsafe\b")


def test_templates_exist() -> None:
    assert len(TEMPLATES) > 5


@pytest.mark.parametrize("wrong", FORBIDDEN)
def test_templates_contain_no_injectable_constructs(wrong: str) -> None:
    lines = [
        f"{file.relative_to(ROOT)}:{number}: {found[0].strip()!r} {wrong}"
        for file in TEMPLATES
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1)
        if (found := FORBIDDEN[wrong].search(line))
    ]

    assert lines == []


def test_no_module_builds_markup_by_hand() -> None:
    """Only templates, which escape everything, contain markup."""
    files = [file for source in SOURCES for file in source.rglob("*.py")]

    assert [str(file) for file in files if UNESCAPED.search(file.read_text("utf-8"))] == []


def test_no_script_builds_markup_from_text() -> None:
    assert [str(file) for file in SCRIPTS if MARKUP_FROM_TEXT.search(file.read_text("utf-8"))] == []


def test_every_template_is_short() -> None:
    lengths = {file: len(file.read_text("utf-8").splitlines()) for file in TEMPLATES if file.name not in COLLECTIONS}

    assert [str(file) for file, length in lengths.items() if length > LONGEST] == []
