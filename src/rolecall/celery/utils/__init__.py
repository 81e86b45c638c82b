"""What a Celery code base imports from `celery.utils`."""

from __future__ import annotations
