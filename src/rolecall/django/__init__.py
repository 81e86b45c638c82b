"""The Django integration: `INSTALLED_APPS = [..., "rolecall.django"]`.

    # shop/tasks.py
    from rolecall.django import app

    @app.task(role="mail")
    def send_receipt(order_id: int) -> None: ...

    # shop/views.py: the task commits or rolls back with the view's transaction
    send_receipt.enqueue(order_id=order.pk)

`app` is the project's App, by default that of this package; the setting ROLECALL can name another. `client` uses
Django's own connection. `manage.py migrate` creates the schema. `manage.py rolecall worker` is the `rolecall` command
with the project's App and database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolecall.extras import require
from rolecall.model.lazy import lazy_names

require("django")

if TYPE_CHECKING:
    from rolecall.django.project import app, client
else:
    # Lazy, because settings cannot be read yet when Django imports the package.
    __getattr__, __dir__ = lazy_names(__name__, {"rolecall.django.project": ("app", "client")})

__all__ = ["app", "client"]
