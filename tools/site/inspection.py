"""Checks the built pages: each link has a target, and nothing is loaded from other sites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Elements that a browser loads automatically.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}
FOLLOWED = {("a", "href")}
# Served for every missing address, so its links start at the root.
NOT_FOUND = "404.html"
TOP = frozenset({"", "__top"})


@dataclass
class Page(HTMLParser):
    """The links of a page, and its anchors."""

    loaded: list[str] = field(default_factory=list)
    followed: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag's links and anchors."""
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif value is not None and (tag, name) in LOADED:
                self.loaded.append(value)
            elif value is not None and (tag, name) in FOLLOWED:
                self.followed.append(value)


def faults(html: Path) -> Iterator[str]:
    """Return the errors of the pages below a folder, one line each."""
    pages = {file: read_page(file) for file in sorted(html.rglob("*.html")) if file.name != NOT_FOUND}
    for file, page in pages.items():
        name = file.relative_to(html).as_posix()
        for address in page.loaded:
            if is_foreign(address):
                yield f"{name} loads {address}, from another site"
        for address in {*page.loaded, *page.followed}:
            if not is_foreign(address) and (wrong := fault_of(address, file, pages)):
                yield f"{name} links to {address}, {wrong}"


def read_page(file: Path) -> Page:
    """Read one page."""
    page = Page()
    page.feed(file.read_text("utf-8"))
    return page


def is_foreign(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def fault_of(address: str, file: Path, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(address)
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "which does not exist"
    if target in pages and unquote(parts.fragment) not in pages[target].ids | TOP:
        return "which has no such anchor"
    return None
