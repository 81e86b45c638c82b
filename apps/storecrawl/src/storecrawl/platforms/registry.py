"""All platforms by name. A new one is added here."""

from __future__ import annotations

from collections.abc import Mapping

from storecrawl.catalog.normalize import Menu, normalize
from storecrawl.platforms.dutchie import Dutchie
from storecrawl.platforms.protocol import Platform

PLATFORMS: Mapping[str, type[Platform]] = {platform.spec.name: platform for platform in (Dutchie,)}


def read_menu_of(platform: str | None, document: object) -> Menu:
    """Normalize a document of a platform; that of an unknown platform, by its form. Raises NotAMenu."""
    known = PLATFORMS.get(platform or "")
    return normalize(document) if known is None else known.read(document)
