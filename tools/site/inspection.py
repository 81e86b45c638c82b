"""Looks at the built pages as a browser would: each link leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}
FOLLOWED = {("a", "href")}
# It is served for any address, so its links begin at the root.
NOT_FOUND = "404.html"
TOP = frozenset({"", "__top"})


@dataclass
class Seen(HTMLParser):
    """What a page has for links, and where links may lead in it."""

    loaded: list[str] = field(default_factory=list)
    followed: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag leads to."""
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif value is not None and (tag, name) in LOADED:
                self.loaded.append(value)
            elif value is not None and (tag, name) in FOLLOWED:
                self.followed.append(value)


def faults(html: Path) -> Iterator[str]:
    """What is wrong with the pages below a folder, a line each."""
    pages = {file: seen(file) for file in sorted(html.rglob("*.html")) if file.name != NOT_FOUND}
    for file, page in pages.items():
        name = file.relative_to(html).as_posix()
        for address in page.loaded:
            if is_foreign(address):
                yield f"{name} loads {address}, from elsewhere"
        for address in {*page.loaded, *page.followed}:
            if not is_foreign(address) and (wrong := fault_of(address, file, pages)):
                yield f"{name} leads to {address}, {wrong}"


def seen(file: Path) -> Seen:
    """Read one page."""
    page = Seen()
    page.feed(file.read_text("utf-8"))
    return page


def is_foreign(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def fault_of(address: str, file: Path, pages: dict[Path, Seen]) -> str | None:
    parts = urlsplit(address)
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "which is not there"
    if target in pages and unquote(parts.fragment) not in pages[target].ids | TOP:
        return "which has no such place"
    return None
