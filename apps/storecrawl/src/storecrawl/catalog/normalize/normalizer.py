"""Turn a parsed document into a Menu: recognize its form, merge duplicates, read each product, collect refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from storecrawl.catalog.normalize import graphql, joint, plus
from storecrawl.catalog.normalize.drafts import ID_LIMIT, Draft, product_of
from storecrawl.catalog.normalize.errors import NotAMenu, Unusable
from storecrawl.catalog.normalize.menu import Menu, Product, Refusal, Shape
from storecrawl.catalog.normalize.records import Record, clean_text, identifier, merge
from storecrawl.catalog.normalize.shapes import MenuRecords, recognise

REASON_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of a form: the members with a record's key, in order of preference, and the reading of a record."""

    key_members: tuple[str, ...]
    draft_of: Callable[[Record], Draft]


_READERS: Final = {
    Shape.GRAPHQL: Reader(graphql.KEY_MEMBERS, graphql.draft_of),
    Shape.LEGACY: Reader(graphql.KEY_MEMBERS, graphql.draft_of),
    Shape.PLUS: Reader(plus.KEY_MEMBERS, plus.draft_of),
    Shape.JOINT: Reader(joint.KEY_MEMBERS, joint.draft_of),
}


@dataclass(slots=True)
class _MergedRecords:
    records: dict[str, tuple[int, Record]] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    duplicates: int = 0


def normalize(document: object) -> Menu:
    """Normalize a parsed JSON document.

    A bad product is refused without affecting the others. Raises only NotAMenu: if the document is not a
    menu, or none of its products is usable. A menu that declares itself empty is a menu.
    """
    raw = recognise(document)
    return menu_of(raw, _READERS[raw.shape])


def menu_of(raw: MenuRecords, reader: Reader) -> Menu:
    """Read the records of a recognized document. Raises NotAMenu if none of them is usable."""
    merged = _merge(raw.records, reader.key_members)
    refused, products = [*merged.refused, *_unread_refusals(raw)], []
    for external_id, (index, record) in merged.records.items():
        product = _read(reader, external_id, index, record, refused)
        if product is not None:
            products.append(product)
    if raw.record_count and not products:
        reason = _nothing_usable(raw, refused)
        raise NotAMenu(reason, record_count=raw.record_count, refused=_sort_refusals(refused))
    return Menu(
        shape=raw.shape,
        products=tuple(products),
        refused=_sort_refusals(refused),
        record_count=raw.record_count,
        duplicates=merged.duplicates,
        total_count=raw.total_count,
        complete=raw.is_complete(merged.duplicates),
    )


def _merge(records: Iterable[object], key_members: tuple[str, ...]) -> _MergedRecords:
    merged = _MergedRecords()
    for index, record in enumerate(records):
        if not isinstance(record, dict):
            merged.refused.append(_refusal(index, None, "it is not an object"))
            continue
        key = _key(record, key_members)
        if key is None:
            merged.refused.append(_refusal(index, None, f"it has no usable key ({', '.join(key_members)})"))
        elif key in merged.records:
            first, earlier = merged.records[key]
            merged.records[key] = (first, merge(earlier, record))
            merged.duplicates += 1
        else:
            merged.records[key] = (index, record)
    return merged


def _unread_refusals(raw: MenuRecords) -> Iterable[Refusal]:
    """Return the records that the fetch could not read. They come last, since the document does not contain them."""
    for index, entry in enumerate(raw.refused, start=len(raw.records)):
        reason = clean_text(entry.get("reason"), REASON_LIMIT) or "it could not be read"
        place = clean_text(entry.get("place"), REASON_LIMIT)
        where = f" ({place})" if place else ""
        yield _refusal(index, identifier(entry.get("externalId"), ID_LIMIT), f"{reason}{where}")


def _key(record: Record, members: tuple[str, ...]) -> str | None:
    ids = (identifier(record.get(member), ID_LIMIT) for member in members)
    return next((key for key in ids if key is not None), None)


def _read(reader: Reader, external_id: str, index: int, record: Record, refused: list[Refusal]) -> Product | None:
    def refuse_option(option: str | None, reason: str) -> None:
        refused.append(Refusal(index=index, external_id=external_id, option=option or "", reason=reason))

    try:
        return product_of(external_id, reader.draft_of(record), refuse_option)
    except Unusable as problem:
        refused.append(_refusal(index, external_id, problem.reason))
        return None


def _refusal(index: int, external_id: str | None, reason: str) -> Refusal:
    return Refusal(index=index, external_id=external_id, option=None, reason=reason)


def _sort_refusals(refused: list[Refusal]) -> tuple[Refusal, ...]:
    return tuple(sorted(refused, key=lambda refusal: refusal.index))


def _nothing_usable(raw: MenuRecords, refused: list[Refusal]) -> str:
    first = refused[0].reason
    return f"none of the {raw.record_count} products in the {raw.shape} form can be used; the first: {first}"
