"""`rolecall rescue` and `prune`: run a maintenance duty now; and `audit`: the audit log."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from rolecall.cli.output import print_table
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_date, read_duration
from rolecall.model.audit import AuditFilter, StoredAuditEvent, Via

COLUMNS = ("id", "at", "who", "via", "from", "what", "about", "outcome")


def rescue(
    shell: Shell,
    *,
    silent_for: Annotated[
        str, Option(metavar="DURATION", help="Only what nobody has renewed for so long: 90, 10m.")
    ] = "0",
) -> None:
    """Release the tasks whose workers died: pending again, or failed where no attempt is left."""
    seconds = read_duration(silent_for, "--silent-for")
    rescued = shell.call(lambda services: services.maintenance.rescue(silent_for=seconds))
    document = [{"id": task_id, "state": state} for task_id, state in rescued.items()]
    shell.show(document, lambda: print_table(("id", "now"), rescued.items(), "nothing to rescue"))


def prune(
    shell: Shell,
    *,
    keep_audit: Annotated[
        str | None, Option(metavar="DURATION", help="First, keep the audit log for so long from now on: 90d.")
    ] = None,
) -> None:
    """Drop what is past its time: finished tasks and events, idle keys, workers that are gone, old audit rows."""
    if keep_audit is not None:
        seconds = read_duration(keep_audit, "--keep-audit")
        shell.call(lambda services: services.maintenance.keep_audit(seconds))
    pruned = shell.call(lambda services: services.maintenance.prune())
    shell.show(pruned, lambda: print_table(("what", "number"), pruned.items(), "nothing to prune"))


def audit(  # sizes: the options
    shell: Shell,
    *,
    actor: Annotated[str | None, Option(help="Only what this person or API key did.")] = None,
    action: Annotated[str | None, Option(help="Only this, such as tasks.retry.")] = None,
    via: Annotated[Via | None, Option(help="Only through this shell.")] = None,
    since: Annotated[str | None, Option(metavar="DATE", help="Only then or later.")] = None,
    before: Annotated[int | None, Option(metavar="ID", help="Only older ones: the next page.")] = None,
    limit: Annotated[int, Option(help="At most so many, 1 to 1000.")] = 50,
) -> None:
    """Show who changed what, the latest first."""
    which = AuditFilter(
        actor=actor,
        action=action,
        via=via,
        since=None if since is None else read_date(since),
        before=before,
        limit=limit,
    )
    events = shell.call(lambda services: services.audit.list(which))
    shell.show(events, lambda: print_table(COLUMNS, map(_row, events), "nothing was changed"))


def _row(event: StoredAuditEvent) -> tuple[object, ...]:
    who = (event.id, event.at, event.actor, event.via, event.origin)
    return (*who, event.action, event.detail or None, event.outcome)
