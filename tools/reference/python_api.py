"""The pages of the Python API: the exports of `rolecall` and its public modules, with signatures and docstrings.

The code is parsed, not imported: the pages show what type checkers see, including overloads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import griffe

from tools.engine import PACKAGE
from tools.reference.markdown import cell, code, heading, prose, table

ROLECALL = "rolecall"
# The module that defines an export determines its page; the first match applies.
PAGES = {
    "rolecall.model.errors": "errors",
    "rolecall.embedded.errors": "errors",
    "rolecall.app": "app",
    "rolecall.client": "client",
    "rolecall.hosting": "client",
    "rolecall.model.transactions": "client",
    "rolecall.worker": "worker",
    "rolecall.model.handlers": "worker",
    "rolecall.model.outcomes": "worker",
    "rolecall.model.workers": "worker",
    "rolecall.db": "database",
    "rolecall.telemetry": "events",
    "rolecall": "tasks",
}
TITLES = {
    "app": "Apps, handlers, roles",
    "client": "Clients",
    "worker": "Workers and contexts",
    "tasks": "Tasks, schedules, keys",
    "database": "Database and migrations",
    "events": "Events",
    "errors": "Exceptions",
}
# Internal packages, whose public names `rolecall` exports.
INSIDE = frozenset(
    {"app", "client", "config", "db", "embedded", "extras", "handoff", "hosting"}
    | {"maintenance", "model", "service", "sql", "transport", "worker", "__main__"}
)
WIDEST = 100
# Methods that every object has are not listed.
SHOWN_SPECIAL_METHODS = frozenset({"__call__", "__aenter__", "__enter__"})


def pages(root: Path) -> dict[str, str]:
    """Return an overview, a page for each kind of export of `rolecall`, and one for each other public module."""
    package = read(root / PACKAGE.parent)
    parts = group_by_page(package)
    modules = public_modules(package)
    own = {f"reference/python/{page}.md": write_page(TITLES[page], "", objects) for page, objects in parts.items()}
    others = {
        f"reference/python/{module.path}.md": write_page(f"`{module.path}`", docstring(module), exports_of(module))
        for module in modules
    }
    return {"reference/python.md": overview(parts, modules)} | own | others


@cache
def read(source: Path) -> griffe.Module:
    """Load the package and resolve names that are defined in other modules."""
    loader = griffe.GriffeLoader(search_paths=[source], allow_inspection=False)
    loader.load(ROLECALL)
    loader.resolve_aliases(implicit=False)
    package: griffe.Module = loader.modules_collection[ROLECALL]
    return package


def public_modules(package: griffe.Module) -> list[griffe.Module]:
    """Return the modules that programs may import besides `rolecall` itself."""
    return [module for name, module in sorted(package.modules.items()) if name not in INSIDE and module.exports]


def exports_of(module: griffe.Module) -> dict[str, griffe.Object]:
    """Return the exports of a module by name."""
    names = sorted((str(name) for name in module.exports or ()), key=str.lower)
    return {name: real(module[name]) for name in names}


def real(found: griffe.Object | griffe.Alias) -> griffe.Object:
    return found.final_target if isinstance(found, griffe.Alias) else found


def group_by_page(package: griffe.Module) -> dict[str, dict[str, griffe.Object]]:
    found: dict[str, dict[str, griffe.Object]] = defaultdict(dict)
    for name, each in exports_of(package).items():
        page = next(page for prefix, page in PAGES.items() if f"{each.path}.".startswith(f"{prefix}."))
        found[page][name] = each
    return {page: found[page] for page in TITLES if page in found}


def overview(parts: Mapping[str, Mapping[str, griffe.Object]], modules: Iterable[griffe.Module]) -> str:
    pieces = [
        "# The Python API",
        "The names on these pages are stable; all other modules are internal.",
    ]
    for page, objects in parts.items():
        pieces += [heading(2, TITLES[page], page), table(["from rolecall", "description"], list_objects(page, objects))]
    for module in modules:
        pieces += [heading(2, f"`{module.path}`", module.path), cell(first(docstring(module)))]
        pieces.append(table([f"from {module.path}", "description"], list_objects(module.path, exports_of(module))))
    return "\n\n".join([*pieces, ""])


def list_objects(page: str, objects: Mapping[str, griffe.Object]) -> Iterator[list[str]]:
    for name, each in objects.items():
        yield [f"[`{name}`](python/{page}.md#{name})", cell(first(docstring(each)))]


def write_page(title: str, introduction: str, objects: Mapping[str, griffe.Object]) -> str:
    sections = (text for name, each in objects.items() for text in section(name, each))
    return "\n\n".join([f"# {title}", *([prose(introduction, "python")] if introduction else []), *sections, ""])


def section(name: str, each: griffe.Object) -> Iterator[str]:
    yield heading(2, f"`{name}`", name)
    match each:
        case griffe.Class():
            yield from class_(name, each)
        case griffe.Function():
            yield from function(name, each)
        case griffe.Attribute():
            yield code(f"{name} = {each.value}", "python")
            yield prose(docstring(each), "python")
        case _:
            yield prose(docstring(each), "python")


def class_(name: str, each: griffe.Class) -> Iterator[str]:
    members = {key: real(member) for key, member in each.all_members.items()}
    enumerated = any(base.endswith("Enum") for base in map(str, each.bases))
    yield code(header(name, each, members), "python")
    yield prose(docstring(each), "python")
    fields = [member for key, member in members.items() if isinstance(member, griffe.Attribute) and is_public(key)]
    if values := [member for member in fields if enumerated and "property" not in member.labels]:
        yield table(["name", "value"], ([f"`{value.name}`", f"`{value.value}`"] for value in values))
    shown = [field for field in fields if field not in values and (field.docstring or "property" in field.labels)]
    yield table(["attribute", "type", "description"], map(attribute, shown))
    for key, member in members.items():
        if isinstance(member, griffe.Function) and (
            is_public(key) or (key in SHOWN_SPECIAL_METHODS and docstring(member))
        ):
            yield heading(3, f"`{name}.{key}`", f"{name}.{key.strip('_')}")
            yield from function(key, member)


def attribute(each: griffe.Attribute) -> list[str]:
    return [f"`{each.name}`", f"`{each.annotation}`", cell(docstring(each))]


def header(name: str, each: griffe.Class, members: Mapping[str, griffe.Object]) -> str:
    """Return a class's constructor; for classes that callers never construct, its bases."""
    bases = ", ".join(map(str, each.bases))
    if "Protocol" in bases:
        return f"class {name}({bases})"
    if any(base in bases for base in ("TypedDict", "Struct")):
        fields = [member for member in members.values() if isinstance(member, griffe.Attribute)]
        lines = [f"    {field.name}: {field.annotation}" for field in fields if is_public(field.name)]
        return "\n".join([f"class {name}({bases}):", *lines])
    match members.get("__init__"):
        case griffe.Function() as init:
            return signature(name, init, keyword="class", with_result=False)
        case _:
            return f"class {name}({bases})" if bases else f"class {name}"


