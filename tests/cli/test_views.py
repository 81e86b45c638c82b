"""`rolecall views`."""

from __future__ import annotations

from tests.cli.conftest import Run


def test_view_is_saved_listed_changed_and_deleted(cli: Run) -> None:
    assert cli("views", "save", "late", "age>1h").out == "saved view 'late' is stored\n"
    assert cli("views", "change", "late", "--name", "very late", "--json").json["query"] == "age>1h"
    assert "very late" in cli("views", "list").out
    cli("views", "delete", "very late")
    assert cli("views", "list").out == "no saved views\n"
