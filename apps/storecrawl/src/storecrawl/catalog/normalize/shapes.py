"""Recognise which form of menu a document is, or say what it is instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from storecrawl.catalog.normalize.errors import NotAMenu
from storecrawl.catalog.normalize.menu import Shape
from storecrawl.catalog.normalize.records import EMPTY, Record, clean_text, record_at, records_at

NAMED_MEMBERS = 8
MEMBER_NAME_LIMIT = 40

FOREIGN_VARIANTS: Final = {"Sweed": frozenset({"promoPrice", "unitSize", "availableQty"})}
"""Platforms that also speak of products with variants, by what only their variants carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuRecords:
    """A recognised document: its form, its product records as they stand, and the count that it claims."""

    shape: Shape
    records: Sequence[object]
    total_count: int | None
    stated_complete: bool | None = None
    refused: Sequence[Record] = ()
    """What our own fetch noted in the document, where it is one of ours: also the products that it could not read."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing speaks for products that the document lacks."""
        if self.stated_complete is not None:
            return self.stated_complete
        return self.total_count is None or self.record_count >= self.total_count

    @property
    def record_count(self) -> int:
        """The products of the document, those included that could not even be read."""
        return len(self.records) + len(self.refused)


def recognise(document: object) -> MenuRecords:
    """Find the products of a document; raise NotAMenu, naming what was seen, when there are none."""
    if isinstance(document, Mapping):
        return _from_object(document)
    if isinstance(document, list):
        return _from_list(document, document, None)
    raise NotAMenu(f"a menu is a JSON object or list, this is {_kind(document)}")


def _from_object(document: Record) -> MenuRecords:
    data = record_at(document, "data")
    if "filteredProducts" in data:
        return _from_graphql(document, record_at(data, "filteredProducts"))
    if "products_list" in data:
        return _from_plus(data.get("products_list"), data.get("products_count"))
    if "products" in record_at(data, "menu"):
        menu = record_at(data, "menu")
        return _from_plus(menu.get("products"), menu.get("productsCount"))
    if "products" in document:
        return _from_list(document["products"], document, document.get("totalCount"))
    if document.get("errors"):
        raise NotAMenu(f"a GraphQL answer with errors and without a menu: {_first_error(document)}")
    raise NotAMenu(f"found neither products nor a menu in {_describe(document)}")


def _from_graphql(document: Record, section: Record) -> MenuRecords:
    products = section.get("products")
    if not isinstance(products, list):
        error = f": {_first_error(document)}" if document.get("errors") else ""
        raise NotAMenu(f"filteredProducts holds no list of products{error}")
    total = _count(record_at(section, "queryInfo").get("totalCount"))
    noted = record_at(document, "fetched")
    complete = noted.get("complete")
    return MenuRecords(
        shape=Shape.GRAPHQL,
        records=products,
        total_count=total,
        stated_complete=complete if isinstance(complete, bool) else None,
        refused=records_at(noted, "refused"),
    )


def _from_plus(products: object, total: object) -> MenuRecords:
    if not isinstance(products, list):
        raise NotAMenu(f"the list of products is {_kind(products)}")
    return MenuRecords(shape=Shape.PLUS, records=products, total_count=_count(total))


def _from_list(products: object, document: object, total: object) -> MenuRecords:
    """Products without a telling wrapper: the form that most of the records have."""
    if not isinstance(products, list):
        raise NotAMenu(f"products is {_kind(products)}, not a list")
    shapes = Counter(filter(None, map(_shape_of, products)))
    if not shapes:
        reason = _foreign(products) or f"no product of a known form in {_describe(document)}"
        raise NotAMenu(reason, record_count=len(products))
    return MenuRecords(shape=shapes.most_common(1)[0][0], records=products, total_count=_count(total))


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
    """Name the other platform whose records these are, where we know its marks."""
    for record in products:
        variants = records_at(record, "variants") if isinstance(record, Mapping) else []
        seen = {name for variant in variants for name in variant}
        for platform, marks in FOREIGN_VARIANTS.items():
            if marks <= seen:
                return f"a menu of another platform ({platform}): its variants carry {', '.join(sorted(marks))}"
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
    kinds = {type(None): "null", bool: "a truth value", int: "a number", float: "a number", str: "a text"}
    return kinds.get(type(value)) or ("a list" if isinstance(value, list) else "an object")


def _first_error(document: Record) -> str:
    errors = records_at(document, "errors")
    return clean_text((errors[0] if errors else EMPTY).get("message"), 200) or "no message"


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None
