"""What a menu's web page tells of its store: the address it calls its own, and the data it was made of."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

LARGEST_DATA = 4_194_304

_LINK = re.compile(r"<link\b[^<>]*>", re.IGNORECASE)
_CANONICAL = re.compile(r"""\brel\s*=\s*["']?canonical\b""", re.IGNORECASE)
_ADDRESS = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""", re.IGNORECASE)
_DATA_START = re.compile(r"""<script\b[^<>]*\bid\s*=\s*["']?__NEXT_DATA__\b[^<>]*>""", re.IGNORECASE)
_DATA_END = "</script"


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuPage:
    """A web page: its text, and the path or address that it was found at in the end."""

    path: str
    text: str


def canonical_address(text: str) -> str | None:
    """Return the address that the page names as its own; None if it names none."""
    links = (link[0] for link in _LINK.finditer(text))
    for link in links:
        found = _ADDRESS.search(link) if _CANONICAL.search(link) else None
        if found:
            return html.unescape(found[1] or found[2] or found[3] or "").strip() or None
    return None


def store_names(text: str) -> list[str]:
    """Return the id and slug of the store in the page's data, as far as it has them."""
    return [name for data in _data(text) for name in (data.get("id"), data.get("cName")) if isinstance(name, str)]


def _data(text: str) -> Iterator[Mapping[str, object]]:
    start = _DATA_START.search(text)
    if start is None:
        return
    end = text.find(_DATA_END, start.end(), start.end() + LARGEST_DATA)
    value = _decoded(text[start.end() : end]) if end >= 0 else None
    for name in ("props", "pageProps", "dispensary"):
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping):
        yield value


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
