"""The audit log on the command line, and actions shared with the API."""

from __future__ import annotations

import os
from pwd import getpwuid
from typing import NoReturn

import pytest

from tests.cli.conftest import Run


def enqueue(cli: Run, *options: object) -> int:
    task_id: int = cli("enqueue", "add", '{"a": 1, "b": 2}', "--json", *options).json["id"]
    return task_id


def test_changes_are_listed_newest_first(cli: Run) -> None:
    task_id = enqueue(cli)
    cli("tasks", "cancel", task_id)

    events = cli("audit", "--json").json
    assert [(event["action"], event["via"]) for event in events] == [("tasks.cancel", "cli"), ("tasks.enqueue", "cli")]
    assert [event["id"] for event in cli("audit", "--json", "--before", events[0]["id"]).json] == [events[1]["id"]]
    assert [event["action"] for event in cli("audit", "--json", "--action", "tasks.cancel").json] == ["tasks.cancel"]
    assert "tasks.cancel" in cli("audit").out
    assert cli("audit", "--json", "--via", "api").json == []
    assert len(cli("audit", "--json", "--via", "cli", "--since", events[0]["at"]).json) == 1


@pytest.mark.parametrize(
    ("login", "actor"), [(None, "{user}"), ("{user}", "{user}"), ("ada", "{user} (logged in as ada)")]
)
def test_actor_comes_from_the_operating_system_and_not_the_environment(
    cli: Run, monkeypatch: pytest.MonkeyPatch, login: str | None, actor: str
) -> None:
    user = getpwuid(os.getuid()).pw_name

    def getlogin() -> str:
        if login is None:
            raise OSError
        return login.format(user=user)

    monkeypatch.setattr(os, "getlogin", getlogin)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "mallory")
    enqueue(cli)

    assert [event["actor"] for event in cli("audit", "--json").json] == [actor.format(user=user)]


def test_user_without_a_name_is_recorded_by_number(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: int) -> NoReturn:
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", nobody)
    enqueue(cli)

    assert cli("audit", "--json").json[0]["actor"].startswith(f"user {os.getuid()}")


def test_completion_token_is_created_and_not_logged(cli: Run) -> None:
    made = cli("tasks", "token", enqueue(cli), "--ttl", "1h")

    assert made.out.startswith("rct_")
    assert made.out.strip() not in cli("audit", "--json").out


def test_needs_of_a_task_are_shown(cli: Run) -> None:
    needed = enqueue(cli)
    task_id = enqueue(cli, "--needs", needed)

    [need] = cli("tasks", "needs", task_id, "--json").json
    assert (need["task_id"], need["outcome"]) == (needed, None)
    assert cli("tasks", "needs", 4711).code == 4


def test_dependents_of_a_chain_are_shown(cli: Run) -> None:
    needed = enqueue(cli)
    task_id = enqueue(cli, "--needs", needed)

    assert [task["task_id"] for task in cli("chains", "blocking", needed, "--json").json] == [task_id]
    assert "yes" in cli("chains", "blocking", needed).out


def test_chain_can_be_completed(cli: Run) -> None:
    chain_id = enqueue(cli)

    assert cli("chains", "complete", chain_id, "--result", "3", "--json").json["outcome"] == "completed"
    assert cli("chains", "show", chain_id, "--json").json["chain"]["result"] == 3
    assert cli("chains", "complete", 4711).code == 4
