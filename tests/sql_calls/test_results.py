from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall import UnstoredResult
from rolecall.model.error_text import LONGEST_ERROR, clean_error
from rolecall.sql.encoding import MAX_RESULT_BYTES, encode_result, read_result

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


class Explosive:
    """A value whose own code raises while it is inspected."""

    @property
    def __dataclass_fields__(self) -> object:
        raise ZeroDivisionError("boom")


def test_result_is_stored_unchanged() -> None:
    stored = encode_result({"stores": [1, 2]})

    assert read_result(stored.text) == {"stores": [1, 2]}
    assert encode_result(None) == ("null", None)


@pytest.mark.parametrize("value", [math.nan, "\0", "\ud800", {None: 2}, object(), [math.inf], Explosive()])
def test_unstorable_result_is_replaced_by_a_marker(value: object) -> None:
    stored = encode_result(value)

    assert json.loads(stored.text) == {"rolecall": "result not stored", "why": stored.unstored}


def test_marker_is_read_as_an_unstored_result() -> None:
    text, why = encode_result(object())

    read = read_result(text)

    assert isinstance(read, UnstoredResult)
    assert read.why == why
    assert encode_result(read).text == text


def test_oversized_result_is_replaced_by_a_marker_with_the_size() -> None:
    assert (
        encode_result("x" * MAX_RESULT_BYTES).unstored
        == f"{MAX_RESULT_BYTES + 2} bytes exceed the limit of {MAX_RESULT_BYTES}"
    )


def test_limit_counts_bytes_not_characters() -> None:
    assert encode_result("ü" * 60, max_bytes=100).unstored
    assert not encode_result("u" * 60, max_bytes=100).unstored


def test_unstorable_characters_of_an_error_text_are_replaced() -> None:
    assert clean_error("a\0b\ud800c\U0001f600") == "a\ufffdb\ufffdc\U0001f600"


def test_long_error_text_is_truncated() -> None:
    assert clean_error("x" * 17_000) == "x" * LONGEST_ERROR


@given(ANY_TEXT)
def test_any_error_text_becomes_storable(text: str) -> None:
    clean = clean_error(text)

    assert "\0" not in clean
    assert clean.encode().decode() == clean
    assert len(clean) <= LONGEST_ERROR
