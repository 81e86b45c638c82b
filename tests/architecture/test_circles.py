"""src/rolecall has no import cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path("src")
PACKAGE = "rolecall"

Graph = Mapping[str, set[str]]


def test_no_modules_import_each_other_in_a_cycle_even_for_typing() -> None:
    circles = list(_circles(_imports()))

    assert not circles, "import cycles:\n" + "\n".join(" <-> ".join(circle) for circle in circles)


def test_import_by_a_literal_name_is_found(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text('from importlib import import_module\nimport_module("b").run()\n')

    assert list(_imported(file, {"b": tmp_path / "b.py"})) == ["b"]


def test_import_cycle_is_found_among_other_imports() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set(), "e": {"a"}}

    assert list(_circles(graph)) == [["a", "b", "c"]]


def _imports() -> Graph:
    """Return the imports of each module, also in functions, under `if TYPE_CHECKING` and by `import_module("name")`."""
    files = {_name(file): file for file in sorted((SOURCE / PACKAGE).rglob("*.py"))}
    return {name: set(_imported(file, files)) - {name} for name, file in files.items()}


def _name(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(file: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and (module := node.module or "") in modules:
            parts = [f"{module}.{alias.name}" for alias in node.names]
            yield from (part if part in modules else module for part in parts)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = (argument.value for argument in node.args if isinstance(argument, ast.Constant))
            yield from (name for name in names if isinstance(name, str) and name in modules)


def _circles(graph: Graph) -> Iterator[list[str]]:
    """Yield each largest set of modules that reach one another, in the order of their names."""
    reached = {name: _reach(graph, name) for name in graph}
    seen: set[str] = set()
    for name in graph:
        circle = sorted(other for other in reached[name] if name in reached[other])
        if circle and name not in seen:
            seen.update(circle)
            yield circle


def _reach(graph: Graph, start: str) -> set[str]:
    reached: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead.extend(graph[name])
    return reached
