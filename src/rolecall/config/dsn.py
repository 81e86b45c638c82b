"""Reads connection strings as other programs and secret stores write them.

Those of SQLAlchemy name a driver (`postgresql+asyncpg://user:password@host/database?ssl=require`), and those of secret
stores may have quotes, a newline or a byte order mark around them.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from rolecall.config.parsing import InvalidText

EXAMPLE = "postgresql://user:password@host:5432/database"
DRIVER = re.compile(r"^(postgres(?:ql)?)\+\w+://")
# SQLAlchemy passes query parameters to the driver, and asyncpg has its own name for this one.
SSL_OF_ASYNCPG = re.compile(r"(^postgres(?:ql)?\+asyncpg://.*[?&])ssl=")
POSTGRES = re.compile(r"postgres(ql)?://")
SCHEME = re.compile(r"([a-z][a-z0-9+.:-]*)://")
WRONG_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
UNKNOWN_PARAMETER = re.compile(r'invalid URI query parameter: "(\w+)"')
QUOTES = "'\""
ESCAPES = "write the special characters of a password as in a URL, such as %40 for @ and %25 for %"


def read_dsn(text: str) -> str:
    """Return a connection string without the driver of SQLAlchemy, and without quotes and white space around it.

    Raises InvalidText. Its message contains no part of the string that may be a password.
    """
    dsn = without_driver(_without_quotes(text.removeprefix("\ufeff").strip()))
    try:
        parameters = conninfo_to_dict(dsn)
    except ProgrammingError as error:
        # Neither the string nor libpq's message may be shown: both may contain a password.
        raise InvalidText(_problem(dsn, str(error)), shown="(hidden)") from None
    for host in str(parameters.get("host") or "").split(","):
        _require_name(host)
    if not all(not port or port.isdecimal() for port in str(parameters.get("port") or "").split(",")):
        raise InvalidText(f"has a port that is not a number: {ESCAPES}", shown="(hidden)")
    return dsn


def read_dsn_file(text: str) -> str:
    """Return the connection string in a file. Raises InvalidText."""
    try:
        return read_dsn(Path(text).expanduser().read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidText(f"cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    except InvalidText as error:
        raise InvalidText(f"contains text that {error.problem}") from None


def has_password(dsn: str) -> bool:
    """Return whether a connection string contains a password."""
    try:
        return bool(conninfo_to_dict(without_driver(dsn.strip())).get("password"))
    except ProgrammingError:
        return False


def without_driver(url: str) -> str:
    """Return a URL of SQLAlchemy as one of libpq."""
    return DRIVER.sub(r"\1://", SSL_OF_ASYNCPG.sub(r"\1sslmode=", url))


def _without_quotes(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in QUOTES
    return text[1:-1].strip() if is_quoted else text


def _require_name(host: str) -> None:
    if host.startswith(("/", "@")):
        return
    try:
        host.encode("idna")
    except UnicodeError:
        raise InvalidText(f"has a host that is not a host name: {ESCAPES}", shown="(hidden)") from None


def _problem(dsn: str, message: str) -> str:
    """Return the part of a connection string that is wrong, as far as it can be named."""
    scheme = SCHEME.match(dsn)
    if scheme is not None and not POSTGRES.match(dsn):
        return f"starts with {scheme[1]}://, which is not Postgres: the form is {EXAMPLE}"
    if scheme is not None and WRONG_PERCENT.search(dsn):
        return f"has a % that two hexadecimal digits do not follow: {ESCAPES}"
    unknown = UNKNOWN_PARAMETER.match(message)
    # An unescaped @ may be part of a password.
    if unknown is not None and unknown[1] in dict(parse_qsl(urlsplit(dsn).query)) and "@" not in urlsplit(dsn).query:
        return f"has the parameter {unknown[1]}=, which Postgres does not have: remove it"
    return f"is not a Postgres URL such as {EXAMPLE}"
