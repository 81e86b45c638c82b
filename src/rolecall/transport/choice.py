"""Creates the transport that a setting names. The packages of a broker are needed only if it is named."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from rolecall.config.brokers import NATS, WORDS, BrokerAddress, broker_address
from rolecall.config.parsing import InvalidText
from rolecall.extras import require
from rolecall.model.errors import ConfigError
from rolecall.transport.in_process import THIS_PROCESS, Silence
from rolecall.transport.transport import Transport

POSTGRES = "postgres"


def choose(notifications: str | Transport, postgres: Transport) -> Transport:
    """Return the transport: the given one, or that named by the text of the setting.

    Raises ConfigError for an unknown name, and if the packages of a broker are not installed.
    """
    if not isinstance(notifications, str):
        return notifications
    match parse_notifications(notifications):
        case BrokerAddress() as address:
            return broker(address)
        case "poll":
            return Silence()
        case "in-process":
            return THIS_PROCESS
        case _:
            return postgres


def parse_notifications(notifications: str | Transport) -> str | BrokerAddress | Transport:
    """Return what a text names: a keyword or a broker. Raises ConfigError for anything else."""
    if not isinstance(notifications, str) or notifications in WORDS:
        return notifications
    try:
        return broker_address(notifications)
    except InvalidText as error:
        shown = notifications if error.shown is None else error.shown
        raise ConfigError(f"{shown!r} {error.problem}", variable="notifications", value=shown) from None


def broker(address: BrokerAddress) -> Transport:
    """Return the transport of a broker. Raises ConfigError if its packages are not installed."""
    package, kind = ("nats", "NatsTransport") if address.scheme in NATS else ("redis", "RedisTransport")
    require(package, f"notifications through {address.shown} need")
    try:
        return cast("Transport", getattr(import_module(f"rolecall.transport.{package}"), kind)(address))
    except ValueError as error:
        raise ConfigError(f"{address.shown}: {error}", variable="notifications", value=address.shown) from None
