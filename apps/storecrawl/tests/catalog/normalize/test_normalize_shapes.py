"""Which documents are menus, and what is said of those that are none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storecrawl.catalog.normalize import Menu, NotAMenu, Shape, Variant, normalize, parse_document

Record = Callable[..., dict[str, object]]
Reason = Callable[[object], str]

PLUS_PRODUCT = {
    "id": "p1",
    "name": "Gummies",
    "variants": [{"option": "1g", "priceRec": 10, "priceMed": 9, "specialPriceRec": 12, "quantity": 3}],
}
JOINT_PRODUCT = {
    "jointId": "j1",
    "posId": "p1",
    "name": "Gummies",
    "variants": [
        {
            "option": "1g",
            "menuType": "RECREATIONAL",
            "price": "10.00",
            "specialPrice": "7.50",
            "quantity": "3",
        },
        {"option": "1g", "menuType": "MEDICAL", "price": "9.00", "specialPrice": None, "quantity": "3"},
    ],
}


def test_our_own_document_is_the_answer_with_a_note_on_the_fetch(record: Record) -> None:
    """covers SPEC 001-13"""
    answer = {"data": {"filteredProducts": {"products": [record()], "queryInfo": {"totalCount": 1}}}}

    assert normalize({**answer, "fetched": {"complete": True, "pages": 1}}) == normalize(answer)


@pytest.mark.parametrize(
    ("fetched", "total", "complete"),
    [
        ({}, 1, True),
        ({}, None, True),
        ({}, 2, False),
        ({"complete": True}, 2, True),
        ({"complete": False}, 1, False),
    ],
)
def test_a_menu_is_complete_as_its_fetch_or_else_its_count_says(
    record: Record, fetched: dict[str, bool], total: int | None, complete: bool
) -> None:
    """covers SPEC C2-7, C5-9"""
    section = {"products": [record()], "queryInfo": {"totalCount": total}}

    assert normalize({"data": {"filteredProducts": section}, "fetched": fetched}).complete == complete


def test_a_menu_that_says_it_is_empty_is_a_menu(menu: Callable[..., Menu]) -> None:
    """covers SPEC C5-9"""
    assert (menu().products, menu().total_count) == ((), 0)


@pytest.mark.parametrize(
    "document",
    [
        [PLUS_PRODUCT],
        {"products": [PLUS_PRODUCT]},
        {"success": True, "data": {"products_list": [PLUS_PRODUCT], "products_count": 1}},
        {"data": {"menu": {"products": [PLUS_PRODUCT], "productsCount": 1}}},
    ],
)
def test_the_plus_form_is_recognised_bare_and_wrapped(document: object) -> None:
    """covers SPEC C4"""
    menu = normalize(document)

    assert menu.shape == Shape.PLUS
    variant = menu.products[0].variants[0]
    assert (variant.price_rec_cents, variant.price_med_cents, variant.special_rec_cents) == (1000, 900, None)


def test_the_two_menu_types_of_the_joint_form_are_one_option() -> None:
    """covers SPEC C5-2"""
    product = normalize([JOINT_PRODUCT]).products[0]

    prices = [(v.price_rec_cents, v.price_med_cents, v.special_rec_cents) for v in product.variants]
    assert (product.external_id, prices) == ("p1", [(1000, 900, 750)])


@pytest.mark.parametrize(
    ("document", "seen"),
    [
        (None, "this is null"),
        ("menu", "this is a text"),
        ([], "an empty list"),
        ([1, 2], "a list of 2: a number"),
        ({}, "an object with no members"),
        ({"a": 1, "b": 2}, "an object with members a, b"),
        ({"data": {"filteredProducts": {"items": []}}}, "no list of products"),
        ({"data": {"filteredProducts": None}, "errors": [{"message": "timed out"}]}, "timed out"),
        ({"data": None, "errors": [{"message": "PersistedQueryNotFound"}]}, "PersistedQueryNotFound"),
        ({"products": {"a": 1}}, "products is an object, not a list"),
        ({"data": {"filteredProducts": {"products": [{"_id": "a"}]}}}, "none of 1 products"),
    ],
)
def test_a_refusal_names_what_was_seen(reason: Reason, document: object, seen: str) -> None:
    """covers SPEC C5-9"""
    assert seen in reason(document)


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"name,price,brand\na,1,b\n", "looks like CSV"),
        (b'{"a": 1}\n{"a": 2}\n', "several documents"),
        (b"<!DOCTYPE html><html>", "markup"),
        (b'{"a": ', "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_bytes_that_are_no_document_are_refused(content: bytes, seen: str) -> None:
    """covers SPEC C5-9, RELIABILITY F68"""
    with pytest.raises(NotAMenu, match=seen):
        parse_document(content)


def test_a_byte_order_mark_does_no_harm() -> None:
    """covers SPEC C5-9"""
    assert parse_document(b"\xef\xbb\xbf[1]") == [1]


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
def test_any_json_value_is_a_menu_or_refused(value: object) -> None:
    """covers SPEC C5-9"""
    try:
        menu = normalize(value)
    except NotAMenu as refusal:
        assert refusal.reason
    else:
        assert all(product.name and product.external_id for product in menu.products)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(members, json_values, max_size=12), max_size=3), st.sampled_from(list(Shape)))
def test_a_good_product_survives_whatever_stands_beside_it(others: list[dict[str, object]], shape: Shape) -> None:
    """covers SPEC C5-9"""
    marks: dict[Shape, dict[str, object]] = {
        Shape.GRAPHQL: {"Name": "x", "Options": ["1g"], "recPrices": [1]},
        Shape.LEGACY: {"Name": "x", "Options": ["1g"]},
        Shape.PLUS: {"name": "x", "variants": [{"option": "1g", "priceRec": 1}]},
        Shape.JOINT: {"name": "x", "variants": [{"option": "1g", "price": "1"}], "jointId": "j"},
    }
    good = [{**marks[shape], "id": f"good {number}", "posId": f"good {number}"} for number in range(4)]

    menu = normalize([*good, *({"id": "a", "posId": "a", **marks[shape], **other} for other in others)])

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
