"""The OpenAPI document: what the routes declare, what all of them have in common, and the route that serves it."""

from __future__ import annotations

from functools import wraps
from typing import Any

from fastapi import FastAPI, Request

from rolecall.web.dependencies import Reads
from rolecall.web.fields.aliases import MARK, SecondNames
from rolecall.web.http.problems import REFERENCE, Problem, refuses
from rolecall.web.routers import api_router

router = api_router(tags=["document"])

PROBLEM = Problem.model_json_schema(ref_template=REFERENCE)
NOT_FOUND = refuses(404)[404]


def complete(application: FastAPI, names: SecondNames) -> None:
    """Add to the document what routes need not declare.

    That is the schema of errors, a 404 for every path with a parameter, and the app's field aliases and constants.
    FastAPI would build a validator for each error of each route if routes declared the schema as their model.
    """
    declared = application.openapi

    @wraps(declared)
    def openapi() -> dict[str, Any]:
        described = declared()
        for path, operations in described["paths"].items():
            for operation in operations.values():
                if "{" in path:
                    operation["responses"].setdefault("404", NOT_FOUND)
                if operation.pop(MARK, False):
                    operation["parameters"] += [_filter(name) for name in sorted(names.filters)]
        schemas = described["components"]["schemas"]
        schemas[Problem.__name__] = PROBLEM
        for schema in schemas.values():
            if schema.pop(MARK, False):
                _document_names(schema, names)
        return described

    application.openapi = openapi  # type: ignore[method-assign]  # as FastAPI documents it


def _document_names(schema: dict[str, Any], names: SecondNames) -> None:
    if "additionalProperties" in schema:
        schema["additionalProperties"] = False
    for name, alias in names.aliases.items():
        schema["properties"][name] = {"description": f"An alias of payload.{alias.field}."}
    for name, value in names.constants.items():
        schema["properties"][name] = {"type": "string", "const": value}


def _filter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}


@router.get("/openapi.json", include_in_schema=False)
async def show_document(request: Request, _: Reads) -> dict[str, Any]:
    """The OpenAPI document of all routes, including the app's."""
    document: dict[str, Any] = request.app.openapi()
    return document
