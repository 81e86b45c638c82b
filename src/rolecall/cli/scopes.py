"""The option for the scope of a new key or person."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from rolecall.model.operator.access import Scope

ScopeOption = Annotated[
    Scope,
    Option(
        "--scope", help="own: the caller's own tasks; read: read-only; operate: tasks and workers; admin: everything."
    ),
]
