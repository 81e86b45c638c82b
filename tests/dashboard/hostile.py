"""A pool in which every text from users contains an attack, and a check for attacks that succeeded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress

from playwright.async_api import Dialog, Page
from psycopg.types.json import Jsonb

from tests.dashboard.scenery import Scenery
from tests.sql.engine import Document, Engine

HOSTILE = "\"><svg/onload=alert(1)>'--<script>alert(2)</script>{{7*7}}</textarea></pre>javascript:alert(3)"
SIGNATURE = {
    "type": "object",
    "title": HOSTILE,
    "properties": {
        "text": {"type": "string", "title": HOSTILE, "description": HOSTILE, "default": HOSTILE},
        "choice": {"enum": [HOSTILE, "other"], "title": HOSTILE},
        HOSTILE: {"type": "string", "pattern": HOSTILE},
    },
    "required": [HOSTILE],
}
JSON = {HOSTILE: [HOSTILE, {"deep": HOSTILE}]}
# Elements that a page contains if a text was interpreted as markup.
INJECTED = "svg[onload], body script:not([src]), [onerror], [onclick], a[href^='javascript:'], iframe, object, embed"
SHOWN = """text => document.body.textContent.includes(text)
    || [...document.querySelectorAll("input, textarea, option")].some(field => (field.value ?? "").includes(text))"""
NOTE_VIOLATIONS = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation", event => window.violations.push(
        `${event.violatedDirective} ${event.sourceFile} ${event.sample}`));
"""


def furnish_hostile(engine: Engine) -> Scenery:
    """Store the same attack everywhere a person, a handler or a worker can write text."""
    engine.declare(
        {"name": "sums", "description": HOSTILE},
        {"name": "letters", "description": HOSTILE},
        handlers=[
            {"name": "add", "role": "sums", "description": HOSTILE, "signature": SIGNATURE},
            {"name": "post", "role": "letters", "description": HOSTILE, "signature": SIGNATURE},
        ],
    )
    worker = _worker(engine)
    chain = _chain(engine, worker)
    failed = _failed(engine, worker)
    engine.rows("select rolecall.group_failures()")
    parent = _parent(engine, worker)
    running = _running(engine, worker)
    schedule = _schedule(engine)
    _event(engine)
    # Functions reject this pattern, because it has a star before its end.
    engine.rows("update rolecall.keys set capacity = 2 where key = %s", HOSTILE)
    engine.rows("select rolecall.save_view(%s, %s, %s, 100)", HOSTILE[:60], HOSTILE, HOSTILE)
    return Scenery(
        task_id=running,
        chain_id=chain,
        worker_id=worker,
        schedule_id=schedule,
        parent_id=parent,
        failed_id=failed,
        group_id=engine.task(failed).error_group or 0,
        bulk_action_id=_bulk_action(engine),
        handler="post",
    )


async def attacked(page: Page, addresses: Iterable[str]) -> dict[str, bool]:
    """Visit pages; return whether each shows the attack as text. Fails if an attack succeeded."""
    opened: list[str] = []

    async def note(dialog: Dialog) -> None:
        opened.append(f"{page.url}: {dialog.message}")
        with suppress(Exception):
            await dialog.dismiss()

    page.on("dialog", note)
    await page.add_init_script(NOTE_VIOLATIONS)
    shown = {address: await _looked_at(page, address) for address in addresses}
    assert opened == []
    return shown


async def _looked_at(page: Page, address: str) -> bool:
    answer = await page.goto(address)
    assert answer is not None
    assert answer.status < 500, address
    await page.wait_for_function("() => document.readyState === 'complete'")
    assert await page.locator(INJECTED).count() == 0, address
    assert await page.evaluate("window.violations") == [], address
    return bool(await page.evaluate(SHOWN, HOSTILE))


def _worker(engine: Engine) -> int:
    worker: int = engine.value(
        "select rolecall.register_worker(%s, '{}', %s, 8, %s, 4711, %s, %s, %s)",
        HOSTILE,
        ["add", "post", "sums", "letters"],
        *(HOSTILE,) * 4,
    )
    condition = {"backing_off": HOSTILE, "cpu": 0.5, "memory": 0.5}
    engine.rows("select rolecall.beat(%s, 1, false, %s)", worker, Jsonb(condition))
    return worker


def _chain(engine: Engine, worker: int) -> int:
    first = _enqueue(engine, "sums", "add")
    following = {"handler": "add", "payload": JSON}
    engine.complete(engine.claim_one(worker=worker), result=JSON, next={"continuation": following})
    engine.complete(engine.claim_one(worker=worker), result=HOSTILE)
    return first


def _failed(engine: Engine, worker: int) -> int:
    failed = _enqueue(engine, "letters", "post", max_attempts=1)
    engine.fail(engine.claim_one(worker=worker), HOSTILE)
    _enqueue(engine, "letters", "post", key=HOSTILE + "again")
    engine.fail(engine.claim_one(worker=worker), HOSTILE)
    return failed


def _bulk_action(engine: Engine) -> int:
    which = json.dumps({"text": HOSTILE, "key": HOSTILE})
    query = "select rolecall.start_bulk_action('cancel', %s::jsonb, %s::text, 1)"
    bulk_action_id = int(engine.value(query, which, HOSTILE))
    detail = json.dumps({"which": {"text": HOSTILE}, "total": 1})
    record = "select rolecall.record_audit(%s::text, 'api', null, 'bulk.cancel', %s::jsonb, %s::jsonb)"
    engine.rows(record, HOSTILE, detail, str(bulk_action_id))
    return bulk_action_id


def _parent(engine: Engine, worker: int) -> int:
    parent = _enqueue(engine, "sums", "add")
    claim = engine.claim_one(worker=worker)
    engine.start(claim)
    engine.report_info(claim, {"progress": HOSTILE, HOSTILE: HOSTILE})
    children: list[Document] = [{"handler": "post", "payload": JSON, "key": f"{HOSTILE}{n}"} for n in range(3)]
    engine.complete(claim, next={"children": children, "serial": False, "gathers": True})
    engine.fail(engine.claim_one(worker=worker), HOSTILE)
    return parent


def _running(engine: Engine, worker: int) -> int:
    running = _enqueue(engine, "sums", "add", key=HOSTILE, dedupe_key=HOSTILE)
    _enqueue(engine, "sums", "add", key=HOSTILE)
    claims = [each for each in engine.claim(10, worker=worker) if each.id == running]
    engine.start(*claims)
    engine.report_info(claims[0], JSON)
    needing = _enqueue(engine, "sums", "add", needs=[{"task": running, "name": HOSTILE}])
    engine.rows("select rolecall.pause_role('letters', 3600, %s)", HOSTILE)
    return min(running, needing)


def _schedule(engine: Engine) -> int:
    document = {"name": HOSTILE[:100], "every": 60, "role": "sums", "handler": "add", "payload": JSON}
    schedule: int = engine.value("select rolecall.put_schedule(%s)", Jsonb(document))
    engine.rows("select rolecall.trigger_schedule(%s)", HOSTILE[:100])
    return schedule


def _event(engine: Engine) -> None:
    engine.rows(
        "select rolecall.record_audit(%s, 'api', %s, %s, %s, %s)",
        *(HOSTILE,) * 3,
        Jsonb({HOSTILE: HOSTILE}),
        Jsonb(HOSTILE),
    )


def _enqueue(engine: Engine, role: str, handler: str, **words: object) -> int:
    return engine.enqueue(role, handler=handler, **{"payload": JSON, **words})
