"""Which addresses the client talks to, checked before anything is sent."""

from __future__ import annotations

import httpx2

from storecrawl.upstream.errors import ForbiddenUrl

SCHEMES = ("http", "https")


def checked_base(url: str) -> httpx2.URL:
    """Return the upstream's address. Raises ForbiddenUrl for anything but plain http(s)://host[:port][/path]."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError) as error:
        raise ForbiddenUrl(str(url), "it cannot be read") from error
    if parsed.scheme not in SCHEMES:
        raise ForbiddenUrl(url, "only http and https are allowed")
    if not parsed.host:
        raise ForbiddenUrl(url, "it names no host")
    if parsed.userinfo:
        raise ForbiddenUrl(url, "it carries a user name")
    if parsed.query or parsed.fragment:
        raise ForbiddenUrl(url, "it carries a query or a fragment")
    return parsed


def same_origin(first: httpx2.URL, second: httpx2.URL) -> bool:
    """Say whether two addresses share scheme, host and port."""
    return origin_of(first) == origin_of(second)


def origin_of(url: httpx2.URL) -> str:
    """Return scheme, host and port as a browser writes them."""
    port = "" if url.port is None else f":{url.port}"
    return f"{url.scheme}://{url.host}{port}"
