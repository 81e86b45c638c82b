"""`rolecall rescue` and `prune`: run a maintenance duty now; and `audit`: the audit log."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from rolecall.cli.options import choice
from rolecall.cli.output import print_table
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_date, read_duration
from rolecall.model.audit import AuditFilter, StoredAuditEvent, Via

COLUMNS = ("id", "at", "who", "via", "from", "what", "about", "outcome")


def rescue(
    shell: Shell,
    *,
    silent_for: Annotated[
        str, Option(metavar="DURATION", help="Only tasks whose lease was not renewed for this long: 90, 10m.")
    ] = "0",
) -> None:
    seconds = read_duration(silent_for, "--silent-for")
    rescued = shell.call(lambda services: services.maintenance.rescue(silent_for=seconds))
    document = [{"id": task_id, "state": state} for task_id, state in rescued.items()]
    shell.show(document, lambda: print_table(("id", "now"), rescued.items(), "nothing to rescue"))


def prune(
    shell: Shell,
    *,
    keep_audit: Annotated[
        str | None, Option(metavar="DURATION", help="First set the retention of the audit log: 90d.")
    ] = None,
) -> None:
    if keep_audit is not None:
        seconds = read_duration(keep_audit, "--keep-audit")
        shell.call(lambda services: services.maintenance.keep_audit(seconds))
    pruned = shell.call(lambda services: services.maintenance.prune())
    shell.show(pruned, lambda: print_table(("what", "number"), pruned.items(), "nothing to prune"))


def audit(  # sizes: the options
    shell: Shell,
    *,
    actor: Annotated[str | None, Option(help="Only changes by this person or API key.")] = None,
    action: Annotated[str | None, Option(help="Only this action, such as tasks.retry.")] = None,
    kind: Annotated[str | None, Option(help="Only changes of this kind, such as tasks or roles.")] = None,
    thing: Annotated[str | None, Option(help="Only changes of this thing: a name or an id.")] = None,
    via: Annotated[Via | None, choice(Via, help="Only through this interface.")] = None,
    since: Annotated[str | None, Option(metavar="DATE", help="Only at this time or later.")] = None,
    until: Annotated[str | None, Option(metavar="DATE", help="Only before this time.")] = None,
    before: Annotated[int | None, Option(metavar="ID", help="Only entries before this one: the next page.")] = None,
    limit: Annotated[int, Option(help="The most entries to show, 1 to 1000.")] = 50,
) -> None:
    which = AuditFilter(
        actor=actor,
        action=action,
        kinds=kind and [kind],
        thing=thing,
        via=via,
        since=None if since is None else read_date(since),
        until=None if until is None else read_date(until),
        before=before,
        limit=limit,
    )
    events = shell.call(lambda services: services.audit.list(which))
    shell.show(events, lambda: print_table(COLUMNS, map(_row, events), "no changes"))


def _row(event: StoredAuditEvent) -> tuple[object, ...]:
    who = (event.id, event.at, event.actor, event.via, event.origin)
    return (*who, event.action, event.detail or None, event.outcome)
