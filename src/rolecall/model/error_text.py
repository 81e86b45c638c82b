"""The text that is stored and logged for an error: a one-line summary, then Python's traceback.

    ValueError: the day was not closed (caused by ConnectionResetError: [Errno 104] Connection reset by peer)
    Traceback (most recent call last):
      File "ledger.py", line 12, in read
    ConnectionResetError: [Errno 104] Connection reset by peer

    The above exception was the direct cause of the following exception:
    ...

All causes, the members of exception groups, and notes are included. Rolecall's own frames are omitted. The length is
limited, and code of the error that raises does not affect the caller.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path
from traceback import FrameSummary, StackSummary, extract_stack, extract_tb, format_exception_only
from types import FrameType, TracebackType

LONGEST_ERROR = 16_000
LONGEST_MESSAGE = 4_000
LONGEST_LINE = 1_000
# How much of a message is searched for hidden values before it is cut.
LONGEST_SEARCHED = 100_000
MOST_LEAVES = 10
MOST_ERRORS = 60
MOST_NESTED = 4
MOST_NOTES = 20
MOST_EXTRACTED = 2_000
FIRST_LINKS = LAST_LINKS = 10
FIRST_FRAMES, LAST_FRAMES = 5, 15
PLACES = 3
FIRST_BYTES, LAST_BYTES = 6_000, 9_900
REPLACEMENT = "\ufffd"
TRACEBACK = "Traceback (most recent call last):"
CAUSED = "The above exception was the direct cause of the following exception:"
HANDLING = "During handling of the above exception, another exception occurred:"
OUR_FOLDER = f"{Path(__file__).parent.parent}{os.sep}"
# Libraries through which a worker calls handlers.
CALLERS = tuple(f"{Path(os.__file__).parent / name}{os.sep}" for name in ("asyncio", "concurrent"))
# The modules of asyncio that call the callbacks of a loop.
LOOPS = tuple(f"{CALLERS[0]}{name}.py" for name in ("events", "runners"))

Scrub = Callable[[str], str]
# An error, and how it is linked to its cause.
Link = tuple[BaseException, str]


def describe(error: BaseException, scrub: Scrub = str) -> str:
    """Return the text of an error, at most 16,000 bytes in UTF-8.

    `scrub` removes hidden values; it is called before anything is cut.
    """
    try:
        writer = Writer(scrub)
        summary, body = writer.summary(error), "\n".join(writer.chain(error))
        text = scrub(summary if body == summary else f"{summary}\n{body}")
    except BaseException as problem:  # noqa: BLE001 - the error's own code runs in there and may raise anything
        text = f"{_name(error)}: (this error cannot be shown: {_name(problem)})"
    return _bounded(_storable(text))


def summarize(error: BaseException) -> str:
    """Return the first line of an error's text: the error and its innermost cause."""
    return describe(error).partition("\n")[0]


def first_line(text: str | None) -> str:
    """Return the first line of a stored error, or "". Of a text that is only a traceback, return the last line."""
    lines = [line for line in (text or "").splitlines() if line.strip()] or [""]
    return lines[-1 if lines[0].startswith(TRACEBACK.rstrip(":")) else 0].strip()


def message_of(error: BaseException) -> str:
    """Return `str(error)`, or a replacement if that raises."""
    try:
        return str(error)
    except BaseException as problem:  # noqa: BLE001 - `__str__` may raise anything
        return f"(its message cannot be shown: {_name(problem)})"


def place_of(frame: FrameType | None) -> str:
    """Return where a running frame is, on one line: the calls since the loop's callback, without our own frames."""
    frames = frames_of_callback(frame)
    places = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
    if len(places) > 2 * PLACES:
        places = [*places[:PLACES], "...", *places[-PLACES:]]
    return " > ".join(places) or "an unknown place"


def frames_of_callback(frame: FrameType | None) -> list[FrameSummary]:
    """Return the calls since the loop's callback, outermost first, without our own frames."""
    innermost_first = reversed(extract_stack(frame, MOST_EXTRACTED)) if frame is not None else ()
    callback = [*takewhile(lambda each: each.filename not in LOOPS, innermost_first)]
    return without_ours(reversed(callback))


