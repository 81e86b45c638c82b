"""Capacities of keys, as declared by an app."""

from __future__ import annotations

from typing import Any

import pytest

from rolecall import App, InvalidDeclaration


def test_app_declares_key_capacities() -> None:
    app = App("shop")

    app.keys("tenant:*", capacity=3)
    app.keys("tenant:7", capacity=10)

    assert app.key_capacities == {"tenant:*": 3, "tenant:7": 10}


@pytest.mark.parametrize(
    ("pattern", "capacity", "words"),
    [
        ("", 2, "1 to 200 characters"),
        ("x" * 201, 2, "1 to 200 characters"),
        (7, 2, "1 to 200 characters"),
        ("a\0", 2, "1 to 200 characters"),
        ("a\ud800", 2, "1 to 200 characters"),
        ("a*b", 2, "a star before its end"),
        ("**", 2, "a star before its end"),
        ("a", 0, "a number from 1 to 32767, not 0"),
        ("a*", 32_768, "a number from 1 to 32767, not 32768"),
        ("a", 1.5, "a number from 1 to 32767, not 1.5"),
        ("a", True, "a number from 1 to 32767, not True"),
        ("a", None, "a number from 1 to 32767, not None"),
    ],
)
def test_invalid_pattern_or_capacity_is_rejected_at_its_declaration(pattern: Any, capacity: Any, words: str) -> None:
    app = App("shop")

    with pytest.raises(InvalidDeclaration, match=words):
        app.keys(pattern, capacity=capacity)

    assert app.key_capacities == {}


def test_duplicate_key_pattern_is_rejected() -> None:
    app = App("shop")
    app.keys("tenant:*", capacity=3)

    with pytest.raises(InvalidDeclaration, match=r"already a capacity of keys named 'tenant:\*'"):
        app.keys("tenant:*", capacity=3)
