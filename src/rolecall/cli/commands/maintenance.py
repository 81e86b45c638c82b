"""`rolecall rescue` and `prune`: what the workers do anyway, at once."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from rolecall.cli.output import print_table
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_duration


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
