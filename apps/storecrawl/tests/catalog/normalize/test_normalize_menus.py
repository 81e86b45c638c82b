"""The normalizer with a menu in each form; expected values are computed from the raw documents."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from storecrawl.catalog.normalize import NotAMenu, PotencyUnit, Variant, Weight
from storecrawl.cli.normalize import normalize_file

from apps.storecrawl.tests.catalog.plain_reading import Reading, read
from apps.storecrawl.tests.menu_samples import MENU_FORMS, OTHER_FORMS, Sample, samples

WEIGHTS = {
    "N/A": None,
    ".5g": Weight(value=Decimal("0.5"), unit="g"),
    "1gC": Weight(value=Decimal(1), unit="g"),
    "1/4oz": Weight(value=Decimal(7), unit="g"),
    "1/8oz": Weight(value=Decimal("3.5"), unit="g"),
}
EDIBLE_SIZES = {
    "10pk/100mg": (10, Decimal(100), None),
    "20pk/100mg": (20, Decimal(100), None),
    "1g": (None, None, Weight(value=Decimal(1), unit="g")),
}
CATEGORIES = {
    "Accessories": "accessories",
    "Apparel": "apparel",
    "Concentrate": "concentrates",
    "Concentrates": "concentrates",
    "Edibles": "edibles",
    "Flower": "flower",
    "Oral": "oral",
    "Pre-Rolls": "pre_rolls",
    "Tinctures": "tinctures",
    "Topicals": "topicals",
    "Vaporizers": "vaporizers",
}
OTHER = {
    ".csv": "looks like CSV",
    ".jsonl": "several documents, one per line",
    ".json": "another platform (Sweed)|objects with members",
}


def with_each(*forms: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("sample", samples(*forms), ids=str)


def variants_of(sample: Sample) -> list[Variant]:
    return [variant for product in sample.menu.products for variant in product.variants]


def reading_of(sample: Sample) -> Reading:
    reading = read(sample.read())
    assert reading is not None
    return reading


def cents(dollars: Any) -> int:
    return int(Decimal(dollars) * 100)


@with_each(*MENU_FORMS)
def test_every_menu_is_recognized_and_complete(sample: Sample) -> None:
    menu, reading = sample.menu, reading_of(sample)

    assert sample.name.startswith(menu.shape)
    assert (menu.record_count, menu.total_count) == (len(sample.records), reading.claimed)
    assert {product.external_id for product in menu.products} == reading.products.keys()
    assert (menu.refused, menu.duplicates) == ((), 0)


@with_each(*MENU_FORMS, *OTHER_FORMS)
def test_command_accounts_for_every_record(sample: Sample, tmp_path: Any) -> None:
    (tmp_path / sample.name).write_bytes(sample.read())

    code, report = normalize_file(tmp_path / sample.name)

    counts = report.counts
    assert counts.products + counts.duplicates + counts.refused == counts.records > 0
    assert (code == 0) == (counts.products > 0) == (report.error is None)


@with_each("graphql")
def test_current_form_is_read_with_its_slug_brand_and_image(sample: Sample) -> None:
    expected = [(each["cName"], each["brandId"], each["Image"]) for each in sample.records]

    products = sample.menu.products
    assert [(product.slug, product.brand_external_id, product.image_url) for product in products] == expected


@with_each("graphql")
def test_specials_have_their_exact_cents(sample: Sample) -> None:
    reduced = [record for record in sample.records if record["special"] and record["recSpecialPrices"]]

    found = {
        product.external_id: [(variant.price_rec_cents, variant.special_rec_cents) for variant in product.variants]
        for product in sample.menu.products
        if any(variant.on_special for variant in product.variants)
    }
    assert any(len(record["specialData"]["saleSpecials"]) > 1 for record in reduced)
    assert found == {
        each["_id"]: list(zip(map(cents, each["recPrices"]), map(cents, each["recSpecialPrices"]), strict=True))
        for each in reduced
    }


@with_each("graphql")
def test_prices_and_quantities_of_a_page_add_up(sample: Sample) -> None:
    variants = variants_of(sample)

    stock = sum(each["inventory"] for record in sample.records for each in record["manualInventory"])
    assert sum(variant.price_rec_cents or 0 for variant in variants) == sum(
        cents(price) for record in sample.records for price in record["recPrices"]
    )
    assert sum(variant.quantity or 0 for variant in variants) == stock > 0
    assert not any(variant.quantity_capped for variant in variants)


@with_each("graphql")
def test_options_of_a_page_have_their_weights(sample: Sample) -> None:
    weights = {variant.option: variant.weight for variant in variants_of(sample) if variant.option in WEIGHTS}

    assert weights == WEIGHTS


@with_each("graphql")
def test_page_preserves_the_unit_of_each_potency(sample: Sample) -> None:
    units = {product.external_id: product.thc.unit if product.thc else None for product in sample.menu.products}

    values = reading_of(sample).products
    assert units == {key: value["thc"][2] if value["thc"] else None for key, value in values.items()}
    assert set(units.values()) == {PotencyUnit.PERCENTAGE, PotencyUnit.MILLIGRAMS, None}


@with_each("graphql")
def test_unusual_categories_are_preserved(sample: Sample) -> None:
    categories = [(product.category, product.category_raw) for product in sample.menu.products]

    assert categories == [(CATEGORIES[record["type"]], record["type"]) for record in sample.records]
    assert ("oral", "Oral") in categories


@with_each("graphql")
def test_double_space_in_a_name_is_collapsed_except_in_the_raw_name(sample: Sample) -> None:
    spaced = [record["Name"] for record in sample.records if "  " in record["Name"]]

    changed = [(product.name, product.name_raw) for product in sample.menu.products if product.name != product.name_raw]
    assert changed == [(name.replace("  ", " "), name) for name in spaced] != []


@with_each("plus")
def test_plus_specials_are_only_recreational(sample: Sample) -> None:
    options = [variant for record in sample.records for variant in record["variants"]]
    reduced = {option["id"]: cents(option["specialPriceRec"]) for option in options if option["specialPriceRec"]}

    variants = variants_of(sample)
    assert {variant.canonical_id: variant.special_rec_cents for variant in variants if variant.on_special} == reduced
    assert len(reduced) > 1
    assert {variant.special_med_cents for variant in variants} == {None}


@with_each("plus")
def test_pack_option_has_a_count_and_a_total_dose(sample: Sample) -> None:
    sizes = {each.option: (each.pack_count, each.dose_mg, each.weight) for each in variants_of(sample)}

    assert {option: size for option, size in sizes.items() if option in EDIBLE_SIZES} == EDIBLE_SIZES


@with_each("plus", "joint")
def test_quantity_of_twenty_five_means_at_least_twenty_five(sample: Sample) -> None:
    stated = [int(variant["quantity"]) for record in sample.records for variant in record["variants"]]

    capped = [variant.quantity for variant in variants_of(sample) if variant.quantity_capped]
    assert capped == [quantity for quantity in stated if quantity == 25] != []


@with_each("joint")
def test_menu_completely_on_special_is_read_to_the_cent(sample: Sample) -> None:
    options = [variant for record in sample.records for variant in record["variants"]]

    prices = [(each.price_rec_cents, each.special_rec_cents, each.price_med_cents) for each in variants_of(sample)]
    assert prices == [(cents(each["price"]), cents(each["specialPrice"]), None) for each in options]
    assert {type(each["specialPrice"]) for each in options} >= {str, Decimal}


@with_each("joint")
def test_products_with_the_same_name_stay_separate(sample: Sample) -> None:
    products = sample.menu.products

    names = Counter(product.name for product in products)
    assert sum(count > 1 for count in names.values()) >= 7
    assert len({product.external_id for product in products}) == len(sample.records)
    assert all(re.fullmatch("[0-9a-f]{24}", product.external_id) for product in products)


@with_each("joint")
def test_potencies_given_as_text_are_read_exactly(sample: Sample) -> None:
    products = sample.menu.products

    for name in ("thc", "cbd"):
        found = [getattr(product, name) for product in products]
        expected = [values[name] for values in reading_of(sample).products.values()]
        assert [(each.lo, each.hi, each.unit) if each else None for each in found] == expected
    assert {product.thc.unit for product in products if product.thc} == {PotencyUnit.PERCENTAGE, PotencyUnit.MILLIGRAMS}


@with_each("legacy")
def test_legacy_form_has_a_price_per_option_and_no_potency_unit(sample: Sample) -> None:
    products, records = sample.menu.products, sample.records

    assert [[(each.option, each.price_rec_cents) for each in product.variants] for product in products] == [
        list(zip(record["Options"], map(cents, record["Prices"]), strict=True)) for record in records
    ]
    assert [(product.thc.hi, product.thc.unit) for product in products if product.thc] == [
        (Decimal(record["THCContent"]), None) for record in records
    ]
    taffy, gummies, flower = products
    assert (taffy.variants[0].quantity, gummies.variants[0].weight, len(flower.variants)) == (28, None, 5)


@with_each(*OTHER_FORMS)
def test_document_that_is_not_a_menu_is_rejected_with_its_actual_form(sample: Sample) -> None:
    suffix = f".{sample.name.rsplit('.', 1)[1]}"

    with pytest.raises(NotAMenu, match=OTHER[suffix].replace("(", r"\(").replace(")", r"\)")) as refusal:
        _ = sample.menu

    assert refusal.value.record_count == count_records(sample.read().decode(), suffix)


def count_records(text: str, suffix: str) -> int:
    if suffix == ".csv":
        return len(list(csv.DictReader(text.splitlines())))
    return len(text.splitlines()) if suffix == ".jsonl" else len(json.loads(text))
