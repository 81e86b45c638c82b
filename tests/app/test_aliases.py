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
def test_field_value_is_read_from_the_key(pattern: str | None, key: str | None, value: int | str | None) -> None:
    assert Alias("customer_id", "tenant", pattern).value_in(key) == value


@pytest.mark.parametrize("name", ["", "Customer", "customer-id", "7th"])
def test_invalid_field_name_is_rejected(name: str) -> None:
    with pytest.raises(InvalidDeclaration, match="not a valid field name"):
        App("test").alias(name, "tenant")
    with pytest.raises(InvalidDeclaration, match="not a valid field name"):
        App("test").constant(name, "eu")


@pytest.mark.parametrize("key", ["tenant", "tenant:{}", "{tenant}:{tenant}"])
def test_alias_key_must_have_exactly_one_placeholder(key: str) -> None:
    with pytest.raises(InvalidDeclaration, match="exactly once"):
        App("test").alias("customer_id", "tenant", key=key)


def test_constant_must_be_a_nonempty_string() -> None:
    with pytest.raises(InvalidDeclaration, match="must be a non-empty text"):
        App("test").constant("region", "")


def test_name_has_one_meaning_across_included_apps() -> None:
    app, other = App("test"), App("other")
    app.alias("customer_id", "tenant")
    other.constant("customer_id", "7")

    with pytest.raises(InvalidDeclaration, match="customer_id"):
        app.constant("customer_id", "7")
    with pytest.raises(InvalidDeclaration, match="customer_id"):
        other.alias("customer_id", "tenant")
    with pytest.raises(InvalidDeclaration, match="customer_id"):
        app.include(other)


def test_included_app_contributes_its_field_aliases() -> None:
    app, other = App("test"), App("other")
    other.alias("customer_id", "tenant")
    other.constant("region", "eu")

    app.include(other)

    assert (list(app.aliases), dict(app.constants)) == (["customer_id"], {"region": "eu"})
