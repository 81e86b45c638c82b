"""The part of `celery.utils` that code bases import."""

from __future__ import annotations
