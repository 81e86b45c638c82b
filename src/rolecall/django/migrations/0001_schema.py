"""The schema up to this release's last numbered step, and the models that show it.

Each release with a later step adds a migration here, so that `migrate --plan` and `--check` show it.
"""

from __future__ import annotations

from django.db import migrations, models

from rolecall.django.schema import BringSchema


def create_model(model: str, table: str, ordering: str) -> migrations.CreateModel:
    """Return the state of a model without a table. Django compares only its options."""
    return migrations.CreateModel(
        model,
        fields=[("id", models.BigIntegerField(primary_key=True, serialize=False))],
        options={
            "managed": False,
            "db_table": f'"rolecall"."{table}"',
            "default_permissions": ("view",),
            "ordering": (ordering,),
        },
    )


class Migration(migrations.Migration):
    """Applies everything up to this release."""

    initial = True
    atomic = False
    operations = (
        BringSchema("0001_schema"),
        create_model("Task", "all_tasks", "-id"),
        create_model("Schedule", "schedules", "name"),
        create_model("Worker", "all_workers", "-heartbeat_at"),
    )
