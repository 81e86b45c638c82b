"""What a handler leaves behind, made storable: whatever it returns or raises, its task can be finished."""

from __future__ import annotations

from typing import Any, NamedTuple

from rolecall.model.outcomes import MARK, UnstoredResult
from rolecall.sql.statement import from_json
from rolecall.sql.strict_json import NotStorable, encode

__all__ = ["LONGEST_ERROR", "MAX_RESULT_BYTES", "EncodedResult", "clean_error", "encode_result", "read_result"]

MAX_RESULT_BYTES = 1024 * 1024
LONGEST_ERROR = 8_000
REPLACEMENT = "\ufffd"


class EncodedResult(NamedTuple):
    """A result as JSON text; where it could not be stored, a marker object, and why."""

    text: str
    unstored: str | None = None


def encode_result(value: object, *, max_bytes: int = MAX_RESULT_BYTES) -> EncodedResult:
    """Write a handler's result as JSON text, whatever it is."""
    if isinstance(value, UnstoredResult):
        return _marker(value.why)
    try:
        text = encode(value)
    except NotStorable as error:
        return _marker(str(error))
    except Exception as error:  # noqa: BLE001 - a result's own code runs in there and may raise anything
        return _marker(f"{type(error).__name__}: {error}")
    size = len(text.encode())
    return EncodedResult(text) if size <= max_bytes else _marker(f"{size} bytes, allowed are {max_bytes}")


def read_result(text: str | None) -> Any:
    """Read a result from JSON text; an UnstoredResult where it could not be stored."""
    value = from_json(text)
    if isinstance(value, dict) and value.keys() == {"rolecall", "why"} and value["rolecall"] == MARK:
        return UnstoredResult(value["why"])
    return value


def clean_error(text: str) -> str:
    """Return an error text that the database stores: no NUL, no lone surrogate, at most 8,000 characters."""
    cut = text[:LONGEST_ERROR].replace("\0", REPLACEMENT)
    return cut.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _marker(why: str) -> EncodedResult:
    told = clean_error(why)
    return EncodedResult(encode({"rolecall": MARK, "why": told}), told)
