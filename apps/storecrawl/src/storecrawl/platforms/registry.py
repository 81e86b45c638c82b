"""All platforms by name. A new one is added here."""

from __future__ import annotations

from collections.abc import Mapping

from storecrawl.catalog.normalize import Menu
from storecrawl.platforms.dispense.platform import Dispense
from storecrawl.platforms.dutchie import Dutchie
from storecrawl.platforms.protocol import Platform
from storecrawl.platforms.readers import read_any
from storecrawl.platforms.weedmaps.platform import Weedmaps

PLATFORMS: Mapping[str, type[Platform]] = {platform.spec.name: platform for platform in (Dutchie, Dispense, Weedmaps)}


def read_menu_of(platform: str | None, document: object) -> Menu:
    """Normalize a document of a platform; that of an unknown platform, by its form. Raises NotAMenu."""
    known = PLATFORMS.get(platform or "")
    return read_any(document) if known is None else known.read(document)
