"""How the embedded server is set up: the settings that it starts with, and how long its steps may take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rolecall.db.embedded.errors import InvalidOption

SETTING_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*", re.IGNORECASE)
DECIDED_BY_US = frozenset({"port", "listen_addresses", "unix_socket_directories", "data_directory", "log_directory"})

ALWAYS: Mapping[str, str] = {
    "listen_addresses": "127.0.0.1",
    # the cluster's own folder, where nobody else can listen
    "unix_socket_directories": ".",
    "password_encryption": "scram-sha-256",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "on",
    # mmap lives in the data directory: containers give /dev/shm (posix) no more than 64 MB
    "dynamic_shared_memory_type": "mmap",
    # the owner is called like the engine's schema: without this, a table of one's own would land in it
    "search_path": "public",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    # one file a weekday, overwritten a week later: the log cannot grow for ever
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "postgres-%a.log",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    "log_truncate_on_rotation": "on",
    "log_checkpoints": "off",
    "log_lock_waits": "on",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Settings of the server; whoever starts it decides, whoever joins a running one takes it as it is.

    `extra` holds further Postgres settings by name and wins over everything but the address, the port and the
    folders. Timeouts are in seconds: `start_timeout` includes crash recovery, `stop_timeout` is each shutdown
    mode's share. Raises `InvalidOption`.
    """

    shared_buffers: str = "128MB"
    max_connections: int = 100
    tcp_keepalives_idle: int = 30
    tcp_keepalives_interval: int = 10
    tcp_keepalives_count: int = 3
    client_connection_check_interval: str = "10s"
    start_timeout: float = 120.0
    stop_timeout: float = 30.0
    extra: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.max_connections < 1:
            raise InvalidOption("max_connections", "must be at least 1")
        for name in ("start_timeout", "stop_timeout"):
            if getattr(self, name) <= 0:
                raise InvalidOption(name, "must be more than 0 seconds")
        for name in self.extra:
            _check_extra(name)

    def settings(self) -> dict[str, str]:
        """All Postgres settings but the port."""
        chosen = {
            "shared_buffers": self.shared_buffers,
            "max_connections": str(self.max_connections),
            "tcp_keepalives_idle": str(self.tcp_keepalives_idle),
            "tcp_keepalives_interval": str(self.tcp_keepalives_interval),
            "tcp_keepalives_count": str(self.tcp_keepalives_count),
            "client_connection_check_interval": self.client_connection_check_interval,
        }
        return {**ALWAYS, **chosen, **self.extra}


DEFAULT_OPTIONS = ServerOptions()


def _check_extra(name: str) -> None:
    if not SETTING_NAME.fullmatch(name):
        raise InvalidOption(f"extra[{name!r}]", "is not the name of a Postgres setting")
    if name.lower() in DECIDED_BY_US:
        raise InvalidOption(f"extra[{name!r}]", "is decided by the supervisor")
