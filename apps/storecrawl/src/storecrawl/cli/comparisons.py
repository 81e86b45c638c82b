"""Print the result of comparing rows with payload files."""

from __future__ import annotations

from collections.abc import Iterator

from rolecall.cli import print_line, print_table
from storecrawl.catalog import Comparison, Difference

FIELDS = ("field", "differences")
UNREAD = ("store", "payload", "reason")


def print_comparison(found: Comparison, columns: tuple[str, str], nothing: str) -> None:
    """Print the differences by field, the first ones, and the payloads that could not be read.

    `columns` are the names of the two sides. `nothing` says that nothing differs.
    """
    differences = found.differences
    if differences.count:
        print_table(FIELDS, differences.fields.items(), "")
        print_table(("in", "store", "payload", "product", "option", "field", *columns), _rows(differences.sample), "")
        print_line(f"{differences.count:,} differences, of which {len(differences.sample):,} are shown")
    else:
        print_line(nothing)
    if found.unread:
        print_table(UNREAD, ((each.store_id, each.payload_id, each.reason) for each in found.unread), "")
        print_line(f"{found.expired:,} payloads have expired, {found.unreadable:,} cannot be read")


def _rows(sample: list[Difference]) -> Iterator[tuple[object, ...]]:
    for each in sample:
        place = (each.table, each.store_id, each.payload_id, each.product, each.option, each.field)
        yield (*place, each.before, each.after)
