"""The tree of a task: a drawing, the same as a list, and its progress."""

from __future__ import annotations

import httpx2

from tests.sql.engine import Engine
from tests.sql.families import spread

ADD = {"role": "sums", "handler": "add"}
STUMBLE = {"role": "sums", "handler": "stumble"}


def parent(pool: Engine, *children: dict[str, str]) -> tuple[int, list[int]]:
    parent_id = pool.enqueue("sums", handler="add")
    return parent_id, spread(pool, pool.claim_one(), *children)


async def test_tree_is_drawn_and_listed(pool: Engine, http: httpx2.AsyncClient) -> None:
    top, [first, second] = parent(pool, ADD, STUMBLE)

    page = await http.get(f"/tasks/{top}/tree")

    assert page.status_code == 200
    for task_id in (top, first, second):
        assert page.text.count(f'href="/tasks/{task_id}"') >= 2
    assert f'aria-label="stumble, task {second}, ready"' in page.text
    assert " style=" not in page.text


async def test_page_subscribes_to_the_stream_of_the_tree_progress(pool: Engine, http: httpx2.AsyncClient) -> None:
    top, _ = parent(pool, ADD)

    page = await http.get(f"/tasks/{top}/tree")

    assert f'data-stream="/api/live?root={top}"' in page.text
    assert f'data-live="progress task:{top}"' in page.text


async def test_phases_are_shown_as_progress_bars(pool: Engine, http: httpx2.AsyncClient) -> None:
    top, [first, *_] = parent(pool, ADD, ADD, STUMBLE, STUMBLE)
    pool.complete(pool.claim_all()[first])

    page = await http.get(f"/tasks/{top}/tree")

    assert '<progress max="1" value="0.5" aria-label="add">' in page.text
    assert '<progress max="1" value="0.25" aria-labelledby="progress-title">' in page.text
    assert '<progress max="1" value="0.0" aria-label="stumble">' in page.text


async def test_many_children_of_one_handler_are_drawn_as_one_node(pool: Engine, http: httpx2.AsyncClient) -> None:
    top, children = parent(pool, *[STUMBLE] * 40)
    pool.fail_task(children[7], "the shop is closed")

    page = await http.get(f"/tasks/{top}/tree")

    assert "stumble × 40" in page.text
    assert f'href="/tasks?parent={top}&amp;handler=stumble"' in page.text
    assert f'href="?unfold={top}%3Astumble#drawing"' in page.text
    assert f'href="/tasks/{children[7]}"' in page.text
    assert f'href="/tasks/{children[8]}"' not in page.text


async def test_expanded_node_shows_thirty_children_with_failed_ones_first(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    top, children = parent(pool, *[STUMBLE] * 40)
    pool.fail_task(children[39], "x")

    page = await http.get(f"/tasks/{top}/tree?unfold={top}:stumble")

    shown = [child for child in children if f'href="/tasks/{child}"' in page.text]
    assert shown == [*children[:29], children[39]]


async def test_tree_of_a_child_links_to_its_parent(pool: Engine, http: httpx2.AsyncClient) -> None:
    top, [child] = parent(pool, ADD)

    page = await http.get(f"/tasks/{child}/tree")

    assert f'href="/tasks/{top}/tree"' in page.text
    assert "There is nothing below this task" in page.text


async def test_continuation_is_drawn_below_its_predecessor(pool: Engine, http: httpx2.AsyncClient) -> None:
    first = pool.enqueue("sums", handler="add")
    pool.complete(pool.claim_one(), next={"continuation": {"role": "letters", "handler": "post"}})
    [second] = [task.id for task in pool.tasks() if task.chain_index == 1]

    page, of_second = await http.get(f"/tasks/{first}/tree"), await http.get(f"/tasks/{second}/tree")

    assert f'aria-label="post, task {second}, ready"' in page.text
    assert 'class="line chain"' in page.text
    assert "is continued by" in page.text
    assert f'href="/tasks/{first}"' not in of_second.text


async def test_missing_tree_is_not_found(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert (await http.get("/tasks/4711/tree")).status_code == 404


async def test_invalid_phase_cannot_be_expanded(pool: Engine, http: httpx2.AsyncClient) -> None:
    top, _ = parent(pool, ADD)

    assert (await http.get(f"/tasks/{top}/tree?unfold=add")).status_code == 422


async def test_fifty_levels_deep_tree_is_truncated_with_a_note_and_link(pool: Engine, http: httpx2.AsyncClient) -> None:
    top = pool.enqueue("sums", handler="add")
    chain = [top]
    for _ in range(50):
        chain += spread(pool, pool.claim_one(), ADD)

    page = await http.get(f"/tasks/{top}/tree")
    deep = await http.get(f"/tasks/{chain[40]}/tree")

    assert f'href="/tasks/{chain[5]}"' in page.text
    assert f'href="/tasks/{chain[6]}"' not in page.text
    assert f'href="/tasks/{chain[5]}/tree"' in page.text
    assert "Tasks below the fifth level" in page.text
    assert "36 more" in deep.text
