"""The audit log as sentences: who changed what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rolecall.model.audit import StoredAuditEvent
from rolecall.model.operator.bulk import StoredBulkAction
from rolecall.web.dashboard.formats import count, duration
from rolecall.web.dashboard.presenters import bulk_actions as bulk

KINDS = (
    "tasks",
    "bulk",
    "views",
    "errors",
    "roles",
    "handlers",
    "key_capacities",
    "schedules",
    "workers",
    "chains",
    "scaling",
    "maintenance",
    "keys",
    "people",
    "sessions",
    "scopes",
)
MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An entry of the audit log as the sentence `actor verb thing rest`; `path` is the page of the thing.

    `key` is the id or name by which the log can be filtered.
    """

    event: StoredAuditEvent
    verb: str
    thing: str
    path: str
    rest: str
    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class Telling:
    """The words for an action: a verb, the noun of its thing, the path of its page, and the end of the sentence."""

    verb: str
    noun: str = ""
    field: str = ""
    path: str = ""
    rest: Callable[[Mapping[str, Any]], str] = lambda _detail: ""


def _for(detail: Mapping[str, Any]) -> str:
    return f"for {duration(detail['seconds'])}" if detail.get("seconds") else ""


def _with_needs(detail: Mapping[str, Any]) -> str:
    return "including their needs" if detail.get("cascade") else ""


TASK, CHAIN, GROUP, WORKER = "/tasks/%s", "/chains/%s", "/errors/%s", "/admin/workers/%s"
TELLINGS: Mapping[str, Telling] = {
    "tasks.retry": Telling("retried", "task", "ids", TASK),
    "tasks.cancel": Telling("cancelled", "task", "ids", TASK),
    "tasks.delete": Telling("deleted", "task", "ids", TASK),
    "tasks.complete": Telling("completed", "task", "id", TASK),
    "tasks.fail": Telling("failed", "task", "id", TASK),
    "tasks.trigger": Telling("triggered", "task", "ids", TASK),
    "tasks.token": Telling("created a token for", "task", "id", TASK, lambda detail: f"valid {_for(detail)}"),
    "tasks.stack": Telling("requested the stack of", "task", "id", TASK),
    "tasks.complete_by_token": Telling("completed a task with a token"),
    "tasks.fail_by_token": Telling("failed a task with a token"),
    "chains.complete": Telling("completed", "chain", "id", CHAIN),
    "chains.delete": Telling("deleted", "chain", "ids", CHAIN, _with_needs),
    "errors.mute": Telling("muted", "error", "id", GROUP),
    "errors.resolve": Telling("resolved", "error", "id", GROUP),
    "errors.reopen": Telling("reopened", "error", "id", GROUP),
    "bulk.stop": Telling("stopped", "bulk action", "id", "/changes/bulk/%s"),
    "views.save": Telling("saved", "view", "name", "", lambda detail: f"({detail['query']})"),
    "views.change": Telling("changed", "view", "name"),
    "views.delete": Telling("deleted", "view", "name"),
    "roles.pause": Telling("paused", "role", "role", "/roles/%s", _for),
    "roles.resume": Telling("resumed", "role", "role", "/roles/%s"),
    "handlers.reveal": Telling("revealed earlier values of", "handler", "handler"),
    "key_capacities.set": Telling("set", "key", "pattern", "", lambda d: f"to a capacity of {count(d['capacity'])}"),
    "key_capacities.reset": Telling("reset the capacity of", "key", "pattern"),
    "schedules.put": Telling("stored", "schedule", "name"),
    "schedules.trigger": Telling("triggered", "schedule", "name"),
    "schedules.delete": Telling("deleted", "schedule", "name"),
    "workers.drain": Telling("drained", "worker", "worker_id", WORKER),
    "workers.decommission": Telling("decommissioned", "worker", "worker_id", WORKER),
    "workers.resume": Telling("resumed", "worker", "worker_id", WORKER),
    "scaling.scale": Telling(
        "scaled", "workload", "name", "", lambda d: f"from {d['previous']} to {d['desired']} pods"
    ),
    "maintenance.rescue": Telling("released the tasks of lost workers"),
    "maintenance.prune": Telling("deleted expired records"),
    "maintenance.keep_audit": Telling(
        "set the retention of the audit log", rest=lambda detail: f"to {duration(detail['seconds'])}"
    ),
    "keys.create": Telling("created", "API key", "name", "", lambda d: f"with the scope {d['scope']}"),
    "keys.revoke": Telling("revoked", "API key", "id"),
    "keys.refused": Telling("was refused: the API key is not valid"),
    "people.add": Telling("added", "person", "name", "", lambda d: f"with the scope {d['scope']}"),
    "people.remove": Telling("removed", "person", "name"),
    "people.password": Telling("changed the password of", "person", "name"),
    "people.unlock": Telling("unlocked", "person", "name"),
    "sessions.open": Telling("logged in"),
    "sessions.close": Telling("logged out"),
    "sessions.end": Telling("ended", "session", "id"),
    "sessions.refused": Telling("was refused a login"),
    "sessions.locked": Telling("was locked out after too many failed logins"),
    "scopes.refused": Telling("was refused a request: the scope is too small"),
}


