"""Every operator action is available in all three interfaces or listed here with a reason."""

from __future__ import annotations

import ast
import inspect
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import pytest

from rolecall.service.services import Services

ROLECALL = Path(inspect.getfile(Services)).parents[1]
# noun.verb: why the interface does not offer it.
TOKEN = "tokens are for callers without access to the database"
ONE = "the same command accepts several tasks, and reports the outcome of each"
MANY = "its route takes one task; the bulk action takes a filter, which can contain ids"
PART = "a lookup that is part of another action, which the interface offers"
LOGIN = "a part of HTTP authentication: the command line runs with the rights of the user on the machine"
SESSIONS = "a new password, `people remove` and a new local token end all sessions of a person"
BOTH = "the page and the API call web/sessions.py, which decides whose sessions a caller may see"
KEPT = "the retention of the audit log is set on the machine, not over HTTP"
PEOPLE = "access is granted on the machine, not over HTTP"
SECRET = "created and revoked on the command line or over the API: a browser must not keep a secret"
OVERVIEW = "a part of the overview, which the first page uses"
PARTS_OF_OVERVIEW = "read one by one for the first page, whose parts fail alone; `show` returns all of them"
OUTLINE = "contained in the outline of a tree or chain, which the pages draw"
TOGETHER = "waiting requests share one query"
PATIENCE = "a page does not wait: it follows the stream of events"
LEAVING = "contained in the response of `scale`; a page shows them before the button is pressed"
NAMED = "the state of the bulk actions on a page of changes; `list` returns all of them"
GLANCE = "some running tasks of each worker, for a page; `show` returns all tasks of one worker"
APP_CHECKS = "the part of `examine` that `up` reports when it starts; alerts and the doctor include it"
APP = "a request is checked against the served app, which may be newer than the declarations of workers"
OWN = "limited to the caller's own tasks; this interface shows the whole pool"
WHY = "the part of `tasks.why` that is read from Redis"
COVERAGE = "counts of workers by role, for a page; `list` returns the roles of each worker"
SERVICES = Services(cast("Any", None))
NOUNS: dict[str, type] = {
    noun: type(getattr(SERVICES, noun)) for noun, made in vars(Services).items() if isinstance(made, cached_property)
}
OWNERS = {name: noun for noun, kind in NOUNS.items() for name in (noun, kind.__name__)}
MARKS = "for the marks of plots; the audit log and the list of workers return the same"
EXAMINED = "a list that ends early has a cursor, which continues the search"
SUGGESTIONS = "for the suggestions of the search field and the palette"
MISSING: dict[str, dict[str, str]] = {
    "cli": {
        "chains.get": PART,
        "chains.outline": "limited to the space of a page; `chains show` prints the whole chain",
        "handoff.handoff_cause": WHY,
        "handoff.show": "the part of `overview` that is read from Redis",
        "keys.find": LOGIN,
        "keys.get": PART,
        "overview.history": PARTS_OF_OVERVIEW,
        "overview.workers": MARKS,
        "owned_tasks.delete": OWN,
        "owned_tasks.enqueue": OWN,
        "owned_tasks.get": OWN,
        "owned_tasks.list": OWN,
        "people.begin_login": LOGIN,
        "people.get": PART,
        "problems.list": "`overview` shows the worst problems, and `doctor` all of them",
        "sessions.close": LOGIN,
        "sessions.end": SESSIONS,
        "sessions.find": LOGIN,
        "sessions.list": SESSIONS,
        "sessions.open": LOGIN,
        "sessions.open_local": LOGIN,
        "scaling.leaving_pods": LEAVING,
        "schedules.create": "`schedules put` also creates schedules",
        "schedules.put": "`schedules put` changes single fields",
        "tasks.cancel_one": ONE,
        "tasks.complete_by_token": TOKEN,
        "tasks.detail": "everything on a page; `tasks show`, `needs` and `tree` return the parts",
        "tasks.delete_one": ONE,
        "tasks.enqueue_many": "a command enqueues one task; programs with many use the client",
        "tasks.examined_since": EXAMINED,
        "tasks.fail_by_token": TOKEN,
        "trees.outline": "limited to the space of a page; `tasks tree` prints the whole tree",
        "trees.relatives": "the waterfall of a page; `tasks tree` prints the whole tree",
        "tasks.parents_among": "for links to children in a list; `tasks tree` shows them",
        "tasks.retry_one": ONE,
        "bulk_actions.named": NAMED,
        "insight.find_names": SUGGESTIONS,
        "saved_views.get": PART,
        "tasks.stack": "`tasks stack` asks for a new one and waits for it",
        "roles.get": PART,
        "workers.coverage": COVERAGE,
        "workers.get": PART,
    },
    "web": {
        "bulk_actions.named": NAMED,
        "insight.find_names": SUGGESTIONS,
        "chains.outline": "limited to the space of a page; a chain's own routes return all of it",
        "doctor.run_app_checks": APP_CHECKS,
        "handoff.handoff_cause": WHY,
        "chains.wait": TOGETHER,
        "startup_guard.require_credentials": "checked when a server starts that nobody could log in to",
        "handlers.require_fit": APP,
        "maintenance.keep_audit": KEPT,
        "maintenance.prune": "a maintenance duty; by hand only on the machine",
        "overview.workers": MARKS,
        "tasks.examined_since": EXAMINED,
        "overview.alerts": PARTS_OF_OVERVIEW,
        "overview.figures": PARTS_OF_OVERVIEW,
        "overview.history": PARTS_OF_OVERVIEW,
        "overview.roles": PARTS_OF_OVERVIEW,
        "overview.show": "/api/doctor, /api/tasks/capacity and /api/tasks/history return the parts, with separate rights",
        "people.get": PEOPLE,
        "people.remove": PEOPLE,
        "people.unlock": PEOPLE,
        "scaling.leaving_pods": LEAVING,
        "schedules.put": "PUT changes one by its id, POST creates one",
        "tasks.cancel": MANY,
        "tasks.delete": MANY,
        "tasks.detail": "everything on a page; a task's own routes return the parts",
        "tasks.parents_among": "for links to children in a list; /children lists them",
        "tasks.retry": MANY,
        "tasks.wait": TOGETHER,
        "trees.outline": "limited to the space of a page; /tree lists the whole tree",
        "trees.relatives": "the waterfall of a page; /tree lists the whole tree",
        "roles.get": PART,
        "workers.coverage": COVERAGE,
        "workers.get": PART,
        "workers.in_hand": GLANCE,
    },
    "dashboard": {
        "tasks.bulk": "the pages start bulk actions, which have no limit",
        "error_groups.preview_retry": "the question counts the failed tasks of the group",
        "handoff.handoff_cause": WHY,
        "handoff.show": "its findings are among the alerts of the first page; `overview` and /api/status return all of it",
        "chains.blocking": OUTLINE,
        "chains.show": OUTLINE,
        "chains.wait": PATIENCE,
        "doctor.run_app_checks": APP_CHECKS,
        "doctor.examine": "the first page shows the pool's problems; the machine's health is checked in its terminal",
        "startup_guard.require_credentials": "checked when a server starts that nobody could log in to",
        "handlers.require_fit": APP,
        "insight.history": "the plots of the pages share it between their viewers (service/plots.py)",
        "handlers.reveal": "values are revealed on the command line or over the API",
        "keys.create": SECRET,
        "keys.find": PART,
        "keys.get": PART,
        "keys.list": SECRET,
        "keys.revoke": SECRET,
        "maintenance.keep_audit": KEPT,
        "maintenance.prune": "a maintenance duty; by hand only on the machine",
        "owned_tasks.delete": OWN,
        "owned_tasks.enqueue": OWN,
        "owned_tasks.get": OWN,
        "owned_tasks.list": OWN,
        "overview.show": "the first page reads the parts of the overview one by one",
        "people.add": PEOPLE,
        "people.begin_login": PART,
        "people.get": PEOPLE,
        "people.list": PEOPLE,
        "people.remove": PEOPLE,
        "people.set_password": PEOPLE,
        "people.unlock": PEOPLE,
        "problems.list": OVERVIEW,
        "sessions.close": PART,
        "sessions.end": BOTH,
        "sessions.find": PART,
        "sessions.list": BOTH,
        "sessions.open": PART,
        "sessions.open_local": PART,
        "scaling.target": "a number for an autoscaler; the capacity page shows how many workers a role needs",
        "schedules.put": "the form changes a schedule by its id, or creates one",
        "tasks.complete_by_token": TOKEN,
        "tasks.enqueue_many": "a form creates one task; programs with many use the client",
        "tasks.fail_by_token": TOKEN,
        "tasks.needs": OUTLINE,
        "tasks.tree": OUTLINE,
        "tasks.wait": PATIENCE,
    },
}


