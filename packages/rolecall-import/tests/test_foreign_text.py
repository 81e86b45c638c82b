"""Text of the code that is read becomes comments and literals of the printed module, never its statements."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from rolecall_import import module_text, read_code
from rolecall_import.reading import literal

EVIL = "os.system('id')"
BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028"]
HEAD = "from celery import Celery\napp = Celery('x')\n@app.task\ndef f(): ...\n"


def is_called(module: str) -> bool:
    """Whether the module has a call of `system`, also within an annotation or a default."""
    return any(
        isinstance(node, ast.Call) and "system" in ast.unparse(node.func) for node in ast.walk(ast.parse(module))
    )


@pytest.mark.parametrize("line_break", BREAKS)
def test_name_of_a_schedule_stays_in_its_comment(tmp_path: Path, line_break: str) -> None:
    name = f"nightly{line_break}import os; {EVIL}{line_break}#"
    (tmp_path / "tasks.py").write_text(
        f"{HEAD}app.conf.beat_schedule = {{{name!r}: {{'task': 'f', 'schedule': 30.0, 'args': (made(),)}}}}\n"
    )

    assert not is_called(module_text(read_code("celery", tmp_path), "moved"))


def test_file_name_stays_in_its_comment(tmp_path: Path) -> None:
    (tmp_path / f"a\nimport os; {EVIL}\n#.py").write_text(HEAD)

    assert not is_called(module_text(read_code("celery", tmp_path), "moved"))


def test_name_of_an_unreadable_file_stays_in_its_comment(tmp_path: Path) -> None:
    (tmp_path / f"a\nimport os; {EVIL}\n#.py").write_text("def (")

    assert not is_called(module_text(read_code("celery", tmp_path), "moved"))


@pytest.mark.parametrize(
    "annotation", ["exec('import os')", "list[exec('import os')]", "list['exec(1)']", "(lambda: 1)()"]
)
def test_annotation_that_runs_code_is_not_copied(tmp_path: Path, annotation: str) -> None:
    (tmp_path / "tasks.py").write_text(f"from celery import shared_task\n@shared_task\ndef f(x: {annotation}): ...\n")

    [task] = read_code("celery", tmp_path).tasks

    assert task.parameters[0].annotation == "Any"


def test_quote_in_the_name_of_the_app_stays_in_its_text(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(HEAD)

    module = module_text(read_code("celery", tmp_path), f'x"); import os; {EVIL}; ("')

    assert not is_called(module)


@pytest.mark.parametrize("text", ['"', "'\"", '\\"', '\n"', "\U0001f600\n", "\ud800", "\x00"])
def test_text_as_code_evaluates_to_the_same_text(text: str) -> None:
    assert ast.literal_eval(literal(text)) == text
