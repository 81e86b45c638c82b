"""Details of products that all forms have in common: effects, compounds, specials, tags, measures, customers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from storecrawl.catalog.normalize.categories import label_of
from storecrawl.catalog.normalize.menu import Compound, Details, Effect, Measure, Special
from storecrawl.catalog.normalize.records import (
    Record,
    clean_text,
    first_text,
    identifier,
    list_at,
    record_at,
    records_at,
)
from storecrawl.catalog.normalize.values import decimal_of, is_possible, unit_of

MOST = 100
"""The most entries of a kind; further ones are dropped."""
NAME_LIMIT = 200
TAG_LIMIT = 100
MEASURES: Final = {
    "milligrams": "mg", "mg": "mg", "grams": "g", "gram": "g", "g": "g", "ounces": "oz", "ounce": "oz", "oz": "oz",
    "milliliters": "ml", "milliliter": "ml", "ml": "ml",
}  # fmt: skip
DISCOUNTS: Final = {
    "dollar_amount": "dollars", "flat": "dollars", "percentage": "percent", "percent_discount": "percent",
}  # fmt: skip

_WORD_END: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")

T = TypeVar("T")


def details_of(
    record: Record, *, cannabinoids: Iterable[Record], specials: tuple[Special, ...], tags: tuple[str, ...]
) -> Details:
    """Return the details with common names, and those that each form has in its own way."""
    measured = record_at(record, "measurements")
    return Details(
        effects=_effects(record.get("effects")),
        cannabinoids=_compounds(cannabinoids),
        terpenes=_measured(_compounds(records_at(record, "terpenes"))),
        specials=specials,
        tags=tags,
        net_weight=_measure(record_at(measured, "netWeight")),
        volume=_measure(record_at(measured, "volume")),
    )


def specials_of(*groups: Iterable[Special]) -> tuple[Special, ...]:
    """Return each special once, from the first group with it."""
    named = [special for group in groups for special in group if special.external_id or special.name]
    return _distinct((special.external_id or special.name, special) for special in named)


def specials_by_id(members: Iterable[Record], conditions: str, rewards: str) -> Iterator[Special]:
    """Return specials of which these two members contain only the ids."""
    for member in members:
        for kind, name in (("condition", conditions), ("reward", rewards)):
            for stated in list_at(member, name):
                yield Special(external_id=identifier(stated, NAME_LIMIT), name=None, kind=kind)


def discount_type_of(stated: object) -> str | None:
    """Return the unit of a discount from the source's name for it."""
    label = label_of(stated)
    return None if label is None else DISCOUNTS.get(label, label)


def tags_of(*stated: object) -> tuple[str, ...]:
    """Return each tag once, in order."""
    texts = [text for text in (clean_text(tag, TAG_LIMIT) for tag in stated) if text]
    return _distinct((text, text) for text in texts)


def menu_of(stated: object) -> str | None:
    """Return "rec", "med" or "both"."""
    label = label_of(stated) or ""
    return next((menu for menu in ("rec", "med", "both") if label.startswith(menu)), None)


def only_on(menus: Sequence[object]) -> tuple[bool | None, bool | None]:
    """Return whether products on these menus are for recreational use only, and whether for medical use only."""
    known = {menu for menu in map(menu_of, menus) if menu}
    return (known == {"rec"}, known == {"med"}) if known else (None, None)


def flag(stated: object) -> bool | None:
    """Return a boolean, or None for any other value."""
    return stated if isinstance(stated, bool) else None


def _effects(stated: object) -> tuple[Effect, ...]:
    if isinstance(stated, Mapping):
        scored = [(_effect_name(name), decimal_of(score)) for name, score in stated.items()]
        scored.sort(key=lambda each: (each[1] is None, -(each[1] or 0), each[0] or ""))
    else:
        scored = [(_effect_name(name), None) for name in stated] if isinstance(stated, list) else []
    return _distinct((name, Effect(name=name, score=score)) for name, score in scored if name)


def _effect_name(stated: object) -> str | None:
    """Return one name for the spellings of an effect ("painRelief", "Pain-Relief", "PAIN_RELIEF")."""
    return label_of(_WORD_END.sub("_", stated) if isinstance(stated, str) else stated)


def _measured(compounds: tuple[Compound, ...]) -> tuple[Compound, ...]:
    """Return compounds without the zeros of a list that is mostly zeros: these compounds were not measured."""
    zeros = sum(compound.value == 0 for compound in compounds)
    if zeros * 2 <= len(compounds):
        return compounds
    return tuple(replace(compound, value=None) if compound.value == 0 else compound for compound in compounds)


def _compounds(members: Iterable[Record]) -> tuple[Compound, ...]:
    compounds = [compound for compound in map(_compound, members) if compound is not None]
    return _distinct((compound, compound) for compound in compounds)


def _measure(record: Record) -> Measure | None:
    figures = [decimal_of(value) for value in list_at(record, "values")[:MOST]]
    values = tuple(figure for figure in figures if figure is not None and figure > 0)
    unit = label_of(record.get("unit"))
    return Measure(values=values, unit=unit and MEASURES.get(unit, unit)) if values else None


def _compound(member: Record) -> Compound | None:
    inner = (record_at(member, name).get("name") for name in ("cannabinoid", "terpene", "libraryTerpene"))
    name = clean_text(first_text(member.get("name"), *inner), NAME_LIMIT)
    if name is None:
        return None
    unit, value = unit_of(first_text(member.get("unit"), member.get("unitSymbol"))), decimal_of(member.get("value"))
    usable = value if value is not None and is_possible(value, unit) else None
    return Compound(name=name, value=usable, unit=unit)


def _distinct(keyed_values: Iterable[tuple[object, T]]) -> tuple[T, ...]:
    found: dict[object, T] = {}
    for key, value in keyed_values:
        found.setdefault(key, value)
    return tuple(found.values())[:MOST]
