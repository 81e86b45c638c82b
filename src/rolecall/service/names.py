"""What the names of callers may look like."""

from __future__ import annotations

from rolecall.model.errors import ConfigError

LONGEST_NAME = 100


def require_name(name: str) -> None:
    """Raise ConfigError for a name that would look like another one, or could not be read."""
    if not name.isprintable() or name != name.strip() or not 1 <= len(name) <= LONGEST_NAME:
        problem = f"a name is printable, without space at its ends, and 1 to {LONGEST_NAME} characters long"
        raise ConfigError(problem, variable="name", value=name)
