"""The page of one task: every fact about it, with large values only on request."""

from __future__ import annotations

import json

import httpx2
from psycopg.types.json import Jsonb

from rolecall.sql.encoding import encode_result
from rolecall.testing import Clock
from tests.dashboard.reading import shown
from tests.dashboard.scenery import TRACEBACK
from tests.sql.engine import START, Engine

LINES = [[1, 0, 20, "shop", "first"], [4, 1, 40, "shop.till", "<b>loud</b>"]]


async def test_task_shows_its_worker_lease_and_progress(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add", key="ledger", dedupe_key="once", max_attempts=4, payload={"a": 1})
    claim = pool.claim_one()
    pool.start(claim)
    pool.report_info(claim, {"rows": 12})

    page = await shown(http, f"/tasks/{task}")

    facts = page.one("section", **{"aria-labelledby": "facts"}).text
    for word in ("Key ledger , held by this task", "Dedupe key once", "Lease until", "Deadline", "1 of 4"):
        assert word in facts
    assert page.one("section", **{"aria-labelledby": "facts"}).all("a", href=f"/admin/workers/{claim.worker_id}")
    assert [each.text for each in page.all("summary")] == ["Payload, 8 B", "Info"]


async def test_task_shows_its_expiry_and_that_it_expired(pool: Engine, http: httpx2.AsyncClient, clock: Clock) -> None:
    clock.set(START)
    task = pool.enqueue("sums", handler="add", expires=60)
    assert "Expires" in (await shown(http, f"/tasks/{task}")).one("section", **{"aria-labelledby": "facts"}).text
    clock.advance(seconds=60)
    pool.expire()

    page = await shown(http, f"/tasks/{task}")

    assert "it expired at 2026-01-01 00:01:00Z, before it began" in page.text


async def test_times_of_a_cause_are_shown_in_the_time_zone_of_the_reader(
    pool: Engine, http: httpx2.AsyncClient, clock: Clock
) -> None:
    clock.set(START)
    task = pool.enqueue("sums", handler="add")
    pool.start(pool.claim_one())

    page = await shown(http, f"/tasks/{task}")

    first = page.all("section")[0]
    assert first.all("local-time", datetime=START.isoformat())


async def test_first_card_explains_why_a_task_does_not_run(pool: Engine, http: httpx2.AsyncClient) -> None:
    holder = pool.enqueue("sums", handler="add", key="ledger")
    task = pool.enqueue("sums", handler="add", key="ledger")
    pool.claim_one()

    page = await shown(http, f"/tasks/{task}")

    first = page.all("section")[0]
    assert f"held by task {holder}" in first.text
    assert "What would change it: that task finishes" in first.text
    assert first.all("a", href=f"/tasks/{holder}")


async def test_history_shows_every_event_with_the_time_since_the_previous_one(
    pool: Engine, http: httpx2.AsyncClient, clock: Clock
) -> None:
    clock.set(START)
    task = pool.enqueue("sums", handler="add", max_attempts=2)
    for seconds in (5, 65):
        clock.advance(seconds=seconds)
        claim = pool.claim_one()
        pool.start(claim)
        clock.advance(seconds=2)
        pool.fail(claim, TRACEBACK, after=1)

    page = await shown(http, f"/tasks/{task}")

    story = [each.one("b").text for each in page.one("ol", class_="story").all("li")]
    attempt = ["Claimed", "Started", "Attempt failed"]
    assert story == ["Enqueued", *attempt, *attempt, "Failed"]
    assert "+ 5 s" in page.one("ol", class_="story").text
    assert "+ 1 min 5 s" in page.one("ol", class_="story").text


async def test_every_attempt_has_a_row_with_its_worker_and_times(
    pool: Engine, http: httpx2.AsyncClient, clock: Clock
) -> None:
    clock.set(START)
    task = pool.enqueue("sums", handler="add", max_attempts=2)
    first = pool.claim_one()
    clock.advance(seconds=2)
    pool.fail(first, "boom", after=1)
    clock.advance(seconds=60)
    second = pool.claim_one()
    clock.advance(seconds=7)

    page = await shown(http, f"/tasks/{task}")

    latest, earliest = page.one("section", **{"aria-labelledby": "attempts"}).one("tbody").all("tr")
    cells = [[cell.text for cell in row.all("td")] for row in (latest, earliest)]
    assert [(row[0], row[4], row[5], row[6]) for row in cells] == [
        (f"worker {second.worker_id}", "7 s", "Started", ""),
        (f"worker {first.worker_id}", "2 s", "Attempt failed", "boom"),
    ]
    assert cells[0][3] == ""
    assert all(cells[1][1:4])


async def test_failed_attempts_show_their_error_and_collapse_the_traceback(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    task = pool.enqueue("sums", handler="add", max_attempts=2)
    pool.fail(pool.claim_one(), TRACEBACK, after=0)
    pool.fail(pool.claim_one(), "ValueError: the second time")

    page = await shown(http, f"/tasks/{task}")

    second, first = page.one("ol", class_="attempts").all("li")
    assert "Attempt 2" in second.text
    assert "ValueError: the second time" in second.text
    assert first.one("summary").text.startswith("shop.mailer.Refused: 550")
    assert "open" not in first.one("details").attributes


async def test_large_payload_is_shown_only_on_request(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add", payload={"text": "x" * 100_000})

    page = await http.get(f"/tasks/{task}")
    whole = await http.get(f"/tasks/{task}?payload=full")

    assert "Payload, 100 kB" in page.text
    assert "xxxxxxxx" not in page.text
    assert "x" * 100_000 in whole.text
    assert "data-live" not in whole.text


async def test_child_shows_the_path_from_its_root(pool: Engine, http: httpx2.AsyncClient) -> None:
    root = pool.enqueue("sums", handler="add")
    pool.complete(pool.claim_one(), next={"children": [{"handler": "stumble"}], "serial": False, "gathers": False})
    [child] = pool.children(root)
    pool.complete(pool.claim_one(), next={"children": [{"handler": "post"}], "serial": False, "gathers": False})
    [grandchild] = pool.children(child.id)

    page = await shown(http, f"/tasks/{grandchild.id}")

    path = page.one("nav", class_="path")
    assert [link["href"] for link in path.all("a")] == ["/tasks", f"/tasks/{root}", f"/tasks/{child.id}"]


async def test_children_are_listed_in_spawn_order_with_pagination(pool: Engine, http: httpx2.AsyncClient) -> None:
    root = pool.enqueue("sums", handler="add")
    drafts = [{"handler": "post"}] * 60
    pool.complete(pool.claim_one(), next={"children": drafts, "serial": False, "gathers": False})

    first = await shown(http, f"/tasks/{root}")
    second = await shown(http, first.one("a", rel="next")["href"])

    rows = [row["id"] for page in (first, second) for row in page.all("tr") if "id" in row.attributes]
    assert rows == [f"child-{child.id}" for child in pool.children(root)]
    assert first.all("a", href=f"/tasks/{root}/tree")
    assert "All 60" in first.text


async def test_needs_are_shown_with_their_outcomes(pool: Engine, http: httpx2.AsyncClient) -> None:
    needed = pool.enqueue("sums", handler="add")
    task = pool.enqueue("letters", handler="post", needs=[{"task": needed, "name": "sum"}])

    page = await shown(http, f"/tasks/{task}")

    row = page.one("section", **{"aria-labelledby": "needs"}).all("tr")[1]
    assert row.text == f"sum task {needed} open"


async def test_task_names_the_schedule_that_enqueued_it(pool: Engine, http: httpx2.AsyncClient) -> None:
    schedule = pool.put_schedule("every-minute", 60, role="sums", handler="add")
    task = pool.trigger("every-minute")

    page = await shown(http, f"/tasks/{task}")

    assert page.one("a", href=f"/schedules/{schedule}").text == "every-minute"


async def test_missing_task_is_not_found(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert "There is no task 4711" in (await shown(http, "/tasks/4711", 404)).text
    assert "There is no task" in (await shown(http, f"/tasks/{10**30}", 404)).text


async def test_unstored_result_is_explained_in_its_place(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add")
    marker = encode_result(object())
    pool.complete(pool.claim_one(), result=json.loads(marker.text))

    page = await shown(http, f"/tasks/{task}")

    assert (
        f"Result could not be stored : {marker.unstored}"
        in page.one("section", **{"aria-labelledby": "documents"}).text
    )


def store_log(pool: Engine, task: int, attempt: int, lines: list[list[object]]) -> None:
    part = {"task_id": task, "fence": attempt, "attempt": attempt, "part": 1, "lines": lines}
    pool.rows("select rolecall.write_logs(%s)", Jsonb([part]))


async def test_log_shows_lines_with_levels_and_how_many_are_missing(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add")
    pool.claim_one()
    store_log(pool, task, 1, LINES)

    log = (await shown(http, f"/tasks/{task}")).one("section", id="logs")

    assert [(line.attributes.get("data-tone"), line.one("code").text) for line in log.all("p") if line.all("code")] == [
        ("info", "first"), ("bad", "<b>loud</b>"),
    ]  # fmt: skip
    assert "2 lines are not stored" in log.text
    assert log.attributes["data-live"] == "clock"


async def test_log_shows_all_attempts_or_one(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add", max_attempts=3)
    for attempt in (1, 2):
        pool.fail(pool.claim_one(), "E", after=0)
        store_log(pool, task, attempt, [[1, attempt, 20, "shop", f"line of {attempt}"]])

    everything = (await shown(http, f"/tasks/{task}")).one("section", id="logs").text
    second = (await shown(http, f"/tasks/{task}?attempt=2")).one("section", id="logs").text

    assert ["line of 1" in text for text in (everything, second)] == [True, False]
    assert ["line of 2" in text for text in (everything, second)] == [True, True]


async def test_task_without_log_lines_shows_no_log(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add")

    assert "hidden" in (await shown(http, f"/tasks/{task}")).one("section", id="logs").attributes


async def test_stack_of_a_running_task_is_shown_with_library_frames_folded(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    task = pool.enqueue("sums", handler="add")
    claim = pool.claim_one()
    pool.value("select rolecall.request_stack(%s)", task)
    assert "The worker sends it soon" in (await shown(http, f"/tasks/{task}")).one("section", id="stack").text

    frames = ['File "shop/letters.py", line 31, in post', 'File "/usr/lib/python3/ssl.py", line 9, in read']
    line = [
        0,
        0,
        20,
        "rolecall.stack",
        "\n".join(["Stack (most recent call last):", *(f"  {each}" for each in frames)]),
    ]
    part = {"task_id": task, "fence": claim.fence, "attempt": 1, "part": 0, "lines": [line]}
    pool.value("select rolecall.write_logs(%s)::text", Jsonb([part]))

    section = (await shown(http, f"/tasks/{task}")).one("section", id="stack")
    assert [each.text for each in section.all("summary")] == ["1 library frame"]
    assert "shop/letters.py" in section.text
