"""What an error is to whoever typed a command: the code that it ends with."""

from __future__ import annotations

import psycopg

from rolecall import ConfigError, DatabaseError, EmbeddedServerError, RolecallError
from storecrawl.catalog import CatalogError
from storecrawl.catalog.normalize import NotAMenu
from storecrawl.demo.processes import KeepsDying
from storecrawl.egress import RouteError
from storecrawl.payloads import PayloadError

INCOMPLETE = 1
MISUSED = 2
NO_DATABASE = 6
# The first that fits counts.
CODES = (
    (ConfigError, MISUSED),
    ((DatabaseError, EmbeddedServerError, psycopg.Error), NO_DATABASE),
    ((RolecallError, KeepsDying, CatalogError, PayloadError, NotAMenu, RouteError), INCOMPLETE),
)


def exit_code_of(error: Exception) -> int | None:
    """The exit code of an error that has a sentence for people; None for one that nobody foresaw."""
    return next((code for kinds, code in CODES if isinstance(error, kinds)), None)
