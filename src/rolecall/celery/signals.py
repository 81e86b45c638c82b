"""Celery's signals have no equivalent. Importing one raises ImportError with its replacement."""

from __future__ import annotations

from rolecall.celery.missing import names_of

__getattr__ = names_of("signals")
