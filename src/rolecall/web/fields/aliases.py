"""Field aliases and constants of an app (`App.alias`, `App.constant`), as requests contain them and responses show
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import GetJsonSchemaHandler, SerializerFunctionWrapHandler, model_serializer
from pydantic_core import CoreSchema

from rolecall.app.aliases import Alias

SHOWN = "second_names"
# Marks where OpenAPI lists them.
MARK = "x-second-names"


class HasSecondNames:
    """Base of response dataclasses. The entries of `second_names` are serialized next to their own fields."""

    __slots__ = ()

    @model_serializer(mode="wrap")
    def _with_second_names(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        shown = write(self)
        names = shown.pop(SHOWN)
        return {**shown, **names}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the fields. Only the application knows the second names."""
        fields: Any = {name: value for name, value in core.items() if name != "serialization"}
        described = handler(fields)
        resolved = handler.resolve_ref_schema(described)
        resolved["properties"].pop(SHOWN, None)
        resolved[MARK] = True
        return described


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondNames:
    """The field aliases and constants of one app. Invalid ones raise RequestValidationError with their name."""

    aliases: Mapping[str, Alias]
    constants: Mapping[str, str]

    @property
    def filters(self) -> frozenset[str]:
        """The names by which lists can be filtered."""
        return frozenset(name for name, alias in self.aliases.items() if alias.key) | frozenset(self.constants)

    def payload(
        self,
        given: Mapping[str, Any] | None,
        payload: Mapping[str, Any] | None,
        stored: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the payload of a request, or the standing one if it has none, with the values given by second names.

        A null value is ignored in a new payload, and removes the field from a standing one.
        """
        fields: dict[str, Any] = {}
        for name, value in (given or {}).items():
            alias = self._alias(name, value, "body")
            if alias is None:
                continue
            if (payload or {}).get(alias.field, value) != value:
                raise _validation_error(
                    "body", name, f"it is an alias of payload.{alias.field}, which has another value"
                )
            fields[alias.field] = value
        values = {**(stored or {} if payload is None else payload), **fields}
        return {name: value for name, value in values.items() if value is not None or name not in fields}

    def key(self, given: Mapping[str, Any] | None, key: str | None) -> str | None:
        """Return the key of a filter, which may be given by second names."""
        for name, value in (given or {}).items():
            alias = self._alias(name, value, "filter")
            if alias is None or value is None:
                continue
            selected = alias.key_of(value)
            if selected is None or not isinstance(value, str | int):
                raise _validation_error(
                    "filter", name, "a filter takes one number or text" if selected else "not a filter"
                )
            if key not in {None, selected}:
                raise _validation_error(
                    "filter", name, f"it selects the key {selected!r}, but another filter selects a different key"
                )
            key = selected
        return key

    def shown(self, key: str | None, payload: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the second names of a task or schedule with their values, from the payload or else from the key."""
        values = {name: (payload or {}).get(alias.field) for name, alias in self.aliases.items()}
        by_key = {name: self.aliases[name].value_in(key) for name, value in values.items() if value is None}
        return {**values, **by_key, **self.constants}

    def _alias(self, name: str, value: object, where: str) -> Alias | None:
        if name in self.aliases:
            return self.aliases[name]
        if name not in self.constants:
            known = ", ".join(sorted({*self.aliases, *self.constants}))
            raise _validation_error(where, name, f"unknown field{known and f'; the aliases are {known}'}")
        if value is not None and value != self.constants[name]:
            raise _validation_error(where, name, f"it is always {self.constants[name]!r}, got {value!r}")
        return None


def _validation_error(where: str, name: str, problem: str) -> RequestValidationError:
    return RequestValidationError([{"type": "second_name", "loc": (where, name), "msg": problem}])


def _names(request: Request) -> SecondNames:
    names: SecondNames = request.app.state.rolecall.names
    return names


Naming = Annotated[SecondNames, Depends(_names)]
