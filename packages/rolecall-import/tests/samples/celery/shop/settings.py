"""The settings of the shop, as its Django project would have them."""

from __future__ import annotations

CELERY_TIMEZONE = "Europe/Berlin"
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_DEFAULT_QUEUE = "shop"
CELERY_TASK_ROUTES = {"shop.reports.*": {"queue": "reports"}}
CELERY_RESULT_EXPIRES = 86_400
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
