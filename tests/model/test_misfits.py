"""Incompatible payloads are detected with the stored schema, as the handler would detect them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest

from rolecall import App, InvalidPayload
from rolecall.model.operator.misfits import find_mismatch


class Colour(Enum):
    BLUE = "blue"
    RED = "red"


@dataclass
class Box:
    width: int
    tags: list[str]
    colour: Colour = Colour.RED


app = App("test")


@app.task
def pack(  # sizes: each is a kind of field
    name: str,
    box: Box,
    weight: float | None = None,
    counts: dict[str, int] | None = None,
    corner: tuple[int, str] = (0, ""),
    mode: Literal["fast", "slow"] = "fast",
    anything: Any = None,
) -> None: ...


FITS: dict[str, Any] = {"name": "a", "box": {"width": 3, "tags": ["x"]}}
WRONG = [
    ({"name": 7}, "expected string, got integer - at $.name"),
    ({"box": {"width": 3}}, "missing required field 'tags' - at $.box"),
    ({"box": {"width": 3.5, "tags": []}}, "expected integer, got number - at $.box.width"),
    ({"box": {"width": True, "tags": []}}, "expected integer, got boolean - at $.box.width"),
    ({"box": {"width": 3, "tags": ["x", 1]}}, "expected string, got integer - at $.box.tags[1]"),
    ({"box": {"width": 3, "tags": [], "colour": "green"}}, "expected 'blue' or 'red', got 'green' - at $.box.colour"),
    ({"weight": "heavy"}, "expected number, got string - at $.weight"),
    ({"counts": {"a": "b"}}, "expected integer, got string - at $.counts.a"),
    ({"corner": [1, 2]}, "expected string, got integer - at $.corner[1]"),
    ({"mode": "slower"}, "expected 'fast' or 'slow', got 'slower' - at $.mode"),
    ({"colour": "red"}, "unknown field 'colour' - at $"),
]


@pytest.mark.parametrize(("changes", "problem"), WRONG)
def test_misfit_is_reported_with_its_position(changes: dict[str, Any], problem: str) -> None:
    payload = FITS | changes

    assert find_mismatch(payload, pack.signature.schema) == problem
    with pytest.raises(InvalidPayload):
        pack.decode(json.dumps(payload))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"weight": None},
        {"weight": 2},
        {"weight": 2.5},
        {"counts": {"a": 1}},
        {"corner": [1, "b"]},
        {"anything": [{}]},
    ],
)
def test_fitting_payload_is_accepted(changes: dict[str, Any]) -> None:
    payload = FITS | changes

    assert find_mismatch(payload, pack.signature.schema) is None
    assert pack.task(**payload).payload == payload


def test_empty_schema_accepts_any_payload() -> None:
    assert find_mismatch({"a": float("inf")}, {}) is None
