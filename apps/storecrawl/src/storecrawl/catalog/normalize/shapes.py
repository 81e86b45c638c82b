"""Recognize the form of a menu document, or describe what it is instead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from storecrawl.catalog.normalize.errors import NotAMenu
from storecrawl.catalog.normalize.menu import Shape
from storecrawl.catalog.normalize.records import EMPTY, Record, clean_text, record_at, records_at

NAMED_MEMBERS = 8
MEMBER_NAME_LIMIT = 40

FOREIGN_VARIANTS: Final = {"Sweed": frozenset({"promoPrice", "unitSize", "availableQty"})}
"""Other platforms with products and variants, by a member that only their variants have."""


COUNTS: Final = ("totalCount", "productsCount", "products_count")
"""The names under which an envelope has the number of products of the menu."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuRecords:
    """A recognized document: its form, its unchanged product records, and the count that it claims."""

    shape: Shape
    records: Sequence[object]
    total_count: int | None
    stated_complete: bool | None = None
    refused: Sequence[Record] = ()
    """The notes of our own fetch in the document, if any, including the products that it could not read."""

    @property
    def record_count(self) -> int:
        """The number of products in the document, including unreadable ones."""
        return len(self.records) + len(self.refused)

    def is_complete(self, duplicates: int) -> bool:
        """Whether nothing can be missing, by the notes of its fetch or by the count that it claims.

        A document without a count may be any part of the menu.
        """
        if self.stated_complete is not None:
            return self.stated_complete
        return self.total_count is not None and self.record_count - duplicates >= self.total_count


def recognise(document: object) -> MenuRecords:
    """Find the products of a document. Raises NotAMenu with a description of the content if there are none."""
    if isinstance(document, Mapping):
        pages = document.get("pages")
        return _from_pages(pages) if _are_answers(pages) else _from_object(document)
    if isinstance(document, list):
        return _from_pages(document) if _are_answers(document) else _from_list(document, document, None)
    raise NotAMenu(f"a menu is a JSON object or list, this is {_kind(document)}")


def _from_object(document: Record) -> MenuRecords:
    for holder in (record_at(document, "data"), document):
        found = _from_holder(document, holder)
        if found is not None:
            return found
    if document.get("errors"):
        raise NotAMenu(f"a GraphQL response with errors and without a menu: {_first_error(document)}")
    raise NotAMenu(f"found neither products nor a menu in {_describe(document)}")


def _from_holder(document: Record, holder: Record) -> MenuRecords | None:
    if "filteredProducts" in holder:
        return _from_graphql(document, record_at(holder, "filteredProducts"))
    if "products_list" in holder:
        return _from_plus(holder["products_list"], _total(holder), is_part=_is_filtered(holder))
    for owner in (holder, record_at(holder, "dutchieplus")):
        menu = record_at(owner, "menu")
        if "products" in menu:
            return _from_plus(menu["products"], _total(menu))
    if "products" in holder:
        return _from_list(holder["products"], holder, _total(holder))
    return None


def _from_graphql(document: Record, section: Record) -> MenuRecords:
    products = section.get("products")
    if not isinstance(products, list):
        error = f": {_first_error(document)}" if document.get("errors") else ""
        raise NotAMenu(f"filteredProducts has no list of products{error}")
    return with_notes(MenuRecords(shape=Shape.GRAPHQL, records=products, total_count=_total(section)), document)


def with_notes(found: MenuRecords, document: Record) -> MenuRecords:
    """Add the notes of our own fetch, if the document has them."""
    notes = record_at(document, "fetched")
    complete = notes.get("complete")
    return replace(
        found,
        stated_complete=complete if isinstance(complete, bool) else None,
        refused=records_at(notes, "refused"),
    )


def _from_plus(products: object, total: int | None, *, is_part: bool = False) -> MenuRecords:
    if not isinstance(products, list):
        raise NotAMenu(f"the list of products is {_kind(products)}")
    stated = False if is_part else None
    return MenuRecords(shape=Shape.PLUS, records=products, total_count=total, stated_complete=stated)


def _from_list(products: object, document: object, total: int | None) -> MenuRecords:
    """Return products without a wrapper that shows their form: the form of most records."""
    if not isinstance(products, list):
        raise NotAMenu(f"products is {_kind(products)}, not a list")
    if not products and total == 0:
        return _from_plus(products, total)
    shapes = Counter(filter(None, map(_shape_of, products)))
    if not shapes:
        reason = _foreign(products) or f"no product of a known form in {_describe(document)}"
        raise NotAMenu(reason, record_count=len(products))
    return MenuRecords(shape=shapes.most_common(1)[0][0], records=products, total_count=total)


