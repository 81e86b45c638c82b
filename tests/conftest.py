"""What every test leaves as it found it."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.brokers import nats_server, redis_server
from tests.hangups import heeded_hangups
from tests.logs import restored_logging
from tests.servers import debian_postgres, pgbouncer

__all__ = [
    "debian_postgres",
    "heeded_hangups",
    "nats_server",
    "pgbouncer",
    "redis_server",
    "restored_logging",
]

# How long an example takes tells of the machine, and nothing about the product.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
