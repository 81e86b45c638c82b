"""`rolecall serve`: the API over HTTP, by itself or beside the workers of `rolecall up`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from socket import socket
from typing import Annotated

from typer import Option

from rolecall.app import App
from rolecall.cli.commands.worker import announce, command_line
from rolecall.cli.extras import can_serve, load_server
from rolecall.cli.locate import load_app
from rolecall.cli.options import ACCESS, DATABASE, LOGGING
from rolecall.cli.shell import Shell
from rolecall.cli.sockets import adopt, is_private, listen, url_of
from rolecall.cli.termination import Terminated
from rolecall.config import HIGHEST_PORT, AccessSettings
from rolecall.service.entrance import mode_for
from rolecall.worker.supervisor import Command

AppReference = Annotated[str | None, Option("--app", metavar="MODULE:APP", help="The App whose tasks are served.")]
Host = Annotated[str | None, Option(help="The address to listen at, default 127.0.0.1. [ROLECALL_HTTP]")]
Port = Annotated[int | None, Option(min=0, max=HIGHEST_PORT, help="Default 8321, or any free one. [ROLECALL_HTTP]")]
Descriptor = Annotated[int | None, Option("--fd", hidden=True, help="A socket that is open already.")]

log = logging.getLogger("rolecall.cli")


def serve(
    shell: Shell, *, app: AppReference = None, host: Host = None, port: Port = None, fd: Descriptor = None
) -> None:
    """Serve the API until SIGTERM, and fire schedules meanwhile."""
    server = load_server()
    loaded = load_app(app) if app else App("rolecall")
    try:
        with shell.database() as dsn, _listener(shell, host, port, fd) as listener:
            access = judged(shell, dsn, listener)
            if fd is None:
                log.info("The API is served at %s", url_of(listener))
                announce(shell, {"app": app, "http": url_of(listener)})
            server.serve(dsn, loaded, replace(shell.settings, access=access), listener)
    except Terminated:
        return


@dataclass(frozen=True, slots=True)
class BesideWorkers:
    """Where the API is served, and what serves it; nowhere and nothing where it is off."""

    url: str | None = None
    commands: Sequence[Command] = ()


@contextmanager
def beside_workers(shell: Shell, dsn: str, reference: str | None) -> Iterator[BesideWorkers]:
    """Open the socket of the API, which stays open while the process that serves it comes and goes."""
    http = shell.settings.http
    if http.asked_for:
        load_server()
    if not (http.enabled and can_serve()):
        yield BesideWorkers()
        return
    with listen(http) as listener:
        judged(shell, dsn, listener)
        log.info("The API is served at %s", url_of(listener))
        descriptor = listener.fileno()
        words = [*command_line(shell, "serve", reference, [*ACCESS, *DATABASE, *LOGGING]), "--fd", str(descriptor)]
        yield BesideWorkers(url_of(listener), [Command(name="The API", arguments=words, descriptors=(descriptor,))])


def judged(shell: Shell, dsn: str, listener: socket) -> AccessSettings:
    """The settings, with it decided who may come in. Raises ConfigError for a door that is open to a network."""
    asked, private = shell.settings.access, is_private(listener)
    mode = mode_for(asked.auth, private=private)
    if not private:
        shell.ask(dsn, lambda services: services.entrance.require_somebody())
    return replace(asked, auth=mode)


def _listener(shell: Shell, host: str | None, port: int | None, fd: int | None) -> socket:
    if fd is not None:
        return adopt(fd)
    http = shell.settings.http
    return listen(replace(http, host=host or http.host, port=http.port if port is None else port))
