"""`storecrawl platforms`: list the platforms, check one, and set the endpoints of chains."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from psycopg.conninfo import make_conninfo
from typer import Argument, Exit, Option

from rolecall import ConfigError
from rolecall.audit import terminal_actor
from rolecall.cli import plain_typer, print_json, print_line, print_table
from storecrawl.actions.endpoint_changes import EndpointChanges
from storecrawl.catalog.endpoints import list_chain_endpoints
from storecrawl.cli.connect import Connection, CrawlHome, DatabaseUrl, DataDir
from storecrawl.egress import Egress, Recorder
from storecrawl.platforms.errors import ForbiddenUrl, UpstreamFailure
from storecrawl.platforms.registry import PLATFORMS
from storecrawl.roles.crawler import Crawler
from storecrawl.settings import CrawlSettings

LISTED = ("name", "title", "url", "fetched every", "requests per second")
CHAINS = ("platform", "chain", "endpoint", "stores")

AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]
Name = Annotated[str, Argument(metavar="PLATFORM", help="A name in `storecrawl platforms list`.")]

platforms = plain_typer("Platforms: those that are crawled, and where their chains answer.")


@platforms.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """List the known platforms, and how the crawled ones are reached."""
    settings = CrawlSettings.from_environment()
    rows = [dict(zip(LISTED, _row(settings, name), strict=True)) for name in PLATFORMS]
    if as_json:
        print_json(rows)
    else:
        print_table(LISTED, [tuple(row.values()) for row in rows], "there is no platform")


@platforms.command()
def check(platform: Name, *, data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Send one cheap request to a platform over the stored routes; exit 1 if it fails."""
    crawler = Crawler(CrawlSettings.from_environment())
    _require_known(platform)

    async def send(connection: Connection) -> str | None:
        recorder = Recorder(make_conninfo(connection.info.dsn, password=connection.info.password))
        async with Egress(crawler.egress_options(), recorder=recorder) as egress:
            try:
                await PLATFORMS[platform](crawler.access(platform, egress)).check()
            except UpstreamFailure as failure:
                return f"{type(failure).__name__}: {failure}"
        return None

    problem = CrawlHome(data_dir=data_dir, database_url=database_url).query(send)
    print_line(f"{platform}: {problem or 'it answers'}")
    raise Exit(1 if problem else 0)


@platforms.command()
def chains(*, data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """List the chains that answer at their own host."""
    found = CrawlHome(data_dir=data_dir, database_url=database_url).query(list_chain_endpoints)
    if as_json:
        print_json(found)
    else:
        print_table(CHAINS, [tuple(asdict(each).values()) for each in found], "no chain has an endpoint")


@platforms.command("endpoint")
def set_endpoint(  # sizes: a command's flags
    platform: Name,
    endpoint: Annotated[str | None, Argument(metavar="URL", help="Without it, that of the chain or platform.")] = None,
    *,
    chain: Annotated[str | None, Option(help="The chain whose stores answer there.")] = None,
    store: Annotated[int | None, Option(min=1, help="The store that answers there.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Set or remove the base URL of a chain or of one store; that of a store has precedence."""
    _require_known(platform)
    if (chain is None) == (store is None):
        raise ConfigError("give either a chain or a store", variable="--chain")

    async def change(connection: Connection) -> None:
        changes = EndpointChanges(connection, terminal_actor())
        if chain is not None:
            await changes.of_chain(platform, chain, endpoint)
        elif store is not None:
            await changes.of_store(store, endpoint)

    try:
        CrawlHome(data_dir=data_dir, database_url=database_url).query(change)
    except ForbiddenUrl as problem:
        raise ConfigError(problem.reason, variable="URL", value=problem.url) from None
    subject = f"chain {chain}" if chain is not None else f"store {store}"
    print_line(f"{subject} answers at {endpoint or 'the host of its chain or platform'}")


def _row(settings: CrawlSettings, name: str) -> tuple[Any, ...]:
    given = settings.platforms.get(name)
    if given is None:
        return name, PLATFORMS[name].spec.title, None, None, None
    own = settings.of(name)
    return name, PLATFORMS[name].spec.title, given.upstream, f"{own.fetch_every:g} s", own.host_rate


def _require_known(platform: str) -> None:
    if platform not in PLATFORMS:
        raise ConfigError(f"must be one of {', '.join(PLATFORMS)}", variable="PLATFORM", value=platform)
