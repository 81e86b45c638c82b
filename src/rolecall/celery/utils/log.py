"""Celery's task loggers. Their records contain task, handler and attempt, like all records of handlers."""

from __future__ import annotations

import logging


def get_task_logger(name: str) -> logging.Logger:
    """Return the logger with this name."""
    return logging.getLogger(name)
