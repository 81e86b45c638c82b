from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall.sql.results import LONGEST_ERROR, MAX_RESULT_BYTES, clean_error, encode_result

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


class Explosive:
    """A value whose own code raises while it is looked at."""

    @property
    def __dataclass_fields__(self) -> object:
        raise ZeroDivisionError("boom")


def test_a_result_is_stored_as_it_is() -> None:
    assert json.loads(encode_result({"stores": [1, 2]})) == {"stores": [1, 2]}
    assert encode_result(None) == "null"


@pytest.mark.parametrize("value", [math.nan, "\0", "\ud800", {1: 2}, object(), [math.inf], Explosive()])
def test_a_result_that_cannot_be_stored_leaves_a_marker(value: object) -> None:
    """covers RELIABILITY invariant 20"""
    stored = json.loads(encode_result(value))

    assert stored["rolecall"] == "result not stored"
    assert stored["why"]


def test_a_result_over_the_limit_leaves_a_marker_that_says_so() -> None:
    stored = json.loads(encode_result("x" * MAX_RESULT_BYTES))

    assert stored["why"] == f"{MAX_RESULT_BYTES + 2} bytes, allowed are {MAX_RESULT_BYTES}"


def test_the_limit_counts_bytes_not_characters() -> None:
    assert "not stored" in encode_result("ü" * 60, max_bytes=100)
    assert "not stored" not in encode_result("u" * 60, max_bytes=100)


def test_an_error_text_loses_only_what_cannot_be_stored() -> None:
    assert clean_error("a\0b\ud800c\U0001f600") == "a\ufffdb\ufffdc\U0001f600"


def test_an_error_text_is_cut() -> None:
    assert clean_error("x" * 9_000) == "x" * LONGEST_ERROR


@given(ANY_TEXT)
def test_any_error_text_becomes_storable(text: str) -> None:
    clean = clean_error(text)

    assert "\0" not in clean
    assert clean.encode().decode() == clean
    assert len(clean) <= LONGEST_ERROR
