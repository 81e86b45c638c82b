"""The server of a soak: it logs the code of every error, and can be killed and restarted."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from rolecall import DatabaseUnavailable, EmbeddedServer, migrate
from rolecall.db.connect import connect
from rolecall.embedded.start import ServerOptions
from tests.embedded.helpers import kill_server, server_log

DATABASE = "chaos"
PATIENCE = 60.0
# Tables for the transactions of handlers and producers, and for their files at the end.
TABLES = """\
create schema chaos;
create table chaos.effects (task_id bigint not null, fence int not null);
create index on chaos.effects (task_id);
create table chaos.orders (name text primary key, task_id bigint);
create table chaos.runs (
    run text primary key, task_id bigint not null, handler text not null, key text, fence int not null, step int not null,
    attempt int not null, pid int not null, began_at float8 not null, began_clock float8 not null, started boolean not null,
    ended_at float8, leased_until float8, shaken boolean not null
);
create table chaos.stops (pid int, at timestamptz);
create index on chaos.stops (pid);
create index on chaos.runs (task_id, fence);
create index on chaos.runs (key, began_at);
-- A tick records the time after it has chosen its fire times; its statement began before that choice.
create table chaos.ticks (run_id bigint primary key, began_at timestamptz not null);
create function chaos.note_tick() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    insert into chaos.ticks values (new.id, statement_timestamp());
    return null;
end
$$;
create trigger note_tick after insert on rolecall.schedule_runs for each row execute function chaos.note_tick();
"""
OPTIONS = ServerOptions(extra={"log_line_prefix": "%e %a: ", "log_lock_waits": "off"})
LINE = re.compile(r"^(?P<code>[0-9A-Z]{5}) (?P<who>.*?): (?P<level>ERROR|FATAL|PANIC):  (?P<said>.*)$", re.MULTILINE)
# A cut connection; a server that stops, starts or is not there yet; a cancelled call; the first query for an owner that
# does not exist yet; a write while the database is read-only; a request repeated while it is under way; a completing
# transaction that stayed open, and a caller that was blocked by it.
EXPECTED = re.compile("08...|57P0[123]|57014|25006|25P03|28P01|RC051|RC060")
WRITE_HERE = "set default_transaction_read_only = off; "
READ_ONLY = f"alter database {DATABASE} {{}}"
END_OTHERS = """\
select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""
SESSIONS = """\
select format(
    '%s %s: %s since %s, waits for %s %s, held up by %s: %s',
    pid, application_name, state, clock_timestamp() - state_change, wait_event_type, wait_event, pg_blocking_pids(pid)::text,
    left(query, 300)
)
from pg_stat_activity
where backend_type = 'client backend' and pid <> pg_backend_pid()
order by state, pid"""


class Server:
    """A database on an embedded server of its own, with a connection that reconnects automatically."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._embedded = EmbeddedServer(folder, options=OPTIONS)
        self._connection: psycopg.Connection[Any] | None = None
        self.dsn = ""

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Run the server during the block, with the engine and the handlers' own tables."""
        with self._embedded:
            self.dsn = self._embedded.dsn(DATABASE)
            with connect(self.dsn, "migrate") as connection:
                migrate(connection)
                connection.execute(TABLES.encode())
            try:
                yield self
            finally:
                self._disconnect()

    @property
    def superuser_dsn(self) -> str:
        """The DSN for operations that the owner may not perform, such as setting the clock that the engine reads."""
        return self._embedded.superuser_dsn(DATABASE)

    def crash(self) -> None:
        """Kill the server, both postmaster and backends, and start it again. It recovers from its log."""
        kill_server(self._folder)
        self._embedded.attach()
        assert self._embedded.dsn(DATABASE) == self.dsn, "the server came back on another port"

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Reject writes in new sessions during the block. End all sessions at its start and end."""
        self.ask_until_answered(WRITE_HERE + READ_ONLY.format("set default_transaction_read_only = on"))
        try:
            self.ask_until_answered(END_OTHERS)
            yield
        finally:
            self.ask_until_answered(WRITE_HERE + READ_ONLY.format("reset default_transaction_read_only"))
            self.ask_until_answered(END_OTHERS)

    def forget_functions(self) -> None:
        """Delete the record of the functions' texts, so that they are stored again. Raises DatabaseUnavailable."""
        self.ask("update rolecall.schema_files set checksum = 'of another release'")

    def ask(self, query: str, params: Any = None) -> list[tuple[Any, ...]]:
        """Run a query. Raises DatabaseUnavailable."""
        try:
            if self._connection is None or self._connection.closed:
                self._connection = connect(self.dsn, "soak")
            cursor = self._connection.execute(query.encode(), params)
            return cursor.fetchall() if cursor.description else []
        except psycopg.OperationalError as error:
            self._disconnect()
            raise DatabaseUnavailable(str(error)) from error

    def ask_until_answered(self, query: str, params: Any = None) -> list[tuple[Any, ...]]:
        """Run a query as soon as the database answers. Raises DatabaseUnavailable if it stays away."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask(query, params)
            except DatabaseUnavailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def number(self, query: str) -> int:
        """Return the result of a counting query, as soon as the database answers."""
        return int(self.ask_until_answered(query)[0][0])

    def sessions(self) -> str:
        """Return the activity and the wait event of every session, one per line."""
        try:
            return "\n".join(line for (line,) in self.ask(SESSIONS))
        except DatabaseUnavailable as error:
            return f"(it does not answer: {error})"

    def unexpected_errors(self) -> Counter[str]:
        """Count the errors in the server's log, other than lost connections and timeouts."""
        lines = LINE.finditer(server_log(self._folder))
        return Counter(line.group() for line in lines if not EXPECTED.fullmatch(line["code"]))

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
