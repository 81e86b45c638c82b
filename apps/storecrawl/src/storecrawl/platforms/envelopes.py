"""Recognize documents that have a list of records under one member."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from storecrawl.catalog.normalize.menu import Shape
from storecrawl.catalog.normalize.records import Record, list_at
from storecrawl.catalog.normalize.shapes import MenuRecords, with_notes

ReadTotal = Callable[[Record], int | None]
"""Read the number of records of the whole menu from an envelope; None if it does not state one."""
IsRecord = Callable[[Record], bool]


def listed_records(
    document: object, shape: Shape, member: str, *, total_of: ReadTotal, is_own: IsRecord
) -> MenuRecords | None:
    """Return the records of an envelope, of several envelopes in a row, or of a bare list.

    Returns None for a document of another shape. An empty list is of this shape only if its envelope states the total.
    """
    envelopes = _envelopes(document, member)
    records = document if isinstance(document, list) and not envelopes else _chained(envelopes, member)
    totals = [total for total in map(total_of, envelopes) if total is not None]
    owned = any(isinstance(record, Mapping) and is_own(record) for record in records)
    if not owned and (records or not totals):
        return None
    found = MenuRecords(shape=shape, records=records, total_count=max(totals, default=None))
    return with_notes(found, envelopes[0]) if len(envelopes) == 1 else found


def _envelopes(document: object, member: str) -> list[Record]:
    candidates = document if isinstance(document, list) else [document]
    envelopes = [each for each in candidates if isinstance(each, Mapping) and isinstance(each.get(member), list)]
    return envelopes if len(envelopes) == len(candidates) else []


def _chained(envelopes: Iterable[Record], member: str) -> list[object]:
    return list(chain.from_iterable(list_at(envelope, member) for envelope in envelopes))
