"""`storecrawl routes`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.cli import run

CANARY = "CANARY-b8e2"
PROXY = "http://me@127.0.0.1:3128"
USED = """
update storecrawl.routes set successes = 1234, failures = 5, last_used_at = '2026-05-01 10:00 UTC',
    paused_until = '2026-05-01 11:00 UTC', paused_because = 'HTTP 403'
where id = 1
"""
Routes = Callable[..., tuple[int, str, str]]


@pytest.fixture
def routes(database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Routes:
    monkeypatch.setenv("DATABASE_URL", database)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["routes", *arguments])
        outputs = capsys.readouterr()
        return code, outputs.out, outputs.err

    return call


def test_route_can_be_added_listed_disabled_enabled_and_removed(routes: Routes) -> None:
    code, out, _ = routes("add", PROXY, "--state", "AZ", "--timezone", "America/Phoenix", "--json")
    route = json.loads(out)
    listed = json.loads(routes("list", "--json")[1])

    assert (code, listed) == (0, [route])
    assert (route["protocol"], route["host"], route["port"], route["active"]) == ("http", "127.0.0.1", 3128, True)
    assert routes("disable", "1", "--reason", "too slow")[0] == 0
    assert json.loads(routes("list", "--json")[1])[0]["disabled_because"] == "too slow"
    assert routes("enable", "1")[0] == routes("remove", "1")[0] == 0
    assert "There is no route" in routes("list")[1]


def test_list_shows_each_route_with_its_state_figures_and_reason(
    routes: Routes, connection: psycopg.Connection[Any]
) -> None:
    routes("add", PROXY, "--city", "Mesa", "--state", "AZ"), routes("add", "direct"), routes("add", "http://10.0.0.1:1")
    routes("disable", "2", "--reason", "too slow")
    connection.execute(USED)

    _, *lines = (line.split() for line in routes("list")[1].splitlines() if "─" not in line and line.strip())

    assert [" ".join(line) for line in lines] == [
        "1 http://127.0.0.1:3128 me Mesa, AZ paused 1,234 5 2026-05-01 10:00:00Z HTTP 403",
        "2 direct disabled 0 0 too slow",
        "3 http://10.0.0.1:1 active 0 0",
    ]


@pytest.mark.parametrize("way", ["file", "input", "environment"])
def test_password_is_read_without_being_shown(
    routes: Routes, connection: psycopg.Connection[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    (tmp_path / "password").write_text(f"{CANARY}\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{CANARY}\n"))
    if way == "environment":
        monkeypatch.setenv("STORECRAWL_ROUTE_PASSWORD", CANARY)
    flags = {"file": ["--password-file", str(tmp_path / "password")], "input": ["--password-file", "-"]}.get(way, [])

    outputs = [routes("add", PROXY, *flags), routes("list"), routes("list", "--json"), routes("disable", "1")]

    stored = "select password from storecrawl.routes"
    assert connection.execute(stored).fetchall() == [(CANARY,)]
    assert [each for each in outputs if CANARY in "".join(map(str, each))] == []
    events = connection.execute(
        "select action, detail::text || outcome::text from rolecall.audit_log order by id"
    ).fetchall()
    assert [action for action, _ in events] == ["routes.add", "routes.disable"]
    assert [text for _, text in events if CANARY in text] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["ftp://127.0.0.1:1"],
        ["http://127.0.0.1"],
        ["http://127.0.0.1:99999"],
        ["http://1.2.3.999:3128"],
        [f"http://me:{CANARY}@127.0.0.1:1"],
        ["http://127.0.0.1:1", "--password-env", "X"],
        ["http://127.0.0.1:1", "--timezone", "Mars/Olympus"],
        ["http://127.0.0.1:1", "--timezone", "/etc/passwd"],
    ],
)
def test_malformed_route_is_rejected(routes: Routes, arguments: list[str]) -> None:
    code, out, error = routes("add", *arguments)

    assert (code in {1, 2}, out) == (True, "")
    assert error.count("\n") == 1
    assert CANARY not in error


def test_duplicate_route_is_rejected(routes: Routes) -> None:
    assert routes("add", PROXY)[0] == 0

    code, _, error = routes("add", PROXY)

    assert (code, "route http://127.0.0.1:3128" in error) == (1, True)


@pytest.mark.parametrize("command", ["remove", "enable", "disable"])
def test_missing_route_is_reported(routes: Routes, command: str) -> None:
    assert routes(command, "404")[::2] == (1, "storecrawl: no route 404\n")


def test_route_check_shows_whether_a_route_works(routes: Routes) -> None:
    routes("add", "http://127.0.0.1:9")

    code, out, _ = routes("test", "1", "--url", "http://127.0.0.1:10", "--json")

    trial = json.loads(out)
    assert (code, trial["status"], "ConnectError" in trial["error"]) == (1, None, True)


@pytest.mark.parametrize("hostile", ["\x1b]0;PWNED\x07\x1b[31m", "[/red]", "[red]x", "\u202elevart", "a\nb\tc"])
def test_external_text_is_escaped(routes: Routes, connection: psycopg.Connection[Any], hostile: str) -> None:
    """No escape sequence reaches the terminal, and no markup breaks the command."""
    assert routes("add", PROXY, "--city", hostile)[0] == 0
    connection.execute("update storecrawl.routes set last_error = %s", (hostile,))

    code, out, _ = routes("list")

    shown = hostile.encode("unicode_escape").decode() if not hostile.isprintable() else hostile
    assert (code, out.count(shown)) == (0, 2)
    assert [letter for letter in out if not letter.isprintable() and letter != "\n"] == []
