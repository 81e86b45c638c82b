"""`rolecall import celery --check` finds everything that `rolecall.celery` rejects in one run."""

from __future__ import annotations

from pathlib import Path

import pytest
from rolecall_import import check_code

from rolecall import ConfigError

from .code_bases import SAMPLES


@pytest.fixture(scope="module")
def rejected() -> list[tuple[str, str]]:
    return [(gap.code, gap.reason) for gap in check_code("celery", SAMPLES / "celery-refused")]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("from celery.exceptions import Reject, SoftTimeLimitExceeded", "celery.exceptions.Reject has no equivalent"),
        ("from celery.signals import task_failure, task_prerun", "celery.signals.task_failure has no equivalent"),
        ("Celery(strict_typing=True)", "Celery(strict_typing=...) has no equivalent"),
        ("task_annotations = ", "task_annotations has no equivalent"),
        ("task_serializer = 'pickle'", "task_serializer is 'pickle', and only json works"),
        ("task_always_eager = True", "task_always_eager has no equivalent"),
        ("crontab(day_of_month='1-7', day_of_week='mon')", "crontab(day_of_month='1-7', day_of_week='mon'): cron"),
        ("schedule often: expires=30", "schedule 'often': the option expires= has no equivalent"),
        ("send_mail: base=Mailing", "task 'old.send_mail': base= has no equivalent"),
        ("failed: rate_limit='10/m'", "task 'old.failed': rate_limit= has no equivalent"),
        ("failed: colour='red'", "task 'old.failed': colour= is not an option"),
        ("self.replace", "replace has no equivalent"),
        ("self.retry(args=(order,))", "retry(args=, kwargs=, throw=False) has no equivalent"),
        ("def later", "task 'old.later' is async"),
        ("link_error=failed.s()", "link_error= has no equivalent"),
        ("task_id='7'", "task_id= has no equivalent"),
        ("colour='red'", "colour= is not an option of a call"),
        ("plain.delay_on_commit", "delay_on_commit has no equivalent"),
        ("result.forget", "forget has no equivalent"),
        ("plain.map", "map has no equivalent"),
        ("app.worker_main", "worker_main has no equivalent"),
    ],
)
def test_rejected_construct_is_reported_with_the_reason(
    rejected: list[tuple[str, str]], code: str, reason: str
) -> None:
    assert any(found.startswith(code) and said.startswith(reason) for found, said in rejected)


def test_accepted_code_has_no_rejections(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(
        "from celery import Celery, chain, shared_task\n"
        "from celery.schedules import crontab\n"
        "app = Celery('x', broker=BROKER)\n"
        "app.conf.update(timezone='Europe/Berlin', task_acks_late=True)\n"
        "app.conf.beat_schedule = {'nightly': {'task': 'tasks.one', 'schedule': crontab(hour=3)}}\n"
        "@app.task(bind=True, autoretry_for=(OSError,), max_retries=MOST)\n"
        "def one(self, n=1):\n"
        "    self.update_state(meta={'done': n})\n"
        "    raise self.retry(countdown=60)\n"
        "result = one.apply_async((1,), countdown=WAIT, queue='mail')\n"
        "result.get(timeout=10)\n"
        "chain(one.s(1), one.s()).delay()\n"
    )

    assert check_code("celery", tmp_path) == []


def test_nothing_of_the_code_is_run(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(
        "from celery import shared_task\n"
        "@shared_task(name=exit(1))\n"
        "def one(n: exit(1) = exit(1)) -> exit(1): exit(1)\n"
        "exit(1)\n"
    )

    assert check_code("celery", tmp_path) == []


def test_value_known_only_at_run_time_is_reported_as_not_checked(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("CELERY_TASK_ALWAYS_EAGER = TESTING\n")

    [gap] = check_code("celery", tmp_path)

    assert gap.reason.startswith("its value is known only when the code runs")


@pytest.mark.parametrize("system", ["procrastinate", "rq"])
def test_system_without_a_compatible_api_is_rejected(tmp_path: Path, system: str) -> None:
    with pytest.raises(ConfigError, match=f"--check is for celery: '{system}' has no compatible API"):
        check_code(system, tmp_path)


def test_unreadable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("def (")

    [gap] = check_code("celery", tmp_path)

    assert (str(gap.place), gap.code) == ("tasks.py:1", "not read")
