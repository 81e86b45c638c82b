"""A part of a page that takes too long fails alone, with a sentence that is true."""

from __future__ import annotations

import httpx2
import pytest

from tests.dashboard.reading import read
from tests.dashboard.scenery import furnish
from tests.dashboard.slowness import limit_reads, slow
from tests.outage import outage
from tests.sql.engine import Engine

LATE = " took longer than 2 s. The database answers other requests."
PLOTS = "The history starts seconds after"
WORKER = "shop-worker-0"
# The page, what is slow, the parts that are late, and a text of each part that stands.
CASES: list[tuple[str, str, set[str], list[str]]] = [
    ("/", "problems()", {"problems"}, ["Now", PLOTS, "sums", "letters"]),
    ("/", "roles_now()", {"figures", "roles"}, ["Now", PLOTS]),
    ("/", "history()", {"figures", "history"}, ["Now", "sums", "letters"]),
    ("/", "workers", {"problems", "figures", "roles"}, ["Now", PLOTS]),
    ("/tasks", "counts()", {"counts"}, ["Tasks", "Role", "take_back"]),
    ("/tasks", "find_tasks()", {"list"}, ["Tasks", "Running", "Completed"]),
    ("/tasks/{task_id}", "why()", {"why"}, ["Timeline", "Payload"]),
    ("/tasks/{task_id}", "find_log_lines()", {"log"}, ["Timeline", "Payload"]),
    ("/chains", "find_chains()", {"list"}, ["Chains", "Handler"]),
    ("/chains", "roles", set(), ["Chains", "take_back"]),
    ("/jobs", "workers", {"list"}, ["New task", "Next runs", "every-minute"]),
    ("/jobs", "schedules", {"next"}, ["New task", "post_letter"]),
    ("/roles", "role_progress()", {"list"}, ["Roles"]),
    ("/roles/{name}", "history()", {"history", "plan"}, ["Its tasks", "Settings come from"]),
    ("/", "audit_log", set(), ["Now", PLOTS]),
    ("/errors", "find_error_groups()", {"list"}, ["Errors", "New since"]),
    ("/keys", "key_capacities()", {"list"}, ["Keys", "Set"]),
    ("/keys", "busiest_keys()", {"busiest"}, ["Keys", "Capacities"]),
    ("/keys?key=ledger", "keys_now()", {"key"}, ["Capacities", "shop:*"]),
    ("/schedules", "schedules", {"list"}, ["Schedules", "Search"]),
    ("/schedules/{schedule_id}", "slot_offset()", {"planned"}, ["History", "every-minute"]),
    ("/admin/workers", "workers", {"list"}, ["Workers", "Include dead"]),
    ("/admin/workers", "work_in_hand()", set(), [WORKER, "unknown"]),
    ("/admin/workers/{worker_id}", "find_tasks()", {"running", "finished"}, [WORKER, "Last heartbeat"]),
    ("/changes", "audit_log", {"list"}, ["Changes"]),
    ("/capacity", "capacity()", {"list"}, ["Capacity", "A dash means"]),
    ("/tasks/{task_id}/tree", "progress()", {"progress"}, ["Tree of task", "nothing below this task"]),
]


@pytest.fixture(autouse=True)
def _(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_reads(monkeypatch)


@pytest.mark.parametrize(
    ("path", "what", "late", "standing"), CASES, ids=[f"{path} {what}" for path, what, *_ in CASES]
)
async def test_slow_part_leaves_the_rest_of_the_page_standing(
    pool: Engine, http: httpx2.AsyncClient, path: str, what: str, late: set[str], standing: list[str]
) -> None:
    address = furnish(pool).path(path)

    with slow(pool.database, what):
        answer = await http.get(address)
    page = read(answer.text)

    assert answer.status_code == 200
    assert {
        part["id"].removeprefix("part-") for part in page.all(class_="part") if "data-late" in part.attributes
    } == late
    assert page.text.count(LATE) == len(late)
    assert [words for words in standing if words not in page.text] == []


async def test_sentence_of_a_slow_list_says_what_needs_less(pool: Engine, http: httpx2.AsyncClient) -> None:
    with slow(pool.database, "find_tasks()"):
        page = read((await http.get("/tasks")).text)

    assert f"This list{LATE} A filter by role, state or time needs less." in page.text


async def test_page_whose_only_read_is_slow_does_not_blame_the_database(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add")

    with slow(pool.database, "outline()"):
        answer = await http.get(f"/tasks/{task}/tree")
    page = read(answer.text)

    assert (answer.status_code, answer.headers["retry-after"]) == (504, "30")
    assert page.one("h1").text == "This page took longer than 2 s"
    assert "The database answers other requests." in page.text


async def test_page_in_an_outage_is_not_called_slow(pool: Engine, http: httpx2.AsyncClient) -> None:
    with outage(pool.database):
        answer = await http.get("/tasks")

    assert (answer.status_code, "answers other requests" in answer.text) == (503, False)
