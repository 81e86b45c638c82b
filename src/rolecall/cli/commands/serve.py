"""`rolecall serve`: the HTTP API, alone or next to the workers of `rolecall up`."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from socket import socket
from typing import Annotated

from typer import Option

from rolecall.app import App
from rolecall.cli.commands.worker import announce, command_line, secrets_of
from rolecall.cli.exits import Terminated
from rolecall.cli.locate import load_app
from rolecall.cli.options import ACCESS, DATABASE, LOGGING
from rolecall.cli.shell import Shell
from rolecall.cli.sockets import adopt, is_private, listen, url_of
from rolecall.cli.web import load_server
from rolecall.config import AccessSettings, AuthMode, LogFormat
from rolecall.config.parsing import HIGHEST_PORT
from rolecall.extras import is_installed, missing_extra, require
from rolecall.model.errors import ConfigError, RolecallError
from rolecall.model.start_up import without_collections
from rolecall.service.access import TOKEN_VARIABLE, ensure_token, mode_for
from rolecall.worker.signals import end_after_parent
from rolecall.worker.supervisor import Command

AppReference = Annotated[str | None, Option("--app", metavar="MODULE:APP", help="The App whose tasks are served.")]
Host = Annotated[str | None, Option(help="The address to listen on, default 127.0.0.1. [ROLECALL_HTTP]")]
Port = Annotated[
    int | None, Option(min=0, max=HIGHEST_PORT, help="The port, default 8321 or any free one. [ROLECALL_HTTP]")
]
Descriptor = Annotated[int | None, Option("--fd", hidden=True, help="An open socket.")]
Parent = Annotated[int | None, Option("--parent", hidden=True, help="The process to end after.")]
# Seconds between SIGTERM and SIGKILL when the parent ends. The server itself takes at most ten.
GRACE = 15.0

# Its clients used servers that signed tokens. Settings for that may still be in the environment.
OWN_TASKS = "rolecall.web.own_tasks:router"
log = logging.getLogger("rolecall.cli")


def serve(  # sizes: one option each
    shell: Shell,
    *,
    app: AppReference = None,
    host: Host = None,
    port: Port = None,
    fd: Descriptor = None,
    parent: Parent = None,
) -> None:
    if parent is not None:
        end_after_parent(parent, GRACE)
    try:
        with without_collections():
            server = load_server()
        loaded = load_app(app) if app else App("rolecall")
        pools = shell.settings.database.pools
        # The server of `rolecall up` serves the database of its workers.
        if pools and fd is None:
            with _listener(shell, host, port, fd) as listener:
                access = _access_to_pools(shell, pools, listener)
                _warn_of_ignored(access, loaded)
                _print_addresses(shell, listener, access)
                _announce_pools(shell, _facts(app, listener, access), tuple(pools))
                server.serve_pools(pools, loaded, replace(shell.settings, access=access), listener)
            return
        with (
            shell.ready_database(migrations=loaded.migrations) as dsn,
            _listener(shell, host, port, fd) as listener,
        ):
            access = resolve_access(shell, dsn, listener)
            _warn_of_ignored(access, loaded)
            if fd is None:
                _print_addresses(shell, listener, access)
                announce(shell, _facts(app, listener, access))
            server.serve(dsn, loaded, replace(shell.settings, access=access), listener)
    except Terminated:
        return


def _warn_of_ignored(access: AccessSettings, app: App) -> None:
    if access.ignored and any(mount.source == OWN_TASKS for mount in app.mounts):
        log.warning("Ignored: %s. Sessions are stored, so there are no signed tokens", ", ".join(access.ignored))


def _facts(app: str | None, listener: socket, access: AccessSettings) -> dict[str, object]:
    return {"app": app, "http": url_of(listener), "token_file": _token_file(access)}


@dataclass(frozen=True, slots=True)
class BesideWorkers:
    """The address of the API and the command that serves it, or neither if it is off."""

    url: str | None = None
    token_file: str | None = None
    commands: Sequence[Command] = ()


@contextmanager
def serve_beside_workers(
    shell: Shell, dsn: str, reference: str | None, descriptor: int | None = None
) -> Iterator[BesideWorkers]:
    """Open the API's socket, or take it over. It stays open while the serving process is restarted."""
    http = shell.settings.http
    if http.asked_for:
        require("web")
    can_serve = is_installed("web")
    if http.enabled and not can_serve:
        log.warning("No API and no dashboard: %s", missing_extra("web"))
    if not (http.enabled and can_serve):
        yield BesideWorkers()
        return
    with listen(http) if descriptor is None else adopt(descriptor) as listener:
        try:
            access = resolve_access(shell, dsn, listener)
        except ConfigError as error:
            if http.asked_for or error.variable != TOKEN_VARIABLE:
                raise
            log.warning("The API is not served: %s", error)
            yield BesideWorkers()
            return
        _print_addresses(shell, listener, access)
        number = listener.fileno()
        words = command_line(shell, "serve", reference, [*ACCESS, *DATABASE, *LOGGING])
        tied = [*words, "--fd", str(number), "--parent", str(os.getpid())]
        server = Command(name="The API", arguments=tied, environment=secrets_of(shell), descriptors=(number,))
        yield BesideWorkers(url_of(listener), _token_file(access), [server])


