"""Redacted values are replaced by a placeholder, restored, and found in text."""

from __future__ import annotations

from typing import Any

import pytest

from rolecall.model.redaction import REDACTED, Redaction, hides, redact_text, union

HIDDEN = {"type": "string", "writeOnly": True}
ITEM = {"type": "object", "properties": {"n": {"type": "integer"}, "pin": HIDDEN}}


def of(part: dict[str, Any], **definitions: Any) -> Redaction:
    return Redaction({"type": "object", "properties": {"it": part}, "$defs": definitions})


@pytest.mark.parametrize(
    ("part", "value", "shown"),
    [
        (HIDDEN, "x", REDACTED),
        (HIDDEN, None, REDACTED),
        ({"anyOf": [HIDDEN, {"type": "null"}]}, "x", REDACTED),
        ({"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "integer"}]}, {"n": 1, "pin": "x"}, {"n": 1, "pin": REDACTED}),
        ({"$ref": "#/$defs/Item", "writeOnly": True}, {"n": 1}, REDACTED),
        ({"type": "array", "items": ITEM}, [{"pin": "x"}, {"n": 1}], [{"pin": REDACTED}, {"n": 1}]),
        ({"type": "array", "prefixItems": [{}, HIDDEN], "items": False}, [1, "x"], [1, REDACTED]),
        ({"additionalProperties": HIDDEN, "properties": {"a": {}}}, {"a": 1, "b": 2}, {"a": 1, "b": REDACTED}),
        ({"patternProperties": {"^(?:p)$": HIDDEN}}, {"p": 1, "pp": 2}, {"p": REDACTED, "pp": 2}),
        ({"$ref": "#/$defs/Tree"}, {"below": [{"pin": 1, "below": []}]}, {"below": [{"pin": REDACTED, "below": []}]}),
        ({"type": "string"}, "x", "x"),
    ],
)
def test_hidden_value_is_shown_as_redacted(part: dict[str, Any], value: object, shown: object) -> None:
    tree = {"properties": {"pin": HIDDEN, "below": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}

    assert of(part, Item=ITEM, Tree=tree).redact({"it": value, "other": 1}) == {"it": shown, "other": 1}


def test_schema_reports_whether_it_hides_anything() -> None:
    assert hides({"properties": {"a": {"items": HIDDEN}}})
    assert not hides({"properties": {"writeOnly": {"type": "boolean"}}})


def test_redacted_placeholder_is_replaced_by_the_stored_value() -> None:
    redaction = of(ITEM)

    kept = redaction.restore({"it": {"n": 2, "pin": REDACTED}}, {"it": {"n": 1, "pin": "x"}})

    assert kept == ({"it": {"n": 2, "pin": "x"}}, None)


def test_new_value_is_not_replaced_by_the_stored_value() -> None:
    assert of(ITEM).restore({"it": {"pin": "new"}}, {"it": {"pin": "x"}}) == ({"it": {"pin": "new"}}, None)


def test_placeholder_without_a_stored_value_is_reported_with_its_position() -> None:
    assert of(ITEM).restore({"it": {"pin": REDACTED}}, {"it": {"n": 1}})[1] == ("it", "pin")


@pytest.mark.parametrize("changed", [[{"n": 2}], [{"n": 2}, {"n": 1}], [{"n": 1}, {"n": 2}, {"n": 2}]])
def test_placeholders_in_a_changed_list_are_not_matched_to_stored_values(changed: list[dict[str, Any]]) -> None:
    standing = {"it": [{"n": 1, "pin": "x"}, {"n": 2, "pin": "y"}]}
    redaction = of({"type": "array", "items": ITEM})
    typed = {"it": [{**each, "pin": REDACTED} for each in changed]}

    assert redaction.restore(typed, standing)[1] == ("it", 0, "pin")
    assert redaction.restore(redaction.redact(standing), standing) == (standing, None)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("$.it.pin", (True, True)),
        ("$.it.pin.inside", (True, True)),
        ("$.it", (False, True)),
        ("$", (False, True)),
        ("$.it.n", (False, False)),
        ("$.it['odd", (True, True)),
    ],
)
def test_hidden_position_is_recognized(place: str, expected: tuple[bool, bool]) -> None:
    assert of(ITEM).hides_place(place) == expected


def test_secrets_are_redacted_in_text_in_any_notation() -> None:
    secret = 'a "b"\n\\c'
    texts = of(HIDDEN).hidden_texts({"it": secret})

    for written in (secret, repr(secret), '{"it": "a \\"b\\"\\n\\\\c"}'):
        assert "b" not in redact_text(texts, f"no {written} yes").replace("[redacted]", "")


def test_prefix_of_a_long_secret_is_redacted_where_text_was_truncated() -> None:
    secret = "the beginning of a long key" + "x" * 5_000

    assert redact_text([secret], f"cannot load {secret[:4_000]} ...") == "cannot load [redacted] ..."


def test_short_values_are_not_redacted_in_text() -> None:
    assert of({"writeOnly": True}).hidden_texts({"it": ["abc", 12, True, None, 1234]}) == ["1234"]


def test_secret_equal_to_the_placeholder_is_redacted_once() -> None:
    assert redact_text(["redacted"], "it is redacted") == "it is [redacted]"


def test_union_hides_fields_of_both_schemas_despite_equal_definition_names() -> None:
    def schema(hidden: str) -> dict[str, Any]:
        item = {"type": "object", "properties": {hidden: {"type": "string", "writeOnly": True}}}
        return {"type": "object", "properties": {"it": {"$ref": "#/$defs/Item"}}, "$defs": {"Item": item}}

    redaction = Redaction(union([schema("a"), None, schema("b")]))

    assert redaction.redact({"it": {"a": "1", "b": "2", "c": "3"}}) == {"it": {"a": REDACTED, "b": REDACTED, "c": "3"}}
