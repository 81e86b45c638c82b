"""The definition of a setting: its names, its parser and its description, used by help, errors and documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from rolecall.config.parsing import InvalidText
from rolecall.model.errors import ConfigError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

OURS = "ROLECALL_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Generic[T_co]):
    """A setting: an environment variable `name` and, optionally, a command-line `flag`.

    `aliases` are other names for the variable, from other systems. `form` describes its text.
    `default` is the default text, or empty if `meaning` describes what happens. A `foreign` variable is defined by
    others and has no name with our prefix.
    """

    name: str
    parse: Callable[[str], T_co]
    form: str
    meaning: str
    default: str = ""
    flag: str = ""
    aliases: tuple[str, ...] = ()
    foreign: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variable, of which the first non-empty one counts.

        Prefixed names come before the same names without `ROLECALL_`, which other programs may use as well.
        """
        if self.foreign:
            return (self.name,)
        spelled = ((OURS + each.removeprefix(OURS), each) for each in (self.name, *self.aliases))
        return tuple(dict.fromkeys(name for pair in spelled for name in pair))


@dataclass(frozen=True, slots=True)
class Source:
    """Where settings are read from: flags, by the names of their settings, and environment variables."""

    environ: Mapping[str, str]
    flags: Mapping[str, str | None]

    def read(self, setting: Setting[T], default: T) -> T:
        """Return the value, or the default if it is not set. Raises ConfigError if it is invalid."""
        label, text = self._find(setting)
        if not text:
            return default
        try:
            return setting.parse(text)
        except InvalidText as error:
            shown = text if error.shown is None else error.shown
            raise ConfigError(f"{shown!r} {error.problem}", variable=label, value=shown) from None

    def _find(self, setting: Setting[object]) -> tuple[str, str]:
        flag = self.flags.get(setting.name)
        if flag is not None:
            return setting.flag, flag.strip()
        found = ((name, text) for name in setting.names if (text := self.environ.get(name, "").strip()))
        return next(found, (setting.name, ""))
