"""Rejects payloads that are too large before they are sent. The role's limit is read from the database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import msgspec

from rolecall.model.errors import InvalidTask
from rolecall.sql.statement import Row, Statement

# Shorter documents are sent without a check, and the database rejects their payloads if the role's limit is lower.
CHECKED_FROM = 256 * 1024


class _Item(msgspec.Struct):
    payload: msgspec.Raw
    role: str | None = None
    handler: str | None = None


class _Next(msgspec.Struct):
    children: list[msgspec.Raw] = []
    siblings: list[msgspec.Raw] = []
    follow_ups: list[msgspec.Raw] = []
    continuation: msgspec.Raw = msgspec.Raw()


class _Report(msgspec.Struct):
    next: _Next | None = None


class _Large(NamedTuple):
    """A task with a large payload, and its position in its list."""

    position: int
    item: _Item


ITEM = msgspec.json.Decoder(_Item)
BATCH = msgspec.json.Decoder(list[msgspec.Raw])
NEXT = msgspec.json.Decoder(_Next)
REPORTS = msgspec.json.Decoder(list[_Report])


def check_batch(document: str, first: int = 0) -> Statement[None] | None:
    """Return the check of a JSON array of tasks; None if no payload is large. The first task has this index.

    The check raises InvalidTask for a payload that its role does not allow, with the message of the database.
    """
    return None if len(document) < CHECKED_FROM else _check(_large_among(BATCH.decode(document), first))


def check_next(document: str | None) -> Statement[None] | None:
    """Return the same check of a JSON object of next tasks."""
    return None if document is None or len(document) < CHECKED_FROM else _check(_large_next(NEXT.decode(document)))


def check_reports(document: str) -> Statement[None] | None:
    """Return the same check of the next tasks in a JSON array of reports."""
    if len(document) < CHECKED_FROM:
        return None
    return _check([large for report in REPORTS.decode(document) if report.next for large in _large_next(report.next)])


def _large_next(tasks: _Next) -> list[_Large]:
    groups = (tasks.children, tasks.siblings, tasks.follow_ups, [tasks.continuation])
    return [large for group in groups for large in _large_among(group)]


def _large_among(items: Sequence[msgspec.Raw], first: int = 0) -> list[_Large]:
    large = [(index, item) for index, item in enumerate(items, first) if len(item) >= CHECKED_FROM]
    return [_Large(index, ITEM.decode(item)) for index, item in large]


def _check(large: Sequence[_Large]) -> Statement[None] | None:
    if not large:
        return None
    return Statement(
        query=(
            "select given.place, role.max_payload_bytes"
            " from unnest(%s::text[], %s::text[]) with ordinality as given (role, handler, place)"
            " left join rolecall.handlers as handler on handler.name = given.handler"
            " join rolecall.roles as role on role.name = coalesce(given.role, handler.role, given.handler)"
            " order by given.place"
        ),
        params=([each.item.role for each in large], [each.item.handler for each in large]),
        read=lambda rows: _require_sizes(rows, large),
    )


def _require_sizes(rows: list[Row], large: Sequence[_Large]) -> None:
    for place, most in rows:
        index, item = large[place - 1]
        size = _stored_size(bytes(item.payload).decode())
        if size > most:
            raise InvalidTask(f"the payload has {size} bytes, the role allows {most}", index=index)


def _stored_size(text: str) -> int:
    """Return the size of a payload as the database counts it: with spaces, and with numbers written out."""
    written = 0

    def measure(number: str) -> int:
        nonlocal written
        value = Decimal(number)
        written += len(format(value or abs(value), "f")) - 1
        return 0

    return len(json.dumps(json.loads(text, parse_float=measure), ensure_ascii=False).encode()) + written
