"""A proxy that can lose the server's answers, or delay the statements of its clients."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from psycopg.conninfo import conninfo_to_dict, make_conninfo

HOST = "127.0.0.1"
CHUNK = 65_536


@dataclass(slots=True, eq=False)
class Link:
    """A relayed connection. A muted one relays requests only, and a doomed one is cut at the next answer.

    One with `delay` relays nothing before that event: then everything, even if its client has closed it meanwhile.
    """

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    muted: bool = False
    doomed: bool = False
    delay: asyncio.Event | None = None
    unanswered: bytes = b""

    def cut(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()


class Delay:
    """A delay of the next request that matches `question`."""

    def __init__(self, question: re.Pattern[bytes], loop: asyncio.AbstractEventLoop) -> None:
        self.question = question
        self.over = asyncio.Event()
        self._loop = loop

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self.over.set)


class Proxy:
    """Relays connections in its own thread. Connect to `dsn` to use it."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        where = conninfo_to_dict(dsn)
        self._host, self._port = str(where["host"]), int(where["port"] or 0)
        self._loop = asyncio.new_event_loop()
        self._links: set[Link] = set()
        self._fatal: bytes | None = None
        self._holds: bytes | None = None
        self._delays: Delay | None = None
        self._refuses = False
        self.cut = threading.Event()
        self.held = threading.Event()
        self._server: asyncio.Server | None = None

    @property
    def dsn(self) -> str:
        assert self._server is not None, "dsn is available only while the proxy is relaying"
        return make_conninfo(self._dsn, host=HOST, port=self._server.sockets[0].getsockname()[1])

    @contextmanager
    def relaying(self) -> Iterator[Proxy]:
        """Relay during the block. At its end, every connection is cut."""
        thread = threading.Thread(target=self._loop.run_forever, name="proxy")
        thread.start()
        try:
            listening = asyncio.start_server(self._relay, HOST, 0)
            self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    def lose_answers(self, seconds: float) -> int:
        """Drop all answers on the open connections for some seconds, then cut them. Return their number."""
        links = list(self._links)
        for link in links:
            link.muted = True
        self._loop.call_soon_threadsafe(self._loop.call_later, seconds, _cut_all, links)
        return len(links)

    def delay_request(self, question: re.Pattern[bytes]) -> Delay:
        """Stop relaying the connection of the next request that matches, until the returned delay is over."""
        self._delays = Delay(question, self._loop)
        return self._delays

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Cut every connection, and refuse new ones during the block."""
        self._refuses = True
        self._loop.call_soon_threadsafe(_cut_all, list(self._links))
        try:
            yield
        finally:
            self._refuses = False

    def lose_the_answer_to(self, question: bytes) -> None:
        """Relay the next request with this text, and cut its connection instead of relaying the answer."""
        self._fatal = question

    def hold_the_answer_to(self, question: bytes) -> None:
        """Relay the next request with this text, and hold back all answers of its connection."""
        self._holds = question

    def let_answers_go(self) -> None:
        """Relay the answers that were held back."""
        for link in list(self._links):
            self._loop.call_soon_threadsafe(_bring, link)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), contextlib.suppress(OSError):
            if self._refuses:
                writer.transport.abort()
                return
            answers, server = await self._reach()
            link = Link(writer, server)
            self._links.add(link)
            with closing(server):
                await asyncio.gather(self._ask(reader, link), self._answer(answers, link))
            self._links.discard(link)

    async def _reach(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._host.startswith("/"):
            return await asyncio.open_unix_connection(f"{self._host}/.s.PGSQL.{self._port}")
        return await asyncio.open_connection(self._host, self._port)

    async def _ask(self, questions: asyncio.StreamReader, link: Link) -> None:
        with contextlib.suppress(OSError):
            while data := await questions.read(CHUNK):
                self._note(data, link)
                if link.delay is not None:
                    await link.delay.wait()
                link.server.write(data)
                await link.server.drain()
        link.server.close()

    def _note(self, question: bytes, link: Link) -> None:
        if self._fatal is not None and self._fatal in question:
            self._fatal, link.doomed = None, True
        elif self._holds is not None and self._holds in question:
            self._holds, link.muted = None, True
            self.held.set()
        elif self._delays is not None and self._delays.question.search(question):
            link.delay, self._delays = self._delays.over, None

    async def _answer(self, answers: asyncio.StreamReader, link: Link) -> None:
        with contextlib.suppress(OSError):
            while data := await answers.read(CHUNK):
                if link.doomed:
                    link.cut()
                    self.cut.set()
                elif link.muted:
                    link.unanswered += data
                else:
                    link.client.write(data)
                    await link.client.drain()
        if not link.muted:
            link.client.close()

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        _cut_all(list(self._links))
        relays = asyncio.all_tasks() - {asyncio.current_task()}
        for relay in relays:
            relay.cancel()
        await asyncio.gather(*relays, return_exceptions=True)
        await asyncio.sleep(0)  # a transport closes its socket in the next iteration of the loop


def _bring(link: Link) -> None:
    link.muted = False
    link.client.write(link.unanswered)
    link.unanswered = b""


def _cut_all(links: list[Link]) -> None:
    for link in links:
        link.cut()
