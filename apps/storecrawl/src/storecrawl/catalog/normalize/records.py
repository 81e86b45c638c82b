"""Reading members of JSON records without trusting their types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from storecrawl.catalog.normalize.text import web_address

Record = Mapping[str, object]

EMPTY: Record = {}
BESIDE_OPTIONS = frozenset({"Prices", "recPrices", "medicalPrices", "recSpecialPrices", "medicalSpecialPrices"})


def record_at(record: Record, name: str) -> Record:
    """The object under `name`, or an empty one."""
    value = record.get(name)
    return value if isinstance(value, Mapping) else EMPTY


def list_at(record: Record, name: str) -> Sequence[object]:
    """The list under `name`, or an empty one."""
    value = record.get(name)
    return value if isinstance(value, list) else ()


def records_at(record: Record, name: str) -> list[Record]:
    """The objects in the list under `name`."""
    return [member for member in list_at(record, name) if isinstance(member, Mapping)]


def first_text(*values: object) -> object:
    """The first value that is a text with something in it, untouched."""
    return next((value for value in values if isinstance(value, str) and value.strip()), None)


def first_image(*values: object, images: Iterable[Record] = ()) -> str | None:
    """The first usable address: the named values, then active pictures of the list, then any of them."""
    listed = sorted(images, key=lambda image: image.get("active") is False)
    candidates = [*values, *(image.get("url") for image in listed)]
    return next((address for address in map(web_address, candidates) if address), None)


def merge(earlier: Record, later: Record) -> Record:
    """One record of two with the same key: the later non-null member wins.

    Lists that stand beside the options are those of one record, or a price would slip to another option.
    """
    stated = {name: value for name, value in later.items() if value is not None}
    options, earlier_options = stated.get("Options"), earlier.get("Options")
    if options is None and earlier_options is not None:
        return {**earlier, **_apart(stated)}
    return {**(earlier if options == earlier_options else _apart(earlier)), **stated}


def _apart(record: Record) -> Record:
    return {name: value for name, value in record.items() if name not in BESIDE_OPTIONS}