def clean_error(text: str) -> str:
    """Return a text that the database can store: no NUL, no lone surrogate, at most 16,000 characters."""
    return _storable(text[:LONGEST_ERROR])


class Writer:
    """Writes the parts of one error's text."""

    def __init__(self, scrub: Scrub) -> None:
        self._scrub = scrub
        self._written: set[int] = set()

    def summary(self, error: BaseException) -> str:
        """Return one line: the error (or the only member of a group) and its innermost cause."""
        error = _only_leaf(error)
        root, word = _root(error)
        if root is error:
            return self._headline(error, LONGEST_LINE)
        half = LONGEST_LINE // 2
        return f"{self._headline(error, half)} ({word} {self._headline(root, half)})"

    def chain(self, error: BaseException, nested: int = 0) -> list[str]:
        """Return the lines of an error and of all its causes, the innermost cause first."""
        links, left_out = _chain(error), 0
        if len(links) > FIRST_LINKS + LAST_LINKS:
            left_out = len(links) - FIRST_LINKS - LAST_LINKS
            links = [*links[:FIRST_LINKS], *links[-LAST_LINKS:]]
        lines: list[str] = []
        for place, (each, link) in reversed(list(enumerate(links))):
            if lines:
                cut = left_out and place == FIRST_LINKS - 1
                lines += ["", f"... {left_out} more errors of this chain are left out ..." if cut else link, ""]
            lines += self._one(each, nested)
        return lines

    def _one(self, error: BaseException, nested: int) -> list[str]:
        if id(error) in self._written or len(self._written) >= MOST_ERRORS:
            return [self._headline(error, LONGEST_LINE)]
        self._written.add(id(error))
        frames = _frames(error.__traceback__)
        lines = [*([TRACEBACK] if frames else []), *frames, *self._exception_only(error)]
        if isinstance(error, BaseExceptionGroup):
            lines += self._members(error, nested + 1)
        return lines

    def _exception_only(self, error: BaseException) -> list[str]:
        message, name = self._message(error), _name(error)
        lines = _syntax_lines(error) if isinstance(error, SyntaxError) else []
        lines += (f"{name}: {message}" if message else name).split("\n")
        return lines + [line for note in _notes(error) for line in self._cut(note).split("\n")]

    def _members(self, group: BaseExceptionGroup[BaseException], nested: int) -> list[str]:
        leaves, number = _leaves(group)
        lines = []
        for place, leaf in enumerate(leaves, 1):
            lines.append(f"  [{place} of {number}]")
            lines_of_leaf = self.chain(leaf, nested) if nested <= MOST_NESTED else [self._headline(leaf, LONGEST_LINE)]
            lines += [f"  {line}" for line in lines_of_leaf]
        if number > len(leaves):
            lines.append(f"  [{number - len(leaves)} more are left out]")
        return lines

    def _headline(self, error: BaseException, most: int) -> str:
        message = next(filter(None, map(str.strip, self._message(error).splitlines())), "")
        line = f"{_name(error)}: {message}" if message else _name(error)
        if isinstance(error, BaseExceptionGroup):
            line = f"{_shortened(line, most // 2)}, first {self._headline(_leaves(error)[0][0], most // 2)}"
        return _shortened(line, most)

    def _message(self, error: BaseException) -> str:
        return self._cut(message_of(error))

    def _cut(self, text: str) -> str:
        return _shortened(self._scrub(text[:LONGEST_SEARCHED]), LONGEST_MESSAGE)


def _only_leaf(error: BaseException) -> BaseException:
    if isinstance(error, BaseExceptionGroup):
        leaves, number = _leaves(error)
        return leaves[0] if number == 1 else error
    return error


def _root(error: BaseException) -> tuple[BaseException, str]:
    """Return the innermost cause of an error, also inside groups of one, and the word that links the two."""
    word, seen = "caused by", set[int]()
    while id(error) not in seen:
        links = _chain(error)
        seen.update(id(each) for each, _ in links)
        if any(link == HANDLING for _, link in links):
            word = "while handling"
        error = _only_leaf(links[-1][0])
    return error, word


