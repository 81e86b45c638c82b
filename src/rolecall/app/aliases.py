"""Second names that an app's tasks have over HTTP, for programs that were written for another system."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rolecall.model.errors import InvalidDeclaration

__all__ = ["Alias", "require_alias", "require_constant"]

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Alias:
    """A second name for a field of payloads; `key` is the template of the key that tasks with that field bear."""

    name: str
    field: str
    key: str | None = None

    @property
    def place(self) -> str:
        """Where in the key the value stands, as in the key of a handler."""
        return f"{{{self.field}}}"

    def key_of(self, value: object) -> str | None:
        """The key that the tasks with this value bear; None where lists do not find them by it."""
        return None if self.key is None else self.key.replace(self.place, str(value))

    def value_in(self, key: str | None) -> int | str | None:
        """What a key says of the field; None where it is another key."""
        if self.key is None or key is None:
            return None
        before, _, after = self.key.partition(self.place)
        if not (key.startswith(before) and key.endswith(after)) or len(key) <= len(before) + len(after):
            return None
        text = key[len(before) : len(key) - len(after)]
        return int(text) if text.isascii() and text.isdigit() else text


def require_alias(alias: Alias) -> None:
    """Raise InvalidDeclaration for a name that is none, and for a key without a place for the value."""
    _require_name(alias.name)
    if alias.key is not None and alias.key.count(alias.place) != 1:
        raise InvalidDeclaration(f"alias {alias.name!r}: key={alias.key!r} has no one place for {alias.place}")


def require_constant(name: str, value: str) -> None:
    """Raise InvalidDeclaration for a name that is none, and for a value that is no text."""
    _require_name(name)
    if not value:
        raise InvalidDeclaration(f"constant {name!r}: {value!r} is no text")


def _require_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise InvalidDeclaration(f"{name!r} is no name of a field: small letters, digits and _, a letter first")
