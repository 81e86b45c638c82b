"""Commands that are imported when they run or tell their own help: a list of them needs one line of each.

    shop = plain_group("shop", "Look after it.", [LateCommand("open", "Open it.", lambda: resolve_name("doors:open_"))])

Help is plain text: what draws boxes around it takes longer to import than all else together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from typer import Exit, Typer, echo
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

__all__ = ["HELP_OPTIONS", "LateCommand", "PlainGroup", "plain_group", "plain_typer"]

MISUSED = 2
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


class LateCommand(TyperCommand):
    """A command as lists show it. `load` brings its function, or the Typer of a group, when somebody goes into it."""

    def __init__(
        self,
        name: str,
        says: str,
        load: Callable[[], Callable[..., None] | Typer],
        context: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(name, help=says, rich_markup_mode=None)
        self._load = load
        self._context = dict(context or {})

    def real(self) -> Any:
        """Import the command itself."""
        loaded = self._load()
        if isinstance(loaded, Typer):
            return get_group(loaded)
        app = Typer(add_completion=False, rich_markup_mode=None)
        app.command(self.name, cls=PlainCommand, context_settings=self._context)(loaded)
        return get_command(app)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Begin the command itself: its context knows nothing of this one."""
        return self.real().make_context(info_name, args, parent, **extra)


class PlainCommand(TyperCommand):
    """A command whose help has its options under the headings that they name."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options, then each heading of their own."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            if record is not None:
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class PlainGroup(TyperGroup):
    """A group whose help tells of each command the first paragraph; alone it shows its help, and ends with code 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options of the group itself."""
        if not args and not ctx.resilient_parsing:
            echo(ctx.get_help())
            raise Exit(MISUSED)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer calls it so
        """Write the commands in the order in which they were given."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_paragraph(command.help)) for name, command in self.commands.items()])


def plain_group(name: str, says: str, commands: Iterable[TyperCommand | TyperGroup]) -> PlainGroup:
    """Make a group of commands."""
    return PlainGroup(
        name=name,
        help=says,
        commands=list(commands),
        context_settings=HELP_OPTIONS,
        rich_markup_mode=None,
    )


def plain_typer(says: str) -> Typer:
    """Make a Typer to which functions are added as commands, for a group that is imported as a whole."""
    return Typer(cls=PlainGroup, help=says, add_completion=False, rich_markup_mode=None)


def first_paragraph(text: str | None) -> str:
    """Return what a list says of a command whose whole help this is, in one line."""
    return " ".join((text or "").partition("\n\n")[0].split())
