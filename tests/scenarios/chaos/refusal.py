"""The first fault of a soak: the connections of some workers are refused for half a lease.

Their handlers continue, and no other worker may run their tasks meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.scenarios.chaos.crew import Crew
from tests.scenarios.chaos.proxy import Proxy
from tests.scenarios.chaos.server import Server
from tests.scenarios.chaos.severed import REFUSED_SECONDS

TASKS = 12
TRIES = 3
PATIENCE = 45.0
TURN = 0.1
ENQUEUE = """\
select rolecall.enqueue_many(jsonb_agg(jsonb_build_object(
    'role', 'severed', 'handler', 'endure', 'key', 'severed-' || gen_random_uuid(), 'priority', 9
)))
from generate_series(1, %s) as number"""
RUNNING = """\
select count(*) from rolecall.tasks as task
join rolecall.lines as line on line.id = task.line_id
join rolecall.workers as worker on worker.id = task.worker_id
where task.state = 'running' and task.started_at is not null and line.handler = 'endure' and worker.pid = any(%s)"""
AT_WORK = "select count(*) from rolecall.workers where stopped_at is null and pid = any(%s)"
OPEN = """\
select count(*) from rolecall.tasks as task join rolecall.lines as line on line.id = task.line_id
where line.handler = 'endure'"""
GIVE_UP = """\
select rolecall.cancel(array(
    select task.id from rolecall.tasks as task join rolecall.lines as line on line.id = task.line_id
    where line.handler = 'endure'
))"""
# Otherwise no worker would be considered dead: a server that started recently proves nothing.
AGE = "update rolecall.server_epoch set seen_at = seen_at - interval '1 hour'"


def sever(server: Server, proxy: Proxy, crew: Crew, turn: Callable[[], None]) -> int:
    """Refuse connections while handlers that need them run. Return how many ran while other workers could claim."""
    _wait_for(lambda: _count(server, AT_WORK, _detoured(crew)) and _count(server, AT_WORK, _direct(crew)), turn)
    for _ in range(TRIES):
        server.ask_until_answered(ENQUEUE, (TASKS,))
        if _wait_for(lambda: _count(server, RUNNING, _detoured(crew)), turn):
            return _refuse(server, proxy, crew, turn)
        server.ask_until_answered(GIVE_UP)
    return 0


def _refuse(server: Server, proxy: Proxy, crew: Crew, turn: Callable[[], None]) -> int:
    severed = _count(server, RUNNING, _detoured(crew)) if _count(server, AT_WORK, _direct(crew)) else 0
    server.ask_until_answered(AGE)
    with proxy.refusing():
        end = time.monotonic() + REFUSED_SECONDS
        _wait_for(lambda: time.monotonic() > end, turn)
    if not _wait_for(lambda: not server.number(OPEN), turn):
        # Handlers of dead workers are not awaited.
        server.ask_until_answered(GIVE_UP)
    return severed


def _wait_for(fact: Callable[[], object], turn: Callable[[], None]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not fact():
        if time.monotonic() > deadline:
            return False
        turn()
        time.sleep(TURN)
    return True


def _count(server: Server, query: str, pids: list[int]) -> int:
    return int(server.ask_until_answered(query, (pids,))[0][0])


def _detoured(crew: Crew) -> list[int]:
    return [*crew.detoured, *crew.supervised]


def _direct(crew: Crew) -> list[int]:
    return [pid for pid in crew.pids if pid not in crew.detoured]
