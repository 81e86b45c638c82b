from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import sql_headers

Seed = Callable[[str, str], None]

PLACE = "src/rolecall/sql/functions/claim/claim_tasks.sql"
CALLS = "select rolecall.find_role()"
GOOD = """\
-- Claims pending tasks.
-- returns: the tasks
-- locks: tasks rows, in id order
-- public: yes
create or replace function rolecall.claim_tasks() returns void
language sql
set search_path = pg_catalog, pg_temp
as $$ select rolecall.clock(); $$;  -- not now(), which no test can set
"""


def test_file_in_the_house_style_has_no_violation(tmp_path: Path, seed: Seed) -> None:
    seed(PLACE, GOOD)

    assert not list(sql_headers.offences(tmp_path))


@pytest.mark.parametrize(
    ("old", "new", "line", "wrong"),
    [
        ("-- Claims pending tasks.\n", "", 4, "begins with a description"),
        ("-- locks: tasks rows, in id order\n", "-- locks: nothing\n", 5, "`-- locks:` without content"),
        ("create or replace", "create", 5, "use `create or replace function`"),
        ("set search_path = pg_catalog, pg_temp\n", "", 5, "lacks `set search_path = pg_catalog, pg_temp`"),
        ("rolecall.clock()", "pg_catalog.now()", 8, "now must be rolecall.clock()"),
        (
            "set search_path = pg_catalog, pg_temp",
            "set search_path = pg_catalog, pg_temp\nset enable_seqscan = off",
            5,
            "needs `set jit = off`",
        ),
        ("rolecall.clock()", "rolecall.clock(), 'é'", 8, "é does not exist in every encoding"),
        ("rolecall.clock()", r"rolecall.clock(), '\d'", 8, "because it has a backslash"),
        ("which no test can set", "which no test can set " + "x" * 60, 8, "has 132 columns, more than 110"),
    ],
)
def test_violation_is_reported_at_its_line(  # sizes: a case's four parts and two fixtures
    tmp_path: Path, seed: Seed, old: str, new: str, line: int, wrong: str
) -> None:
    seed(PLACE, GOOD.replace(old, new, 1))

    [found] = sql_headers.offences(tmp_path)

    assert found.line == line
    assert wrong in found.wrong


@pytest.mark.parametrize(
    ("called", "header", "wrong"),
    [
        ("-- raises: RC031 unknown role", "", ["may raise RC031"]),
        ("-- raises: RC031 unknown role", "-- raises: RC031 unknown role", []),
        ("-- raises: RC031 unknown role", "-- raises: as find_role", []),
        ("-- raises: RC031 unknown role", "-- raises: nothing of find_role, as the role is known", []),
        ("-- locks: the roles row", "", ["lacks `locks`"]),
        ("-- notifies: rolecall_wake", "", ["lacks `notifies`"]),
    ],
)
def test_header_declares_the_permissions_of_its_callees(
    tmp_path: Path, seed: Seed, called: str, header: str, wrong: list[str]
) -> None:
    seed("src/rolecall/sql/functions/pool/find_role.sql", _function("find_role", called, "select 1"))
    seed("src/rolecall/sql/functions/pool/pause.sql", _function("pause", f"{header}\n-- public: yes", CALLS))
    seed("src/rolecall/sql/functions/pool/resume.sql", _function("resume", f"{called}\n-- public: yes", CALLS))

    found = list(sql_headers.offences(tmp_path))

    assert ["pause" in each.wrong and part in each.wrong for each, part in zip(found, wrong, strict=True)] == [
        True
    ] * len(wrong)


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("select rolecall.refuse('RC031', 'who?')", ["may raise RC031"]),
        ("begin perform rolecall.x('RC031'); exception when others then end", ["may raise RC031"]),
        ("begin perform 1; exception when sqlstate 'RC031' then end", []),
    ],
)
def test_header_declares_the_errors_that_the_function_raises_itself(
    tmp_path: Path, seed: Seed, body: str, wrong: list[str]
) -> None:
    seed("src/rolecall/sql/functions/pool/pause.sql", _function("pause", "-- public: yes", body))

    assert [
        each.wrong.split(",")[0].removeprefix("function pause ") for each in sql_headers.offences(tmp_path)
    ] == wrong


def test_file_is_named_after_its_first_object(tmp_path: Path, seed: Seed) -> None:
    both = _function("pause", "-- public: yes", CALLS) + _function("find_role", "", "select 1")
    seed("src/rolecall/sql/functions/pool/find_role.sql", both)

    [found] = sql_headers.offences(tmp_path)

    assert found.wrong == "function pause is the first in find_role.sql, which has the name of another object"


