"""Query parameters of pages. Forms send every field, so an empty one counts as missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal
from urllib.parse import urlencode

from pydantic import AfterValidator, BeforeValidator, Field

from rolecall.web import Id, View
from storecrawl.catalog import BrandOrder
from storecrawl.catalog.discovery import LocationStatus
from storecrawl.catalog.normalize import Availability
from storecrawl.serving.parameters import STATE, plain_text

LONGEST_TEXT = 100


def _none_if_empty(value: object) -> object:
    return None if value == "" else value


NoneIfEmpty = BeforeValidator(_none_if_empty)

Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(plain_text)]
Cursor = Annotated[Text | None, NoneIfEmpty]
SearchedText = Annotated[Text | None, NoneIfEmpty]
ChosenState = Annotated[Annotated[str, Field(pattern=STATE)] | None, NoneIfEmpty]
ChosenId = Annotated[Id | None, NoneIfEmpty]
ChosenAvailability = Annotated[Availability | None, NoneIfEmpty]
ChosenBrandOrder = Annotated[BrandOrder | None, NoneIfEmpty]
ChosenYes = Annotated[Literal["yes"] | None, NoneIfEmpty]
ChosenStatus = Annotated[LocationStatus | None, NoneIfEmpty]


def address_builder(view: View) -> Callable[..., str]:
    """Return the page's own address with changed parameters, for templates: `again(cursor=next, kind=none)`."""
    parameters = dict(view.request.query_params)

    def build_address(**changes: object) -> str:
        chosen = {**parameters, **changes}
        return "?" + urlencode({name: value for name, value in chosen.items() if value not in {None, ""}})

    return build_address
