"""The payload types that each kind of handler accepts."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from rolecall.app.links import fits


def shape(*fields: Any, closed: bool = False) -> Any:
    return msgspec.defstruct("Shape", fields, forbid_unknown_fields=closed, kw_only=True)


N = ("n", int)
MAYBE_N = ("n", int, 0)
TEXT = ("text", str)


@pytest.mark.parametrize(
    ("offered", "wanted"),
    [
        (shape(N), shape(N)),
        (shape(N), shape(MAYBE_N)),
        (shape(N, TEXT), shape(N)),
        (shape(N), shape(N, ("more", str, ""), closed=True)),
        (shape(N), shape(("n", float))),
        (shape(N), shape(("n", int | None))),
        (shape(N), shape(("n", Any))),
        (shape(("n", int | None)), shape(("n", str | float | None))),
        (shape(("inner", list[int])), shape(("inner", list[int]))),
    ],
)
def test_shape_fits_if_each_of_its_payloads_is_accepted(offered: Any, wanted: Any) -> None:
    assert fits(offered, wanted)


@pytest.mark.parametrize(
    ("offered", "wanted"),
    [
        (shape(), shape(N)),
        (shape(MAYBE_N), shape(N)),
        (shape(N, TEXT), shape(N, closed=True)),
        (shape(("n", float)), shape(N)),
        (shape(("n", int | None)), shape(N)),
        (shape(N), shape(("n", str))),
        (shape(N), shape(("n", Annotated[int, msgspec.Meta(ge=1)]))),
    ],
)
def test_shape_does_not_fit_if_any_of_its_payloads_would_be_rejected(offered: Any, wanted: Any) -> None:
    assert not fits(offered, wanted)
