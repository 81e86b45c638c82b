"""The `rolecall` command. Each subcommand makes one service call and writes a table or one JSON document.

The names exported here are for the commands of applications. Output escapes control characters, so that stored text
cannot inject escape sequences or markup into a terminal:

    print_table(("shop", "town"), ((shop.name, shop.town) for shop in shops), "there is no shop")

Commands can be imported lazily, when they run:

    shop = plain_group("shop", "Look after it.", [LateCommand("open", "Open it.", lambda: resolve_name("doors:open_"))])

On SIGTERM, a command can release what it uses:

    with unwinding_on_signals():  # raises Terminated in here
        run_unwinding(ask())  # and cancels a coroutine
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolecall.model.lazy import lazy_names

if TYPE_CHECKING:
    from rolecall.cli.documents import print_json
    from rolecall.cli.exits import Terminated, run_unwinding, unwinding_on_signals
    from rolecall.cli.late import HELP_OPTIONS, LateCommand, PlainGroup, plain_group, plain_typer
    from rolecall.cli.output import print_facts, print_line, print_table, shown
    from rolecall.cli.running import complain, run_command
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "rolecall.cli.documents": ("print_json",),
            "rolecall.cli.exits": ("Terminated", "run_unwinding", "unwinding_on_signals"),
            "rolecall.cli.late": ("HELP_OPTIONS", "LateCommand", "PlainGroup", "plain_group", "plain_typer"),
            "rolecall.cli.output": ("print_facts", "print_line", "print_table", "shown"),
            "rolecall.cli.running": ("complain", "run_command"),
        },
    )

__all__ = [
    "HELP_OPTIONS",
    "LateCommand",
    "PlainGroup",
    "Terminated",
    "complain",
    "plain_group",
    "plain_typer",
    "print_facts",
    "print_json",
    "print_line",
    "print_table",
    "run_command",
    "run_unwinding",
    "shown",
    "unwinding_on_signals",
]