def resolve_access(shell: Shell, dsn: str, listener: socket) -> AccessSettings:
    """Return the access settings with the mode that applies, and with the local token where that mode uses it.

    Raises ConfigError if a network address has no authentication, and if the token cannot be stored.
    """
    access = _access_in_mode(shell, listener)
    if not is_private(listener):
        _require_credentials(shell, dsn)
    return access


def _access_to_pools(shell: Shell, pools: Mapping[str, str], listener: socket) -> AccessSettings:
    """Do the same for several pools. A pool that nobody can log in to, or that is away, only logs a warning."""
    access = _access_in_mode(shell, listener)
    if is_private(listener):
        return access
    for name, dsn in pools.items():
        try:
            _require_credentials(shell, dsn)
        except RolecallError as error:
            log.warning("The pool %s: %s", name, error)
    return access


def _require_credentials(shell: Shell, dsn: str) -> None:
    shell.ask(dsn, lambda services: services.startup_guard.require_credentials())


def _access_in_mode(shell: Shell, listener: socket) -> AccessSettings:
    access = shell.settings.access
    mode = mode_for(access.auth, private=is_private(listener), as_root=os.geteuid() == 0)
    token = ensure_token(access.token_file) if mode is AuthMode.token and access.token_file else None
    return replace(access, auth=mode, token=token)


def _announce_pools(shell: Shell, facts: Mapping[str, object], names: Sequence[str]) -> None:
    shell.show({**facts, "pools": names}, lambda: log.info("Serving the pools %s", ", ".join(names)))
    sys.stdout.flush()


def _print_addresses(shell: Shell, listener: socket, access: AccessSettings) -> None:
    """Log the address of the API. The token itself is shown only on a terminal, because logs have other readers."""
    url = url_of(listener)
    if access.token is None:
        log.info("The API is served at %s", url)
    elif sys.stderr.isatty() and shell.settings.log.format is LogFormat.text:
        log.info("The API is served at %s/enter?token=%s", url, access.token)
    else:
        log.info("The API is served at %s, with the token in %s", url, _token_file(access))
    if access.auth is AuthMode.off:
        log.warning("No authentication (--auth off): every user of this machine has full access")
    if not is_private(listener) and not access.forwarded_by:
        log.warning(
            "Keys and passwords are sent to %s in plain HTTP: put a TLS proxy in front of it, and set "
            "ROLECALL_FORWARDED_BY to its address",
            url,
        )


def _token_file(access: AccessSettings) -> str | None:
    return str(access.token_file.expanduser().absolute()) if access.token and access.token_file else None


def _listener(shell: Shell, host: str | None, port: int | None, fd: int | None) -> socket:
    if fd is not None:
        return adopt(fd)
    http = shell.settings.http
    return listen(replace(http, host=host or http.host, port=http.port if port is None else port))
