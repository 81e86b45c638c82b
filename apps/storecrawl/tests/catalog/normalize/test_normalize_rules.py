"""One hand-made product for each rule of the normalizer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from storecrawl.catalog.normalize import Availability, Menu, PotencyUnit, Product

Make = Callable[..., Product]
Record = Callable[..., dict[str, object]]
Document = Callable[..., Menu]


@pytest.mark.parametrize(
    ("members", "key"),
    [
        ({"_id": "a1", "id": "b2", "cName": "c3"}, "a1"),
        ({"_id": None, "id": "b2", "cName": "c3"}, "b2"),
        ({"_id": "  ", "id": None, "cName": "c3"}, "c3"),
    ],
)
def test_key_falls_back_from_id_to_slug(product: Make, members: dict[str, object], key: str) -> None:
    assert product(**members).external_id == key


def test_repeated_product_is_merged_and_the_later_figure_wins(menu: Document, record: Record) -> None:
    merged = menu(record(brandName="Old"), record(brandName="New"))

    assert ([product.brand for product in merged.products], merged.duplicates) == (["New"], 1)


def test_later_null_does_not_erase_an_earlier_figure(menu: Document, record: Record) -> None:
    assert menu(record(brandName="Old"), record(brandName=None)).products[0].brand == "Old"


def test_children_are_joined_by_option_and_not_by_position(product: Make) -> None:
    children = [{"option": "1/8oz", "quantityAvailable": 7}, {"option": "1g", "quantityAvailable": 3}]
    shuffled = product(Options=["1g", "1/4oz", "1/8oz"], POSMetaData={"children": children})

    quantities = {variant.option: variant.quantity for variant in shuffled.variants}
    assert quantities == {"1g": 3, "1/4oz": None, "1/8oz": 7}


def test_duplicate_option_is_kept_once_and_recorded_as_a_refusal(menu: Document, record: Record) -> None:
    twice = menu(record(Options=["1g", " 1g "], recPrices=[20, 30]))

    assert [variant.price_rec_cents for variant in twice.products[0].variants] == [2000]
    assert [(refusal.option, refusal.reason) for refusal in twice.refused] == [
        ("1g", "the option occurs twice; the first was kept")
    ]


@pytest.mark.parametrize(
    ("later", "prices"),
    [
        ({"Options": ["1/8oz", "1g"], "recPrices": None, "Prices": None, "medicalPrices": None}, [None, None]),
        ({"Options": None, "recPrices": [99]}, [2000]),
        ({"Options": ["1g"], "recPrices": [21]}, [2100]),
    ],
)
def test_price_is_never_assigned_to_an_option_of_another_document(
    menu: Document, record: Record, later: dict[str, object], prices: list[int | None]
) -> None:
    """Lists parallel to the options are all taken from one of two documents."""
    merged = menu(record(), record(**later)).products[0]

    assert [variant.price_rec_cents for variant in merged.variants] == prices


@pytest.mark.parametrize(
    ("special", "specials", "cents"),
    [
        (True, [15], 1500),
        (True, [], None),
        (True, [15, 15], None),
        (None, [15], None),
        (False, [15], None),
        (True, [20], None),
        (True, [25], None),
        (True, [0], None),
        (True, [-1], None),
    ],
)
def test_special_price_needs_a_flag_matching_length_and_a_real_reduction(
    product: Make, special: object, specials: list[int], cents: int | None
) -> None:
    assert product(special=special, recSpecialPrices=specials).variants[0].special_rec_cents == cents


@pytest.mark.parametrize(
    ("members", "cents"),
    [
        ({"recPrices": [21], "Prices": [22]}, 2100),
        ({"recPrices": [], "Prices": [22]}, 2200),
        (
            {"recPrices": [], "Prices": [], "POSMetaData": {"children": [{"option": "1g", "recPrice": 23}]}},
            2300,
        ),
        ({"recPrices": [], "Prices": [], "POSMetaData": {"children": [{"option": "1g", "price": 24}]}}, 2400),
        ({"recPrices": [0], "Prices": [0]}, None),
        ({"recPrices": [0], "Prices": [22]}, None),
        ({"recPrices": ["0.00"], "Prices": [22]}, None),
        ({"recPrices": [None], "Prices": [22]}, 2200),
        ({"recPrices": [], "Prices": [0], "POSMetaData": {"children": [{"option": "1g", "recPrice": 23}]}}, None),
        ({"recPrices": [-5], "Prices": None}, None),
    ],
)
def test_recreational_price_sources_are_tried_in_order(
    product: Make, members: dict[str, object], cents: int | None
) -> None:
    assert product(**members).variants[0].price_rec_cents == cents


@pytest.mark.parametrize(
    ("members", "cents"),
    [
        ({"medicalPrices": [17], "Prices": [22]}, 1700),
        ({"medicalPrices": [], "Prices": [22]}, 2200),
        ({"medicalPrices": [0], "Prices": [22]}, None),
        ({"medicalPrices": [0], "Prices": [22], "recPrices": [22]}, None),
        (
            {
                "medicalPrices": [],
                "Prices": [],
                "POSMetaData": {"children": [{"option": "1g", "medPrice": 16}]},
            },
            1600,
        ),
    ],
)
def test_medical_price_sources_are_tried_in_order(product: Make, members: dict[str, object], cents: int | None) -> None:
    assert product(**members).variants[0].price_med_cents == cents


def test_fewer_prices_than_options_count_only_by_name(product: Make) -> None:
    children = [{"option": "7g", "price": 60}]
    short = product(Options=["1g", "7g"], recPrices=None, Prices=[60], POSMetaData={"children": children})

    assert [variant.price_rec_cents for variant in short.variants] == [None, 6000]


@pytest.mark.parametrize(
    ("members", "stated"),
    [
        ({"POSMetaData": {"children": [{"option": "1g", "quantityAvailable": 25}]}}, (25, True)),
        ({"POSMetaData": {"children": [{"option": "1g", "quantity": 24}]}}, (24, False)),
        ({"manualInventory": [{"option": "1g", "inventory": 25}]}, (25, False)),
    ],
)
def test_point_of_sale_stops_counting_at_twenty_five(
    product: Make, members: dict[str, object], stated: tuple[int, bool]
) -> None:
    (variant,) = product(**members).variants
    assert (variant.quantity, variant.quantity_capped) == stated


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"unit": "PERCENTAGE", "range": [20]}, (20, 20, PotencyUnit.PERCENTAGE)),
        ({"unit": "PERCENTAGE", "range": [20, 24.5]}, (20, 24.5, PotencyUnit.PERCENTAGE)),
        ({"unit": "MILLIGRAMS", "range": [824.88]}, (824.88, 824.88, PotencyUnit.MILLIGRAMS)),
        ({"unit": "mg/g", "range": ["3.5"]}, (3.5, 3.5, PotencyUnit.MILLIGRAMS_PER_GRAM)),
        ({"unit": "PERCENTAGE", "range": [100.5]}, None),
        ({"unit": "PERCENTAGE", "range": [-1]}, None),
        ({"unit": "MILLIGRAMS", "range": [float("inf")]}, None),
        ({"unit": "MILLIGRAMS", "range": [10_000_000]}, None),
        ({"unit": "PERCENTAGE", "range": None}, None),
        ({"unit": "PERCENTAGE", "value": 22.75}, (22.75, 22.75, PotencyUnit.PERCENTAGE)),
        ({"unit": "PERCENTAGE", "range": None, "value": 22.75}, (22.75, 22.75, PotencyUnit.PERCENTAGE)),
        ({"unit": "PERCENTAGE", "range": [], "value": 22.75}, (22.75, 22.75, PotencyUnit.PERCENTAGE)),
        ({"unit": "PERCENTAGE", "range": [None], "value": 22.75}, (22.75, 22.75, PotencyUnit.PERCENTAGE)),
        ({"unit": "MILLIGRAMS", "value": "100"}, (100, 100, PotencyUnit.MILLIGRAMS)),
        ({"unit": "MILLIGRAMS_PER_GRAM", "value": 8.5}, (8.5, 8.5, PotencyUnit.MILLIGRAMS_PER_GRAM)),
        ({"value": "8.5mg/g"}, (8.5, 8.5, PotencyUnit.MILLIGRAMS_PER_GRAM)),
        ({"value": "22.5 %"}, (22.5, 22.5, PotencyUnit.PERCENTAGE)),
        ({"unit": "%", "value": "100mg"}, (100, 100, PotencyUnit.MILLIGRAMS)),
        ({"unit": "%", "range": [20], "value": 99}, (20, 20, PotencyUnit.PERCENTAGE)),
        ({"unit": "PERCENTAGE", "value": 824.88}, None),
        ({"unit": "%", "range": [], "formatted": "20% - 24.5%"}, (20, 24.5, PotencyUnit.PERCENTAGE)),
        ({"unit": "mg", "range": [], "formatted": ""}, None),
    ],
)
def test_potency_is_read_as_stated_with_its_unit_and_impossible_values_dropped(
    product: Make, content: object, expected: tuple[float, float, PotencyUnit] | None
) -> None:
    thc = product(THCContent=content).thc

    assert (thc and (float(thc.lo), float(thc.hi), thc.unit)) == expected


def test_scalar_potency_applies_only_without_a_structured_one(product: Make) -> None:
    structured = {"unit": "PERCENTAGE", "range": [200]}

    assert product(THCContent=structured, THC=20).thc is None
    fallback = product(THCContent=None, THC=20).thc
    assert fallback is not None
    assert (fallback.lo, fallback.unit) == (Decimal(20), None)


@pytest.mark.parametrize(
    ("child", "quantity"),
    [
        ({"quantityAvailable": 4, "quantity": 9}, 4),
        ({"quantityAvailable": None, "quantity": 9}, 9),
        ({"quantityAvailable": 0, "quantity": 9}, 0),
        ({"quantity": -2}, 0),
        ({"quantity": "12"}, 12),
        ({}, None),
    ],
)
def test_quantity_prefers_the_available_quantity(product: Make, child: dict[str, object], quantity: int | None) -> None:
    children = {"children": [{"option": "1g", **child}]}

    assert product(POSMetaData=children).variants[0].quantity == quantity


@pytest.mark.parametrize(
    ("members", "availability"),
    [
        ({}, Availability.IN_STOCK),
        ({"Status": "Inactive"}, Availability.OUT_OF_STOCK),
        ({"isBelowThreshold": True}, Availability.OUT_OF_STOCK),
        ({"manualInventory": [{"option": "1g", "inventory": 0}]}, Availability.OUT_OF_STOCK),
        ({"manualInventory": [{"option": "1g", "inventory": 2}]}, Availability.IN_STOCK),
        (
            {"manualInventory": [{"option": "1g", "inventory": 2}], "isBelowThreshold": True},
            Availability.LIMITED,
        ),
        (
            {"Status": "Inactive", "manualInventory": [{"option": "1g", "inventory": 2}]},
            Availability.OUT_OF_STOCK,
        ),
        ({"Status": None}, Availability.UNKNOWN),
    ],
)
def test_availability_follows_status_quantity_and_threshold(
    product: Make, members: dict[str, object], availability: Availability
) -> None:
    judged = product(**members)

    assert judged.availability == availability
    assert judged.in_stock == (availability in {Availability.IN_STOCK, Availability.LIMITED})


def test_only_options_with_stock_are_in_stock(product: Make) -> None:
    inventory = [{"option": "1g", "inventory": 0}, {"option": "1/8oz", "inventory": 5}]
    judged = product(Options=["1g", "1/8oz", "1oz"], manualInventory=inventory)

    assert [variant.in_stock for variant in judged.variants] == [False, True, False]


def test_names_are_cleaned_and_raw_names_preserved(product: Make) -> None:
    cleaned = product(Name=" Salt &amp; Pepper\u00a0 | 1g ", brandName="Cresco ")

    assert (cleaned.name, cleaned.name_raw) == ("Salt & Pepper | 1g", " Salt &amp; Pepper\u00a0 | 1g ")
    assert (cleaned.brand, cleaned.brand_raw) == ("Cresco", "Cresco ")


def test_invalid_product_is_recorded_and_the_others_are_kept(menu: Document, record: Record) -> None:
    mixed = menu(
        record(_id="a"),
        record(_id="b", Name=" "),
        record(_id="c", Options=None),
        record(_id=None),
        "not a product",
        record(_id="d", Options=[None]),
    )

    assert [product.external_id for product in mixed.products] == ["a"]
    assert [(refusal.index, refusal.external_id, refusal.reason) for refusal in mixed.refused] == [
        (1, "b", "it has no name"),
        (2, "c", "Options is missing"),
        (3, None, "it has no usable key (_id, id, cName)"),
        (4, None, "it is not an object"),
        (5, "d", "the option has no name"),
        (5, "d", "none of its options can be used"),
    ]


@pytest.mark.parametrize("created", ["1758030118081", 1758030118081, "2025-09-16T13:41:58.081Z"])
def test_timestamp_is_read_from_milliseconds_and_from_iso_text(product: Make, created: object) -> None:
    assert product(createdAt=created).created_at == datetime(2025, 9, 16, 13, 41, 58, 81_000, tzinfo=UTC)


@pytest.mark.parametrize("created", ["99999999999999999", "yesterday", -1, True, {}, "0001-01-01T00:00:00+14:00"])
def test_impossible_timestamp_is_none(product: Make, created: object) -> None:
    assert product(createdAt=created).created_at is None
