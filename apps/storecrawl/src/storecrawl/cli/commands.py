"""The `storecrawl` command: its subcommands, imported when used, and its error messages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pkgutil import resolve_name
from typing import NoReturn

from typer.main import get_install_completion_arguments

from rolecall.cli import LateCommand, PlainGroup, plain_group, run_command

NAME = "storecrawl"
SAYS = "Discovers stores, fetches their menus, stores every payload, and turns payloads into products."
# Each with the location of its function or group, and the first line of its help.
COMMANDS = (
    (
        "demo",
        "demo:demo",
        "Crawl a simulated upstream on this machine, with database, workers and dashboard, until Ctrl-C.",
    ),
    (
        "normalize",
        "normalize:show_normalized",
        "Show the result of normalizing a captured menu; exit 2 for a file that is not a menu.",
    ),
    (
        "migrate",
        "migrate:migrate_database",
        "Migrate Rolecall's and the crawler's tables in a database.",
    ),
    ("platforms", "platforms:platforms", "Platforms: those that are crawled, and where their chains answer."),
    ("stores", "stores:stores", "Stores, with their last fetch and their trouble."),
    ("payloads", "payloads:payloads", "Stored crawl payloads."),
    ("export", "export:export_rows", "Export rows of the database as they are read, whatever their number."),
    ("duckdb", "duckdb:query_lake", "Query the lake with DuckDB: views prices, products, stores and brands."),
    (
        "verify",
        "verify:verify",
        "Recompute products, options and history from the payload files; exit 1 if anything differs.",
    ),
    (
        "renormalize",
        "renormalize:renormalize",
        "Correct products and history from the stored payloads, by a task for each store; exit 1 if one fails.",
    ),
    ("discovery", "discovery:discovery", "Discovery of stores: states, cities and the locations found there."),
    ("generate", "generate:generate", "Tasks for many stores at once."),
    ("routes", "routes:routes", "Outgoing routes: the proxies, or none, through which the crawler's requests leave."),
    ("webhooks", "webhooks:webhooks", "Webhooks: the receivers of changes of prices, products and stores."),
    (
        "reader",
        "reader:make_reader",
        "Create a login that can read all tables but those with secrets, and print its connection string.",
    ),
    (
        "dbt-sources",
        "dbt:print_sources",
        "Print YAML with the tables, their descriptions and tests: storecrawl dbt-sources > models/storecrawl.yml.",
    ),
)


def main() -> NoReturn:
    """Run the command of this process, and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; an error is printed as one line to stderr."""
    return run_command(NAME, build, arguments, _exit_code_of)


def _exit_code_of(error: Exception) -> int | None:
    # Imported here, because it imports the driver, which listing the commands does not need.
    found: int | None = resolve_name("storecrawl.cli.failures:exit_code_of")(error)
    return found


def build() -> PlainGroup:
    """Build the command line without importing the commands."""
    commands = [
        LateCommand(name, says, partial(resolve_name, f"storecrawl.cli.{place}")) for name, place, says in COMMANDS
    ]
    group = plain_group(NAME, SAYS, commands)
    group.params.extend(get_install_completion_arguments())
    return group
