"""From bytes to a parsed JSON document, with every failure told as NotAMenu."""

from __future__ import annotations

import msgspec

from storecrawl.catalog.normalize.errors import NotAMenu

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def parse_document(content: bytes) -> object:
    """Parse a JSON document; raise NotAMenu, saying what it looks like, when it is none."""
    if not content.strip():
        raise NotAMenu("the file is empty")
    try:
        return msgspec.json.decode(content.removeprefix(BYTE_ORDER_MARK))
    except RecursionError:
        raise NotAMenu("the JSON is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise NotAMenu(f"not JSON{_looks_like(content)} ({problem})") from None


def _looks_like(content: bytes) -> str:
    lines = [line.strip() for line in content[:4096].splitlines() if line.strip()]
    if len(lines) > 1 and all(line.startswith(b"{") and line.endswith(b"}") for line in lines[:2]):
        return " but several documents, one a line"
    if lines[0].startswith(b"<"):
        return " but markup, such as an error page"
    if not lines[0].startswith((b"{", b"[")) and lines[0].count(b",") > 1:
        return ", it looks like CSV"
    return ""
