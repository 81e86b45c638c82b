"""The addresses of the views."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path
from orders.views import place_order

urlpatterns = [
    path("admin/", admin.site.urls),
    path("orders/", place_order),
]
