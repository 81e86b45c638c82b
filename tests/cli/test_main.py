"""The command as a whole: help, usage, settings, and the lines and codes of errors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperGroup

from rolecall.cli import LateCommand
from rolecall.cli.late import first_paragraph
from rolecall.cli.main import build
from rolecall.cli.values import read_duration
from rolecall.model.errors import ConfigError
from tests.cli.conftest import Run

COMMANDS = [
    ["up"], ["serve"], ["relay"], ["migrate"], ["worker"], ["enqueue"], ["counts"], ["capacity"],
    ["rescue"], ["prune"],
    *(["tasks", verb] for verb in ("list", "show", "retry", "cancel")),
    *(["roles", verb] for verb in ("list", "pause", "resume")),
    *(["key-capacities", verb] for verb in ("list", "show", "set", "reset")),
    *(["workers", verb] for verb in ("list", "show", "drain", "decommission", "resume")),
    *(["keys", verb] for verb in ("create", "list", "revoke")),
    *(["people", verb] for verb in ("add", "list", "remove", "password")),
    *(["schedules", verb] for verb in ("list", "put", "trigger", "delete")),
]  # fmt: skip

WRONG_APPS = [
    ("shop", "must have the form module:attribute"),
    ("nowhere:app", "no module named nowhere"),
    ("nowhere.deep:app", "no module named nowhere"),
    ("shop:application", "did you mean shop:app?"),
    ("shop:number", "of type int, not a rolecall App"),
    ("shop:app.nothing", "'App' object has no attribute 'nothing'"),
    ("broken:app", "ZeroDivisionError: division by zero (broken.py, line 3)"),
    ("needy:app", "No module named 'something_else'"),
    ("untidy:app", "SyntaxError: expected ':' (untidy.py, line 2)"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help(bare: Run, command: list[str]) -> None:
    done = bare(*command, "--help")

    assert done.code == 0
    for option in ("--json", "--database-url", "--data-dir", "--log"):
        assert option in done.out


def test_command_without_arguments_shows_its_subcommands(bare: Run) -> None:
    out = bare("--help").out

    assert all(command[0] in out for command in COMMANDS)


def test_command_summary_is_the_first_paragraph_of_its_help() -> None:
    def late(group: TyperGroup) -> Iterator[LateCommand]:
        for command in group.commands.values():
            if isinstance(command, TyperGroup):
                yield from late(command)
            elif isinstance(command, LateCommand):
                yield command

    result = [(command.help, first_paragraph(command.real().help)) for command in late(build())]

    assert [listed for listed, begins in result if listed != begins] == []


def test_group_without_a_command_shows_its_help_and_exits_with_code_2(bare: Run) -> None:
    done = bare("tasks")

    assert (done.code, done.err) == (2, "")
    assert "Make failed or cancelled tasks pending again" in done.out


def test_settings_options_have_their_own_heading_in_the_help(bare: Run) -> None:
    before, heading, after = bare("counts", "--help").out.partition("\nSettings:\n")

    assert heading
    assert "--json" in before
    assert "--data-dir" in after


@pytest.mark.parametrize(("words", "place", "offered"), [("tasks re", 2, "retry"), ("tasks list --sta", 3, "--state")])
def test_shell_completion_offers_commands_and_their_options(words: str, place: int, offered: str) -> None:
    completion = {"_ROLECALL_COMPLETE": "complete_bash", "COMP_WORDS": f"rolecall {words}", "COMP_CWORD": str(place)}
    command = [sys.executable, "-c", "from rolecall.cli.main import main; main()"]

    done = subprocess.run(command, env=os.environ | completion, check=False, capture_output=True, text=True)

    assert offered in done.stdout.splitlines()


def test_version_is_printed(bare: Run) -> None:
    assert bare("--version").out.startswith("rolecall ")


def test_unknown_command_exits_with_code_2_and_one_line(bare: Run) -> None:
    done = bare("enqeue")

    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "enqueue" in done.err


def test_invalid_variable_is_named_with_its_value(bare: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLECALL_POLL_INTERVAL_MS", "fast")

    done = bare("worker", "--app", "shop:app")

    assert done.code == 2
    assert "ROLECALL_POLL_INTERVAL_MS: 'fast'" in done.err


def test_invalid_flag_is_named_with_its_value(bare: Run) -> None:
    done = bare("worker", "--app", "shop:app", "--slots", "0")

    assert done.code == 2
    assert "--slots: '0'" in done.err


@pytest.mark.parametrize(("reference", "part"), WRONG_APPS)
@pytest.mark.parametrize("command", ["up", "worker"])
def test_import_error_of_an_app_is_explained(bare: Run, folder: Path, command: str, reference: str, part: str) -> None:
    (folder / "broken.py").write_text("a = 0\n\n1 / a\n")
    (folder / "needy.py").write_text("import something_else\n")
    (folder / "untidy.py").write_text("a = 0\nif a\n    pass\n")

    done = bare(command, "--app", reference)

    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert part in done.err
    assert not (folder / "rolecall-data").exists()


def test_several_processes_require_an_app(bare: Run) -> None:
    assert bare("up", "--processes", "2").code == 2


def test_unreachable_server_exits_with_code_6(bare: Run) -> None:
    done = bare("counts", "--database-url", "postgresql://nobody@127.0.0.1:1/none")

    assert (done.code, len(done.err.splitlines())) == (6, 1)


def test_reading_a_missing_embedded_database_does_not_create_it(bare: Run, folder: Path) -> None:
    done = bare("counts", "--data-dir", "elsewhere")

    assert done.code == 2
    assert "rolecall up" in done.err
    assert not (folder / "elsewhere").exists()


def test_data_dir_that_is_a_file_is_rejected(bare: Run) -> None:
    assert bare("counts", "--data-dir", "shop.py").code == 2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("15m", 900), ("4h", 14_400), ("1d12h", 129_600), ("1w", 604_800), ("0.5h", 1_800)],
)
def test_duration_is_a_number_or_has_units(text: str, seconds: float) -> None:
    assert read_duration(text, "--after") == seconds


@pytest.mark.parametrize("text", ["", "m", "1y", "1h 5", "5 m", "1,5"])
def test_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(ConfigError):
        read_duration(text, "--after")
