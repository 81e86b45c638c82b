"""Product details in each form of a menu."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from storecrawl.catalog.normalize import (
    NO_DETAILS,
    Compound,
    Effect,
    Measure,
    PotencyUnit,
    Product,
    Special,
    Weight,
    normalize,
)

Make = Callable[..., Product]


@pytest.fixture
def plus() -> Make:
    record = {"id": "p", "name": "Gummies", "variants": [{"option": "1g", "priceRec": 10, "quantity": 3}]}
    return lambda **members: normalize([{**record, **members}]).products[0]


@pytest.fixture
def joint() -> Make:
    option = {"option": "1g", "price": "10.00", "quantity": "3"}
    record = {"jointId": "j", "posId": "p", "name": "Gummies", "variants": [option]}
    return lambda **members: normalize([{**record, **members}]).products[0]


def test_product_without_detail_fields_has_no_details(product: Make, plus: Make, joint: Make) -> None:
    for make in (product, plus, joint):
        made = make()
        assert (made.details, made.rec_only, made.medical_only, made.updated_at) == (NO_DETAILS, None, None, None)


def test_effects_with_scores_are_sorted_strongest_first(product: Make) -> None:
    effects = product(effects={"calm": 5, "Pain-Relief": 9, "happy": 9, "odd": "x"}).details.effects

    assert effects == (
        Effect(name="happy", score=Decimal(9)),
        Effect(name="pain_relief", score=Decimal(9)),
        Effect(name="calm", score=Decimal(5)),
        Effect(name="odd", score=None),
    )


def test_effects_without_scores_keep_their_order(plus: Make, joint: Make) -> None:
    for make in (plus, joint):
        effects = make(effects=["SLEEPY", "CALM", "SLEEPY", None]).details.effects
        assert effects == (Effect(name="sleepy"), Effect(name="calm"))


def test_effect_has_one_name_in_all_spellings(product: Make, plus: Make) -> None:
    scored = [product(effects={name: 7}).details.effects[0].name for name in ("painRelief", "Pain-Relief")]

    assert {*scored, plus(effects=["PAIN_RELIEF"]).details.effects[0].name} == {"pain_relief"}


@pytest.mark.parametrize("stated", [None, "calm", 3, [], {}, [{"name": "calm"}]])
def test_unsupported_effects_are_ignored(product: Make, stated: object) -> None:
    assert product(effects=stated).details.effects == ()


def test_cannabinoids_have_exact_values_with_their_own_units(product: Make, plus: Make, joint: Make) -> None:
    inner = {"cannabinoid": {"name": "CBG (Cannabigerol)"}}
    stated = [
        {**inner, "value": 0.167, "unit": "PERCENTAGE"},
        {"cannabinoid": {"name": '"TAC" - Total'}, "value": 923.83, "unit": "MILLIGRAMS_PER_GRAM"},
        {"cannabinoid": {"name": "CBD"}, "value": 101, "unit": "PERCENTAGE"},
        {"cannabinoid": {"name": " "}, "value": 1, "unit": "PERCENTAGE"},
    ]
    compounds = (
        Compound(name="CBG (Cannabigerol)", value=Decimal("0.167"), unit=PotencyUnit.PERCENTAGE),
        Compound(name='"TAC" - Total', value=Decimal("923.83"), unit=PotencyUnit.MILLIGRAMS_PER_GRAM),
        Compound(name="CBD", value=None, unit=PotencyUnit.PERCENTAGE),
    )

    assert product(cannabinoidsV2=stated).details.cannabinoids == compounds
    assert plus(cannabinoids=stated).details.cannabinoids == compounds
    plain = [{"name": "CBG (Cannabigerol)", "value": 0.167, "unit": "%"}]
    assert joint(cannabinoids=plain).details.cannabinoids == compounds[:1]


def test_terpenes_are_read_under_all_their_names(product: Make) -> None:
    stated = [
        {"name": "Limonene", "value": 0.52, "unit": "PERCENTAGE"},
        {"libraryTerpene": {"name": "Humulene"}, "value": 1.2, "unitSymbol": "mg/g"},
        {"terpene": {"name": "Linalool"}, "value": None},
    ]

    assert product(terpenes=stated).details.terpenes == (
        Compound(name="Limonene", value=Decimal("0.52"), unit=PotencyUnit.PERCENTAGE),
        Compound(name="Humulene", value=Decimal("1.2"), unit=PotencyUnit.MILLIGRAMS_PER_GRAM),
        Compound(name="Linalool", value=None, unit=None),
    )


@pytest.mark.parametrize(
    ("stated", "read"),
    [([0, 0, 1.5], [None, None, Decimal("1.5")]), ([0, 1.5], [Decimal(0), Decimal("1.5")]), ([0], [None])],
)
def test_zeros_of_a_mostly_zero_terpene_list_are_unknown(
    plus: Make, stated: list[float], read: list[Decimal | None]
) -> None:
    terpenes = [{"name": f"T{index}", "value": value, "unit": "PERCENTAGE"} for index, value in enumerate(stated)]

    assert [terpene.value for terpene in plus(terpenes=terpenes).details.terpenes] == read


def test_specials_have_names_kinds_and_discounts(product: Make) -> None:
    sales: list[dict[str, object]] = [
        {"specialId": "a", "specialName": "25% OFF", "specialType": "sale", "discount": 25, "percentDiscount": True,
         "menuType": "both"},
        {"specialId": "b", "specialName": "$5 off", "discount": 5, "dollarDiscount": True, "menuType": "rec"},
        {"specialId": "c", "specialName": "All at 20", "discount": 20, "targetPrice": True, "menuType": "med"},
        {"specialId": "a", "specialName": "again"},
    ]  # fmt: skip
    bogos = [{"specialId": "d", "specialName": "2 for 1", "specialType": "bogo", "discount": 0}]
    ids = [{"option": "1g", "conditionIds": ["d", "e"], "rewardIds": ["f"]}]

    data = {"saleSpecials": sales, "bogoSpecials": bogos}
    specials = product(specialData=data, specialIdsPerOption=ids).details.specials

    assert specials == (
        _special("a", "25% OFF", "sale", menu="both", discount_type="percent", discount=Decimal(25)),
        _special("b", "$5 off", "sale", menu="rec", discount_type="dollars", discount=Decimal(5)),
        _special("c", "All at 20", "sale", menu="med", discount_type="target_price", discount=Decimal(20)),
        _special("d", "2 for 1", "bogo", discount=Decimal(0)),
        _special("e", None, "condition"),
        _special("f", None, "reward"),
    )


def test_special_that_lowers_a_price_is_a_sale_and_otherwise_conditional(joint: Make) -> None:
    sale = {"specialId": "a", "specialName": "35% off", "discountType": "DOLLAR_AMOUNT", "discountAmount": "0"}
    bundle = {"specialId": "b", "specialName": "Buy 2", "discountType": "TARGET_PRICE", "discountAmount": 30}
    option = {"option": "1g", "price": "10.00", "appliedSpecials": [sale]}

    specials = joint(variants=[option], applicableSpecials=[sale, bundle]).details.specials

    assert specials == (
        _special("a", "35% off", "sale", discount_type="dollars", discount=Decimal(0)),
        _special("b", "Buy 2", "conditional", discount_type="target_price", discount=Decimal(30)),
    )


def test_specials_with_only_ids_are_preserved(plus: Make) -> None:
    option = {"option": "1g", "priceRec": 10, "specialConditionIds": ["a"], "specialRewardIds": ["b", "a"]}

    specials = plus(variants=[option]).details.specials

    assert specials == (_special("a", None, "condition"), _special("b", None, "reward"))


def test_duplicate_tags_are_stored_once(product: Make, plus: Make, joint: Make) -> None:
    assert plus(tags=["New", " New ", "", None, "Local"]).details.tags == ("New", "Local")
    assert joint(tagList=["New Arrivals"]).details.tags == ("New Arrivals",)
    assert product(collectionCardBadge={"title": "Staff pick"}).details.tags == ("Staff pick",)


def test_measurements_have_a_value_per_option_and_a_unit(product: Make, plus: Make) -> None:
    measured = {
        "netWeight": {"unit": "MILLIGRAMS", "values": [1000, 3500.5, 0, None]},
        "volume": {"unit": "FLUID_OUNCES", "values": [12]},
    }
    for make in (product, plus):
        details = make(measurements=measured).details
        assert details.net_weight == Measure(values=(Decimal(1000), Decimal("3500.5")), unit="mg")
        assert details.volume == Measure(values=(Decimal(12),), unit="fluid_ounces")


@pytest.mark.parametrize(
    ("rec_only", "medical_only"), [(True, False), (False, True), (False, False), (None, None), ("yes", 1)]
)
def test_recreational_and_medical_flags_are_read_as_stated(
    product: Make, rec_only: object, medical_only: object
) -> None:
    made = product(recOnly=rec_only, medicalOnly=medical_only)

    stated = [value if isinstance(value, bool) else None for value in (rec_only, medical_only)]
    assert [made.rec_only, made.medical_only] == stated


@pytest.mark.parametrize(
    ("menus", "only"),
    [
        (["RECREATIONAL"], (True, False)),
        (["MEDICAL"], (False, True)),
        (["MEDICAL", "RECREATIONAL"], (False, False)),
        ([], (None, None)),
        (["ELSEWHERE"], (None, None)),
    ],
)
def test_menu_types_of_a_product_set_its_recreational_and_medical_flags(
    plus: Make, joint: Make, menus: list[str], only: tuple[bool | None, bool | None]
) -> None:
    for made in (plus(menuTypes=menus), joint(menuType=menus)):
        assert (made.rec_only, made.medical_only) == only


def test_platform_timestamps_are_preserved(product: Make, plus: Make, joint: Make) -> None:
    first, last = datetime(2025, 5, 1, tzinfo=UTC), datetime(2025, 6, 1, 12, 30, tzinfo=UTC)
    own = {"createdAt": "2025-05-01T00:00:00Z", "updatedAt": "2025-06-01T12:30:00Z"}
    for make in (product, plus, joint):
        assert (make(**own).created_at, make(**own).updated_at) == (first, last)
    variants = [
        {"option": "1g", "price": "1.00", "createdAt": "2025-05-02T00:00:00Z", "updatedAt": "2025-06-01T12:30:00Z"},
        {"option": "2g", "price": "1.00", "createdAt": "2025-05-01T00:00:00Z", "updatedAt": "2025-05-03T00:00:00Z"},
    ]
    assert (joint(variants=variants).created_at, joint(variants=variants).updated_at) == (first, last)


@pytest.mark.parametrize("kind", ["Edible", "Oral", "Tincture", "Topicals"])
@pytest.mark.parametrize(
    ("option", "dose", "weight"),
    [
        ("100mg", Decimal(100), None),
        ("10pk/100mg", Decimal(100), None),
        (".1g", Decimal(100), None),
        ("0.025g", Decimal(25), None),
        ("1g", None, Weight(value=Decimal(1), unit="g")),
        ("1oz", None, Weight(value=Decimal(28), unit="g")),
        ("30ml", None, Weight(value=Decimal(30), unit="ml")),
        ("N/A", None, None),
    ],
)
def test_option_sold_by_dose_has_a_dose_instead_of_a_weight(
    product: Make, kind: str, option: str, dose: Decimal | None, weight: Weight | None
) -> None:
    [variant] = product(type=kind, Options=[option]).variants

    assert (variant.dose_mg, variant.weight) == (dose, weight)


@pytest.mark.parametrize(("kind", "option"), [("Vaporizers", "500mg"), ("Flower", ".5g"), ("Concentrate", "100mg")])
def test_option_sold_by_weight_has_no_dose(product: Make, kind: str, option: str) -> None:
    [variant] = product(type=kind, Options=[option]).variants

    assert variant.dose_mg is None
    assert variant.weight is not None


def test_point_of_sale_dose_applies_if_the_option_has_none(product: Make) -> None:
    children = [{"option": option, "canonicalEffectivePotencyMg": 250} for option in ("N/A", "2oz", "100mg")]
    made = product(type="Edible", Options=["N/A", "2oz", "100mg"], POSMetaData={"children": children})

    assert [variant.dose_mg for variant in made.variants] == [Decimal(250), Decimal(250), Decimal(100)]
    assert [variant.weight and variant.weight.value for variant in made.variants] == [None, Decimal(56), None]
    flower = product(POSMetaData={"children": [{"option": "1g", "canonicalEffectivePotencyMg": 250}]})
    assert flower.variants[0].dose_mg is None


def _special(
    external_id: str,
    name: str | None,
    kind: str,
    *,
    menu: str | None = None,
    discount_type: str | None = None,
    discount: Decimal | None = None,
) -> Special:
    return Special(
        external_id=external_id, name=name, kind=kind, menu=menu, discount_type=discount_type, discount=discount
    )
