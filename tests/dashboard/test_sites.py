"""Pages of other sites cannot make changes or run scripts in the dashboard."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest

from rolecall.model.operator.access import Scope
from tests.dashboard.scenery import Scenery, furnish
from tests.sql.engine import Engine
from tests.web.doors import PASSWORD, SITE, Door
from tests.web.matrix import Entry, read_table

TABLE = read_table(Path(__file__).with_name("routes.txt"))
CHANGES = [entry for entry in TABLE if entry.method == "POST"]
# Files and JSON are not pages. Their policy allows no resources at all.
NO_PAGES = ("/assets/", "/suggestions/")
PAGES = [entry for entry in TABLE if entry.method == "GET" and not entry.path.startswith(NO_PAGES)]
STRANGERS = [
    {"origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"},
    {"origin": "https://elsewhere.example", "referer": "https://elsewhere.example/trap"},
    {"sec-fetch-site": "same-site", "referer": f"{SITE}/tasks"},
    {"origin": "null"},
]
# Every table that a request could change, as one text, except the records of logins.
STATE = """
    select md5(string_agg(row::text, '' order by row::text)) from (
        select row(task.*)::text from rolecall.tasks as task union all
        select row(ended.*)::text from rolecall.finished_tasks as ended union all
        select row(role.*)::text from rolecall.roles as role union all
        select row(worker.*)::text from rolecall.workers as worker union all
        select row(schedule.*)::text from rolecall.schedules as schedule union all
        select row(view.*)::text from rolecall.saved_views as view union all
        select row(event.*)::text from rolecall.audit_log as event
    ) as everything (row)
"""
FIELDS = {"name": "ada", "password": PASSWORD, "replicas": "2", "confirmed": "true"}
INLINE = re.compile(r"<script(?![^>]*\bsrc=)|<style|\son\w+\s*=|\sstyle\s*=|javascript:", re.IGNORECASE)


@pytest.fixture
def scenery(pool: Engine) -> Scenery:
    return furnish(pool)


@pytest.fixture
async def inside(door: Door, scenery: Scenery) -> httpx2.AsyncClient:
    await door.person()
    await door.log_in()
    return door.client


async def replays(client: httpx2.AsyncClient, scenery: Scenery, headers: dict[str, str]) -> list[str]:
    """Send every form of every page as a page of another site would; return those that were not rejected."""
    answers = {
        entry.path: await client.post(scenery.path(entry.path), data=FIELDS, headers=headers) for entry in CHANGES
    }
    return [f"{path}: {answer.status_code}" for path, answer in answers.items() if answer.status_code != 403]


@pytest.mark.parametrize("cookie", [True, False])
async def test_request_from_another_site_is_rejected_and_changes_nothing(
    inside: httpx2.AsyncClient, pool: Engine, scenery: Scenery, cookie: bool
) -> None:
    if not cookie:
        inside.cookies.clear()
    before = pool.value(STATE)

    for headers in STRANGERS:
        assert await replays(inside, scenery, headers) == []

    assert pool.value(STATE) == before


async def test_every_page_forbids_resources_from_other_origins(inside: httpx2.AsyncClient, scenery: Scenery) -> None:
    for entry in PAGES:
        answer = await inside.get(scenery.path(entry.path))
        policy = answer.headers["content-security-policy"]

        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy, entry.path
        assert "unsafe" not in policy, entry.path
        assert answer.headers["x-frame-options"] == "DENY", entry.path
        assert answer.headers["cache-control"] == "no-store", entry.path


async def test_no_page_has_an_inline_script_or_style(inside: httpx2.AsyncClient, scenery: Scenery) -> None:
    for entry in PAGES:
        page = (await inside.get(scenery.path(entry.path))).text

        assert INLINE.findall(page) == [], entry.path


@pytest.mark.parametrize("scope", [Scope.READ, Scope.OPERATE])
async def test_buttons_are_shown_only_to_callers_with_the_scope(door: Door, scenery: Scenery, scope: Scope) -> None:
    key = await door.key(scope)
    forms = [
        (entry.path, action)
        for entry in PAGES
        if entry.path != "/login"
        for action in actions_of((await door.client.get(scenery.path(entry.path), headers=key)).text)
    ]

    assert [form for form in forms if not may(scope, form[1])] == []


def actions_of(page: str) -> list[str]:
    """Return the URLs of the forms that change something, including buttons with a URL of their own."""
    posting = re.findall(r'<form[^>]*method="post"[^>]*>', page)
    return [
        found[1].split("?")[0]
        for form in [*posting, *re.findall(r"<button[^>]*formaction[^>]*>", page)]
        if (found := re.search(r'(?:form)?action="([^"]*)"', form))
    ]


def may(scope: Scope, action: str) -> bool:
    return any(allows(entry, scope) for entry in CHANGES if leads(entry, action))


def leads(entry: Entry, action: str) -> bool:
    return re.fullmatch(re.sub(r"\\\{.*?\\\}", "[^/]+", re.escape(entry.path)), action) is not None


def allows(entry: Entry, scope: Scope) -> bool:
    return entry.needs in {"open", "known"} or scope.includes(Scope(entry.needs))
