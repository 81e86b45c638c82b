"""Errors of the upstream.

    UpstreamFailure             .retryable .retry_after (seconds, None if not stated)
    ├── Blocked                 401, 403 or a web page instead of data: this identity is rejected
    ├── RateLimited             429
    ├── Unavailable             5xx, no connection, timeout, connection or body cut
    │   └── RouteFailed         the route did not reach the upstream
    ├── UpstreamError           errors[] without data, or a 4xx: the upstream rejects the request
    ├── SchemaDrift             a well-formed response with an unknown structure
    ├── Truncated               a menu with less than half of the products that the upstream counts
    ├── ForeignRedirect         a redirect to another host, which is not followed
    ├── Untrusted               a certificate without a trusted signature
    ├── Malformed               a complete but unreadable response: another coding, damaged gzip, not JSON
    ├── TooLarge                a body above the byte limit, or with an impossible compression ratio
    └── UnknownStore            no store has this slug or id
    ForbiddenUrl                a ValueError: an address that this client must not call
    NoEntryPoint                a ValueError: not a slug, an id or the address of a menu

All but Untrusted, TooLarge, UnknownStore and rejected requests may be gone on a later attempt.
"""

from __future__ import annotations


class UpstreamFailure(Exception):
    """A request without a usable response."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Blocked(UpstreamFailure):
    """The upstream rejects this identity, or `by` blocks the way to it."""

    def __init__(self, status: int, *, by: str = "the upstream") -> None:
        super().__init__(f"blocked by {by} (HTTP {status})")
        self.status = status


class RateLimited(UpstreamFailure):
    """The upstream requests a lower rate; `retry_after` is the requested wait."""

    def __init__(self, retry_after: float | None) -> None:
        wish = "" if retry_after is None else f", requested to wait {retry_after:g} s"
        super().__init__(f"rate limited by the upstream{wish}", retry_after=retry_after)


class Unavailable(UpstreamFailure):
    """The upstream sent no complete response."""


class RouteFailed(Unavailable):
    """The proxy is unreachable, rejects the credentials, or could not reach the upstream."""


class UpstreamError(UpstreamFailure):
    """The upstream responded with errors; `code` is its own code for them, `status` that of HTTP, if any."""

    def __init__(
        self, message: str, *, code: str | None = None, status: int | None = None, retryable: bool = True
    ) -> None:
        super().__init__(f"error of the upstream: {message}")
        self.code = code
        self.status = status
        self.retryable = retryable


class SchemaDrift(UpstreamFailure):
    """The response lacks something that every response of this operation has.

    A retry may help: upstreams change their servers one after another.
    """

    def __init__(self, operation: str, problem: str) -> None:
        super().__init__(f"{operation}: {problem}")
        self.operation = operation
        self.problem = problem


class Truncated(UpstreamFailure):
    """A menu was cut: the upstream served far fewer products than it counts."""

    def __init__(self, served: int, counted: int) -> None:
        super().__init__(f"the menu is cut: the upstream served {served} products but counts {counted}")
        self.served = served
        self.counted = counted


class ForeignRedirect(UpstreamFailure):
    """The upstream redirects to another host, for example to a bot check."""

    def __init__(self, location: str) -> None:
        super().__init__(f"redirected to another host: {location}")
        self.location = location


class Untrusted(UpstreamFailure):
    """The server has no valid certificate, or a third party intercepts the connection."""

    retryable = False

    def __init__(self, host: str, problem: str) -> None:
        super().__init__(f"the certificate of {host} is not trusted: {problem}")
        self.host = host


class Malformed(UpstreamFailure):
    """The response is complete and unreadable. A retry may help."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the response cannot be read: {problem}")
        self.problem = problem


class TooLarge(UpstreamFailure):
    """A body exceeds the limit, compressed or decompressed, or has an impossible compression ratio."""

    retryable = False

    def __init__(self, problem: str) -> None:
        super().__init__(f"the response is too large: {problem}")


class UnknownStore(UpstreamFailure):
    """The upstream has no such store."""

    retryable = False

    def __init__(self, name: str) -> None:
        super().__init__(f"no store has the slug or id {name!r}")
        self.name = name


class ForbiddenUrl(ValueError):
    """An address that this client must not call."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url!r} is not an upstream address: {reason}")
        self.url = url
        self.reason = reason


class NoEntryPoint(ValueError):
    """A text that cannot lead to a store."""

    def __init__(self, entry: str) -> None:
        super().__init__(f"{entry!r} is not a slug, an id or the address of a menu")
        self.entry = entry
