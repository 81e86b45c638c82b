"""The worker's program: `rolecall worker --app shop.worker:app`."""

from __future__ import annotations

from shop.logs import set_up_logging
from shop.tasks import app

__all__ = ["app"]

set_up_logging()
