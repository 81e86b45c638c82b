"""Shared code of the readers: literal values, and functions as Rolecall handlers."""

from __future__ import annotations

import ast
import builtins
import keyword
import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rolecall_import.inventory import FoundTask, Parameter, Place
from rolecall_import.sources import Function, Source, Sources, count_statements

# A value that is known only when the code runs.
UNKNOWN: Any = object()
INNER = "it is declared inside a function or a class: declare it at the top level of a module"
OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
UNITS = {"weeks": 604_800, "days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1, "milliseconds": 0.001}
# The syntax of annotations that are copied.
TYPES = (ast.BinOp, ast.BitOr, ast.Constant, ast.List, ast.Load, ast.Name, ast.Subscript, ast.Tuple)
RESERVED_NAMES = frozenset({"ctx"})
# Names that the generated module already defines, and names that the database accepts.
MODULE_NAMES = frozenset({"Any", "App", "Context", "Dedupe", "app", "exponential", "immediate", "linear", "no_retry"})
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}")
LONGEST = 160


def literal(value: Any) -> str:
    """Return a plain value as code."""
    match value:
        case str():
            escaped = value.encode("unicode_escape").decode("ascii")
            inside = value.replace("\\", "\\\\") if value.isprintable() else escaped
            return '"' + inside.replace('"', '\\"') + '"'
        case Mapping():
            return f"{{{', '.join(f'{literal(key)}: {literal(each)}' for key, each in value.items())}}}"
        case list():
            return f"[{', '.join(map(literal, value))}]"
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return repr(value)


def code_of(node: ast.AST) -> str:
    """Return the code of a node in one line, truncated if it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def value_of(node: ast.expr | None) -> Any:
    """Return the value of a literal or of arithmetic such as `60 * 60`, otherwise UNKNOWN."""
    if node is None:
        return UNKNOWN
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = value_of(node.left), value_of(node.right)
        if isinstance(left, int | float) and isinstance(right, int | float):
            try:
                return OPERATORS[type(node.op)](left, right)
            except ArithmeticError:
                return UNKNOWN
    return UNKNOWN


def seconds(node: ast.expr | None) -> float | None:
    """Return the seconds of a number, `timedelta(minutes=5)` or `{"minutes": 5}`, or None if they are unknown."""
    value = value_of(node)
    if isinstance(value, Mapping):
        return _sum_units(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(node, ast.Call) and code_of(node.func).rpartition(".")[2] == "timedelta":
        parts = {word.arg or "": value_of(word.value) for word in node.keywords}
        parts |= dict(zip(("days", "seconds"), map(value_of, node.args), strict=False))
        return _sum_units(parts)
    return None


def _sum_units(parts: Mapping[str, Any]) -> float | None:
    if any(unit not in UNITS or not isinstance(number, int | float) for unit, number in parts.items()):
        return None
    return float(sum(UNITS[unit] * number for unit, number in parts.items()))


def options_of(call: ast.expr) -> dict[str, ast.expr]:
    """Return the keyword arguments of a call, with `**more` as `**`; none for other code."""
    return {word.arg or "**": word.value for word in call.keywords} if isinstance(call, ast.Call) else {}


def entries_of(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the entries of a dictionary whose keys are literal texts; none for other code."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None and isinstance(name := value_of(key), str):
                yield name, value


def matters(value: Any, *, when_off: bool) -> bool:
    """Return whether an option differs from its default."""
    return value is UNKNOWN or bool(value) != when_off


def native(hint: str) -> str:
    """Return a hint of `rolecall.celery` for code that uses Rolecall's own API."""
    return hint.replace("app.rolecall", "app").replace("self.context", "ctx").replace("app.client", "client")


def arguments_as_code(call: ast.Call, without: Iterable[str] = (), skipping: int = 0) -> str:
    """Return the arguments of a call as code, without the first ones and some keywords."""
    words = [word for word in call.keywords if word.arg not in set(without)]
    return ", ".join([*map(ast.unparse, call.args[skipping:]), *map(ast.unparse, words)])


def using_code(options: Mapping[str, str]) -> str:
    """Return `.using(after=60)`, or an empty string if there are no options."""
    return f".using({', '.join(f'{word}={code}' for word, code in options.items())})" if options else ""


def constant_policy(delay: float) -> str:
    """Return the policy with a constant delay."""
    return f"linear(step={literal(delay)}, cap={literal(delay)})" if delay else "immediate()"


