"""The final check of a full cycle for missing rows and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from psycopg.rows import class_row

from storecrawl.demo.database import Connection
from storecrawl.demo.figures import Figures
from storecrawl.demo.gaps import Gaps

INVENTORY = """
select
    (select count(*) from storecrawl.payloads where applied_at is null) as unapplied_payloads,
    (select count(*) from storecrawl.captured_products) as snapshots,
    (select count(*) from storecrawl.store_product_counts) as analysed_stores,
    array(select storage_path from storecrawl.payloads) as paths,
    (select handler || ' ' || id || ': ' || coalesce(split_part(error, chr(10), 1), 'no error')
     from rolecall.all_tasks where state = 'failed' order by id limit 1) as failure
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Counts that are taken once, at the end, since they read many rows.

    `paths` are the payload files that rows name, `failure` is the error of the first failed task.
    """

    unapplied_payloads: int
    snapshots: int
    analysed_stores: int
    paths: list[str]
    failure: str | None


def take_inventory(connection: Connection) -> Inventory:
    """Read the inventory."""
    row = connection.cursor(row_factory=class_row(Inventory)).execute(INVENTORY).fetchone()
    if row is None:
        raise LookupError("select returned no row")
    return row


def find_problems(
    inventory: Inventory, gaps: Gaps, figures: Figures, payloads: Path, expected_stores: int | None
) -> Iterator[str]:
    """Return what is missing after one full cycle, each store and place with its reason.

    `payloads` is the root of the payload files, `expected_stores` the upstream's number of stores, if known.
    """
    yield from _missing_stores(inventory, gaps, figures, expected_stores)
    yield from gaps.sentences()
    yield from _missing_products(inventory, figures)
    yield from _missing_files(inventory, payloads)
    if figures.open_tasks:
        yield f"{figures.open_tasks} tasks are still open"
    if figures.failed_tasks:
        yield f"{figures.failed_tasks} tasks failed, the first of them was {inventory.failure}"


def _missing_stores(inventory: Inventory, gaps: Gaps, figures: Figures, expected: int | None) -> Iterator[str]:
    if figures.stores == 0:
        yield "no stores were found"
    elif expected is not None and figures.stores < expected:
        yield f"{figures.stores} of {expected} stores were found"
    if gaps.stores:
        yield f"{len(gaps.stores)} of {figures.stores} stores were not refreshed"
    if inventory.analysed_stores != figures.stores:
        yield f"the views show {inventory.analysed_stores} of {figures.stores} stores"


def _missing_products(inventory: Inventory, figures: Figures) -> Iterator[str]:
    if inventory.unapplied_payloads:
        yield f"{inventory.unapplied_payloads} payloads were not turned into products"
    if figures.stores and not (figures.products and figures.variants):
        yield f"{figures.products} products with {figures.variants} variants were found"
    if inventory.snapshots != figures.snapshots:
        yield f"there are {inventory.snapshots} snapshots, the payloads contain {figures.snapshots} products"


def _missing_files(inventory: Inventory, payloads: Path) -> Iterator[str]:
    missing = [path for path in inventory.paths if not (payloads / path).is_file()]
    if missing:
        yield f"{len(missing)} payload files are missing, the first of them is {missing[0]}"
