"""Limits awkward phrases in the project's prose: a number of hits per 1,000 words, for each kind of text.

The kinds are docs (Markdown without code blocks), docstrings, comments, sql (comments of SQL files), messages
(string constants with three or more spaces), templates (the text of HTML files) and tests (names of tests).
A phrase may be right where it is found, so the limit is not zero.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools.offences import ROOT, Offence, project_files, report

LIMIT = 2.0
FEWEST_SPACES = 3  # of a string constant that is a message
RULES = tomllib.loads((ROOT / "tools" / "prose.toml").read_text("utf-8"))
AWKWARD = {
    name: re.compile(pattern.replace("{clause}", RULES["clause"]), re.IGNORECASE)
    for name, pattern in RULES["patterns"].items()
}
# Most lines contain none of these words, so that the slower patterns need not be tried.
HINT = re.compile("|".join(RULES["hints"]), re.IGNORECASE)
CODE_BLOCK = re.compile(r"^( *)(```|~~~).*?^ *\2", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`[^`\n]*`")
NOT_TEXT = re.compile(r"\{#.*?#\}|<(script|style)\b.*?</\1>", re.DOTALL)
MARKUP = re.compile(r"\{[%{].*?[%}]\}|<[^>]*>", re.DOTALL)
# Titles, labels and arguments of macros are texts of a page too.
QUOTED = re.compile(r'(?<!class=)"([^"]* [^"]* [^"]*)"')
# Generated files, files of other projects, and the tests of the patterns.
SKIPPED = (
    "CHANGELOG.md",
    "docs/reference/schema.sql",
    "src/rolecall/sql/migrations/0001_schema.sql",
    "apps/storecrawl/src/storecrawl/migrations/0001_schema.sql",
    "src/rolecall/web/dashboard/assets/vendor",
    "packages/rolecall-import/tests/samples",
    "tests/architecture/test_prose.py",
)
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Measure:
    """The words of one kind of text, and the awkward phrases in them."""

    words: int = 0
    hits: list[Offence] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Hits per 1,000 words."""
        return 1000 * len(self.hits) / max(1, self.words)


def measure(root: Path) -> dict[str, Measure]:
    """Count the words and the hits below the root, by kind of text."""
    found: dict[str, Measure] = {}
    for file in project_files(root, ".md", ".py", ".sql", ".html"):
        if any(file.is_relative_to(root / place) for place in SKIPPED):
            continue
        for kind, line, text in texts(file):
            of_kind = found.setdefault(kind, Measure())
            of_kind.words += len(text.split())
            of_kind.hits += [Offence(file, line, f"{kind}: {name}: {text.strip()}") for name in faults(text)]
    return found


def faults(text: str) -> Iterator[str]:
    """Return the name of each pattern once per occurrence. Code spans are not prose."""
    if not HINT.search(text):
        return
    prose = CODE_SPAN.sub("`x`", text).strip()
    for name, pattern in AWKWARD.items():
        yield from (name for _ in pattern.finditer(prose))


def texts(file: Path) -> Iterator[tuple[str, int, str]]:
    """Return the prose of a file by line: its kind, the number of the line, and its text."""
    source = file.read_text()
    match file.suffix:
        case ".md":
            yield from lines("docs", CODE_BLOCK.sub(_blank, source))
        case ".html":
            yield from lines("templates", MARKUP.sub(_quoted, NOT_TEXT.sub(_blank, source)))
        case ".sql":
            for number, line in enumerate(source.splitlines(), 1):
                if "--" in line:
                    yield "sql", number, line.partition("--")[2]
        case _:
            yield from texts_of_python(source)


def lines(kind: str, text: str, first: int = 1) -> Iterator[tuple[str, int, str]]:
    return ((kind, number, line) for number, line in enumerate(text.splitlines(), first) if line.strip())


def texts_of_python(source: str) -> Iterator[tuple[str, int, str]]:
    docstrings: set[ast.AST] = set()
    for node in ast.walk(ast.parse(source)):
        text = ast.get_docstring(node, clean=False) if isinstance(node, Documented) else None
        if isinstance(node, Documented) and text is not None:
            docstrings.update(ast.iter_child_nodes(node.body[0]))
            yield from lines("docstrings", text, node.body[0].lineno)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield "tests", node.lineno, node.name.removeprefix("test_").replace("_", " ")
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            for each in lines("messages", node.value, node.lineno):
                if each[2].strip().count(" ") >= FEWEST_SPACES:
                    yield each
    for token in tokenize.generate_tokens(iter(source.splitlines(keepends=True)).__next__):
        if token.type == tokenize.COMMENT:
            yield "comments", token.start[0], token.string.lstrip("# ")


def above_limit(measures: dict[str, Measure]) -> list[str]:
    """Return the kinds with more hits than the limit allows."""
    return [kind for kind, each in measures.items() if each.rate > LIMIT]


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _quoted(found: re.Match[str]) -> str:
    return "\n".join(" ".join(QUOTED.findall(line)) for line in found[0].split("\n"))


def main(kinds: list[str]) -> int:
    """Print the rate of each kind, and the hits of the kinds that are named or above the limit."""
    measures = measure(ROOT)
    above = above_limit(measures)
    report((hit for kind in measures if kind in {*above, *kinds} for hit in measures[kind].hits), ROOT)
    for kind, each in sorted(measures.items()):
        print(f"{kind:<10} {each.words:7} words {len(each.hits):4} hits {each.rate:5.1f} per 1,000 (limit {LIMIT})")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
