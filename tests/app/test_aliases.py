"""Field aliases: valid names, and the field behind a key."""

from __future__ import annotations

import pytest

from rolecall import App, InvalidDeclaration
from rolecall.app.aliases import Alias


@pytest.mark.parametrize(
    ("pattern", "key", "value"),
    [
        ("tenant:{tenant}", "tenant:7", 7),
        ("tenant:{tenant}", "tenant:acme", "acme"),
        ("tenant:{tenant}", "tenant:", None),
        ("tenant:{tenant}", "shop:7", None),
        ("t:{tenant}:eu", "t:7:eu", 7),
        ("t:{tenant}:eu", "t:7:us", None),
        ("tenant:{tenant}", None, None),
        (None, "tenant:7", None),
    ],
)
def test_a_key_tells_the_field(pattern: str | None, key: str | None, value: int | str | None) -> None:
    assert Alias("customer_id", "tenant", pattern).value_in(key) == value


@pytest.mark.parametrize("name", ["", "Customer", "customer-id", "7th"])
def test_what_is_no_name_of_a_field_is_refused(name: str) -> None:
    with pytest.raises(InvalidDeclaration, match="not a valid field name"):
        App("test").alias(name, "tenant")
    with pytest.raises(InvalidDeclaration, match="not a valid field name"):
        App("test").constant(name, "eu")


@pytest.mark.parametrize("key", ["tenant", "tenant:{}", "{tenant}:{tenant}"])
def test_a_key_has_one_place_for_the_value(key: str) -> None:
    with pytest.raises(InvalidDeclaration, match="exactly once"):
        App("test").alias("customer_id", "tenant", key=key)


def test_a_constant_is_a_text() -> None:
    with pytest.raises(InvalidDeclaration, match="must be a non-empty text"):
        App("test").constant("region", "")


def test_a_name_stands_for_one_thing_also_in_what_is_included() -> None:
    app, other = App("test"), App("other")
    app.alias("customer_id", "tenant")
    other.constant("customer_id", "7")

    with pytest.raises(InvalidDeclaration, match="customer_id"):
        app.constant("customer_id", "7")
    with pytest.raises(InvalidDeclaration, match="customer_id"):
        other.alias("customer_id", "tenant")
    with pytest.raises(InvalidDeclaration, match="customer_id"):
        app.include(other)


def test_an_included_app_brings_its_second_names() -> None:
    app, other = App("test"), App("other")
    other.alias("customer_id", "tenant")
    other.constant("region", "eu")

    app.include(other)

    assert (list(app.aliases), dict(app.constants)) == (["customer_id"], {"region": "eu"})
