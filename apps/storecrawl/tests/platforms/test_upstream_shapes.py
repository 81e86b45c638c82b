"""Products are like real ones, including odd values in the proportions of real menus."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

import msgspec
import pytest
from storecrawl.demo.upstream.directory import StoreDirectory
from storecrawl.demo.upstream.menus import MenuCache
from storecrawl.demo.upstream.options import UpstreamOptions
from storecrawl.demo.upstream.stores import WorldStore

OPTIONS = UpstreamOptions(stores=60, seed=11)
Product = dict[str, Any]

FIELDS = [
    "_id",
    "id",
    "DispensaryID",
    "enterpriseProductId",
    "cName",
    "pastCNames",
    "Name",
    "Status",
    "createdAt",
    "updatedAt",
    "__typename",
    "brand",
    "brandId",
    "brandName",
    "brandLogo",
    "type",
    "subcategory",
    "strainType",
    "effects",
    "description",
    "weight",
    "measurements",
    "Options",
    "rawOptions",
    "AdditionalOptions",
    "Prices",
    "recPrices",
    "medicalPrices",
    "recSpecialPrices",
    "medicalSpecialPrices",
    "wholesalePrices",
    "pricingTierData",
    "special",
    "specialData",
    "THCContent",
    "CBDContent",
    "THC",
    "CBD",
    "cannabinoidsV2",
    "terpenes",
    "totalTerpenes",
    "POSMetaData",
    "manualInventory",
    "isBelowThreshold",
    "isBelowKioskThreshold",
    "optionsBelowThreshold",
    "optionsBelowKioskThreshold",
    "limitsPerCustomer",
    "medicalOnly",
    "recOnly",
    "comingSoon",
    "featured",
    "vapeTaxApplicable",
    "nonArmsLength",
    "bottleDepositTaxCents",
    "popularSortKey",
    "collectionCardBadge",
    "Image",
    "images",
]


@pytest.fixture(scope="module")
def sample() -> list[tuple[WorldStore, list[Product]]]:
    book = MenuCache(OPTIONS)
    stores = StoreDirectory(OPTIONS).open_until(0)
    return [(store, [msgspec.json.decode(entry.full) for entry in book.menu(store, 2)]) for store in stores[:40]]


@pytest.fixture(scope="module")
def products(sample: list[tuple[WorldStore, list[Product]]]) -> list[Product]:
    return [product for _, menu in sample for product in menu]


def share(products: list[Product], holds: Any) -> float:
    return sum(bool(holds(product)) for product in products) / len(products)


def test_every_product_has_every_known_field(products: list[Product]) -> None:
    assert all(product.keys() >= set(FIELDS) for product in products)


def test_price_lists_are_parallel_to_the_options(products: list[Product]) -> None:
    for product in products:
        lengths = {len(product[name]) for name in ("Options", "Prices", "recPrices", "medicalPrices")}
        assert lengths == {len(product["Options"])}
        assert len(product["recSpecialPrices"]) in {0, len(product["Options"])}


def test_special_prices_are_below_the_regular_ones(products: list[Product]) -> None:
    pairs = [pair for p in products for pair in zip(p["recSpecialPrices"], p["Prices"], strict=False)]

    assert len(pairs) > 1000
    assert all(0 < special < regular for special, regular in pairs)


@pytest.mark.parametrize(
    ("what", "holds", "low", "high"),
    [
        ("on special", lambda p: p["special"], 0.15, 0.45),
        ("special is never false", lambda p: p["special"] is False, 0.0, 0.0),
        ("several options", lambda p: len(p["Options"]) > 1, 0.02, 0.10),
        ("1gC", lambda p: "1gC" in p["Options"], 0.01, 0.10),
        ("N/A", lambda p: p["Options"] == ["N/A"], 0.10, 0.30),
        (".5g", lambda p: ".5g" in p["Options"], 0.04, 0.20),
        ("1/8oz", lambda p: "1/8oz" in p["Options"], 0.02, 0.20),
        ("flower", lambda p: p["type"] == "Flower", 0.2, 0.36),
        ("no range", lambda p: p["THCContent"] and p["THCContent"]["range"] is None, 0.10, 0.35),
        ("two values", lambda p: len((p["THCContent"] or {}).get("range") or ()) == 2, 0.005, 0.05),
        ("milligrams", lambda p: (p["THCContent"] or {}).get("unit") == "MILLIGRAMS", 0.05, 0.2),
        ("legacy strength", lambda p: p["THC"] is not None and p["THCContent"] is None, 0.005, 0.04),
        ("above 100 percent", lambda p: max((p["THCContent"] or {}).get("range") or [0]) > 100, 0.01, 0.2),
        ("without brand", lambda p: p["brandName"] is None, 0.002, 0.03),
        ("brand with a blank", lambda p: (p["brandName"] or "").endswith(" "), 0.02, 0.2),
        ("double blanks", lambda p: "  " in p["Name"], 0.003, 0.04),
        ("not ASCII", lambda p: not msgspec.json.encode(p).isascii(), 0.2, 0.95),
        ("children of a till", lambda p: (p["POSMetaData"] or {}).get("children"), 0.05, 0.5),
        ("till without children", lambda p: (p["POSMetaData"] or {}).get("children") == [], 0.002, 0.08),
        ("manual stock", lambda p: p["manualInventory"], 0.3, 0.9),
        ("below threshold", lambda p: p["isBelowThreshold"], 0.01, 0.2),
        ("past names with null", lambda p: None in p["pastCNames"], 0.3, 0.9),
    ],
)
def test_each_known_oddity_has_its_share(
    products: list[Product], what: str, holds: Any, low: float, high: float
) -> None:
    assert low <= share(products, holds) <= high, what


def test_prices_are_in_the_range_of_real_ones(products: list[Product]) -> None:
    prices = [price for product in products for price in product["Prices"]]

    assert 20 < median(prices) < 45
    assert min(prices) >= 0.75
    assert max(prices) <= 500


def test_some_prices_are_whole_and_some_have_cents(products: list[Product]) -> None:
    with_cents = share(products, lambda product: product["Prices"][0] % 1)

    assert 0.1 < with_cents < 0.7


def test_medical_prices_are_equal_or_untaxed_by_store(sample: list[tuple[WorldStore, list[Product]]]) -> None:
    for store, menu in sample:
        factor = 1.2 if store.habits.medical_untaxed else 1.0
        of_patients = [p for p in menu if not p["recOnly"]]
        assert all(abs(p["medicalPrices"][0] - p["recPrices"][0] / factor) < 0.006 for p in of_patients)


def test_product_not_for_patients_costs_nothing_in_the_medical_list(products: list[Product]) -> None:
    """Platforms state a missing price as zero."""
    others = [price for product in products if product["recOnly"] for price in product["medicalPrices"]]

    assert len(others) > 20
    assert set(others) == {0}


def test_store_weighs_flower_in_ounces_or_grams_but_not_both(
    sample: list[tuple[WorldStore, list[Product]]],
) -> None:
    for _, menu in sample:
        options = {option for p in menu if p["type"] == "Flower" for option in p["Options"]} - {"1g"}
        assert len({option.endswith("oz") for option in options}) <= 1


def test_point_of_sale_children_name_options_of_the_product_in_any_order(products: list[Product]) -> None:
    tills = [p for p in products if len(p["Options"]) > 1 and p["POSMetaData"] and p["POSMetaData"]["children"]]
    orders = [([c["option"] for c in p["POSMetaData"]["children"]], p["Options"]) for p in tills]

    assert all(set(children) <= set(options) for children, options in orders)
    assert any(children != options for children, options in orders)


def test_created_at_is_a_string_of_milliseconds(products: list[Product]) -> None:
    assert all(len(product["createdAt"]) == 13 and product["createdAt"].isdecimal() for product in products)


def test_two_products_can_have_one_name(sample: list[tuple[WorldStore, list[Product]]]) -> None:
    repeated = [name for _, menu in sample for name, count in Counter(p["Name"] for p in menu).items() if count > 1]

    assert len(repeated) > 20
