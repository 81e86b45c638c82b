"""Read members of JSON records without trusting their types, and clean texts."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

Record = Mapping[str, object]
EMPTY: Record = {}
BESIDE_OPTIONS = frozenset({"Prices", "recPrices", "medicalPrices", "recSpecialPrices", "medicalSpecialPrices"})
RAW_LIMIT = 2_000
DESCRIPTION_LIMIT = 10_000
URL_LIMIT = 2_000
LABEL_LENGTH = 60
JSON_DEPTH_LIMIT = 32
INTEGER_LIMIT = 2**63
# Only references with a semicolon: html.unescape alone would also turn "R&copycat" into "R©cat".
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARKUP = re.compile(r"<[^<>]{0,2000}>")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1b\x7f\u200b\ufeff]")


def record_at(record: Record, name: str) -> Record:
    """Return the object under `name`, or an empty one."""
    value = record.get(name)
    return value if isinstance(value, Mapping) else EMPTY


def list_at(record: Record, name: str) -> Sequence[object]:
    """Return the list under `name`, or an empty one."""
    value = record.get(name)
    return value if isinstance(value, list) else ()


def records_at(record: Record, name: str) -> list[Record]:
    """Return the objects in the list under `name`."""
    return [member for member in list_at(record, name) if isinstance(member, Mapping)]


def first_text(*values: object) -> object:
    """Return the first nonblank text unchanged."""
    return next((value for value in values if isinstance(value, str) and value.strip()), None)


def first_image(*values: object, images: Iterable[Record] = ()) -> str | None:
    """Return the first usable address: of the named values, then of the list's active pictures, then of any of them."""
    listed = sorted(images, key=lambda image: image.get("active") is False)
    candidates = [*values, *(image.get("url") for image in listed)]
    return next((address for address in map(web_address, candidates) if address), None)


def merge(earlier: Record, later: Record) -> Record:
    """Merge two records with the same key: the later non-null member wins.

    Lists parallel to the options are taken from one record, so that a price stays with its option.
    """
    stated = {name: value for name, value in later.items() if value is not None}
    options, earlier_options = stated.get("Options"), earlier.get("Options")
    if options is None and earlier_options is not None:
        return {**earlier, **_option_fields(stated)}
    return {**(earlier if options == earlier_options else _option_fields(earlier)), **stated}


def _option_fields(record: Record) -> Record:
    return {name: value for name, value in record.items() if name not in BESIDE_OPTIONS}


def storable(value: str) -> str:
    """Replace characters that Postgres cannot store (NUL, lone surrogates)."""
    return _SURROGATE.sub("\ufffd", value.replace("\x00", "\ufffd"))


def raw_text(value: object, limit: int = RAW_LIMIT) -> str | None:
    """Return the source's spelling, cut at `limit` characters; None if it is not a text."""
    return storable(value)[:limit] if isinstance(value, str) else None


def clean_text(value: object, limit: int = RAW_LIMIT) -> str | None:
    """Decode entities, drop invisible characters, collapse blanks, trim, cut; None if nothing is left."""
    if not isinstance(value, str):
        return None
    cleaned = _cleaned_label(value) if len(value) <= LABEL_LENGTH else _clean(value)
    return cleaned[:limit].rstrip() or None


def without_markup(value: object) -> object:
    """Replace the tags of a text by blanks."""
    return _MARKUP.sub(" ", value) if isinstance(value, str) else value


def _clean(text: str) -> str:
    decoded = _REFERENCE.sub(lambda found: html.unescape(found[0]), text)
    visible = _INVISIBLE.sub("", _SURROGATE.sub("\ufffd", decoded))
    return " ".join(visible.split())


# Menus repeat the same few hundred options, categories, brands and effects.
_cleaned_label = lru_cache(maxsize=4_096)(_clean)


def identifier(value: object, limit: int) -> str | None:
    """Return an id as text; None if it is blank, too long, or neither a text nor an integer."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < INTEGER_LIMIT:
        return str(value)
    text = clean_text(value)
    return text if text is not None and len(text) <= limit else None


def web_address(value: object) -> str | None:
    """Return an http(s) address without blanks, or None; protocol-relative ones become https."""
    text = clean_text(value, URL_LIMIT + 1)
    if text is None or len(text) > URL_LIMIT or " " in text:
        return None
    address = f"https:{text}" if text.startswith("//") else text
    return address if address.lower().startswith(("http://", "https://")) else None


def storable_json(value: object, depth: int = JSON_DEPTH_LIMIT) -> object:
    """Return a JSON value that jsonb accepts; numbers out of range and parts nested too deeply become null."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if abs(value) < INTEGER_LIMIT else None
    return _storable_part(value, depth - 1) if depth else None


def _storable_part(value: object, depth: int) -> object:
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_json(member, depth) for key, member in value.items()}
    if isinstance(value, Sequence):
        return [storable_json(member, depth) for member in value]
    return None
