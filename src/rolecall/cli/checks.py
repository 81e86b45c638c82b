"""The checks of the App that `--app module:attribute` names. Only with that option is `rolecall.app` imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Option

if TYPE_CHECKING:
    from rolecall.app.declarations import AppCheck

Checked = Annotated[str | None, Option("--app", metavar="MODULE:APP", help="Also run the checks of this App.")]


def checks_of(reference: str | None) -> Sequence[AppCheck]:
    """Return the checks of the named App, or none without a name. Raises ConfigError like `load_app`."""
    if not reference:
        return ()
    from rolecall.cli.locate import load_app  # noqa: PLC0415 - see above

    return load_app(reference).checks
