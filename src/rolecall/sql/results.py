"""What a handler leaves behind, made storable: whatever it returns or raises, its task can be finished."""

from __future__ import annotations

from rolecall.sql.strict_json import NotStorable, encode

__all__ = ["LONGEST_ERROR", "MAX_RESULT_BYTES", "clean_error", "encode_result"]

MAX_RESULT_BYTES = 1024 * 1024
LONGEST_ERROR = 8_000
REPLACEMENT = "\ufffd"


def encode_result(value: object, *, max_bytes: int = MAX_RESULT_BYTES) -> str:
    """Return a handler's result as JSON text, or a marker object that says why it could not be stored."""
    try:
        text = encode(value)
    except NotStorable as error:
        return _marker(str(error))
    except Exception as error:  # noqa: BLE001 - a result's own code runs in there and may raise anything
        return _marker(f"{type(error).__name__}: {error}")
    size = len(text.encode())
    return text if size <= max_bytes else _marker(f"{size} bytes, allowed are {max_bytes}")


def clean_error(text: str) -> str:
    """Return an error text that the database stores: no NUL, no lone surrogate, at most 8,000 characters."""
    cut = text[:LONGEST_ERROR].replace("\0", REPLACEMENT)
    return cut.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _marker(why: str) -> str:
    return encode({"rolecall": "result not stored", "why": clean_error(why)})
