"""Receivers of alerts on the loopback interface: a web server and a mail server."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default

import pytest
import uvicorn
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

SECRET = f"whsec_{base64.b64encode(b'x' * 24).decode()}"


@dataclass
class Receiver:
    """A webhook. It answers with the given statuses first, then with 204."""

    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    posts: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    async def answer(self, request: Request) -> Response:
        self.posts.append((dict(request.headers), await request.body()))
        if not self.statuses:
            return Response(status_code=204)
        return Response("not now", self.statuses.pop(0), self.headers)


@dataclass
class Mailbox:
    mails: list[EmailMessage] = field(default_factory=list)

    async def handle_DATA(self, _server: object, _session: object, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self.mails.append(BytesParser(policy=default).parsebytes(envelope.content))
        return "250 OK"


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    application = Starlette(routes=[Route("/hook", receiver.answer, methods=["POST"])])
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application, log_level="warning"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    receiver.url = f"http://127.0.0.1:{listener.getsockname()[1]}/hook"
    monkeypatch.setenv("ROLECALL_ALERT_WEBHOOKS", receiver.url)
    monkeypatch.setenv("ROLECALL_ALERT_WEBHOOK_SECRET", SECRET)
    yield receiver
    server.should_exit = True
    await serving


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
