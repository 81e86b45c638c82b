"""A step between another site's link and our page, over which the browser sends our cookie.

The session's cookie is not sent with what another site asks for (SameSite=Strict), not even with a link in a chat that
somebody clicked: they would be asked to log in though they are. A page of ours that asks for the same address at once
mends that; what it leads to is only ever looked at, and who has no session is asked to log in one step later.
"""

from __future__ import annotations

from fastapi import Request, Response

from rolecall.web.dashboard.view import shown_to
from rolecall.web.state import state_of

__all__ = ["hop", "may_hop"]


def may_hop(request: Request) -> bool:
    """Whether this is such a link. What the step itself asks for comes from our site: there is never a second one."""
    headers = request.headers
    return (
        request.method == "GET"
        and headers.get("sec-fetch-site") == "cross-site"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def hop(request: Request, to: str) -> Response:
    """The page that asks for an address at once."""
    return state_of(request).pages.page("hop.html", shown_to(request, None), {"to": to})
