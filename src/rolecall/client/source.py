"""The database of a client: the configured one, or the embedded server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rolecall.config import read_database
from rolecall.model.platforms import refuse_windows

if TYPE_CHECKING:
    from rolecall.embedded.server import EmbeddedServer


class Source:
    """Finds the database when it is first needed, and keeps the embedded server running meanwhile."""

    def __init__(self, dsn: str | None, *, pooled: bool | None = None) -> None:
        self._dsn = dsn
        self._pooled = pooled
        self._server: EmbeddedServer | None = None

    def attach(self) -> str:
        """Return the connection string.

        If no database is configured, start or join the embedded server and migrate it.
        """
        if self._dsn is not None:
            return self._dsn
        settings = read_database()
        return self._start(settings.data_dir) if settings.url is None else settings.url

    def _start(self, data_dir: Path) -> str:
        refuse_windows("the embedded server", "name a Postgres by DATABASE_URL")
        # Imported only when needed: these imports are slow, and fail on Windows.
        from rolecall.db.migrator import bring_up_to_date  # noqa: PLC0415
        from rolecall.embedded.server import EmbeddedServer  # noqa: PLC0415

        self._server = self._server or EmbeddedServer(data_dir)
        self._server.attach()
        dsn = self._server.dsn()
        bring_up_to_date(dsn)
        return dsn

    def pooled(self) -> bool | None:
        """Return whether there is a pooler, from the argument or ROLECALL_POOLED; None means that it must be
        detected.
        """
        return read_database().pooled if self._pooled is None else self._pooled

    def detach(self) -> None:
        """Release the embedded server. The last process to do so stops it."""
        server, self._server = self._server, None
        if server is not None:
            server.detach()
