"""The navigation of the site: `docs/navigation.toml` as a tree of titles and pages."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tools.errors import SetupError

FILE = Path("docs/navigation.toml")
WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Part:
    """A title with pages and subordinate parts."""

    title: str
    pages: tuple[str, ...]
    parts: tuple[Part, ...] = ()

    def as_entry(self) -> dict[str, list[Any]]:
        """The part in the format of the generator's configuration."""
        return {self.title: [*self.pages, *(part.as_entry() for part in self.parts)]}

    def all_pages(self) -> Iterator[str]:
        """Its pages, and those of its parts."""
        yield from self.pages
        for part in self.parts:
            yield from part.all_pages()


def read(root: Path, pages: Collection[str]) -> list[Part]:
    """Assign each page to the first part that names it; parts without pages are omitted.

    Raises SetupError for a name without a page, and for a page that no part names.
    """
    left = sorted(pages)
    named = tomllib.loads((root / FILE).read_text("utf-8"))["part"]
    exact = {name for part in named for name in names_in(part) if not WILD & set(name)}
    if missing := sorted(exact - set(pages)):
        raise SetupError(f"{FILE} names missing pages: {', '.join(missing)}")
    left = [page for page in left if page not in exact]
    parts = [part for each in named if any((part := part_of(each, left)).all_pages())]
    if left:
        raise SetupError(f"{FILE} does not list {', '.join(left)}")
    return parts


def names_in(part: Mapping[str, Any]) -> Iterator[str]:
    yield from part.get("pages", ())
    for below in part.get("part", ()):
        yield from names_in(below)


def part_of(named: Mapping[str, Any], left: list[str]) -> Part:
    """Create a part, and assign the remaining pages that match its patterns."""
    found: list[str] = []
    for name in named.get("pages", ()):
        matching = [page for page in left if fnmatchcase(page, name)] if WILD & set(name) else [name]
        found += matching
        left[:] = [page for page in left if page not in matching]
    below = (part_of(each, left) for each in named.get("part", ()))
    return Part(named["title"], tuple(found), tuple(part for part in below if any(part.all_pages())))
