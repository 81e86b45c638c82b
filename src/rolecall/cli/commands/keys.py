"""`rolecall keys`: the API keys of programs that use the HTTP API."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_facts, print_line, print_table
from rolecall.cli.scopes import ScopeOption
from rolecall.cli.shell import Shell
from rolecall.model.errors import ConfigError
from rolecall.model.operator.access import ApiKey, NewApiKey
from rolecall.service.access import DAYS, MOST_DAYS

Name = Annotated[str, Argument(help="The name of the key, shown in the audit log.")]
Id = Annotated[int, Argument(metavar="ID", help="The id of the key, shown by `keys list`.")]
Days = Annotated[int | None, Option(help=f"Days until it expires, 1 to {MOST_DAYS}; default {DAYS}.")]

COLUMNS = ("id", "name", "scope", "begins with", "created", "expires", "last used", "revoked")


def create(
    shell: Shell,
    name: Name,
    *,
    scope: ScopeOption,
    days: Days = None,
    never: Annotated[bool, Option("--never", help="It never expires.")] = False,
) -> None:
    if never and days is not None:
        raise ConfigError("cannot be combined with --days", variable="--never")
    lifetime = None if never else DAYS if days is None else days
    made = shell.call(lambda services: services.keys.create(name, scope, lifetime))
    shell.show(made, lambda: _print(made))


def list_(shell: Shell) -> None:
    keys = shell.call(lambda services: services.keys.list())
    shell.show(keys, lambda: print_table(COLUMNS, map(_row, keys), "no API keys"))


def revoke(shell: Shell, key: Id) -> None:
    shell.call(lambda services: services.keys.revoke(key))
    shell.show({"revoked": key}, lambda: print_line(f"API key {key} revoked"))


def _row(key: ApiKey) -> tuple[object, ...]:
    lifetime = (key.created_at, key.expires_at or "never", key.last_used_at, key.revoked_at)
    return (key.id, key.name, key.scope.value, key.prefix, *lifetime)


def _print(made: NewApiKey) -> None:
    key = made.key
    print_facts(
        [("id", key.id), ("name", key.name), ("scope", key.scope.value), ("expires", key.expires_at or "never")]
    )
    print_line(made.secret)
