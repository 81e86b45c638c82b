"""The current menu of a store: its products by a query, and totals by brand or category."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg.rows import dict_row

from storecrawl.catalog.sql import MENUS
from storecrawl.statements import Connection, containing_pattern, fetch


async def query_menu(connection: Connection, store_id: int, rules: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the matching products in the requested order, ties by id and unknown values last.

    `rules` contains all parameters of the query; those that are None match everything. Prices are in cents, THC is
    percent of weight, and `search` matches name and brand.
    """
    parameters = {**rules, "store_id": store_id, "search": containing_pattern(rules["search"])}
    return await fetch(connection, MENUS.query_menu, parameters, dict_row)


async def aggregate_menu(connection: Connection, store_id: int, group_by: str) -> list[dict[str, Any]]:
    """Return totals by `brand` or `category`, the largest group first; prices are in cents."""
    return await fetch(connection, MENUS.aggregate_menu, {"store_id": store_id, "group_by": group_by}, dict_row)
