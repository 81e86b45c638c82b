"""The view that places orders."""

from __future__ import annotations

import json

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from orders.models import Order
from orders.tasks import bill_order


@csrf_exempt
@require_POST
def place_order(request: HttpRequest) -> JsonResponse:
    """Store an order and the task that bills it, in the request's transaction (ATOMIC_REQUESTS)."""
    wanted = json.loads(request.body)
    order = Order(customer=wanted["customer"], email=wanted["email"], pence=wanted["pence"])
    order.save()
    task = bill_order.enqueue(order_id=order.pk)
    order.full_clean()  # if this raises, order and task are rolled back, as with any error
    return JsonResponse({"order": order.pk, "task": task.id}, status=201)
