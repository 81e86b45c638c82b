"""The table of open tasks is configured for frequent updates and deletes."""

from __future__ import annotations

from tests.sql.engine import Engine


def test_task_table_has_a_low_fillfactor_and_early_undelayed_autovacuum(engine: Engine) -> None:
    options = dict(
        option.split("=") for option in engine.value("select reloptions from pg_class where relname = 'tasks'")
    )

    assert int(options["fillfactor"]) <= 80
    assert float(options["autovacuum_vacuum_scale_factor"]) <= 0.02
    assert options["autovacuum_vacuum_cost_delay"] == "0"


def test_every_index_except_the_primary_key_is_partial(engine: Engine) -> None:
    query = "select indexrelid::regclass::text from pg_index where indrelid = 'rolecall.tasks'::regclass and indpred is null"

    assert engine.rows(query) == [("rolecall.tasks_pkey",)]
