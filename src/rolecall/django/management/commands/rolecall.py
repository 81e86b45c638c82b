"""`manage.py rolecall ...`: the `rolecall` command with the project's App and database."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rolecall.cli import commands
from rolecall.cli.exits import leave
from rolecall.cli.locate import FLAG
from rolecall.cli.main import run
from rolecall.cli.verbs import COMMANDS, Noun, Verb
from rolecall.django.connections import database_dsn

APP = "rolecall.django.worker:app"
PATH = "PYTHONPATH"


class Command(BaseCommand):
    """Runs any `rolecall` command for this project: worker, up, serve, doctor, tasks list ..."""

    help = "Run a rolecall command for this project: worker, serve, doctor, tasks list ... (--help lists them)"
    requires_system_checks = ()

    def run_from_argv(self, argv: list[str]) -> None:
        """Run like `rolecall` and exit with its code. All arguments but Django's --settings are passed on."""
        django = CommandParser(add_help=False, allow_abbrev=False)
        django.add_argument("--settings")
        django.add_argument("--pythonpath")
        options, words = django.parse_known_args(argv[2:])
        prepare(sys.path[:2] if options.pythonpath else sys.path[:1])
        leave(run(filled_in(words)))

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("words", nargs="*")

    def handle(self, *_args: object, words: Sequence[str], **_options: Any) -> None:
        """Run from within a program. Raises CommandError with the exit code unless that is 0."""
        prepare(sys.path[:1])
        if code := run(filled_in(words)):
            raise CommandError(f"rolecall {' '.join(words)} ended with {code}", returncode=code)


def prepare(places: Sequence[str]) -> None:
    """Configure this process and its children: the address of the database and the import path.

    The environment is used, because only this user can read it.
    """
    os.environ["ROLECALL_DATABASE_URL"] = database_dsn()
    folders = [str(Path(place).resolve()) for place in places]
    os.environ[PATH] = os.pathsep.join(filter(None, [*folders, os.environ.get(PATH)]))


def filled_in(words: Sequence[str]) -> list[str]:
    """Add the project's App to a command that takes one but did not get one."""
    known: dict[str, Verb | Noun] = {each.name: each for each in COMMANDS}
    for position, word in enumerate(words, start=1):
        found = known.get(word)
        if isinstance(found, Noun):
            known = {each.name: each for each in found.verbs}
        elif found is None or not _takes_app(found) or any(each.partition("=")[0] == FLAG for each in words):
            break
        else:
            return [*words[:position], FLAG, APP, *words[position:]]
    return list(words)


def _takes_app(verb: Verb) -> bool:
    return "app" in signature(resolve_name(f"{commands.__name__}.{verb.place}")).parameters
