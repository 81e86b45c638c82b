"""Orders and invoices."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

ID = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    """The first tables."""

    initial = True
    operations = (
        migrations.CreateModel(
            "Order",
            [
                ("id", ID),
                ("customer", models.CharField(max_length=200)),
                ("email", models.EmailField(max_length=254)),
                ("pence", models.PositiveIntegerField()),
                ("placed_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            "Invoice",
            [
                ("id", ID),
                ("mailed_at", models.DateTimeField(null=True)),
                (
                    "order",
                    models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, to="orders.order"),
                ),
            ],
        ),
    )
