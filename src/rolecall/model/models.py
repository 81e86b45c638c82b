"""The JSON schema of a pydantic model, with its hidden fields and its aliases.

Adds what pydantic omits, so that these values are hidden as well: fields marked as Redacted, `Secret[date]`, and
fields that a payload may contain under their name or an alias.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from rolecall.model.redaction import WRITE_ONLY, hides


def schema_of_model(model: Any) -> Mapping[str, Any]:
    """Return the schema. The names of its definitions are prefixed with the model's, so that models do not collide."""
    # Found by its signature, because pydantic is not imported here.
    generator = inspect.signature(model.model_json_schema).parameters["schema_generator"].default
    schema = _schema_by(_telling(generator), model)
    return schema if hides(schema) else _schema_by(generator, model)


def _schema_by(generator: Any, model: Any) -> Mapping[str, Any]:
    template = f"#/$defs/{model.__name__}.{{model}}"
    schema: dict[str, Any] = model.model_json_schema(
        ref_template=template, mode="validation", schema_generator=generator
    )
    named = {f"{model.__name__}.{name}": part for name, part in schema.pop("$defs", {}).items()}
    return {**schema, "$defs": named} if named else schema


def _telling(generator: Any) -> Any:
    def method(name: str) -> Any:
        def schema_of(self: Any, core: Mapping[str, Any]) -> Any:
            return _with_fields(getattr(generator, name)(self, core), core["cls"])

        return schema_of

    names = ("model_schema", "dataclass_schema", "typed_dict_schema")
    return type("Generator", (generator,), {name: method(name) for name in names})


def _with_fields(schema: dict[str, Any], kind: Any) -> dict[str, Any]:
    shown = schema.get("properties", {})
    others: dict[str, Any] = {}
    for annotation, names in _fields(kind):
        known = [each for each in names if each in shown]
        for each in known if _is_secret(annotation) else ():
            shown[each] = {**shown[each], WRITE_ONLY: True}
        rest = "|".join(re.escape(each) for each in names if each not in shown)
        if rest and known:
            others[f"^(?:{rest})$"] = shown[known[0]]
    return {**schema, "patternProperties": others} if others else schema


def _fields(kind: Any) -> Iterator[tuple[Any, list[str]]]:
    """Yield the fields of a model, dataclass or TypedDict, each with its type and all of its names in a payload."""
    # Before pydantic 2.10, models have only the second.
    known = getattr(kind, "__pydantic_fields__", getattr(kind, "model_fields", None))
    if known is None:
        hints = typing.get_type_hints(kind, include_extras=True)
        yield from ((hint, [name]) for name, hint in hints.items())
        return
    for name, field in known.items():
        marked = (field.annotation, *field.metadata)
        # Sorted, because the worker's signature digest depends on the order and must be the same in all processes.
        yield marked, sorted({name, *_aliases(field)})


def _aliases(field: Any) -> Iterator[str]:
    for alias in (field.alias, field.serialization_alias, field.validation_alias):
        for each in getattr(alias, "choices", [alias]):
            first = getattr(each, "path", [each])[0]
            if isinstance(first, str):
                yield first


def _is_secret(annotation: Any) -> bool:
    """Return whether a type, or a part of it, is hidden."""
    if isinstance(annotation, tuple):
        return any(map(_is_secret, annotation))
    if getattr(annotation, "extra_json_schema", None) == {WRITE_ONLY: True}:
        return True
    if hasattr(typing.get_origin(annotation) or annotation, "get_secret_value"):
        return True
    return any(map(_is_secret, (*typing.get_args(annotation), *getattr(annotation, "__metadata__", ()))))