def _from_pages(pages: Sequence[Record]) -> MenuRecords:
    """Return the records of several pages captured one after another; an unreadable one makes the menu incomplete."""
    read: list[MenuRecords] = []
    unreadable_pages: list[tuple[int, NotAMenu]] = []
    for number, page in enumerate(pages):
        try:
            read.append(_from_object(page))
        except NotAMenu as problem:
            unreadable_pages.append((number, problem))
    if not read:
        raise unreadable_pages[0][1]
    shapes = sorted({each.shape for each in read if each.records}) or [read[0].shape]
    if len(shapes) > 1:
        raise NotAMenu(f"pages of several forms: {', '.join(shapes)}")
    page_refusals = [
        {"reason": f"an unreadable page: {problem.reason}", "place": f"page {number}"}
        for number, problem in unreadable_pages
    ]
    is_part = bool(unreadable_pages) or any(each.stated_complete is False for each in read)
    return MenuRecords(
        shape=shapes[0],
        records=[record for each in read for record in each.records],
        total_count=max((each.total_count for each in read if each.total_count is not None), default=None),
        stated_complete=False if is_part else None,
        refused=[*(record for each in read for record in each.refused), *page_refusals],
    )


def _are_answers(members: object) -> TypeGuard[Sequence[Record]]:
    return isinstance(members, list) and bool(members) and all(map(_is_answer, members))


def _is_answer(member: object) -> bool:
    return isinstance(member, Mapping) and (
        isinstance(member.get("data"), Mapping)
        or isinstance(member.get("products"), list)
        or isinstance(member.get("errors"), list)
    )


def _total(section: Record) -> int | None:
    stated = [section.get(name) for name in COUNTS]
    counts = map(count_of, (*stated, record_at(section, "queryInfo").get("totalCount")))
    return max((count for count in counts if count is not None), default=None)


def _is_filtered(section: Record) -> bool:
    """Return whether a list is a filtered part of the menu, so that its count is that of the part."""
    search_text = section.get("filter")
    return isinstance(search_text, str) and any(map(str.isalnum, search_text))


def _shape_of(record: object) -> Shape | None:
    if not isinstance(record, Mapping):
        return None
    if "Name" in record and "Options" in record:
        return Shape.GRAPHQL if _is_current(record) else Shape.LEGACY
    if not isinstance(record.get("variants"), list):
        return None
    if "jointId" in record:
        return Shape.JOINT
    return Shape.PLUS if _is_plus(record) else None


def _is_current(record: Record) -> bool:
    return "_id" in record or "recPrices" in record or isinstance(record.get("THCContent"), Mapping)


def _is_plus(record: Record) -> bool:
    priced = any("priceRec" in variant or "priceMed" in variant for variant in records_at(record, "variants"))
    return priced or "potencyThc" in record


def _foreign(products: Sequence[object]) -> str | None:
    for record in products:
        variants = records_at(record, "variants") if isinstance(record, Mapping) else []
        seen = {name for variant in variants for name in variant}
        for platform, marks in FOREIGN_VARIANTS.items():
            if marks <= seen:
                return f"a menu of another platform ({platform}): its variants have {', '.join(sorted(marks))}"
    return None


def _describe(document: object) -> str:
    if isinstance(document, Mapping):
        return f"an object with {_member_names(document)}"
    if isinstance(document, list) and document:
        sample = next((member for member in document if isinstance(member, Mapping)), None)
        inner = f"objects with {_member_names(sample)}" if sample is not None else _kind(document[0])
        return f"a list of {len(document)}: {inner}"
    return "an empty list"


def _member_names(record: Record) -> str:
    names = [clean_text(name, MEMBER_NAME_LIMIT) or "?" for name in sorted(map(str, record))]
    more = f" and {len(names) - NAMED_MEMBERS} more" if len(names) > NAMED_MEMBERS else ""
    return f"members {', '.join(names[:NAMED_MEMBERS])}{more}" if names else "no members"


def _kind(value: object) -> str:
    kinds = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a text"}
    return kinds.get(type(value)) or ("a list" if isinstance(value, list) else "an object")


def _first_error(document: Record) -> str:
    errors = records_at(document, "errors")
    return clean_text((errors[0] if errors else EMPTY).get("message"), 200) or "no message"


def count_of(stated: object) -> int | None:
    """Return a stated number of products, or None if it is no count."""
    value = int(stated) if isinstance(stated, str) and re.fullmatch("[0-9]{1,10}", stated) else stated
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None
