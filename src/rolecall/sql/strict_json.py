"""JSON text that the database is sure to store: no NaN or infinity, no NUL, no lone surrogate, text keys."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = ["NotStorable", "as_text", "encode", "encode_text"]

ESCAPED_NUL = "\\u0000"
SCALARS = frozenset({str, int, float, bool, type(None)})
SURE = SCALARS - {float}


class NotStorable(ValueError):
    """A value that JSON in the database cannot hold; the text says where and why."""


def encode(value: object) -> str:
    """Return the value as compact JSON text; raise NotStorable where the database would refuse it.

    Dataclasses, Structs, datetimes, UUIDs, Decimals, enums, sets and bytes are turned into plain JSON first.
    """
    return _encode_plain(value) or _encode_any(value)


def encode_text(text: str) -> str:
    """Return a text that is known to be clean as a JSON string."""
    return json.encoder.encode_basestring(text)


def as_text(value: object) -> str:
    """Return what is a kind of text (an idempotency key, say) as text; raise TypeError for anything else.

    msgspec asks this about what it does not know.
    """
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def _encode_plain(value: object) -> str | None:
    """Return what needs no second thought at a tenth of the price; None for everything else."""
    try:
        text = msgspec.json.encode(value).decode() if _is_plain(value) else ESCAPED_NUL
    except (OverflowError, ValueError, RecursionError):
        return None
    return None if ESCAPED_NUL in text else text


def _is_plain(value: object) -> bool:
    """Whether msgspec writes it as `json` does: it lets NaN and keys that are no text pass without a word."""
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
        text = ENCODER.encode(value)
        text.encode()
        suspicious = ESCAPED_NUL in text or not _has_text_keys(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotStorable(_problem(value) or str(error)) from error
    # The suspicion may be false (a backslash before u0000 as plain text), so the slow walk has the last word.
    if suspicious and (problem := _problem(value)):
        raise NotStorable(problem)
    return text


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return msgspec.to_builtins(value, str_keys=True, enc_hook=as_text)


ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)


def _has_text_keys(value: object) -> bool:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str) or (type(item) not in SCALARS and not _has_text_keys(item)):
                return False
        return True
    if isinstance(value, list | tuple):
        return all(type(item) in SCALARS or _has_text_keys(item) for item in value)
    return not isinstance(value, Mapping)


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
        if not isinstance(key, str):
            return f"{path or 'the value'} has the key {key!r}, which is not text"
        problem = _text_problem(key)
        if problem:
            return f"the key {key!r} {problem}"
        problem = _first_problem(item, f"{path}.{key}" if path else key)
        if problem:
            return problem
    return None


def _rich_problem(value: object, path: str) -> str | None:
    try:
        plain = _plain(value)
    except (TypeError, ValueError, RecursionError):
        return f"{path or 'the value'} is a {type(value).__name__}, which has no JSON form"
    return _first_problem(plain, path)


def _text_problem(text: str) -> str | None:
    if "\0" in text:
        return "contains a NUL character"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "contains half a surrogate pair"
    return None
