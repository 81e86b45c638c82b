"""The `rolecall` command: argv in, one service call, a table or one JSON document out.

Commands of an app's own show things the same way, with the names exported here: what a stranger wrote reaches the
terminal as text, its control characters made visible, never as an escape sequence or as markup.

    print_table(("shop", "town"), ((shop.name, shop.town) for shop in shops), "there is no shop")

They may be late: listed by one line each, and imported when they run.

    shop = plain_group("shop", "Look after it.", [LateCommand("open", "Open it.", lambda: resolve_name("doors:open_"))])

They end the same way, too: what a command holds is given back when the process is told to end.

    with unwinding_on_signals():  # raises Terminated in here
        run_unwinding(ask())  # and in a coroutine of the command by a cancellation
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolecall.model.lazy import lazy_names

if TYPE_CHECKING:
    from rolecall.cli.documents import print_json
    from rolecall.cli.exits import Terminated, run_unwinding, unwinding_on_signals
    from rolecall.cli.late import HELP_OPTIONS, LateCommand, PlainGroup, plain_group, plain_typer
    from rolecall.cli.output import print_facts, print_line, print_table, shown
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "rolecall.cli.documents": ("print_json",),
            "rolecall.cli.exits": ("Terminated", "run_unwinding", "unwinding_on_signals"),
            "rolecall.cli.late": ("HELP_OPTIONS", "LateCommand", "PlainGroup", "plain_group", "plain_typer"),
            "rolecall.cli.output": ("print_facts", "print_line", "print_table", "shown"),
        },
    )

__all__ = [
    "HELP_OPTIONS",
    "LateCommand",
    "PlainGroup",
    "Terminated",
    "plain_group",
    "plain_typer",
    "print_facts",
    "print_json",
    "print_line",
    "print_table",
    "run_unwinding",
    "shown",
    "unwinding_on_signals",
]
