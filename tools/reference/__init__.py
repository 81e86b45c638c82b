"""The reference: pages made of the code, so that what they say is what runs. `tools.site` puts them beside the others.

python_api   what `rolecall` and its public modules export, by their docstrings
commands     each command of `rolecall` with its options
routes       the HTTP API, by its own OpenAPI document
functions    the SQL functions made for callers, by their headers
settings     what the environment and flags can say
errors       the tree of errors, with SQLSTATE, HTTP status and exit code
"""

from __future__ import annotations

from pathlib import Path

from tools.reference import commands, errors, functions, python_api, routes, settings

__all__ = ["reference_pages"]

SCHEMA = Path("docs/reference/schema.sql")


def reference_pages(root: Path) -> dict[str, str]:
    """Each page by its place on the site."""
    return {
        **python_api.pages(root),
        **functions.pages(root),
        "reference/cli.md": commands.page(),
        "reference/http.md": routes.page(),
        "reference/settings.md": settings.page(),
        "reference/errors.md": errors.page(),
        "reference/schema.md": schema(root),
    }


def schema(root: Path) -> str:
    """The tables as pg_dump sees them."""
    said = "Types, tables and indexes of the schema `rolecall`, as `pg_dump` writes them."
    return f"# Tables\n\n{said}\n\n```sql\n{(root / SCHEMA).read_text('utf-8')}```\n"
