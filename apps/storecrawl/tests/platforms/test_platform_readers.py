"""The readers of Dispense, Weedmaps and Jane, with menus of the demo's world and with odd records."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec
import pytest
from storecrawl.catalog.normalize import (
    Availability,
    Compound,
    Menu,
    NotAMenu,
    Potency,
    PotencyUnit,
    Product,
    Special,
    Variant,
    normalize,
)
from storecrawl.demo.upstream.dispense_document import dispense_product
from storecrawl.demo.upstream.options import UpstreamOptions
from storecrawl.demo.upstream.product_document import Listing, product_document
from storecrawl.demo.upstream.weedmaps_document import menu_item
from storecrawl.demo.upstream.world import World
from storecrawl.platforms.dispense import reader as dispense
from storecrawl.platforms.jane import reader as jane
from storecrawl.platforms.readers import read_any
from storecrawl.platforms.weedmaps import reader as weedmaps

STORES = 3
Make = Callable[..., Product]


@pytest.fixture
def dispensed() -> Make:
    record = {"id": "d1", "name": "Gummies", "venue": "v", "productCategory": "c", "price": 20, "variants": []}
    return lambda **members: dispense.read([{**record, **members}]).products[0]


@pytest.fixture
def mapped() -> Make:
    item = {"name": "Haze", "is_published": True, "license_type": "recreational", "prices": {"price_unit": 20}}

    def make(**members: object) -> Product:
        return weedmaps.read([{"id": 1, "type": "menu_item", "attributes": {**item, **members}}]).products[0]

    return make


@pytest.fixture
def hit() -> Make:
    attributes = {"name": "Haze", "kind": "flower", "store_types": ["medical"], "available_weights": ["eighth ounce"]}

    def make(**members: object) -> Product:
        return jane.read([{"product_id": 1, "search_attributes": {**attributes, **members}}]).products[0]

    return make


@cache
def shown() -> list[Listing]:
    world = World(UpstreamOptions(stores=STORES, menu_median=60, menu_largest=200))
    return [each for store in world.open_stores() for each in world.shown_listings(store, 0)]


def documents(write: Callable[[Listing], dict[str, Any]]) -> list[Any]:
    return [msgspec.json.decode(msgspec.json.encode(write(listing))) for listing in shown()]


def variants_of(menu: Menu) -> list[Variant]:
    return [variant for product in menu.products for variant in product.variants]


def price_of(variant: Variant) -> int | None:
    return variant.price_rec_cents or variant.price_med_cents


def test_every_platform_shows_the_same_prices_and_stock() -> None:
    dutchie = normalize(documents(product_document))
    dispensed, listed = dispense.read(documents(dispense_product)), weedmaps.read(documents(menu_item))

    assert len(dispensed.products) == len(listed.products) == len(shown()) > 100
    for menu in (dispensed, listed):
        assert [each.name for each in menu.products] == [each.name for each in dutchie.products]
        for variant, first in zip(variants_of(menu), variants_of(dutchie), strict=True):
            assert price_of(variant) == price_of(first)
            # The first platform leaves out the stock of options that its till does not list.
            assert first.quantity in {None, variant.quantity}


def test_dispense_shows_the_same_sizes_and_specials() -> None:
    menus = normalize(documents(product_document)), dispense.read(documents(dispense_product))

    first, second = [[(each.weight, each.special_rec_cents) for each in variants_of(menu)] for menu in menus]
    assert first == second
    assert any(special for _, special in first)


@pytest.mark.parametrize(
    ("reader", "document"),
    [
        (dispense, {"data": [], "count": 0}),
        (weedmaps, {"data": [], "meta": {"total": 0}}),
        (jane, {"hits": [], "nbHits": 0}),
    ],
)
def test_declared_empty_menu_is_a_menu(reader: Any, document: object) -> None:
    menu = reader.read(document)
    assert (menu.products, menu.complete, read_any(document).shape) == ((), True, menu.shape)


@pytest.mark.parametrize("reader", [dispense, weedmaps, jane])
@pytest.mark.parametrize("document", [{"data": []}, [{"id": 1, "name": "x"}], "text", {"data": {"menu": {}}}])
def test_document_of_another_platform_is_refused(reader: Any, document: object) -> None:
    with pytest.raises(NotAMenu, match="it has no list of"):
        reader.read(document)


def test_pages_are_read_as_one_menu() -> None:
    items = documents(menu_item)[:3]
    pages = [{"meta": {"total": 3}, "data": items[:2]}, {"meta": {"total": 3}, "data": items[2:]}]

    menu = weedmaps.read(pages)
    assert (len(menu.products), menu.complete) == (3, True)


def test_notes_of_the_fetch_decide_about_completeness() -> None:
    refused = [{"externalId": "9", "reason": "broken", "place": "page 1"}]
    fetched = {"complete": False, "refused": refused}

    menu = weedmaps.read({"data": documents(menu_item)[:1], "meta": {"total": 1}, "fetched": fetched})
    assert (menu.complete, [each.reason for each in menu.refused]) == (False, ["broken (page 1)"])


def test_item_is_only_sold_in_sizes_with_a_price(mapped: Make) -> None:
    prices = {"price_unit": 0, "price_gram": 12, "price_eighth": "35.00", "price_ounce": 0, "prices_other": {"2pk": 9}}

    sold = [(each.option, each.price_rec_cents) for each in mapped(prices=prices).variants]
    assert sold == [("1g", 1200), ("1/8oz", 3500), ("2pk", 900)]


def test_variants_replace_the_prices_of_an_item(mapped: Make) -> None:
    variants = [
        {
            "weight": {"value": "3.5", "unit": "g"},
            "price": {"amount": "25.00", "currency": "USD"},
            "inventory_quantity": 4,
        },
        {"name": "2 pack", "price": "15.50"},
        {"name": "free", "price": {"amount": "0.00"}},
    ]

    read = [(each.option, each.price_rec_cents, each.quantity) for each in mapped(variants=variants).variants]
    assert read == [("3.5g", 2500, 4), ("2 pack", 1550, None)]


@pytest.mark.parametrize(
    ("license_type", "prices"),
    [("recreational", (2000, None)), ("medical", (None, 2000)), ("hybrid", (2000, 2000)), (None, (2000, None))],
)
def test_license_decides_about_the_customers_of_a_price(
    mapped: Make, license_type: str | None, prices: tuple[int | None, int | None]
) -> None:
    (variant,) = mapped(license_type=license_type).variants
    assert (variant.price_rec_cents, variant.price_med_cents) == prices


@pytest.mark.parametrize(("unit", "known"), [("%", PotencyUnit.PERCENTAGE), ("mg", PotencyUnit.MILLIGRAMS)])
def test_strength_is_a_text_in_percent_or_milligrams(mapped: Make, unit: str, known: PotencyUnit) -> None:
    measured = {"classification": "cannabinoid", "name": "THC", "unit": unit, "value": "22.5"}

    strength = Decimal("22.5")
    assert mapped(measurements=[measured]).thc == Potency(lo=strength, hi=strength, unit=known)


def test_published_item_without_a_quantity_is_in_stock(mapped: Make) -> None:
    item, hidden = mapped(brand_name="", inventory_quantity=None), mapped(is_published=False)

    assert (item.brand, item.variants[0].quantity, item.availability) == (None, None, Availability.IN_STOCK)
    assert hidden.availability is Availability.OUT_OF_STOCK


@pytest.mark.parametrize(
    ("sub_category", "category"), [("Pre Roll", "pre_rolls"), ("Disposable", "vaporizers"), (None, "vaporizers")]
)
def test_subcategory_counts_where_it_is_a_category(mapped: Make, sub_category: str | None, category: str) -> None:
    assert mapped(category_name="Vape Pens", sub_category={"name": sub_category}).category == category


def test_pictures_of_the_platform_are_none_of_the_product(mapped: Make, dispensed: Make) -> None:
    assert mapped(picture_url="https://images.weedmaps.com/categories/2/a.png").image_url is None
    assert dispensed(image="https://imgix.dispenseapp.com/default-image.png").image_url is None


def test_size_is_written_from_its_number_where_no_text_is(dispensed: Make) -> None:
    sizes = [
        {"weightFormatted": "100mg", "price": 10},
        {"weightFormatted": "", "weight": 3.5, "weightUnit": "GRAMS", "price": 30, "priceWithDiscounts": 24},
        {"weightFormatted": "", "weight": None, "price": 5, "quantity": 0},
    ]

    read = [(each.option, each.price_rec_cents, each.special_rec_cents) for each in dispensed(variants=sizes).variants]
    assert read == [("100mg", 1000, None), ("3.5g", 3000, 2400), ("each", 500, None)]


@pytest.mark.parametrize(
    ("discount", "unit", "value"),
    [({"value": 0.15, "type": "PERCENT"}, "percent", 15), ({"value": 5, "type": "FLAT"}, "dollars", 5)],
)
def test_discounts_name_their_offer_and_unit(
    dispensed: Make, discount: dict[str, object], unit: str, value: int
) -> None:
    offer = {"productOffer": "o1", "productOfferType": "SALE", **discount}

    assert dispensed(discounts=[offer]).details.specials == (
        Special(external_id="o1", name=None, kind="sale", discount_type=unit, discount=Decimal(value)),
    )


def test_zeros_of_a_laboratory_are_unknown(dispensed: Make) -> None:
    labs = {
        "thc": 0, "thcMax": 24.5, "thcContentUnit": "%", "cbd": 0, "cbdMax": 0, "cbdContentUnit": "%", "cbg": 0.3,
        "cbgContentUnit": "%", "betaMyrcene": 0.2, "betaMyrceneContentUnit": "%", "ocimene": 0, "ocimeneContentUnit": None,
    }  # fmt: skip

    product = dispensed(labs=labs)
    assert (product.thc, product.cbd) == (
        Potency(lo=Decimal("24.5"), hi=Decimal("24.5"), unit=PotencyUnit.PERCENTAGE),
        None,
    )
    assert product.details.cannabinoids == (Compound(name="CBG", value=Decimal("0.3"), unit=PotencyUnit.PERCENTAGE),)
    assert product.details.terpenes == (
        Compound(name="Beta Myrcene", value=Decimal("0.2"), unit=PotencyUnit.PERCENTAGE),
    )


@pytest.mark.parametrize("members", [{"enable": False}, {"deleted": True}, {"quantity": 0}])
def test_disabled_or_empty_product_is_out_of_stock(dispensed: Make, members: dict[str, object]) -> None:
    assert dispensed(**members).availability is Availability.OUT_OF_STOCK


def test_medical_hit_has_no_recreational_price(hit: Make) -> None:
    prices = {"price_eighth_ounce": 30, "discounted_price_eighth_ounce": 22.5, "bucket_price": 22}

    (variant,) = hit(percent_thc=26.4, net_weight_grams=0, **prices).variants
    assert (variant.price_rec_cents, variant.price_med_cents, variant.special_med_cents) == (None, 3000, 2250)
    assert (variant.option, variant.quantity) == ("1/8oz", None)


def test_hit_without_attributes_is_refused_as_a_record(hit: Make) -> None:
    good = {"product_id": 1, "search_attributes": {"name": "Haze"}}

    menu = jane.read([good, {"product_id": 2}])
    assert [(each.external_id, each.reason) for each in menu.refused] == [("2", "it has no search_attributes")]
