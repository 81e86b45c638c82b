"""Parents that wait for their children."""

from __future__ import annotations

from tests.sql.engine import Claim, Document, Engine

WORK = {"role": "work"}


def family(engine: Engine, children: int = 2, *, role: str = "work", **words: object) -> tuple[int, list[int]]:
    """Create a task that waits for the given number of equal children; return its id and theirs.

    It must be the next task in the queue.
    """
    return parent_of(engine, *[{"role": role, **words}] * children)


def parent_of(
    engine: Engine, *children: Document, serial: bool = False, gathers: bool = False
) -> tuple[int, list[int]]:
    """Create a task that waits for these children; return its id and theirs."""
    parent_id = engine.enqueue()
    return parent_id, spread(engine, engine.claim_one(), *children, serial=serial, gathers=gathers)


def spread(
    engine: Engine, claim: Claim, *children: Document, serial: bool = False, gathers: bool = False, **words: object
) -> list[int]:
    """Complete a claim with children; return the ids of those that this claim spawned."""
    spawned = {"children": list(children), "serial": serial, "gathers": gathers}
    assert engine.complete(claim, next=spawned, **words) is None
    return [
        task_id
        for (task_id,) in engine.rows(
            """select id from rolecall.tasks where parent_id = %s and parent_fence = %s
            union select id from rolecall.finished_tasks where parent_id = %s and parent_fence = %s order by id""",
            *(claim.id, claim.fence) * 2,
        )
    ]


def finish_off(engine: Engine, *but: int) -> list[int]:
    """Complete all claimable tasks repeatedly, except the given ones; return the completed ids in order."""
    done: list[int] = []
    held: set[int] = set()
    while claims := {task_id: claim for task_id, claim in engine.claim_all().items() if task_id not in held}:
        for task_id, claim in claims.items():
            if task_id in but:
                held.add(task_id)
            else:
                engine.complete(claim)
                done.append(task_id)
    return done
