"""The Redis of the handoff, from our variable or from those of the third system."""

from __future__ import annotations

import pytest

from rolecall.config import read_settings
from rolecall.config.handoff import HandoffKind
from rolecall.model.errors import ConfigError


def test_handoff_is_off_without_redis() -> None:
    assert not read_settings({}).handoff.on


def test_one_url_applies_to_both_bands() -> None:
    handoff = read_settings({"ROLECALL_REDIS_URL": "rediss://:secret@cache/1"}).handoff
    assert handoff.low == handoff.high == "rediss://:secret@cache/1"
    assert handoff.on
    assert "secret" not in repr(handoff)


def test_each_band_can_have_its_own_host() -> None:
    handoff = read_settings(
        {"REDIS_HOST_LOW": "low", "REDIS_HOST_HIGH": "high", "REDIS_PORT_HIGH": "6380", "REDIS_PASSWORD": "a/b"}
    ).handoff
    assert (handoff.low, handoff.high) == ("redis://:a%2Fb@low:6379/0", "redis://:a%2Fb@high:6380/0")


def test_single_host_applies_to_both_bands() -> None:
    handoff = read_settings({"REDIS_HOST_HIGH": "high"}).handoff
    assert handoff.low == handoff.high == "redis://high:6379/0"


def test_handoff_kind_can_be_chosen_and_handoff_disabled() -> None:
    wanted = {"ROLECALL_REDIS_URL": "redis://cache", "ROLECALL_HANDOFF": "lists"}
    assert read_settings(wanted).handoff.kind is HandoffKind.LISTS
    assert not read_settings(wanted | {"ROLECALL_HANDOFF": "off"}).handoff.on


@pytest.mark.parametrize(
    ("variable", "text"),
    [("ROLECALL_REDIS_URL", "http://:geheim@cache"), ("ROLECALL_HANDOFF", "fast"), ("REDIS_PORT_LOW", "0")],
)
def test_invalid_setting_is_rejected_with_its_variable_name(variable: str, text: str) -> None:
    with pytest.raises(ConfigError, match=variable) as refused:
        read_settings({variable: text})
    assert "geheim" not in str(refused.value)
