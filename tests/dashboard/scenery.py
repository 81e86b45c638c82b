"""A pool with an example of everything, for tests that visit all pages."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tests.sql.engine import Document, Engine

TRACEBACK = """\
Traceback (most recent call last):
  File "shop/letters.py", line 31, in post
    await mailer.send(letter)
  File "shop/mailer.py", line 112, in send
    raise Refused(answer.status, answer.reason)
shop.mailer.Refused: 550 the mailbox of ada@example.com does not exist"""
ROLES: tuple[Document, ...] = (
    {"name": "letters", "description": "Posts letters to customers"},
    {"name": "reports", "description": "Counts what was sold, by day and shop"},
    {"name": "returns", "description": "Takes parcels back"},
    {"name": "sums", "description": "Adds numbers up"},
)
LETTER = {
    "type": "object",
    "properties": {
        "customer": {"type": "integer", "minimum": 1, "description": "By its number"},
        "urgent": {"type": "boolean", "default": False},
        "style": {"enum": ["plain", "fancy"], "default": "plain"},
        "lines": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["customer"],
}
HANDLERS: tuple[Document, ...] = (
    {"name": "post_letter", "role": "letters", "description": "One letter", "signature": LETTER},
    {"name": "nightly_report", "role": "reports", "description": "All shops of a day"},
    {"name": "count_sales", "role": "reports"},
    {"name": "take_back", "role": "returns"},
    {"name": "add", "role": "sums", "description": "The sum of two numbers"},
    {"name": "double", "role": "sums"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenery:
    """The ids of the examples, by the names of the parameters in paths."""

    task_id: int
    chain_id: int
    worker_id: int
    schedule_id: int
    parent_id: int
    failed_id: int
    group_id: int
    bulk_action_id: int
    # The first saved view of a pool.
    view_id: int = 1
    handler: str = "post_letter"
    name: str = "letters"
    session_id: str = "0123456789abcdef"
    verb: str = "mute"

    def more(self) -> list[str]:
        """The URLs of pages whose query changes what they show."""
        return [
            f"/tasks/{self.failed_id}",
            f"/tasks/{self.parent_id}",
            f"/tasks/{self.parent_id}/tree",
            "/tasks?state=failed",
            f"/tasks?error_group={self.group_id}",
            "/errors?state=all",
            "/tasks?text=nothing-has-this",
            f"/jobs/{self.handler}?as=json&created={self.task_id}",
            "/capacity?role=letters&workers=3",
            "/admin/workers?everyone=1",
            "/keys?key=ledger",
            "/tasks/bulk?action=cancel&state=pending",
            "/changes?kind=roles&thing=returns",
        ]

    def path(self, pattern: str) -> str:
        """Fill in a route's path."""
        return pattern.replace(":int", "").format(**asdict(self))


def furnish(engine: Engine) -> Scenery:
    """Store an example of everything."""
    engine.declare(*ROLES, handlers=HANDLERS)
    worker = engine.worker("letters", "sums", "reports", name="shop-worker-0", slots=8)
    engine.rows("select rolecall.open_local_session(sha256('x'), '1 day', '127.0.0.1')")
    chain = _chain(engine, worker)
    failed = _letters(engine, worker)
    engine.rows("select rolecall.group_failures()")
    parent = _report(engine, worker)
    running = _running(engine, worker)
    _waiting(engine)
    engine.put_schedule("every-night", 86_400, role="reports", handler="nightly_report")
    schedule = engine.put_schedule("every-minute", 60, role="sums", handler="add", payload={"a": 1, "b": 2})
    engine.rows(
        "select rolecall.put_schedule(jsonb_build_object('name', 'mornings', 'handler', 'post_letter',"
        " 'cron', '*/5 7-9 * * MON-FRI', 'zone', 'Europe/Berlin', 'enabled', false))"
    )
    engine.rows("select rolecall.pause_role('returns', 3600, 'ada')")
    engine.rows("""select rolecall.declare_key_capacities('{"customer:*": 2, "shop:*": 4}')""")
    engine.rows("select rolecall.set_key_capacity('customer:*', 3)")
    engine.rows("select rolecall.set_key_capacity('shop:7', 8)")
    engine.rows("select rolecall.save_view('Failed letters', 'role:letters state:failed age<1d', 'ada', 100)")
    return Scenery(
        task_id=running,
        chain_id=chain,
        worker_id=worker,
        schedule_id=schedule,
        parent_id=parent,
        failed_id=failed,
        group_id=engine.task(failed).error_group or 0,
        bulk_action_id=_bulk_action(engine),
    )


