"""Alerts for people: an app whose tasks report the problems of the pool by webhook and mail.

    rolecall worker --app rolecall.alerting:app

    check       every 30 seconds: finds changes, and enqueues a message for each receiver in the same transaction
    webhook     posts a message, signed as Standard Webhooks define
    mail        sends a message through an SMTP server

`settings` of `ROLECALL_ALERT_...` name the receivers. Another app can include this one.
"""

from __future__ import annotations

from rolecall.alerting.program import app

__all__ = ["app"]
