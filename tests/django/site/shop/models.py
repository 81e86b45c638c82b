"""What is sold."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """An order of a customer's."""

    customer = models.TextField()
    receipt = models.TextField(default="")

    def __str__(self) -> str:
        return f"order {self.pk}"
