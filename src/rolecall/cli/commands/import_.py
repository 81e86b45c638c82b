"""`rolecall import`: translate code written for another system."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option, echo

from rolecall.cli.shell import Shell
from rolecall.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolecall_import.inventory import Gap, Inventory

PARTLY = 1

System = Annotated[str, Argument(metavar="SYSTEM", help="The system it was written for: celery, procrastinate, rq.")]
Code = Annotated[Path, Argument(metavar="PATH", help="A file or a folder, read recursively and not run.")]
Out = Annotated[Path | None, Option("--out", metavar="FILE", help="Write the module to a new file.")]
Check = Annotated[bool, Option("--check", help="List what rolecall.celery rejects in the code, and print no module.")]
Name = Annotated[str | None, Option("--name", metavar="APP", help="The name of the app; by default that of PATH.")]


def import_(  # sizes: each is an option of the command
    shell: Shell, system: System, path: Code, out: Out = None, name: Name = None, check: Check = False
) -> None:
    """The output is a module with the declarations, followed by the replacement of each call.

    Code without an equivalent is listed with the reason. Exits with 1 if a file could not be read, and with --check if
    anything is rejected.
    """
    try:
        from rolecall_import import check_code, module_text, read_code  # noqa: PLC0415 - a distribution of its own
    except ModuleNotFoundError:
        raise ConfigError("not installed; run: pip install rolecall-import", variable="rolecall-import") from None
    if check:
        _show_rejected(shell, system, check_code(system, path))
        return
    inventory = read_code(system, path)
    text = module_text(inventory, name or _app_name(path))
    if out is not None:
        _write(out, text)
    shell.show(
        {**asdict(inventory), "module": text}, lambda: echo(_summary(inventory)) if out else echo(text, nl=False)
    )
    if out is None:
        echo(_summary(inventory), err=True)
    if inventory.unread:
        raise Exit(PARTLY)


def _show_rejected(shell: Shell, system: str, rejected: Sequence[Gap]) -> None:
    lines = [f"{each.place}: {each.code}\n    {each.reason}" for each in rejected]
    summary = f"rolecall.{system} rejects {_number(len(rejected), 'place')}"
    shell.show({"rejected": [asdict(each) for each in rejected]}, lambda: echo("\n".join([*lines, summary])))
    if rejected:
        raise Exit(PARTLY)


def _app_name(path: Path) -> str:
    return re.sub(r"\W", "-", path.resolve().stem).strip("-") or "app"


def _write(file: Path, text: str) -> None:
    try:
        with file.open("x") as opened:
            opened.write(text)
    except FileExistsError:
        raise ConfigError(f"{str(file)!r} already exists", variable="--out", value=str(file)) from None
    except OSError as error:
        problem = f"{str(file)!r} cannot be written: {error.strerror}"
        raise ConfigError(problem, variable="--out", value=str(file)) from error


def _summary(inventory: Inventory) -> str:
    counted = [
        _number(inventory.files, "file"),
        _number(len(inventory.tasks), "task"),
        _number(len(inventory.schedules), "schedule"),
        _number(len(inventory.calls), "call"),
        f"{len(inventory.gaps)} without an equivalent",
    ]
    unread = "".join(f"\ncould not read {each.file}: {each.problem}" for each in inventory.unread)
    return f"{inventory.system}: {', '.join(counted)}{unread}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
