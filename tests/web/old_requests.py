"""Requests of programs that were written for other systems, and a check of their responses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2


@dataclass(frozen=True, slots=True)
class Old:
    """A request, the expected status, and the required fields; for a list, those of its first item."""

    request: str
    status: int
    fields: str = ""
    body: Any = None

    def __str__(self) -> str:
        return f"{self.request} {self.body or ''}"


async def answered_otherwise(
    http: httpx2.AsyncClient, requests: Iterable[Old], places: Mapping[str, Any]
) -> AsyncIterator[str]:
    """Send requests; yield those with unexpected responses. `places` are the ids that they contain."""
    for old in requests:
        method, address = old.request.format(**places).split(" ")
        answer = await http.request(method, address, json=_filled(old.body, places))
        lacking = set(old.fields.split()) - _first_of(answer.json()).keys()
        if answer.status_code != old.status or lacking:
            yield f"{old}: {answer.status_code} without {lacking or 'nothing'}: {answer.text[:300]}"


def _filled(body: Any, places: Mapping[str, Any]) -> Any:
    match body:
        case dict():
            return {name: _filled(value, places) for name, value in body.items()}
        case list():
            return [_filled(value, places) for value in body]
        case str() if body.startswith("{"):
            return places[body.strip("{}")]
        case _:
            return body


def _first_of(answer: Any) -> dict[str, Any]:
    items = answer if isinstance(answer, list) else answer.get("items", [answer])
    first = items[0] if items else {}
    return first if isinstance(first, dict) else {}
