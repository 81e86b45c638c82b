"""The handlers. Rolecall finds them here, as in the `tasks` module of every installed app."""

from __future__ import annotations

from datetime import timedelta

from django.core.mail import send_mail
from django.utils import timezone

from orders.models import Invoice, Order
from rolecall import Context
from rolecall.django import app

app.role("billing", max_attempts=10, timeout=timedelta(minutes=1))


@app.task(role="billing", key="order:{order_id}")
def bill_order(ctx: Context, order_id: int) -> int:
    """Write the invoice of an order, only once even if the task is retried, and enqueue its mail."""
    order = Order.objects.get(pk=order_id)
    invoice, _ = Invoice.objects.get_or_create(order=order)
    ctx.follow_up(mail_invoice.task(invoice_id=invoice.pk))
    return int(invoice.pk)


@app.task(role="mail")
def mail_invoice(invoice_id: int) -> None:
    """Mail an invoice that has not been mailed yet."""
    invoice = Invoice.objects.select_related("order").get(pk=invoice_id)
    if invoice.mailed_at is None:
        send_mail(
            f"Invoice {invoice.pk}",
            f"Dear {invoice.order.customer}, please pay {invoice.order.pence / 100:.2f} GBP.",
            None,
            [invoice.order.email],
        )
        invoice.mailed_at = timezone.now()
        invoice.save(update_fields=["mailed_at"])


@app.task(role="mail")
def report_sales() -> dict[str, int]:
    """Count the orders of the last day."""
    orders = Order.objects.filter(placed_at__gt=timezone.now() - timedelta(days=1))
    return {"orders": orders.count(), "pence": sum(orders.values_list("pence", flat=True))}


app.schedule("report sales", report_sales, cron="0 7 * * *", zone="Europe/London")
