"""Chains are listed newest first in pages, and the cost of a page is constant."""

from __future__ import annotations

import pytest

from tests.sql.costs import buffers, fill, finish_all
from tests.sql.engine import Engine


def listed(engine: Engine, **words: object) -> list[int]:
    given = ", ".join(f"p_{name} => %s" for name in words)
    return [chain for (chain,) in engine.rows(f"select id from rolecall.list_chains({given})", *words.values())]


def test_newest_chains_are_listed_first_and_pages_continue_before_the_last_id(engine: Engine) -> None:
    ids = [engine.enqueue() for _ in range(3)]

    assert listed(engine) == ids[::-1]
    assert listed(engine, before=ids[2], limit=1) == [ids[1]]
    assert listed(engine, limit=0) == []


def test_chains_are_ordered_by_their_first_task(engine: Engine) -> None:
    first, second = engine.enqueue(), engine.enqueue()
    engine.complete_task(first, continuation={"role": "work"})

    assert listed(engine) == [second, first]


def test_role_and_handler_are_those_of_the_first_task(engine: Engine) -> None:
    engine.declare({"name": "other"})
    chain = engine.enqueue(handler="begin")
    engine.complete_task(chain, continuation={"role": "other", "handler": "go_on"})
    engine.enqueue("other")

    assert listed(engine, handler="begin") == listed(engine, role="work") == [chain]
    assert listed(engine, handler="go_on") == []


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ("open", ["later", "went on"]),
        ("pending", ["later", "went on"]),
        ("scheduled", ["later"]),
        ("completed", ["done", "ended"]),
        ("failed", ["failed"]),
    ],
)
def test_state_is_that_of_the_last_task(engine: Engine, state: str, found: list[str]) -> None:
    names = ["done", "failed", "ended", "went on", "later"]
    chains = dict(zip(names, (engine.enqueue(after=60 * (name == "later")) for name in names), strict=True))
    engine.complete_task(chains["done"])
    engine.fail_task(chains["failed"])
    for name in ("ended", "went on"):
        engine.complete_task(chains[name], continuation={"role": "work"})
    engine.rows("select rolecall.complete_chain(%s)", chains["ended"])

    assert sorted(listed(engine, state=state)) == sorted(chains[name] for name in found)


@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize(
    "words",
    ["p_before => 15000", "p_state => 'completed'", "p_state => 'failed'", "p_state => 'open', p_handler => 'work'"],
)
def test_cost_of_a_page_does_not_depend_on_the_number_of_chains(
    live_engine: Engine, words: str, *, analyzed: bool
) -> None:
    """This also holds without statistics."""
    live_engine.rows("select rolecall.make_partitions(7)")
    fill(live_engine, 10_000)
    finish_all(live_engine)
    fill(live_engine, 10_000, after=3600)
    if analyzed:
        live_engine.rows("analyze")

    assert buffers(live_engine, f"select * from rolecall.list_chains({words})") < 5_000
