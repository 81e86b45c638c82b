"""Lazily imported commands. Listing them needs only their names and summaries.

    shop = plain_group("shop", "Look after it.", [LateCommand("open", "Open it.", lambda: resolve_name("doors:open_"))])

Help is plain text, because importing rich takes longer than everything else together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from typer import Exit, Typer, echo
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

MISUSED = 2
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


class LateCommand(TyperCommand):
    """A command imported when it runs or shows its help. `load` returns its function, or the Typer of a group."""

    def __init__(
        self,
        name: str,
        summary: str,
        load: Callable[[], Callable[..., None] | Typer],
        context: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(name, help=summary, rich_markup_mode=None)
        self._load = load
        self._context = dict(context or {})

    def real(self) -> Any:
        loaded = self._load()
        if isinstance(loaded, Typer):
            return get_group(loaded)
        app = Typer(add_completion=False, rich_markup_mode=None)
        app.command(self.name, cls=PlainCommand, context_settings=self._context)(loaded)
        return get_command(app)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Create the context of the real command."""
        return self.real().make_context(info_name, args, parent, **extra)


class PlainCommand(TyperCommand):
    """A command whose help groups its options under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options, and the options of each heading."""
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
    """A group that lists the first paragraph of its commands. Without arguments, it shows its help and exits with 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            echo(ctx.get_help())
            raise Exit(MISUSED)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer's signature
        """Write the commands in the given order."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_paragraph(command.help)) for name, command in self.commands.items()])


def plain_group(name: str, summary: str, commands: Iterable[TyperCommand | TyperGroup]) -> PlainGroup:
    """Create a group of commands."""
    return PlainGroup(
        name=name,
        help=summary,
        commands=list(commands),
        context_settings=HELP_OPTIONS,
        rich_markup_mode=None,
    )


def plain_typer(summary: str) -> Typer:
    """Create a Typer for a group that is imported as a whole."""
    return Typer(cls=PlainGroup, help=summary, add_completion=False, rich_markup_mode=None)


def first_paragraph(text: str | None) -> str:
    """Return the first paragraph of a help text as one line."""
    return " ".join((text or "").partition("\n\n")[0].split())
