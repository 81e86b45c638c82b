"""Judge responses by their status, and parse JSON; failures are errors of the tree."""

from __future__ import annotations

from typing import Any

from storecrawl.platforms.errors import Blocked, Malformed, RateLimited, Unavailable, UpstreamError
from storecrawl.platforms.exchange import Reply
from storecrawl.platforms.untrusted_json import NotJson, read_json

UNAUTHORIZED, FORBIDDEN, REQUEST_TIMEOUT, TOO_MANY_REQUESTS = 401, 403, 408, 429
CLIENT_ERRORS, SERVER_ERRORS = 400, 500


def json_of(reply: Reply) -> Any:
    """Return the JSON value of a good response. Raises errors of the tree."""
    refuse_status(reply)
    refuse_client_error(reply)
    try:
        return read_json(reply.body)
    except NotJson as problem:
        raise json_error(reply, problem) from problem


def refuse_status(reply: Reply) -> None:
    """Raise the error of a status whose body does not matter."""
    if reply.status in {UNAUTHORIZED, FORBIDDEN}:
        raise Blocked(reply.status)
    if reply.status == TOO_MANY_REQUESTS:
        raise RateLimited(reply.retry_after)
    if reply.status >= SERVER_ERRORS or reply.status == REQUEST_TIMEOUT:
        raise Unavailable(f"HTTP {reply.status}", retry_after=reply.retry_after)


def refuse_client_error(reply: Reply) -> None:
    """Raise UpstreamError for another status that rejects the request."""
    if reply.status >= CLIENT_ERRORS:
        raise UpstreamError(f"HTTP {reply.status}", retryable=False, status=reply.status)


def json_error(reply: Reply, problem: NotJson) -> Exception:
    """Return the error of a response that is not JSON."""
    if "html" in reply.content_type:
        return Blocked(reply.status)
    if reply.status >= CLIENT_ERRORS:
        return UpstreamError(f"HTTP {reply.status}", retryable=False, status=reply.status)
    if problem.is_cut:
        return Unavailable(f"incomplete response (HTTP {reply.status}): {problem}")
    return Malformed(str(problem))
