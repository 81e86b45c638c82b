"""The OpenAPI document: what the routes declare, what all of them have in common, and the route that serves it."""

from __future__ import annotations

from functools import wraps
from typing import Any

from fastapi import APIRouter, FastAPI, Request

from rolecall.web.dependencies import Reads
from rolecall.web.problems import MEDIA_TYPE
from rolecall.web.second_names import MARK, SecondNames

router = APIRouter(tags=["document"])

FIRST_REFUSAL = 400
NOT_FOUND = {
    "description": "Not Found",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def complete(application: FastAPI, names: SecondNames) -> None:
    """Add to the document what routes need not declare.

    That is the media type of errors, a 404 for every path with a parameter, and the app's field aliases and constants.
    """
    declared = application.openapi

    @wraps(declared)
    def openapi() -> dict[str, Any]:
        described = declared()
        for path, operations in described["paths"].items():
            for operation in operations.values():
                _as_problems(operation["responses"])
                if "{" in path:
                    operation["responses"].setdefault("404", NOT_FOUND)
                if operation.pop(MARK, False):
                    operation["parameters"] += [_filter(name) for name in sorted(names.filters)]
        for schema in described["components"]["schemas"].values():
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


def _as_problems(responses: dict[str, Any]) -> None:
    for status, response in responses.items():
        content = response.get("content", {})
        if int(status) >= FIRST_REFUSAL and "application/json" in content:
            response["content"] = {MEDIA_TYPE: content["application/json"]}


@router.get("/openapi.json", include_in_schema=False)
async def show_document(request: Request, _: Reads) -> dict[str, Any]:
    """The OpenAPI document of all routes, including the app's."""
    document: dict[str, Any] = request.app.openapi()
    return document
