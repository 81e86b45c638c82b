"""`storecrawl routes`: manage outgoing routes."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote, urlsplit

from typer import Argument, Exit, Option, echo

from rolecall import ConfigError
from rolecall.audit import terminal_actor
from rolecall.cli import plain_typer, print_json, print_line, print_table
from storecrawl.actions.route_changes import RouteChanges
from storecrawl.cli.connect import Connection, CrawlHome, DatabaseUrl, DataDir
from storecrawl.egress.repository import NewRoute, StoredRoute, list_routes, load_route
from storecrawl.egress.routes import RouteProtocol
from storecrawl.egress.trial import try_route
from storecrawl.settings import CrawlSettings

T = TypeVar("T")
COLUMNS = ("id", "route", "user", "place", "state", "good", "failed", "last used", "last reason")
PASSWORD_VARIABLE = "STORECRAWL_ROUTE_PASSWORD"  # noqa: S105 - a variable's name

AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]
RouteId = Annotated[int, Argument(min=1, metavar="ID", help="The id in `storecrawl routes list`.")]

routes = plain_typer("Outgoing routes: the proxies, or none, through which the crawler's requests leave.")


@routes.command("list")
def list_(*, data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """List all routes with their state and counters."""
    found = _home(data_dir, database_url).query(list_routes)
    if as_json:
        print_json(found)
    else:
        nothing = "There is no route. Add one: storecrawl routes add http://HOST:PORT, or direct."
        print_table(COLUMNS, map(_row, found), nothing)


@routes.command()
def add(  # sizes: a command's flags
    address: Annotated[
        str, Argument(help="http://HOST:PORT, https://..., socks5://...; USER@HOST if there is a user; or direct.")
    ],
    *,
    password_env: Annotated[
        str | None, Option(metavar="NAME", help="The workers' environment variable with the password.")
    ] = None,
    password_file: Annotated[
        Path | None, Option(metavar="FILE", help="A file with the password in one line; - is standard input.")
    ] = None,
    city: Annotated[str | None, Option(help="The city of its exit.")] = None,
    state: Annotated[str | None, Option(help="Two letters.")] = None,
    country: Annotated[str | None, Option(help="Two letters.")] = None,
    timezone: Annotated[str | None, Option(metavar="ZONE", help="For example America/Phoenix.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Add an active route; workers use it within a minute.

    The password comes from --password-env, --password-file, or the current value of STORECRAWL_ROUTE_PASSWORD. It
    must not be in the address, which other users of the machine could read.
    """
    route = replace(
        _route_of(address), password_env=password_env, password=None if password_env else _password(password_file),
        city=city, state=state, country=country, timezone=timezone,
    )  # fmt: skip

    added = _change(_home(data_dir, database_url), lambda changes: changes.add(route))
    _print_route(added, "added", as_json=as_json)


@routes.command()
def remove(route: RouteId, *, data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Delete a route and its counters."""
    _change(_home(data_dir, database_url), lambda changes: changes.remove(route))
    echo(f"route {route} is removed")


@routes.command()
def enable(
    route: RouteId, *, data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: AsJson = False
) -> None:
    """Enable a route, and forget why it was disabled."""
    enabled = _change(_home(data_dir, database_url), lambda changes: changes.enable(route))
    _print_route(enabled, "enabled", as_json=as_json)


@routes.command()
def disable(
    route: RouteId,
    *,
    reason: Annotated[str, Option(help="The reason, shown with the route.")] = "disabled manually",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Disable a route."""
    disabled = _change(_home(data_dir, database_url), lambda changes: changes.disable(route, reason))
    _print_route(disabled, "disabled", as_json=as_json)


@routes.command("test")
def try_out(
    route: RouteId,
    *,
    url: Annotated[
        str | None, Option(metavar="URL", help="The URL to request; by default that of the first crawled platform.")
    ] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Send one request through a route without counting it; exit 1 if it is rejected or fails."""
    address = url or _first_upstream()

    async def run_trial(connection: Connection) -> Any:
        return await try_route(await load_route(connection, route), address)

    trial = _home(data_dir, database_url).query(run_trial)
    if as_json:
        print_json(trial)
    else:
        print_line(
            f"route {route} ({trial.route}): {trial.error or f'HTTP {trial.status}'} after {trial.seconds:.1f} s"
        )
    raise Exit(0 if trial.is_well else 1)


def _first_upstream() -> str:
    settings = CrawlSettings.from_environment()
    for platform in settings.platforms.values():
        return platform.upstream
    raise ConfigError("no platform is configured: give the URL to request", variable="--url")


def _home(data_dir: Path | None, database_url: str | None) -> CrawlHome:
    return CrawlHome(data_dir=data_dir, database_url=database_url)


def _change(home: CrawlHome, change: Callable[[RouteChanges], Awaitable[T]]) -> T:
    return home.query(lambda connection: change(RouteChanges(connection, terminal_actor())))


def _route_of(address: str) -> NewRoute:
    if address == RouteProtocol.DIRECT:
        return NewRoute(protocol=RouteProtocol.DIRECT)
    try:
        parts = urlsplit(address)
        protocol, port = RouteProtocol(parts.scheme), parts.port
    except ValueError:
        raise ConfigError("not the address of a proxy such as http://10.0.0.1:3128", variable="ADDRESS") from None
    if parts.password is not None:
        raise ConfigError("must not contain a password, which other users could read", variable="ADDRESS")
    user = unquote(parts.username) if parts.username else None
    return NewRoute(protocol=protocol, host=parts.hostname, port=port, username=user)


def _password(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(PASSWORD_VARIABLE) or None
    try:
        text = sys.stdin.readline() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"it cannot be read: {error}", variable="--password-file") from None
    return text.rstrip("\r\n") or None


def _print_route(route: StoredRoute, change: str, *, as_json: bool) -> None:
    if as_json:
        print_json(route)
    else:
        print_line(f"route {route.id} ({route.label}) is {change}")


def _row(route: StoredRoute) -> tuple[object, ...]:
    place = ", ".join(filter(None, (route.city, route.state, route.country)))
    figures = (f"{route.successes:,}", f"{route.failures:,}", route.last_used_at, route.reason)
    return (route.id, route.label, route.username, place, route.status, *figures)
