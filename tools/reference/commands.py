"""The page of the command line: every command with its arguments and options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rolecall.cli.late import first_paragraph
from rolecall.cli.main import NAME, build
from rolecall.cli.options import DATABASE, LOGGING
from rolecall.cli.verbs import COMMANDS, Verb
from tools.reference.markdown import cell, code, heading, prose, slug, table

INTRODUCTION = """\
`rolecall COMMAND --help` prints the same in a terminal. Results go to stdout. An error is one line on stderr, and its
kind determines [the exit code](errors.md). Every option for a setting also has [a variable](settings.md)."""
# The options that all commands share are described once.
EVERYWHERE = {"--json", "--help", *(setting.flag for setting in (*DATABASE, *LOGGING))}


def page() -> str:
    """Return all commands, in the order of the command's own help."""
    sections = [text for words, command in commands() for text in describe(words, command)]
    any_command = next(command for _words, command in commands())
    return "\n\n".join(
        [
            "# The command line",
            INTRODUCTION,
            table(["command", "description"], (row_of(words, command) for words, command in commands())),
            heading(2, "Options of every command", "shared"),
            table(["option", "description"], options_of(any_command, shared=True)),
            *sections,
            "",
        ]
    )


def commands() -> Iterator[tuple[str, Any]]:
    """Yield each command with its words."""
    groups: Any = build().commands
    for each in COMMANDS:
        if isinstance(each, Verb):
            yield each.name, groups[each.name].real()
        else:
            below = groups[each.name].commands
            yield from ((f"{each.name} {verb.name}", below[verb.name].real()) for verb in each.verbs)


def row_of(words: str, command: Any) -> list[str]:
    return [f"[`{words}`](#{slug(words)})", cell(first_paragraph(command.help))]


def describe(words: str, command: Any) -> Iterator[str]:
    yield heading(2, f"`{NAME} {words}`", slug(words))
    yield prose(command.help)
    yield code(" ".join([NAME, words, *command.collect_usage_pieces(context(command))]), "text")
    yield table(["option", "description"], options_of(command, shared=False))


def options_of(command: Any, *, shared: bool) -> Iterator[list[str]]:
    """Return the help of the command's arguments and options, or of those that all commands share."""
    for parameter in command.get_params(context(command)):
        record = parameter.get_help_record(context(command))
        if record is not None and bool(EVERYWHERE & set(parameter.opts)) is shared:
            yield [f"`{record[0]}`", cell(record[1])]


def context(command: Any) -> Any:
    return command.context_class(command, info_name=command.name)
