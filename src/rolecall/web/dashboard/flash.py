"""Flash messages: what a form has done, shown once on the next page; the browser keeps it on the way there."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal
from urllib.parse import quote, unquote

from fastapi import Request, Response

from rolecall.web.http import root_of

__all__ = ["Flash", "Tone", "forget_flash", "read_flash", "remember_flash"]

Tone = Literal["good", "bad", "info"]

NAME = "rolecall-said"
SECONDS = 60
LONGEST = 1_000


@dataclass(frozen=True, slots=True)
class Flash:
    """A sentence, and whether it is good news."""

    text: str
    tone: Tone = "good"


def remember_flash(request: Request, response: Response, flash: Flash) -> None:
    """Let the browser bring it back with its next request."""
    kept = Flash(flash.text[:LONGEST], flash.tone)
    value = quote(json.dumps(asdict(kept)))
    response.set_cookie(
        NAME, value, max_age=SECONDS, path=root_of(request.scope) or "/", httponly=True, samesite="strict"
    )


def read_flash(request: Request) -> Flash | None:
    """Return what the browser brings back, if it does; nothing for what we have not written."""
    try:
        kept = json.loads(unquote(request.cookies.get(NAME, "")))
        tone: Tone = {"good": "good", "bad": "bad"}.get(kept["tone"], "info")  # type: ignore[assignment]
        return Flash(str(kept["text"])[:LONGEST], tone)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def forget_flash(request: Request, response: Response) -> None:
    """Let the browser bring it back no more."""
    response.delete_cookie(NAME, path=root_of(request.scope) or "/", httponly=True, samesite="strict")
