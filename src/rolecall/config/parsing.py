"""Parses the texts of settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from ipaddress import ip_network
from pathlib import Path
from typing import TypeVar

import msgspec

from rolecall.model.operator.logs import LEVELS, LogLevel
from rolecall.model.workers import MOST_SLOTS

T = TypeVar("T")
Choice = TypeVar("Choice", bound=StrEnum)
Number = TypeVar("Number", int, float)

ROLE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}")
KUBERNETES_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?")
PATH = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._~-]*)+")
ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\[\]:\s]+):(?P<port>\d{1,5})")
HIGHEST_PORT = 65_535
LONGEST_NAME = 100
HOUR_MS = 3_600_000


class InvalidText(Exception):
    """A text that is invalid for its setting: the problem, and what to show instead of a secret."""

    def __init__(self, problem: str, shown: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.shown = shown


def address(text: str) -> tuple[str, int]:
    found = ADDRESS.fullmatch(text)
    if found is None or int(found["port"]) > HIGHEST_PORT:
        raise InvalidText("is not an address such as 127.0.0.1:9100")
    return found["host"].strip("[]"), int(found["port"])


def task_logs(text: str) -> LogLevel:
    if text not in LEVELS:
        raise InvalidText(f"is not {', '.join(LEVELS[:-1])} or {LEVELS[-1]}")
    return text


def folder(text: str) -> Path:
    path = Path(text).expanduser()
    if path.exists() and not path.is_dir():
        raise InvalidText("is not a folder")
    return path


def roles(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(role(part.strip()) for part in text.split(",")))


def role(text: str) -> str:
    if not ROLE.fullmatch(text):
        raise InvalidText(f"contains {text!r}, which is not a role name (letters, digits, _ . -)")
    return text


def slots(text: str) -> int | dict[str, int]:
    if ":" not in text:
        return integer(1, MOST_SLOTS)(text)
    found: dict[str, int] = {}
    for part in text.split(","):
        name_of_role, colon, number = (piece.strip() for piece in part.partition(":"))
        if not colon:
            raise InvalidText(f"contains {part.strip()!r}; the form is role:slots, such as analytics:4,import:2")
        if role(name_of_role) in found:
            raise InvalidText(f"contains the role {name_of_role} twice")
        found[name_of_role] = integer(1, MOST_SLOTS)(number)
    within(sum(found.values()), 1, MOST_SLOTS)
    return found


def name(text: str) -> str:
    if len(text) > LONGEST_NAME or not text.isprintable():
        raise InvalidText(f"must be printable and at most {LONGEST_NAME} characters long")
    return text


def kubernetes_name(text: str) -> str:
    if not KUBERNETES_NAME.fullmatch(text):
        raise InvalidText("is not a valid Kubernetes name (a-z, 0-9 and -, at most 63 characters)")
    return text


def origins(text: str) -> frozenset[str]:
    found = frozenset(part.strip().lower().rstrip("/") for part in text.split(","))
    for origin in found:
        if not ORIGIN.fullmatch(origin):
            raise InvalidText(f"contains {origin!r}, which is not an origin such as https://work.example")
    return found


def path(text: str) -> str:
    if not PATH.fullmatch(text.rstrip("/")):
        raise InvalidText("is not a path such as /queue")
    return text.rstrip("/")


def addresses(text: str) -> str:
    for part in text.split(","):
        try:
            ip_network(part.strip(), strict=False)
        except ValueError:
            raise InvalidText(f"contains {part.strip()!r}, which is neither an address nor a network") from None
    return text


def integer(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        return within(convert(text, int, "is not a whole number"), least, most)

    return parse


def milliseconds(least: int, most: int = HOUR_MS) -> Callable[[str], float]:
    def parse(text: str) -> float:
        return integer(least, most)(text) / 1000

    return parse


def decimal(least: float, most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        return within(convert(text, float, "is not a number"), least, most)

    return parse


def one_of(options: type[Choice]) -> Callable[[str], Choice]:
    def parse(text: str) -> Choice:
        for option in options:
            if option.lower() == text.lower():
                return option
        raise InvalidText(f"is not one of {', '.join(options)}")

    return parse


def answer(answers: Mapping[str, T]) -> Callable[[str], T]:
    def parse(text: str) -> T:
        if text.lower() not in answers:
            raise InvalidText(f"is not one of {', '.join(answers)}")
        return answers[text.lower()]

    return parse


yes_or_no = answer({"yes": True, "no": False})
yes_no_or_auto = answer({"yes": True, "no": False, "auto": None})


def convert(text: str, kind: type[T], problem: str) -> T:
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError:
        raise InvalidText(problem) from None


def within(number: Number, least: Number, most: Number) -> Number:
    if not least <= number <= most:
        raise InvalidText(f"must be between {least} and {most}")
    return number
