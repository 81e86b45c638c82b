"""Server-sent events: their encoding, and a response that drops clients that do not read them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from time import monotonic

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Message, Send

from rolecall.service.live import Batch, Stream

HEARTBEAT = 10.0
PATIENCE = 30.0
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

log = logging.getLogger("rolecall.web")


class EventStream(StreamingResponse):
    """Sends events immediately. Drops a client that reads nothing for `patience` seconds."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes], *, patience: float = PATIENCE) -> None:
        super().__init__(events, headers=HEADERS)
        self._patience = patience

    async def stream_response(self, send: Send) -> None:
        async def send_soon(message: Message) -> None:
            async with asyncio.timeout(self._patience):
                await send(message)

        try:
            await super().stream_response(send_soon)
        except TimeoutError:
            log.warning("Dropped a client that read no events for %.0f s", self._patience)


async def events_of(
    stream: Stream, may_stay: Callable[[], Awaitable[bool]], *, heartbeat: float = HEARTBEAT
) -> AsyncIterator[bytes]:
    """Encode the events of a stream, starting with `connected`, with a heartbeat whenever none came for a while.

    A heartbeat is an event, so that a page in a browser notices a silent server. Its id advances the client's position.
    Every `heartbeat` seconds, `may_stay` is called; the stream ends if it returns False.
    """
    yield _encode({"event": "connected", "data": "{}", "id": stream.id})
    ask_at = monotonic() + heartbeat
    while not stream.is_ended:
        batch = await stream.next(max(0.0, ask_at - monotonic()))
        if monotonic() >= ask_at:
            if not await may_stay():
                return
            ask_at = monotonic() + heartbeat
        if not batch.is_empty:
            yield b"".join(_format_event(batch))
        elif not stream.is_ended:
            yield _encode({"event": "heartbeat", "data": "{}", "id": batch.id})


def _format_event(batch: Batch) -> Iterator[bytes]:
    events = list(_events(batch))
    last = len(events) - 1
    for number, (name, data) in enumerate(events):
        text = msgspec.json.encode(data).decode()
        # A client that disconnects before the last event receives the whole batch again.
        yield _encode({"event": name, "data": text, "id": batch.id if number == last else None})


def _encode(fields: Mapping[str, str | None]) -> bytes:
    """Encode an event. A value has no line break, as JSON has none."""
    lines = [f"{name}: {value}\n" for name, value in fields.items() if value is not None]
    return ("".join(lines) + "\n").encode()


def _events(batch: Batch) -> Iterator[tuple[str, object]]:
    if batch.fresh:
        yield "fresh", {}
    if batch.reload:
        yield "reload", {"reason": batch.reload}
    for task in batch.tasks.values():
        data = {"id": task.id, "parent_id": task.parent_id, "role": task.role, "state": task.state}
        yield "task_changed", data
    for role in batch.roles.values():
        yield "role_changed", role
    for tree in batch.trees.values():
        yield "progress", tree
    if batch.stale is not None:
        yield "stale", {"seconds": round(batch.stale, 1)}
