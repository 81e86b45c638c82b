"""Read the files of crawl payloads and raw menus, and the menus in them."""

from __future__ import annotations

import msgspec

from storecrawl.catalog.normalize import Menu
from storecrawl.catalog.payloads import StoredPayload
from storecrawl.catalog.raw_menus import RawMenu
from storecrawl.payloads import OpenedPayload, PayloadExpired, PayloadStore

# Created at import, because threads read menus: msgspec 0.22 crashes if two of them resolve the type at once.
MENUS = msgspec.msgpack.Decoder(Menu)


def read_document(payloads: PayloadStore, payload: StoredPayload) -> bytes:
    """Read and verify a payload's file, blocking. Raises PayloadError."""
    _require_unexpired(payload)
    return payloads.read(payload.storage_path, payload.sha256, payload.size_raw)


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
