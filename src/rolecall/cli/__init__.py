"""The `rolecall` command: argv in, one service call, a table or one JSON document out.

Commands of an app's own show things the same way, with the names exported here: what a stranger wrote reaches the
terminal as text, its control characters made visible, never as an escape sequence or as markup.

    print_table(("shop", "town"), ((shop.name, shop.town) for shop in shops), "there is no shop")

They end the same way, too: what a command holds is given back when the process is told to end.

    with unwinding_on_signals():  # raises Terminated in here
        run_unwinding(ask())  # and in a coroutine of the command by a cancellation
"""

from __future__ import annotations

from rolecall.cli.exits import Terminated, run_unwinding, unwinding_on_signals
from rolecall.cli.output import print_facts, print_json, print_line, print_table, shown

__all__ = [
    "Terminated",
    "print_facts",
    "print_json",
    "print_line",
    "print_table",
    "run_unwinding",
    "shown",
    "unwinding_on_signals",
]
