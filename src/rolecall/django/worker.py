"""The App for workers, `--app rolecall.django.worker:app`. Importing this module sets up Django."""

from __future__ import annotations

import django
from django.apps import apps

if not apps.ready:
    django.setup()

from rolecall.django.project import program as app

__all__ = ["app"]
