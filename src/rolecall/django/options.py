"""The setting ROLECALL, as a frozen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

__all__ = ["Options", "options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What can be set of Rolecall in a Django project; everything may be left out.

        ROLECALL = {"DATABASE": "tasks", "DASHBOARD": "https://work.example"}

    `app` names an App of the project's own, as "shop.background.app". `database` is the alias of the database with the
    pool. `modules` are imported when Django starts, so that handlers and Django's tasks are found in them: names
    without a dot stand for modules of each installed app. `dashboard` is where the pages of `rolecall serve` are; the
    admin links to them.
    """

    app: str | None = None
    database: str = "default"
    modules: Sequence[str] = ("tasks",)
    dashboard: str | None = None


def options() -> Options:
    """Read the setting as it stands now; raise ImproperlyConfigured for a word that it does not have."""
    said = getattr(settings, "ROLECALL", {})
    words = {field.name.upper(): field.name for field in fields(Options)}
    for word in said:
        if word not in words:
            close = get_close_matches(word, words, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f": those are {', '.join(words)}"
            raise ImproperlyConfigured(f"ROLECALL has no word {word!r}{hint}")
    return Options(**{words[word]: value for word, value in said.items()})
