from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import sql_headers

Seed = Callable[[str, str], None]

PLACE = "src/rolecall/sql/functions/public/claim_tasks.sql"
GOOD = """\
-- Claims pending tasks.
-- returns: the tasks
-- raises: nothing
-- locks: tasks rows, in id order
-- notifies: nothing
create or replace function rolecall.claim_tasks() returns void
language sql
set search_path = ''
as $$ select rolecall.clock(); $$;  -- not now(), which no test can set
"""


def test_a_file_in_the_house_style_is_no_offence(tmp_path: Path, seed: Seed) -> None:
    seed(PLACE, GOOD)

    assert not list(sql_headers.offences(tmp_path))


@pytest.mark.parametrize(
    ("old", "new", "line", "wrong"),
    [
        ("-- Claims pending tasks.\n", "", 1, "begin with one sentence"),
        ("-- locks: tasks rows, in id order\n", "", 1, "lacks its line `-- locks: ...`"),
        ("create or replace", "create", 6, "say `create or replace function`"),
        ("rolecall.claim_tasks", "rolecall.take_tasks", 6, "its name must be take_tasks.sql"),
        ("set search_path = ''\n", "", 6, "lacks `set search_path = ''`"),
        ("rolecall.clock()", "pg_catalog.now()", 9, "now is not rolecall.clock()"),
        ("set search_path = ''", "set search_path = ''\nset enable_seqscan = off", 6, "needs `set jit = off`"),
        ("$$;", "$$; create view rolecall.b as select 1;", 1, "this one makes 2"),
    ],
)
def test_a_departure_is_an_offence_at_its_line(  # sizes: a case's four parts and two fixtures
    tmp_path: Path, seed: Seed, old: str, new: str, line: int, wrong: str
) -> None:
    seed(PLACE, GOOD.replace(old, new, 1))

    [found] = sql_headers.offences(tmp_path)

    assert found.line == line
    assert wrong in found.wrong


def test_a_procedure_that_commits_needs_no_search_path(tmp_path: Path, seed: Seed) -> None:
    committing = GOOD.replace("function", "procedure").replace("set search_path = ''\n", "")
    seed(PLACE, committing.replace("$$ select", "$$\n  commit;\n select"))

    assert not list(sql_headers.offences(tmp_path))


def test_a_function_may_say_why_it_sets_no_search_path(tmp_path: Path, seed: Seed) -> None:
    unset = GOOD.replace("set search_path = ''\n", "")
    seed(PLACE, unset.replace("-- notifies", "-- search_path: not set, so that it is inlined\n-- notifies"))

    assert not list(sql_headers.offences(tmp_path))


def test_a_function_may_steer_the_planner_where_its_plans_are_never_compiled(tmp_path: Path, seed: Seed) -> None:
    seed(PLACE, GOOD.replace("set search_path = ''", "set search_path = ''\nset jit = off\nset enable_seqscan = off"))

    assert not list(sql_headers.offences(tmp_path))


def test_only_the_clock_may_read_the_servers_time(tmp_path: Path, seed: Seed) -> None:
    clock = GOOD.replace("claim_tasks", "clock").replace("rolecall.clock();", "now();")
    seed(str(sql_headers.CLOCK), clock)
    seed("src/rolecall/sql/migrations/0001_first.sql", "create table a (b timestamptz default now());\n")

    [found] = sql_headers.offences(tmp_path)

    assert found.path.name == "0001_first.sql"
