"""The Django app configuration."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks
from django.db.models.signals import post_migrate

from rolecall.django.checks import functions_are_current
from rolecall.django.discovery import OURS, fill
from rolecall.django.schema import bring_functions


class RolecallConfig(AppConfig):
    """Rolecall in a Django project."""

    name = OURS
    label = "rolecall"
    verbose_name = "Rolecall"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Import the project's handlers. Raises the errors of their modules, and ImproperlyConfigured."""
        from rolecall.django.project import app, program  # noqa: PLC0415 - the project's App may need models

        if not program.complete:
            fill(program, app)
            program.complete = True
        post_migrate.connect(bring_functions, sender=self)
        checks.register(functions_are_current, checks.Tags.database)
