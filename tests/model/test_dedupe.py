from __future__ import annotations

from typing import Any

import pytest

from rolecall import Dedupe, merge_fields, merge_function
from rolecall.model.dedupe import MergeRule
from rolecall.model.errors import InvalidTask


def test_unset_options_are_omitted() -> None:
    assert Dedupe().to_json() == {"mode": "keep"}


def test_all_options_are_serialized() -> None:
    assert Dedupe(mode="error", scope="any", window=60, except_chain=7).to_json() == {
        "mode": "error", "scope": "any", "window": 60, "except_chain": 7,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (merge_fields(ids="union", n="sum"), {"fields": {"ids": "union", "n": "sum"}}),
        (merge_function("shop.merge"), {"function": "shop.merge"}),
        (MergeRule(fields={"not-a-name": "max"}), {"fields": {"not-a-name": "max"}}),
    ],
)
def test_merge_rule_is_serialized(rule: MergeRule, expected: dict[str, object]) -> None:
    assert Dedupe(mode="merge", merge=rule).to_json() == {"mode": "merge", "merge": expected}


@pytest.mark.parametrize("words", [{}, {"fields": {}, "function": "shop.merge"}], ids=str)
def test_merge_rule_has_either_fields_or_a_function(words: dict[str, Any]) -> None:
    with pytest.raises(InvalidTask, match="needs either fields or a function"):
        MergeRule(**words)
