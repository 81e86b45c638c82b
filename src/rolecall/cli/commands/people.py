"""`rolecall people`: the people who log in over HTTP with a name and a password."""

from __future__ import annotations

import sys
from getpass import getpass
from typing import Annotated

from typer import Argument

from rolecall.cli.output import print_line, print_table
from rolecall.cli.scopes import ScopeOption
from rolecall.cli.shell import Shell
from rolecall.cli.web import load_passwords
from rolecall.model.errors import ConfigError
from rolecall.model.operator.access import Person

Name = Annotated[str, Argument(help="The login name.")]

COLUMNS = ("id", "name", "scope", "created", "last login")


def add(shell: Shell, name: Name, *, scope: ScopeOption) -> None:
    password_hash = load_passwords().hash_password(_ask_password())
    person = shell.call(lambda services: services.people.add(name, scope, password_hash))
    shell.show(person, lambda: print_line(f"{name} can log in"))


def list_(shell: Shell) -> None:
    people = shell.call(lambda services: services.people.list())
    shell.show(people, lambda: print_table(COLUMNS, map(_row, people), "no people"))


def remove(shell: Shell, name: Name) -> None:
    shell.call(lambda services: services.people.remove(name))
    shell.show({"removed": name}, lambda: print_line(f"{name} can no longer log in"))


def password(shell: Shell, name: Name) -> None:
    password_hash = load_passwords().hash_password(_ask_password())
    shell.call(lambda services: services.people.set_password(name, password_hash))
    shell.show({"changed": name}, lambda: print_line(f"password of {name} changed"))


def unlock(shell: Shell, name: Name) -> None:
    shell.call(lambda services: services.people.unlock(name))
    shell.show({"unlocked": name}, lambda: print_line(f"{name} unlocked"))


def _ask_password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    first, second = getpass("Password: "), getpass("Again: ")
    if first != second:
        raise ConfigError("the two passwords differ", variable="password", value="(hidden)")
    return first


def _row(person: Person) -> tuple[object, ...]:
    return (person.id, person.name, person.scope.value, person.created_at, person.last_login_at)
