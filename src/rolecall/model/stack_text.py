"""The current stack of a running handler as text, in the form of Python's tracebacks, without values of variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from traceback import FrameSummary, StackSummary, walk_stack
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType

from rolecall.model.error_text import MOST_EXTRACTED, format_frames, without_ours

TITLE = "Stack (most recent call last):"
FIRST_FRAMES, LAST_FRAMES = 50, 150
LONGEST_STACK = 64_000
# A file, a line and a function, which can be sent to another process.
Place = tuple[str, int, str]


def describe_stack(frames: Sequence[FrameSummary]) -> str:
    """Return the text of a stack, outermost call first: at most 200 frames and 64,000 bytes."""
    return _bounded("".join([f"{TITLE}\n", *format_frames(frames, FIRST_FRAMES, LAST_FRAMES)]))


def frames_of_coroutine(coroutine: object) -> list[FrameSummary]:
    """Return the calls of a suspended coroutine, from itself to the innermost one that it awaits."""
    return _summaries(islice(_frames_below(coroutine), MOST_EXTRACTED))


def frames_since(frame: FrameType | None, file: str) -> list[FrameSummary]:
    """Return the calls of a running thread, from the last one in a file, which is left out, to the innermost."""
    innermost_first = (each for each, _ in walk_stack(frame)) if frame is not None else ()
    called = takewhile(lambda each: each.f_code.co_filename != file, innermost_first)
    return _summaries(reversed([*islice(called, MOST_EXTRACTED)]))


def places_of(frames: Iterable[FrameSummary]) -> list[Place]:
    return [(frame.filename, frame.lineno or 0, frame.name) for frame in frames]


def frames_at(places: Iterable[Place]) -> list[FrameSummary]:
    """Return the frames of another process on the same machine."""
    return [FrameSummary(*place) for place in places]


def _frames_below(awaited: object) -> Iterator[FrameType]:
    while True:
        if isinstance(awaited, CoroutineType):
            frame, awaited = awaited.cr_frame, awaited.cr_await
        elif isinstance(awaited, GeneratorType):
            frame, awaited = awaited.gi_frame, awaited.gi_yieldfrom
        elif isinstance(awaited, AsyncGeneratorType):
            frame, awaited = awaited.ag_frame, awaited.ag_await
        else:
            return
        if frame is not None:
            yield frame


def _summaries(frames: Iterable[FrameType]) -> list[FrameSummary]:
    return without_ours(StackSummary.extract((frame, frame.f_lineno) for frame in frames))


def _bounded(text: str) -> str:
    """Cut the outermost calls out of a text that is too long."""
    text = text.replace("\0", "\ufffd")
    data = text.encode(errors="replace")
    if len(data) <= LONGEST_STACK:
        return data.decode()
    rest = data[-LONGEST_STACK:].decode(errors="ignore").partition("\n")[2]
    return f"{TITLE}\n  ... cut ...\n{rest}"
