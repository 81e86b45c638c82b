"""What a setting is: under which names it is read, how, and what it means. Help, errors and docs say it from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from rolecall.config.parsing import Unfit
from rolecall.model.errors import ConfigError

__all__ = ["Setting", "Source"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

OURS = "ROLECALL_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Generic[T_co]):
    """One thing that can be set: by the variable `name`, and on the command line by `flag`, if it has one.

    `aliases` are other names for the variable, for who knows another system or an earlier release. `form` is what its
    text looks like, `default` the text that is meant where nothing is given: empty where `meaning` says what happens
    then. `foreign`: somebody else sets it, for everybody, so that it has no name of ours.
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
        """Every variable by which it is read, and the first that is not empty counts: a name that is only ours goes
        before the same without `ROLECALL_`, which may be somebody else's, too.
        """
        if self.foreign:
            return (self.name,)
        spelled = ((OURS + each.removeprefix(OURS), each) for each in (self.name, *self.aliases))
        return tuple(dict.fromkeys(name for pair in spelled for name in pair))


@dataclass(frozen=True, slots=True)
class Source:
    """Where settings are read from: flags, by the names of their settings, and the environment."""

    environ: Mapping[str, str]
    flags: Mapping[str, str | None]

    def read(self, setting: Setting[T], default: T) -> T:
        """Return the value, or the default where nothing is given. Raises ConfigError for what does not fit."""
        label, text = self._find(setting)
        if not text:
            return default
        try:
            return setting.parse(text)
        except Unfit as unfit:
            shown = text if unfit.shown is None else unfit.shown
            raise ConfigError(f"{shown!r} {unfit.problem}", variable=label, value=shown) from None

    def _find(self, setting: Setting[object]) -> tuple[str, str]:
        flag = self.flags.get(setting.name)
        if flag is not None:
            return setting.flag, flag.strip()
        found = ((name, text) for name in setting.names if (text := self.environ.get(name, "").strip()))
        return next(found, (setting.name, ""))
