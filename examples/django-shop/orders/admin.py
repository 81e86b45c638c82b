"""Orders in the admin, beside the pool, which brings its own pages."""

from __future__ import annotations

from django.contrib import admin

from orders.models import Invoice, Order

admin.site.register([Order, Invoice])
