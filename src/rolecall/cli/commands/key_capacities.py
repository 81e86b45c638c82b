"""`rolecall key-capacities`: how many tasks of a key can run at once."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_facts, print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.model.keys import KeyCapacity, KeyState
from rolecall.model.operator.pages import Page
from rolecall.service.key_capacities import KeyDetail

Pattern = Annotated[str, Argument(help="A key, or a prefix of keys with a star: 'tenant:*'.")]

COLUMNS = ("key or pattern", "at once", "declared", "set")
BUSIEST = ("key", "at once", "held", "waiting", "due later")
HOLDERS = ("held by task", "role", "handler", "status", "worker", "started")


def list_(
    shell: Shell,
    *,
    after: Annotated[
        str | None, Option(metavar="CURSOR", help="The next page, from the output of the previous one.")
    ] = None,
    limit: Annotated[int, Option(help="The most entries to show, 1 to 1000.")] = 100,
) -> None:
    page = shell.call(lambda services: services.key_capacities.list(after, limit))
    shell.show(page, lambda: _print_page(page))


def show(shell: Shell, key: Annotated[str, Argument(help="The key.")]) -> None:
    detail = shell.call(lambda services: services.key_capacities.show(key))
    shell.show(detail, lambda: _print(detail))


def busiest(shell: Shell, *, limit: Annotated[int, Option(help="The most keys to show, 1 to 1000.")] = 10) -> None:
    found = shell.call(lambda services: services.key_capacities.busiest(limit))
    rows = ((key.key, key.capacity, key.used, key.waiting, key.later) for key in found)
    shell.show(found, lambda: print_table(BUSIEST, rows, "no key has more than one due task"))


def set_(
    shell: Shell,
    pattern: Pattern,
    capacity: Annotated[int, Argument(metavar="N", help="How many tasks of each matching key can run at once.")],
) -> None:
    before = shell.call(lambda services: services.key_capacities.set(pattern, capacity))
    was = f", was {before}" if before is not None else ""
    document = {"pattern": pattern, "set_to": capacity, "before": before}
    shell.show(document, lambda: print_line(f"key {pattern}: {capacity} at once{was}"))


def reset(shell: Shell, pattern: Pattern) -> None:
    before = shell.call(lambda services: services.key_capacities.reset(pattern))
    sentence = f"key {pattern}: reset, was {before}" if before is not None else f"key {pattern} was not set"
    document = {"pattern": pattern, "set_to": None, "before": before}
    shell.show(document, lambda: print_line(sentence))


def _print_page(page: Page[KeyCapacity]) -> None:
    rows = ((each.pattern, each.capacity, each.declared, each.set_to) for each in page.items)
    print_table(COLUMNS, rows, "no capacities: all keys have a capacity of 1")
    if page.next_cursor is not None:
        print_line(f"more: --after {page.next_cursor}")


def _print(detail: KeyDetail) -> None:
    print_facts(_facts(detail.key))
    rows = ((task.id, task.role, task.handler, task.status, task.worker_id, task.started_at) for task in detail.tasks)
    print_table(HOLDERS, rows, "no task holds this key")


def _facts(key: KeyState) -> list[tuple[str, object]]:
    beyond = " or more" if key.more else ""
    return [
        ("key", key.key),
        ("at once", key.capacity),
        ("by", key.pattern),
        ("held", key.used),
        ("waiting", f"{key.waiting}{beyond}"),
        ("due later", f"{key.later}{beyond}"),
    ]
