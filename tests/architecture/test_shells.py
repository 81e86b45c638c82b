"""Every operator action is available in all three interfaces or listed here with a reason."""

from __future__ import annotations

import ast
import inspect
from functools import cached_property
from pathlib import Path
from typing import get_type_hints

import pytest

from rolecall.service.services import Services

ROLECALL = Path(inspect.getfile(Services)).parents[1]
# noun.verb: why the interface does not offer it.
TOKEN = "a token is for who has no way to the database"
ONE = "the same verb takes many, and tells of each what became of it"
MANY = "its own route takes one task, and the bulk action those that a filter finds, ids included"
PART = "the part of another action, which the shell offers: it only looks up what that one is about"
LOGIN = "a part of coming in over HTTP: the command line runs with the rights of the account on the machine"
SESSIONS = "a new password, `people remove` and a new local token end all sessions of somebody at once"
BOTH = "the page and the API call web/sessions.py, which decides whose sessions a caller may see"
KEPT = "what is remembered of changes is decided beside the database, not from within"
PEOPLE = "who may come in is decided on the machine, not from within"
SECRET = "made and revoked at the command line or over the API: a secret is not left behind in a browser"
OVERVIEW = "the first page has an answer of its own, of which this is a part"
OUTLINE = "the pages draw the outline of a tree or a chain, in which this stands"
TOGETHER = "requests wait together, with one question for all of them"
PATIENCE = "a page does not wait: it follows"
LEAVING = "what `scale` answers names them; a page shows them before the button is pressed"
GLANCE = "a few of the tasks that every worker runs, for a page; `show` tells all of one worker's"
APP_CHECKS = "the part of `examine` that `up` tells at its start; alerts and the doctor bring it with all else"
APP = "a request is held against the app that is served, which may be newer than what workers have declared"
OWN = "one door shows everybody their own; here one sees the whole pool"
WHY = "the part of `tasks.why` that Redis tells"
COVERAGE = "how many workers take what, counted for a page; `list` tells of each worker what it takes"
NOUNS: dict[str, type] = {
    noun: get_type_hints(made.func)["return"]
    for noun, made in vars(Services).items()
    if isinstance(made, cached_property)
}
OWNERS = {name: noun for noun, kind in NOUNS.items() for name in (noun, kind.__name__)}
MISSING: dict[str, dict[str, str]] = {
    "cli": {
        "chains.get": PART,
        "chains.outline": "what a page has room for; `chains show` writes the whole chain",
        "handoff.handed_over": WHY,
        "handoff.show": "the part of `overview` that Redis tells",
        "keys.find": LOGIN,
        "keys.get": PART,
        "owned_tasks.delete": OWN,
        "owned_tasks.enqueue": OWN,
        "owned_tasks.get": OWN,
        "owned_tasks.list": OWN,
        "people.begin_login": LOGIN,
        "people.get": PART,
        "sessions.close": LOGIN,
        "sessions.end": SESSIONS,
        "sessions.find": LOGIN,
        "sessions.list": SESSIONS,
        "sessions.open": LOGIN,
        "sessions.open_local": LOGIN,
        "scaling.leaving": LEAVING,
        "schedules.create": "`schedules put` stores a new one, too",
        "schedules.put": "`schedules put` says field by field what to change",
        "tasks.cancel_one": ONE,
        "tasks.complete_by_token": TOKEN,
        "tasks.detail": "all that a page tells at once: `tasks show`, `needs` and `tree` tell it each for itself",
        "tasks.delete_one": ONE,
        "tasks.enqueue_many": "a command enqueues one task; a program with many has the client",
        "tasks.fail_by_token": TOKEN,
        "tasks.get": PART,
        "trees.outline": "what a page has room for; `tasks tree` writes the whole tree",
        "tasks.parents_among": "where a list has links to children; `tasks tree` shows them",
        "tasks.retry_one": ONE,
        "workers.coverage": COVERAGE,
        "workers.get": PART,
    },
    "web": {
        "chains.outline": "what a page has room for; a chain's own routes tell all of it",
        "doctor.ask_apps": APP_CHECKS,
        "handoff.handed_over": WHY,
        "chains.wait": TOGETHER,
        "startup_guard.require_somebody": "asked when a server starts that would otherwise let nobody in",
        "handlers.require_fit": APP,
        "maintenance.keep_audit": KEPT,
        "maintenance.prune": "the workers do it; by hand only beside the database",
        "overview.show": "/api/doctor, /api/tasks/capacity and /api/tasks/history tell it, each to who may know it",
        "people.get": PEOPLE,
        "people.remove": PEOPLE,
        "people.set_password": PEOPLE,
        "people.unlock": PEOPLE,
        "scaling.leaving": LEAVING,
        "schedules.put": "PUT changes one by its id, POST creates one",
        "tasks.cancel": MANY,
        "tasks.delete": MANY,
        "tasks.detail": "all that a page tells at once: a task's own routes tell it each for itself",
        "tasks.parents_among": "where a list has links to children; /children lists them",
        "tasks.retry": MANY,
        "tasks.wait": TOGETHER,
        "trees.outline": "what a page has room for; /tree lists the whole tree",
        "workers.coverage": COVERAGE,
        "workers.get": PART,
        "workers.in_hand": GLANCE,
    },
    "dashboard": {
        "handoff.handed_over": WHY,
        "handoff.show": "its findings stand among the alerts of the first page; `overview` and /api/status tell all of it",
        "chains.blocking": OUTLINE,
        "chains.show": OUTLINE,
        "chains.wait": PATIENCE,
        "doctor.ask_apps": APP_CHECKS,
        "doctor.examine": "the first page tells what is wrong with the pool; the machine's health is for its terminal",
        "startup_guard.require_somebody": "asked when a server starts that would otherwise let nobody in",
        "handlers.require_fit": APP,
        "handlers.reveal": "values are revealed at the command line or over the API",
        "insight.history": OVERVIEW,
        "keys.create": SECRET,
        "keys.find": PART,
        "keys.get": PART,
        "keys.list": SECRET,
        "keys.revoke": SECRET,
        "maintenance.keep_audit": KEPT,
        "maintenance.prune": "the workers do it; by hand only beside the database",
        "owned_tasks.delete": OWN,
        "owned_tasks.enqueue": OWN,
        "owned_tasks.get": OWN,
        "owned_tasks.list": OWN,
        "people.add": PEOPLE,
        "people.begin_login": PART,
        "people.get": PEOPLE,
        "people.list": PEOPLE,
        "people.remove": PEOPLE,
        "people.set_password": PEOPLE,
        "people.unlock": PEOPLE,
        "sessions.close": PART,
        "sessions.end": BOTH,
        "sessions.find": PART,
        "sessions.list": BOTH,
        "sessions.open": PART,
        "sessions.open_local": PART,
        "scaling.target": "a number for an autoscaler; the page of capacity tells people how many workers a role needs",
        "schedules.put": "the form changes a schedule by its id, or creates one",
        "tasks.complete_by_token": TOKEN,
        "tasks.enqueue_many": "a form makes one task; a program with many has the client",
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

    assert lacking - MISSING[shell].keys() == set(), f"offer these in {shell}, or say in MISSING why not"
    assert MISSING[shell].keys() - lacking == set(), f"{shell} has come to reach these: take them out of MISSING"


@pytest.mark.parametrize("shell", MISSING)
def test_each_gap_has_a_reason(shell: str) -> None:
    assert all(len(reason) > 10 for reason in MISSING[shell].values())
