"""`rolecall errors`: error groups, their states, and retries of their tasks."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.commands.bulk import Delay, print_preview, print_started
from rolecall.cli.commands.tasks import DryRun, Rate
from rolecall.cli.output import print_facts, print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_duration, read_past
from rolecall.model.operator.error_groups import ErrorGroup, ErrorGroupDetail, ErrorGroupFilter, ErrorState
from rolecall.model.operator.pages import Page

Id = Annotated[int, Argument(metavar="ID", help="The id of the error group.")]

COLUMNS = ("id", "handler", "error", "frame", "state", "failed", "retried", "first", "last", "sample")


def list_(  # sizes: each is an option of the command
    shell: Shell,
    *,
    state: Annotated[
        list[str] | None, Option(metavar="STATE", help="Only groups in this state: new, muted or resolved.")
    ] = None,
    handler: Annotated[str | None, Option(metavar="HANDLER", help="Only this handler.")] = None,
    text: Annotated[str | None, Option(metavar="TEXT", help="Only with this text in the handler or error.")] = None,
    since: Annotated[
        str | None, Option(metavar="DATE", help="Only errors that are new since this time; 15m means 15 minutes ago.")
    ] = None,
    after: Annotated[
        str | None, Option(metavar="CURSOR", help="The next page, from the output of the previous one.")
    ] = None,
    limit: Annotated[int, Option(help="The most entries to show, 1 to 1000.")] = 50,
) -> None:
    which = ErrorGroupFilter(
        states=state or None,  # type: ignore[arg-type]  # the service checks them
        handler=handler,
        text=text,
        since=None if since is None else read_past(since, "--since"),
        cursor=after,
        limit=limit,
    )
    page = shell.call(lambda services: services.error_groups.list(which))
    shell.show(page, lambda: _print_page(page))


def show(shell: Shell, group_id: Id) -> None:
    group = shell.call(lambda services: services.error_groups.get(group_id))
    shell.show(group, lambda: _print_group(group))


def mute(shell: Shell, group_id: Id) -> None:
    _mark(shell, group_id, "muted")


def resolve(shell: Shell, group_id: Id) -> None:
    _mark(shell, group_id, "resolved")


def reopen(shell: Shell, group_id: Id) -> None:
    _mark(shell, group_id, "new")


def retry(shell: Shell, group_id: Id, *, rate: Rate = None, delay: Delay = "10", dry_run: DryRun = False) -> None:
    if dry_run:
        found = shell.call(lambda services: services.error_groups.preview_retry(group_id))
        shell.show(found, lambda: print_preview(found))
        return
    seconds = read_duration(delay, "--delay")
    started = shell.call(lambda services: services.error_groups.retry(group_id, rate=rate, delay=seconds))
    shell.show(started, lambda: print_started(started))


def _mark(shell: Shell, group_id: int, state: ErrorState) -> None:
    before = shell.call(lambda services: services.error_groups.mark(group_id, state))
    shell.show(
        {"id": group_id, "state": state, "was": before},
        lambda: print_line(f"error group {group_id} is {state}, was {before}"),
    )


def _print_page(page: Page[ErrorGroup]) -> None:
    print_table(COLUMNS, map(_row, page.items), "no such errors")
    if page.next_cursor is not None:
        print_line(f"more: --after {page.next_cursor}")


def _row(group: ErrorGroup) -> tuple[object, ...]:
    what = (group.id, group.handler, group.title, group.frame, group.state)
    return (*what, group.failed, group.retried, group.first_at, group.last_at, group.sample_id)


def _print_group(group: ErrorGroupDetail) -> None:
    print_facts((field.name.replace("_", " "), getattr(group, field.name)) for field in fields(group))
