"""An order and its invoice."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """A customer's order."""

    customer = models.CharField(max_length=200)
    email = models.EmailField()
    pence = models.PositiveIntegerField()
    placed_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"order {self.pk} of {self.customer}"


class Invoice(models.Model):
    """The only invoice of an order; `mailed_at` is when it was mailed to the customer."""

    order = models.OneToOneField(Order, on_delete=models.PROTECT)
    mailed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"invoice {self.pk}"
