"""The Python files below a folder as syntax trees, and the meaning of names in them. Nothing is imported or run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rolecall.model.errors import ConfigError
from rolecall_import.inventory import Place, Unread

# Folders of installed packages and build results.
IGNORED_FOLDERS = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"})
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Source:
    """A file; `names` maps the names of its imports and of its top level to full names."""

    file: str
    module: str
    tree: ast.Module
    names: dict[str, str] = field(default_factory=dict)

    def place(self, node: ast.expr | ast.stmt) -> Place:
        """Return the place of a node."""
        return Place(self.file, node.lineno)


@dataclass(slots=True)
class Sources:
    """The readable and the unreadable files."""

    files: Sequence[Source]
    unread: Sequence[Unread]

    def full_name(self, source: Source, node: ast.AST) -> str | None:
        """Return the full form of a dotted name, such as `shop.tasks.greet`; None for other code."""
        match node:
            case ast.Name(id=name):
                return self._follow_reexports(source.names.get(name, name))
            case ast.Attribute(value=value, attr=attribute):
                begin = self.full_name(source, value)
                return None if begin is None else self._follow_reexports(f"{begin}.{attribute}")
            case _:
                return None

    def functions(self) -> Iterator[tuple[Source, Function]]:
        """Return every function at the top level of a file."""
        for source in self.files:
            for node in source.tree.body:
                if isinstance(node, Function):
                    yield source, node

    def nested_definitions(self, kind: Any, *, top: bool = False) -> Iterator[tuple[Source, Any]]:
        """Return every function or class below the top level of a file; with `top`, also those at the top level."""
        for source in self.files:
            for node in ast.walk(source.tree):
                if isinstance(node, kind) and (top or node not in source.tree.body):
                    yield source, node

    def assignments(self) -> Iterator[tuple[Source, ast.expr, ast.expr]]:
        """Return every assignment target with its value."""
        for source in self.files:
            for node in ast.walk(source.tree):
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        yield source, target, node.value
                elif isinstance(node, ast.AnnAssign) and node.value is not None:
                    yield source, node.target, node.value

    def calls(self) -> Iterator[tuple[Source, ast.expr, set[ast.AST]]]:
        """Yield every call and every `a | b` except decorators, the outer ones first.

        Each comes with a set: nodes added to it are skipped along with everything inside them.
        """
        for source in self.files:
            handled: set[ast.AST] = set()
            for node in ast.walk(source.tree):
                if isinstance(node, Function | ast.ClassDef):
                    handled.update(node.decorator_list)
                if node in handled:
                    handled.update(ast.iter_child_nodes(node))
                elif isinstance(node, ast.Call | ast.BinOp):
                    yield source, node, handled
                    if node in handled:
                        handled.update(ast.iter_child_nodes(node))

    def _follow_reexports(self, name: str) -> str:
        """Follow a name through the modules that re-export it."""
        for _ in range(10):
            module, _, last = name.rpartition(".")
            reexported = next((each.names.get(last) for each in self.files if each.module == module), None)
            if reexported is None or reexported == name:
                break
            name = reexported
        return name


def read_sources(path: Path) -> Sources:
    """Read a file, or all files below a folder in the order of their names. Raises ConfigError for a missing path."""
    if not path.exists():
        raise ConfigError(f"there is no {str(path)!r}", variable="PATH", value=str(path))
    root = path if path.is_dir() else path.parent
    read: list[Source] = []
    unread: list[Unread] = []
    for file in sorted(_files(path), key=lambda file: file.relative_to(root).parts):
        name = file.relative_to(root).as_posix()
        try:
            source = Source(name, _module(file, root), ast.parse(file.read_bytes(), filename=name))
        except (SyntaxError, ValueError, RecursionError, OSError) as error:
            unread.append(Unread(file=name, problem=_problem(error)))
            continue
        source.names = dict(_names(source, is_package=file.name == "__init__.py"))
        read.append(source)
    return Sources(read, unread)


def count_statements(body: Sequence[ast.stmt]) -> int:
    """Return the number of statements, including inner ones, without `pass`."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    return sum(isinstance(node, ast.stmt) and not isinstance(node, ast.Pass) for node in nodes)


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for each in path.iterdir():
        if each.name.startswith(".") or each.name in IGNORED_FOLDERS or each.is_symlink():
            continue
        if each.is_dir() and not (each / "pyvenv.cfg").exists():
            yield from _files(each)
        elif each.suffix == ".py" and each.is_file():
            yield each


def _module(file: Path, root: Path) -> str:
    """Return the module's name, including the packages that contain it."""
    top = root
    while (top / "__init__.py").exists() and top.parent != top:
        top = top.parent
    parts = [*file.relative_to(top).with_suffix("").parts]
    # Modules in `src` are imported without it.
    if parts[0] == "src" and not (top / "src" / "__init__.py").exists() and len(parts) > 1:
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _names(source: Source, *, is_package: bool) -> Iterator[tuple[str, str]]:
    for node in source.tree.body:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name, f"{source.module}.{node.name}"
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name):
                yield target.id, f"{source.module}.{target.id}"
    for each in ast.walk(source.tree):
        if isinstance(each, ast.Import):
            for alias in each.names:
                first = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (first, first)
        elif isinstance(each, ast.ImportFrom):
            module = _imported_from(each, source.module, is_package=is_package)
            for alias in each.names:
                yield alias.asname or alias.name, f"{module}.{alias.name}"


def _imported_from(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".") if is_package else module.split(".")[:-1]
    begin = package[: len(package) - node.level + 1]
    return ".".join([*begin, *([node.module] if node.module else [])])


def _problem(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg} (Python {sys.version_info.major}.{sys.version_info.minor} reads it)"
    return str(error)
