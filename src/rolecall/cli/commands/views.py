"""`rolecall views`: queries of tasks under a name."""

from __future__ import annotations

from dataclasses import astuple, fields
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.model.operator.saved_views import SavedView

Name = Annotated[str, Argument(help="The name of the saved view.")]
Query = Annotated[str, Argument(help="A query such as 'role:mail state:failed age>1h'.")]

COLUMNS = tuple(field.name.replace("_", " ") for field in fields(SavedView))


def list_(shell: Shell) -> None:
    views = shell.call(lambda services: services.saved_views.list())
    shell.show(views, lambda: print_table(COLUMNS, map(astuple, views), "no saved views"))


def save(shell: Shell, name: Name, query: Query) -> None:
    view = shell.call(lambda services: services.saved_views.save(name, query))
    shell.show(view, lambda: print_line(f"saved view {view.name!r} is stored"))


def change(
    shell: Shell,
    name: Name,
    *,
    new_name: Annotated[str | None, Option("--name", help="Its new name.")] = None,
    query: Annotated[str | None, Option(help="Its new query.")] = None,
) -> None:
    view = shell.call(lambda services: services.saved_views.change(name, name=new_name, query=query))
    shell.show(view, lambda: print_line(f"saved view {view.name!r} finds {view.query}"))


def delete(shell: Shell, name: Name) -> None:
    shell.call(lambda services: services.saved_views.delete(name))
    shell.show({"deleted": name}, lambda: print_line(f"saved view {name!r} deleted"))
