"""Read a document of any platform, for captures whose platform nobody has written down."""

from __future__ import annotations

from storecrawl.catalog.normalize import Menu, normalize
from storecrawl.catalog.normalize.normalizer import menu_of
from storecrawl.platforms.dispense import reader as dispense
from storecrawl.platforms.jane import reader as jane
from storecrawl.platforms.weedmaps import reader as weedmaps


def read_any(document: object) -> Menu:
    """Normalize a menu in the form of any known platform. Raises NotAMenu if it is of none, or nothing is usable."""
    for platform in (dispense, weedmaps, jane):
        found = platform.recognise(document)
        if found is not None:
            return menu_of(found, platform.READER)
    return normalize(document)
