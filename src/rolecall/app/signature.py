"""The types of a handler's payload and result, and how their values are written and read as JSON.

`rolecall.app.annotations` reads them once, when the handler is declared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from json import dumps
from typing import Any

import msgspec

from rolecall.app.known_fields import KnownFields
from rolecall.app.nodes import nodes_of
from rolecall.app.schemas import describe_mismatch, schema_of
from rolecall.app.shapes import CLASSES, class_of, has_plain_keys, is_unset, narrow_value
from rolecall.model.codecs import decode_value, encode_revealed, encode_value
from rolecall.model.errors import ContractBroken, InvalidPayload
from rolecall.model.large import POINTER
from rolecall.model.outcomes import ELSEWHERE, ResultPointer, StoredElsewhere, UnreadableResult, UnstoredResult
from rolecall.model.redaction import hides
from rolecall.sql.encoding import NotStorable, to_plain

EXACT = (str, int, float, bool, dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The payload of a handler: `json` is its type, `schema` the JSON schema.

    `arguments`: the parameters to which the fields are passed; None if the payload is passed as a whole, as the
    item of a batch or to `**payload`. `returns`: the declared type of each task's result, or None. `strict`:
    whether unknown fields are rejected; otherwise they are dropped. `parameters` is for messages.
    """

    handler: str
    takes_context: bool
    arguments: tuple[str, ...] | None
    parameters: tuple[str, ...]
    json: JsonType
    schema: dict[str, Any]
    returns: ResultType | None
    strict: bool
    hides_values: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hides_values", hides(self.schema))

    @property
    def shape(self) -> Any:
        return self.json.shape

    @property
    def as_text(self) -> str:
        """The parameters as the function declares them."""
        return f"({', '.join(self.parameters)})"

    @property
    def takes_anything(self) -> bool:
        """Whether any payload is accepted, as with `**payload`."""
        return bool(self.shape == dict[str, Any])

    @property
    def fields(self) -> Mapping[str, Any]:
        """The JSON schemas of the payload's fields by name; empty if it has no fixed fields."""
        return fields_of(self.schema)

    @property
    def intake(self) -> str:
        """The signature digest."""
        document = dumps([self.handler, self.schema, self.strict], sort_keys=True)
        return hashlib.sha256(document.encode()).hexdigest()[:16]

    def decode(self, payload_json: str | bytes) -> Any:
        """Return the keyword arguments (or the batch item) of a payload. Raises InvalidPayload."""
        try:
            value = self.json.decode(payload_json)
        except (msgspec.DecodeError, UnicodeError) as error:
            problem = describe_mismatch(error, self.schema)
            raise InvalidPayload(problem, handler=self.handler, stored=True) from _cause_of(error, problem)
        if self.arguments is None:
            return value
        return {name: given for name in self.arguments if (given := getattr(value, name)) is not msgspec.UNSET}

    def assign_names(self, args: tuple[object, ...], payload: Mapping[str, object]) -> Mapping[str, object]:
        """Return the payload, with positional values assigned to parameters. Raises TypeError as a call does."""
        if not args:
            return payload
        if self.arguments is None:
            raise TypeError(f"the payload of {self.handler!r} has no order: pass its fields by name")
        if len(args) > len(self.arguments):
            raise TypeError(f"{self.handler!r} takes {len(self.arguments)} values, not {len(args)}")
        in_order = dict(zip(self.arguments, args, strict=False))
        if twice := in_order.keys() & payload.keys():
            raise TypeError(f"{self.handler!r} got {min(twice)!r} twice")
        return {**in_order, **payload}

    def check(self, payload: Mapping[str, object]) -> dict[str, object]:
        """Return the payload as JSON values. Raises InvalidPayload if it does not match."""
        try:
            plain: dict[str, object] = self.json.write(dict(payload), encode_revealed)
        except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
            problem = describe_mismatch(error, self.schema)
            raise InvalidPayload(problem, handler=self.handler) from _cause_of(error, problem)
        return plain


