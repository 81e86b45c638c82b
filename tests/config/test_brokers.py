"""Addresses of brokers and their redacted form."""

from __future__ import annotations

import pytest

from rolecall.config import read_settings
from rolecall.config.brokers import broker_address
from rolecall.model.errors import ConfigError


def test_broker_url_is_shown_without_its_password_and_parameters() -> None:
    address = broker_address("rediss://us:secret@cache:6380/2?ssl_ca_certs=ca.pem&prefix=shop")

    assert address.shown == "rediss://cache:6380/2"
    assert address.urls == ("rediss://us:secret@cache:6380/2?ssl_ca_certs=ca.pem",)
    assert address.prefix == "shop"
    assert "secret" not in repr(address)


def test_nats_url_can_name_several_servers() -> None:
    assert broker_address("nats://u:p@one:4222, nats://two:4222").urls == ("nats://u:p@one:4222", "nats://two:4222")


@pytest.mark.parametrize("text", ["redis://:secret@", "kafka://us:secret@host", "redis://:secret@host?prefix=a b"])
def test_invalid_broker_url_is_rejected_without_showing_its_password(text: str) -> None:
    with pytest.raises(ConfigError, match="ROLECALL_NOTIFICATIONS") as refused:
        read_settings({"ROLECALL_NOTIFICATIONS": text})

    assert "secret" not in str(refused.value)
