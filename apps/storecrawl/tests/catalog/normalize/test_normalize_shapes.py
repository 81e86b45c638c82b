"""Recognition of menu documents and messages about other documents."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from storecrawl.catalog.normalize import Menu, NotAMenu, Shape, normalize, parse_document

Record = Callable[..., dict[str, object]]
Reason = Callable[[object], str]

PLUS_PRODUCT = {
    "id": "p1",
    "name": "Gummies",
    "variants": [{"option": "1g", "priceRec": 10, "priceMed": 9, "specialPriceRec": 12, "quantity": 3}],
}
GRAPHQL_PRODUCT = {"_id": "g1", "Name": "Gummies", "Options": ["1g"], "recPrices": [10], "Status": "Active"}
LEGACY_PRODUCT = {"id": "l1", "Name": "Gummies", "Options": ["1g"], "Prices": [10], "THCContent": "20"}
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


def test_fetch_note_in_the_document_does_not_change_the_menu(record: Record) -> None:
    answer = {"data": {"filteredProducts": {"products": [record()], "queryInfo": {"totalCount": 1}}}}

    assert normalize({**answer, "fetched": {"complete": True, "pages": 1}}) == normalize(answer)


@pytest.mark.parametrize(
    ("fetched", "total", "complete"),
    [
        ({}, 1, True),
        ({}, None, False),
        ({}, 2, False),
        ({"complete": True}, 2, True),
        ({"complete": False}, 1, False),
    ],
)
def test_completeness_comes_from_the_fetch_or_else_from_the_count(
    record: Record, fetched: dict[str, bool], total: int | None, complete: bool
) -> None:
    section = {"products": [record()], "queryInfo": {"totalCount": total}}

    assert normalize({"data": {"filteredProducts": section}, "fetched": fetched}).complete == complete


@pytest.mark.parametrize(
    "document",
    [
        {"data": {"filteredProducts": {"products": [GRAPHQL_PRODUCT], "queryInfo": {"totalCount": 3}}}},
        {"filteredProducts": {"products": [GRAPHQL_PRODUCT], "queryInfo": {"totalCount": 3}}},
        {"data": {"menu": {"products": [PLUS_PRODUCT], "productsCount": 3}}},
        {"data": {"dutchieplus": {"menu": {"products": [PLUS_PRODUCT], "productsCount": 3}}}},
        {"dutchieplus": {"menu": {"products": [PLUS_PRODUCT], "productsCount": 3}}},
        {"menu": {"products": [PLUS_PRODUCT], "productsCount": 3}},
        {"data": {"products_list": [PLUS_PRODUCT], "products_count": 3}},
        {"data": {"products_list": [PLUS_PRODUCT], "products_count": "3"}},
        {"products": [PLUS_PRODUCT], "productsCount": 3},
        {"products": [PLUS_PRODUCT], "totalCount": 3},
        {"products": [JOINT_PRODUCT], "totalCount": 3},
        {"products": [LEGACY_PRODUCT], "productsCount": 3},
        {"data": {"products": [LEGACY_PRODUCT], "totalCount": 3}},
    ],
)
def test_menu_with_fewer_products_than_counted_is_incomplete_by_the_difference(document: object) -> None:
    menu = normalize(document)

    assert (len(menu.products), menu.total_count, menu.complete, menu.left_out) == (1, 3, False, 2)


@pytest.mark.parametrize(
    "document",
    [
        [PLUS_PRODUCT],
        {"products": [PLUS_PRODUCT]},
        {"data": {"menu": {"products": [PLUS_PRODUCT]}}},
        {"data": {"menu": {"products": [PLUS_PRODUCT], "productsCount": None}}},
        {"data": {"products_list": [PLUS_PRODUCT], "products_count": 1, "filter": "{categories: [EDIBLES],}"}},
    ],
)
def test_menu_without_a_count_is_not_treated_as_complete(document: object) -> None:
    """It may be any part of a menu. The count of a list filtered by category does not help either."""
    menu = normalize(document)

    assert (len(menu.products), menu.complete, menu.left_out) == (1, False, None)


def test_duplicate_product_does_not_make_up_for_a_missing_one(record: Record) -> None:
    section = {"products": [record(_id="a"), record(_id="a")], "queryInfo": {"totalCount": 2}}
    menu = normalize({"data": {"filteredProducts": section}})

    assert (menu.record_count, menu.duplicates, menu.complete, menu.left_out) == (2, 1, False, 1)


@pytest.mark.parametrize("wrapped", [list, lambda pages: {"pages": pages}])
def test_captured_pages_form_one_menu(wrapped: Callable[[list[object]], object]) -> None:
    pages: list[object] = [
        {"data": {"menu": {"products": [{**PLUS_PRODUCT, "id": key}], "productsCount": 2}}} for key in ("a", "b")
    ]

    menu = normalize(wrapped(pages))

    assert [product.external_id for product in menu.products] == ["a", "b"]
    assert (menu.shape, menu.total_count, menu.complete, menu.left_out) == (Shape.PLUS, 2, True, 0)
    assert (normalize(wrapped(pages[:1])).complete, normalize(wrapped(pages[:1])).left_out) == (False, 1)


def test_invalid_captured_page_is_reported_and_leaves_the_menu_incomplete() -> None:
    page = {"data": {"menu": {"products": [PLUS_PRODUCT], "productsCount": 1}}}

    menu = normalize([page, {"data": None, "errors": [{"message": "timed out"}]}])

    assert (len(menu.products), menu.complete) == (1, False)
    assert ["timed out" in refusal.reason and "page 1" in refusal.reason for refusal in menu.refused] == [True]


def test_pages_of_several_forms_are_not_a_menu(reason: Reason) -> None:
    assert "pages of several forms: joint, plus" in reason(
        [{"products": [PLUS_PRODUCT]}, {"products": [JOINT_PRODUCT]}]
    )


@pytest.mark.parametrize("count", ["productsCount", "totalCount"])
def test_empty_list_with_a_count_of_zero_is_a_menu(count: str) -> None:
    menu = normalize({"products": [], count: 0})

    assert (menu.products, menu.complete, menu.left_out) == ((), True, 0)


def test_empty_menu_is_a_menu(menu: Callable[..., Menu]) -> None:
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
def test_plus_form_is_recognized_bare_and_wrapped(document: object) -> None:
    menu = normalize(document)

    assert menu.shape == Shape.PLUS
    variant = menu.products[0].variants[0]
    assert (variant.price_rec_cents, variant.price_med_cents, variant.special_rec_cents) == (1000, 900, None)


def test_two_menu_types_of_the_joint_form_become_one_option() -> None:
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
        ({"data": {"filteredProducts": {"products": [{"_id": "a"}]}}}, "none of the 1 products"),
    ],
)
def test_refusal_names_the_unexpected_content(reason: Reason, document: object, seen: str) -> None:
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
def test_bytes_that_are_not_a_document_are_rejected(content: bytes, seen: str) -> None:
    with pytest.raises(NotAMenu, match=seen):
        parse_document(content)


def test_byte_order_mark_is_ignored() -> None:
    assert parse_document(b"\xef\xbb\xbf[1]") == [1]
