"""Read the files of crawl payloads and raw menus, and the menus in them."""

from __future__ import annotations

import msgspec

from storecrawl.catalog.normalize import Menu, NotAMenu, normalize, parse_document
from storecrawl.catalog.payloads import StoredPayload
from storecrawl.catalog.raw_menus import RawMenu
from storecrawl.payloads import OpenedPayload, PayloadExpired, PayloadStore

# Created at import, because threads read menus: msgspec 0.22 crashes if two of them resolve the type at once.
MENUS = msgspec.msgpack.Decoder(Menu)


def read_menu(payloads: PayloadStore, payload: StoredPayload) -> Menu:
    """Read and normalize a payload's file, blocking. Raises PayloadError and NotAMenu."""
    return normalize(parse_document(read_document(payloads, payload)))


def read_document(payloads: PayloadStore, payload: StoredPayload) -> bytes:
    """Read and verify a payload's file, blocking. Raises PayloadError."""
    _require_unexpired(payload)
    return payloads.read(payload.storage_path, payload.sha256, payload.size_raw)


def packed_menu(document: bytes) -> bytes | NotAMenu:
    """Normalize a document in another process; return a packed menu, or the NotAMenu error.

    Packing takes a fortieth of the time; pickle would take a third.
    """
    try:
        return msgspec.msgpack.encode(normalize(parse_document(document)))
    except NotAMenu as problem:
        return problem


def unpacked_menu(packed: bytes) -> Menu:
    """Unpack a packed menu."""
    return MENUS.decode(packed)


def open_payload(payloads: PayloadStore, payload: StoredPayload) -> OpenedPayload:
    """Open and verify a payload's file, blocking. Raises PayloadError."""
    _require_unexpired(payload)
    return payloads.open(payload.storage_path, payload.sha256, payload.size_raw)


def open_raw_menu(payloads: PayloadStore, raw: RawMenu) -> OpenedPayload:
    """Open and verify a raw menu's file, blocking. Raises PayloadError."""
    _require_unexpired(raw)
    return payloads.with_raw_limits().open(raw.storage_path, raw.sha256, raw.size_raw)


def _require_unexpired(payload: StoredPayload | RawMenu) -> None:
    if payload.expired_at is not None:
        raise PayloadExpired(
            payload.storage_path,
            f"its file expired on {payload.expired_at:%Y-%m-%d at %H:%M:%S %Z}: the retention policy removed it",
        )
