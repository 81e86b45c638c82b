"""Hidden values are replaced by a placeholder, restored, and found in text."""

from __future__ import annotations

from typing import Any

import pytest

from rolecall.model.redaction import REDACTED, Redaction, hides, union, without

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
def test_what_is_hidden_is_shown_as_a_sign(part: dict[str, Any], value: object, shown: object) -> None:
    tree = {"properties": {"pin": HIDDEN, "below": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}

    assert of(part, Item=ITEM, Tree=tree).shown({"it": value, "other": 1}) == {"it": shown, "other": 1}


def test_a_schema_that_hides_nothing_says_so() -> None:
    assert hides({"properties": {"a": {"items": HIDDEN}}})
    assert not hides({"properties": {"writeOnly": {"type": "boolean"}}})


def test_a_sign_takes_the_value_that_stands_in_its_place() -> None:
    redaction = of(ITEM)

    kept = redaction.kept({"it": {"n": 2, "pin": REDACTED}}, {"it": {"n": 1, "pin": "x"}})

    assert kept == ({"it": {"n": 2, "pin": "x"}}, None)


def test_a_value_of_its_own_is_not_replaced() -> None:
    assert of(ITEM).kept({"it": {"pin": "new"}}, {"it": {"pin": "x"}}) == ({"it": {"pin": "new"}}, None)


def test_a_sign_without_a_value_is_told_by_its_place() -> None:
    assert of(ITEM).kept({"it": {"pin": REDACTED}}, {"it": {"n": 1}})[1] == ("it", "pin")


@pytest.mark.parametrize("changed", [[{"n": 2}], [{"n": 2}, {"n": 1}], [{"n": 1}, {"n": 2}, {"n": 2}]])
def test_within_a_list_that_changed_nobody_guesses_whose_a_value_was(changed: list[dict[str, Any]]) -> None:
    standing = {"it": [{"n": 1, "pin": "x"}, {"n": 2, "pin": "y"}]}
    redaction = of({"type": "array", "items": ITEM})
    typed = {"it": [{**each, "pin": REDACTED} for each in changed]}

    assert redaction.kept(typed, standing)[1] == ("it", 0, "pin")
    assert redaction.kept(redaction.shown(standing), standing) == (standing, None)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("$.it.pin", (True, True)),
        ("$.it.pin.inside", (True, True)),
        ("$.it", (False, True)),
        ("$", (False, True)),
        ("$.it.n", (False, False)),
        ("$.it['odd", (True, True)),
    ],
)
def test_a_place_is_known_to_be_hidden(place: str, told: tuple[bool, bool]) -> None:
    assert of(ITEM).hides_place(place) == told


def test_secrets_are_found_in_a_text_however_they_are_written_there() -> None:
    secret = 'a "b"\n\\c'
    texts = of(HIDDEN).texts({"it": secret})

    for written in (secret, repr(secret), '{"it": "a \\"b\\"\\n\\\\c"}'):
        assert "b" not in without(texts, f"no {written} yes").replace("[redacted]", "")


def test_the_beginning_of_a_long_secret_is_found_where_a_text_was_cut() -> None:
    secret = "the beginning of a long key" + "x" * 5_000

    assert without([secret], f"cannot load {secret[:4_000]} ...") == "cannot load [redacted] ..."


def test_what_is_short_may_stand_in_a_text_by_chance() -> None:
    assert of({"writeOnly": True}).texts({"it": ["abc", 12, True, None, 1234]}) == ["1234"]


def test_a_secret_that_is_the_sign_does_no_harm() -> None:
    assert without(["redacted"], "it is redacted") == "it is [redacted]"


def test_union_hides_what_either_schema_hides_though_their_definitions_share_a_name() -> None:
    def schema(hidden: str) -> dict[str, Any]:
        item = {"type": "object", "properties": {hidden: {"type": "string", "writeOnly": True}}}
        return {"type": "object", "properties": {"it": {"$ref": "#/$defs/Item"}}, "$defs": {"Item": item}}

    redaction = Redaction(union([schema("a"), None, schema("b")]))

    assert redaction.shown({"it": {"a": "1", "b": "2", "c": "3"}}) == {"it": {"a": REDACTED, "b": REDACTED, "c": "3"}}
