"""Merging pages into walks and walks into a menu."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from storecrawl.platforms.dutchie import FetchedMenu, Kind, MenuMode
from storecrawl.platforms.dutchie.pages import ListPage, Walk, merge_documents, page_of, walk_pages, walk_twice_if_short
from storecrawl.platforms.errors import SchemaDrift, Truncated
from storecrawl.platforms.retry import RetryRule
from storecrawl.platforms.untrusted_json import Unread

from .conftest import QUICK

RULE = RetryRule(QUICK, Random(1))


def page(ids: str, total_count: int | None, total_pages: int | None) -> ListPage:
    products: list[dict[str, Any]] = [{"_id": name} for name in ids]
    return ListPage(products=products, total_count=total_count, total_pages=total_pages)


class Book:
    """Repeats a list of pages; `requested_pages` are the requested page numbers."""

    def __init__(self, *pages: ListPage) -> None:
        self.pages = pages
        self.requested_pages: list[int] = []

    async def fetch(self, number: int) -> ListPage:
        self.requested_pages.append(number)
        return replace(self.pages[number], number=number)


async def test_walk_stops_at_an_empty_page() -> None:
    book = Book(page("ab", 9, 5), page("", 9, 5))

    walk = await walk_pages(book.fetch, QUICK, RULE)

    assert (book.requested_pages, walk.is_complete) == ([0, 1], False)


async def test_walk_stops_when_all_products_are_collected() -> None:
    book = Book(page("abc", 3, 5))

    await walk_pages(book.fetch, QUICK, RULE)

    assert book.requested_pages == [0]


async def test_walk_stops_at_the_page_limit() -> None:
    book = Book(*(page(name, 9, 9) for name in "abcdefghi"))

    walk = await walk_twice_if_short(book.fetch, replace(QUICK, page_cap=4), RULE)

    assert (book.requested_pages, len(walk.products)) == ([0, 1, 2, 3], 4)


async def test_incomplete_walk_is_repeated_once() -> None:
    book = Book(page("ab", 4, 2), page("bc", 4, 2))

    walk = await walk_twice_if_short(book.fetch, QUICK, RULE)

    assert (book.requested_pages, list(walk.products)) == ([0, 1, 0, 1], ["a", "b", "c"])


async def test_product_without_any_key_is_kept_for_the_normalizer() -> None:
    keyless = ListPage(products=[{"Name": "x"}, {"Name": "y"}], total_count=2, total_pages=1)

    walk = await walk_pages(Book(keyless).fetch, QUICK, RULE)

    assert [product["Name"] for product in walk.products.values()] == ["x", "y"]


class Race:
    """An upstream whose first page is empty a few times before the true one."""

    def __init__(self, empty_times: int, empty: ListPage) -> None:
        self.empty_times = empty_times
        self.empty = empty
        self.request_count = 0

    async def fetch(self, number: int) -> ListPage:
        assert number == 0
        self.request_count += 1
        return self.empty if self.request_count <= self.empty_times else page("ab", 2, 1)


@pytest.mark.parametrize("empty", [page("", 0, 0), page("", 2, 1)], ids=["counts none", "counts some"])
@pytest.mark.parametrize(("empty_times", "request_count", "found"), [(1, 2, 2), (3, 4, 2), (9, 4, 0)])
async def test_empty_first_page_is_requested_three_more_times(
    empty: ListPage, empty_times: int, request_count: int, found: int
) -> None:
    race = Race(empty_times, empty)

    walk = await walk_pages(race.fetch, QUICK, RULE)

    assert (race.request_count, len(walk.products)) == (request_count, found)


async def test_empty_page_in_the_middle_does_not_make_a_menu_complete() -> None:
    book = Book(page("ab", 4, 2), page("", 0, 0))

    walk = await walk_pages(book.fetch, QUICK, RULE)

    assert (walk.total_count, walk.is_complete) == (4, False)


async def test_page_with_a_lower_count_than_earlier_ones_is_ignored() -> None:
    book = Book(page("ab", 9, 5), page("c", 3, 2))

    walk = await walk_pages(book.fetch, QUICK, RULE)

    assert (walk.total_count, walk.is_complete) == (9, False)


async def test_uncounted_walk_continues_to_an_empty_page_and_is_never_complete() -> None:
    book = Book(page("ab", None, None), page("cd", None, None), page("", None, None))

    walk = await walk_twice_if_short(book.fetch, QUICK, RULE)

    assert (book.requested_pages, list(walk.products), walk.is_complete) == ([0, 1, 2], list("abcd"), False)


async def test_uncounted_walk_ends_when_pages_contain_nothing_new() -> None:
    book = Book(*(page("ab", None, None) for _ in range(9)))

    walk = await walk_pages(book.fetch, QUICK, RULE)

    assert (book.requested_pages, list(walk.products)) == ([0, 1], ["a", "b"])


async def test_unreadable_products_count_as_collected() -> None:
    """Otherwise one bad product makes every menu be walked twice and counted as incomplete."""
    unread = Unread(index=2, key="c", reason="NaN")
    book = Book(replace(page("ab", 3, 1), unread=[unread]))

    walk = await walk_twice_if_short(book.fetch, QUICK, RULE)

    assert (book.requested_pages, walk.is_complete) == ([0], True)


async def test_later_document_of_a_product_wins_but_its_nulls_erase_nothing() -> None:
    first = [{"_id": "a", "Name": "Old", "brandName": "Loam"}, {"_id": "b"}]
    again = [{"_id": "a", "Name": "New", "brandName": None}]
    pages = [ListPage(products=products, total_count=3, total_pages=2) for products in (first, again)]

    walk = await walk_pages(Book(*pages).fetch, QUICK, RULE)

    assert list(walk.products.values()) == [{"_id": "a", "Name": "New", "brandName": "Loam"}, {"_id": "b"}]


KNOWN_PRODUCT = {"_id": "a", "id": "a", "Name": "x", "Options": [], "Prices": [], "Status": "", "type": ""}


def root(*products: dict[str, Any]) -> dict[str, Any]:
    return {"products": list(products), "queryInfo": {"totalCount": 2, "totalPages": 1}}


@pytest.mark.parametrize(
    "missing", [("_id", "id"), ("Name",), ("Options",), ("Prices",), ("Status",), ("type",)], ids=str
)
def test_field_missing_from_all_products_of_a_page_is_schema_drift(missing: tuple[str, ...]) -> None:
    drifted = {name: value for name, value in KNOWN_PRODUCT.items() if name not in missing}

    with pytest.raises(SchemaDrift):
        page_of(root(drifted, drifted))


def test_field_missing_from_one_product_is_no_schema_drift() -> None:
    assert len(page_of(root({"_id": "b"}, KNOWN_PRODUCT)).products) == 2


@pytest.mark.parametrize("count", [None, "2", 1e300, -1, True, {}, 2.5], ids=str)
def test_malformed_count_is_ignored_and_is_not_schema_drift(count: object) -> None:
    read = page_of({"products": [KNOWN_PRODUCT], "queryInfo": {"totalCount": count, "totalPages": 1}})

    assert (read.total_count, read.total_pages, len(read.products)) == (None, 1, 1)


@pytest.mark.parametrize("info", [None, {}, [], "2"], ids=str)
def test_page_without_count_fields_is_schema_drift(info: object) -> None:
    with pytest.raises(SchemaDrift, match="the number of products"):
        page_of({"products": [KNOWN_PRODUCT], "queryInfo": info})


def test_non_object_members_are_left_to_the_normalizer() -> None:
    members = [None, "a text", 7, KNOWN_PRODUCT, None]
    read = page_of({"products": members, "queryInfo": {"totalCount": 5, "totalPages": 1}})

    assert [*Walk.of([read, read]).products.values()] == members


def test_empty_page_is_no_schema_drift() -> None:
    assert page_of(root()).products == []


def test_document_with_more_priced_options_wins_completely() -> None:
    shown = {"Options": ["1g"], "Prices": [10], "recSpecialPrices": [8], "brandName": "Loam"}
    full = {"Options": ["1g", "2g"], "Prices": [10, 19], "recSpecialPrices": [], "brandName": None}

    merged = merge_documents(shown, full)

    assert merged == {**full, "brandName": "Loam"}


def test_full_document_without_prices_does_not_replace_prices() -> None:
    shown = {"Options": ["1g"], "Prices": [10]}
    full = {"Options": ["1g", "2g"], "Prices": [], "isBelowThreshold": True}

    assert merge_documents(shown, full) == {**shown, "isBelowThreshold": True}


def a_walk(ids: str, total_count: int | None = None) -> Walk:
    return Walk.of([page(ids, len(ids) if total_count is None else total_count, 1)])


def a_menu(shown: Walk, full: Walk) -> FetchedMenu:
    return FetchedMenu.of("s", 100, {Kind("rec", MenuMode.SHOWN): shown, Kind("rec", MenuMode.FULL): full})


@pytest.mark.parametrize(
    ("shown", "full", "complete"),
    [
        (a_walk("ab"), a_walk("abc"), True),
        (a_walk("ab"), a_walk("ab"), True),
        (a_walk("ab"), a_walk("c"), False),
        (a_walk("ab"), a_walk("abc", 9), False),
        (a_walk("ab", 3), a_walk("abc"), False),
    ],
)
def test_menu_is_complete_if_both_modes_are_and_full_is_larger(shown: Walk, full: Walk, complete: bool) -> None:
    assert a_menu(shown, full).is_complete == complete


def test_both_modes_are_merged_in_the_order_of_first_appearance() -> None:
    assert [product["_id"] for product in a_menu(a_walk("bd"), a_walk("abcd")).products] == ["b", "d", "a", "c"]


@pytest.mark.parametrize(("served", "counted"), [(9, 20), (0, 20), (25, 814)])
def test_menu_of_less_than_half_of_the_count_is_rejected(served: int, counted: int) -> None:
    ids = "".join(chr(0x100 + number) for number in range(served))

    with pytest.raises(Truncated, match=f"the upstream served {served} products but counts {counted}") as raised:
        a_menu(a_walk(ids, counted), a_walk(ids, counted)).refuse_if_truncated()

    assert raised.value.retryable


@pytest.mark.parametrize(("served", "counted"), [(10, 20), (3, 19), (0, 0)])
def test_menu_of_half_the_count_or_a_small_one_is_accepted(served: int, counted: int) -> None:
    ids = "".join(chr(0x100 + number) for number in range(served))

    a_menu(a_walk(ids, counted), a_walk(ids, counted)).refuse_if_truncated()


def test_unreadable_product_in_a_response_does_not_make_a_menu_incomplete() -> None:
    unread = [Unread(index=number, key=f"k{number}", reason="NaN") for number in range(4, 20)]
    walk = Walk.of([replace(page("abcd", 20, 1), unread=unread)])

    a_menu(walk, walk).refuse_if_truncated()
