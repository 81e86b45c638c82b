"""The normalizer against captured menus of real stores; the expected figures were counted independently."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from storecrawl.catalog.normalize import Menu, NotAMenu, PotencyUnit, Shape, Weight, normalize, parse_document

GRAPHQL = "graphql-filteredproducts-ethos-harmar-2025-11.json"
PLUS = "plus-mpxnj-edibles-page1-2025-06.json"
JOINT = "joint-cuzzies-2025-06.json"
LEGACY = "legacy-dutchie-exercise-2019.json"
EXAMPLES = Path(__file__).parent / "examples"

Captured = Callable[[str], Menu]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        (GRAPHQL, (Shape.GRAPHQL, 25, 25, 7, 814)),
        (PLUS, (Shape.PLUS, 20, 20, 6, 101)),
        (JOINT, (Shape.JOINT, 226, 226, 226, None)),
        (LEGACY, (Shape.LEGACY, 3, 7, 0, None)),
    ],
)
def test_every_captured_menu_is_recognized_and_complete(
    captured_menu: Captured, name: str, counts: tuple[Shape, int, int, int, int | None]
) -> None:
    menu = captured_menu(name)

    assert menu.record_count == len(menu.products)
    figures = (menu.shape, len(menu.products), menu.variant_count, menu.special_count, menu.total_count)
    assert figures == counts
    assert (menu.refused, menu.duplicates) == ((), 0)


def test_seven_specials_have_their_exact_cents(captured_menu: Captured) -> None:
    menu = captured_menu(GRAPHQL)

    specials = {
        product.name: (variant.price_rec_cents, variant.special_rec_cents, variant.special_med_cents)
        for product in menu.products
        for variant in product.variants
        if variant.on_special
    }
    assert specials == {
        "Forza | Live Sugar | 1g": (4300, 2795, 2795),
        "Key Lime Kush | Live Sugar | 1g": (4300, 2795, 2795),
        "Pink Lady | Live Sugar | 1g": (4300, 2795, 2795),
        "Pura Vida | Live Sugar | 1g": (4300, 2795, 2795),
        "Pineapple Guava | 10mg Troche | 10pk": (2500, 1875, 1875),
        "Blueberry | 50mg THC 10mg CBN Plus Troches | 10pk": (5200, 3900, 3900),
        "Mixed Berry | 10mg Troche | 10pk": (2500, 1875, 1875),
    }


def test_prices_and_quantities_of_the_captured_page_add_up(captured_menu: Captured) -> None:
    variants = [variant for product in captured_menu(GRAPHQL).products for variant in product.variants]

    assert sum(variant.price_rec_cents or 0 for variant in variants) == 104_600
    assert sum(variant.quantity or 0 for variant in variants) == 705
    assert not any(variant.quantity_capped for variant in variants)


def test_options_of_the_captured_page_have_their_weights(captured_menu: Captured) -> None:
    variants = [variant for product in captured_menu(GRAPHQL).products for variant in product.variants]

    weights = Counter((variant.option, variant.weight) for variant in variants)
    assert weights == {
        ("N/A", None): 10,
        (".5g", Weight(value=Decimal("0.5"), unit="g")): 6,
        ("1gC", Weight(value=Decimal(1), unit="g")): 4,
        ("1/4oz", Weight(value=Decimal(7), unit="g")): 3,
        ("1/8oz", Weight(value=Decimal("3.5"), unit="g")): 2,
    }


def test_captured_page_preserves_the_unit_of_each_potency(captured_menu: Captured) -> None:
    products = captured_menu(GRAPHQL).products

    units = Counter(product.thc.unit if product.thc else None for product in products)
    assert units == {PotencyUnit.PERCENTAGE: 15, PotencyUnit.MILLIGRAMS: 3, None: 7}
    assert [product.cbd.lo for product in products if product.cbd] == [Decimal("0.155")]


def test_unusual_categories_are_preserved(captured_menu: Captured) -> None:
    categories = Counter((product.category, product.category_raw) for product in captured_menu(GRAPHQL).products)

    assert categories == {
        ("accessories", "Accessories"): 7,
        ("vaporizers", "Vaporizers"): 6,
        ("flower", "Flower"): 5,
        ("concentrates", "Concentrate"): 4,
        ("oral", "Oral"): 3,
    }


def test_double_space_in_a_name_is_collapsed_except_in_the_raw_name(captured_menu: Captured) -> None:
    products = captured_menu(GRAPHQL).products

    changed = [(product.name, product.name_raw) for product in products if product.name != product.name_raw]
    assert changed == [
        (
            "Guava MTN x Strawberry Vegas | Cured Resin Liquid Diamond Cartridge | 500mg",
            "Guava MTN x Strawberry Vegas  | Cured Resin Liquid Diamond Cartridge | 500mg",
        )
    ]


def test_plus_specials_are_a_quarter_off_and_only_recreational(captured_menu: Captured) -> None:
    variants = [variant for product in captured_menu(PLUS).products for variant in product.variants]

    reduced = [(variant.price_rec_cents, variant.special_rec_cents) for variant in variants if variant.on_special]
    assert sorted(reduced) == [(2400, 1800)] * 4 + [(3200, 2400)] * 2
    assert {variant.special_med_cents for variant in variants} == {None}


def test_pack_option_has_a_count_and_a_total_dose(captured_menu: Captured) -> None:
    variants = [variant for product in captured_menu(PLUS).products for variant in product.variants]

    packs = Counter((variant.option, variant.pack_count, variant.dose_mg, variant.weight) for variant in variants)
    assert packs == {
        ("10pk/100mg", 10, Decimal(100), None): 7,
        ("20pk/100mg", 20, Decimal(100), None): 7,
        ("1g", None, None, Weight(value=Decimal(1), unit="g")): 6,
    }


@pytest.mark.parametrize(("name", "capped"), [(PLUS, 7), (JOINT, 68)])
def test_quantity_of_twenty_five_means_at_least_twenty_five(captured_menu: Captured, name: str, capped: int) -> None:
    variants = [variant for product in captured_menu(name).products for variant in product.variants]

    assert [variant.quantity for variant in variants if variant.quantity_capped] == [25] * capped


def test_menu_completely_on_special_is_read_to_the_cent(captured_menu: Captured) -> None:
    variants = [variant for product in captured_menu(JOINT).products for variant in product.variants]

    assert sum(variant.price_rec_cents or 0 for variant in variants) == 1_010_216
    assert sum(variant.special_rec_cents or 0 for variant in variants) == 648_441
    assert {variant.price_med_cents for variant in variants} == {None}


def test_products_with_the_same_name_stay_separate(captured_menu: Captured) -> None:
    products = captured_menu(JOINT).products

    names = Counter(product.name for product in products)
    assert sum(count > 1 for count in names.values()) == 7
    assert len({product.external_id for product in products}) == 226
    assert all(re.fullmatch("[0-9a-f]{24}", product.external_id) for product in products)


def test_potencies_given_as_text_are_read_exactly(captured_menu: Captured) -> None:
    products = captured_menu(JOINT).products

    assert Counter(product.thc.unit for product in products if product.thc) == {
        PotencyUnit.PERCENTAGE: 223,
        PotencyUnit.MILLIGRAMS: 3,
    }
    assert sum(product.cbd is None for product in products) == 161
    assert products[0].thc is not None
    assert products[0].thc.lo == Decimal("0.07")


def test_legacy_form_has_a_price_per_option_and_no_potency_unit(captured_menu: Captured) -> None:
    taffy, gummies, flower = captured_menu(LEGACY).products

    options = [(variant.option, variant.price_rec_cents) for variant in flower.variants]
    assert options == [("1g", 1080), ("1/8oz", 3240), ("1/4oz", 6480), ("1/2oz", 12960), ("1oz", 24720)]
    assert [(product.thc.hi, product.thc.unit) for product in (taffy, gummies, flower) if product.thc] == [
        (Decimal(100), None),
        (Decimal(20), None),
        (Decimal(29), None),
    ]
    assert (taffy.variants[0].quantity, gummies.variants[0].weight) == (28, None)


@pytest.mark.parametrize(
    ("name", "records", "seen"),
    [
        ("foreign-sweed-curaleaf-sample-2025-06.json", 40, "another platform (Sweed)"),
        ("flat-trulieve-squirrel-hill-2025-11.csv", 1_170, "looks like CSV"),
        ("flat-mpxnj-2025-06.csv", 738, "looks like CSV"),
        ("flat-quincy-dom-2025-09.jsonl", 8, "several documents, one per line"),
        ("stores-dutchie-slugs-on-ca-bc.json", 271, "cName, city_page, name"),
        ("stores-ontario-sites-a.json", 794, "platform, site, src, store"),
        ("stores-oregon-ids-2021.json", 38, "dispensaryId, geo, name, zip"),
    ],
)
def test_document_that_is_not_a_menu_is_rejected_with_its_actual_form(
    captures: Path, name: str, records: int, seen: str
) -> None:
    with pytest.raises(NotAMenu, match=re.escape(seen)) as refusal:
        normalize(parse_document((captures / name).read_bytes()))

    assert refusal.value.record_count == records


def test_every_captured_file_is_covered_by_these_tests(captures: Path) -> None:
    """A new capture needs its counts above."""
    files = {path.name for path in captures.iterdir() if path.suffix != ".md"}

    source_text = Path(__file__).read_text("utf-8")
    assert [name for name in sorted(files) if name not in source_text] == []


@pytest.mark.parametrize(
    ("example", "capture"),
    [
        ("graphql.json", GRAPHQL),
        ("plus.json", PLUS),
        ("joint.json", JOINT),
        ("legacy.json", LEGACY),
        ("foreign.json", "foreign-sweed-curaleaf-sample-2025-06.json"),
    ],
)
def test_invented_examples_only_use_fields_of_real_menus(captures: Path, example: str, capture: str) -> None:
    made_up = members_of(parse_document((EXAMPLES / example).read_bytes()))

    assert made_up
    assert made_up - members_of(parse_document((captures / capture).read_bytes())) == set()


def members_of(value: object, path: str = "") -> set[str]:
    """Return every member of a document by its path; ids used as names count as one."""
    if isinstance(value, list):
        return {inner for member in value for inner in members_of(member, path)}
    if not isinstance(value, dict):
        return set()
    named = {f"{path}/{re.sub('^[0-9a-f]{24}$', '*', name)}": member for name, member in value.items()}
    return named.keys() | {inner for below, member in named.items() for inner in members_of(member, below)}
