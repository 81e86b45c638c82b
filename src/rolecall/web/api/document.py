"""The description of the API, for programs that make clients or tests of it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from rolecall.web.access import Reads

router = APIRouter(tags=["document"])


@router.get("/openapi.json", include_in_schema=False)
async def show_document(request: Request, _: Reads) -> dict[str, Any]:
    """The OpenAPI document of all routes, those of the app included."""
    document: dict[str, Any] = request.app.openapi()
    return document
