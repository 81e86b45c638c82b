"""Receivers of alerts on the loopback interface: a web server and a mail server."""

from __future__ import annotations

import base64
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope

from tests.receivers import Receiver, receiving

SECRET = f"whsec_{base64.b64encode(b'x' * 24).decode()}"


@dataclass
class Mailbox:
    mails: list[EmailMessage] = field(default_factory=list)

    async def handle_DATA(self, _server: object, _session: object, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self.mails.append(BytesParser(policy=default).parsebytes(envelope.content))
        return "250 OK"


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        monkeypatch.setenv("ROLECALL_ALERT_WEBHOOKS", receiver.url)
        monkeypatch.setenv("ROLECALL_ALERT_WEBHOOK_SECRET", SECRET)
        yield receiver


@pytest.fixture
def mailbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mailbox]:
    mailbox = Mailbox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    monkeypatch.setenv("ROLECALL_ALERT_MAIL_TO", "ada@example.org, bob@example.org")
    monkeypatch.setenv("ROLECALL_ALERT_MAIL_SERVER", f"smtp://127.0.0.1:{port}")
    yield mailbox
    controller.stop()
