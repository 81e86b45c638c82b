"""Serves styles and scripts under a URL that changes with their content, so that browsers can cache them.

They are compressed once per process.
"""

from __future__ import annotations

from functools import cache
from gzip import compress
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from mimetypes import guess_type

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

FOLDER = files("rolecall.web.dashboard") / "assets"
SERVED = (".css", ".js", ".svg")
FOREVER = {"cache-control": "public, max-age=31536000, immutable", "vary": "Accept-Encoding"}

router = APIRouter(include_in_schema=False)


@router.get("/assets/{digest}/{name:path}")
async def get_asset(digest: str, name: str, request: Request) -> Response:
    """Return a file; 404 for an unknown one, and for one of another release."""
    content = _assets().get(name)
    if content is None or digest != _digest():
        raise HTTPException(404, "this release has no such file")
    headers = FOREVER
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers = _compressed()[name], {**FOREVER, "content-encoding": "gzip"}
    return Response(content, media_type=guess_type(name)[0], headers=headers)


def asset_address(name: str) -> str:
    """Return the URL of a file below the server's root path. Raises KeyError for an unknown file."""
    _assets()[name]
    return f"/assets/{_digest()}/{name}"


@cache
def _assets() -> dict[str, bytes]:
    return dict(_walk(FOLDER, ""))


@cache
def _compressed() -> dict[str, bytes]:
    return {name: compress(content, mtime=0) for name, content in _assets().items()}


@cache
def _digest() -> str:
    whole = sha256()
    for name, content in sorted(_assets().items()):
        whole.update(name.encode() + b"\0" + content)
    return whole.hexdigest()[:12]


def _walk(folder: Traversable, path: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for each in folder.iterdir():
        if each.is_dir():
            found += _walk(each, f"{path}{each.name}/")
        elif each.name.endswith(SERVED):
            found.append((path + each.name, each.read_bytes()))
    return found
