"""The logger of a module of tasks: its lines carry task, handler and attempt as all lines of handlers do."""

from __future__ import annotations

import logging

__all__ = ["get_task_logger"]


def get_task_logger(name: str) -> logging.Logger:
    """Return the logger of that name."""
    return logging.getLogger(name)
