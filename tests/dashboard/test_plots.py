"""The plots of the overview and of a role: what they lead to, and their marks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from rolecall.model.audit import StoredAuditEvent
from rolecall.model.operator.access import Scope
from rolecall.model.operator.history import EarlierHistory, History, HistoryPoint
from rolecall.model.operator.insight import RegisteredWorker
from rolecall.web.dashboard.presenters.charts import charts_of, marks_of
from tests.dashboard.reading import read, shown
from tests.sql.engine import Engine
from tests.web.doors import Door

BEGIN = datetime(2026, 11, 1, 12, tzinfo=UTC)
EMPTY: dict[str, Any] = dict.fromkeys(HistoryPoint.__slots__)
POINT = HistoryPoint(**EMPTY | {"at": BEGIN, "seconds": 60.0})
HISTORY = History(role=None, step_seconds=60, since=BEGIN, until=BEGIN, points=[POINT])
UNKNOWN: dict[str, Any] = dict.fromkeys(RegisteredWorker.__slots__)
WORKER = RegisteredWorker(**UNKNOWN | {"started_at": BEGIN, "release": "a"})
BROWSER = {"accept": "text/html"}
NOTHING = {"0/s", "–"}


def finish_tasks(pool: Engine) -> None:
    """Complete two tasks and fail one, which the history contains."""
    pool.rows(
        "update rolecall.history_until set began = at, moment = at"
        " from rolecall.begin_of_bin(60, now() - interval '20 min') as at"
    )
    for end in (pool.complete, pool.complete, pool.fail):
        pool.enqueue("sums", handler="add", max_attempts=1)
        end(pool.claim_one())
    pool.rows("update rolecall.finished_tasks set finished_at = finished_at - interval '5 min'")
    while pool.value("select rolecall.roll_up_history('0 s')"):
        pass


def test_workers_that_start_within_one_point_are_one_mark() -> None:
    workers = [replace(WORKER, started_at=BEGIN + timedelta(seconds=seconds)) for seconds in (61, 119, 120)]

    assert [mark.text for mark in marks_of(HISTORY, [], workers)] == ["1 worker started", "2 workers started"]


def test_first_worker_of_another_release_is_marked() -> None:
    later = BEGIN + timedelta(minutes=5)
    workers = [
        replace(WORKER, started_at=BEGIN - timedelta(days=1)),
        replace(WORKER, started_at=later),
        replace(WORKER, started_at=later + timedelta(minutes=1), release="b"),
        replace(WORKER, started_at=later + timedelta(minutes=2), release="b"),
    ]

    assert [mark.text for mark in marks_of(HISTORY, [], workers)] == [
        "1 worker started",
        "1 worker started with a new release",
        "1 worker started",
    ]


def test_marks_from_before_the_plot_are_left_out() -> None:
    event = StoredAuditEvent(
        7, BEGIN - timedelta(seconds=1), "ada", "api", None, "roles.resume", {"role": "mail"}, None
    )

    assert marks_of(HISTORY, [event], [replace(WORKER, started_at=event.at)]) == []
    assert [mark.text for mark in marks_of(HISTORY, [replace(event, at=BEGIN)], [])] == ["ada resumed role mail"]


def test_earlier_history_is_a_line_at_the_same_times() -> None:
    """The earlier history has longer steps."""
    points = [replace(POINT, at=BEGIN + timedelta(minutes=each), completed=0) for each in range(12)]
    past = [
        replace(POINT, at=BEGIN - timedelta(days=1) + timedelta(minutes=10 * each), seconds=600.0, completed=600 * each)
        for each in (0, 1)
    ]
    history = replace(HISTORY, step_seconds=600, points=past)
    earlier = EarlierHistory(label="yesterday", ago=timedelta(days=1), history=history)

    speed = charts_of(replace(HISTORY, points=points), earlier=[earlier])[0]

    assert [each["label"] for each in speed["series"]] == ["completed", "yesterday"]
    assert speed["series"][1]["values"] == [0.0] * 10 + [1.0] * 2


async def test_pause_is_marked_in_the_plots_of_all_roles_and_of_its_role(door: Door, pool: Engine) -> None:
    finish_tasks(pool)
    await door.client.post("/api/roles/sums/pause", headers=await door.key(Scope.OPERATE))

    async def marks(path: str) -> str:
        page = await door.client.get(path, headers=BROWSER | await door.key(Scope.OPERATE))
        return " ".join(each.text for each in read(page.text).all("details", class_="marks"))

    assert "operate (API key 1) paused role sums" in await marks("/")
    assert "operate (API key 1) paused role sums" in await marks("/roles/sums")
    assert "paused" not in await marks("/roles/letters")


async def test_viewer_who_cannot_read_the_audit_log_sees_no_changes_as_marks(door: Door, pool: Engine) -> None:
    finish_tasks(pool)
    await door.client.post("/api/roles/sums/pause", headers=await door.key(Scope.OPERATE))

    for path in ("/", "/roles/sums"):
        page = await door.client.get(path, headers=BROWSER | await door.key(Scope.READ))
        assert page.status_code == 200
        assert "paused role sums" not in page.text


async def test_rows_of_a_plots_table_lead_to_as_many_tasks_as_the_plot_shows(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    finish_tasks(pool)
    page = await shown(http, "/roles/sums")

    async def numbers(chart: int) -> list[tuple[str, int]]:
        """Return the figure of each row, and the number of tasks to which the row leads."""
        rows = page.all("details", class_="figures")[chart].one("tbody").all("tr")
        figures = {row.one("a")["href"]: row.one("td").text for row in rows if row.one("td").text not in NOTHING}
        lists = {path: (await http.get(f"/api{path}")).json()["items"] for path in figures}
        return [(figures[path], len(items)) for path, items in lists.items()]

    # A point is 30 seconds long.
    assert await numbers(0) == [("4/min", 2)]
    assert await numbers(1) == [("2/min", 1)]


async def test_plots_and_their_tables_compare_with_yesterday_and_last_week(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    finish_tasks(pool)
    pool.rows("update rolecall.history_until set began = now() - interval '10 days'")
    for role, handler in (("", ""), ("sums", "add"), ("sums", "stumble")):
        pool.rows(
            "insert into rolecall.history (role, handler, width, at, completed)"
            f" select '{role}', '{handler}', width, at, 600 from (values (60, 1), (600, 7)) as one (width, days)"
            " cross join lateral (select rolecall.begin_of_bin(width, now() - interval '30 min')"
            " - make_interval(days => days) as at) as place"
        )

    async def columns(path: str) -> dict[str, set[str]]:
        """Return the figures of each column of the first plot's table."""
        figures = (await shown(http, f"{path}?compare=1")).all("details", class_="figures")[0]
        heads = [head.text for head in figures.one("thead").all("th")]
        rows = [[cell.text for cell in row.all("td")] for row in figures.one("tbody").all("tr")]
        return {head: {row[index] for row in rows} - NOTHING for index, head in enumerate(heads[1:])}

    assert await columns("/") == {"completed": {"4/min"}, "yesterday": {"10/s"}, "last week": {"1/s"}}
    assert await columns("/roles/sums") == {"completed": {"4/min"}, "yesterday": {"20/s"}, "last week": {"2/s"}}
    assert await columns("/handlers/add") == {"completed": {"4/min"}, "yesterday": {"10/s"}, "last week": {"1/s"}}


async def test_plots_are_compared_with_earlier_times_on_request(pool: Engine, http: httpx2.AsyncClient) -> None:
    finish_tasks(pool)

    [compare] = [link for link in (await shown(http, "/")).all("a") if link.text == "Compare"]

    assert compare["href"] == "/?compare=1"
