"""How many files one reads to follow a task, or a click: more than these, and the grain has become too fine again."""

from __future__ import annotations

from tools import walks


async def test_task_and_click_pass_through_few_files(database: str) -> None:
    """Nothing is held of lines or functions: a long file about one thing is read sooner than three short ones."""
    task, retry, finish = await walks.walk(database, database)

    assert len(task.functions) <= 28, task.functions.keys()
    assert len(task.sql) <= 15, task.sql.keys()
    assert len(retry.functions) <= 22, retry.functions.keys()
    assert len(finish.sql) <= 14, finish.sql.keys()
