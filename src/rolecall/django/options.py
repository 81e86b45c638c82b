"""The setting ROLECALL, as a frozen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from rolecall.model.hints import close_to


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of the setting ROLECALL. All are optional.

        ROLECALL = {"DATABASE": "tasks", "DASHBOARD": "https://work.example"}

    `app` names an App of the project, such as "shop.background.app". `database` is the alias of the database with
    Rolecall's tables. `modules` are imported when Django starts, to find handlers and Django's tasks; names without a
    dot refer to modules of each installed app. `dashboard` is the address of `rolecall serve`, for links from the
    admin.
    """

    app: str | None = None
    database: str = "default"
    modules: Sequence[str] = ("tasks",)
    dashboard: str | None = None


def options() -> Options:
    """Return the current options. Raises ImproperlyConfigured for an unknown one."""
    values = getattr(settings, "ROLECALL", {})
    words = {field.name.upper(): field.name for field in fields(Options)}
    for word in values:
        if word not in words:
            hint = close_to(word, words) or f"; the options are {', '.join(words)}"
            raise ImproperlyConfigured(f"ROLECALL has no option {word!r}{hint}")
    return Options(**{words[word]: value for word, value in values.items()})