def test_helper_is_in_the_only_file_that_calls_it(tmp_path: Path, seed: Seed) -> None:
    seed("src/rolecall/sql/functions/pool/find_role.sql", _function("find_role", "", "select 1"))
    seed("src/rolecall/sql/functions/pool/pause.sql", _function("pause", "-- public: yes", CALLS))

    [found] = sql_headers.offences(tmp_path)

    assert found.wrong == "function find_role is called from pause.sql only: move it there"


def test_function_called_from_several_files_can_have_its_own_file(tmp_path: Path, seed: Seed) -> None:
    seed("src/rolecall/sql/functions/pool/roles.sql", _function("find_role", "", "select 1"))
    seed("src/rolecall/sql/functions/pool/pause.sql", _function("pause", "-- public: yes", CALLS))
    seed("src/rolecall/sql/functions/pool/resume.sql", _function("resume", "-- public: yes", CALLS))

    assert not list(sql_headers.offences(tmp_path))


def test_unused_function_is_a_violation(tmp_path: Path, seed: Seed) -> None:
    seed("src/rolecall/sql/functions/pool/roles.sql", _function("find_role", "", "select 1"))

    [found] = sql_headers.offences(tmp_path)

    assert found.wrong == "function find_role has no callers"


def test_function_used_by_a_table_is_no_violation(tmp_path: Path, seed: Seed) -> None:
    trigger = _function("count_rows", "", "begin end").replace("void", "trigger").replace("returns", "\nreturns")
    seed("src/rolecall/sql/functions/pool/roles.sql", trigger)

    assert not list(sql_headers.offences(tmp_path))


def _function(name: str, header: str, body: str) -> str:
    result = f"-- Does it.\n{header.strip()}\n" if header else "-- Does it.\n"
    return f"{result}create or replace function rolecall.{name}() returns void\nset search_path = pg_catalog, pg_temp\nas $$ {body} $$;\n"


def test_procedure_that_commits_needs_no_search_path(tmp_path: Path, seed: Seed) -> None:
    committing = GOOD.replace("function", "procedure").replace("set search_path = pg_catalog, pg_temp\n", "")
    seed(PLACE, committing.replace("$$ select", "$$\n  commit;\n select"))

    assert not list(sql_headers.offences(tmp_path))


def test_function_can_state_why_it_sets_no_search_path(tmp_path: Path, seed: Seed) -> None:
    unset = GOOD.replace("set search_path = pg_catalog, pg_temp\n", "")
    seed(PLACE, unset.replace("-- public", "-- search_path: not set, so that it is inlined\n-- public"))

    assert not list(sql_headers.offences(tmp_path))


def test_function_can_set_planner_options_where_its_plans_are_never_compiled(tmp_path: Path, seed: Seed) -> None:
    seed(
        PLACE,
        GOOD.replace(
            "set search_path = pg_catalog, pg_temp",
            "set search_path = pg_catalog, pg_temp\nset jit = off\nset enable_seqscan = off",
        ),
    )

    assert not list(sql_headers.offences(tmp_path))


def test_only_the_clock_function_can_read_the_server_time(tmp_path: Path, seed: Seed) -> None:
    clock = GOOD.replace("claim_tasks", "clock").replace("rolecall.clock();", "now();")
    seed("src/rolecall/sql/functions/base.sql", clock)
    seed("src/rolecall/sql/migrations/0001_first.sql", "create table a (b timestamptz default now());\n")

    [found] = sql_headers.offences(tmp_path)

    assert found.path.name == "0001_first.sql"


def test_functions_next_to_the_clock_call_it_too(tmp_path: Path, seed: Seed) -> None:
    clock = GOOD.replace("claim_tasks", "clock").replace("rolecall.clock();", "now();")
    seed("src/rolecall/sql/functions/base.sql", f"{clock}\n{GOOD.replace('rolecall.clock();', 'now();')}")

    [found] = sql_headers.offences(tmp_path)

    assert "now must be rolecall.clock()" in found.wrong


NO_JIT = "set search_path = pg_catalog, pg_temp\nset jit = off"


@pytest.mark.parametrize(("outer", "is_redundant"), [(NO_JIT, True), ("set search_path = pg_catalog, pg_temp", False)])
def test_setting_that_every_caller_sets_is_an_offence(
    tmp_path: Path, seed: Seed, outer: str, *, is_redundant: bool
) -> None:
    inner = _function("find_role", "", "select 1").replace("set search_path = pg_catalog, pg_temp", NO_JIT)
    caller = _function("pause", "-- public: yes", CALLS).replace("set search_path = pg_catalog, pg_temp", outer)
    seed("src/rolecall/sql/functions/pool/pause.sql", f"{caller}\n{inner}")

    found = [offence.wrong for offence in sql_headers.offences(tmp_path)]

    assert any("function find_role sets jit = off, as every caller does" in wrong for wrong in found) == is_redundant
    assert len(found) == is_redundant
