"""Flash messages: the result of a form, shown once on the next page. A cookie carries it there."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal
from urllib.parse import quote, unquote

from fastapi import Request, Response

from rolecall.web.http.requests import root_of

Tone = Literal["good", "bad", "info"]

NAME = "rolecall-flash"
SECONDS = 60
LONGEST = 1_000


@dataclass(frozen=True, slots=True)
class Flash:
    """A sentence and its tone."""

    text: str
    tone: Tone = "good"


def remember_flash(request: Request, response: Response, flash: Flash) -> None:
    """Store the message in a cookie."""
    stored = Flash(flash.text[:LONGEST], flash.tone)
    value = quote(json.dumps(asdict(stored)))
    response.set_cookie(
        NAME, value, max_age=SECONDS, path=root_of(request.scope) or "/", httponly=True, samesite="strict"
    )


def read_flash(request: Request) -> Flash | None:
    """Return the message of the cookie; None if there is none, or it is invalid."""
    try:
        stored = json.loads(unquote(request.cookies.get(NAME, "")))
        tone: Tone = {"good": "good", "bad": "bad"}.get(stored["tone"], "info")  # type: ignore[assignment]
        return Flash(str(stored["text"])[:LONGEST], tone)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def forget_flash(request: Request, response: Response) -> None:
    """Delete the cookie."""
    response.delete_cookie(NAME, path=root_of(request.scope) or "/", httponly=True, samesite="strict")
