"""A name of Celery's API without an equivalent is rejected with its replacement."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from rolecall.celery import Celery


@pytest.fixture
def celery() -> Celery:
    return Celery("shop", set_as_current=False)


@pytest.mark.parametrize("name", ["apply", "apply_async_on_commit", "chunks", "delay_on_commit", "map", "starmap"])
def test_method_of_a_task_names_its_replacement(celery: Celery, name: str) -> None:
    task = celery.task(len, name="shop.count")

    with pytest.raises(AttributeError, match=f"^{name} has no equivalent: [a-z(]+"):
        getattr(task, name)


@pytest.mark.parametrize("name", ["children", "forget", "parent"])
def test_attribute_of_a_result_names_its_replacement(celery: Celery, name: str) -> None:
    with pytest.raises(AttributeError, match=f"^{name} has no equivalent: [a-z(]+"):
        getattr(celery.AsyncResult("1"), name)


def test_attribute_of_an_app_names_its_replacement(celery: Celery) -> None:
    app: Any = celery

    with pytest.raises(AttributeError, match="^worker_main has no equivalent: use `rolecall worker"):
        app.worker_main()


def test_misspelled_method_of_a_task_suggests_the_right_name(celery: Celery) -> None:
    task: Any = celery.task(len, name="shop.count")

    with pytest.raises(AttributeError, match="did you mean 'apply_async'"):
        task.aply_async()


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        ("signals", "task_failure", "a middleware sees every attempt"),
        ("signals", "worker_ready", "a lifespan sets up"),
        ("exceptions", "Reject", "raise Ignore to cancel the task"),
        ("exceptions", "SoftTimeLimitExceeded", "threads cannot be interrupted"),
        ("exceptions", "NoSuchError", "rolecall.celery does not provide it"),
    ],
)
def test_import_of_a_name_names_its_replacement(module: str, name: str, hint: str) -> None:
    with pytest.raises(ImportError, match=f"^celery.{module}.{name} has no equivalent: {hint}"):
        exec(f"from rolecall.celery.{module} import {name}")  # noqa: S102 - an import statement


def test_signals_can_be_imported_as_a_module() -> None:
    assert importlib.import_module("rolecall.celery.signals").__name__ == "rolecall.celery.signals"
