"""Filters as text: what each condition means, and that every filter is read as it is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall.model.errors import FilterError
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.operator.task_query import combine, read_query, write_query, write_query_with_ages

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
DAY = datetime(2026, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("role:mail,sums state:failed", {"role": "mail,sums", "state": "failed"}),
        ("handler:charge key:shop:58", {"handler": "charge", "key": "shop:58"}),
        ('key:"tenant 7"', {"key": "tenant 7"}),
        ("worker:3 chain:4 parent:5", {"worker_id": 3, "chain_id": 4, "parent_id": 5}),
        ("error:7", {"error_group": 7}),
        ('error~"card declined"', {"error": "card declined"}),
        ("payload.store:58", {"payload": {"store": 58}}),
        ('payload.store:"58" payload.paid:true', {"payload": {"store": "58", "paid": True}}),
        ("payload.order.id:7 payload.order.by:ada", {"payload": {"order": {"id": 7, "by": "ada"}}}),
        ("age>1h", {"created_to": NOW - timedelta(hours=1)}),
        ("age<1d12h", {"created_from": NOW - timedelta(hours=36)}),
        ("created>2026-01-31 finished<2026-01-31T00:00+00:00", {"created_from": DAY, "finished_to": DAY}),
        ("is:root", {"roots": True}),
        ("id:1,2", {"ids": [1, 2]}),
        (" 25 ", {"ids": [25]}),
        ("card declined", {"text": "card declined"}),
        ('"25" "a: b"', {"text": "25 a: b"}),
        ("", {}),
    ],
)
def test_query_describes_a_filter(text: str, conditions: dict[str, Any]) -> None:
    assert read_query(text, NOW).conditions() == conditions


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rol:mail", "rol:mail: there is no field 'rol'; did you mean 'role'? To search for a text, quote it"),
        ("role~mail", "role~mail: use role:"),
        ("created:2026-01-31", "created:2026-01-31: use created> or created<"),
        ("worker:ada", "worker:ada: 'ada' is not a number from 0 to 9223372036854775807"),
        ("age>soon", "age>soon: 'soon' is not a duration such as 90, 15m, 4h or 1d12h"),
        ("created>soon", "created>soon: 'soon' is not a time such as 2026-01-31 or 2026-01-31T12:00"),
        ("is:leaf", "is:leaf: only is:root is possible"),
        ("payload:58", "payload:58: name a field, as in payload.store:58"),
        ("role.name:mail", "role.name:mail: only the payload has fields"),
        ("role:", "role:: the value is missing"),
        ("role:a role:b", "role:b: there is another condition on role"),
        ("age>1h created<2026-01-31", "created<2026-01-31: there is another condition on created"),
        ("payload.a:1 payload.a.b:2", "payload.a.b:2: there is another condition on this field"),
        ('key:"tenant 7', 'key:"tenant 7: the closing quote is missing'),
        ("x" * 1_001, "the query has 1,001 characters; at most 1,000 are possible"),
    ],
)
def test_invalid_query_is_rejected_with_the_word_and_the_reason(text: str, problem: str) -> None:
    with pytest.raises(FilterError) as raised:
        read_query(text, NOW)

    assert str(raised.value) == problem


texts = st.text(min_size=1, max_size=8)
ids = st.integers(1, 2**63 - 1)
moments = st.datetimes(timezones=st.just(UTC))
names = st.text("abcXYZ_0é", min_size=1, max_size=4)
values = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6)
)
documents = st.recursive(
    values, lambda inner: st.dictionaries(names, inner, min_size=1, max_size=3), max_leaves=4
).filter(lambda document: isinstance(document, dict))
filters = st.builds(
    TaskFilter,
    ids=st.none() | st.lists(ids, min_size=1, max_size=3),
    state=st.none() | st.just("failed"),
    role=st.none() | texts,
    key=st.none() | texts,
    worker_id=st.none() | ids,
    error_group=st.none() | ids,
    roots=st.booleans(),
    text=st.none() | texts,
    created_from=st.none() | moments,
    finished_to=st.none() | moments,
    error=st.none() | texts,
    payload=st.none() | documents,
)


@given(filters)
def test_written_filter_is_read_as_the_same_filter(which: TaskFilter) -> None:
    assert read_query(write_query(which), NOW) == which


@given(st.text('ab:~<>".\\ 1,', max_size=12))
def test_any_text_is_a_filter_or_a_clear_error(text: str) -> None:
    try:
        which = read_query(text, NOW)
    except FilterError:
        return

    assert read_query(write_query(which), NOW) == which


def test_ages_of_a_typed_query_remain_ages_when_it_is_written_with_other_conditions() -> None:
    which = combine(TaskFilter(role="mail"), read_query("state:failed age>1h age<1d", NOW))

    assert write_query_with_ages(which, "state:failed age>1h age<1d") == "state:failed role:mail age>1h age<1d"
    assert write_query_with_ages(read_query("age<1d", NOW), "age<1d") == "age<1d"


def test_combined_filters_must_not_have_the_same_condition() -> None:
    assert combine(TaskFilter(role="mail", limit=5), read_query("state:failed")) == TaskFilter(
        role="mail", state="failed", limit=5
    )
    with pytest.raises(FilterError, match="the query and another parameter both filter by role"):
        combine(TaskFilter(role="mail"), read_query("role:sums"))
