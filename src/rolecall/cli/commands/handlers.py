"""`rolecall handlers`: the handlers and the schemas of their payloads."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

from typer import Argument

from rolecall.cli.output import print_facts, print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.model.handlers import DeclaredHandler

Name = Annotated[str, Argument(help="The name of the handler.")]

COLUMNS = ("role", "handler", "timeout s", "attempts", "procedure", "description")


def list_(shell: Shell) -> None:
    declared = shell.call(lambda services: services.handlers.list())
    shell.show(declared, lambda: print_table(COLUMNS, map(_row, declared), "no handlers"))


def show(shell: Shell, name: Name) -> None:
    handler = shell.call(lambda services: services.handlers.get(name))
    shell.show(handler, lambda: print_facts((field.name, getattr(handler, field.name)) for field in fields(handler)))


def reveal(shell: Shell, name: Name) -> None:
    revealed = shell.call(lambda services: services.handlers.reveal(name))
    sentence = (
        f"handler {name} redacts only what its code declares" if revealed else f"handler {name} redacted nothing else"
    )
    shell.show({"handler": name, "revealed": revealed}, lambda: print_line(sentence))


def _row(handler: DeclaredHandler) -> tuple[object, ...]:
    attempts = "unlimited" if handler.max_attempts == 0 else handler.max_attempts
    return (handler.role, handler.name, handler.timeout, attempts, handler.procedure, handler.description)
