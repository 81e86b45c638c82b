"""Products in today's form."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from storecrawl.catalog.normalize import Menu, NotAMenu, Product, normalize

Record = dict[str, object]


@pytest.fixture
def record() -> Callable[..., Record]:

    def make(**changes: object) -> Record:
        return {
            "_id": "64a000000000000000000001",
            "Name": "Blue Dream",
            "Status": "Active",
            "type": "Flower",
            "Options": ["1g"],
            "Prices": [20],
            "recPrices": [20],
            "medicalPrices": [18],
            "recSpecialPrices": [],
            "medicalSpecialPrices": [],
            "special": None,
            "THCContent": {"unit": "PERCENTAGE", "range": [21.5]},
            "CBDContent": {"unit": "PERCENTAGE", "range": None},
            **changes,
        }

    return make


@pytest.fixture
def menu() -> Callable[..., Menu]:
    def make(*records: object, total: int | None = None) -> Menu:
        count = len(records) if total is None else total
        section = {"products": list(records), "queryInfo": {"totalCount": count}}
        return normalize({"data": {"filteredProducts": section}})

    return make


@pytest.fixture
def product(menu: Callable[..., Menu], record: Callable[..., Record]) -> Callable[..., Product]:
    return lambda **changes: menu(record(**changes)).products[0]


@pytest.fixture
def reason() -> Callable[[object], str]:
    def refusal_reason(document: object) -> str:
        with pytest.raises(NotAMenu) as refusal:
            normalize(document)
        return refusal.value.reason

    return refusal_reason
