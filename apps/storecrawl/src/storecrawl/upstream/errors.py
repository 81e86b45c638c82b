"""What can go wrong with the upstream, as one small tree.

    UpstreamFailure             .retryable .retry_after (seconds, None if not said)
    ├── Blocked                 401, 403 or a web page instead of data: this identity is not wanted
    ├── RateLimited             429
    ├── Unavailable             5xx, no connection, time ran out, connection cut, body cut
    │   └── RouteFailed         the outgoing route gave no way to the upstream
    ├── UpstreamError           errors[] without data, or a 4xx: the upstream refuses the request
    ├── SchemaDrift             the answer is well-formed but not in the shape that is known
    ├── Truncated               a menu of less than half of the products that the upstream counts
    ├── ForeignRedirect         the upstream sends us to another host; not followed
    ├── Untrusted               a certificate that nobody whom we trust has signed
    ├── Malformed               a whole answer that cannot be read: another coding, damaged gzip, no JSON
    ├── TooLarge                a body above the byte cap, or packed tighter than any answer
    └── UnknownStore            no store has this slug or id
    ForbiddenUrl                a ValueError: not an address that this client talks to
    NoEntryPoint                a ValueError: neither a slug, nor an id, nor the address of a menu

Everything but Untrusted, TooLarge, UnknownStore and refusals of the request itself may pass if tried again later.
"""

from __future__ import annotations


class UpstreamFailure(Exception):
    """A request that brought no usable answer."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Blocked(UpstreamFailure):
    """The upstream refuses to talk to this identity, or `by` lets nobody through to it."""

    def __init__(self, status: int, *, by: str = "the upstream") -> None:
        super().__init__(f"blocked by {by} (HTTP {status})")
        self.status = status


class RateLimited(UpstreamFailure):
    """The upstream asks for fewer requests; `retry_after` is what it asks to wait."""

    def __init__(self, retry_after: float | None) -> None:
        wish = "" if retry_after is None else f", asked to wait {retry_after:g} s"
        super().__init__(f"rate limited by the upstream{wish}", retry_after=retry_after)


class Unavailable(UpstreamFailure):
    """The upstream gave no complete answer."""


class RouteFailed(Unavailable):
    """The proxy could not be reached, wants other credentials, or could not reach the upstream itself."""


class UpstreamError(UpstreamFailure):
    """The upstream answered with errors; `code` is its own word for them, if it has one."""

    def __init__(self, message: str, *, code: str | None = None, retryable: bool = True) -> None:
        super().__init__(f"the upstream answered: {message}")
        self.code = code
        self.retryable = retryable


class SchemaDrift(UpstreamFailure):
    """The answer lacks what every answer of this operation has.

    It may pass: upstreams change a part of their servers first.
    """

    def __init__(self, operation: str, problem: str) -> None:
        super().__init__(f"{operation}: {problem}")
        self.operation = operation
        self.problem = problem


class Truncated(UpstreamFailure):
    """A menu that breaks off: what was served is far less than what the upstream itself counts."""

    def __init__(self, served: int, counted: int) -> None:
        super().__init__(f"the menu is cut: {served} products were served where the upstream counts {counted}")
        self.served = served
        self.counted = counted


class ForeignRedirect(UpstreamFailure):
    """The upstream redirects to another host, as walls do that want a browser's proof."""

    def __init__(self, location: str) -> None:
        super().__init__(f"redirected to another host: {location}")
        self.location = location


class Untrusted(UpstreamFailure):
    """Who answers cannot prove to be the upstream: either it has no good certificate, or somebody stands between."""

    retryable = False

    def __init__(self, host: str, problem: str) -> None:
        super().__init__(f"the certificate of {host} is not to be trusted: {problem}")
        self.host = host


class Malformed(UpstreamFailure):
    """The answer came whole, and cannot be read. It may pass, as everything that the upstream does by mistake."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the answer cannot be read: {problem}")
        self.problem = problem


class TooLarge(UpstreamFailure):
    """A body is larger than the cap, as it came or unpacked, or unpacks to a multiple of itself that none does."""

    retryable = False

    def __init__(self, problem: str) -> None:
        super().__init__(f"the answer is too large: {problem}")


class UnknownStore(UpstreamFailure):
    """The upstream knows no such store."""

    retryable = False

    def __init__(self, name: str) -> None:
        super().__init__(f"no store has the slug or id {name!r}")
        self.name = name


class ForbiddenUrl(ValueError):
    """An address that this client does not talk to."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url!r} is not an upstream address: {reason}")
        self.url = url
        self.reason = reason


class NoEntryPoint(ValueError):
    """A text that cannot lead to a store."""

    def __init__(self, entry: str) -> None:
        super().__init__(f"{entry!r} is neither a slug, nor an id, nor the address of a menu")
        self.entry = entry
