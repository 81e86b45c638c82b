"""Named statements: how a file is read, and that code and files agree on all names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import storecrawl
from storecrawl.catalog import sql as catalog_sql
from storecrawl.egress import sql as egress_sql
from storecrawl.lake import sql as lake_sql
from storecrawl.statements import Statements

SOURCE = Path(storecrawl.__file__).parent
PACKAGES = (catalog_sql, egress_sql, lake_sql)


def declared_statements() -> dict[tuple[str, str], Statements]:
    return {
        (package.__name__, name): value
        for package in PACKAGES
        for name, value in vars(package).items()
        if isinstance(value, Statements)
    }


def referenced_statements() -> Iterator[tuple[str, str, str]]:
    packages = {package.__name__ for package in PACKAGES}
    for file in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(file.read_text())
        constants = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module in packages
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in constants:
                yield *constants[node.value.id], node.attr


def test_statement_is_the_text_below_its_name() -> None:
    statements = Statements.read("a.sql", "-- name: one\n-- returns: 1\nselect 1\n\n\n-- name: two\nselect 2\n")

    assert statements.one == b"-- returns: 1\nselect 1"
    assert statements.two == b"select 2"
    assert list(statements) == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("-- about\n-- name: one\nselect 1", "a.sql: text before the first name"),
        ("select 1", "a.sql: text before the first name"),
        ("-- name: one\nselect 1\n-- name: one\nselect 2", "a.sql: two statements are named one"),
        ("-- name: one\n\n-- name: two\nselect 2", "a.sql: one is empty"),
        ("-- name: one two\nselect 1", "a.sql: 'one two' is not a valid name"),
        ("-- name: texts\nselect 1", "a.sql: 'texts' is not a valid name"),
        ("-- name:\nselect 1", "a.sql: '' is not a valid name"),
    ],
)
def test_file_with_other_content_is_rejected(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match="a.sql") as error:
        Statements.read("a.sql", text)

    assert str(error.value) == problem


def test_unknown_statement_raises_an_error_that_names_the_file() -> None:
    with pytest.raises(AttributeError, match=r"^stores\.sql has no statement nothing$"):
        _ = catalog_sql.STORES.nothing


def test_every_named_statement_exists_and_is_used() -> None:
    there_are = {(*constant, name) for constant, statements in declared_statements().items() for name in statements}

    assert set(referenced_statements()) == there_are


def test_every_statement_file_is_declared() -> None:
    files = {
        (package.__name__, file.name)
        for package in PACKAGES
        for file in Path(str(package.__file__)).parent.iterdir()
        if file.suffix == ".sql"
    }

    assert {(package, statements.source) for (package, _), statements in declared_statements().items()} == files
