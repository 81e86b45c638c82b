"""Buttons without permission are hidden on the pages of handlers, schedules and roles."""

from __future__ import annotations

import re

import pytest

from rolecall.model.operator.access import Scope
from tests.sql.engine import Engine
from tests.web.doors import Door

OPERATE = {"/jobs/add", "/schedules/1/trigger", "/schedules/1/disable", "/roles/sums/pause"}
ADMIN = OPERATE | {"/schedules/1/delete", "/schedules/1/edit", "/schedules/new"}
PATHS = ("/jobs", "/jobs/add", "/schedules", "/schedules/1", "/roles/sums")


@pytest.mark.parametrize(("scope", "seen"), [(Scope.READ, set()), (Scope.OPERATE, OPERATE), (Scope.ADMIN, ADMIN)])
async def test_each_scope_sees_only_its_permitted_forms(pool: Engine, door: Door, scope: Scope, seen: set[str]) -> None:
    pool.put_schedule("tick", role="sums", handler="add")
    key = await door.key(scope)

    pages = "".join([(await door.client.get(path, headers=key)).text for path in PATHS])

    forms = set(re.findall(r'method="post" action="(/[^"?]*)', pages))
    assert forms | set(re.findall(r'href="(/schedules/(?:new|1/edit))"', pages)) == seen
