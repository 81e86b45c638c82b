"""The tools of a hostile login: its own types, tables, functions, operators, settings and locks."""

from __future__ import annotations

from collections.abc import Iterator

from tests.db.shop import Connection

# Raises a notice only if it runs with the rights of another role than the login.
EVIL = """\
create function pg_temp.evil(what anyelement) returns pg_catalog.bool language plpgsql as $$
begin
    if current_user <> session_user then
        raise notice 'code of % runs as %', session_user, current_user;
    end if;
    return true;
end $$;
"""
TYPES = (
    "text", "name", "jsonb", "json", "bytea", "bool", "int2", "int4", "int8", "float8", "numeric", "date", "timestamptz",
    "timestamp", "interval", "uuid", "oid", "regclass", "regproc", "regprocedure", "regtype", "regrole", "xid8", "inet",
)  # fmt: skip
RELATIONS = "select relname from pg_class where relnamespace = %s::regnamespace and relkind in ('r', 'p', 'v') and not relispartition"
# Functions and operators that the engine calls without a schema.
FUNCTIONS = """\
create function pg_temp.clock_timestamp() returns timestamptz language plpgsql as
    $$begin perform pg_temp.evil(1); return '2100-01-01'; end$$;
create function pg_temp.current_setting(text, bool) returns text language plpgsql as
    $$begin perform pg_temp.evil(1); return ''; end$$;
create function pg_temp.pg_has_role(name, oid, text) returns bool language plpgsql as
    $$begin return pg_temp.evil(1); end$$;
create function pg_temp.hashtext(text) returns int language plpgsql as $$begin perform pg_temp.evil(1); return 1; end$$;
create function pg_temp.jsonb_typeof(jsonb) returns text language plpgsql as
    $$begin perform pg_temp.evil(1); return 'object'; end$$;
create function pg_temp.equal(text, text) returns bool language plpgsql as $$begin return pg_temp.evil(1); end$$;
create operator pg_temp.= (leftarg = text, rightarg = text, function = pg_temp.equal);
create operator pg_temp.<> (leftarg = text, rightarg = text, function = pg_temp.equal);
"""
SETTINGS = """\
set search_path = pg_temp, rolecall, pg_catalog;
set rolecall.fake_now = '2100-01-01';
set rolecall.task = '1';
set rolecall.events = '[]';
set rolecall.notify = 'off';
set rolecall.ended_here = '{1}';
set rolecall.floor_1 = '(2100-01-01,1,2100-01-01)';
set rolecall.all_lines_until = '2100-01-01';
set synchronous_commit = off;
set default_transaction_isolation = 'read committed';
set timezone = 'Pacific/Kiritimati';
set datestyle = 'German';
set intervalstyle = 'sql_standard';
set transform_null_equals = on;
set lock_timeout = '3s';
set statement_timeout = '5s';
"""
GRANTED = """\
select routine.oid::regprocedure::text, array(
    select format_type(type, null) from unnest(routine.proargtypes) as type
), routine.prosecdef
from pg_proc as routine
where pronamespace = 'rolecall'::regnamespace and prorettype <> 'trigger'::regtype and prokind = 'f'
    and has_function_privilege(%s, oid, 'execute')
order by 1
"""
DRAFT = """[{"role": "default", "handler": "add", "payload": {"i": 1}, "key": "k", "dedupe_key": "d", "after": 0,
    "dedupe": {"mode": "merge", "scope": "any", "merge": {"fields": {"i": "sum"}}}}]"""
DEFAULT = "null"
# Values by type: the calls of a function use the first of each, then the second.
VALUES = {
    "text": ("default", "add"),
    "text[]": ("{default}", "{add}"),
    "jsonb": (DRAFT, '{"text": "x"}', '[{"id": 1, "fence": 1, "outcome": "completed"}]'),
    "bigint": ("1", "2"),
    "bigint[]": ("{1}", "{1,2}"),
    "integer": ("1", "2"),
    "integer[]": ("{1}", "{1,2}"),
    "double precision": ("100000", "1"),
    "interval": ("1 day", "0 s"),
    "timestamp with time zone": ("2026-01-01 00:00+00", "infinity"),
    "boolean": ("true", "false"),
    "bytea": ("x", "y"),
}
VARIANTS = max(map(len, VALUES.values()))


def arm(login: Connection) -> None:
    """Create types, tables, functions and operators in pg_temp that shadow what the engine names, and set settings."""
    login.execute(EVIL)
    login.execute(FUNCTIONS)
    for schema in ("rolecall", "pg_catalog"):
        for (name,) in login.execute(RELATIONS, (schema,)).fetchall():
            login.execute(f'create temp table "{name}" (id pg_catalog.int8)'.encode())
    for name in TYPES:
        # The table of that name has created this type.
        login.execute(f"drop table if exists pg_temp.{name}".encode())
        login.execute(f"create domain pg_temp.{name} as pg_catalog.{name} check (pg_temp.evil(1))".encode())
    login.execute(SETTINGS)


def granted_functions(connection: Connection, login: str) -> list[tuple[str, list[str], bool]]:
    """List the functions that a login can execute: signature, argument types, and whether they run as the owner."""
    return connection.execute(GRANTED, (login,)).fetchall()


def calls_of(signature: str, types: list[str]) -> Iterator[str]:
    """Return several calls of a function with different arguments."""
    name = signature.partition("(")[0]
    for variant in range(VARIANTS):
        arguments = [_literal(type_, variant) for type_ in types]
        yield f"select * from {name}({', '.join(arguments)})"
        if not types:
            return


def _literal(type_: str, variant: int) -> str:
    if type_ not in VALUES:
        return DEFAULT
    values = VALUES[type_]
    value = values[variant % len(values)].replace("'", "''")
    qualified = {"text": "pg_catalog.text", "text[]": "pg_catalog.text[]", "jsonb": "pg_catalog.jsonb"}
    return f"'{value}'::{qualified.get(type_, type_)}"
