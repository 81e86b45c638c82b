"""Orders in the admin. The pool has its own pages there."""

from __future__ import annotations

from django.contrib import admin

from orders.models import Invoice, Order

admin.site.register([Order, Invoice])