def read_task(sources: Sources, source: Source, function: Function, name: str, *, skipping: int = 0) -> FoundTask:
    """Read a function as a handler, without its first parameters."""
    task = FoundTask(
        name=name,
        function=function.name,
        place=Place(source.file, function.lineno),
        parameters=(),
        is_async=isinstance(function, ast.AsyncFunctionDef),
        statements=count_statements(function.body),
    )
    imports: set[str] = set()
    task.parameters = [
        _parameter(sources, source, each, default, task, imports)
        for each, default in _parameters_with_defaults(function.args, skipping)
    ]
    for rest, kind, stands_for in ((function.args.vararg, "list", "*"), (function.args.kwarg, "dict", "**")):
        if rest is not None:
            annotation = "list[Any] | None" if kind == "list" else "dict[str, Any] | None"
            task.parameters.append(Parameter(name=rest.arg, annotation=annotation, default="None"))
            task.notes.append(f"{stands_for}{rest.arg} is a field of its own: a payload has names only")
    task.imports = sorted(imports)
    return task


def payload_of(task: FoundTask | None, keywords: Mapping[str, ast.expr]) -> dict[str, Any] | str:
    """Return the payload of a schedule from its `args` and `kwargs`, or a sentence that says why there is none."""
    args = value_of(keywords["args"]) if "args" in keywords else ()
    words = value_of(keywords["kwargs"]) if "kwargs" in keywords else {}
    if UNKNOWN in (args, words) or (args and task is None):
        return "its arguments are not literals"
    if task is None:
        return dict(words or {})
    payload = {**dict(zip((each.name for each in task.parameters), args or (), strict=False)), **(words or {})}
    for each in task.parameters:
        if each.name not in payload and each.default is None:
            return f"it does not pass {each.name}, which the task needs"
        if each.name in payload and not _fits(payload[each.name], each.annotation):
            return f"it passes {literal(payload[each.name])} for {each.name}, which must be a {each.annotation}"
    if unknown := payload.keys() - {each.name for each in task.parameters}:
        return f"it passes {min(unknown)}, which the task does not accept"
    return payload


def _fits(value: Any, annotation: str) -> bool:
    return annotation.startswith("Any") or type(value).__name__ in re.split(r"\W+", annotation)


def valid_name(name: str, notes: list[str]) -> str:
    """Return a name in a form that the database accepts, and note a change."""
    if NAME.fullmatch(name):
        return name
    replacement = re.sub(r"[^A-Za-z0-9_.-]", "-", name)[-63:].lstrip("0123456789_.-") or "unnamed"
    notes.append(
        f"its name was {name}: here a name begins with a letter and has at most 63 letters, digits, _, . and -"
    )
    return replacement


def make_functions_unique(tasks: Iterable[FoundTask]) -> None:
    """Give each task a function with a unique name."""
    used_names = set(MODULE_NAMES)
    for task in tasks:
        base_name = task.function
        if base_name in used_names:
            base_name = re.sub(r"\W", "_", task.name)
        number, name = 2, base_name
        while name in used_names or keyword.iskeyword(name):
            name, number = f"{base_name}_{number}", number + 1
        used_names.add(name)
        task.function = name


def _parameters_with_defaults(arguments: ast.arguments, skipping: int) -> Iterable[tuple[ast.arg, ast.expr | None]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    yield from list(zip(positional, defaults, strict=True))[skipping:]
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def _parameter(
    sources: Sources,
    source: Source,
    each: ast.arg,
    default: ast.expr | None,
    task: FoundTask,
    imports: set[str],
) -> Parameter:
    annotation = "Any"
    if each.annotation is not None:
        required = _required_imports(sources, source, each.annotation)
        if required is None:
            task.notes.append(f"{each.arg} was {code_of(each.annotation)}: import that type, and use it instead of Any")
        else:
            annotation = ast.unparse(each.annotation)
            imports |= required
    code = None
    if default is not None:
        code = literal(value_of(default))
        if value_of(default) is UNKNOWN:
            code = "None"
            annotation = f"{annotation} | None"
            task.notes.append(f"{each.arg} had the default {code_of(default)}")
    name = each.arg
    if name in RESERVED_NAMES or keyword.iskeyword(name):
        name = f"{name}_"
        task.notes.append(f"{each.arg} is renamed to {name}: the name {each.arg} is reserved")
    return Parameter(name=name, annotation=annotation, default=code)


def _required_imports(sources: Sources, source: Source, annotation: ast.expr) -> set[str] | None:
    """Return the imports from the standard library that an annotation needs, or None if it needs others."""
    required: set[str] = set()
    for node in ast.walk(annotation):
        # Annotations are evaluated when the module is imported, so a call or a text in one would run foreign code.
        if not isinstance(node, TYPES) or isinstance(getattr(node, "value", None), str):
            return None
        if isinstance(node, ast.Name) and node.id not in vars(builtins):
            module, _, name = (sources.full_name(source, node) or "").rpartition(".")
            if module.partition(".")[0] not in sys.stdlib_module_names or name != node.id:
                return None
            required.add(f"from {module} import {name}")
    return required
