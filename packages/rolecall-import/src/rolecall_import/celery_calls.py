"""Translates Celery's calls: `delay`, `apply_async`, composed signatures and results."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from rolecall.celery.options import MOOT_OF_A_CALL, REFUSED_OF_A_CALL
from rolecall_import.findings import Findings
from rolecall_import.inventory import FoundTask
from rolecall_import.reading import UNKNOWN, arguments_as_code, code_of, native, options_of, using_code, value_of
from rolecall_import.sources import Source

SIGNATURES = frozenset({"s", "si", "signature", "subtask"})
CANVAS = {"celery.chain": "chain", "celery.group": "group", "celery.chord": "chord"}
CANVAS |= {f"celery.canvas.{kind}": kind for kind in CANVAS.values()}
CANVAS_HINTS = {
    "chain": "let each handler continue with the next one: ctx.continue_with(following.task(result)); "
    "and enqueue the first:",
    "group": "one statement for all of them:",
    "chord": "a handler with @app.task(gather=...) spawns the header with ctx.spawn(...); its gather step reads "
    "ctx.children(), and does the work of the body. The header as tasks:",
}
CALL_OPTIONS = {"countdown": "after", "eta": "scheduled_for", "expires": "expires", "priority": "priority"}
CALL_OPTIONS |= {"queue": "role", "time_limit": "timeout"}
COMPOSED = "the replacement is at the place that composes these tasks"
RESULT_HINT = "client.get(task) reads state and result, client.wait(task, timeout=...) waits for them"


class Calls:
    """Reads calls, once all tasks and apps are known."""

    def __init__(self, findings: Findings, tasks: Mapping[str, FoundTask], apps: set[str]) -> None:
        self._findings = findings
        self._tasks = tasks
        self._apps = apps

    def read(self, source: Source, node: ast.expr) -> bool:
        """Record the replacement of a call; return whether it was one of Celery's."""
        canvas = _unwrap(node)
        if (kind := self._canvas(source, canvas)) is not None:
            self._compose(source, node, canvas, kind)
            self._read_options_of_a_canvas(source, node)
            return True
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and self._findings.task_of(source, node.func.value):
            return self._call_of(source, node, node.func.attr)
        full_name = self._findings.full_name(source, node.func)
        if full_name in {"celery.result.AsyncResult", "celery.result.GroupResult"} or full_name.endswith(
            ".AsyncResult"
        ):
            self._findings.call(source, node, RESULT_HINT)
        elif full_name.endswith(".send_task") and self._findings.full_name(source, node.func.value) in self._apps:  # type: ignore[attr-defined]  # it is dotted
            self._read_send_task(source, node)
        elif ".control." in f".{full_name}" and self._findings.full_name(source, _root(node.func)) in self._apps:
            reason = "`rolecall tasks cancel`, `workers list` and `workers drain` control workers, and client.cancel"
            self._findings.gap(source, node, code_of(node), reason)
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "apply_async":
            self._findings.call(source, node, COMPOSED)
            self._read_options_of_a_canvas(source, node)
        else:
            return False
        return True

    def _read_options_of_a_canvas(self, source: Source, node: ast.expr) -> None:
        """Report the options of `composed.apply_async(...)`, which belong to its tasks here."""
        while isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "apply_async":
                for word, code in self._options(source, node).items():
                    self._findings.gap(source, node, f"{word}={code}", f"give it to the tasks: .options({word}={code})")
            node = node.func.value if isinstance(node.func, ast.Attribute) else node.func

    def _call_of(self, source: Source, node: ast.Call, verb: str) -> bool:
        name = code_of(node.func.value)  # type: ignore[attr-defined]  # it has a task before its verb
        if verb in {"delay", "delay_on_commit"}:
            connection_option = ".using(connection=connection)" if verb == "delay_on_commit" else ""
            self._findings.call(source, node, f"{name}{connection_option}.enqueue({arguments_as_code(node)})")
        elif verb in SIGNATURES:
            self._findings.call(source, node, f"{name}.task({arguments_as_code(node)})")
        elif verb in {"apply_async", "apply_async_on_commit"}:
            joins = {"connection": "connection"} if verb == "apply_async_on_commit" else {}
            self._findings.call(
                source, node, f"{name}{using_code(self._options(source, node) | joins)}.enqueue({_spread(node)})"
            )
        elif verb == "apply":
            self._findings.call(
                source, node, f"{name}({arguments_as_code(node)})  # or rolecall.testing.inline, in a test"
            )
        elif verb == "AsyncResult":
            self._findings.call(source, node, RESULT_HINT)
        elif verb in {"chunks", "map", "starmap"}:
            self._findings.call(source, node, f"client.enqueue_many([{name}.task(...) for each of them])")
        elif verb in {"retry", "update_state"}:
            instead = "raise Retry(after=...) from error" if verb == "retry" else "await ctx.info({...})"
            self._findings.call(source, node, instead)
        else:
            return False
        return True

    def _options(self, source: Source, node: ast.Call) -> dict[str, str]:
        """Return the options of a call as Rolecall's, and report those without an equivalent as gaps."""
        ours: dict[str, str] = {}
        for word, value in options_of(node).items():
            if word in CALL_OPTIONS:
                ours[CALL_OPTIONS[word]] = code_of(value)
            elif word not in {"args", "kwargs", "name"}:
                self._findings.gap(source, value, f"{word}={code_of(value)}", _option_hint(word))
        if "after" in ours and "expires" in ours:  # Celery counts from the call, Rolecall from the due time
            ours["expires"] += f" - {ours['after']}"
        return ours

    def _read_send_task(self, source: Source, node: ast.Call) -> None:
        name = node.args[0] if node.args else options_of(node).get("name")
        options = "".join(f", {word}={code}" for word, code in self._options(source, node).items())
        task = self._tasks.get(value_of(name)) if name is not None and value_of(name) is not UNKNOWN else None
        if task is not None:
            rest = ast.Call(func=node.func, args=node.args[1:], keywords=node.keywords)
            self._findings.call(
                source, node, f"{task.function}{using_code(self._options(source, rest))}.enqueue({_spread(rest)})"
            )
            return
        self._findings.call(
            source, node, f"client.enqueue({code_of(name) if name else '...'}, {{...}}{options})  # fields by name"
        )

    def _canvas(self, source: Source, node: ast.expr) -> str | None:
        if isinstance(node, ast.Call):
            return CANVAS.get(self._findings.full_name(source, node.func))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return "chain" if any(self._starts(source, part) for part in ast.walk(node)) else None
        return None

    def _starts(self, source: Source, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        if self._findings.full_name(source, node.func) in CANVAS:
            return True
        return is_signature(node) and self._findings.task_of(source, node.func.value) is not None  # type: ignore[attr-defined]  # looked at

    def _compose(self, source: Source, node: ast.expr, canvas: ast.expr, kind: str) -> None:
        parts = _parts(canvas)
        if kind == "chain" and all(is_signature(part) for part in parts):
            self._findings.call(source, node, "\n".join(_continuations(parts)))
            return
        tasks = " ".join(ast.unparse(Tasks().visit(ast.parse(ast.unparse(canvas), mode="eval").body)).split())
        if kind == "group":
            inside = tasks.partition("(")[2][:-1]
            tasks = f"client.enqueue_many({inside if _is_one(canvas) else f'[{inside}]'})"
        self._findings.call(source, node, f"{CANVAS_HINTS[kind]}\n{tasks}")


def _option_hint(word: str) -> str:
    if word in REFUSED_OF_A_CALL:
        return native(REFUSED_OF_A_CALL[word])
    if word == "link":
        return "in the handler: ctx.follow_up(following.task(result))"
    if word in MOOT_OF_A_CALL:
        return "it is not needed here"
    return "its options are known only when the code runs" if word == "**" else "no option of a task is like it"


class Tasks(ast.NodeTransformer):
    """Writes signatures as tasks."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if is_signature(node):
            node.func = ast.Attribute(value=node.func.value, attr="task", ctx=ast.Load())  # type: ignore[attr-defined]  # looked at
        return node


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return the elements of a chain, as in `chain(a, b)` or `a | b`."""
    if isinstance(node, ast.BinOp):
        return [*_parts(node.left), node.right]
    return list(node.args) if isinstance(node, ast.Call) and not is_signature(node) else [node]


def _continuations(parts: Sequence[ast.expr]) -> Iterator[str]:
    for previous, part in zip([None, *parts], parts, strict=False):
        assert isinstance(part, ast.Call)  # noqa: S101 - they are signatures
        assert isinstance(part.func, ast.Attribute)  # noqa: S101 - they are signatures
        name, arguments = code_of(part.func.value), arguments_as_code(part)
        if previous is None:
            yield f"{name}.enqueue({arguments})"
            continue
        if part.func.attr == "s":
            arguments = f"result, {arguments}" if arguments else "result"
        yield f"and in {code_of(previous.func.value)}: ctx.continue_with({name}.task({arguments}))"  # type: ignore[attr-defined]  # as above


def _is_one(node: ast.expr) -> bool:
    """Return whether the group has a single list or generator as its argument."""
    return isinstance(node, ast.Call) and len(node.args) == 1 and not isinstance(node.args[0], ast.Call)


def _spread(node: ast.Call) -> str:
    """Return the arguments of `apply_async(args, kwargs)` as those of a plain call."""
    options = options_of(node)
    positional = node.args[0] if node.args else options.get("args")
    keyword_arguments = node.args[1] if len(node.args) > 1 else options.get("kwargs")
    parts: list[str] = []
    if isinstance(positional, ast.Tuple | ast.List):
        parts += map(ast.unparse, positional.elts)
    elif positional is not None and value_of(positional) is not None:
        parts.append(f"*{ast.unparse(positional)}")
    if isinstance(keyword_arguments, ast.Dict) and all(isinstance(key, ast.Constant) for key in keyword_arguments.keys):
        parts += [
            f"{value_of(key)}={ast.unparse(value)}"
            for key, value in zip(keyword_arguments.keys, keyword_arguments.values, strict=True)
        ]
    elif keyword_arguments is not None and value_of(keyword_arguments) is not None:
        parts.append(f"**{ast.unparse(keyword_arguments)}")
    return ", ".join(parts)


def _unwrap(node: ast.expr) -> ast.expr:
    """Return the canvas that a call enqueues: that of `chain(...).delay()` or `chord(header)(body)`."""
    if isinstance(node, ast.Call):
        match node.func:
            case ast.Attribute(value=value, attr="delay" | "apply_async" | "get"):
                return _unwrap(value)
            case ast.Call():
                return node.func
    return node


def _root(node: ast.expr) -> ast.expr:
    """Return the app of `app.control.revoke`."""
    while isinstance(node, ast.Attribute) and node.attr != "control":
        node = node.value
    return node.value if isinstance(node, ast.Attribute) else node


def is_signature(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SIGNATURES
