"""The settings of the Dutchie client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from storecrawl.platforms.dutchie.operations import OPERATIONS
from storecrawl.platforms.options import HttpOptions

LARGEST_PAGE = 100


class MenuMode(StrEnum):
    """The products that a menu request returns: those that customers see, or also those nearly sold out."""

    SHOWN = "shown"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions(HttpOptions):
    """Settings of the client. `hashes` are persisted-query hashes by operation name, tried before that of our text."""

    page_size: int = LARGEST_PAGE
    page_cap: int = 200
    modes: tuple[MenuMode, ...] = (MenuMode.SHOWN, MenuMode.FULL)
    stores_path: str = "/graphql"
    menus_path: str = "/api-3/graphql"
    hashes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        HttpOptions.__post_init__(self)
        if self.page_cap < 1:
            raise ValueError("page_cap must be at least 1")
        if not 1 <= self.page_size <= LARGEST_PAGE:
            raise ValueError(f"page_size must be between 1 and {LARGEST_PAGE}, not {self.page_size}")
        unknown = sorted(self.hashes.keys() - {operation.name for operation in OPERATIONS})
        if unknown:
            raise ValueError(f"hashes must be of known operations, got {', '.join(unknown)}")
        if not self.modes:
            raise ValueError("modes must contain at least one mode")
