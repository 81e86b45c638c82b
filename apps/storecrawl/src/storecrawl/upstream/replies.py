"""Reads replies: the answer's root value, or the typed error that the reply stands for."""

from __future__ import annotations

from typing import Any

import msgspec

from storecrawl.upstream.errors import Blocked, RateLimited, SchemaDrift, Unavailable, UpstreamError
from storecrawl.upstream.exchange import Reply
from storecrawl.upstream.menu_pages import MenuPage
from storecrawl.upstream.operations import Operation

UNAUTHORIZED, FORBIDDEN, REQUEST_TIMEOUT, TOO_MANY_REQUESTS = 401, 403, 408, 429
CLIENT_ERRORS, SERVER_ERRORS = 400, 500
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
"""What the upstream says of requests that it will never accept as they are."""


class HashUnknown(Exception):
    """The upstream does not know the persisted-query hash; it wants the text. Never leaves the client."""


class Fault(msgspec.Struct):
    """One element of `errors[]`."""

    message: str = "no message"
    extensions: dict[str, Any] | None = None

    @property
    def code(self) -> str | None:
        """Return the error's code, if it has one."""
        code = (self.extensions or {}).get("code")
        return code if isinstance(code, str) else None


class Envelope(msgspec.Struct):
    """A GraphQL answer."""

    data: dict[str, Any] | None = None
    errors: list[Fault] | None = None


def root_of(reply: Reply, operation: Operation) -> Any:
    """Return the value of the operation's root field. Raises errors of the tree, and HashUnknown."""
    _refuse_status(reply)
    envelope = _envelope(reply, operation)
    data = envelope.data or {}
    if data.get(operation.root) is None:
        raise _absence(envelope, reply, operation)
    return data[operation.root]


def page_of_web(reply: Reply) -> MenuPage:
    """Return the web page in a reply. Raises errors of the tree."""
    _refuse_status(reply)
    if reply.status >= CLIENT_ERRORS:
        raise UpstreamError(f"HTTP {reply.status}", retryable=False)
    return MenuPage(path=reply.path, text=reply.body.decode("utf-8", "replace"))


def _refuse_status(reply: Reply) -> None:
    if reply.status in {UNAUTHORIZED, FORBIDDEN}:
        raise Blocked(reply.status)
    if reply.status == TOO_MANY_REQUESTS:
        raise RateLimited(reply.retry_after)
    if reply.status >= SERVER_ERRORS or reply.status == REQUEST_TIMEOUT:
        raise Unavailable(f"HTTP {reply.status}", retry_after=reply.retry_after)


def _envelope(reply: Reply, operation: Operation) -> Envelope:
    try:
        return msgspec.json.decode(reply.body, type=Envelope)
    except msgspec.ValidationError as error:
        raise SchemaDrift(operation.name, f"not a GraphQL answer: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _not_json(reply) from error


def _not_json(reply: Reply) -> Exception:
    if "html" in reply.content_type:
        return Blocked(reply.status)
    if reply.status >= CLIENT_ERRORS:
        return UpstreamError(f"HTTP {reply.status}", retryable=False)
    return Unavailable("the body is not complete JSON")


def _absence(envelope: Envelope, reply: Reply, operation: Operation) -> Exception:
    for fault in envelope.errors or ():
        if fault.message == UNKNOWN_HASH or fault.code == UNKNOWN_HASH_CODE:
            return HashUnknown(operation.name)
    if envelope.errors:
        fault = envelope.errors[0]
        return UpstreamError(fault.message, code=fault.code, retryable=fault.code not in FINAL_CODES)
    if reply.status >= CLIENT_ERRORS:
        return UpstreamError(f"HTTP {reply.status}", retryable=False)
    if envelope.data is not None and operation.root not in envelope.data:
        return SchemaDrift(operation.name, f"the answer has no field {operation.root!r}")
    return UpstreamError("no data and no errors")