def _chain(error: BaseException) -> list[Link]:
    """Return an error and its causes, each once, the innermost last, each with the link to its own cause."""
    links: list[Link] = []
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        below, link = _below(following)
        links.append((following, link))
        following = below
    return [*links[:-1], (links[-1][0], "")]


def _below(error: BaseException) -> tuple[BaseException | None, str]:
    below, link = error.__cause__, CAUSED
    if below is None and not error.__suppress_context__:
        below, link = error.__context__, HANDLING
    if isinstance(error, BaseExceptionGroup) and any(below is leaf for leaf in _leaves(error)[0]):
        return None, ""  # it is shown as a member of the group
    return below, link


def _leaves(group: BaseExceptionGroup[BaseException]) -> tuple[list[BaseException], int]:
    """Return the first leaves of a group, depth first, and the number of all leaves."""
    leaves: list[BaseException] = []
    number, stack = 0, list(reversed(group.exceptions))
    while stack:
        member = stack.pop()
        if isinstance(member, BaseExceptionGroup):
            stack.extend(reversed(member.exceptions))
            continue
        number += 1
        if number <= MOST_LEAVES:
            leaves.append(member)
    return leaves, number


def _frames(trace: TracebackType | None) -> list[str]:
    """Return the frames of a traceback as lines, without those of Rolecall and of asyncio between them."""
    return _lines(format_frames(without_ours(extract_tb(trace, -MOST_EXTRACTED)), FIRST_FRAMES, LAST_FRAMES))


def format_frames(frames: Sequence[FrameSummary], first: int, last: int) -> list[str]:
    """Return frames as text, outermost first: the `first` and the `last` ones, and how many are left out between."""
    left_out = len(frames) - first - last
    if left_out <= 0:
        return StackSummary.from_list(frames).format()
    return [
        *StackSummary.from_list(frames[:first]).format(),
        f"  [{left_out} frames are left out]\n",
        *StackSummary.from_list(frames[-last:]).format(),
    ]


def without_ours(frames: Iterable[FrameSummary]) -> list[FrameSummary]:
    """Leave out Rolecall's frames, and those of the libraries through which it calls handlers."""
    theirs = [frame for frame in frames if not frame.filename.startswith(OUR_FOLDER)]
    return [*dropwhile(_is_caller, theirs)]


def _is_caller(frame: FrameSummary) -> bool:
    return frame.filename.startswith(CALLERS)


def _notes(error: BaseException) -> list[str]:
    try:
        notes = getattr(error, "__notes__", ())
        several = notes if isinstance(notes, Sequence) and not isinstance(notes, str) else [notes]
        return [each if isinstance(each, str) else repr(each) for each in several[:MOST_NOTES]]
    except BaseException as problem:  # noqa: BLE001 - notes may be anything
        return [f"(its notes cannot be shown: {_name(problem)})"]


def _syntax_lines(error: SyntaxError) -> list[str]:
    """Return the place of a syntax error: its file, its line, and a mark below the line."""
    found = (error.filename, error.lineno, error.offset, error.text, error.end_lineno, error.end_offset)
    try:
        return _lines(format_exception_only(SyntaxError("", found)))[:-1]
    except BaseException:  # noqa: BLE001 - these may be anything
        return []


def _name(error: BaseException) -> str:
    kind = type(error)
    try:
        return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    except BaseException:  # noqa: BLE001 - a metaclass may say anything
        return "an error without a name"


def _lines(parts: Iterable[str]) -> list[str]:
    return "".join(parts).splitlines()


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."


def _storable(text: str) -> str:
    return text.replace("\0", REPLACEMENT).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _bounded(text: str) -> str:
    """Cut the middle out of a text that is too long."""
    data = text.encode()
    if len(data) <= LONGEST_ERROR:
        return text
    first = data[:FIRST_BYTES].decode(errors="ignore").rpartition("\n")
    last = data[-LAST_BYTES:].decode(errors="ignore").partition("\n")
    return f"{first[0] or first[2]}\n... cut ...\n{last[2] or last[0]}"
