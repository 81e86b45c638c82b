"""Renders templates into responses. Everything is escaped, unknown names are errors, and pages are not cached."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from rolecall.model.operator.access import Caller
from rolecall.web.dashboard import formats
from rolecall.web.dashboard.assets import asset_address
from rolecall.web.dashboard.flash import Flash
from rolecall.web.dashboard.navigation import OWN_PAGES, NavigationEntry, current_entry, tabs_of
from rolecall.web.dashboard.parts import PartExtension, is_late
from rolecall.web.dashboard.presenters import errors, settings
from rolecall.web.http.requests import PLACE, etag_of, has_etag, path_below, root_of

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    # After an error, a form leads back to its page, which the referrer names.
    "referrer-policy": "same-origin",
}
ENVIRONMENTS = 16
FILTERS = {name: getattr(module, name) for module in (errors, formats, settings) for name in module.__all__}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """The values that every page needs in addition to its own context."""

    request: Request
    caller: Caller | None = None
    flash: Flash | None = None
    has_session: bool = False


class UnrenderedPage(HTMLResponse):
    """A page that is rendered when it is completed, which a thread can do: a long page takes tens of milliseconds.

    It has an ETag, and becomes 304 if the client has the same page already. Browsers keep no page (`no-store`), but
    live.js remembers the ETag of each fragment that it shows.
    """

    def __init__(self, request: Request, render: Callable[[], str], status: int) -> None:
        super().__init__(status_code=status, headers=HEADERS)
        self._request = request
        self._text = render

    def complete(self) -> UnrenderedPage:
        """Render the page. Raises TooSlow."""
        body = self._text().encode()
        self.headers["etag"] = etag_of(body)
        if self.status_code == HTTPStatus.OK and has_etag(self._request, self.headers["etag"]):
            self.status_code, body = HTTPStatus.NOT_MODIFIED, b""
        self.body = body
        self.headers["content-length"] = str(len(body))
        return self


@dataclass(frozen=True, slots=True)
class Renderer:
    """The templates and the navigation items."""

    environment: Environment
    entries: tuple[NavigationEntry, ...]

    def page(
        self, template: str, page_context: PageContext, context: Mapping[str, Any], status: int = 200
    ) -> HTMLResponse:
        """Render a template into a response."""
        return self.prepare(template, page_context, context, status).complete()

    def prepare(
        self, template: str, page_context: PageContext, context: Mapping[str, Any], status: int = 200
    ) -> UnrenderedPage:
        """Return a response that is rendered when it is completed."""
        request, base = page_context.request, self._base_context(page_context)
        render = partial(self.environment.get_template(template).render, {**base, **context})
        return UnrenderedPage(request, render, status)

    def _base_context(self, page_context: PageContext) -> dict[str, Any]:
        root = root_of(page_context.request.scope)
        caller = page_context.caller
        visible = tuple(entry for entry in self.entries if caller and caller.scope.includes(entry.scope))
        path = path_below(page_context.request.scope)
        entry = current_entry(self.entries, path)
        place = page_context.request.scope.get(PLACE)
        return {
            "url": partial(_url, root),
            "asset": lambda name: root + asset_address(name),
            "here": _current_address(page_context.request),
            "here_with": partial(_changed_address, page_context.request),
            "person": caller,
            "may": lambda scope: caller is not None and caller.scope.includes(scope),
            "flash": page_context.flash,
            "groups": _group_entries(visible),
            "has_session": page_context.has_session,
            "entry": entry,
            "tabs_above": tabs_of(entry, path),
            "path": path,
            "pool_switch": place and place.switch(page_context.request, entry),
            "now": datetime.now(UTC),
        }


def _group_entries(entries: Collection[NavigationEntry]) -> dict[str, list[NavigationEntry]]:
    groups: dict[str, list[NavigationEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.group, []).append(entry)
    return groups


def renderer(packages: Collection[str], entries: Collection[NavigationEntry]) -> Renderer:
    """Create the renderer of the built-in pages and of an app's pages, whose packages contain `templates`."""
    return Renderer(_environment(*packages), (*OWN_PAGES, *entries))


@lru_cache(maxsize=ENVIRONMENTS)
def _environment(*packages: str) -> Environment:
    """Applications share the environment, so that each template is compiled once per process."""
    loaders = [PackageLoader(package) for package in ("rolecall.web.dashboard", *packages)]
    environment = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[PartExtension],
    )
    environment.tests["late"] = is_late
    environment.filters.update(FILTERS)
    return environment


def _url(root: str, path: str) -> str:
    return root + path


def _changed_address(request: Request, **changes: object) -> str:
    """Return the address of this page with a changed query. None removes a parameter."""
    unchanged = [(name, value) for name, value in request.query_params.multi_items() if name not in changes]
    new = [(name, str(value)) for name, value in changes.items() if value is not None]
    query = urlencode([*unchanged, *new])
    return f"{request.url.path}?{query}" if query else request.url.path


def _current_address(request: Request) -> str:
    path, query = request.url.path, request.url.query
    return f"{path}?{query}" if query else path
