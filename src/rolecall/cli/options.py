"""The options of settings. A flag's text is parsed like that of its environment variable."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import Parameter
from typing import Annotated, Any, get_args

from typer import Argument, BadParameter, Option

from rolecall.config import Setting, access, brokers, database, logs, worker

DATABASE = (database.DATABASE_URL, database.DATABASE_URL_FILE, database.DATA_DIR)
LOGGING = logs.SETTINGS
WORKING = worker.WORKING
NOTIFYING = (brokers.NOTIFICATIONS,)
PROBING = worker.PROBING
HTTP = (access.HTTP,)
ACCESS = access.ACCESS
POOLS = (database.POOLS,)


def settings_options(settings: Iterable[Setting[object]]) -> list[Parameter]:
    """Return one keyword parameter per setting, named like its variable, for typer."""
    return [_option(setting) for setting in settings]


def json_option() -> Parameter:
    """Return the `--json` option, named `as_json`."""
    annotation = Annotated[bool, Option("--json", help="Print one JSON document.")]
    return Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=annotation)


def choice(words: Any, *, help: str) -> Any:  # noqa: A002 - typer's name
    """Return an option for the words of a Literal, which typer before 0.19 does not accept."""
    return Option(help=help, **_only(words))


def choice_argument(words: Any, *, help: str) -> Any:  # noqa: A002 - typer's name
    """Return an argument for the words of a Literal."""
    return Argument(help=help, **_only(words))


def _only(words: Any) -> dict[str, Any]:
    known = get_args(words)

    def read(text: str) -> str:
        if text not in known:
            raise BadParameter(f"{text!r} is not one of {', '.join(known)}")
        return text

    return {"parser": read, "metavar": f"[{'|'.join(known)}]"}


def _option(setting: Setting[object]) -> Parameter:
    default = f" Default {setting.default}." if setting.default else ""
    text = f"{setting.meaning}{default} [{setting.name}]"
    option = Option(setting.flag, metavar=setting.form, help=text, rich_help_panel="Settings")
    return Parameter(setting.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option])
