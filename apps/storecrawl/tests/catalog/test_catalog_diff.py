"""Differences between two menus."""

from __future__ import annotations

from collections.abc import Callable

from storecrawl.catalog import FieldChange, ProductChange, diff_payloads
from storecrawl.catalog.normalize import Menu

MakeMenu = Callable[..., Menu]


def test_equal_menus_have_no_differences(make_menu: MakeMenu) -> None:
    diff = diff_payloads(make_menu(["a", "b"]), make_menu(["b", "a"]))

    assert (diff.added, diff.removed, diff.price_changes, diff.stock_changes) == ((), (), (), ())


def test_products_are_matched_by_id_and_not_by_name(make_menu: MakeMenu) -> None:
    same_name = {"Name": "Runtz"}
    diff = diff_payloads(make_menu({"a": same_name, "b": same_name}), make_menu({"b": same_name, "c": same_name}))

    assert diff.added == (ProductChange(external_id="c", name="Runtz"),)
    assert diff.removed == (ProductChange(external_id="a", name="Runtz"),)


def test_price_change_contains_option_field_and_cents(make_menu: MakeMenu) -> None:
    diff = diff_payloads(make_menu({"a": {"recPrices": [20]}}), make_menu({"a": {"recPrices": [18.5]}}))

    assert diff.price_changes == (
        FieldChange(external_id="a", name="Product a", option="1g", field="price_rec_cents", before=2000, after=1850),
    )
    assert diff.stock_changes == ()


def test_stock_change_contains_quantity_and_availability(make_menu: MakeMenu) -> None:
    before, after = (make_menu({"a": {"manualInventory": [{"option": "1g", "inventory": count}]}}) for count in (4, 0))

    changes = diff_payloads(before, after).stock_changes
    assert [(change.field, change.before, change.after) for change in changes] == [
        ("in_stock", True, False),
        ("quantity", 4, 0),
    ]


def test_new_option_changes_from_none(make_menu: MakeMenu) -> None:
    after = make_menu({"a": {"Options": ["1g", "1oz"], "recPrices": [20, 300]}})

    changes = diff_payloads(make_menu(["a"]), after).price_changes
    assert [(change.option, change.before, change.after) for change in changes] == [("1oz", None, 30_000)]
