"""The page of the HTTP API: every route with its scope, parameters and responses, from the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant

from rolecall import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.web import build
from rolecall.web.dependencies import Requires, admit_anybody, identify, iter_routes
from rolecall.web.http.problems import ANYWHERE
from tools.reference.markdown import cell, heading, prose, slug, table

INTRODUCTION = """\
Requests and responses are JSON. The document of all routes, including those of your app, is served at `/openapi.json`.
Programs authenticate with an API key (`Authorization: Bearer rk_...`), or on the same machine with the local token.
Each route requires a scope: *own*, *read*, *operate* (which includes both) or *admin* (which includes all). *known*
means any authenticated caller, *open* means no authentication. A request that is repeated with the same
`Idempotency-Key` is executed only once.

Any route may also return these errors: """
METHODS = ("get", "post", "put", "delete")
# The document's own route is omitted.
DOCUMENT = ("GET", "/openapi.json")
NOWHERE = "postgresql:///nowhere"


def page() -> str:
    """Return every route of the API, by tag."""
    application = build_application()
    document, scope_by_route = application.openapi(), scopes(application)
    refusals = ", ".join(f"{status} {HTTPStatus(status).phrase}" for status in ANYWHERE)
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    operations.sort(key=lambda each: (each[1], METHODS.index(each[0].lower())))
    rows = [
        [f"[`{method} {path}`](#{anchor(method, path)})", scope_by_route[method, path], cell(first(operation))]
        for method, path, operation in operations
    ]
    rows.append([f"`{DOCUMENT[0]} {DOCUMENT[1]}`", scope_by_route[DOCUMENT], "The OpenAPI document of all routes."])
    schemas = document["components"]["schemas"]
    return "\n\n".join(
        [
            "# The HTTP API",
            f"{INTRODUCTION}{refusals}; as [problem documents](errors.md).",
            table(["route", "scope", "description"], rows),
            *(
                text
                for method, path, each in operations
                for text in route(method, path, each, scope_by_route[method, path])
            ),
            heading(2, "Objects", "objects"),
            *(text for name in sorted(schemas) for text in object_(name, schemas[name])),
            "",
        ]
    )


def build_application() -> FastAPI:
    """Return the application, without a database, because it receives no requests."""
    return build(NOWHERE, App("reference"), Settings(access=AccessSettings(auth=AuthMode.keys)))


def scopes(application: FastAPI) -> Mapping[tuple[str, str], str]:
    """Return the required scope of each method and path."""
    found = {}
    for each in iter_routes(application.routes):
        for method in each.methods or ():
            if (dependant := getattr(each, "dependant", None)) is not None:
                found[method, str(getattr(each, "path_format", each.path))] = scope_of(dependant)
    return found


def scope_of(dependant: Dependant) -> str:
    calls = list(calls_of(dependant))
    scopes_ = [each.scope.value if each.scope else "known" for each in calls if isinstance(each, Requires)]
    return scopes_[0] if scopes_ else "known" if identify in calls and admit_anybody not in calls else "open"


def calls_of(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for below in dependant.dependencies:
        yield from calls_of(below)


def route(method: str, path: str, operation: Mapping[str, Any], scope: str) -> Iterator[str]:
    yield heading(2, f"`{method} {path}`", anchor(method, path))
    yield prose(operation.get("description") or operation["summary"])
    yield f"Scope: *{scope}*."
    if parameters := operation.get("parameters"):
        rows = ([f"`{each['name']}`", each["in"], type_of(each["schema"]), description_of(each)] for each in parameters)
        yield table(["parameter", "in", "type", "description"], rows)
    for content in operation.get("requestBody", {}).get("content", {}).values():
        yield f"Body: {type_of(content['schema'])}."
    yield table(["answer", "of"], answers(operation["responses"]))


def answers(responses: Mapping[str, Any]) -> Iterator[list[str]]:
    for status, response in responses.items():
        if int(status) in ANYWHERE:
            continue
        kinds = [type_of(content.get("schema", {})) for content in response.get("content", {}).values()]
        yield [f"{status} {cell(response['description'])}", ", ".join(filter(None, kinds))]


def object_(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield heading(3, f"`{name}`", slug(name))
    if schema.get("description"):
        yield prose(schema["description"])
    if values := schema.get("enum"):
        yield "One of " + ", ".join(f"`{value}`" for value in values) + "."
    needed = schema.get("required", ())
    yield table(
        ["field", "type", "description"],
        (
            [f"`{field}`{'' if field in needed else ' (optional)'}", type_of(each), description_of(each)]
            for field, each in schema.get("properties", {}).items()
        ),
    )


def description_of(item: Mapping[str, Any]) -> str:
    """Return the description, and the default if there is one."""
    default = item.get("schema", item).get("default")
    pieces = [cell(item.get("description")), "" if default in (None, "") else f"Default `{default}`."]
    return " ".join(filter(None, pieces))


def type_of(schema: Mapping[str, Any]) -> str:
    """Describe a schema in a few words."""
    match schema:
        case {"$ref": reference}:
            name = str(reference).rpartition("/")[2]
            return f"[{cell(name)}](#{slug(name)})"
        case {"anyOf": kinds} | {"oneOf": kinds} | {"allOf": kinds}:
            return " or ".join(dict.fromkeys(type_of(kind) for kind in kinds))
        case {"const": value}:
            return f"`{value}`"
        case {"enum": values}:
            return " or ".join(f"`{value}`" for value in values)
        case {"type": "array", "items": items}:
            return f"list of {type_of(items)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object of {type_of(values)}"
        case {"type": kind, "format": form}:
            return f"{kind} ({form})"
        case {"type": kind}:
            return str(kind)
        case _:
            return "any JSON" if schema == {} else ""


def first(operation: Mapping[str, Any]) -> str:
    return str(operation.get("description") or operation["summary"]).partition("\n\n")[0]


def anchor(method: str, path: str) -> str:
    return slug(f"{method} {path}")
