"""Mail to customers."""

from __future__ import annotations

import structlog

log = structlog.stdlib.get_logger("shop.mail")


class MailServerAway(Exception):
    """The mail server does not respond at the moment."""


async def send(to: str, subject: str, text: str) -> None:
    """Send a mail. Raises MailServerAway. This shop has no mail server and only logs the mail."""
    await log.ainfo("mail sent", to=to, subject=subject, length=len(text))