def changes_of(events: Sequence[StoredAuditEvent], actions: Mapping[int, StoredBulkAction]) -> list[Change]:
    """Return the entries as sentences. `actions` are the bulk actions that they started, by id."""
    return [_change(event, actions) for event in events]


def bulk_ids(events: Sequence[StoredAuditEvent]) -> list[int]:
    """Return the ids of the bulk actions that these entries started."""
    return [event.outcome for event in events if _starts_bulk_action(event)]


def _starts_bulk_action(event: StoredAuditEvent) -> bool:
    return event.action.startswith("bulk.") and event.action != "bulk.stop" and isinstance(event.outcome, int)


def _change(event: StoredAuditEvent, actions: Mapping[int, StoredBulkAction]) -> Change:
    if _starts_bulk_action(event):
        return _bulk_change(event, actions.get(event.outcome))
    if event.action == "tasks.enqueue":
        return _enqueue_change(event)
    telling = TELLINGS.get(event.action)
    if telling is None:
        return _made(event, event.action)
    try:
        rest = telling.rest(event.detail)
    except (KeyError, TypeError, ValueError):
        rest = ""
    thing, path, key = _thing(telling, event.detail)
    return _made(event, telling.verb, thing, path, rest, key)


def _bulk_change(event: StoredAuditEvent, action: StoredBulkAction | None) -> Change:
    verb, which = event.action.removeprefix("bulk."), event.detail.get("which", {})
    conditions = bulk.conditions_of(which) if isinstance(which, dict) else ""
    words = f"bulk action {event.outcome}"
    if action is None:
        return _made(event, f"{bulk.PAST.get(verb, verb)} tasks with", words, "", f"({conditions})", str(event.outcome))
    path = f"/changes/bulk/{action.id}"
    if not action.finished_at or action.state == "withdrawn":
        number = "matching tasks" if action.total is None else bulk.number_of_tasks(action.total)
        state = "withdrawn" if action.state == "withdrawn" else f"{bulk.progress_of(action)} done"
        rest = f"({conditions}): {state}"
        return _made(event, f"started to {verb} {number} with", words, path, rest, str(action.id))
    done = f"{bulk.PAST[action.action]} {bulk.number_of_tasks(action.changed)} with"
    stopped = f", stopped by {action.stopped_by}" if action.state == "stopped" else ""
    return _made(event, done, words, path, f"({conditions}){stopped}", str(action.id))


def _enqueue_change(event: StoredAuditEvent) -> Change:
    number, handlers = event.detail.get("number", 1), event.detail.get("handlers", [])
    named = f"of {', '.join(map(str, handlers[:MOST_NAMED]))}" if isinstance(handlers, list) and handlers else ""
    return _made(event, f"enqueued {bulk.number_of_tasks(number)}", rest=named)


def _thing(telling: Telling, detail: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the words of the thing of a change, the path of its page, and its id or name."""
    value = detail.get(telling.field, detail.get("id"))
    if not telling.noun:
        return "", "", ""
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if isinstance(value, list):
        more = f" and {count(len(value) - MOST_NAMED)} more" if len(value) > MOST_NAMED else ""
        return f"{count(len(value))} {telling.noun}s: {', '.join(map(str, value[:MOST_NAMED]))}{more}", "", ""
    if isinstance(value, dict):
        return f"{count(value.get('number'))} {telling.noun}s", "", ""
    if isinstance(which := detail.get("which"), dict):
        return f"{telling.noun}s ({bulk.conditions_of(which)})", bulk.tasks_address(which), ""
    if value is None:
        return telling.noun, "", ""
    return f"{telling.noun} {value}", telling.path % value if telling.path else "", str(value)


def _made(event: StoredAuditEvent, verb: str, thing: str = "", path: str = "", rest: str = "", key: str = "") -> Change:
    kind = event.action.partition(".")[0]
    return Change(event=event, verb=verb, thing=thing, path=path, rest=rest, kind=kind, key=key)
