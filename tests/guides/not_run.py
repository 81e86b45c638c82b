"""Code of the documents that the tests cannot run: how it begins, and why it is skipped."""

from __future__ import annotations

from collections.abc import Mapping

CLUSTER = "needs a cluster, an image and a registry; tests/deploy and deploy/tests test the manifests"
REQUEST = "a request and its response, not a command"
CHECKOUT = "needs a work tree of the project; this folder has only the wheel"
ELSEWHERE = "names another machine"
CREATE_ROLES = (
    "needs the right to create roles; tests/cli/test_database_roles.py and tests/db/test_privileges.py have it"
)
POOLER = "names a pooler; tests/cli/test_poolers.py and tests/guides/test_poolers.py have one"
OTHER_PROGRAMS = "needs programs of the server's major version; tests/db/test_restored.py dumps and restores"
BROKER = "names a broker; tests/cli/test_relay.py has one"
JOINED = "a fragment; tests/client/test_joined.py opens a transaction of each library"
PYTEST = "needs pytest, which is not a dependency; tests/guides/test_testing.py and test_frameworks.py use it"
LAKE = "needs written files; apps/storecrawl/tests/lake/test_lake_commands.py has some"
FRAGMENT = "a fragment for illustration; a guide has the complete code"

NOT_RUN: Mapping[str, Mapping[str, str]] = {
    "README.md": {
        "./dev": CHECKOUT,
        "src/rolecall/": "a picture of the tree",
        "@app.task(gather=put_together)": FRAGMENT,
    },
    "backup.md": {
        "pg_dump": OTHER_PROGRAMS,
        "createdb": OTHER_PROGRAMS,
        "pg_restore": OTHER_PROGRAMS,
        "DATABASE_URL=": OTHER_PROGRAMS,
    },
    "django.md": {
        "TASKS =": "a setting of Django 6; tests/django has a project with it",
    },
    "egress.md": {
        "storecrawl routes test": ELSEWHERE,
    },
    "fastapi.md": {"$ python -m pytest": PYTEST},
    "flask.md": {"$ python -m pytest": PYTEST},
    "kubernetes.md": {
        "docker build": CLUSTER,
        "kubectl": CLUSTER,
        "export DATABASE_URL": CLUSTER,
        "storecrawl migrate": CLUSTER,
        "rolecall replicas": CLUSTER,
        "rolecall scale": CLUSTER,
        "GET /api": REQUEST,
        "select rolecall.scale_target": "a placeholder for a request; tests/sql/scale_target calls the function",
        "KUBE_BINARIES": CHECKOUT,
    },
    "lake.md": {
        "storecrawl duckdb": LAKE,
        "echo 'select count": LAKE,
    },
    "least-privilege.md": {
        "rolecall migrate --roles": CREATE_ROLES,
        "create role": CREATE_ROLES,
    },
    "litestar.md": {"$ python -m pytest": PYTEST},
    "live.md": {
        "const events": "runs in a browser; tests/guides/test_live.py follows the stream",
        "await ctx.info": FRAGMENT,
    },
    "notifications.md": {
        "export ROLECALL_NOTIFICATIONS": BROKER,
        "rolecall relay": BROKER,
        "rolecall worker": BROKER,
        "rolecall doctor": BROKER,
        "import pytest": "tests the reader's own transport; tests/transport/test_conformance.py tests ours",
    },
    "observability.md": {
        "from opentelemetry import trace": "needs an SDK, which the reader chooses; tests/telemetry has one",
    },
    "poolers.md": {
        "export DATABASE_URL": POOLER,
        "export ROLECALL_LISTEN_URL": POOLER,
        "rolecall doctor": POOLER,
    },
    "sentry.md": {"# shop.py": "needs Sentry's client; tests/guides/test_sentry.py has it"},
    "serve.md": {
        "rolecall people add": "asks for a password in a terminal; tests/cli/test_access.py answers",
        "rolecall serve --app shop:app --host 10.0.0.5": ELSEWHERE,
    },
    "starlette.md": {"$ python -m pytest": PYTEST},
    "testing.md": {
        "$ python -m pytest": PYTEST,
        "# conftest.py": PYTEST,
        "# test_orders.py": PYTEST,
        "from rolecall import HandlerAborted": PYTEST,
        "from rolecall.testing import inline": PYTEST,
        "from datetime import UTC, datetime": PYTEST,
        "from rolecall.testing import fire_schedules": PYTEST,
        "from rolecall import linear": PYTEST,
        "with frozen_worker": "a fragment; tests/testing/test_crashing.py has a complete one",
        "@pytest.fixture": "a fragment; tests/testing/test_plugin.py has a complete one",
    },
    "transactions.md": {
        "with Session": JOINED,
        "async with connection": JOINED,
        "with transaction.atomic": JOINED,
    },
}


def reason(document: str, text: str) -> str | None:
    """Return why a line or block with this beginning is not run, or None if it is run."""
    return next((why for beginning, why in NOT_RUN.get(document, {}).items() if text.startswith(beginning)), None)
