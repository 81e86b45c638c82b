"""Parses the engine's SQL for the tools: each function, procedure and view with its header and its callers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path("src/rolecall")
SQL = PACKAGE / "sql"
FUNCTIONS = SQL / "functions"
MIGRATIONS = SQL / "migrations"
CREATE = re.compile(
    r"^create\s+(or\s+replace\s+)?(function|procedure|view)\s+(?:\w+\.)?(\w+)", re.IGNORECASE | re.MULTILINE
)
TRIGGER = re.compile(r"^returns\s+trigger\b", re.IGNORECASE | re.MULTILINE)
COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
ANSWER = re.compile(r"(public|returns|raises|locks|notifies|search_path): ?(.*)")
NAME = re.compile(r"\brolecall\.([a-z_][a-z_0-9]*)\b")
SETTING = re.compile(r"^set\s+(\w+)\s*(?:=|to)\s*([^\n]+?)\s*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The comment above an object: a description, then fields such as `raises: RC031 unknown role`."""

    purpose: str
    answers: Mapping[str, str]

    @classmethod
    def read(cls, lines: list[str]) -> Header:
        """Parse comment lines; a line without a field name continues the one before."""
        purpose: list[str] = []
        answers: dict[str, str] = {}
        last = None
        for line in lines:
            if found := ANSWER.fullmatch(line):
                last = found[1]
                answers[last] = found[2].strip()
            elif last is None:
                purpose.append(line)
            else:
                answers[last] = f"{answers[last]} {line}".strip()
        return cls(purpose=" ".join(purpose), answers=answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlObject:
    """A function, procedure or view: the header above it, and its code without comments."""

    name: str
    kind: str
    file: Path
    line: int
    header: Header
    code: str
    replaces: bool
    is_first: bool

    @property
    def is_public(self) -> bool:
        """Whether it is intended for callers outside of the engine."""
        return "public" in self.header.answers

    @property
    def is_trigger(self) -> bool:
        """Whether it is a trigger function."""
        return bool(TRIGGER.search(self.code))

    @property
    def settings(self) -> frozenset[tuple[str, str]]:
        """Its SET clauses, as pairs of name and value, without the search path."""
        header = self.code.partition("$$")[0]
        return frozenset(pair for pair in SETTING.findall(header) if pair[0] != "search_path")

    def calls(self, other: SqlObject) -> bool:
        """Return whether its code calls a function or uses a view. A table may have the same name as a function."""
        pattern = rf"\brolecall\.{other.name}\b" + ("" if other.kind == "view" else r"\(")
        return other.name != self.name and re.search(pattern, self.code) is not None


@dataclass(frozen=True)
class Engine:
    """All objects that the files in `functions` create, and the names that the rest of the package uses."""

    objects: tuple[SqlObject, ...]
    used_names: frozenset[str]

    @classmethod
    def read(cls, root: Path) -> Engine:
        """Read the files below a project's root."""
        objects = tuple(each for file in sorted((root / FUNCTIONS).rglob("*.sql")) for each in objects_of(file))
        others = [*(root / PACKAGE).rglob("*.py"), *(root / SQL / "schema").glob("*.sql")]
        used_names = frozenset(name for file in others for name in NAME.findall(file.read_text("utf-8")))
        return cls(objects, used_names)

    @cached_property
    def by_name(self) -> Mapping[str, SqlObject]:
        """The objects by name."""
        return {each.name: each for each in self.objects}

    @cached_property
    def callers(self) -> Mapping[str, frozenset[str]]:
        """The callers of each object, by names."""
        called = {
            sql_object.name: {other.name for other in self.objects_called_by(sql_object)} for sql_object in self.objects
        }
        return {name: frozenset(each for each, others in called.items() if name in others) for name in called}

    @cached_property
    def inherited_settings(self) -> Mapping[str, frozenset[tuple[str, str]]]:
        """The settings with which every caller in the tree runs a function; none if something else may call it."""
        everything = frozenset().union(*(sql_object.settings for sql_object in self.objects))
        inherited = {
            sql_object.name: frozenset() if self.is_for_others(sql_object) else everything
            for sql_object in self.objects
        }
        is_settled = False
        while not is_settled:
            before = dict(inherited)
            for name, callers in self.callers.items():
                for caller in callers:
                    inherited[name] &= self.by_name[caller].settings | before[caller]
            is_settled = inherited == before
        return inherited

    def is_for_others(self, sql_object: SqlObject) -> bool:
        """Return whether anything but these files uses it: outside callers, a table, or the rest of the package."""
        return (
            sql_object.is_public
            or sql_object.is_trigger
            or sql_object.kind == "view"
            or sql_object.name in self.used_names
        )

    def files_that_call(self, sql_object: SqlObject) -> set[Path]:
        """Return the files with a function that uses an object."""
        return {self.by_name[name].file for name in self.callers[sql_object.name]}

    def is_shared(self, file: Path) -> bool:
        """Return whether a file contains only objects internal to the engine that several files call."""
        inside = [sql_object for sql_object in self.objects if sql_object.file == file]
        callers = set().union(*map(self.files_that_call, inside)) - {file}
        return len(callers) > 1 and not any(self.is_for_others(sql_object) for sql_object in inside)

    def objects_called_by(self, sql_object: SqlObject) -> list[SqlObject]:
        """Return the objects that an object uses, in the order of their first use."""
        named = [self.by_name[name] for name in dict.fromkeys(NAME.findall(sql_object.code)) if name in self.by_name]
        return [other for other in named if sql_object.calls(other)]

    def functions_called_by(self, name: str) -> set[str]:
        """Return the functions that a function may call directly; what a view calls does not count."""
        return {other.name for other in self.objects_called_by(self.by_name[name]) if other.kind != "view"}

    def reachable_from(self, names: Iterable[str]) -> set[str]:
        """Return the functions that any of these may call, directly or indirectly, including these."""
        reachable: set[str] = set()
        ahead = self.by_name.keys() & set(names)
        while ahead:
            reachable |= ahead
            ahead = set().union(*map(self.functions_called_by, ahead)) - reachable
        return reachable

    def longest_path_from(self, name: str) -> list[str]:
        """Return the longest chain of calls that begins with a function. A function that calls itself counts once.

        Raises graphlib.CycleError if functions call each other in a circle.
        """
        called = {each: self.functions_called_by(each) for each in self.reachable_from({name})}
        longest: dict[str, list[str]] = {}
        for each in TopologicalSorter(called).static_order():
            longest[each] = [each, *max((longest[other] for other in sorted(called[each])), key=len, default=[])]
        return longest[name]


def objects_of(file: Path) -> list[SqlObject]:
    """Parse the objects of a file."""
    text = file.read_text("utf-8")
    code = without_comments(text)
    starts = list(CREATE.finditer(code))
    headers = [header_above(text, start.start()) for start in starts]
    ends = [*(position for position, _ in headers[1:]), len(text)]
    return [
        SqlObject(
            name=start[3],
            kind=start[2].lower(),
            file=file,
            line=line_of(text, start.start()),
            header=header,
            code=code[start.start() : end],
            replaces=start[1] is not None,
            is_first=start is starts[0],
        )
        for start, (_, header), end in zip(starts, headers, ends, strict=True)
    ]


def header_above(text: str, position: int) -> tuple[int, Header]:
    """Return the comment directly above a position: where it begins, and its content."""
    lines: list[str] = []
    for line in reversed(text[:position].splitlines(keepends=True)):
        if not line.startswith("--"):
            break
        position -= len(line)
        lines.insert(0, line.removeprefix("--").strip())
    return position, Header.read(lines)


def without_comments(text: str) -> str:
    """Replace comments with spaces, so that positions stay valid."""
    return COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)


def line_of(text: str, position: int) -> int:
    """Return the line number of a position."""
    return text.count("\n", 0, position) + 1
