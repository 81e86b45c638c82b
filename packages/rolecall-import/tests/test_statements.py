"""No statement of a code base is lost: each one is translated or listed."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rolecall_import import module_text, read_code

from .code_bases import SAMPLES

SYSTEMS = {"celery": "celery", "celery-refused": "celery", "procrastinate": "procrastinate", "rq": "rq"}


def statements_of(file: Path) -> list[ast.stmt]:
    """Every statement without docstrings, `from __future__` and `pass`, which have no meaning for the new code."""
    tree = ast.parse(file.read_text())
    docstring = tree.body[0] if tree.body and ast.get_docstring(tree) is not None else None
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and node is not docstring
        and not isinstance(node, ast.Pass)
        and not (isinstance(node, ast.ImportFrom) and node.module == "__future__")
    ]


def without(text: str, statement: ast.stmt) -> str:
    """The file with `pass` in place of a statement. All other statements keep their lines."""
    first = min([statement, *getattr(statement, "decorator_list", [])], key=lambda node: node.lineno)
    lines = text.splitlines(keepends=True)
    begin, end = first.lineno - 1, (statement.end_lineno or first.lineno) - 1
    before = lines[begin].encode()[: statement.col_offset].decode()
    after = lines[end].encode()[statement.end_col_offset :].decode()
    return "".join([*lines[:begin], f"{before}pass", "\n" * (end - begin), after, *lines[end + 1 :]])


def printed(folder: Path, system: str) -> str:
    return module_text(read_code(system, folder), "moved")


@pytest.mark.parametrize("sample", SYSTEMS)
def test_output_differs_when_any_statement_is_deleted(sample: str) -> None:
    folder, system = SAMPLES / sample, SYSTEMS[sample]
    whole = printed(folder, system)
    places = [(file, each) for file in sorted(folder.rglob("*.py")) for each in statements_of(file)]

    @settings(max_examples=150, deadline=None, database=None)
    @given(place=st.sampled_from(places))
    def check(place: tuple[Path, ast.stmt]) -> None:
        file, statement = place
        with TemporaryDirectory() as copy:
            shutil.copytree(folder, Path(copy, sample), ignore=shutil.ignore_patterns("__pycache__"))
            Path(copy, sample, file.relative_to(folder)).write_text(without(file.read_text(), statement))

            assert printed(Path(copy, sample), system) != whole, ast.unparse(statement)

    check()


def test_file_without_the_other_system_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text("import json\nclass Order:\n    number = 7\n")
    (tmp_path / "tasks.py").write_text("from celery import shared_task\n@shared_task\ndef one(): ...\n")

    assert "# models.py: 3 statements without Celery\n" in printed(tmp_path, "celery")


def test_statement_of_a_file_with_tasks_is_listed_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("from celery import shared_task\nLIMIT = 7\n@shared_task\ndef one(): ...\n")

    assert "# tasks.py:2: LIMIT = 7\n" in printed(tmp_path, "celery")
