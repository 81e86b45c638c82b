"""The App that workers are given, `--app rolecall.django.worker:app`: importing this sets Django up."""

from __future__ import annotations

import django
from django.apps import apps

if not apps.ready:
    django.setup()

from rolecall.django.project import program as app

__all__ = ["app"]
