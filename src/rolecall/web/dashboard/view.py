"""The argument of page routes: the request, the services, and ways to respond: a page, a redirect or a question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from fastapi.responses import RedirectResponse

from rolecall.model.errors import DatabaseUnavailable
from rolecall.model.operator.access import Caller, Scope
from rolecall.service.services import Services
from rolecall.web.dashboard.flash import Flash, Tone, forget_flash, read_flash, remember_flash
from rolecall.web.dashboard.parts import late
from rolecall.web.dashboard.rendering import PageContext
from rolecall.web.dependencies import KnownCaller, Requires
from rolecall.web.http.requests import has_login_cookie, own_address, root_of
from rolecall.web.idempotency import OperatesOnceByForm
from rolecall.web.state import state_of

SEE_OTHER = 303
# The field that a confirmation form adds to the fields of the original form.
CONFIRMED = "confirmed"
# The query parameter of a confirmation form with the page of the original form.
BACK = "back"


class Unconfirmed(Exception):
    """Raised when a form needs confirmation. The response is a page with the question, whose form sends the same
    fields.
    """

    def __init__(self, question: str, verb: str, meaning: str, fields: Sequence[tuple[str, str]]) -> None:
        super().__init__(question)
        self.question = question
        self.verb = verb
        self.meaning = meaning
        self.fields = fields


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """An authorized request for a page."""

    request: Request
    caller: Caller
    services: Services

    def wants(self, part: str) -> bool:
        """Return whether the response needs this part: a full page needs all parts, a refresh only one."""
        # htmx sends `tag#id`. Parts that are not refreshed need not be computed.
        target = self.request.headers.get("hx-target")
        return target is None or target.partition("#")[2] == part

    async def read(self, **reads: Awaitable[Any]) -> dict[str, Any]:
        """Run the reads of a page's parts at the same time, and return their results by name.

        The result of a read that took too long may only be used in a part of the template (see `parts`). Raises the
        other errors of the reads.
        """
        found = await asyncio.gather(*reads.values(), return_exceptions=True)
        return {name: await self._usable(each) for name, each in zip(reads, found, strict=True)}

    async def _usable(self, found: Any) -> Any:
        if isinstance(found, DatabaseUnavailable):
            reason = await state_of(self.request).find_slowness(self.caller, found)
            if reason is not None:
                return late(reason)
        if isinstance(found, BaseException):
            raise found
        return found

    def page(self, template: str, status: int = 200, /, **context: Any) -> Response:
        """Respond with a page, including the flash message of the previous form. Its route renders it in a thread."""
        flash = read_flash(self.request)
        page_context = page_context_for(self.request, self.caller, flash)
        response = state_of(self.request).pages.prepare(template, page_context, context, status)
        if flash is not None:
            forget_flash(self.request, response)
        return response

    async def confirm(self, question: str, verb: str, meaning: str = "") -> None:
        """Return if the form was confirmed. Otherwise, end the request with a page that asks for confirmation.

        `verb` is the label of the confirming button; `meaning` explains the consequences below the question.
        """
        fields = [(name, value) for name, value in (await self.request.form()).multi_items() if isinstance(value, str)]
        if (CONFIRMED, "true") not in fields:
            raise Unconfirmed(question, verb, meaning, [each for each in fields if each[0] != CONFIRMED])

    def done(self, sentence: str, *, to: str | None = None, tone: Tone = "good") -> Response:
        """Respond to a form: redirect to `to`, or to the page with the form, and show the sentence there."""
        address = (
            (form_address(self.request) or overview_address(self.request))
            if to is None
            else root_of(self.request.scope) + to
        )
        response = redirect(address)
        remember_flash(self.request, response, Flash(sentence, tone))
        return response


def redirect(address: str) -> RedirectResponse:
    """Redirect the browser to a page."""
    return RedirectResponse(address, status_code=SEE_OTHER)


def page_context_for(request: Request, caller: Caller | None, flash: Flash | None = None) -> PageContext:
    """Return what every page needs, for this caller."""
    can_leave = state_of(request).access.has_sessions and has_login_cookie(request)
    return PageContext(request=request, caller=caller, flash=flash, has_session=can_leave)


def form_address(request: Request) -> str | None:
    """Return the page with the form, by the referrer; None if there is none, or it is on another site.

    A confirmation form is not on a page that can be requested again, so its URL contains the original page.
    """
    if BACK in request.query_params:
        return own_address(root_of(request.scope), request.query_params[BACK])
    referer = urlsplit(request.headers.get("referer", ""))
    if referer.netloc != request.headers.get("host") or not referer.path.startswith(root_of(request.scope) + "/"):
        return None
    # Two slashes at the beginning would lead to another host.
    path = "/" + referer.path.lstrip("/")
    return path + (f"?{referer.query}" if referer.query else "")


def overview_address(request: Request) -> str:
    """Return the address of the overview."""
    return root_of(request.scope) + "/"


Reads = Annotated[Services, Depends(Requires(Scope.READ, via="dashboard"))]
Operates = Annotated[Services, Depends(Requires(Scope.OPERATE, via="dashboard"))]
Administers = Annotated[Services, Depends(Requires(Scope.ADMIN, via="dashboard"))]


async def _make_reading_view(request: Request, caller: KnownCaller, services: Reads) -> View:
    return View(request=request, caller=caller, services=services)


async def _make_operating_view(request: Request, caller: KnownCaller, services: Operates) -> View:
    return View(request=request, caller=caller, services=services)


async def _make_operating_once_view(request: Request, caller: KnownCaller, services: OperatesOnceByForm) -> View:
    return View(request=request, caller=caller, services=services)


async def _make_administering_view(request: Request, caller: KnownCaller, services: Administers) -> View:
    return View(request=request, caller=caller, services=services)


Reading = Annotated[View, Depends(_make_reading_view)]
Operating = Annotated[View, Depends(_make_operating_view)]
OperatingOnce = Annotated[View, Depends(_make_operating_once_view)]
Administering = Annotated[View, Depends(_make_administering_view)]
