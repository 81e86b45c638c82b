"""Field aliases: second names that payload fields have over HTTP, for clients written for another system."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rolecall.model.errors import InvalidDeclaration

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Alias:
    """A field alias. `key` is the template of the keys of tasks with that field, `place` the placeholder in it."""

    name: str
    field: str
    key: str | None = None

    @property
    def place(self) -> str:
        return f"{{{self.field}}}"

    def key_of(self, value: object) -> str | None:
        """Return the key of tasks with this value; None if there is no template."""
        return None if self.key is None else self.key.replace(self.place, str(value))

    def value_in(self, key: str | None) -> int | str | None:
        """Return the value of the field in a key; None if the key does not match the template."""
        if self.key is None or key is None:
            return None
        before, _, after = self.key.partition(self.place)
        if not (key.startswith(before) and key.endswith(after)) or len(key) <= len(before) + len(after):
            return None
        text = key[len(before) : len(key) - len(after)]
        return int(text) if text.isascii() and text.isdigit() else text


def require_alias(alias: Alias) -> None:
    """Raise InvalidDeclaration for an invalid name, or a key template without exactly one placeholder."""
    _require_name(alias.name)
    if alias.key is not None and alias.key.count(alias.place) != 1:
        raise InvalidDeclaration(f"alias {alias.name!r}: key={alias.key!r} must contain {alias.place} exactly once")


def require_constant(name: str, value: str) -> None:
    """Raise InvalidDeclaration for an invalid name or an empty value."""
    _require_name(name)
    if not value:
        raise InvalidDeclaration(f"constant {name!r}: the value must be a non-empty text, got {value!r}")


def _require_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise InvalidDeclaration(
            f"{name!r} is not a valid field name: use lowercase letters, digits and _, starting with a letter"
        )
