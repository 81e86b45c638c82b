"""Celery's names over Rolecall: the tasks of a Celery code base run when its imports are changed.

    from rolecall.celery import Celery, shared_task   # was: from celery import Celery, shared_task

`rolecall worker --app shop:app.rolecall` runs them. What has no equivalent is refused where it is said, with what to
write instead; nothing is taken for something else. docs/guides/from-celery.md tells what differs. Celery itself is not
imported.
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
