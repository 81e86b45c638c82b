"""The text of an error: causes, members, notes and frames, within a limit, for any error."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rolecall.model.error_text import LONGEST_ERROR, clean_error, describe, message_of, summarize


def raised(function: Callable[[], object]) -> BaseException:
    """Return the error that a call raises, with its traceback."""
    try:
        function()
    except BaseException as error:  # noqa: BLE001 - every kind is tried
        return error
    raise AssertionError("nothing was raised")


def fail(error: BaseException) -> None:
    raise error


def reset_by_peer() -> None:
    raise ConnectionResetError(104, "Connection reset by peer")


def chained() -> None:
    try:
        try:
            reset_by_peer()
        except OSError as error:
            raise RuntimeError("the ledger could not be read") from error
    except RuntimeError as error:
        raise ValueError("the day was not closed") from error


def handled() -> None:
    try:
        reset_by_peer()
    except OSError:
        {}["price"]  # type: ignore[index]  # it raises


def suppressed() -> None:
    try:
        reset_by_peer()
    except OSError:
        raise ValueError("nobody need know why") from None


def first(text: str) -> str:
    return text.partition("\n")[0]


def test_plain_error_is_shown_as_one_line_and_its_frames() -> None:
    text = describe(raised(lambda: fail(ValueError("bad price"))))

    assert text.startswith("ValueError: bad price\nTraceback (most recent call last):\n")
    assert "in fail" in text
    assert text.endswith("\nValueError: bad price")


def test_error_that_was_never_raised_is_shown_as_one_line() -> None:
    assert describe(ValueError("bad price")) == "ValueError: bad price"
    assert describe(ValueError()) == "ValueError"


def test_text_has_every_cause_and_first_line_names_the_innermost() -> None:
    text = describe(raised(chained))

    assert first(text) == (
        "ValueError: the day was not closed (caused by ConnectionResetError: [Errno 104] Connection reset by peer)"
    )
    assert "in reset_by_peer" in text
    order = ["\nConnectionResetError: ", "direct cause", "\nRuntimeError: ", "direct cause", "\nValueError: "]
    places = [text.index(order[0])]
    for part in order[1:]:
        places.append(text.index(part, places[-1] + 1))
    assert places == sorted(places)


def test_error_raised_while_handling_another_shows_both() -> None:
    text = describe(raised(handled))

    assert (
        first(text) == "KeyError: 'price' (while handling ConnectionResetError: [Errno 104] Connection reset by peer)"
    )
    assert "During handling of the above exception" in text
    assert "in reset_by_peer" in text


def test_suppressed_context_is_not_shown() -> None:
    assert "Connection" not in describe(raised(suppressed))


def test_only_member_of_a_group_is_named_in_the_first_line() -> None:
    async def pay() -> None:
        reset_by_peer()

    async def bill() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(pay())

    text = describe(raised(lambda: asyncio.run(bill())))

    assert first(text) == "ConnectionResetError: [Errno 104] Connection reset by peer"
    assert "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)" in text
    assert "in pay" in text
    assert "in bill" in text


def test_first_line_of_a_larger_group_names_its_first_member() -> None:
    group = BaseExceptionGroup("2 ledgers failed", [ValueError("sum is -0.01"), raised(chained)])

    text = describe(group)

    assert first(text) == "ExceptionGroup: 2 ledgers failed (2 sub-exceptions), first ValueError: sum is -0.01"
    assert "[1 of 2]" in text
    assert "Connection reset by peer" in text


def test_nested_groups_are_shown_as_their_leaves() -> None:
    inner = ExceptionGroup("inner", [KeyError("a"), ExceptionGroup("innermost", [KeyError("b")])])
    text = describe(ExceptionGroup("outer", [inner, KeyError("c")]))

    assert [text.index(f"KeyError: {name!r}", 80) for name in "abc"] == sorted(
        text.index(f"KeyError: {name!r}", 80) for name in "abc"
    )
    assert "[3 of 3]" in text
    assert describe(ExceptionGroup("one", [ExceptionGroup("in one", [KeyError("x")])])).startswith("KeyError: 'x'\n")


def test_ten_leaves_are_shown_and_the_rest_counted() -> None:
    text = describe(ExceptionGroup("many", [ValueError(f"leaf {number}") for number in range(25)]))

    assert "leaf 9\n" in text
    assert "leaf 10" not in text
    assert "[15 more are left out]" in text


def test_group_that_caused_an_error_is_shown_with_its_leaves() -> None:
    error = ValueError("no report")
    error.__cause__ = ExceptionGroup("calls", [KeyError("price")])

    text = describe(error)

    assert first(text) == "ValueError: no report (caused by KeyError: 'price')"
    assert "[1 of 1]" in text


def test_member_that_is_also_the_context_of_its_group_is_shown_once() -> None:
    member = raised(reset_by_peer)
    group = BaseExceptionGroup("body failed", [member])
    group.__context__ = member

    assert describe(group).count("in reset_by_peer") == 1


def test_notes_of_any_type_are_shown() -> None:
    error = ValueError("bad price")
    error.add_note("of shop 7\nin Oslo")
    error.__notes__.append(7)  # type: ignore[arg-type]  # nothing keeps it out

    assert describe(error).endswith("ValueError: bad price\nof shop 7\nin Oslo\n7")
    error.__notes__ = object()  # type: ignore[assignment]  # nothing keeps it out
    assert "<object object" in describe(error)


class Loud:
    """A value whose `str` and `repr` raise an error."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __repr__(self) -> str:
        raise self.error

    __str__ = __repr__


