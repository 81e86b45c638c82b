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

__all__ = [
    "ChosenAvailability",
    "ChosenBrandOrder",
    "ChosenId",
    "ChosenState",
    "ChosenStatus",
    "ChosenYes",
    "Cursor",
    "NothingIfEmpty",
    "SearchedText",
    "address_again",
]

LONGEST_TEXT = 100


def _nothing(value: object) -> object:
    return None if value == "" else value


NothingIfEmpty = BeforeValidator(_nothing)

Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(plain_text)]
Cursor = Annotated[Text | None, NothingIfEmpty]
SearchedText = Annotated[Text | None, NothingIfEmpty]
ChosenState = Annotated[Annotated[str, Field(pattern=STATE)] | None, NothingIfEmpty]
ChosenId = Annotated[Id | None, NothingIfEmpty]
ChosenAvailability = Annotated[Availability | None, NothingIfEmpty]
ChosenBrandOrder = Annotated[BrandOrder | None, NothingIfEmpty]
ChosenYes = Annotated[Literal["yes"] | None, NothingIfEmpty]
ChosenStatus = Annotated[LocationStatus | None, NothingIfEmpty]


def address_again(view: View) -> Callable[..., str]:
    """Return the page's own address with changed parameters, for templates: `again(cursor=next, kind=none)`."""
    parameters = dict(view.request.query_params)

    def again(**changes: object) -> str:
        chosen = {**parameters, **changes}
        return "?" + urlencode({name: value for name, value in chosen.items() if value not in {None, ""}})

    return again
