"""The table of open tasks is configured for frequent updates and deletes."""

from __future__ import annotations

from tests.sql.engine import Engine


def test_pages_keep_room_for_new_versions_and_the_vacuum_comes_early_and_does_not_dawdle(engine: Engine) -> None:
    options = dict(
        option.split("=") for option in engine.value("select reloptions from pg_class where relname = 'tasks'")
    )

    assert int(options["fillfactor"]) <= 80
    assert float(options["autovacuum_vacuum_scale_factor"]) <= 0.02
    assert options["autovacuum_vacuum_cost_delay"] == "0"


def test_every_index_but_the_one_by_id_is_partial(engine: Engine) -> None:
    query = "select indexrelid::regclass::text from pg_index where indrelid = 'rolecall.tasks'::regclass and indpred is null"

    assert engine.rows(query) == [("rolecall.tasks_pkey",)]
