"""The page of the settings: each environment variable with its flag, format and meaning."""

from __future__ import annotations

from rolecall.config import SETTINGS, Setting
from tools.reference.markdown import cell, heading, slug, table

INTRODUCTION = """\
Settings are read once at the start, from flags and environment variables; flags take precedence. Commands also
read the variables in the file `.env` in the working directory, unless the environment has them. An empty value counts
as not set. An invalid value ends the command with exit code 2 and a message that names it. The other names are those
of other systems and of earlier releases. They are used if ours is not set, and may also start with `ROLECALL_`."""
COLUMNS = ["variable", "flag", "description", "default", "other names"]


def page() -> str:
    """Return every setting, by subject."""
    sections = (
        text
        for subject, settings in SETTINGS.items()
        for text in (heading(2, subject, slug(subject)), table(COLUMNS, map(row, settings)))
    )
    return "\n\n".join(["# Settings", INTRODUCTION, *sections, ""])


def row(setting: Setting[object]) -> list[str]:
    return [
        f"`{setting.name}`",
        f"`{setting.flag}`" if setting.flag else "",
        f"`{setting.form}` {cell(setting.meaning)}",
        f"`{setting.default}`" if setting.default else "",
        ", ".join(f"`{alias}`" for alias in setting.aliases),
    ]
