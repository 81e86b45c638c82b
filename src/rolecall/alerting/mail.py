"""Sends messages as mails."""

from __future__ import annotations

from email.message import EmailMessage
from email.utils import formatdate

import aiosmtplib

from rolecall.alerting.messages import Message
from rolecall.config.alerting import MailServer

TIMEOUT_SECONDS = 20.0
SUBJECTS = {"opened": "Problem", "resolved": "Resolved", "test": "Test"}


def mail_of(message: Message, sender: str, receivers: tuple[str, ...]) -> EmailMessage:
    """Write a mail. A repeated mail has the same Message-ID, so that mail programs can show it once."""
    mail = EmailMessage()
    mail["Subject"] = f"[Rolecall] {SUBJECTS[message.change]}: {message.title}"
    mail["From"] = sender
    mail["To"] = ", ".join(receivers)
    mail["Date"] = formatdate(localtime=False)
    mail["Message-ID"] = f"<{message.id}@{sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    since = f"Since {message.since:%Y-%m-%d %H:%M} UTC." if message.since else None
    lines = (message.sentence, message.advice, since, message.url)
    mail.set_content("\n\n".join(line for line in lines if line) + "\n")
    return mail


async def send(mail: EmailMessage, server: MailServer) -> None:
    """Send a mail. Raises the errors of aiosmtplib."""
    await aiosmtplib.send(
        mail,
        hostname=server.host,
        port=server.port,
        username=server.username,
        password=server.password,
        use_tls=server.is_implicit_tls,
        timeout=TIMEOUT_SECONDS,
    )
