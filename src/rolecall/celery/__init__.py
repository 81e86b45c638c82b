"""Celery's API on top of Rolecall. The tasks of a Celery code base run once their imports are changed.

    from rolecall.celery import Celery, shared_task   # was: from celery import Celery, shared_task

`rolecall worker --app shop:app.rolecall` runs the tasks. A feature without an equivalent is rejected with advice on
what to use instead; nothing is approximated silently. docs/guides/from-celery.md lists the differences. Celery itself
is not imported.
"""

from __future__ import annotations

from rolecall.celery.app import Celery, shared_task
from rolecall.celery.canvas import Signature, chain, chord, group, signature
from rolecall.celery.current import current_app, current_task
from rolecall.celery.tasks import Task

__all__ = [
    "Celery",
    "Signature",
    "Task",
    "chain",
    "chord",
    "current_app",
    "current_task",
    "group",
    "shared_task",
    "signature",
]
