"""Saved views, and names for suggestions."""

from __future__ import annotations

import pytest

from rolecall.model.audit import AuditFilter
from rolecall.model.errors import ConfigError, DuplicateView, FilterError, ViewNotFound
from rolecall.service.saved_views import LONGEST_NAME, MOST_VIEWS
from rolecall.service.services import Services
from tests.sql.engine import START, Engine


async def test_view_is_saved_changed_and_deleted_with_audit_entries(services: Services, pool: Engine) -> None:
    saved = await services.saved_views.save("late mails", "role:mail age>1h")
    changed = await services.saved_views.change("late mails", name="late")
    await services.saved_views.change(saved.id, query="role:mail age>2h")

    assert (saved.name, saved.query, saved.saved_by, saved.saved_at) == ("late mails", "role:mail age>1h", "ada", START)
    assert (changed.id, changed.name, changed.query) == (saved.id, "late", "role:mail age>1h")
    assert [view.query for view in await services.saved_views.list()] == ["role:mail age>2h"]
    await services.saved_views.delete("late")
    assert await services.saved_views.list() == []
    entries = await services.audit.list(AuditFilter())
    assert [entry.action for entry in entries] == ["views.delete", "views.change", "views.change", "views.save"]


async def test_two_views_do_not_have_the_same_name(services: Services) -> None:
    await services.saved_views.save("late", "age>1h")
    other = await services.saved_views.save("failed", "state:failed")

    with pytest.raises(DuplicateView, match="'late' already"):
        await services.saved_views.save("late", "age>2h")
    with pytest.raises(DuplicateView, match="'late' already"):
        await services.saved_views.change(other.id, name="late")


@pytest.mark.parametrize(
    ("name", "query", "error"),
    [
        ("", "age>1h", ConfigError),
        ("x" * (LONGEST_NAME + 1), "age>1h", ConfigError),
        ("two\nlines", "age>1h", ConfigError),
        ("late", " ", FilterError),
        ("late", "age>soon", FilterError),
        ("late", "state:odd", ConfigError),
        ("late", "a\0b", FilterError),
    ],
)
async def test_unusable_view_is_rejected(services: Services, name: str, query: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        await services.saved_views.save(name, query)


async def test_number_of_views_is_limited(services: Services, pool: Engine) -> None:
    pool.rows(
        "select rolecall.save_view(number::text, 'age>1h', 'ada', 1000) from generate_series(1, %s) as number",
        MOST_VIEWS,
    )

    with pytest.raises(ConfigError, match="100 saved views already"):
        await services.saved_views.save("one more", "age>1h")


async def test_unknown_view_is_not_found(services: Services) -> None:
    for which in (7, "late"):
        with pytest.raises(ViewNotFound, match=str(which)):
            await services.saved_views.delete(which)


async def test_names_are_found_by_a_part_with_their_beginnings_first(services: Services, pool: Engine) -> None:
    pool.declare(*({"name": f"resums-{number}"} for number in range(20)))
    pool.enqueue("sums", key="sum 1")
    pool.claim_one()
    worker = pool.worker(name="Summer")

    found = await services.insight.find_names(["role", "handler", "worker", "key"], "SUM")
    keys = await services.insight.find_names(["key"], "sum")

    assert [name.name for name in found if name.kind == "role"][:2] == ["sums", "resums-0"]
    assert len([name for name in found if name.kind == "role"]) == 8
    assert [(name.id, name.name) for name in found if name.kind == "worker"] == [(worker, "Summer")]
    assert [name.name for name in keys] == ["sum 1"]