def function(name: str, each: griffe.Function) -> Iterator[str]:
    shown = each.overloads or [each]
    yield code("\n".join(signature(name, one) for one in shown), "python")
    yield prose(docstring(each), "python")


def signature(name: str, each: griffe.Function, *, keyword: str = "def", with_result: bool = True) -> str:
    """Format a signature as it is declared, without `self`; in one line if it fits."""
    texts = list(parameters(each))
    head = f"{'async ' if 'async' in each.labels else ''}{keyword} {name}"
    result = f" -> {each.returns}" if with_result and each.returns is not None else ""
    line = f"{head}({', '.join(texts)}){result}"
    return line if len(line) <= WIDEST else "\n".join([f"{head}(", *(f"    {each}," for each in texts), f"){result}"])


def parameters(each: griffe.Function) -> Iterator[str]:
    kinds = griffe.ParameterKind
    parameters_ = [parameter for parameter in each.parameters if parameter.name not in {"self", "cls"}]
    last = None
    for parameter in parameters_:
        if last is kinds.positional_only and parameter.kind is not last:
            yield "/"
        if parameter.kind is kinds.keyword_only and last not in {kinds.keyword_only, kinds.var_positional}:
            yield "*"
        stars = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(parameter.kind, "")
        annotated = f": {parameter.annotation}" if parameter.annotation is not None else ""
        has_default = parameter.default is not None and not stars
        equals = " = " if annotated else "="
        yield f"{stars}{parameter.name}{annotated}{f'{equals}{parameter.default}' if has_default else ''}"
        last = parameter.kind
    if last is kinds.positional_only:
        yield "/"


def is_public(name: str) -> bool:
    return not name.startswith("_")


def docstring(each: griffe.Object) -> str:
    return each.docstring.value if each.docstring else ""


def first(text: str) -> str:
    return text.partition("\n\n")[0]
