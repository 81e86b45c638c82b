"""An inventory as a module of ours: what declares, then as comments what to write at each place that calls."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from rolecall_import.inventory import FoundTask, Inventory
from rolecall_import.reading import literal

IMPORTED_NAMES = ("Dedupe", "exponential", "immediate", "linear", "no_retry")
TITLES = {"celery": "Celery", "procrastinate": "Procrastinate", "rq": "RQ"}
WIDTH = 110


def module_text(inventory: Inventory, app: str) -> str:
    """Write the module; it can be imported as it is, and declares an app of that name."""
    body = "\n\n\n".join(["\n".join(_declarations(inventory, app)), *map(_handler, inventory.tasks)])
    schedules = "\n".join(_schedules(inventory))
    remarks = "\n".join(_remarks(inventory))
    head = "\n".join(_head(inventory, f"{body}\n{schedules}"))
    return "\n\n".join(part for part in (f"{head}\n", f"{body}\n", schedules and f"{schedules}\n", remarks) if part)


def _head(inventory: Inventory, code: str) -> Iterator[str]:
    yield f'"""The declarations for {TITLES[inventory.system]}, converted by `rolecall import {inventory.system}`."""'
    yield ""
    yield "from __future__ import annotations"
    yield ""
    imports = {line for task in inventory.tasks for line in task.imports}
    if re.search(r"\bAny\b", code):
        imports.add("from typing import Any")
    if imports:
        yield from sorted(imports)
        yield ""
    names = [
        "App",
        *(["Context"] if "ctx: Context" in code else []),
        *(name for name in IMPORTED_NAMES if f"{name}(" in code),
    ]
    yield f"from rolecall import {', '.join(sorted(names, key=lambda name: (name.islower(), name)))}"


def _declarations(inventory: Inventory, app: str) -> Iterator[str]:
    yield f"app = App({literal(app)})"
    roles = sorted({task.words["role"] for task in inventory.tasks if "role" in task.words})
    yield from (f"app.role({role})" for role in roles)


def _handler(task: FoundTask) -> str:
    words = [literal(task.name), *(f"{word}={code}" for word, code in task.words.items())]
    required = [each for each in task.parameters if each.default is None]
    others = [each for each in task.parameters if each.default is not None]
    parameters = [
        *(["ctx: Context"] if task.context else []),
        *(f"{each.name}: {each.annotation}" for each in required),
        *(f"{each.name}: {each.annotation} = {each.default}" for each in others),
    ]
    return "\n".join(
        [
            *_comment(f"{task.place}, a body of {_count(task.statements)}"),
            *(line for note in task.notes for line in _comment(note)),
            _wrap("@app.task(", words, ")"),
            _wrap(f"{'async def' if task.is_async else 'def'} {task.function}(", parameters, ") -> object:"),
            f"    raise NotImplementedError({literal(f'the body of {task.place}')})",
        ]
    )


def _schedules(inventory: Inventory) -> Iterator[str]:
    functions = {task.name: task.function for task in inventory.tasks}
    for schedule in inventory.schedules:
        yield from _comment(str(schedule.place))
        words = [f"{word}={code}" for word, code in schedule.words.items()]
        handler = functions.get(schedule.task, literal(schedule.task))
        yield _wrap("app.schedule(", [literal(schedule.name), handler, *words], ")")


def _remarks(inventory: Inventory) -> Iterator[str]:
    if inventory.calls:
        yield "# Replacements for the calls that enqueue or read tasks. A handler's enqueue(...) uses the Client that"
        yield "# was last made with this app; times need a time zone."
        for call in inventory.calls:
            yield "#"
            yield from _lines(f"{call.place}: {call.code}")
            yield from _lines(call.instead, "    ")
        yield ""
    if inventory.gaps:
        yield "# Code without an equivalent that could be written here:"
        for gap in inventory.gaps:
            yield "#"
            yield from _lines(f"{gap.place}: {gap.code}")
            yield from _comment(gap.reason, "    ")
        yield ""
    if inventory.rest:
        yield "# Statements that are not translated. Move those that the bodies and calls need:"
        yield "#"
        for each in inventory.rest:
            inner = f"  # {_count(each.statements)}" if each.statements > 1 else ""
            without = f"{_count(each.statements)} without {TITLES[inventory.system]}"
            yield from _lines(f"{each.place}: {each.code}{inner}" if each.code else f"{each.place.file}: {without}")
        yield ""
    if inventory.unread:
        yield "# Files that could not be read:"
        for file in inventory.unread:
            yield from _lines(f"{file.file}: {file.problem}")
        yield ""


def _comment(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"# {indent}", subsequent_indent=f"# {indent}")


def _lines(text: str, indent: str = "") -> list[str]:
    """Return the text as comments, one for each line, so that no line of foreign code becomes a statement."""
    return [f"# {indent}{line}" for line in text.splitlines()]


def _count(statements: int) -> str:
    return f"{statements} statement{'' if statements == 1 else 's'}"


def _wrap(begin: str, parts: list[str], end: str) -> str:
    line = f"{begin}{', '.join(parts)}{end}"
    if len(line) <= WIDTH:
        return line
    inside = "".join(f"    {part},\n" for part in parts)
    return f"{begin}\n{inside}{end}"