def offered() -> set[str]:
    return {
        f"{noun}.{name}"
        for noun, kind in NOUNS.items()
        for name, _ in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def reached(shell: str) -> set[str]:
    """Return every noun.verb that an interface uses."""
    trees = [ast.parse(file.read_text("utf-8")) for file in modules_of(shell)]
    return {found for tree in trees for found in (loosely_reached if shell == "dashboard" else plainly_reached)(tree)}


def modules_of(shell: str) -> list[Path]:
    """The pages are part of the package that serves the API."""
    folder = ROLECALL / ("web/dashboard" if shell == "dashboard" else shell)
    return [file for file in folder.rglob("*.py") if shell == "dashboard" or "dashboard" not in file.parts]


def plainly_reached(tree: ast.Module) -> set[str]:
    """Return the uses in the form `services.noun.verb` or `Noun.verb`."""
    return {
        f"{OWNERS[owner]}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and (owner := owner_of(node.value)) in OWNERS
    }


def loosely_reached(tree: ast.Module) -> set[str]:
    """Return every verb of a module that also contains the noun: pages pass services to their presenters."""
    nodes = list(ast.walk(tree))
    verbs = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    nouns = {OWNERS[name] for node in nodes if (name := noun_in(node)) in OWNERS}
    return {f"{noun}.{verb}" for noun in nouns for verb in verbs}


def noun_in(node: ast.AST) -> str:
    match node:
        case ast.Attribute(value=ast.Attribute(attr="services") | ast.Name(id="services"), attr=noun):
            return noun
        case ast.Name():
            return owner_of(node)
        case _:
            return ""


def owner_of(node: ast.expr) -> str:
    """Return the service before the dot: `services.tasks`, or its class, but not a module of the same name."""
    match node:
        case ast.Attribute(attr=noun):
            return noun
        case ast.Name(id=name) if name[0].isupper():
            return name
        case _:
            return ""


@pytest.mark.parametrize("shell", MISSING)
def test_gaps_between_interfaces_are_known(shell: str) -> None:
    lacking = offered() - reached(shell)

    assert lacking - MISSING[shell].keys() == set(), f"offer these in {shell}, or add the reason to MISSING"
    assert MISSING[shell].keys() - lacking == set(), f"{shell} offers these now: remove them from MISSING"


@pytest.mark.parametrize("shell", MISSING)
def test_each_gap_has_a_reason(shell: str) -> None:
    assert all(len(reason) > 10 for reason in MISSING[shell].values())
