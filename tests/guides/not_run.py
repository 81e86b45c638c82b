"""Code of the documents that the tests cannot run: how it begins, and why it is skipped."""

from __future__ import annotations

from collections.abc import Mapping

CLUSTER = "it needs a cluster, an image and a registry; tests/deploy and deploy/tests try the manifests"
REQUEST = "it is a request and its answer, not a command"
CHECKOUT = "it is for a work tree of the project, and this folder has the wheel alone"
ELSEWHERE = "it names a machine that is not this one"
CREATE_ROLES = (
    "it is for who may create roles; tests/cli/test_database_roles.py and tests/db/test_privileges.py have such a user"
)
POOLER = "it names a pooler; tests/cli/test_poolers.py and tests/guides/test_poolers.py have one"
OTHER_PROGRAMS = "it takes programs of the server's own major version; tests/db/test_restored.py dumps and restores"
BROKER = "it names a broker; tests/cli/test_relay.py has one"
JOINED = "it is a fragment; tests/client/test_joined.py opens a transaction of each library"
PYTEST = "it needs pytest, which we do not bring; tests/guides/test_testing.py and test_frameworks.py have it"
FRAGMENT = "it is a fragment, for looking at; a guide has the whole"

NOT_RUN: Mapping[str, Mapping[str, str]] = {
    "README.md": {
        "./dev": CHECKOUT,
        "src/rolecall/": "it is a picture of the tree",
        "@app.task(gather=put_together)": FRAGMENT,
    },
    "backup.md": {
        "pg_dump": OTHER_PROGRAMS,
        "createdb": OTHER_PROGRAMS,
        "pg_restore": OTHER_PROGRAMS,
        "DATABASE_URL=": OTHER_PROGRAMS,
    },
    "django.md": {
        "TASKS =": "it is a setting of Django 6; tests/django has a project with it",
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
        "select rolecall.scale_target": "it stands for a request; tests/sql/scale_target calls the function",
        "KUBE_BINARIES": CHECKOUT,
    },
    "least-privilege.md": {
        "rolecall migrate --roles": CREATE_ROLES,
        "create role": CREATE_ROLES,
    },
    "litestar.md": {"$ python -m pytest": PYTEST},
    "live.md": {
        "const events": "it is for a browser; tests/guides/test_live.py follows the stream",
        "await ctx.info": FRAGMENT,
    },
    "notifications.md": {
        "export ROLECALL_NOTIFICATIONS": BROKER,
        "rolecall relay": BROKER,
        "rolecall worker": BROKER,
        "rolecall doctor": BROKER,
        "import pytest": "it is a test of a transport that is yours; tests/wake/test_conformance.py has those of ours",
    },
    "observability.md": {
        "from opentelemetry import trace": "it needs an SDK, which is the reader's to choose; tests/telemetry has one",
    },
    "poolers.md": {
        "export DATABASE_URL": POOLER,
        "export ROLECALL_LISTEN_URL": POOLER,
        "rolecall doctor": POOLER,
    },
    "serve.md": {
        "rolecall people add": "it asks for a password at a terminal; tests/cli/test_access.py answers",
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
        "with frozen_worker": "it is a fragment; tests/testing/test_crashing.py has one",
        "@pytest.fixture": "it is a fragment; tests/testing/test_plugin.py has one",
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
