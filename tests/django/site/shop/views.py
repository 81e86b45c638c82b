"""One page."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse

from shop.models import Order
from shop.tasks import send_receipt


@transaction.atomic
def place_order(request: HttpRequest) -> HttpResponse:
    """Place an order. The receipt is sent if and only if the order is committed."""
    order = Order.objects.create(customer=request.GET["customer"])
    send_receipt.enqueue(order_id=order.pk)
    if order.customer == "nobody":
        raise ValueError("nobody orders")
    return HttpResponse(str(order.pk))
