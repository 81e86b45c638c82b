"""What the route of a page works with: the services, a question, and two ways to answer, a page or another address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from fastapi.responses import RedirectResponse

from rolecall.model.access import Caller, Scope
from rolecall.service.services import Services
from rolecall.web.dashboard.flash import Flash, Tone, forget_flash, read_flash, remember_flash
from rolecall.web.dashboard.rendering import Shown
from rolecall.web.dependencies import KnownCaller, Requires
from rolecall.web.http import has_login_cookie, own_address, root_of
from rolecall.web.idempotency import OperatesOnceByForm
from rolecall.web.state import state_of

__all__ = [
    "Administering",
    "Operating",
    "OperatingOnce",
    "Reading",
    "Unconfirmed",
    "View",
    "first_page",
    "redirect",
    "shown_to",
    "where_from",
]

SEE_OTHER = 303
# What the form of a question sends beside the fields of the form that it asks about.
CONFIRMED = "confirmed"
# Where in its address stands the page that the first form stood on.
BACK = "back"


class Unconfirmed(Exception):
    """A form has to be confirmed first: the answer is a page with this question, whose form sends the same again."""

    def __init__(self, question: str, verb: str, meaning: str, fields: Sequence[tuple[str, str]]) -> None:
        super().__init__(question)
        self.question = question
        self.verb = verb
        self.meaning = meaning
        self.fields = fields


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One request for a page, by somebody who may see it."""

    request: Request
    caller: Caller
    services: Services

    def wants(self, part: str) -> bool:
        """Whether this part of the page is asked for: a page that is loaded has all, one that is refreshed a part."""
        # htmx sends `tag#id`; the page leaves out only what nobody will see.
        target = self.request.headers.get("hx-target")
        return target is None or target.partition("#")[2] == part

    def page(self, template: str, status: int = 200, /, **context: Any) -> Response:
        """Answer with a page; what the form before it has done is told on it."""
        flash = read_flash(self.request)
        shown = shown_to(self.request, self.caller, flash)
        response = state_of(self.request).pages.page(template, shown, context, status)
        if flash is not None:
            forget_flash(self.request, response)
        return response

    async def confirm(self, question: str, verb: str, meaning: str = "") -> None:
        """Go on where the form was confirmed; else end the request with a page that asks this.

        `verb` stands on the button that says yes, `meaning` tells below the question what follows from it.
        """
        fields = [(name, value) for name, value in (await self.request.form()).multi_items() if isinstance(value, str)]
        if (CONFIRMED, "true") not in fields:
            raise Unconfirmed(question, verb, meaning, [each for each in fields if each[0] != CONFIRMED])

    def done(self, sentence: str, *, to: str | None = None, tone: Tone = "good") -> Response:
        """Answer a form: tell this on the next page, by default the one that the form stood on."""
        where = (
            (where_from(self.request) or first_page(self.request)) if to is None else root_of(self.request.scope) + to
        )
        response = redirect(where)
        remember_flash(self.request, response, Flash(sentence, tone))
        return response


def redirect(where: str) -> RedirectResponse:
    """Send the browser to a page."""
    return RedirectResponse(where, status_code=SEE_OTHER)


def shown_to(request: Request, caller: Caller | None, flash: Flash | None = None) -> Shown:
    """What every page needs to know, for who asks."""
    can_leave = state_of(request).access.asks and has_login_cookie(request)
    return Shown(request=request, caller=caller, flash=flash, has_session=can_leave)


def where_from(request: Request) -> str | None:
    """The page of ours that a form stood on, as the browser tells; None where it does not, or on another site.

    The form of a question stands on no page that could be asked for again: its address says where the first one stood.
    """
    if BACK in request.query_params:
        return own_address(root_of(request.scope), request.query_params[BACK])
    referer = urlsplit(request.headers.get("referer", ""))
    if referer.netloc != request.headers.get("host") or not referer.path.startswith(root_of(request.scope) + "/"):
        return None
    # A path with two slashes at its beginning would be another host.
    path = "/" + referer.path.lstrip("/")
    return path + (f"?{referer.query}" if referer.query else "")


def first_page(request: Request) -> str:
    """The address of the overview."""
    return root_of(request.scope) + "/"


Reads = Annotated[Services, Depends(Requires(Scope.READ, via="dashboard"))]
Operates = Annotated[Services, Depends(Requires(Scope.OPERATE, via="dashboard"))]
Administers = Annotated[Services, Depends(Requires(Scope.ADMIN, via="dashboard"))]


async def _reading(request: Request, caller: KnownCaller, services: Reads) -> View:
    return View(request=request, caller=caller, services=services)


async def _operating(request: Request, caller: KnownCaller, services: Operates) -> View:
    return View(request=request, caller=caller, services=services)


async def _operating_once(request: Request, caller: KnownCaller, services: OperatesOnceByForm) -> View:
    return View(request=request, caller=caller, services=services)


async def _administering(request: Request, caller: KnownCaller, services: Administers) -> View:
    return View(request=request, caller=caller, services=services)


Reading = Annotated[View, Depends(_reading)]
Operating = Annotated[View, Depends(_operating)]
OperatingOnce = Annotated[View, Depends(_operating_once)]
Administering = Annotated[View, Depends(_administering)]
