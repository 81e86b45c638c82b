"""The exit codes of errors."""

from __future__ import annotations

import psycopg

from rolecall import ConfigError, DatabaseError, EmbeddedServerError, RolecallError
from storecrawl.catalog import CatalogError
from storecrawl.catalog.normalize import NotAMenu
from storecrawl.demo.processes import KeepsExiting
from storecrawl.egress import RouteError
from storecrawl.payloads import PayloadError

INCOMPLETE = 1
MISUSED = 2
NO_DATABASE = 6
# The first matching class counts.
CODES = (
    (ConfigError, MISUSED),
    ((DatabaseError, EmbeddedServerError, psycopg.Error), NO_DATABASE),
    ((RolecallError, KeepsExiting, CatalogError, PayloadError, NotAMenu, RouteError), INCOMPLETE),
)


def exit_code_of(error: Exception) -> int | None:
    """Return the exit code of an expected error; None for an unexpected one."""
    return next((code for kinds, code in CODES if isinstance(error, kinds)), None)
