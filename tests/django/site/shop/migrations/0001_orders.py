"""The first table."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Orders."""

    initial = True
    operations = (
        migrations.CreateModel(
            "Order",
            (
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("customer", models.TextField()),
                ("receipt", models.TextField(default="")),
            ),
        ),
    )
