"""The categories of products, with their shares, sizes, prices and strengths."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from storecrawl.demo.upstream.draws import WeightedValues


class Potency(StrEnum):
    """How a category states its strength."""

    PERCENT = "percent"
    MILLIGRAMS = "milligrams"
    NONE = "none"


class Category(msgspec.Struct, frozen=True, kw_only=True):
    """A category of products. Prices are in cents, for `reference_grams` if sizes are weights.

    `sizes` are in grams; stores that use ounces convert them.
    """

    key: str
    singular: str
    plural: str
    subcategories: tuple[str | None, ...]
    sizes: WeightedValues[str]
    reference_grams: float
    price_median: int
    price_sigma: float
    price_lowest: int
    price_highest: int
    potency: Potency
    strength: tuple[float, float] = (0.0, 0.0)
    several_sizes: float = 0.0


OUNCES = {"3.5g": "1/8oz", "7g": "1/4oz", "14g": "1/2oz", "28g": "1oz"}
GRAMS = {
    ".3g": 0.3,
    ".5g": 0.5,
    "0.5g": 0.5,
    "0.75g": 0.75,
    "1g": 1.0,
    "1.5g": 1.5,
    "2g": 2.0,
    "2.5g": 2.5,
    "3g": 3.0,
    "3.5g": 3.5,
    "4.5g": 4.5,
    "7g": 7.0,
    "14g": 14.0,
    "28g": 28.0,
}
FLOWER_SIZES = ("1g", "3.5g", "7g", "14g", "28g")
APPAREL_SIZES = ("S", "M", "L", "XL")

FLOWER = Category(
    key="flower",
    singular="Flower",
    plural="Flower",
    subcategories=("premium", "small-buds", "infused-buds", "shake", "whole-flower", None),
    sizes=WeightedValues({"3.5g": 0.55, "7g": 0.18, "14g": 0.1, "28g": 0.09, "1g": 0.08}),
    reference_grams=3.5,
    price_median=3_750,
    price_sigma=0.33,
    price_lowest=800,
    price_highest=32_000,
    potency=Potency.PERCENT,
    strength=(18.0, 35.0),
    several_sizes=0.15,
)
PRE_ROLLS = Category(
    key="pre-rolls",
    singular="Pre-Rolls",
    plural="Pre-Rolls",
    subcategories=("singles", "packs", "infused-pre-roll", None),
    sizes=WeightedValues({"1g": 0.5, ".5g": 0.16, "2.5g": 0.08, "3.5g": 0.1, "1.5g": 0.06, "2g": 0.06, "0.75g": 0.04}),
    reference_grams=1.0,
    price_median=1_200,
    price_sigma=0.42,
    price_lowest=300,
    price_highest=8_000,
    potency=Potency.PERCENT,
    strength=(19.0, 38.0),
)
VAPORIZERS = Category(
    key="vaporizers",
    singular="Vaporizers",
    plural="Vaporizers",
    subcategories=("cured-resin-cartridge", "live-resin-cartridge", "disposable", "cartridges", None),
    sizes=WeightedValues({"1g": 0.48, ".5g": 0.34, "0.5g": 0.06, "2g": 0.07, ".3g": 0.05}),
    reference_grams=0.75,
    price_median=3_750,
    price_sigma=0.3,
    price_lowest=1_200,
    price_highest=7_500,
    potency=Potency.PERCENT,
    strength=(66.0, 89.0),
)
CONCENTRATES = Category(
    key="concentrates",
    singular="Concentrate",
    plural="Concentrates",
    subcategories=("live-resin", "sugar", "sauce", "rosin", "badder", "rso", None),
    sizes=WeightedValues({"1g": 0.82, ".5g": 0.09, "2g": 0.05, "3.5g": 0.02, "3g": 0.02}),
    reference_grams=1.0,
    price_median=3_900,
    price_sigma=0.33,
    price_lowest=1_500,
    price_highest=11_250,
    potency=Potency.PERCENT,
    strength=(52.0, 89.0),
)
EDIBLES = Category(
    key="edibles",
    singular="Edible",
    plural="Edibles",
    subcategories=("gummies", "chocolates", "baked-goods", "drinks", "capsules", None),
    sizes=WeightedValues(
        {
            "N/A": 0.25,
            "100mg": 0.2,
            "10pk/100mg": 0.2,
            "20pk/100mg": 0.1,
            ".1g": 0.15,
            "50mg": 0.05,
            "1g": 0.05,
        }
    ),
    reference_grams=1.0,
    price_median=2_600,
    price_sigma=0.45,
    price_lowest=400,
    price_highest=7_800,
    potency=Potency.MILLIGRAMS,
)
ORAL = Category(
    key="oral",
    singular="Oral",
    plural="Oral",
    subcategories=("sublingual", "troches"),
    sizes=WeightedValues({"N/A": 1.0}),
    reference_grams=1.0,
    price_median=2_800,
    price_sigma=0.35,
    price_lowest=1_000,
    price_highest=7_000,
    potency=Potency.MILLIGRAMS,
)
TINCTURES = Category(
    key="tinctures",
    singular="Tincture",
    plural="Tinctures",
    subcategories=("sublingual", None),
    sizes=WeightedValues({"N/A": 0.5, "1oz": 0.3, "1000mg": 0.2}),
    reference_grams=1.0,
    price_median=4_000,
    price_sigma=0.35,
    price_lowest=1_500,
    price_highest=9_000,
    potency=Potency.MILLIGRAMS,
)
TOPICALS = Category(
    key="topicals",
    singular="Topicals",
    plural="Topicals",
    subcategories=("balms", "lotions", None),
    sizes=WeightedValues({"N/A": 0.6, "2oz": 0.2, "100mg": 0.2}),
    reference_grams=1.0,
    price_median=3_000,
    price_sigma=0.4,
    price_lowest=800,
    price_highest=8_000,
    potency=Potency.MILLIGRAMS,
)
ACCESSORIES = Category(
    key="accessories",
    singular="Accessories",
    plural="Accessories",
    subcategories=("grinders", "batteries", "trays", "dab-tools", "papers", None),
    sizes=WeightedValues({"N/A": 1.0}),
    reference_grams=1.0,
    price_median=2_600,
    price_sigma=1.0,
    price_lowest=75,
    price_highest=42_000,
    potency=Potency.NONE,
)
APPAREL = Category(
    key="apparel",
    singular="Apparel",
    plural="Apparel",
    subcategories=("default", None),
    sizes=WeightedValues({"N/A": 1.0}),
    reference_grams=1.0,
    price_median=2_800,
    price_sigma=0.35,
    price_lowest=500,
    price_highest=8_000,
    potency=Potency.NONE,
    several_sizes=0.5,
)

CATEGORIES: WeightedValues[Category] = WeightedValues(
    {
        FLOWER: 0.28,
        PRE_ROLLS: 0.17,
        VAPORIZERS: 0.18,
        CONCENTRATES: 0.09,
        EDIBLES: 0.13,
        ACCESSORIES: 0.11,
        ORAL: 0.01,
        TINCTURES: 0.01,
        TOPICALS: 0.01,
        APPAREL: 0.01,
    }
)
STRAINS: WeightedValues[str] = WeightedValues(
    {
        "Hybrid": 0.46,
        "Indica": 0.25,
        "Sativa": 0.19,
        "High CBD": 0.03,
        "THC": 0.03,
        "Indica-Hybrid": 0.02,
        "N/A": 0.02,
    }
)
