"""Synthetic menus in each known form, for checkouts without the captured menus."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest
from storecrawl.catalog.normalize import Menu, NotAMenu, Product, Shape, Weight, normalize, parse_document
from storecrawl.cli.normalize import normalize_file

EXAMPLES = Path(__file__).parent / "examples"


def menu_in(name: str) -> Menu:
    return normalize(parse_document((EXAMPLES / name).read_bytes()))


def options_of(product: Product) -> list[tuple[str, int | None, int | None, int | None]]:
    return [(v.option, v.price_rec_cents, v.special_rec_cents, v.quantity) for v in product.variants]


@pytest.mark.parametrize(
    ("name", "shape", "counts", "total"),
    [
        ("graphql.json", Shape.GRAPHQL, (7, 7, 2), 814),
        ("plus.json", Shape.PLUS, (2, 2, 2), 101),
        ("joint.json", Shape.JOINT, (6, 6, 6), None),
        ("legacy.json", Shape.LEGACY, (3, 7, 0), None),
    ],
)
def test_every_form_is_recognized_and_every_product_kept(
    name: str, shape: Shape, counts: tuple[int, int, int], total: int | None
) -> None:
    menu = menu_in(name)

    assert (menu.shape, menu.total_count) == (shape, total)
    assert (len(menu.products), menu.variant_count, menu.special_count) == counts
    assert (menu.record_count, menu.duplicates, menu.refused) == (counts[0], 0, ())


@pytest.mark.parametrize(
    ("name", "records", "reason"),
    [
        ("foreign.json", 2, "a menu of another platform"),
        ("flat.csv", 2, "looks like CSV"),
        ("flat.jsonl", 2, "several documents, one per line"),
        ("stores.json", 2, "objects with members cName, city_page, name"),
    ],
)
def test_menu_of_another_platform_is_rejected_completely_and_counted(name: str, records: int, reason: str) -> None:
    with pytest.raises(NotAMenu, match=re.escape(reason)) as refusal:
        menu_in(name)

    assert refusal.value.record_count == records


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir() if path.suffix != ".md"))
def test_command_accounts_for_every_record(name: str) -> None:
    code, report = normalize_file(EXAMPLES / name)

    counts = report.counts
    assert counts.products + counts.duplicates + counts.refused == counts.records > 0
    assert (code == 0) == (counts.products > 0) == (report.error is None)


def test_current_form_is_read_with_all_its_groups() -> None:
    product = menu_in("graphql.json").products[0]

    assert (product.external_id, product.slug) == ("2f8104fba08f6d3682da2bd8", "ember-loam-basalt-1g")
    assert (product.name, product.brand) == ("Tansy | Thistle Brindle | 1g", product.brand_raw)
    assert product.brand_external_id == "f7460650-a9bc-c94f-15dc-3e72eec2df9d"
    assert (product.category, product.subcategory, product.strain_type) == ("concentrates", "sugar", "hybrid")
    assert options_of(product) == [("1gC", 5160, 3354, 3)]
    assert product.variants[0].weight == Weight(value=Decimal(1), unit="g")
    assert product.thc is not None
    assert (product.thc.lo, product.thc.unit, product.cbd) == (Decimal("89.744"), "PERCENTAGE", None)
    assert str(product.image_url).startswith("https://images.example/")
    assert product.created_at is not None
    assert (product.availability, product.in_stock) == ("in_stock", True)


def test_plus_form_is_read_with_its_price_names() -> None:
    single, pack = menu_in("plus.json").products

    assert (single.category, single.subcategory, single.strain_type) == ("edibles", "gummies", "indica")
    assert options_of(single) == [("1g", 2880, 2160, 25)]
    assert single.variants[0].quantity_capped
    assert single.variants[0].canonical_id == f"{single.external_id}~1g"
    assert single.thc is not None
    assert (single.thc.lo, single.thc.unit) == (Decimal("0.44"), "PERCENTAGE")
    assert (pack.variants[0].pack_count, pack.thc) == (10, None)


def test_joint_form_is_read_from_its_text_fields() -> None:
    first, second, *_, unbranded, _, _ = menu_in("joint.json").products

    assert (first.name, options_of(first)) == (second.name, [("1g", 1440, 936, 30)])
    assert options_of(second) == [("1/4oz", 8400, 4550, 16)]
    assert first.external_id != second.external_id
    assert unbranded.brand is None


def test_legacy_form_is_read_without_its_missing_fields() -> None:
    first, second, third = menu_in("legacy.json").products

    assert (first.external_id, first.slug, options_of(first)) == ("1", None, [("0.1g", 2400, None, 28)])
    assert second.thc is not None
    assert (second.thc.lo, second.thc.unit) == (Decimal(20), None)
    assert [price for _, price, _, _ in options_of(third)] == [1296, 3888, 7776, 15552, 29664]
