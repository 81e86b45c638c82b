"""What every test leaves as it found it."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

from tests.logs import restored_logging
from tests.servers import debian_postgres, pgbouncer

__all__ = ["debian_postgres", "pgbouncer", "restored_logging"]

# How long an example takes tells of the machine, and nothing about the product.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# Under nohup it is ignored, and would be by every command that a test starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
