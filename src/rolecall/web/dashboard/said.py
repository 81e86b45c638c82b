"""What a form has done, told once on the page that comes next: kept by the browser on the way there."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal
from urllib.parse import quote, unquote

from fastapi import Request, Response

from rolecall.web.http import root_of

__all__ = ["Said", "Tone", "forget", "remember", "was_said"]

Tone = Literal["good", "bad", "info"]

NAME = "rolecall-said"
SECONDS = 60
LONGEST = 1_000


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, and whether it is good news."""

    text: str
    tone: Tone = "good"


def remember(request: Request, response: Response, said: Said) -> None:
    """Let the browser bring it back with its next request."""
    kept = Said(said.text[:LONGEST], said.tone)
    value = quote(json.dumps(asdict(kept)))
    response.set_cookie(
        NAME, value, max_age=SECONDS, path=root_of(request.scope) or "/", httponly=True, samesite="strict"
    )


def was_said(request: Request) -> Said | None:
    """Return what the browser brings back, if it does; nothing for what we have not written."""
    try:
        kept = json.loads(unquote(request.cookies.get(NAME, "")))
        tone: Tone = {"good": "good", "bad": "bad"}.get(kept["tone"], "info")  # type: ignore[assignment]
        return Said(str(kept["text"])[:LONGEST], tone)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def forget(request: Request, response: Response) -> None:
    """Let the browser bring it back no more."""
    response.delete_cookie(NAME, path=root_of(request.scope) or "/", httponly=True, samesite="strict")
