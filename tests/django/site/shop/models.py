"""The tables of the shop."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """A customer's order."""

    customer = models.TextField()
    receipt = models.TextField(default="")

    def __str__(self) -> str:
        return f"order {self.pk}"
