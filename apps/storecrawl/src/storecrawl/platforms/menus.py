"""Read the menus in payload files, each in the form of its platform."""

from __future__ import annotations

import msgspec

from storecrawl.catalog import StoredPayload, read_document
from storecrawl.catalog.normalize import Menu, NotAMenu, parse_document
from storecrawl.payloads import PayloadStore
from storecrawl.platforms.registry import read_menu_of


def read_menu(payloads: PayloadStore, payload: StoredPayload) -> Menu:
    """Read and normalize a payload's file, blocking. Raises PayloadError and NotAMenu."""
    return read_menu_of(payload.platform, parse_document(read_document(payloads, payload)))


def packed_menu(platform: str | None, document: bytes) -> bytes | NotAMenu:
    """Normalize a document in another process; return a packed menu, or the NotAMenu error.

    Packing takes a fortieth of the time; pickle would take a third.
    """
    try:
        return msgspec.msgpack.encode(read_menu_of(platform, parse_document(document)))
    except NotAMenu as problem:
        return problem
