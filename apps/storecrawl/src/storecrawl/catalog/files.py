"""From the row of a crawl payload to its file, and to the menu in it."""

from __future__ import annotations

import msgspec

from storecrawl.catalog.normalize import Menu, NotAMenu, normalize, parse_document
from storecrawl.catalog.payloads import StoredPayload
from storecrawl.catalog.raw_menus import RawMenu
from storecrawl.payloads import OpenedPayload, PayloadExpired, PayloadStore

# Made here, as threads read menus: two that work the type out at the same moment crash the process (msgspec 0.22).
MENUS = msgspec.msgpack.Decoder(Menu)


def read_menu(payloads: PayloadStore, payload: StoredPayload) -> Menu:
    """Read a payload's file and normalize it, blocking; raises PayloadError and NotAMenu."""
    return normalize(parse_document(read_document(payloads, payload)))


def read_document(payloads: PayloadStore, payload: StoredPayload) -> bytes:
    """Read a payload's file, proved, blocking; raises PayloadError."""
    _require_kept(payload)
    return payloads.read(payload.storage_path, payload.sha256, payload.size_raw)


def packed_menu(document: bytes) -> bytes | NotAMenu:
    """Normalize a document for another process: a packed menu, or what the document is instead.

    To pack it is a fortieth of the work; to have pickle do it would be a third.
    """
    try:
        return msgspec.msgpack.encode(normalize(parse_document(document)))
    except NotAMenu as problem:
        return problem


def unpacked_menu(packed: bytes) -> Menu:
    """The menu that was packed."""
    return MENUS.decode(packed)


def open_payload(payloads: PayloadStore, payload: StoredPayload) -> OpenedPayload:
    """Open a payload's file, proved, blocking; raises PayloadError."""
    _require_kept(payload)
    return payloads.open(payload.storage_path, payload.sha256, payload.size_raw)


def open_raw_menu(payloads: PayloadStore, raw: RawMenu) -> OpenedPayload:
    """Open a raw menu's file, proved, blocking; raises PayloadError."""
    _require_kept(raw)
    return payloads.for_raw().open(raw.storage_path, raw.sha256, raw.size_raw)


def _require_kept(payload: StoredPayload | RawMenu) -> None:
    if payload.expired_at is not None:
        raise PayloadExpired(
            payload.storage_path,
            f"its file expired on {payload.expired_at:%Y-%m-%d at %H:%M:%S %Z}: the retention policy had it removed",
        )
