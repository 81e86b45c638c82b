"""A shop that was written for Celery."""

from __future__ import annotations
