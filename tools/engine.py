"""The engine's SQL as the tools read it: each function, procedure and view with its header, and who calls whom."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
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
    """The comment above an object: a sentence, then answers such as `raises: RC031 unknown role`."""

    purpose: str
    answers: Mapping[str, str]

    @classmethod
    def read(cls, lines: list[str]) -> Header:
        """Read comment lines; what follows an answer's line without a word of its own goes on with it."""
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
class Made:
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
        """Whether it is made for callers outside of the engine."""
        return "public" in self.header.answers

    @property
    def is_trigger(self) -> bool:
        """Whether a table calls it."""
        return bool(TRIGGER.search(self.code))

    @property
    def settings(self) -> frozenset[tuple[str, str]]:
        """Its SET clauses, as pairs of name and value, without the search path."""
        header = self.code.partition("$$")[0]
        return frozenset(pair for pair in SETTING.findall(header) if pair[0] != "search_path")

    def calls(self, other: Made) -> bool:
        """Whether its code calls a function, or names a view; a table may bear the name of a function."""
        asked = rf"\brolecall\.{other.name}\b" + ("" if other.kind == "view" else r"\(")
        return other.name != self.name and re.search(asked, self.code) is not None


@dataclass(frozen=True)
class Engine:
    """All that the tree of functions makes, and what the rest of the package names of it."""

    made: tuple[Made, ...]
    asked: frozenset[str]

    @classmethod
    def read(cls, root: Path) -> Engine:
        """Read the tree below a project's root."""
        made = tuple(each for file in sorted((root / FUNCTIONS).rglob("*.sql")) for each in objects_of(file))
        others = [*(root / PACKAGE).rglob("*.py"), *(root / SQL / "schema").glob("*.sql")]
        asked = frozenset(name for file in others for name in NAME.findall(file.read_text("utf-8")))
        return cls(made, asked)

    @cached_property
    def by_name(self) -> Mapping[str, Made]:
        """What the tree makes, by its names."""
        return {each.name: each for each in self.made}

    @cached_property
    def callers(self) -> Mapping[str, frozenset[str]]:
        """Who of the tree names each of it."""
        called = {made.name: {other.name for other in self.called_by(made)} for made in self.made}
        return {name: frozenset(each for each, others in called.items() if name in others) for name in called}

    @cached_property
    def inherited_settings(self) -> Mapping[str, frozenset[tuple[str, str]]]:
        """The settings with which every caller in the tree runs a function; none if something else may call it."""
        everything = frozenset().union(*(made.settings for made in self.made))
        inherited = {made.name: frozenset() if self.is_for_others(made) else everything for made in self.made}
        is_settled = False
        while not is_settled:
            before = dict(inherited)
            for name, callers in self.callers.items():
                for caller in callers:
                    inherited[name] &= self.by_name[caller].settings | before[caller]
            is_settled = inherited == before
        return inherited

    def is_for_others(self, made: Made) -> bool:
        """Whether something outside of the tree calls it: callers of the engine, a table, the rest of the package."""
        return made.is_public or made.is_trigger or made.kind == "view" or made.name in self.asked

    def files_that_call(self, made: Made) -> set[Path]:
        """The files of the tree with a function that names it."""
        return {self.by_name[name].file for name in self.callers[made.name]}

    def is_shared(self, file: Path) -> bool:
        """Whether a file holds what the engine alone calls, and several files call."""
        inside = [made for made in self.made if made.file == file]
        callers = set().union(*map(self.files_that_call, inside)) - {file}
        return len(callers) > 1 and not any(self.is_for_others(made) for made in inside)

    def called_by(self, made: Made) -> list[Made]:
        """What an object names of the tree, in the order in which it first does."""
        named = [self.by_name[name] for name in dict.fromkeys(NAME.findall(made.code)) if name in self.by_name]
        return [other for other in named if made.calls(other)]

    def reached_from(self, names: Iterable[str]) -> set[str]:
        """The functions that some of them may call, and those that these may call, they themselves included."""
        reached: set[str] = set()
        ahead = self.by_name.keys() & set(names)
        while ahead:
            reached |= ahead
            called = [made for name in ahead for made in self.called_by(self.by_name[name])]
            ahead = {made.name for made in called if made.kind != "view"} - reached
        return reached


def objects_of(file: Path) -> list[Made]:
    """Read what a file makes."""
    text = file.read_text("utf-8")
    code = without_comments(text)
    starts = list(CREATE.finditer(code))
    headers = [header_above(text, start.start()) for start in starts]
    ends = [*(position for position, _ in headers[1:]), len(text)]
    return [
        Made(
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
    """Where the comment right above a place begins, and what it says."""
    lines: list[str] = []
    for line in reversed(text[:position].splitlines(keepends=True)):
        if not line.startswith("--"):
            break
        position -= len(line)
        lines.insert(0, line.removeprefix("--").strip())
    return position, Header.read(lines)


def without_comments(text: str) -> str:
    """The same lines with the comments blanked, so that positions stay true."""
    return COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)


def line_of(text: str, position: int) -> int:
    """The number of the line in which a position is."""
    return text.count("\n", 0, position) + 1