class JsonType:
    """Writes values of a declared type as JSON and reads them, by the same rules for payloads and results.

    `is_payload`: the type is that of a payload, whose values are dictionaries of fields. `is_strict`: unknown fields
    are rejected at any depth, otherwise dropped. `decode` returns the value of a JSON text, and raises
    msgspec.DecodeError and UnicodeError.
    """

    __slots__ = ("_classes", "_decoder", "_exact", "_has_plain_keys", "_known_fields", "_node", "decode", "shape")

    def __init__(self, shape: Any, *, is_payload: bool = False, is_strict: bool = False) -> None:
        self.shape = shape
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape, dec_hook=decode_value)
        self._node = msgspec.inspect.type_info(shape)
        self._known_fields = (KnownFields(self._node) or None) if is_strict else None
        # Without a call in between for most types, because every task is decoded.
        self.decode = self._decoder.decode if self._known_fields is None else self._decode_known_fields
        self._exact = shape if shape in EXACT else None
        nodes = [node for node in nodes_of(self._node) if not is_unset(node)]
        self._has_plain_keys = all(map(has_plain_keys, nodes))
        self._classes = tuple(
            class_of(node) for node in nodes if isinstance(node, CLASSES) and not (is_payload and node is self._node)
        )

    def write(self, value: Any, hook: Callable[[Any], object] = encode_value) -> Any:
        """Return a value as JSON values; `hook` writes the types that msgspec does not support.

        Raises msgspec.ValidationError for a value of another type; NotStorable, TypeError, ValueError and
        RecursionError for a value that JSON cannot represent.
        """
        if type(value) is self._exact:
            return value
        if self._classes and any(kind.__subclasses__() for kind in self._classes):
            value = narrow_value(value, self._node)
        try:
            plain = to_plain(value, hook, has_plain_keys=self._has_plain_keys)
            msgspec.convert(plain, self.shape, str_keys=True, dec_hook=decode_value)
            if self._known_fields is not None:
                self._known_fields.require(plain)
        except (msgspec.ValidationError, TypeError):
            declared = narrow_value(value, self._node)
            if declared is value:
                raise
            return self.write(declared, hook)
        return plain

    def read(self, plain: Any) -> Any:
        """Return the value of the declared type; raises the errors of `decode`."""
        return self.decode(msgspec.json.encode(plain))

    def _decode_known_fields(self, text: str | bytes) -> Any:
        value = self._decoder.decode(text)
        if self._known_fields is not None:
            self._known_fields.require(msgspec.json.decode(text))
        return value


class ResultType:
    """The type of the results of one handler. Writes returned results and reads stored ones.

    It is pickled as None, so a task that comes from another process has JSON values as its result.
    """

    __slots__ = ("_json", "handler", "shape")

    def __init__(self, shape: Any, *, handler: str) -> None:
        self.handler = handler
        self.shape = shape
        self._json = JsonType(shape)

    @property
    def schema(self) -> dict[str, Any]:
        return schema_of(self.shape)

    def write(self, value: object) -> object:
        """Return a result as JSON values, or the pointer to one that is stored elsewhere.

        Raises ContractBroken (invalid_output) if it is not of the type.
        """
        try:
            if isinstance(value, StoredElsewhere):
                self._json.write(value.whole)
                return value
            return self._json.write(value)
        except NotStorable as error:
            raise self.contract_error(f"cannot be stored: {error}", str(error)) from error
        except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
            problem = describe_mismatch(error, self.schema)
            raise self.contract_error(problem, problem) from _cause_of(error, problem)

    def read(self, stored: Any) -> Any:
        """Return a stored result as a value of the declared type.

        A result that is stored elsewhere is returned as a ResultPointer, one that does not match as an
        UnreadableResult.
        """
        if isinstance(stored, UnstoredResult):
            return stored
        if isinstance(stored, dict) and stored.keys() == POINTER and stored["rolecall"] == ELSEWHERE:
            return ResultPointer(stored, self)
        try:
            return self._json.read(stored)
        except Exception as error:  # noqa: BLE001 - the code of the type runs in there and may raise anything
            return UnreadableResult(describe_mismatch(error, self.schema), self.handler, stored)

    def contract_error(self, message: str, problem: str) -> ContractBroken:
        """Return the error for a result that does not match the declaration."""
        separator = " " if message.startswith("cannot ") else ": "
        return ContractBroken(
            f"result of {self.handler!r}{separator}{message}",
            code="invalid_output",
            handler=self.handler,
            details={"problem": problem},
        )

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return type(None), ()


def _cause_of(error: Exception, problem: str) -> Exception | None:
    """Return the error as a cause, unless values were redacted from the problem: then no traceback may show them."""
    return error if problem == str(error) else None


def fields_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of a payload's fields by name."""
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    found: dict[str, Any] = schema.get("$defs", {}).get(name, schema).get("properties", {})
    return found