ENDS = pytest.mark.parametrize("end", [ValueError("x"), KeyboardInterrupt(), SystemExit(1), GeneratorExit()])


@ENDS
def test_error_whose_own_methods_raise_is_named(end: BaseException) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise end

    class Odder(Exception):
        @property
        def __notes__(self) -> Any:  # type: ignore[override]  # nothing keeps it out
            raise end

    class Oddest(Exception):
        @property
        def __cause__(self) -> Any:  # type: ignore[override]  # nothing keeps it out
            raise end

    assert "Odd" in describe(Odd())
    assert type(end).__name__ in message_of(Odd())
    assert "Odder" in describe(Odder())
    assert "cannot be shown" in describe(Oddest())
    assert "KeyError" in describe(KeyError(Loud(end)))
    noted = ValueError("bad price")
    noted.__notes__ = [Loud(end), "a note"]  # type: ignore[list-item]  # nothing keeps it out
    assert "bad price" in summarize(noted)


def test_circular_causes_are_shown_once() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one

    text = describe(one)

    assert first(text) == "ValueError: one (caused by ValueError: other)"
    assert text.count("\nValueError: other") == 1


def test_circle_through_a_group_terminates() -> None:
    member = ValueError("member")
    group = ExceptionGroup("group", [member])
    member.__cause__ = group

    assert describe(group).startswith("ValueError: member")


def test_chain_of_ten_thousand_errors_keeps_both_ends() -> None:
    error = ValueError("the root")
    for number in range(10_000):
        outer = ValueError(f"link {number}")
        outer.__cause__ = error
        error = outer

    text = describe(error)

    assert first(text) == "ValueError: link 9999 (caused by ValueError: the root)"
    assert "9981 more errors of this chain are left out" in text
    assert len(text) < LONGEST_ERROR
    _free(error)


def _free(error: BaseException | None) -> None:
    """Free a chain that is too deep to be freed recursively."""
    while error is not None:
        below, error.__cause__ = error.__cause__, None
        error = below


def test_groups_nested_ten_thousand_deep_are_named_by_their_leaf() -> None:
    error: Exception = KeyError("leaf")
    for _ in range(10_000):
        error = ExceptionGroup("g", [error])

    assert first(describe(error)) == "KeyError: 'leaf'"


def test_huge_text_is_cut_in_the_middle() -> None:
    error = ValueError("ä" * 10_000_000)
    for number in range(20):
        error.add_note(f"{number} " + "ö" * 10_000_000)

    text = describe(error)

    assert len(text.encode()) <= LONGEST_ERROR
    assert first(text).startswith("ValueError: ä")
    assert "... cut ..." in text


def test_recursion_error_shows_first_and_last_frames() -> None:
    def down(depth: int) -> int:
        return down(depth + 1) + 1

    text = describe(raised(lambda: down(0)))

    assert text.startswith("RecursionError: maximum recursion depth exceeded")
    assert "more times]" in text
    assert "in <lambda>" in text
    assert len(text) < 3_000


def test_long_traceback_keeps_both_ends() -> None:
    def even(depth: int) -> None:
        odd(depth - 1)

    def odd(depth: int) -> None:
        if depth < 0:
            reset_by_peer()
        even(depth - 1)

    text = describe(raised(lambda: even(60)))

    assert "frames are left out]" in text
    assert "in <lambda>" in text
    assert "in reset_by_peer" in text


def test_syntax_error_shows_the_line() -> None:
    text = describe(raised(lambda: compile("price = = 7", "menu.py", "exec")))

    assert first(text).startswith("SyntaxError: invalid syntax")
    assert 'File "menu.py", line 1' in text
    assert "price = = 7" in text
    broken = SyntaxError("odd")
    broken.lineno = broken.text = broken.offset = object()  # type: ignore[assignment]  # nothing keeps it out
    assert "SyntaxError: " in describe(broken)


def test_multiline_message_follows_the_first_line() -> None:
    text = describe(ValueError("1 validation error\nprice\n  not a number"))

    assert text == "ValueError: 1 validation error\nValueError: 1 validation error\nprice\n  not a number"


def test_frames_of_rolecall_are_omitted() -> None:
    text = describe(raised(lambda: clean_error(None)))  # type: ignore[arg-type]  # it raises

    assert "in <lambda>" in text
    assert "in clean_error" not in text


@pytest.mark.parametrize("library", [asyncio, concurrent.futures])
def test_frames_of_asyncio_are_omitted_unless_called_by_user_code(library: ModuleType) -> None:
    scope: dict[str, Any] = {}
    file = Path(library.__file__ or "").parent / "spinning.py"
    exec(compile("def spin(call):\n    call()\n", str(file), "exec"), scope)  # noqa: S102 - a frame of that file
    error = raised(lambda: scope["spin"](reset_by_peer))
    assert "spinning.py" in describe(error)

    while error.__traceback__ is not None and "spin" not in error.__traceback__.tb_frame.f_code.co_name:
        error = error.with_traceback(error.__traceback__.tb_next)

    assert "spinning.py" not in describe(error)
    assert "in reset_by_peer" in describe(error)


def test_hidden_values_are_redacted_before_truncation() -> None:
    secret = "s3cr3t-" * 8
    error = ValueError("x" * 3_980 + secret)
    error.add_note("y" * 3_990 + secret)
    error.__cause__ = KeyError("z" * 480 + secret)

    text = describe(error, lambda part: part.replace(secret, "[redacted]"))

    assert "s3cr3t" not in text
