"""`rolecall chains`: list chains, wait for them, delete them."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_facts, print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_duration, read_json
from rolecall.model.chains import Chain, ChainFilter, ChainSummary
from rolecall.model.errors import ChainNotFound, RolecallError
from rolecall.model.operator.pages import Page, position
from rolecall.model.states import TaskState
from rolecall.model.tasks import Dependent
from rolecall.service.chains import ChainHistory

ChainId = Annotated[int, Argument(metavar="ID", help="The id of the chain: that of its first task.")]
ChainIds = Annotated[list[int], Argument(metavar="ID...", help="The ids of the chains.")]

COLUMNS = ("id", "role", "handler", "status", "length", "last handler", "created", "finished", "error")
DEPENDENTS = ("id", "handler", "state", "needs", "waits")
LINKS = ("id", "handler", "status", "attempt", "result", "error")


def list_(  # sizes: each is an option of the command
    shell: Shell,
    *,
    state: Annotated[str | None, Option(help="open, or the state of the last task: failed, ready, waiting ...")] = None,
    role: Annotated[str | None, Option(help="Only chains whose first task has this role.")] = None,
    handler: Annotated[str | None, Option(help="Only chains whose first task has this handler.")] = None,
    after: Annotated[
        str | None, Option(metavar="CURSOR", help="The next page, from the output of the previous one.")
    ] = None,
    limit: Annotated[int, Option(help="The most entries to show, 1 to 1000.")] = 50,
) -> None:
    before = position(after)
    which = ChainFilter(state=state, role=role, handler=handler, before=before, limit=limit)
    page = shell.call(lambda services: services.chains.list(which))
    shell.show(page, lambda: _print_page(page))


def show(shell: Shell, chain_id: ChainId) -> None:
    history = shell.call(lambda services: services.chains.show(chain_id))
    shell.show(history, lambda: _print_history(history))


def wait(
    shell: Shell,
    chain_id: ChainId,
    *,
    timeout: Annotated[str, Option(metavar="DURATION", help="The longest time to wait: 90, 15m, 4h.")] = "1m",
) -> None:
    seconds = read_duration(timeout, "--timeout")
    chain = shell.call(lambda services: services.chains.wait(chain_id, seconds))
    shell.show(chain, lambda: _print_chain(chain))
    if chain.state is not TaskState.COMPLETED:
        raise RolecallError(f"chain {chain.id} {chain.state}: {chain.error or 'no reason given'}")


def complete(
    shell: Shell,
    chain_id: ChainId,
    *,
    result: Annotated[str, Option(metavar="JSON", help="Any value, @FILE, or - for stdin.")] = "null",
) -> None:
    value = read_json(result, "result")
    outcome = shell.call(lambda services: services.chains.complete(chain_id, value))
    if outcome == "missing":
        raise ChainNotFound(chain_id=chain_id)
    shell.show({"id": chain_id, "outcome": outcome}, lambda: print_table(("id", "outcome"), [(chain_id, outcome)], ""))


def blocking(
    shell: Shell,
    chain_id: ChainId,
    *,
    after: Annotated[int | None, Option(metavar="ID", help="Only tasks after this one: the next page.")] = None,
    limit: Annotated[int, Option(help="The most entries to show, 1 to 1000.")] = 50,
) -> None:
    dependents = shell.call(lambda services: services.chains.blocking(chain_id, after=after, limit=limit))
    shell.show(dependents, lambda: print_table(DEPENDENTS, map(_dependent_row, dependents), "nothing needs it"))


def delete(
    shell: Shell,
    ids: ChainIds,
    *,
    cascade: Annotated[bool, Option("--cascade", help="Also delete their needs.")] = False,
) -> None:
    deleted = shell.call(lambda services: services.chains.delete(ids, cascade=cascade))
    document = [{"id": chain_id, "tasks": number} for chain_id, number in deleted.items()]
    shell.show(document, lambda: print_table(("id", "tasks"), deleted.items(), "no such chains"))


def _dependent_row(dependent: Dependent) -> tuple[object, ...]:
    needed = "the chain" if dependent.chain else f"task {dependent.needed_id}"
    return (dependent.task_id, dependent.handler, dependent.state, needed, dependent.outcome is None)


def _row(chain: ChainSummary) -> tuple[object, ...]:
    what = (chain.id, chain.role, chain.handler, chain.status, chain.length, chain.last_handler)
    return (*what, chain.created_at, chain.finished_at, chain.error)


def _print_chain(chain: Chain) -> None:
    print_facts((field.name.replace("_", " "), getattr(chain, field.name)) for field in fields(chain))


def _print_page(page: Page[ChainSummary]) -> None:
    print_table(COLUMNS, map(_row, page.items), "no such chains")
    if page.next_cursor is not None:
        print_line(f"more: --after {page.next_cursor}")


def _print_history(history: ChainHistory) -> None:
    _print_chain(history.chain)
    rows = ((task.id, task.handler, task.status, task.attempt, task.result, task.error) for task in history.tasks)
    print_table(LINKS, rows, "no tasks")
