"""The page of the settings: each variable that is read, its flag, and what it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rolecall.cli import options
from rolecall.config import COMMON, FLAGS, OURS, read_settings
from tools.reference.markdown import cell, table

__all__ = ["page", "variables"]

SAYS = """\
Settings come from flags and from the environment, read once at the start; a flag wins. A variable whose name may be
somebody else's, too, has another one that is only ours and goes first: `ROLECALL_WORKER_SLOTS` before `WORKER_SLOTS`.
An empty text counts as not given, and one that does not fit ends the command with exit code 2 and a sentence that
names it."""


def page() -> str:
    """Every variable that `read_settings` asks for."""
    meanings = {row[0]: row[2] for row in rows_of_options()}
    rows = (
        [f"`{name}`", f"`{FLAGS[name]}`" if name in FLAGS else "", cell(meanings.get(name))] for name in variables()
    )
    return "\n\n".join(["# Settings", SAYS, table(["variable", "flag", "what it says"], rows), ""])


def variables() -> list[str]:
    """The variables by their own names, not those that go first."""
    asked = Asked()
    read_settings(asked)
    return sorted(name for name in asked.names if name.removeprefix(OURS) not in asked.names or not is_second(name))


def is_second(name: str) -> bool:
    return name.startswith(OURS) and name not in FLAGS and name not in COMMON


def rows_of_options() -> Iterator[tuple[str, str, str]]:
    for rows in (options.DATABASE, options.LOGGING, options.WORKING, options.NOTIFYING, options.METRICS, options.HTTP):
        yield from rows
    yield from options.ACCESS


class Asked(Mapping[str, str]):
    """An empty environment that notes what it is asked for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __getitem__(self, name: str) -> str:
        self.names.append(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
