"""State that every test must leave unchanged."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.brokers import nats_server, redis_server
from tests.hangups import heeded_hangups
from tests.logs import restored_logging
from tests.loops import pytest_configure
from tests.servers import debian_postgres, pgbouncer

__all__ = [
    "debian_postgres",
    "heeded_hangups",
    "nats_server",
    "pgbouncer",
    "pytest_configure",
    "redis_server",
    "restored_logging",
]

# The duration of an example depends on the machine, not on the product.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
