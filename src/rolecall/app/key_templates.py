"""Checks which payload fields a key template (`store:{store_id}`) may name.

The engine fills in the templates (`functions/enqueue/drafts.sql`). Equal payloads must give equal keys, so only
types whose values have a single text form are allowed.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rolecall.app.signature import Signature
from rolecall.model.errors import InvalidDeclaration
from rolecall.model.redaction import Redaction

TEMPLATE = re.compile(r"(?:[^{}]|\{[^{}]+\})*")
FIELD = re.compile(r"\{([^{}]+)\}")
LONGEST = 200
PLAIN = (
    msgspec.inspect.IntType,
    msgspec.inspect.StrType,
    msgspec.inspect.BoolType,
    msgspec.inspect.UUIDType,
    msgspec.inspect.DateType,
    msgspec.inspect.EnumType,
    msgspec.inspect.LiteralType,
    msgspec.inspect.NoneType,
)


def check_template(template: str, setting: str, signature: Signature) -> None:
    """Raise InvalidDeclaration for a template that payloads of the handler cannot fill.

    `setting` is the name of the setting.
    """
    if not (0 < len(template) <= LONGEST and TEMPLATE.fullmatch(template)):
        raise _template_error(
            signature,
            f"{setting}={template!r} is not a valid template: use 1 to {LONGEST} characters, with fields in braces",
        )
    shape = msgspec.inspect.type_info(signature.shape)
    if isinstance(shape, msgspec.inspect.DictType):
        return
    fields = {field.encode_name: field for field in getattr(shape, "fields", ())}
    redaction = Redaction(signature.schema)
    for name in FIELD.findall(template):
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise _template_error(
                signature, f"{setting}={template!r} names {name!r}, which is not a field of the payload ({known})"
            )
        use = f"{setting}={template!r} uses {name!r}"
        if redaction.hides_in(signature.fields[name]):
            raise _template_error(signature, f"{use}, which is redacted, but keys are visible to all readers")
        _require_plain(fields[name], use, signature)


def _require_plain(field: Any, use: str, signature: Signature) -> None:
    if any(not isinstance(member, PLAIN) for member in _members(field.type)):
        raise _template_error(
            signature, f"{use}, which is not an int, str, bool, UUID, date, enum or Literal (or None)"
        )
    if not field.required and "default" not in signature.fields[field.encode_name]:
        raise _template_error(signature, f"{use}, whose default is not a plain value that the database can use")


def _members(kind: Any) -> list[Any]:
    """Return the types that a field can have, without the marker of an omitted field."""
    if isinstance(kind, msgspec.inspect.Metadata):
        return _members(kind.type)
    if isinstance(kind, msgspec.inspect.UnionType):
        return [member for each in kind.types for member in _members(each) if not _is_unset(member)]
    return [kind]


def _is_unset(kind: Any) -> bool:
    return isinstance(kind, msgspec.inspect.CustomType) and kind.cls is msgspec.UnsetType


def _template_error(signature: Signature, why: str) -> InvalidDeclaration:
    return InvalidDeclaration(f"handler {signature.handler!r}: {why}")
