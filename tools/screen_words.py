"""Reads the texts on the dashboard's screens, and finds words that are unknown or odd.

The texts are those of the templates, and the string constants with a space in the scripts and in the Python modules
that write sentences for the dashboard. `screen_words.txt` lists the words that people know; a new one is added there by
hand. So a rename that puts the name of a function into a sentence is reported. `screen_words.toml` lists odd phrases
and what to write instead.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tools.offences import ROOT, Offence, report

KNOWN = frozenset((ROOT / "tools" / "screen_words.txt").read_text("utf-8").split())
ODD = {
    re.compile(rf"\b(?:{phrase})(?!\w)"): better
    for phrase, better in tomllib.loads((ROOT / "tools" / "screen_words.toml").read_text("utf-8"))["instead"].items()
}
DASHBOARD = Path("src/rolecall/web/dashboard")
# Modules outside of the dashboard whose sentences it shows.
SENTENCES = ("src/rolecall/service/alerts.py",)
COMMENT = re.compile(r"\{#.*?#\}|<(script|style|svg)\b.*?</\1>", re.DOTALL)
MARKUP = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|<[^>]*>", re.DOTALL)
# Attributes whose values people read.
READ = re.compile(r'\b(?:title|placeholder|aria-label)="([^"{}]*)"')
QUOTED = re.compile(r'"([^"\n]*)"')
SCRIPT_STRING = re.compile(r'"([^"\n]* [^"\n]*)"|`([^`\n]*)`')
SCRIPT_COMMENT = re.compile(r"^\s*(?://|/?\*).*$", re.MULTILINE)
EXPRESSION = re.compile(r"\$\{[^}]*\}|%[sd]|https?:\S+|\{[a-z_]*\}")
SELECTOR = re.compile(r"[\[\]#>=<]|:\w|^[.#\w-]+ [.#][\w-]+$|--\w|\w=")
WORD = re.compile(r"(?<![\w'`.@/-])[A-Za-z][a-z]+(?!\w|[(/]|[.-]\w)")


def offences(root: Path = ROOT) -> Iterator[Offence]:
    """Return the unknown words and the odd phrases of all screens."""
    for file in _files(root):
        for line, text in texts(file):
            yield from (Offence(file, line, wrong) for wrong in faults(text))


def faults(text: str) -> Iterator[str]:
    """Return what is wrong with a text."""
    for odd, better in ODD.items():
        if found := odd.search(text):
            yield f"odd words: {found[0]!r}; write {better!r}: {text}"
    for word in WORD.findall(text):
        if word.lower() not in KNOWN:
            yield f"unknown word: {word!r} (if people know it, add it to tools/screen_words.txt): {text}"


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """Return the texts of a file that people read, with their lines."""
    source = file.read_text("utf-8")
    match file.suffix:
        case ".html":
            yield from _texts_of_template(source)
        case ".js":
            for number, line in enumerate(SCRIPT_COMMENT.sub("", source).splitlines(), 1):
                for found in SCRIPT_STRING.findall(line):
                    yield from _prose(number, found[0] or found[1])
        case _:
            yield from _texts_of_python(source)


def _files(root: Path) -> Iterator[Path]:
    yield from (file for file in sorted((root / DASHBOARD / "templates").rglob("*.html")) if file.name != "icons.html")
    yield from sorted((root / DASHBOARD / "assets").glob("*.js"))
    yield from sorted((root / DASHBOARD).rglob("*.py"))
    yield from (root / name for name in SENTENCES)


def _texts_of_template(source: str) -> Iterator[tuple[int, str]]:
    shown = COMMENT.sub(_blank, source)
    for number, line in enumerate(shown.splitlines(), 1):
        for piece in MARKUP.split(line):
            yield from _text(number, piece)
        for markup in MARKUP.findall(line):
            found = READ.findall(markup) if markup.startswith("<") else QUOTED.findall(markup)
            for text in found:
                yield from _prose(number, text)


def _texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield from _prose(node.lineno, node.value)


def _prose(line: int, text: str) -> Iterator[tuple[int, str]]:
    """Return a constant if it is a text: it has a space or begins with a capital, and is no selector or address."""
    if (" " in text.strip() or text[:1].isupper()) and not SELECTOR.search(text):
        yield from _text(line, text)


def _text(line: int, text: str) -> Iterator[tuple[int, str]]:
    plain = " ".join(EXPRESSION.sub(" ", text).split())
    if plain:
        yield line, plain


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def main() -> int:
    """Print the offences."""
    return report(offences(), ROOT)


if __name__ == "__main__":
    sys.exit(main())
