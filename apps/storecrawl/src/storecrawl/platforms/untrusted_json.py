"""Parse untrusted JSON: strictly if possible, otherwise a list member by member, so that only bad members are lost.

Anything that is not JSON (NaN, 1e400, endless nesting) invalidates only its member. A lone surrogate
becomes the replacement character, as in browsers. A byte order mark is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# A string, up to its end if it has one, or a structural character; anything between them is skipped.
TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)|[\[\]{},:]', re.DOTALL)
STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
HALVES: Final = re.compile("[\ud800-\udfff]")
KEYS: Final = (b'"_id"', b'"id"', b'"cName"')
LONGEST_KEY = 200
# Others compare, write and read the values again, possibly with a deeper call stack.
ROOM: Final = 200

Token = tuple[bytes, int, int, int]


class NotJson(ValueError):
    """A body is not JSON; `is_cut` if it breaks off in the middle, so that a retry may help."""

    def __init__(self, reason: str, *, is_cut: bool = False) -> None:
        super().__init__(reason)
        self.is_cut = is_cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """An unreadable member of a list, its position there, and its own `key`, if found."""

    index: int
    key: str | None
    reason: str


def read_json(body: bytes) -> Any:
    """Parse a document. Raises NotJson."""
    plain = body.removeprefix(BYTE_ORDER_MARK)
    try:
        return _parse(plain)
    except NotJson:
        _refuse_cut(plain)
        raise


def read_members(body: bytes, *path: str) -> tuple[Any, list[Unread]]:
    """Parse a document whose list at `path` may have bad members; return it without those, and those.

    Raises NotJson if it is cut, or bad elsewhere. Takes a tenth of a second per megabyte.
    """
    plain = body.removeprefix(BYTE_ORDER_MARK)
    _refuse_cut(plain)
    start, end, members = _list_at(plain, name=f'"{path[-1]}"'.encode(), level=len(path))
    document = _parse(plain[:start] + b"[]" + plain[end:])
    parent = document
    for name in path[:-1]:
        parent = parent.get(name) if isinstance(parent, dict) else None
    if not isinstance(parent, dict) or parent.get(path[-1]) != []:
        raise NotJson(f"no list at {'.'.join(path)}")
    parent[path[-1]], unread = _read_each([plain[first:last] for first, last in members])
    return document, unread


def _read_each(texts: list[bytes]) -> tuple[list[Any], list[Unread]]:
    members: list[Any] = []
    unread: list[Unread] = []
    for index, text in enumerate(texts):
        try:
            members.append(_member(text))
        except NotJson as problem:
            unread.append(Unread(index=index, key=_key_of(text), reason=str(problem)))
    return members, unread


def _parse(text: bytes, room: int = ROOM) -> Any:
    if room:
        return _parse(text, room - 1)
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise NotJson(str(problem)) from None


def _member(text: bytes) -> Any:
    try:
        return _parse(text)
    except NotJson:
        pass
    try:
        read = json.loads(
            text.decode("utf-8", "replace"), strict=False, parse_constant=_refuse_constant, parse_float=_finite
        )
        whole = HALVES.sub("\N{REPLACEMENT CHARACTER}", json.dumps(read, ensure_ascii=False))
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except ValueError as problem:
        raise NotJson(f"its JSON cannot be read: {problem}") from None
    return _parse(whole.encode())


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if abs(number) == float("inf"):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _refuse_cut(text: bytes) -> None:
    if not text.strip():
        raise NotJson("it is empty", is_cut=True)
    # Counting is many times faster than a walk over the tokens, which a body of brackets would make expensive.
    outside, *_ = STRING.sub(b"", text).partition(b'"')
    opened = sum(map(outside.count, (b"[", b"{"))) - sum(map(outside.count, (b"]", b"}")))
    if opened > 0:
        raise NotJson(f"it is cut after {len(text)} bytes", is_cut=True)


def _list_at(text: bytes, *, name: bytes, level: int) -> tuple[int, int, list[tuple[int, int]]]:
    members: list[tuple[int, int]] = []
    last, list_start, begin = b"", -1, 0
    for kind, start, end, depth in _tokens(text):
        if list_start < 0:
            if kind == b"[" and (depth, last) == (level, name):
                list_start, begin = start, end
            elif kind == b'"':
                last = text[start:end]
        elif kind == b"," and depth == level + 1:
            members.append((begin, start))
            begin = end
        elif kind == b"]" and depth == level:
            if members or text[begin:start].strip():
                members.append((begin, start))
            return list_start, end, members
    raise NotJson(str(_why_not(text)))


def _why_not(text: bytes) -> NotJson:
    try:
        _parse(text)
    except NotJson as problem:
        return problem
    return NotJson("it has no such list")


def _key_of(text: bytes) -> str | None:
    name, last = b"", b""
    for kind, start, end, depth in _tokens(text):
        if depth != 1:
            continue
        if kind == b":":
            name = last
        elif kind == b'"':
            last = text[start:end]
            if name in KEYS:
                return last[1:-1].decode("utf-8", "replace")[:LONGEST_KEY] or None
            name = b""
    return None


def _tokens(text: bytes) -> Iterator[Token]:
    """Yield the structural tokens of a text: kind, begin, end and depth.

    Does not recurse, so deep nesting is safe. An unterminated string has the kind b"".
    """
    depth = 0
    for found in TOKEN.finditer(text):
        kind = found[0][:1]
        if kind in b"]}":
            depth -= 1
        yield b"" if kind == b'"' and not found[1] else kind, found.start(), found.end(), depth
        if kind in b"[{":
            depth += 1
