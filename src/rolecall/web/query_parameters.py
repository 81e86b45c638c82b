"""Rejects query parameters that a route of the API does not have, so that a misspelled filter does not return
everything.

A client that pages by `offset`, for example, would receive the first page forever. Dashboard pages ignore unknown
parameters: they show the filters that are in effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

from rolecall.web.dependencies import Requires, identify
from rolecall.web.fields.aliases import SecondNames
from rolecall.web.state import state_of

# Paging parameters of other APIs.
PAGING = frozenset({"offset", "page", "skip", "start"})
CURSOR = "cursor"


async def reject_unknown_parameters(request: Request) -> None:
    """Reject a query with parameters that its route does not have. The dependency of every route of the API.

    Errors of authentication come first. Raises RequestValidationError, NotAuthenticated, NotAllowed, TooManyRequests.
    """
    if not request.query_params:
        return
    dependants = list(_all_below(request.scope["route"].dependant))
    known = {word for each in dependants for word in _parameter_names(each, state_of(request).names)}
    unknown = [word for word in dict.fromkeys(request.query_params) if word not in known]
    if unknown:
        await _require_access(request, dependants)
        raise RequestValidationError([_refusal(word, known) for word in unknown])


def _all_below(dependant: Dependant) -> Iterator[Dependant]:
    yield dependant
    for each in dependant.dependencies:
        yield from _all_below(each)


def _parameter_names(dependant: Dependant, names: SecondNames) -> Iterator[str]:
    for parameter in dependant.query_params:
        kind = parameter.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from (field.alias or name for name, field in kind.model_fields.items())
            yield from names.filters if kind.model_config.get("extra") == "allow" else ()
        else:
            yield parameter.alias


async def _require_access(request: Request, dependants: Collection[Dependant]) -> None:
    if all(each.call is not identify for each in dependants):
        return
    caller = await state_of(request).access.identify(request)
    for each in dependants:
        if isinstance(each.call, Requires):
            await each.call(request, caller)


def _refusal(word: str, known: Collection[str]) -> dict[str, object]:
    accepted = f"it takes {', '.join(sorted(known))}" if known else "it takes no query"
    hint = "; to get the next page, pass the `next_cursor` of this one" if word in PAGING and CURSOR in known else ""
    return {
        "type": "unknown_word",
        "loc": ("query", word),
        "msg": f"unknown query parameter {word!r}: {accepted}{hint}",
    }
