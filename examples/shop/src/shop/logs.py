"""Logging as one JSON object per line, for the shop and all libraries; lines from a handler contain its task."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import Processor

from rolecall.telemetry import add_task_fields


def set_up_logging(level: int = logging.INFO) -> None:
    """Make structlog and the logging module write the same format. Call this once per program."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        add_task_fields,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.dict_tracebacks,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
