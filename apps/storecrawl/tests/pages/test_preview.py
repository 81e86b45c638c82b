"""The beginning of a JSON document, one item per line."""

from __future__ import annotations

import json

import pytest
from storecrawl.pages.payloads import indented

WHOLE = [{"a": [1, 2.5, None, True], "b": {"c": 'a "quoted", {text}'}, "empty": {}}, [], "x: y"]


def test_a_whole_document_is_written_as_json_is() -> None:
    text = json.dumps(WHOLE, separators=(",", ":"))

    assert indented(text) == json.dumps(WHOLE, indent=2)


@pytest.mark.parametrize("length", range(0, 90, 7))
def test_nothing_is_lost_wherever_the_text_is_cut(length: int) -> None:
    text = json.dumps(WHOLE, separators=(",", ":"))[:length]

    assert "".join(indented(text).split()) == "".join(text.split())


def test_text_that_is_not_json_is_indented_as_far_as_possible() -> None:
    assert indented("]}<b>") == "]\n}<b>"
