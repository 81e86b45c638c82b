"""`rolecall roles`: the roles, their settings and their pauses."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_line, print_table, shown
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_duration
from rolecall.model.operator.insight import DeclaredRole

Name = Annotated[str, Argument(help="The name of the role.")]

COLUMNS = (
    "role",
    "lease s",
    "timeout s",
    "attempts",
    "idempotent",
    "payload bytes",
    "strict keys",
    "paused since",
    "until",
    "by",
    "description",
)


def list_(shell: Shell) -> None:
    declared = shell.call(lambda services: services.roles.list())
    shell.show(declared, lambda: print_table(COLUMNS, map(_row, declared), "no roles"))


def pause(
    shell: Shell,
    name: Name,
    *,
    duration: Annotated[
        str | None, Option("--for", metavar="DURATION", help="The duration: 90, 15m, 4h. By default until resumed.")
    ] = None,
) -> None:
    seconds = None if duration is None else read_duration(duration, "--for")
    pause = shell.call(lambda services: services.roles.pause(name, seconds))
    until = shown(pause.paused_until) or "it is resumed"
    shell.show(pause, lambda: print_line(f"role {name} paused until {until}"))


def resume(shell: Shell, name: Name) -> None:
    paused = shell.call(lambda services: services.roles.resume(name))
    sentence = f"role {name} resumed" if paused else f"role {name} was not paused"
    shell.show({"role": name, "was_paused": paused}, lambda: print_line(sentence))


def _row(role: DeclaredRole) -> tuple[object, ...]:
    limits = (role.lease, role.timeout, role.max_attempts or "unlimited", role.idempotent, role.max_payload_bytes)
    return (
        role.name,
        *limits,
        "yes" if role.strict_keys else "no",
        role.paused_at,
        role.paused_until,
        role.paused_by,
        role.description,
    )
