"""Encoding of payloads, results and infos as JSON text that the database can store."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from rolecall.model.codecs import encode_value
from rolecall.model.error_text import clean_error, message_of
from rolecall.model.outcomes import MARK, UnstoredResult
from rolecall.sql.statement import from_json

ESCAPED_NUL = "\\u0000"
# A NUL, and a key that is NaN or infinite.
SUSPICIOUS = (ESCAPED_NUL, 'nan":', 'inf":')
MAX_RESULT_BYTES = 1024 * 1024
SURE = frozenset({str, int, bool, type(None)})


class NotStorable(ValueError):
    """A value that the database cannot store as JSON; the message names the place and the reason."""


def encode(value: object) -> str:
    """Return the value as compact JSON text. Raises NotStorable if the database would reject it.

    Dataclasses, Structs, pydantic models, datetimes, UUIDs, Decimals, enums, sets, bytes and types with a codec are
    first converted to JSON values, as in `to_plain`.
    """
    try:
        # Simple values take a tenth of the time.
        text = msgspec.json.encode(value).decode() if _is_plain(value) else ESCAPED_NUL
    except (OverflowError, ValueError, RecursionError):
        text = ESCAPED_NUL
    return _encode_any(value) if ESCAPED_NUL in text else text


def encode_text(text: str) -> str:
    """Return a text without invalid characters as a JSON string."""
    return json.encoder.encode_basestring(text)


class EncodedResult(NamedTuple):
    """A result as JSON text; if it could not be stored, a marker object and the reason."""

    text: str
    unstored: str | None = None


def encode_result(value: object, *, max_bytes: int = MAX_RESULT_BYTES) -> EncodedResult:
    """Encode any result of a handler as JSON text."""
    if isinstance(value, UnstoredResult):
        return _marker(value.why)
    try:
        text = encode(value)
    except NotStorable as error:
        return _marker(str(error))
    except BaseException as error:  # noqa: BLE001 - a result's own code runs in there and may raise anything
        return _marker(f"{type(error).__name__}: {message_of(error)}")
    size = len(text.encode())
    return EncodedResult(text) if size <= max_bytes else _marker(f"{size} bytes exceed the limit of {max_bytes}")


def read_result(text: str | None) -> Any:
    """Decode a result from JSON text; an UnstoredResult if it could not be stored."""
    value = from_json(text)
    if isinstance(value, dict) and value.keys() == {"rolecall", "why"} and value["rolecall"] == MARK:
        return UnstoredResult(value["why"])
    return value


def _marker(why: str) -> EncodedResult:
    reason = clean_error(why)
    return EncodedResult(encode({"rolecall": MARK, "why": reason}), reason)


def to_plain(value: object, hook: Callable[[Any], object] = encode_value, *, has_plain_keys: bool = False) -> Any:
    """Return a value as JSON values: dictionaries, lists, texts, numbers, booleans, None.

    Keys that are numbers, UUIDs, dates, enums or bytes become text. `hook` converts types that msgspec does not
    support. `has_plain_keys` skips the search for keys that become the same text. Raises NotStorable for such keys,
    TypeError for a value or a key without a JSON form, ValueError and RecursionError for values that are not JSON.
    """
    plain = msgspec.to_builtins(value, str_keys=True, enc_hook=hook)
    # If the values differ, a key may have been converted to text.
    if not has_plain_keys and not _are_same(plain, value):
        _require_distinct_keys(value, hook)
    return plain


def _are_same(plain: object, value: object) -> bool:
    try:
        return bool(plain == value)
    except Exception:  # noqa: BLE001 - a value's own code runs in there and may raise anything
        return False


def _require_distinct_keys(value: object, hook: Callable[[Any], object]) -> None:
    try:
        text = msgspec.json.encode(value, enc_hook=hook)
    except UnicodeError:
        return  # `encode` reports the problem
    json.loads(text, object_pairs_hook=_distinct)


def _distinct(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise NotStorable(f"two keys of a dictionary become the same text, {key!r}")
        seen.add(key)


def _is_plain(value: object) -> bool:
    """Return whether msgspec writes the value like `json`, which rejects NaN and keys that are not text."""
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str or (type(item) not in SURE and not _is_plain(item)):
                return False
        return True
    if type(value) is list:
        return all(type(item) in SURE or _is_plain(item) for item in value)
    return type(value) in SURE or (type(value) is float and math.isfinite(value))


def _encode_any(value: object) -> str:
    try:
        plain = to_plain(value)
        text = ENCODER.encode(plain)
        text.encode()
    except NotStorable:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise NotStorable(_problem(value) or str(error)) from error
    # These may also be part of a text, so the slow search decides.
    if any(sign in text for sign in SUSPICIOUS) and (problem := _problem(value)):
        raise NotStorable(problem)
    return text


ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _problem(value: object) -> str | None:
    try:
        return _first_problem(value, "")
    except RecursionError:
        return "the value is nested too deeply"


def _first_problem(value: Any, path: str) -> str | None:
    if value is None or isinstance(value, str | int | float):
        return _scalar_problem(value, path or "the value")
    if isinstance(value, Mapping):
        return _mapping_problem(value, path)
    if isinstance(value, list | tuple):
        problems = (_first_problem(item, f"{path}[{n}]") for n, item in enumerate(value))
        return next(filter(None, problems), None)
    return _rich_problem(value, path)


def _scalar_problem(value: str | float | None, path: str) -> str | None:
    if isinstance(value, str):
        problem = _text_problem(value)
        return f"{path} {problem}" if problem else None
    if isinstance(value, float) and not math.isfinite(value):
        return f"{path} is {value!r}, which is not JSON"
    return None


def _mapping_problem(value: Mapping[object, object], path: str) -> str | None:
    for key, item in value.items():
        name = _key_text(key)
        if name is None:
            return f"{path or 'the value'} has the key {key!r}, which has no text form"
        problem = _text_problem(name)
        if problem:
            return f"the key {key!r} {problem}"
        problem = _first_problem(item, f"{path}.{name}" if path else name)
        if problem:
            return problem
    return None


def _key_text(key: object) -> str | None:
    if isinstance(key, float) and not math.isfinite(key):
        return None
    try:
        [text] = msgspec.to_builtins({key: None}, str_keys=True, enc_hook=encode_value)
    except (TypeError, ValueError):
        return None
    return str(text)


def _rich_problem(value: object, path: str) -> str | None:
    try:
        plain = to_plain(value)
    except NotStorable as error:
        return str(error)
    except (TypeError, ValueError, RecursionError):
        return f"{path or 'the value'} has the type {type(value).__name__}, which has no JSON form"
    return _first_problem(plain, path)


def _text_problem(text: str) -> str | None:
    if "\0" in text:
        return "contains a NUL character"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "contains half a surrogate pair"
    return None
