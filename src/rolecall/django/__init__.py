"""The app for Django: `INSTALLED_APPS = [..., "rolecall.django"]`.

    # shop/tasks.py
    from rolecall.django import app

    @app.task(role="mail")
    def send_receipt(order_id: int) -> None: ...

    # shop/views.py, where the task stands and falls with the transaction of the view
    send_receipt.enqueue(order_id=order.pk)

`app` is the project's App: that of this package, or the one that the setting ROLECALL names. `client` runs each call
on Django's own connection. `manage.py migrate` brings the schema, and `manage.py rolecall worker` is the `rolecall`
command with the project and its database filled in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolecall.model.lazy import lazy_names

if TYPE_CHECKING:
    from rolecall.django.project import app, client
else:
    # Settings are read with the first name that is asked for, and not when Django imports the package.
    __getattr__, __dir__ = lazy_names(__name__, {"rolecall.django.project": ("app", "client")})

__all__ = ["app", "client"]
