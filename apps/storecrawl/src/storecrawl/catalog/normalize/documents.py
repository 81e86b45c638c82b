"""Parse bytes to a JSON document; every failure is a NotAMenu."""

from __future__ import annotations

import csv
import io

import msgspec

from storecrawl.catalog.normalize.errors import NotAMenu
from storecrawl.catalog.normalize.records import clean_text

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SAMPLE = 4_096
NAMED_COLUMNS = 8
NAME_LIMIT = 40


def parse_document(content: bytes) -> object:
    """Parse a JSON document. Raises NotAMenu, with a description of the content, for anything else."""
    if not content.strip():
        raise NotAMenu("the file is empty")
    plain = content.removeprefix(BYTE_ORDER_MARK)
    try:
        return msgspec.json.decode(plain)
    except RecursionError:
        raise NotAMenu("the JSON is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        looks, records = _looks_like(plain)
        raise NotAMenu(f"not JSON{looks} ({problem})", record_count=records) from None


def _looks_like(content: bytes) -> tuple[str, int]:
    lines = [line.strip() for line in content[:SAMPLE].splitlines() if line.strip()]
    if len(lines) > 1 and all(line.startswith(b"{") and line.endswith(b"}") for line in lines[:2]):
        return " but several documents, one per line", sum(bool(line.strip()) for line in content.splitlines())
    if lines[0].startswith(b"<"):
        return " but markup, such as an error page", 0
    if not lines[0].startswith((b"{", b"[")) and lines[0].count(b",") > 1:
        return _table(content)
    return "", 0


def _table(content: bytes) -> tuple[str, int]:
    rows = csv.reader(io.StringIO(content.decode("utf-8", "replace"), newline=""))
    try:
        names = next(rows)
        count = sum(bool(row) for row in rows)
    except csv.Error:
        return ", it looks like CSV", 0
    columns = ", ".join(clean_text(name, NAME_LIMIT) or "?" for name in names[:NAMED_COLUMNS])
    return f", it looks like CSV: a flat list of {count} rows with {columns}", count
