"""How long a page of a list may be."""

from __future__ import annotations

from rolecall.model.errors import ConfigError

LONGEST_PAGE = 1_000


def require_page(limit: int) -> None:
    """Raise ConfigError for a page that nobody should ask for."""
    if not 1 <= limit <= LONGEST_PAGE:
        problem = f"{limit} is not between 1 and {LONGEST_PAGE}"
        raise ConfigError(problem, variable="limit", value=limit)