def _bulk_action(engine: Engine) -> int:
    bulk_action_id = engine.value("select rolecall.start_bulk_action('cancel', '{\"role\": \"sums\"}', 'ada', 6)")
    detail = '{"total": 6, "which": {"role": "sums"}}'
    engine.rows(
        "select rolecall.record_audit('ada', 'dashboard', null, 'bulk.cancel', %s, %s)", detail, str(bulk_action_id)
    )
    paused = '{"role": "returns", "seconds": 3600}'
    engine.rows("select rolecall.record_audit('ada', 'dashboard', null, 'roles.pause', %s, null)", paused)
    return int(bulk_action_id)


def _chain(engine: Engine, worker: int) -> int:
    first = engine.enqueue("sums", handler="add", payload={"a": 1, "b": 2, "note": "the first of a chain"})
    following = {"handler": "double", "payload": {"number": 3}}
    engine.complete(engine.claim_one(worker=worker), result={"sum": 3}, next={"continuation": following})
    engine.complete(engine.claim_one(worker=worker), result={"number": 6})
    return first


def _letters(engine: Engine, worker: int) -> int:
    engine.enqueue_many(
        [{"role": "letters", "handler": "post_letter", "payload": {"customer": number}} for number in range(30)]
    )
    for claim in engine.claim(30, worker=worker):
        engine.start(claim)
        engine.complete(claim, result={"posted": True})
    failed = engine.enqueue("letters", handler="post_letter", payload={"customer": 31}, max_attempts=1)
    engine.fail(engine.claim_one(worker=worker), TRACEBACK)
    engine.enqueue("letters", handler="post_letter", payload={"customer": 32}, key="customer:32")
    engine.fail(engine.claim_one(worker=worker), TRACEBACK)
    return failed


def _report(engine: Engine, worker: int) -> int:
    parent = engine.enqueue("reports", handler="nightly_report", payload={"day": "2026-11-20"})
    claim = engine.claim_one(worker=worker)
    engine.start(claim)
    shops = [{"handler": "count_sales", "payload": {"shop": number}} for number in range(8)]
    engine.complete(claim, next={"children": shops, "serial": False, "gathers": True})
    for child in engine.claim(5, worker=worker):
        engine.complete(child, result={"sold": 100 + child.id})
    return parent


def _running(engine: Engine, worker: int) -> int:
    running = engine.enqueue("sums", handler="add", payload={"a": 20, "b": 22}, key="ledger")
    engine.enqueue("sums", handler="add", payload={"a": 1, "b": 1}, key="ledger")
    [claim] = [each for each in engine.claim(10, worker=worker) if each.id == running]
    engine.start(claim)
    engine.report_info(claim, {"rows": 12_345, "note": "half of it is done"})
    return running


def _waiting(engine: Engine) -> None:
    engine.enqueue("sums", handler="add", payload={"a": 5, "b": 5}, after=3_600)
    needed = engine.enqueue("returns", handler="take_back", payload={"parcel": "A 17"})
    engine.enqueue("letters", handler="post_letter", needs=[{"task": needed, "name": "parcel"}])
    engine.enqueue_many(
        [{"role": "returns", "handler": "take_back", "payload": {"parcel": f"B {n}"}} for n in range(40)]
    )
    engine.cancel(engine.enqueue("returns", handler="take_back", payload={"parcel": "C 1"}))
