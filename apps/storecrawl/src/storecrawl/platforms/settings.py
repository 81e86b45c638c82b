"""The settings of one platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rolecall import ConfigError
from storecrawl.platforms.registry import PLATFORMS

PREFIX = "STORECRAWL_"
Overrides = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformSettings:
    """A crawled platform: its base URL, the texts of its own settings, and general settings with other values."""

    upstream: str
    own: Mapping[str, str] = field(default_factory=dict)
    overrides: Overrides = field(default_factory=dict)


class PlatformNotCrawled(ConfigError):
    """A platform is unknown, or has no URL in the settings."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the platform {name} is not crawled without its URL", variable=variable_of(name, "upstream"))


def variable_of(platform: str, name: str) -> str:
    """Return the variable of a platform's setting, such as STORECRAWL_DUTCHIE_UPSTREAM."""
    return f"{PREFIX}{platform}_{name}".upper()


def read_own(platform: str, texts: Mapping[str, str]) -> dict[str, object]:
    """Return the values of a platform's own settings. Raises ConfigError."""
    values = {}
    for name, text in texts.items():
        try:
            values[name] = PLATFORMS[platform].spec.options[name](text)
        except ValueError as problem:
            raise ConfigError(str(problem), variable=variable_of(platform, name), value=text) from None
    return values
