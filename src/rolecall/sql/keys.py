"""Typed calls for the capacities of keys and their holders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap

from rolecall.model.keys import STAR, KeyCapacity, KeyState, Unparked, require_key_capacity, require_key_pattern
from rolecall.sql.encoding import encode
from rolecall.sql.statement import Row, Statement, firsts, ignore_rows

COUNTED = 10_000
STEP = 1_000


def capacities(after: str, limit: int) -> Statement[list[KeyCapacity]]:
    """List the capacities of keys and patterns in the order of their text, after `after`."""
    return Statement(
        query="select pattern, capacity, declared, set_to from rolecall.key_capacities(%s::text, %s::int)",
        params=(after, limit),
        read=lambda rows: list(starmap(KeyCapacity, rows)),
    )


def set_capacity(pattern: str, capacity: int | None) -> Statement[int | None]:
    """Set the capacity of a key, or of each key that matches a pattern; None removes the setting. 0 pauses a key.

    Returns the previous setting. Raises InvalidDeclaration.
    """
    require_key_pattern(pattern)
    if capacity is not None:
        require_key_capacity(pattern, capacity, least=1 if pattern.endswith(STAR) else 0)
    return Statement(
        # The second column does not see the first one's change.
        query=(
            "select rolecall.set_key_capacity(%s::text, %s::int), ("
            "select capacity from rolecall.keys where key = %s::text and capacity is not null union all "
            "select capacity from rolecall.key_patterns where prefix || '*' = %s::text)"
        ),
        params=(pattern, capacity, pattern, pattern),
        read=lambda rows: rows[0][1],
    )


def declare(capacities: Mapping[str, int]) -> Statement[None]:
    """Store the capacities that an app declares. Nothing is written if nothing changed."""
    return Statement(
        query="select rolecall.declare_key_capacities(%s::jsonb)", params=(encode(dict(capacities)),), read=ignore_rows
    )


def read_states(keys: Sequence[str]) -> Statement[list[KeyState]]:
    """Read the state of keys. At most 10,000 waiting tasks of each are counted."""
    return Statement(
        query=(
            "select key, capacity, pattern, used, holders, waiting, later from rolecall.keys_now(%s::text[], %s::int)"
        ),
        params=(list(keys), COUNTED + 1),
        read=lambda rows: list(map(_read_now, rows)),
    )


def busiest(limit: int) -> Statement[list[str]]:
    """Find the keys for which most due tasks wait."""
    return Statement(query="select key from rolecall.busiest_keys(%s::int)", params=(limit,), read=firsts)


def unpark_due(limit: int = STEP) -> Statement[Unparked]:
    """Bring back the parked tasks of up to `limit` keys with free capacity, if due and not in progress elsewhere."""
    return Statement(
        query="select ids, more from rolecall.unpark_due(%s::int)",
        params=(limit,),
        read=lambda rows: Unparked(*rows[0]) if rows else Unparked([], more=False),
    )


def _read_now(row: Row) -> KeyState:
    key, capacity, pattern, used, holders, waiting, later = row
    more = waiting + later > COUNTED
    return KeyState(
        key=key,
        capacity=capacity,
        pattern=pattern,
        used=used,
        holders=holders,
        waiting=min(waiting, COUNTED),
        later=later,
        more=more,
    )
