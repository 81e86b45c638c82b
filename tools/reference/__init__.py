"""The reference pages, which are generated from the code. `tools.site` adds them to the other pages.

python_api   the exports of `rolecall` and its public modules, from their docstrings
commands     each command of `rolecall` with its options
routes       the HTTP API, from its OpenAPI document
functions    the public SQL functions, from their headers
settings     the environment variables and flags
errors       the tree of errors, with SQLSTATE, HTTP status and exit code
"""

from __future__ import annotations

from pathlib import Path

from tools.reference import commands, errors, functions, python_api, routes, settings

SCHEMA = Path("docs/reference/schema.sql")


def reference_pages(root: Path) -> dict[str, str]:
    """Return each page by its path on the site."""
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
    """Return the page with the schema as pg_dump prints it."""
    said = "Types, tables and indexes of the schema `rolecall`, as `pg_dump` writes them."
    return f"# Tables\n\n{said}\n\n```sql\n{(root / SCHEMA).read_text('utf-8')}```\n"
