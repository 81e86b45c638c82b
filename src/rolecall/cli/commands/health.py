"""`rolecall health`: check workers from a container's health check or a script."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from typer import Argument, Exit, Option

from rolecall.cli.output import print_table
from rolecall.cli.pages import PATIENCE
from rolecall.cli.probes import ALIVE, READY, TOUCHED_EVERY
from rolecall.cli.shell import Shell

# On a busy machine, several updates can be late.
STALE_AFTER = 6 * TOUCHED_EVERY
IS_READY = "ready"


def health(
    shell: Shell,
    places: Annotated[list[str], Argument(metavar="FILE|URL...", help="The value of --health-file or --health.")],
    *,
    ready: Annotated[bool, Option("--ready", help="Check readiness instead of liveness.")] = False,
) -> None:
    found = {place: _at_url(place, ready=ready) if "://" in place else _in_file(place, ready=ready) for place in places}
    rows = [(place, problem or "healthy") for place, problem in found.items()]
    shell.show(
        [{"place": place, "problem": problem} for place, problem in found.items()],
        lambda: print_table(("worker", "health"), rows, ""),
    )
    if any(found.values()):
        raise Exit(1)


def _in_file(place: str, *, ready: bool) -> str | None:
    """Return what is wrong with the worker that updates this file, or None."""
    file = Path(place)
    try:
        age = time.time() - file.stat().st_mtime
        text = file.read_text("utf-8", "replace").strip()
    except OSError as error:
        return f"no worker found: {error.strerror}"
    if age > STALE_AFTER:
        return f"last healthy {age:.0f} s ago"
    return text if ready and text != IS_READY else None


def _at_url(place: str, *, ready: bool) -> str | None:
    """Return what is wrong with the worker at this address, or None."""
    path = READY if ready else ALIVE
    url = place if urlsplit(place).path.strip("/") else place.rstrip("/") + path
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE):  # noqa: S310 - the user chooses the URL
            return None
    except urllib.error.HTTPError as error:
        return _reason(error)
    except (OSError, ValueError) as error:
        return f"no worker found: {getattr(error, 'reason', error)}"


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["reason"])
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {error.reason}"
