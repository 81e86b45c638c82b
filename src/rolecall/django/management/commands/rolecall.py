"""`manage.py rolecall ...`: the `rolecall` command, with the project's App and database filled in."""

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
from rolecall.django.connections import dsn_of_pool

APP = "rolecall.django.worker:app"
PATH = "PYTHONPATH"


class Command(BaseCommand):
    """Runs any command of Rolecall for this project: worker, up, serve, doctor, tasks list ..."""

    help = "Run a command of Rolecall for this project: worker, serve, doctor, tasks list ... (--help lists them)"
    requires_system_checks = ()

    def run_from_argv(self, argv: list[str]) -> None:
        """Run it as `rolecall` runs, and end with its exit code; every word is Rolecall's but Django's --settings."""
        django = CommandParser(add_help=False, allow_abbrev=False)
        django.add_argument("--settings")
        django.add_argument("--pythonpath")
        said, words = django.parse_known_args(argv[2:])
        prepare(sys.path[:2] if said.pythonpath else sys.path[:1])
        leave(run(filled_in(words)))

    def add_arguments(self, parser: CommandParser) -> None:
        """Take words from `call_command("rolecall", "doctor")`."""
        parser.add_argument("words", nargs="*")

    def handle(self, *_args: object, words: Sequence[str], **_options: Any) -> None:
        """Run it from within a program; raises CommandError with the exit code of one that did not end well."""
        prepare(sys.path[:1])
        if code := run(filled_in(words)):
            raise CommandError(f"rolecall {' '.join(words)} ended with {code}", returncode=code)


def prepare(places: Sequence[str]) -> None:
    """Tell this process and those that it starts where the pool is, and in which places the project's modules are.

    It goes by the environment, which nobody but this user can read.
    """
    os.environ["ROLECALL_DATABASE_URL"] = dsn_of_pool()
    folders = [str(Path(place).resolve()) for place in places]
    os.environ[PATH] = os.pathsep.join(filter(None, [*folders, os.environ.get(PATH)]))


def filled_in(words: Sequence[str]) -> list[str]:
    """Put the project's App behind a command that takes one and was given none."""
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
