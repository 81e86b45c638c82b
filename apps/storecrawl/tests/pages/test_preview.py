"""The beginning of a JSON document, one item per line."""

from __future__ import annotations

import json

import pytest
from storecrawl.pages.payloads import indent_json

WHOLE = [{"a": [1, 2.5, None, True], "b": {"c": 'a "quoted", {text}'}, "empty": {}}, [], "x: y"]


def test_complete_document_is_formatted_like_indented_json() -> None:
    text = json.dumps(WHOLE, separators=(",", ":"))

    assert indent_json(text) == json.dumps(WHOLE, indent=2)


@pytest.mark.parametrize("length", range(0, 90, 7))
def test_truncated_text_is_formatted_without_losing_content(length: int) -> None:
    text = json.dumps(WHOLE, separators=(",", ":"))[:length]

    assert "".join(indent_json(text).split()) == "".join(text.split())


def test_non_json_text_is_indented_as_far_as_possible() -> None:
    assert indent_json("]}<b>") == "]\n}<b>"
