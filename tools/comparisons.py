"""Keeps the tables in docs/compared alike.

README.md has Rolecall's answer to each question. Every other page has the same questions in the same order, with the
answers of its system. This tool copies Rolecall's answers to those pages, and some of their answers to the overview.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.errors import SetupError
from tools.offences import ROOT

FOLDER = Path("docs/compared")
OVERVIEW = "README.md"
ROLECALL = "Rolecall"
# The questions that the overview shows.
SHOWN = ("Store", "Workers in", "Your transaction")

TABLE = re.compile(r"(?<=<!-- answers -->\n)(?:\|.*\|\n)+")
LIST = re.compile(r"(?<=<!-- overview -->\n)(?:\|.*\|\n)+")
TITLE = re.compile(r"^# (.+) and Rolecall$", re.MULTILINE)
VERSIONS = re.compile(r"^Compared: (.+)\. Checked on (\d{4}-\d\d-\d\d)\.$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\](?:\([^)]+\)|\[[^\]]*\])?")


def write_pages(root: Path) -> dict[Path, str]:
    """Return every page with its current tables."""
    folder = root / FOLDER
    overview = (folder / OVERVIEW).read_text("utf-8")
    own = answers(overview, OVERVIEW)
    pages = {file: file.read_text("utf-8") for file in sorted(folder.glob("*.md")) if file.name != OVERVIEW}
    listed = list(overview_rows(pages, own))
    written = {file: write_page(text, file.name, own) for file, text in pages.items()}
    return written | {folder / OVERVIEW: LIST.sub(lambda _: "".join(listed), overview)}


def write_page(text: str, name: str, own: Mapping[str, str]) -> str:
    current = table(name_of(text), answers(text, name), own)
    return TABLE.sub(lambda _: current, text)


def answers(text: str, name: str) -> dict[str, str]:
    """Return the answers of a page by question. Raises SetupError if it has no table."""
    found = TABLE.search(text)
    if found is None:
        raise SetupError(f"{FOLDER / name} has no table below `<!-- answers -->`")
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in found[0].splitlines()[2:]]
    return {question: answer for question, answer, *_ in rows}


def table(name: str, theirs: Mapping[str, str], own: Mapping[str, str]) -> str:
    if list(theirs) != list(own):
        raise SetupError(f"the page on {name} must have the questions of {FOLDER / OVERVIEW}: {', '.join(own)}")
    rows = [f"| {question} | {answer} | {own[question]} |\n" for question, answer in theirs.items()]
    return "".join([f"| | {name} | {ROLECALL} |\n", "|---|---|---|\n", *rows])


def overview_rows(pages: Mapping[Path, str], own: Mapping[str, str]) -> Iterator[str]:
    """Return the rows of the overview."""
    yield f"| | checked | {' | '.join(question.lower() for question in SHOWN)} |\n"
    yield f"|---|---|{'---|' * len(SHOWN)}\n"
    for file, text in pages.items():
        day = versions(text, file.name)[1]
        yield f"| [{name_of(text)}]({file.name}) | {day} | {shown(answers(text, file.name))} |\n"
    yield f"| **{ROLECALL}** | | {shown(own)} |\n"


def shown(given: Mapping[str, str]) -> str:
    return " | ".join(LINK.sub(r"\1", given[question]) for question in SHOWN)


def name_of(text: str) -> str:
    found = TITLE.search(text)
    if found is None:
        raise SetupError(f"a page in {FOLDER} must be titled `# <system> and Rolecall`")
    return found[1]


def versions(text: str, name: str) -> tuple[str, str]:
    """Return the versions that a page compares, and the day on which it was checked."""
    found = VERSIONS.search(text)
    if found is None:
        raise SetupError(f"{FOLDER / name} needs a line `Compared: <versions>. Checked on <date>.`")
    return found[1], found[2]


if __name__ == "__main__":
    for page, content in write_pages(ROOT).items():
        page.write_text(content, "utf-8")
    sys.exit(0)
