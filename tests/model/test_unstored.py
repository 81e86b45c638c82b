"""The marker of an unstored result is not mistaken for the result."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from rolecall import ResultNotStored, UnstoredResult

USES: list[Callable[[Any], object]] = [
    lambda result: result["cents"],
    lambda result: result.cents,
    lambda result: result.get("cents"),
    lambda result: "cents" in result,
    lambda result: result == 7,
    lambda result: result != 7,
    lambda result: result + 1,
    lambda result: 1 + result,
    lambda result: f"{result}",
    sum,
    lambda result: result < 1,
    bool,
    len,
    list,
    dict,
    int,
    float,
    str,
]


@pytest.mark.parametrize("use", USES)
def test_any_use_of_a_missing_result_raises(use: Callable[[Any], object]) -> None:
    with pytest.raises(ResultNotStored, match="the result was not stored: 3 bytes too many"):
        use(UnstoredResult("3 bytes too many"))


def test_missing_result_can_be_printed_copied_pickled_and_hashed() -> None:
    unstored = UnstoredResult("too large")

    assert "too large" in repr(unstored)
    assert {copy.deepcopy(unstored).why, pickle.loads(pickle.dumps(unstored)).why} == {"too large"}  # noqa: S301
    assert len({unstored, unstored}) == 1
