"""Chains: the list, the page of a chain, and its actions."""

from __future__ import annotations

import httpx2

from tests.dashboard.reading import read, send
from tests.sql.engine import Engine

FORM = {"referer": "http://test/chains"}
ADD = {"role": "sums", "handler": "add"}


async def done(http: httpx2.AsyncClient, address: str, **data: object) -> httpx2.Response:
    """Submit a form with confirmation, and return the next page."""
    return await http.get((await send(http, address, at="/chains", **data)).headers["location"])


def chain_of_two(pool: Engine) -> tuple[int, int]:
    """A chain whose first task has completed with 3, and whose second is a `post`."""
    first = pool.enqueue("sums", handler="add", payload={"a": 1})
    pool.complete(pool.claim_one(), result=3, next={"continuation": {"role": "letters", "handler": "post"}})
    [second] = [task.id for task in pool.tasks() if task.chain_index == 1]
    return first, second


async def test_chains_are_listed_newest_first(pool: Engine, http: httpx2.AsyncClient) -> None:
    first, _ = chain_of_two(pool)
    later = pool.enqueue("letters", handler="post")

    page = await http.get("/chains")

    assert page.text.index(f'href="/chains/{later}"') < page.text.index(f'href="/chains/{first}"')


async def test_list_is_filtered_by_its_url(pool: Engine, http: httpx2.AsyncClient) -> None:
    first, _ = chain_of_two(pool)
    other = pool.enqueue("letters", handler="post")
    pool.fail_task(other, "no")

    for query, shown in {
        "state=failed": [other],
        "state=open": [first],
        "role=sums": [first],
        "handler=post": [other],
        "state=cancelled": [],
    }.items():
        page = await http.get(f"/chains?{query}")
        assert [each for each in (first, other) if f'href="/chains/{each}"' in page.text] == shown, query


async def test_list_continues_on_the_next_page(pool: Engine, http: httpx2.AsyncClient) -> None:
    ids, _ = pool.enqueue_many([ADD] * 26)

    page = await http.get("/chains?role=sums")
    [following] = [part.split('"')[0] for part in page.text.split('href="')[1:] if "cursor=" in part.split('"')[0]]
    last = await http.get(following.replace("&amp;", "&"))

    assert f'href="/chains/{ids[0]}"' not in page.text
    assert f'href="/chains/{ids[0]}"' in last.text
    assert f'href="/chains/{ids[1]}"' not in last.text
    assert "role=sums" in following


async def test_unknown_state_is_reported(pool: Engine, http: httpx2.AsyncClient) -> None:
    page = await http.get("/chains?state=closed")

    assert page.status_code == 422
    assert "closed" in page.text


async def test_chain_shows_its_tasks_with_input_and_output(pool: Engine, http: httpx2.AsyncClient) -> None:
    first, second = chain_of_two(pool)

    page = await http.get(f"/chains/{first}")

    assert page.text.index(f'id="task-{first}"') < page.text.index(f'id="task-{second}"')
    assert "&#34;a&#34;: 1" in page.text
    assert "3" in [each.text for each in read(page.text).all("pre")]


async def test_chain_shows_its_needs_and_dependents(pool: Engine, http: httpx2.AsyncClient) -> None:
    needed = pool.enqueue("sums", handler="add", after=60)
    middle = pool.enqueue("sums", handler="add", needs=[needed])
    waiting = pool.enqueue("letters", handler="post", needs=[{"chain": middle}])

    page = await http.get(f"/chains/{middle}")

    assert f'href="/tasks/{needed}">add {needed}</a>' in page.text
    assert f'href="/tasks/{waiting}">post {waiting}</a>' in page.text
    assert f"It cannot be deleted now: open tasks need it (post {waiting})." in page.text


async def test_chain_summarizes_the_children_of_its_tasks(pool: Engine, http: httpx2.AsyncClient) -> None:
    parent = pool.enqueue("sums", handler="add")
    pool.complete(pool.claim_one(), next={"children": [ADD, ADD, ADD]})
    pool.complete(pool.claim_one())

    page = await http.get(f"/chains/{parent}")

    assert "add × 3, 2 pending, 1 completed" in page.text
    assert f'href="/tasks/{parent}/tree"' in page.text


async def test_long_chain_shows_its_last_tasks_first(pool: Engine, http: httpx2.AsyncClient) -> None:
    first = pool.enqueue("sums", handler="add")
    for _ in range(54):
        pool.complete(pool.claim_one(), next={"continuation": ADD})

    last, early = await http.get(f"/chains/{first}"), await http.get(f"/chains/{first}?before=5")

    assert "Tasks 6 to 55 of 55" in last.text
    assert f'href="/chains/{first}?before=5"' in last.text
    assert f'id="task-{first}"' in early.text
    assert early.text.count("<article") == 5


async def test_large_inputs_and_outputs_are_shown_only_on_the_task_page(pool: Engine, http: httpx2.AsyncClient) -> None:
    letters = pool.value("select string_agg(md5(n::text), '') from generate_series(1, 1000) as n")
    large = pool.enqueue("sums", handler="add", payload={"letters": letters})

    page = await http.get(f"/chains/{large}")

    assert letters[:100] not in page.text
    assert "too large to be shown here" in page.text


async def test_missing_chain_is_not_found(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert (await http.get("/chains/4711")).status_code == 404


async def test_chain_can_be_completed_from_outside(pool: Engine, http: httpx2.AsyncClient) -> None:
    first, second = chain_of_two(pool)

    answer = await send(http, f"/chains/{first}/complete", at="/chains", result='{"sent": true}')

    assert answer.status_code == 303
    assert pool.task(second).result == {"sent": True}


async def test_invalid_json_result_is_reported_on_the_page(pool: Engine, http: httpx2.AsyncClient) -> None:
    first, second = chain_of_two(pool)

    answer = await http.post(f"/chains/{first}/complete", data={"result": "{"}, headers=FORM, follow_redirects=True)

    assert "the result is not JSON" in answer.text
    assert pool.state(second) == "pending"


async def test_finished_chain_cannot_be_completed(pool: Engine, http: httpx2.AsyncClient) -> None:
    ended = pool.enqueue("sums", handler="add")
    pool.fail_task(ended, "no")

    answer = await done(http, f"/chains/{ended}/complete")

    assert 'role="alert"' in answer.text
    assert pool.state(ended) == "failed"


async def test_chain_is_deleted_with_its_needs_if_requested(pool: Engine, http: httpx2.AsyncClient) -> None:
    needed = pool.enqueue("sums", handler="add", after=60)
    chain = pool.enqueue("sums", handler="add", needs=[needed])

    answer = await done(http, f"/chains/{chain}/delete", cascade="true")

    assert pool.tasks() == []
    assert f"Deleted chain {chain} and 1 with it: 2 tasks." in answer.text


async def test_chain_that_is_needed_cannot_be_deleted(pool: Engine, http: httpx2.AsyncClient) -> None:
    needed = pool.enqueue("sums", handler="add", after=60)
    pool.enqueue("sums", handler="add", needs=[needed])

    answer = await done(http, f"/chains/{needed}/delete")

    assert 'role="alert"' in answer.text
    assert pool.state(needed) == "pending"
