"""A code base that was written for Celery gives the same answers on Rolecall when its imports are changed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.celery.conftest import SAMPLE, Work

# Said of `shop.tasks`, and asked of both.
ANSWERS: dict[str, str] = {
    "a task": "add.delay(2, 3)",
    "a shared task": "tsum.delay([1, 2, 3])",
    "a default": "multiply.delay(4)",
    "any number of arguments": "greet.delay('Ada', 'Grace', greeting='Hi', loud=True)",
    "arguments of apply_async": "add.apply_async((2,), {'y': 9})",
    "a signature": "add.s(1, 2).delay()",
    "a signature that is completed later": "add.s(1).delay(5)",
    "a retried task": "fetch.delay('http://upstream', fail=2)",
    "a chain": "order_flow(1).delay()",
    "a chain of pipes": "(add.s(1, 1) | multiply.s(4)).delay()",
    "a chain that is given its beginning": "(add.s(1) | multiply.s(4)).delay(6)",
    "a group": "group(add.s(n, n) for n in range(4)).delay()",
    "a group that is given its beginning": "group([add.s(1), add.s(2)]).delay(10)",
    "a chord": "totals(range(5)).delay()",
    "a chord that is called": "chord([add.s(1, 1), multiply.s(2)])(tsum.s())",
    "a chain with a group within": "mixed().delay()",
    "a chain that ends with a group": "(add.s(1, 1) | group(add.s(1), add.s(2))).delay()",
    "an immutable signature": "(add.s(1, 1) | multiply.si(7)).delay()",
    "a task by its name": "app.send_task('mul', kwargs={'x': 3})",
    "a type that an annotation names": "app.tasks['shop.reports.of_day'].delay(day)",
}
BY_CELERY = """
import json, sys
from datetime import date
from shop.app import app
import shop.tasks
app.conf.task_always_eager = True
app.finalize()
app.loader.import_default_modules()
names = {**vars(shop.tasks), "app": app, "day": date(2026, 11, 25)}
calls = json.load(sys.stdin)
def answered(code):
    if "send_task" in code:
        return app.tasks["mul"].delay(x=3).get()
    return eval(code, names).get()
print(json.dumps({
    "answers": {what: answered(code) for what, code in calls.items()},
    "names": sorted(name for name in app.tasks if not name.startswith("celery.")),
}))
"""


@pytest.fixture(scope="session")
def by_celery(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BY_CELERY],
        input=json.dumps(ANSWERS),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SAMPLE), "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_tasks_have_the_names_that_celery_gives_them(shop: ModuleType, by_celery: Any) -> None:
    assert sorted(shop.app.tasks) == by_celery["names"]


async def test_every_call_has_the_same_result_as_in_celery(shop: ModuleType, at_work: Work, by_celery: Any) -> None:
    names = {**vars(shop), "day": date(2026, 11, 25)}

    async with at_work(shop.app):
        results = {what: await asyncio.to_thread(eval, code, names) for what, code in ANSWERS.items()}
        answers = {what: await asyncio.to_thread(result.get, 30) for what, result in results.items()}

    assert answers == by_celery["answers"]


def test_command_line_worker_runs_the_sample_shop(shop: ModuleType, moved: Path) -> None:
    results = [shop.add.delay(1, 2), shop.order_flow(1).delay()]

    done = subprocess.run(
        [sys.executable, "-m", "rolecall.cli", "worker", "--app", "shop.app:app.rolecall", "--until-idle"],
        cwd=moved,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.returncode == 0, done.stderr
    assert [result.get(1) for result in results] == [3, 104]
