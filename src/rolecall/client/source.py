"""Where a client's database is: given, named by DATABASE_URL, or the embedded server of this machine."""

from __future__ import annotations

from rolecall.config import read_database
from rolecall.db.embedded import EmbeddedServer
from rolecall.db.ours import bring_up_to_date

__all__ = ["Source"]


class Source:
    """Finds the database when it is first needed, and holds on to the embedded server meanwhile."""

    def __init__(self, dsn: str | None, *, pooled: bool | None = None) -> None:
        self._dsn = dsn
        self._pooled = pooled
        self._server: EmbeddedServer | None = None

    def attach(self) -> str:
        """Return the connection string; where nothing is named, start or join the embedded server and migrate it."""
        if self._dsn is not None:
            return self._dsn
        settings = read_database()
        if settings.url is not None:
            return settings.url
        self._server = self._server or EmbeddedServer(settings.data_dir)
        self._server.attach()
        dsn = self._server.dsn()
        bring_up_to_date(dsn)
        return dsn

    def pooled(self) -> bool | None:
        """Say whether a pooler stands before it, by what was given, else by ROLECALL_POOLED; None must find out."""
        return read_database().pooled if self._pooled is None else self._pooled

    def detach(self) -> None:
        """Let go of the embedded server; the last to do so stops it."""
        server, self._server = self._server, None
        if server is not None:
            server.detach()
