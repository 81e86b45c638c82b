"""The hand-written pages: docs/ and other files of the project, with their links adapted to the site.

A link can lead to a page of the site, to a picture, or to a file of the project. The latter is replaced by its text,
because the file has no public address. SVG drawings are embedded in the page, so that they follow its theme.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path, PurePosixPath

DOCS = "docs"
CRAWLERS = "apps/storecrawl/docs"
# Pages outside of docs/, with their paths on the site.
BESIDE = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "VOCABULARY.md": "vocabulary.md",
    "apps/storecrawl/README.md": "crawler.md",
    "bench/README.md": "benchmarks.md",
}
# Files that links name, with the pages that contain them.
PAGES_BY_SOURCE = {"README.md": "index.md", "docs/reference/schema.sql": "reference/schema.md"}
FOLDERS_PAGE = re.compile(r"\bREADME\.md$")
PICTURES = (".png", ".svg")
FENCED = re.compile(r"(^```.*?^```\n)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<image>!?)\[(?P<words>(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\((?P<target>[^)\s]+)\)")
FOREIGN = re.compile(r"\w+:|#")
DRAWING = re.compile(r'<svg [^>]*class="drawing".*</svg>', re.DOTALL)
BLANK_LINES = re.compile(r"\n\s*\n")


def pages(root: Path) -> dict[str, str]:
    """Return each page by its path on the site."""
    places = places_of(root)
    return {place: page(root, source, places) for source, place in places.items()}


def pictures(root: Path) -> dict[str, Path]:
    """Return each picture by its path on the site."""
    docs = root / DOCS
    return {file.relative_to(docs).as_posix(): file for file in sorted(docs.rglob("*")) if file.suffix in PICTURES}


def places_of(root: Path) -> dict[str, str]:
    """Return the path of each source on the site."""
    docs = {f"{DOCS}/{page}": FOLDERS_PAGE.sub("index.md", page) for page in _pages_in(root / DOCS)}
    crawlers = {f"{CRAWLERS}/{page}": f"crawler/{page}" for page in _pages_in(root / CRAWLERS)}
    return docs | crawlers | BESIDE


def _pages_in(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.md"))


def page(root: Path, source: str, places: Mapping[str, str]) -> str:
    """Return a source with its links adapted to the site; fenced blocks are unchanged."""
    pieces = FENCED.split((root / source).read_text("utf-8"))
    lead = partial(led, root, source, places)
    return "".join(piece if piece.startswith("```") else LINK.sub(lead, piece) for piece in pieces)


def led(root: Path, source: str, places: Mapping[str, str], link: re.Match[str]) -> str:
    words = LINK.sub(partial(led, root, source, places), link["words"])
    if FOREIGN.match(link["target"]):
        return f"{link['image']}[{words}]({link['target']})"
    target, hash_, anchor = link["target"].partition("#")
    named = os.path.normpath(PurePosixPath(source).parent / target)
    if link["image"] and (drawn := convert_drawing(root / named, words)):
        return drawn
    place = places.get(named) or PAGES_BY_SOURCE.get(named)
    if place is None and PurePosixPath(named).suffix in PICTURES:
        place = named.removeprefix(f"{DOCS}/")
    if place is None:
        return words if (root / named).exists() else link[0]
    return f"{link['image']}[{words}]({os.path.relpath(place, PurePosixPath(places[source]).parent)}{hash_}{anchor})"


def convert_drawing(file: Path, words: str) -> str | None:
    """Return one of our SVG drawings as HTML; None for other pictures."""
    if file.suffix != ".svg" or not (found := DRAWING.search(file.read_text("utf-8"))):
        return None
    drawn = BLANK_LINES.sub("\n", found[0])
    return f'<figure role="img" aria-label="{words}">\n{drawn}\n</figure>'
