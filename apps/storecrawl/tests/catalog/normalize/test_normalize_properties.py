"""Any JSON document is either a menu with every record accounted for, or rejected with a reason."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storecrawl.catalog.normalize import Menu, NotAMenu, Shape, Variant, normalize

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
figures = scalars | st.sampled_from(["1g", "1/8oz", "12.50", "Active", 10**400, float("nan"), "\ud800", "\x00"])
members = st.sampled_from(
    [
        "_id",
        "id",
        "cName",
        "Name",
        "Status",
        "type",
        "Options",
        "Prices",
        "recPrices",
        "recSpecialPrices",
        "special",
        "THCContent",
        "THC",
        "unit",
        "range",
        "POSMetaData",
        "children",
        "option",
        "quantity",
        "quantityAvailable",
        "manualInventory",
        "inventory",
        "optionsBelowThreshold",
        "variants",
        "priceRec",
        "price",
        "menuType",
        "jointId",
        "posId",
        "name",
        "category",
        "brand",
        "images",
        "url",
        "createdAt",
        "products",
        "data",
        "filteredProducts",
        "queryInfo",
        "totalCount",
        "products_list",
        "menu",
        "errors",
        "message",
        "potencyThc",
    ]
)
json_values = st.recursive(
    figures,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(members | st.text(max_size=4), inner, max_size=8),
    max_leaves=40,
)


@settings(max_examples=100, deadline=None)
@given(json_values)
def test_any_json_value_is_a_menu_or_rejected(value: object) -> None:
    try:
        menu = normalize(value)
    except NotAMenu as refusal:
        assert refusal.reason
    else:
        assert all(product.name and product.external_id for product in menu.products)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.dictionaries(members, json_values, max_size=12), max_size=3),
    st.deferred(lambda: st.sampled_from(list(MARKS))),
)
def test_valid_product_survives_any_other_records(others: list[dict[str, object]], shape: Shape) -> None:
    good = [{**MARKS[shape], "id": f"good {number}", "posId": f"good {number}"} for number in range(4)]

    menu = normalize([*good, *({"id": "a", "posId": "a", **MARKS[shape], **other} for other in others)])

    assert menu.shape == shape
    assert [product.external_id for product in menu.products][:4] == [record["id"] for record in good]
    assert all(_is_sound(variant) for product in menu.products for variant in product.variants)


def _is_sound(variant: Variant) -> bool:
    pairs = [
        (variant.price_rec_cents, variant.special_rec_cents),
        (variant.price_med_cents, variant.special_med_cents),
    ]
    specials = [(regular, special) for regular, special in pairs if special is not None]
    return all(regular is not None and 0 < special < regular for regular, special in specials)


MARKS: dict[Shape, dict[str, object]] = {
    Shape.GRAPHQL: {"Name": "x", "Options": ["1g"], "recPrices": [1]},
    Shape.LEGACY: {"Name": "x", "Options": ["1g"]},
    Shape.PLUS: {"name": "x", "variants": [{"option": "1g", "priceRec": 1}]},
    Shape.JOINT: {"name": "x", "variants": [{"option": "1g", "price": "1"}], "jointId": "j"},
}
amounts = (
    st.floats() | st.integers() | st.decimals().map(str) | st.sampled_from([19.99, 0.1 + 0.2, "$1,249.50", "12.5"])
)
priced = st.fixed_dictionaries(
    {"_id": st.sampled_from("abc"), "Name": st.just("x"), "Status": st.sampled_from(["Active", "Inactive", None])},
    optional={
        "Options": st.lists(st.sampled_from(["1g", "1/8oz", "N/A", None]), max_size=3),
        "special": st.booleans(),
        **{
            name: st.none() | st.lists(amounts, max_size=3)
            for name in ("Prices", "recPrices", "medicalPrices", "recSpecialPrices", "medicalSpecialPrices")
        },
        "manualInventory": st.lists(st.fixed_dictionaries({"option": st.just("1g"), "inventory": amounts}), max_size=2),
    },
)
records = st.one_of(priced, json_values, *(st.just({**mark, "id": "a", "posId": "a"}) for mark in MARKS.values()))


def menu_of(document: object) -> Menu | None:
    try:
        return normalize(document)
    except NotAMenu:
        return None


@settings(max_examples=100, deadline=None)
@given(st.lists(records, max_size=8))
def test_every_record_is_kept_merged_or_rejected_with_a_reason(found: list[object]) -> None:
    try:
        menu = normalize({"data": {"filteredProducts": {"products": found}}})
    except NotAMenu as refusal:
        assert (refusal.record_count, bool(refusal.reason)) == (len(found), True)
    else:
        assert len(menu.products) + menu.duplicates + menu.refused_count == menu.record_count == len(found)
        assert all(refusal.reason and 0 <= refusal.index < len(found) for refusal in menu.refused)


@settings(max_examples=100, deadline=None)
@given(st.lists(priced, min_size=1, max_size=6))
def test_menu_figures_are_never_floats_and_money_is_in_whole_cents(found: list[dict[str, object]]) -> None:
    menu = menu_of(found)

    for product in menu.products if menu else ():
        assert not any(isinstance(value, float) for value in _values(product))
        cents = [price for variant in product.variants for price in _prices(variant) if price is not None]
        assert all(type(price) is int and price > 0 for price in cents)


@settings(max_examples=100, deadline=None)
@given(st.lists(priced, min_size=1, max_size=6))
def test_duplicated_menu_equals_the_original(found: list[dict[str, object]]) -> None:
    once, twice = menu_of(found), menu_of([*found, *found])

    assert menu_of(found) == once
    if once is None or twice is None:
        assert once is twice is None
    else:
        assert twice.products == once.products
        assert twice.duplicates == once.duplicates + len(found)


def test_check_for_floats_detects_nested_values() -> None:
    """The check of figures above reaches the innermost ones."""
    product = normalize([{"_id": "a", "Name": "x", "Options": ["1g"], "THCContent": {"range": [1.5]}}]).products[0]

    with pytest.raises(AssertionError):
        assert not any(str(value) == "1.500" for value in _values(product))


def _values(value: object) -> list[object]:
    if is_dataclass(value):
        return [inner for field in fields(value) for inner in _values(getattr(value, field.name))]
    return [inner for member in value for inner in _values(member)] if isinstance(value, tuple) else [value]


def _prices(variant: Variant) -> list[int | None]:
    regular = [variant.price_rec_cents, variant.price_med_cents]
    return [*regular, variant.special_rec_cents, variant.special_med_cents]
