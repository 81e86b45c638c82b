"""Settings of the database: its address and how to reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rolecall.config.dsn import read_dsn, read_dsn_file
from rolecall.config.parsing import folder, yes_no_or_auto
from rolecall.config.pools import read_pools
from rolecall.config.setting import Setting, Source

DATABASE_URL = Setting(
    name="DATABASE_URL",
    flag="--database-url",
    form="URL",
    parse=read_dsn,
    meaning="The address of the Postgres to use. Put a password into the variable or a file, not the flag.",
)
DATABASE_URL_FILE = Setting(
    name="DATABASE_URL_FILE",
    flag="--database-url-file",
    form="FILE",
    parse=read_dsn_file,
    meaning="A file with that address.",
)
DATA_DIR = Setting(
    name="ROLECALL_DATA_DIR",
    flag="--data-dir",
    form="DIR",
    default="rolecall-data",
    parse=folder,
    meaning="The folder of the embedded Postgres, if no address is set.",
)
POOLED = Setting(
    name="ROLECALL_POOLED",
    form="yes|no|auto",
    default="auto",
    parse=yes_no_or_auto,
    meaning="Whether a transaction pooler is in front of the database; auto detects it.",
)
LISTEN_URL = Setting(
    name="ROLECALL_LISTEN_URL",
    form="URL",
    parse=read_dsn,
    meaning="The direct address of the database, bypassing a pooler, for notifications. Without it, workers poll.",
)
STANDBY_URL = Setting(
    name="ROLECALL_STANDBY_URL",
    form="URL",
    parse=read_dsn,
    meaning="A replica for the read-only queries of the API and the dashboard.",
)
PG_BIN = Setting(
    name="ROLECALL_PG_BIN",
    form="DIR",
    parse=Path,
    meaning="The folder of the Postgres programs for the embedded server; by default they are searched for.",
)
POOLS = Setting(
    name="ROLECALL_POOLS",
    flag="--pools",
    form="'NAME=URL NAME=URL'",
    parse=read_pools,
    meaning="The pools that `rolecall serve` shows together, instead of the one database. Put passwords into the "
    "variable or a passfile, not the flag.",
)
SETTINGS = (DATABASE_URL, DATABASE_URL_FILE, DATA_DIR, POOLED, LISTEN_URL, STANDBY_URL, POOLS, PG_BIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """The database: `url` if set, otherwise the embedded server in `data_dir`.

    `pooled` is whether a transaction pooler is in front of it; None means to detect that. `listen_url` is then the
    direct address for notifications. `standby_url` is a replica for the read-only queries of the API and the dashboard.
    `pools` are the connection strings of the pools that one server shows together, by their names.
    """

    url: str | None = None
    data_dir: Path = Path("rolecall-data")
    pooled: bool | None = None
    listen_url: str | None = None
    standby_url: str | None = None
    pools: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def embedded(self) -> bool:
        return self.url is None


def read_database_settings(source: Source) -> DatabaseSettings:
    """Read the settings of the database. Raises ConfigError."""
    from_file = source.read(DATABASE_URL_FILE, None)
    # A flag overrides a variable, also between these two settings.
    names_file = source.flags.get(DATABASE_URL_FILE.name) is not None and source.flags.get(DATABASE_URL.name) is None
    return DatabaseSettings(
        url=from_file if names_file else source.read(DATABASE_URL, from_file),
        data_dir=source.read(DATA_DIR, DatabaseSettings().data_dir),
        pooled=source.read(POOLED, None),
        listen_url=source.read(LISTEN_URL, None),
        standby_url=source.read(STANDBY_URL, None),
        pools=source.read(POOLS, {}),
    )
