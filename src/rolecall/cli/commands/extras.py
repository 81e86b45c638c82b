"""`rolecall extras`: the optional dependencies, installed or not."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.cli.output import print_table
from rolecall.cli.shell import Shell
from rolecall.extras import EXTRAS, missing_modules, pip_install

COLUMNS = ("extra", "for", "installed", "how to install it")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownExtra:
    """The status of an extra."""

    name: str
    gives: str
    installed: bool
    missing: tuple[str, ...]


def extras(shell: Shell) -> None:
    found = [
        ShownExtra(name=name, gives=extra.gives, installed=not missing, missing=missing)
        for name, extra in EXTRAS.items()
        for missing in [missing_modules(name)]
    ]
    shell.show(found, lambda: print_table(COLUMNS, map(_row, found), ""))


def _row(extra: ShownExtra) -> tuple[str, ...]:
    if extra.installed:
        return (extra.name, extra.gives, "yes", "")
    return (extra.name, extra.gives, f"no: {', '.join(extra.missing)}", pip_install(extra.name))
