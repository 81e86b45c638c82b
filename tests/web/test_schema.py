"""Responses to valid and invalid requests match the OpenAPI document.

The longer run is by hand: `ROLECALL_EXAMPLES=300 ./dev run python -m pytest tests/web/test_schema.py --timeout 3600`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import CheckFunction
from schemathesis.python.asgi import shutdown_lifespans
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from rolecall import App
from tests.web.doors import unguarded

EXAMPLES = int(os.environ.get("ROLECALL_EXAMPLES", "6"))
CHECKS: list[CheckFunction] = [status_code_conformance, content_type_conformance]
# Without a cluster, these routes report that.
WITHOUT_CLUSTER = "/api/workers/k8s/"
ENDLESS = ("/api/live",)


@pytest.fixture
def application(database: str) -> Iterator[FastAPI]:
    """The application on a database with tasks in several states, whose ids are 1 to 5."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("""select rolecall.declare('[{"name": "sums"}]', '[{"name": "add", "role": "sums"}]')""")
        connection.execute(
            "select rolecall.enqueue_many(%s)", ['[{"handler": "add"}, {"handler": "add", "after": 60}]']
        )
        connection.execute(
            "select rolecall.enqueue_many(%s)", ['[{"handler": "add"}, {"handler": "add"}, {"handler": "add"}]']
        )
        connection.execute("select rolecall.complete_task(3), rolecall.fail_task(4, 'no'), rolecall.cancel('{5}')")
    app = App("test")
    app.mount("rolecall.web.own_tasks:router")
    yield unguarded(database, app)
    shutdown_lifespans()


def test_every_response_matches_the_openapi_document(application: FastAPI) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", application)

    problems = [problem for found in schema.get_all_operations() for problem in problems_of(unwrapped(found))]

    assert not problems, "\n\n".join(problems)


def unwrapped(found: Any) -> Any:
    """Return the operation. Raises the error of its description, if there is one."""
    return found.ok()


def problems_of(operation: Any) -> Iterator[str]:
    """Test one operation; return the violations of its description."""
    if operation.path in ENDLESS:
        return

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), known=st.none() | st.integers(1, 5))
    def attempt(case: Any, known: int | None) -> None:
        soften(case, known)
        answer = case.call()
        assert answer.status_code < 500 or operation.path.startswith(WITHOUT_CLUSTER), answer.text
        case.validate_response(answer, checks=CHECKS)

    try:
        attempt()
    except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - whatever it is, it is a problem of this operation
        yield f"{operation.label}: {error} {getattr(error, 'exceptions', '')}"


def soften(case: Any, known: int | None) -> None:
    """Replace parameters so that requests refer to existing tasks and do not wait."""
    if known is not None:
        case.path_parameters |= {name: known for name in case.path_parameters or {} if name.endswith("_id")}
    if case.query and isinstance(case.query.get("seconds"), int | float):
        case.query["seconds"] = min(case.query["seconds"], 0.01)
