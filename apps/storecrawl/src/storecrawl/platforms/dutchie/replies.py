"""Parse responses: return the root value, or raise the typed error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from storecrawl.platforms.dutchie.operations import Operation
from storecrawl.platforms.dutchie.resolution import MenuPage
from storecrawl.platforms.errors import SchemaDrift, UpstreamError
from storecrawl.platforms.exchange import Reply
from storecrawl.platforms.replies import CLIENT_ERRORS, json_error, refuse_client_error, refuse_status
from storecrawl.platforms.untrusted_json import NotJson, Unread, read_json, read_members

UNKNOWN_HASH = "PersistedQueryNotFound"
UNKNOWN_HASH_CODE = "PERSISTED_QUERY_NOT_FOUND"
FINAL_CODES = frozenset(
    {
        "BAD_REQUEST",
        "BAD_USER_INPUT",
        "GRAPHQL_PARSE_FAILED",
        "GRAPHQL_VALIDATION_FAILED",
        "PERSISTED_QUERY_NOT_SUPPORTED",
    }
)
"""The codes of requests that the upstream rejects permanently."""

Document = dict[str, Any]


class HashUnknown(Exception):
    """The upstream does not know the persisted-query hash and needs the text. Never leaves the client."""


def root_of(reply: Reply, operation: Operation) -> Any:
    """Return the value of the operation's root field. Raises errors of the tree, and HashUnknown."""
    refuse_status(reply)
    try:
        document = read_json(reply.body)
    except NotJson as problem:
        raise json_error(reply, problem) from problem
    return _root(document, reply, operation)


def root_without_bad_members(reply: Reply, operation: Operation, name: str) -> tuple[Any, list[Unread]]:
    """Return the root value without the unreadable members of its list `name`, and those. Raises as `root_of`.

    Use it for documents that `root_of` rejects. It scans the whole body for the bounds of each member.
    """
    refuse_status(reply)
    try:
        document, unread = read_members(reply.body, "data", operation.root, name)
    except NotJson as problem:
        raise json_error(reply, problem) from problem
    return _root(document, reply, operation), unread


def page_of_web(reply: Reply) -> MenuPage:
    """Return the web page in a response. Raises errors of the tree."""
    refuse_status(reply)
    refuse_client_error(reply)
    return MenuPage(path=reply.path, text=reply.body.decode("utf-8", "replace"))


def _root(document: Any, reply: Reply, operation: Operation) -> Any:
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(data, dict | None):
        raise SchemaDrift(operation.name, "it is not a GraphQL response")
    root = None if data is None else data.get(operation.root)
    if root is None:
        raise _absence(document, reply, operation)
    return root


def _absence(document: Document, reply: Reply, operation: Operation) -> Exception:
    faults = list(_faults(document))
    if any(message == UNKNOWN_HASH or code == UNKNOWN_HASH_CODE for message, code in faults):
        return HashUnknown(operation.name)
    if faults:
        message, code = faults[0]
        return UpstreamError(message, code=code, retryable=code not in FINAL_CODES)
    if reply.status >= CLIENT_ERRORS:
        return UpstreamError(f"HTTP {reply.status}", retryable=False)
    if document.get("data") is not None and operation.root not in document["data"]:
        return SchemaDrift(operation.name, f"the response has no field {operation.root!r}")
    return UpstreamError("no data and no errors")


def _faults(document: Document) -> Iterator[tuple[str, str | None]]:
    errors = document.get("errors")
    for error in errors if isinstance(errors, list) else []:
        if isinstance(error, dict):
            message, extensions = error.get("message"), error.get("extensions")
            code = extensions.get("code") if isinstance(extensions, dict) else None
            yield message if isinstance(message, str) else "no message", code if isinstance(code, str) else None
