"""Tools for testing programs that use Rolecall: a database for each test, a clock, a worker that runs all tasks;
assertions on enqueued tasks, contexts for calling handlers, and worker crashes.

Load the fixtures with `pytest_plugins = ["rolecall.testing.plugin"]` in conftest.py, or with `-p
rolecall.testing.plugin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolecall.model.lazy import lazy_names

if TYPE_CHECKING:
    from rolecall.testing.cases import RolecallTestCase
    from rolecall.testing.clock import Clock
    from rolecall.testing.contexts import FakeBatchContext, FakeContext
    from rolecall.testing.crashing import FrozenWorker, Place, crash_worker, frozen_worker
    from rolecall.testing.databases import TestServer, clone, dsn_of, prepare, template, url_of
    from rolecall.testing.draining import Drained, drain, drain_sync, working
    from rolecall.testing.enqueued import all_enqueued, assert_enqueued, assert_not_enqueued
    from rolecall.testing.in_transaction import inline
    from rolecall.testing.performing import perform, perform_batch, perform_sync
    from rolecall.testing.places import die_here
    from rolecall.testing.schedules import Fired, fire_schedules
else:
    # Lazy, so that calling a handler or marking a place does not import the worker.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "rolecall.testing.cases": ("RolecallTestCase",),
            "rolecall.testing.clock": ("Clock",),
            "rolecall.testing.contexts": ("FakeBatchContext", "FakeContext"),
            "rolecall.testing.crashing": ("FrozenWorker", "Place", "crash_worker", "frozen_worker"),
            "rolecall.testing.databases": ("TestServer", "clone", "dsn_of", "prepare", "template", "url_of"),
            "rolecall.testing.draining": ("Drained", "drain", "drain_sync", "working"),
            "rolecall.testing.enqueued": ("all_enqueued", "assert_enqueued", "assert_not_enqueued"),
            "rolecall.testing.in_transaction": ("inline",),
            "rolecall.testing.performing": ("perform", "perform_batch", "perform_sync"),
            "rolecall.testing.places": ("die_here",),
            "rolecall.testing.schedules": ("Fired", "fire_schedules"),
        },
    )

__all__ = [
    "Clock",
    "Drained",
    "FakeBatchContext",
    "FakeContext",
    "Fired",
    "FrozenWorker",
    "Place",
    "RolecallTestCase",
    "TestServer",
    "all_enqueued",
    "assert_enqueued",
    "assert_not_enqueued",
    "clone",
    "crash_worker",
    "die_here",
    "drain",
    "drain_sync",
    "dsn_of",
    "fire_schedules",
    "frozen_worker",
    "inline",
    "perform",
    "perform_batch",
    "perform_sync",
    "prepare",
    "template",
    "url_of",
    "working",
]
