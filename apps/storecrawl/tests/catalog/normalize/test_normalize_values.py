"""Single values: the sources' spellings of weights, prices, texts, categories and strain types."""

from __future__ import annotations

from decimal import Decimal

import pytest
from storecrawl.catalog.normalize.categories import category_of, strain_of, subcategory_of
from storecrawl.catalog.normalize.records import clean_text, storable_json, web_address
from storecrawl.catalog.normalize.values import cents_of, pack_count_of, weight_of


@pytest.mark.parametrize(
    ("option", "value", "unit"),
    [
        ("1/8oz", "3.5", "g"),
        ("1/4oz", "7", "g"),
        ("1/2oz", "14", "g"),
        ("1oz", "28", "g"),
        ("2oz", "56", "g"),
        ("3.5g", "3.5", "g"),
        ("0.5g", "0.5", "g"),
        (".5g", "0.5", "g"),
        ("0.025g", "0.025", "g"),
        ("1gC", "1", "g"),
        ("1 Gram", "1", "g"),
        ("100mg", "100", "mg"),
        ("10pk/100mg", "100", "mg"),
        ("30ml", "30", "ml"),
    ],
)
def test_weight_of_an_option_is_read_from_its_text(option: str, value: str, unit: str) -> None:
    weight = weight_of(option)

    assert weight is not None
    assert (weight.value, weight.unit) == (Decimal(value), unit)


@pytest.mark.parametrize(
    "option", ["N/A", "Eclipse Gummies", "1/0oz", "0g", "5pk", "g", "1g and more", "999999g", "١g"]
)
def test_options_without_a_weight_have_none(option: str) -> None:
    assert weight_of(option) is None


@pytest.mark.parametrize(("option", "count"), [("10pk/100mg", 10), ("5 pack", 5), ("1g", None), ("0pk", None)])
def test_pack_count_is_read(option: str, count: int | None) -> None:
    assert pack_count_of(option) == count


@pytest.mark.parametrize(
    ("dollars", "cents"),
    [
        (27.95, 2795),
        (19.99, 1999),
        (1.005, 101),
        (0.29, 29),
        (43, 4300),
        ("30.00", 3000),
        ("$12.49", 1249),
        ("1,249.50", 124_950),
        (Decimal("12.34"), 1234),
        (0, None),
        (0.001, None),
        (-3, None),
        (True, None),
        ("12 dollars", None),
        ("1_000", None),
        ("", None),
        ("NaN", None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        (10_000_000, None),
        (None, None),
        ([20], None),
    ],
)
def test_price_is_exact_cents_or_none(dollars: object, cents: int | None) -> None:
    assert cents_of(dollars) == cents


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("  Key   Lime\t\n Kush ", "Key Lime Kush"),
        ("Salt&nbsp;&amp;&#32;Pepper", "Salt & Pepper"),
        ("&Shine", "&Shine"),
        ("R&copycat", "R&copycat"),
        ("Grön – Δ9", "Grön – Δ9"),
        ("a\x00b\u200bc", "abc"),
        ("lone \ud800 half", "lone \ufffd half"),
        ("&#0;", "\ufffd"),
        (" \u00a0 ", None),
        (12, None),
    ],
)
def test_text_is_decoded_trimmed_and_made_storable(written: object, read: str | None) -> None:
    assert clean_text(written) == read


@pytest.mark.parametrize(
    ("spelling", "category"),
    [
        ("Pre-Rolls", "pre_rolls"),
        ("PRE_ROLLS", "pre_rolls"),
        ("Edible", "edibles"),
        ("🍬Edibles🍫", "edibles"),
        ("Vape", "vaporizers"),
        ("VAPORIZERS", "vaporizers"),
        ("Concentrate", "concentrates"),
        ("Topical", "topicals"),
        ("Oral", "oral"),
        ("Gift cards", "other"),
        (" ", None),
        (None, None),
    ],
)
def test_spellings_of_a_category_are_unified(spelling: object, category: str | None) -> None:
    assert category_of(spelling) == category


@pytest.mark.parametrize(
    ("spelling", "subcategory"),
    [("live-resin", "live-resin"), ("SHAKE_TRIM", "shake-trim"), ("DEFAULT", None)],
)
def test_spellings_of_a_subcategory_are_unified(spelling: str, subcategory: str | None) -> None:
    assert subcategory_of(spelling) == subcategory


@pytest.mark.parametrize(
    ("spelling", "strain"),
    [
        ("Hybrid", "hybrid"),
        ("INDICA_HYBRID", "indica_hybrid"),
        ("HYBRID_SATIVA", "sativa_hybrid"),
        ("High CBD", "high_cbd"),
        ("ONE_TO_ONE", "one_to_one"),
        ("N/A", None),
        ("NOT_APPLICABLE", None),
        ("", None),
    ],
)
def test_spellings_of_a_strain_type_are_unified(spelling: str, strain: str | None) -> None:
    assert strain_of(spelling) == strain


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("https://example.org/a.png", "https://example.org/a.png"),
        ("//example.org/a.png", "https://example.org/a.png"),
        ("javascript:alert(1)", None),
        ("https://example.org/a b.png", None),
    ],
)
def test_only_web_urls_are_accepted_as_images(written: str, address: str | None) -> None:
    assert web_address(written) == address


def test_json_is_made_storable_at_every_depth() -> None:
    value = {"a\x00": ["\ud800", float("nan"), 2**70, {"b": [1, True, None]}]}

    assert storable_json(value) == {"a\ufffd": ["\ufffd", None, None, {"b": [1, True, None]}]}
